//! First in, first out; what does not fit is dropped.

use super::discipline::{Discipline, Limit};
use super::fifo::{Books, Fifo, Waiting};
use crate::loss::Loss;
use crate::parcel::{Parcel, Token};
use dccp_proto::Instant;

/// Settings of a drop-tail queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DropTailConfig {
    /// A packet that would go beyond is dropped.
    pub limit: Limit,
    /// A step threshold: an ECN-capable packet that finds this much waiting is marked CE (RFC 3168).
    pub mark_at: Option<Limit>,
}

impl Default for DropTailConfig {
    /// 1000 packets, no marks.
    fn default() -> Self {
        Self {
            limit: Limit::Packets(1000),
            mark_at: None,
        }
    }
}

#[derive(Debug)]
pub(crate) struct DropTail<T> {
    config: DropTailConfig,
    fifo: Fifo<T>,
}

impl<T> DropTail<T> {
    pub(crate) fn new(config: DropTailConfig) -> Self {
        Self {
            config,
            fifo: Fifo::default(),
        }
    }
}

impl<T: Token> Discipline<T> for DropTail<T> {
    fn push(
        &mut self,
        now: Instant,
        mut parcel: Parcel<T>,
        books: &mut Books<T>,
    ) -> Result<(), Loss> {
        let (packets, bytes) = (books.packets, books.bytes);
        if !self.config.limit.admits(packets, bytes, parcel.len) {
            return Err(Loss::Queue);
        }
        let is_congested = match self.config.mark_at {
            Some(Limit::Packets(threshold)) => packets >= threshold,
            Some(Limit::Bytes(threshold)) => bytes >= threshold,
            None => false,
        };
        if is_congested {
            books.mark(&mut parcel.ecn);
        }
        self.fifo.push(now, parcel, books);
        Ok(())
    }

    fn pop(&mut self, now: Instant, books: &mut Books<T>) -> Option<Waiting<T>> {
        self.fifo.pop(now, books)
    }

    fn limit_mut(&mut self) -> &mut Limit {
        &mut self.config.limit
    }

    fn is_plain(&self) -> bool {
        true
    }

    fn is_in_order(&self) -> bool {
        self.fifo.iter().all(|w| w.parcel.hold.is_zero())
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Bench, parcel, sized};
    use super::super::{Limit, QueueConfig};
    use super::*;
    use dccp_proto::wire::Ecn;

    fn bench(limit: Limit, mark_at: Option<Limit>) -> Bench {
        Bench::new(QueueConfig::DropTail(DropTailConfig { limit, mark_at }))
    }

    #[test]
    fn a_queue_in_packets_drops_the_one_that_is_too_many() {
        let mut q = bench(Limit::Packets(2), None);
        assert_eq!(q.push(0, sized(1, 1500, Ecn::NotEct)), Ok(()));
        assert_eq!(q.push(0, sized(2, 40, Ecn::NotEct)), Ok(()));
        assert_eq!(q.push(0, sized(3, 40, Ecn::NotEct)), Err(Loss::Queue));
        assert_eq!(q.len(), (2, 1540));
        assert_eq!(q.pop(0).unwrap().token, 1);
        assert_eq!(q.push(0, sized(4, 40, Ecn::NotEct)), Ok(()));
        assert_eq!(q.pop(0).unwrap().token, 2);
        assert_eq!(q.pop(0).unwrap().token, 4);
        assert!(q.pop(0).is_none());
        assert_eq!(q.len(), (0, 0));
    }

    #[test]
    fn a_queue_in_bytes_takes_small_packets_where_a_large_one_does_not_fit() {
        let mut q = bench(Limit::Bytes(3000), None);
        assert_eq!(q.push(0, sized(1, 2000, Ecn::NotEct)), Ok(()));
        assert_eq!(q.push(0, sized(2, 1001, Ecn::NotEct)), Err(Loss::Queue));
        assert_eq!(q.push(0, sized(3, 1000, Ecn::NotEct)), Ok(()));
        assert_eq!(q.len(), (2, 3000));
    }

    #[test]
    fn only_ecn_capable_packets_are_marked_and_only_from_the_threshold_on() {
        let mut q = bench(Limit::Packets(10), Some(Limit::Packets(1)));
        for ecn in [Ecn::Ect0, Ecn::Ect0, Ecn::NotEct, Ecn::Ect1, Ecn::Ce] {
            q.push(0, parcel(0, ecn)).unwrap();
        }
        let out: Vec<_> = core::iter::from_fn(|| q.pop(0)).map(|p| p.ecn).collect();
        assert_eq!(out, [Ecn::Ect0, Ecn::Ce, Ecn::NotEct, Ecn::Ce, Ecn::Ce]);
        assert_eq!(q.marked(), 2, "the last was marked before");
        let mut q = bench(Limit::Packets(10), Some(Limit::Bytes(1000)));
        for _ in 0..2 {
            q.push(0, parcel(0, Ecn::Ect0)).unwrap();
        }
        assert_eq!(q.pop(0).unwrap().ecn, Ecn::Ect0);
        assert_eq!(q.pop(0).unwrap().ecn, Ecn::Ce);
    }
}

//! Queues in front of a link's transmitter.

use crate::link::Parcel;
use dccp_proto::wire::Ecn;
use std::collections::VecDeque;

/// How much a queue holds, the packet in transmission not counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Limit {
    /// This many packets.
    Packets(usize),
    /// This many bytes of IP packets.
    Bytes(usize),
}

/// Settings of a drop-tail queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct QueueConfig {
    /// A packet that would go beyond is dropped.
    pub limit: Limit,
    /// A packet that finds so much waiting is marked CE if it is ECN-capable (RFC 3168): a step
    /// threshold, enough to exercise the transports' reaction.
    pub mark_at: Option<Limit>,
}

impl Default for QueueConfig {
    /// 1000 packets, no marks.
    fn default() -> Self {
        Self {
            limit: Limit::Packets(1000),
            mark_at: None,
        }
    }
}

/// A first-in first-out queue that drops what does not fit.
#[derive(Debug)]
pub(crate) struct Queue<T> {
    config: QueueConfig,
    parcels: VecDeque<Parcel<T>>,
    bytes: usize,
    marked: u64,
}

impl<T> Queue<T> {
    pub(crate) fn new(config: QueueConfig) -> Self {
        Self {
            config,
            parcels: VecDeque::new(),
            bytes: 0,
            marked: 0,
        }
    }

    /// Takes a packet at the tail, or gives it back because there is no room.
    pub(crate) fn push(&mut self, mut parcel: Parcel<T>) -> Result<(), Parcel<T>> {
        let fits = match self.config.limit {
            Limit::Packets(max) => self.parcels.len() < max,
            Limit::Bytes(max) => self.bytes + parcel.len <= max,
        };
        if !fits {
            return Err(parcel);
        }
        let is_congested = match self.config.mark_at {
            Some(Limit::Packets(threshold)) => self.parcels.len() >= threshold,
            Some(Limit::Bytes(threshold)) => self.bytes >= threshold,
            None => false,
        };
        if is_congested && matches!(parcel.ecn, Ecn::Ect0 | Ecn::Ect1) {
            parcel.ecn = Ecn::Ce;
            self.marked += 1;
        }
        self.bytes += parcel.len;
        self.parcels.push_back(parcel);
        Ok(())
    }

    /// Gives the packet at the head to the transmitter.
    pub(crate) fn pop(&mut self) -> Option<Parcel<T>> {
        let parcel = self.parcels.pop_front()?;
        self.bytes -= parcel.len;
        Some(parcel)
    }

    /// Packets waiting.
    pub(crate) fn len(&self) -> usize {
        self.parcels.len()
    }

    /// Bytes waiting.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Packets marked CE so far.
    pub(crate) fn marked(&self) -> u64 {
        self.marked
    }

    /// Whether no more waits than the limit allows.
    pub(crate) fn is_within_limit(&self) -> bool {
        match self.config.limit {
            Limit::Packets(max) => self.parcels.len() <= max,
            Limit::Bytes(max) => self.bytes <= max,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn queue(limit: Limit, mark_at: Option<Limit>) -> Queue<u32> {
        Queue::new(QueueConfig { limit, mark_at })
    }

    fn parcel(token: u32, len: usize, ecn: Ecn) -> Parcel<u32> {
        Parcel::new(token, len, ecn)
    }

    #[test]
    fn a_queue_in_packets_drops_the_one_that_is_too_many() {
        let mut q = queue(Limit::Packets(2), None);
        assert!(q.push(parcel(1, 1500, Ecn::NotEct)).is_ok());
        assert!(q.push(parcel(2, 40, Ecn::NotEct)).is_ok());
        let refused = q.push(parcel(3, 40, Ecn::NotEct)).unwrap_err();
        assert_eq!(refused.token, 3);
        assert_eq!((q.len(), q.bytes()), (2, 1540));
        assert!(q.is_within_limit());
        assert_eq!(q.pop().unwrap().token, 1);
        assert!(q.push(parcel(4, 40, Ecn::NotEct)).is_ok());
        assert_eq!(q.pop().unwrap().token, 2);
        assert_eq!(q.pop().unwrap().token, 4);
        assert!(q.pop().is_none());
        assert_eq!(q.bytes(), 0);
    }

    #[test]
    fn a_queue_in_bytes_takes_small_packets_where_a_large_one_does_not_fit() {
        let mut q = queue(Limit::Bytes(3000), None);
        assert!(q.push(parcel(1, 2000, Ecn::NotEct)).is_ok());
        assert!(q.push(parcel(2, 1001, Ecn::NotEct)).is_err());
        assert!(q.push(parcel(3, 1000, Ecn::NotEct)).is_ok());
        assert_eq!(q.bytes(), 3000);
        assert!(q.is_within_limit());
    }

    #[test]
    fn only_ecn_capable_packets_are_marked_and_only_from_the_threshold_on() {
        let mut q = queue(Limit::Packets(10), Some(Limit::Packets(1)));
        for ecn in [Ecn::Ect0, Ecn::Ect0, Ecn::NotEct, Ecn::Ect1, Ecn::Ce] {
            q.push(parcel(0, 100, ecn)).unwrap();
        }
        let out: Vec<_> = core::iter::from_fn(|| q.pop()).map(|p| p.ecn).collect();
        assert_eq!(out, [Ecn::Ect0, Ecn::Ce, Ecn::NotEct, Ecn::Ce, Ecn::Ce]);
        assert_eq!(q.marked(), 2, "the last was marked before");
        let mut q = queue(Limit::Packets(10), Some(Limit::Bytes(100)));
        for _ in 0..2 {
            q.push(parcel(0, 100, Ecn::Ect0)).unwrap();
        }
        assert_eq!(q.pop().unwrap().ecn, Ecn::Ect0);
        assert_eq!(q.pop().unwrap().ecn, Ecn::Ce);
    }
}

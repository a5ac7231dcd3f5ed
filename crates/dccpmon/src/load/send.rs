//! The sending end of a flow: a thread that sends numbered datagrams.

use super::{Thread, lock};
use crate::transport::{BATCH, Flow, FlowError, LOOK, Run};
use crate::wire::packet::{Head, Kind};
use core::sync::atomic::{AtomicU64, Ordering};
use core::time::Duration;
use dccp::proto::time::nanos;
use dccp::{Instant, clock};
use std::io;
use std::sync::{Arc, Mutex};

/// The data of one sender.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Traffic {
    pub(crate) token: u64,
    pub(crate) flow: u16,
    pub(crate) length: usize,
    /// Bits per second; `None`: as fast as the socket takes them.
    pub(crate) rate_bps: Option<u64>,
}

/// The sending end of a flow.
pub(crate) struct Sender {
    pub(crate) flow: Arc<dyn Flow>,
    pub(crate) counts: Arc<TxCounts>,
    thread: Thread,
}

/// Counters of the sending thread.
#[derive(Debug, Default)]
pub(crate) struct TxCounts {
    /// Datagrams offered to the socket.
    pub(crate) offered: AtomicU64,
    /// Of these, refused by the socket.
    pub(crate) refused: AtomicU64,
    /// Why it sends no more, if that is before its time.
    pub(crate) failure: Mutex<Option<FlowError>>,
}

impl Sender {
    /// Begins to send; ends after `duration`, or when [`stop`](Self::stop) is called.
    pub(crate) fn start(
        flow: &Arc<dyn Flow>,
        traffic: Traffic,
        duration: Duration,
    ) -> io::Result<Self> {
        let counts = Arc::new(TxCounts::default());
        let thread = {
            let (flow, counts) = (flow.clone(), counts.clone());
            Thread::spawn("send", move |is_over| {
                let end = clock::now() + duration;
                let is_over = || is_over.load(Ordering::Relaxed) || clock::now() >= end;
                send(&*flow, traffic, &counts, &is_over);
            })?
        };
        Ok(Self {
            flow: flow.clone(),
            counts,
            thread,
        })
    }

    /// Whether it sends no more.
    pub(crate) fn is_done(&self) -> bool {
        self.thread.is_done()
    }

    /// Makes it stop, and waits for that.
    pub(crate) fn stop(&mut self) {
        self.thread.stop();
    }

    /// Why it stopped before its time, if it did.
    pub(crate) fn failure(&self) -> Option<FlowError> {
        lock(&self.counts.failure).clone()
    }
}

fn send(flow: &dyn Flow, traffic: Traffic, counts: &TxCounts, is_over: &dyn Fn() -> bool) {
    let length = traffic.length;
    let mut bytes = vec![0; length * BATCH];
    let mut schedule = traffic
        .rate_bps
        .map(|bps| Schedule::new(clock::now(), length, bps));
    let mut number = 0;
    while !is_over() {
        let due = schedule.as_mut().map_or(BATCH, |s| s.wait(number));
        let bytes = &mut bytes[..due * length];
        let sent_ns = clock::now().as_nanos();
        for (datagram, number) in bytes.chunks_mut(length).zip(number..) {
            let head = Head {
                kind: Kind::Data,
                token: traffic.token,
                flow: traffic.flow,
                number,
                sent_ns,
            };
            head.write(datagram);
        }
        if due == 0 {
            continue;
        }
        match flow.send(&Run { bytes, length }) {
            Ok(taken) => {
                number += taken as u64;
                counts.offered.fetch_add(taken as u64, Ordering::Relaxed);
            }
            Err(e) => {
                counts.offered.fetch_add(1, Ordering::Relaxed);
                counts.refused.fetch_add(1, Ordering::Relaxed);
                *lock(&counts.failure) = Some(e);
                return;
            }
        }
    }
}

/// When datagrams are due at a constant rate.
struct Schedule {
    begin: Instant,
    gap_ns: u64,
}

impl Schedule {
    fn new(begin: Instant, length: usize, bps: u64) -> Self {
        const BITS_AND_NS: u64 = 8 * 1_000_000_000;
        Self {
            begin,
            gap_ns: (length as u64 * BITS_AND_NS).div_ceil(bps).max(1),
        }
    }

    /// Waits for the datagram with this number, not longer than [`LOOK`]; returns how many are due
    /// (0 if it is too early still).
    fn wait(&mut self, number: u64) -> usize {
        let left = self.due_at(number) - clock::now();
        if !left.is_zero() {
            std::thread::sleep(left.min(LOOK));
        }
        self.due(clock::now(), number)
    }

    /// The number of datagrams that are due, counted from `number`. A delayed sender catches up by one
    /// batch at most.
    fn due(&mut self, now: Instant, number: u64) -> usize {
        let due_at = self.due_at(number);
        if due_at > now {
            return 0;
        }
        let due = nanos(now - due_at) / self.gap_ns + 1;
        let excess = due.saturating_sub(BATCH as u64);
        self.begin += Duration::from_nanos(excess.saturating_mul(self.gap_ns));
        usize::try_from(due - excess).unwrap_or(BATCH)
    }

    fn due_at(&self, number: u64) -> Instant {
        self.begin + Duration::from_nanos(number.saturating_mul(self.gap_ns))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_schedule_that_was_held_up_catches_up_by_one_batch() {
        let begin = Instant::from_nanos(5);
        let at = |ms| begin + Duration::from_millis(ms);
        let mut schedule = Schedule::new(begin, 1250, 10_000_000);
        assert_eq!(schedule.gap_ns, 1_000_000);
        assert_eq!(schedule.due(at(0), 0), 1);
        assert_eq!(schedule.due(at(0), 1), 0);
        assert_eq!(schedule.due(at(3), 1), 3);
        assert_eq!(schedule.due(at(100), 4), BATCH);
        assert_eq!(schedule.due(at(100), 4 + BATCH as u64), 0);
        assert_eq!(schedule.due(at(101), 4 + BATCH as u64), 1);
    }
}

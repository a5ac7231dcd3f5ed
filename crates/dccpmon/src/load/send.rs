//! The sending end of a flow: a thread that sends numbered datagrams.

use super::rtt::Pace;
use super::schedule::{Record, Schedule};
use super::shape::Shape;
use super::{Thread, lock};
use crate::schema::Achieved;
use crate::transport::{BATCH, Flow, FlowError, Run};
use crate::wire::packet::{Head, Kind};
use core::sync::atomic::{AtomicU64, Ordering};
use core::time::Duration;
use dccp::proto::time::nanos;
use dccp::{Instant, clock};
use std::io;
use std::sync::{Arc, Mutex};

/// The data of one sender.
#[derive(Clone, Debug)]
pub(crate) struct Traffic {
    pub(crate) token: u64,
    pub(crate) flow: u16,
    pub(crate) length: usize,
    pub(crate) shape: Shape,
    /// Of the flow's random numbers.
    pub(crate) seed: u64,
    /// It ends after this many datagrams.
    pub(crate) packets: Option<u64>,
    /// The congestion control of TCP; `None`: that of the connection.
    pub(crate) congestion: Option<String>,
    /// Whether some packets ask for an echo.
    pub(crate) has_echoes: bool,
    /// Whether it follows the advice of CCID 248.
    pub(crate) obeys: bool,
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
    /// Of a flow with due times.
    pub(crate) record: Mutex<Option<Record>>,
    /// The duration of a series of datagrams whose number is limited, with a gap behind the last one; 0 until it has ended.
    pub(crate) series_ns: AtomicU64,
    /// The rate in bit/s to which an obedient sender slows down; 0: it has its own.
    pub(crate) allowed_bps: AtomicU64,
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
        if let Some(name) = &traffic.congestion {
            flow.set_congestion(name)?;
        }
        let counts = Arc::new(TxCounts::default());
        let thread = {
            let (flow, counts) = (flow.clone(), counts.clone());
            Thread::spawn("send", move |is_over| {
                let end = clock::now() + duration;
                let is_over = || is_over.load(Ordering::Relaxed) || clock::now() >= end;
                send(&*flow, &traffic, &counts, &is_over);
            })?
        };
        Ok(Self {
            flow: flow.clone(),
            counts,
            thread,
        })
    }

    /// Slows down to this rate in bits per second, or returns to its own.
    pub(crate) fn slow_to(&self, bps: Option<f64>) {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a cast from float saturates, and rates are not negative"
        )]
        let bps = bps.map_or(0, |bps| (bps as u64).max(1));
        self.counts.allowed_bps.store(bps, Ordering::Relaxed);
    }

    /// Whether it sends no more.
    pub(crate) fn is_done(&self) -> bool {
        self.thread.is_done()
    }

    /// Makes it stop, and waits for that.
    pub(crate) fn stop(&mut self) {
        self.thread.stop();
    }

    /// The achieved schedule, after the sender has stopped. A sender without due times has none.
    pub(crate) fn achieved(&self) -> Option<Achieved> {
        lock(&self.counts.record).as_ref().map(Record::achieved)
    }

    /// Why it stopped before its time, if it did.
    pub(crate) fn failure(&self) -> Option<FlowError> {
        lock(&self.counts.failure).clone()
    }
}

fn send(flow: &dyn Flow, traffic: &Traffic, counts: &TxCounts, is_over: &dyn Fn() -> bool) {
    let length = traffic.length;
    let mut bytes = vec![0; length * BATCH];
    let begin = clock::now();
    let mut schedule = Schedule::new(&traffic.shape, length, traffic.seed, begin);
    let mut asks = traffic.has_echoes.then(Pace::of_asks);
    let mut number = 0;
    while !is_over() {
        let left = traffic.packets.map(|packets| packets - number);
        if left == Some(0) {
            end_series(flow, begin, number, counts, is_over);
            break;
        }
        if let Some(schedule) = &mut schedule {
            schedule.slow_to(counts.allowed_bps.load(Ordering::Relaxed));
        }
        let due = schedule.as_mut().map_or(BATCH, Schedule::wait);
        let due = left.map_or(due, |left| due.min(usize::try_from(left).unwrap_or(BATCH)));
        let bytes = &mut bytes[..due * length];
        let now = clock::now();
        let mut wants_echo = due > 0 && asks.as_mut().is_some_and(|asks| asks.is_due(now));
        for (datagram, number) in bytes.chunks_mut(length).zip(number..) {
            let head = Head {
                kind: Kind::Data,
                token: traffic.token,
                flow: traffic.flow,
                // The first one of the batch.
                wants_echo: core::mem::take(&mut wants_echo),
                number,
                sent_ns: now.as_nanos(),
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
                if let Some(schedule) = &mut schedule {
                    schedule.took(taken, clock::now());
                }
            }
            Err(e) => {
                counts.offered.fetch_add(1, Ordering::Relaxed);
                counts.refused.fetch_add(1, Ordering::Relaxed);
                *lock(&counts.failure) = Some(e);
                break;
            }
        }
    }
    *lock(&counts.record) = schedule.map(Schedule::into_record);
}

/// Waits until all datagrams have left, and notes how long that took.
fn end_series(
    flow: &dyn Flow,
    begin: Instant,
    packets: u64,
    counts: &TxCounts,
    is_over: &dyn Fn() -> bool,
) {
    while !flow.flush() && !is_over() {}
    let gaps = packets.saturating_sub(1).max(1);
    let span = nanos(clock::now() - begin);
    counts
        .series_ns
        .store(span + span / gaps, Ordering::Relaxed);
}

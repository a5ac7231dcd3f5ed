//! Sends what a source has, in time, on a thread of its own.

use super::end::{LOOK, lock};
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use core::time::Duration;
use dccp_emu::clock;
use dccp_sim::source::{App, Message, RunningSource};
use std::sync::{Condvar, Mutex, PoisonError};

/// A datagram that is sent this long after its due time counts as late.
const LATE: Duration = Duration::from_millis(1);

/// A source at work in real time.
#[derive(Debug)]
pub(super) struct Pump {
    source: Mutex<RunningSource>,
    /// Wakes the sending thread: an answer arrived, or the end.
    news: Condvar,
    is_over: AtomicBool,
    sent: AtomicU64,
    late: AtomicU64,
}

impl Pump {
    /// The source of an application whose connection is open now.
    pub(super) fn new(app: &App) -> Self {
        Self {
            source: Mutex::new(RunningSource::new(app, clock::now())),
            news: Condvar::new(),
            is_over: AtomicBool::new(false),
            sent: AtomicU64::new(0),
            late: AtomicU64::new(0),
        }
    }

    /// Gives all datagrams to `send` when they are due, until the end. `send` returns whether to go on.
    pub(super) fn run(&self, mut send: impl FnMut(Message) -> bool) {
        let mut source = lock(&self.source);
        while !self.is_over() {
            let now = clock::now();
            while let Some(due) = source.next_at().filter(|due| *due <= now) {
                let Some(datagram) = source.poll(now, usize::MAX) else {
                    break;
                };
                self.sent.fetch_add(1, Ordering::Relaxed);
                let is_late = now - due > LATE;
                self.late.fetch_add(u64::from(is_late), Ordering::Relaxed);
                if !send(datagram.message) {
                    return;
                }
            }
            let left = source.next_at().map_or(LOOK, |at| at - clock::now());
            let waited = self.news.wait_timeout(source, left.min(LOOK));
            source = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Lowers a constant rate.
    pub(super) fn slow_to(&self, bits_per_s: u64) {
        lock(&self.source).slow_to(clock::now(), bits_per_s);
    }

    /// Takes `bytes` that may belong to an answer.
    pub(super) fn on_received(&self, bytes: usize) {
        lock(&self.source).on_received(clock::now(), bytes);
        self.news.notify_all();
    }

    /// Ends the source.
    pub(super) fn end(&self) {
        self.is_over.store(true, Ordering::Relaxed);
        self.news.notify_all();
    }

    pub(super) fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Relaxed)
    }

    /// Datagrams given to the transport, and those of them that were late.
    pub(super) fn counts(&self) -> (u64, u64) {
        let load = |n: &AtomicU64| n.load(Ordering::Relaxed);
        (load(&self.sent), load(&self.late))
    }
}

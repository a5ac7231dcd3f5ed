//! The receiving end of a flow: a thread that counts datagrams.

use super::numbers::Numbers;
use super::{Thread, lock};
use crate::transport::{Flow, Packet};
use crate::wire::packet::{Head, Kind};
use core::sync::atomic::{AtomicBool, Ordering};
use dccp::Instant;
use std::io;
use std::sync::{Arc, Mutex};

/// The receiving end of a flow.
pub(crate) struct Receiver {
    pub(crate) flow: Arc<dyn Flow>,
    counts: Arc<Mutex<RxCounts>>,
    thread: Thread,
}

/// Counters of the receiving thread.
#[derive(Clone, Debug, Default)]
pub(crate) struct RxCounts {
    pub(crate) numbers: Numbers,
    /// Bytes of datagrams that came for the first time.
    pub(crate) bytes: u64,
    /// Datagrams with a congestion mark.
    pub(crate) marked: u64,
    pub(crate) first_at: Option<Instant>,
    pub(crate) last_at: Instant,
}

impl Receiver {
    /// Begins to receive flow `id`; ends with the connection, or when [`stop`](Self::stop) is called.
    pub(crate) fn start(flow: &Arc<dyn Flow>, token: u64, id: u16) -> io::Result<Self> {
        let counts = Arc::new(Mutex::new(RxCounts::default()));
        let thread = {
            let (flow, counts) = (flow.clone(), counts.clone());
            Thread::spawn("receive", move |is_over| {
                receive(&*flow, token, id, &counts, is_over);
            })?
        };
        Ok(Self {
            flow: flow.clone(),
            counts,
            thread,
        })
    }

    /// The counters so far.
    pub(crate) fn counts(&self) -> RxCounts {
        lock(&self.counts).clone()
    }

    /// Different datagrams so far.
    pub(crate) fn received(&self) -> u64 {
        lock(&self.counts).numbers.distinct
    }

    /// Whether it receives no more.
    pub(crate) fn is_done(&self) -> bool {
        self.thread.is_done()
    }

    /// Makes it stop, and waits for that.
    pub(crate) fn stop(&mut self) {
        self.thread.stop();
    }
}

fn receive(flow: &dyn Flow, token: u64, id: u16, counts: &Mutex<RxCounts>, is_over: &AtomicBool) {
    while !is_over.load(Ordering::Relaxed) {
        let received = flow.recv(&mut |packets| {
            let mut counts = lock(counts);
            for packet in packets {
                let head = Head::read(packet.bytes).filter(|h| h.kind == Kind::Data);
                if let Some(head) = head.filter(|h| (h.token, h.flow) == (token, id)) {
                    counts.add(&head, &packet);
                }
            }
        });
        if received.is_err() {
            return;
        }
    }
}

impl RxCounts {
    fn add(&mut self, head: &Head, packet: &Packet<'_>) {
        self.marked += u64::from(packet.is_marked);
        self.first_at.get_or_insert(packet.arrived);
        self.last_at = packet.arrived;
        if self.numbers.take(head.number) {
            self.bytes += packet.bytes.len() as u64;
        }
    }
}

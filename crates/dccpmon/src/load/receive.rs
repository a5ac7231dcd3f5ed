//! The receiving end of a flow: a thread that counts datagrams.

use super::numbers::Numbers;
use super::{BATCH, LOOK, Thread, lock};
use crate::wire::packet::{Head, Kind};
use core::sync::atomic::{AtomicBool, Ordering};
use dccp::proto::wire::Ecn;
use dccp::{Instant, RecvBatch, RecvError, Socket};
use std::io;
use std::sync::{Arc, Mutex};

/// The receiving end of a flow.
pub(crate) struct Receiver {
    pub(crate) socket: Arc<Socket>,
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
    /// Begins to receive; ends with the connection, or when [`stop`](Self::stop) is called.
    pub(crate) fn start(socket: &Arc<Socket>, token: u64, flow: u32) -> io::Result<Self> {
        socket.set_recv_timeout(Some(LOOK));
        let counts = Arc::new(Mutex::new(RxCounts::default()));
        let thread = {
            let (socket, counts) = (socket.clone(), counts.clone());
            Thread::spawn("receive", move |is_over| {
                receive(&socket, token, flow, &counts, is_over);
            })?
        };
        Ok(Self {
            socket: socket.clone(),
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

fn receive(socket: &Socket, token: u64, flow: u32, counts: &Mutex<RxCounts>, is_over: &AtomicBool) {
    let mut batch = RecvBatch::new(BATCH);
    while !is_over.load(Ordering::Relaxed) {
        match socket.recv_batch(&mut batch) {
            Ok(_) => {}
            Err(RecvError::TimedOut | RecvError::WouldBlock) => continue,
            Err(_) => return,
        }
        let mut counts = lock(counts);
        for datagram in &batch {
            let Some(head) = Head::read(datagram) else {
                continue;
            };
            if head.kind != Kind::Data || (head.token, head.flow) != (token, flow) {
                continue;
            }
            let meta = datagram.meta();
            counts.marked += u64::from(meta.ecn == Ecn::Ce);
            counts.first_at.get_or_insert(meta.arrived);
            counts.last_at = meta.arrived;
            if counts.numbers.take(head.number) {
                counts.bytes += datagram.len() as u64;
            }
        }
    }
}

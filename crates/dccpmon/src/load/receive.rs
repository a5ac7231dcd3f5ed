//! The receiving end of a flow: a thread that follows the arrivals.

use super::{Thread, lock};
use crate::transport::Flow;
use crate::wire::packet::{Head, Kind};
use core::sync::atomic::{AtomicBool, Ordering};
use dccp_stats::{Arrival, ArrivalFigures, ArrivalInterval, Arrivals};
use std::io;
use std::sync::{Arc, Mutex};

/// The receiving end of a flow.
pub(crate) struct Receiver {
    pub(crate) flow: Arc<dyn Flow>,
    arrivals: Arc<Mutex<Arrivals>>,
    thread: Thread,
}

impl Receiver {
    /// Begins to receive flow `id`; ends with the connection, or when [`stop`](Self::stop) is called. The first `lost_runs`
    /// runs of lost packets are listed.
    pub(crate) fn start(
        flow: &Arc<dyn Flow>,
        token: u64,
        id: u16,
        lost_runs: u32,
    ) -> io::Result<Self> {
        let arrivals = Arc::new(Mutex::new(Arrivals::new(lost_runs as usize)));
        let thread = {
            let (flow, arrivals) = (flow.clone(), arrivals.clone());
            Thread::spawn("receive", move |is_over| {
                receive(&*flow, token, id, &arrivals, is_over);
            })?
        };
        Ok(Self {
            flow: flow.clone(),
            arrivals,
            thread,
        })
    }

    /// The arrivals since the last call.
    pub(crate) fn interval(&self) -> ArrivalInterval {
        lock(&self.arrivals).interval()
    }

    /// All arrivals. `packets` is the number that the sender states. Later arrivals do not count.
    pub(crate) fn finish(&self, packets: Option<u64>) -> ArrivalFigures {
        core::mem::replace(&mut *lock(&self.arrivals), Arrivals::new(0)).finish(packets)
    }

    /// Different datagrams so far.
    pub(crate) fn received(&self) -> u64 {
        lock(&self.arrivals).counts().packets
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

fn receive(flow: &dyn Flow, token: u64, id: u16, arrivals: &Mutex<Arrivals>, is_over: &AtomicBool) {
    while !is_over.load(Ordering::Relaxed) {
        let received = flow.recv(&mut |packets| {
            let mut arrivals = lock(arrivals);
            for packet in packets {
                let head = Head::read(packet.bytes).filter(|h| h.kind == Kind::Data);
                if let Some(head) = head.filter(|h| (h.token, h.flow) == (token, id)) {
                    arrivals.add(&Arrival {
                        number: head.number,
                        sent_ns: head.sent_ns,
                        arrived_ns: packet.arrived.as_nanos(),
                        bytes: packet.bytes.len() as u64,
                        is_marked: packet.is_marked,
                    });
                }
            }
        });
        if received.is_err() {
            return;
        }
    }
}

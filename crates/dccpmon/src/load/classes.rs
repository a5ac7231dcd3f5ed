//! The receiving end of `media`: one connection whose packets are of two classes, each with numbers of its own.

use super::{Thread, lock};
use crate::transport::Flow;
use crate::wire::packet::{Head, Kind};
use core::sync::atomic::{AtomicBool, Ordering};
use dccp_stats::{Arrival, ArrivalFigures, Arrivals};
use std::io;
use std::sync::{Arc, Mutex};

/// Classes of packets. The head of a packet has its class in place of the flow.
pub(crate) const CLASSES: usize = 2;
/// The class of packets that may be left out.
pub(crate) const OTHER: u16 = 0;
/// The class of important packets.
pub(crate) const IMPORTANT: u16 = 1;

type ArrivalsOfAll = Mutex<[Arrivals; CLASSES]>;

/// The receiving end of a connection.
pub(crate) struct ClassReceiver {
    pub(crate) flow: Arc<dyn Flow>,
    arrivals: Arc<ArrivalsOfAll>,
    thread: Thread,
}

impl ClassReceiver {
    /// Begins to receive; ends with the connection, or when [`stop`](Self::stop) is called.
    pub(crate) fn start(flow: &Arc<dyn Flow>, token: u64) -> io::Result<Self> {
        let arrivals = Arc::new(Mutex::new([Arrivals::new(0), Arrivals::new(0)]));
        let thread = {
            let (flow, arrivals) = (flow.clone(), arrivals.clone());
            Thread::spawn("receive", move |is_over| {
                receive(&*flow, token, &arrivals, is_over);
            })?
        };
        Ok(Self {
            flow: flow.clone(),
            arrivals,
            thread,
        })
    }

    /// Different packets of all classes so far.
    pub(crate) fn received(&self) -> u64 {
        lock(&self.arrivals)
            .iter()
            .map(|a| a.counts().packets)
            .sum()
    }

    /// Whether it receives no more.
    pub(crate) fn is_done(&self) -> bool {
        self.thread.is_done()
    }

    /// Makes it stop, and waits for that.
    pub(crate) fn stop(&mut self) {
        self.thread.stop();
    }

    /// The arrivals of each class. `packets` are the numbers that the client states. Later arrivals do not count.
    pub(crate) fn finish(&self, packets: &[u64]) -> Vec<ArrivalFigures> {
        let none = [Arrivals::new(0), Arrivals::new(0)];
        let arrivals = core::mem::replace(&mut *lock(&self.arrivals), none);
        let numbered = arrivals.into_iter().enumerate();
        numbered
            .map(|(class, arrivals)| arrivals.finish(packets.get(class).copied()))
            .collect()
    }
}

fn receive(flow: &dyn Flow, token: u64, arrivals: &ArrivalsOfAll, is_over: &AtomicBool) {
    while !is_over.load(Ordering::Relaxed) {
        let received = flow.recv(&mut |packets| {
            let mut arrivals = lock(arrivals);
            for packet in packets {
                let head = Head::read(packet.bytes);
                let head = head.filter(|h| h.kind == Kind::Data && h.token == token);
                let Some(head) = head else { continue };
                if let Some(arrivals) = arrivals.get_mut(usize::from(head.flow)) {
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

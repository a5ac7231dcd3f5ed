//! The receiving end of a flow: a thread that follows the arrivals.

use super::rtt::Pace;
use super::{Thread, lock};
use crate::transport::{Flow, LOOK};
use crate::wire::packet::{Echo, Head, Kind};
use core::sync::atomic::{AtomicBool, Ordering};
use core::time::Duration;
use dccp::proto::time::nanos;
use dccp::{Instant, clock};
use dccp_stats::{Arrival, ArrivalFigures, ArrivalInterval, Arrivals, Histogram, Spread};
use std::io;
use std::sync::{Arc, Mutex};

/// A wait for data ends after [`LOOK`]. A receiver that looks for data this much later did not run meanwhile.
const PAUSE_MIN: Duration = LOOK.saturating_add(Duration::from_millis(50));

/// The receiving end of a flow.
pub(crate) struct Receiver {
    pub(crate) flow: Arc<dyn Flow>,
    log: Arc<Mutex<Log>>,
    thread: Thread,
}

/// The observations of the receiving thread.
struct Log {
    arrivals: Arrivals,
    /// From the arrival of each datagram to the program, in nanoseconds.
    waits: Histogram,
    pauses: Pauses,
}

/// Pauses of the receiver: it did not read because it did not run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Pauses {
    pub(crate) sum: Duration,
    pub(crate) longest: Duration,
}

impl Pauses {
    /// The receiver read this long after its last read.
    fn note(&mut self, gap: Duration) {
        self.sum += gap;
        self.longest = self.longest.max(gap);
    }
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
        let log = Arc::new(Mutex::new(Log {
            arrivals: Arrivals::new(lost_runs as usize),
            waits: Histogram::default(),
            pauses: Pauses::default(),
        }));
        let thread = {
            let (flow, log) = (flow.clone(), log.clone());
            Thread::spawn("receive", move |is_over| {
                receive(&*flow, token, id, &log, is_over);
            })?
        };
        Ok(Self {
            flow: flow.clone(),
            log,
            thread,
        })
    }

    /// The arrivals since the last call.
    pub(crate) fn interval(&self) -> ArrivalInterval {
        lock(&self.log).arrivals.interval()
    }

    /// All arrivals. `packets` is the number that the sender states. Later arrivals do not count.
    pub(crate) fn finish(&self, packets: Option<u64>) -> ArrivalFigures {
        let arrivals = core::mem::replace(&mut lock(&self.log).arrivals, Arrivals::new(0));
        arrivals.finish(packets)
    }

    /// The times from the arrival of a datagram to the program; `None` if the transport does not tell.
    pub(crate) fn waits(&self) -> Option<Spread> {
        lock(&self.log).waits.spread()
    }

    /// The pauses so far.
    pub(crate) fn pauses(&self) -> Pauses {
        lock(&self.log).pauses
    }

    /// Different datagrams so far.
    pub(crate) fn received(&self) -> u64 {
        lock(&self.log).arrivals.counts().packets
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

fn receive(flow: &dyn Flow, token: u64, id: u16, log: &Mutex<Log>, is_over: &AtomicBool) {
    let mut echoes = Pace::of_echoes();
    let mut looked_at = clock::now();
    while !is_over.load(Ordering::Relaxed) {
        let mut echo = None;
        let mut read_at: Option<Instant> = None;
        let received = flow.recv(&mut |packets| {
            let mut log = lock(log);
            for packet in packets {
                read_at = Some(packet.arrived + packet.waited.unwrap_or_default());
                let head = Head::read(packet.bytes).filter(|h| h.kind == Kind::Data);
                if let Some(head) = head.filter(|h| (h.token, h.flow) == (token, id)) {
                    if let Some(waited) = packet.waited {
                        log.waits.record(nanos(waited));
                    }
                    if head.wants_echo && echoes.is_due(packet.arrived) {
                        echo = Some(Echo {
                            token,
                            flow: id,
                            number: head.number,
                            sent_ns: head.sent_ns,
                            arrived_ns: packet.arrived.as_nanos(),
                            echoed_ns: 0,
                        });
                    }
                    log.arrivals.add(&Arrival {
                        number: head.number,
                        sent_ns: head.sent_ns,
                        arrived_ns: packet.arrived.as_nanos(),
                        bytes: packet.bytes.len() as u64,
                        is_marked: packet.is_marked,
                    });
                }
            }
        });
        let read_at = read_at.unwrap_or_else(clock::now);
        let gap = read_at - looked_at;
        if gap >= PAUSE_MIN {
            lock(log).pauses.note(gap);
        }
        looked_at = read_at;
        if let Some(echo) = echo {
            let echoed_ns = clock::now().as_nanos();
            flow.reply(&Echo { echoed_ns, ..echo }.datagram());
        }
        if received.is_err() {
            return;
        }
    }
}

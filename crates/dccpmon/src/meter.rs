//! One end of a running test: its flows, and what it tells about them. Client and server use the
//! same.

mod obedience;
pub(crate) mod safeudp;
mod sending;

use crate::limits::DRAIN_MAX;
use crate::load::receive::Receiver;
use crate::load::rtt::EchoReader;
use crate::load::send::{Sender, Traffic};
use crate::load::trace::Trace;
use crate::output::capture::Capture;
use crate::schema::{CcSample, Samples};
use crate::transport::{Flow, Sample};
use crate::wire::figures::{FlowTotal, Interval, RxInterval, RxTotal};
use core::sync::atomic::Ordering;
use core::time::Duration;
use dccp::proto::number::to_f64;
use dccp::proto::time::nanos;
use dccp::{Instant, clock};
use dccp_stats::Histogram;
use obedience::Obedience;
use safeudp::History;
use sending::{Times, TxEnd};
use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

/// How often the senders are looked at: what round-trip times and verdicts are made from.
pub(crate) const SAMPLE: Duration = Duration::from_millis(10);

/// A flow over UDP that received nothing for this time, after the sender has ended, has received all.
pub(crate) const QUIET: Duration = Duration::from_millis(500);

/// The flows of one end.
pub(crate) struct Meter {
    flows: Vec<End>,
    begin: Instant,
    /// Where the current interval began.
    since: Instant,
    index: u32,
    /// Several flows use one transport at this end: its drops are theirs together.
    shares_transport: bool,
    trace: Option<Trace>,
}

/// This end of a flow.
pub(crate) enum End {
    /// It sends.
    Tx(Box<TxEnd>),
    /// It receives.
    Rx(Box<RxEnd>),
}

/// A receiving end and what was seen of it.
pub(crate) struct RxEnd {
    id: u16,
    receiver: Receiver,
}

impl End {
    /// A sending end that begins now.
    pub(crate) fn send(
        flow: &Arc<dyn Flow>,
        traffic: Traffic,
        duration: Duration,
    ) -> io::Result<Self> {
        let before = flow.counters().unwrap_or_default();
        flow.store_queue_times();
        let (token, id) = (traffic.token, traffic.flow);
        let echoes = traffic.has_echoes;
        let echoes = echoes.then(|| EchoReader::start(flow, token, id));
        let obedience = traffic.shape.mean_bps(traffic.length).map(to_f64);
        let obedience = obedience.filter(|_| traffic.obeys).map(Obedience::new);
        let first = flow.sample().and_then(|sample| sample.safe_udp);
        let history = first.map(|first| History::new(first, before.counted(), obedience));
        Ok(Self::Tx(Box::new(TxEnd {
            id: traffic.flow,
            length: traffic.length as u64,
            sender: Sender::start(flow, traffic, duration)?,
            before,
            left: 0,
            rtts: Times::default(),
            loss_rtts: Histogram::default(),
            queue: Times::default(),
            user: Times::default(),
            receiver: Times::default(),
            echoes: echoes.transpose()?,
            samples: Samples::default(),
            last: Sample::default(),
            retransmitted: None,
            taken_back: 0,
            history: history.map(Box::new),
        })))
    }

    /// A receiving end that begins now, and lists the first `lost_runs` runs of lost packets.
    pub(crate) fn receive(
        flow: &Arc<dyn Flow>,
        token: u64,
        id: u16,
        lost_runs: u32,
    ) -> io::Result<Self> {
        Ok(Self::Rx(Box::new(RxEnd {
            id,
            receiver: Receiver::start(flow, token, id, lost_runs)?,
        })))
    }

    fn flow(&self) -> &dyn Flow {
        match self {
            Self::Tx(tx) => &*tx.sender.flow,
            Self::Rx(rx) => &*rx.receiver.flow,
        }
    }
}

impl Meter {
    /// The flows of a test that begins now.
    pub(crate) fn new(flows: Vec<End>, shares_transport: bool) -> Self {
        let now = clock::now();
        Self {
            flows,
            begin: now,
            since: now,
            index: 0,
            shares_transport,
            trace: None,
        }
    }

    /// Keeps rows of samples, at least `gap` apart.
    #[must_use]
    pub(crate) fn traced(self, gap: Option<Duration>) -> Self {
        let trace = gap.map(Trace::new);
        Self { trace, ..self }
    }

    /// The rows of samples. No more are kept from here on.
    pub(crate) fn take_rows(&mut self) -> Option<Vec<CcSample>> {
        self.trace.take().map(Trace::into_rows)
    }

    /// Since the test began.
    pub(crate) fn elapsed(&self) -> Duration {
        clock::now() - self.begin
    }

    /// Looks at the senders.
    pub(crate) fn sample(&mut self) {
        let elapsed = self.elapsed();
        for flow in &mut self.flows {
            if let End::Tx(tx) = flow {
                tx.sample(elapsed);
            }
        }
        let Some(trace) = &mut self.trace else { return };
        if !trace.is_due(elapsed) {
            return;
        }
        for flow in &self.flows {
            if let End::Tx(tx) = flow {
                trace.add(tx.row(elapsed));
            }
        }
    }

    /// Passes the senders' states of the last look to a capture.
    pub(crate) fn show_states(&self, capture: &Capture) {
        for (flow, end) in self.flows.iter().enumerate() {
            if let End::Tx(tx) = end {
                capture.state(flow, clock::now(), tx.state());
            }
        }
    }

    /// The duration of the longest series whose number of datagrams is limited; `None` without one.
    pub(crate) fn series(&self) -> Option<Duration> {
        let of = |flow: &End| match flow {
            End::Tx(tx) => tx.sender.counts.series_ns.load(Ordering::Relaxed),
            End::Rx(_) => 0,
        };
        let longest = self.flows.iter().map(of).max().filter(|ns| *ns > 0);
        longest.map(Duration::from_nanos)
    }

    /// Datagrams that all flows have received, or offered to their sockets. A flow whose peer does not
    /// take them soon offers no more.
    pub(crate) fn progress(&self) -> u64 {
        let of = |flow: &End| match flow {
            End::Tx(tx) => tx.sender.counts.offered.load(Ordering::Relaxed),
            End::Rx(rx) => rx.receiver.received(),
        };
        self.flows.iter().map(of).sum()
    }

    /// Whether all threads have ended.
    pub(crate) fn is_done(&self) -> bool {
        self.flows.iter().all(|flow| match flow {
            End::Tx(tx) => tx.sender.is_done(),
            End::Rx(rx) => rx.receiver.is_done(),
        })
    }

    /// Ends the interval and returns its figures.
    pub(crate) fn interval(&mut self) -> Vec<Interval> {
        let now = clock::now();
        let (t0, t1) = (self.since - self.begin, now - self.begin);
        let index = self.index;
        self.since = now;
        self.index += 1;
        let empty = |flow: u16| Interval {
            flow: flow.into(),
            index,
            t0_ns: nanos(t0),
            t1_ns: nanos(t1),
            tx: None,
            rx: None,
        };
        self.flows
            .iter_mut()
            .map(|flow| match flow {
                End::Tx(tx) => Interval {
                    tx: Some(tx.interval()),
                    ..empty(tx.id)
                },
                End::Rx(rx) => Interval {
                    rx: Some(rx.interval()),
                    ..empty(rx.id)
                },
            })
            .collect()
    }

    /// Ends sending: takes back what has not left, waits until the rest is acknowledged, but not for
    /// ever, and closes the connections that do not receive too. Samples go on meanwhile.
    pub(crate) fn finish_sending(&mut self) {
        for flow in &mut self.flows {
            if let End::Tx(tx) = flow {
                tx.stop();
                tx.taken_back = tx.sender.flow.withdraw();
            }
        }
        let until = clock::now() + DRAIN_MAX;
        while clock::now() < until && !self.senders().all(|tx| tx.sender.flow.is_drained()) {
            self.sample();
            std::thread::sleep(SAMPLE);
        }
        if self.flows.iter().any(|flow| self.shares_connection(flow)) {
            return;
        }
        self.close();
        // All flows share the time, so that no peer holds the test longer by opening more of them.
        let until = clock::now() + DRAIN_MAX;
        for flow in self.senders().map(|tx| &tx.sender.flow) {
            if !flow.has_closed(until) {
                // So that every datagram has its fate.
                flow.abort();
                flow.has_closed(clock::now() + DRAIN_MAX);
            }
        }
    }

    /// Closes the connections that this end sends over. One that receives too must not be closed before the peer has
    /// ended sending, because DCCP closes both directions at once.
    pub(crate) fn close(&self) {
        for flow in self.senders().map(|tx| &tx.sender.flow) {
            if flow.is_drained() {
                flow.close();
            } else {
                flow.abort();
            }
        }
    }

    fn senders(&self) -> impl Iterator<Item = &TxEnd> {
        self.flows.iter().filter_map(|flow| match flow {
            End::Tx(tx) => Some(&**tx),
            End::Rx(_) => None,
        })
    }

    /// Whether this end receives the flow over a connection that it sends over too.
    fn shares_connection(&self, flow: &End) -> bool {
        let End::Rx(rx) = flow else { return false };
        let connection = &rx.receiver.flow;
        self.senders()
            .any(|tx| Arc::ptr_eq(&tx.sender.flow, connection))
    }

    /// Ends receiving: waits until the connections have ended, but not for ever.
    pub(crate) fn finish_receiving(&mut self) {
        let begin = clock::now();
        let (mut received, mut received_at) = (self.progress(), begin);
        while clock::now() < begin + DRAIN_MAX {
            let now = clock::now();
            if received != self.progress() {
                (received, received_at) = (self.progress(), now);
            }
            let is_quiet = now - received_at >= QUIET;
            if self.is_done() || is_quiet && !self.flows.iter().any(|f| f.flow().shows_end()) {
                break;
            }
            std::thread::sleep(SAMPLE);
        }
        for flow in &mut self.flows {
            if let End::Rx(rx) = flow {
                rx.receiver.stop();
            }
        }
    }

    /// The packets of each flow that this end sent.
    pub(crate) fn packets_sent(&self) -> Vec<u64> {
        let of = |flow: &End| match flow {
            End::Tx(tx) => tx.packets(),
            End::Rx(_) => 0,
        };
        self.flows.iter().map(of).collect()
    }

    /// The totals of the flows, after they have ended. `packets` are those that the sending end states for each flow.
    pub(crate) fn totals(&mut self, packets: &[u64]) -> Vec<FlowTotal> {
        // The last conclusions come with the end of a connection.
        self.sample();
        let shares_transport = self.shares_transport;
        self.flows
            .iter_mut()
            .map(|flow| match flow {
                End::Tx(tx) => FlowTotal {
                    flow: tx.id.into(),
                    tx: Some(tx.total(shares_transport)),
                    rx: None,
                },
                End::Rx(rx) => FlowTotal {
                    flow: rx.id.into(),
                    tx: None,
                    rx: Some(rx.total(shares_transport, packets.get(usize::from(rx.id)).copied())),
                },
            })
            .collect()
    }

    /// Protocol counters of all flows, those above 0.
    pub(crate) fn mib(&self) -> BTreeMap<String, u64> {
        let mut sum = BTreeMap::new();
        // Each connection counts once.
        for flow in self.flows.iter().filter(|f| !self.shares_connection(f)) {
            flow.flow().protocol_counters(&mut |name, n| {
                if n > 0 {
                    *sum.entry(name).or_default() += n;
                }
            });
        }
        sum
    }
}

impl RxEnd {
    fn interval(&mut self) -> RxInterval {
        let arrivals = self.receiver.interval();
        let counts = arrivals.counts;
        RxInterval {
            packets: counts.packets,
            bytes: counts.bytes,
            lost_packets: counts.missing,
            recovered_packets: arrivals.recovered,
            marked: counts.marked,
        }
    }

    /// `packets` is the number that the sender states.
    fn total(&mut self, shares_transport: bool, packets: Option<u64>) -> RxTotal {
        let pauses = self.receiver.pauses();
        let mut total = RxTotal {
            pauses_ns: nanos(pauses.sum),
            pause_max_ns: nanos(pauses.longest),
            buffers: self.receiver.flow.buffers(),
            shares_transport,
            wait_ns: self.receiver.waits(),
            stamps: self.receiver.flow.stamps(),
            ..RxTotal::from(self.receiver.finish(packets))
        };
        if let Some(now) = self.receiver.flow.counters() {
            total.dropped_socket = now.dropped_socket;
            total.unread = now.unread;
            total.answers = now.packets_sent;
            total.is_dropped_kernel_least = now.is_dropped_kernel_least;
            total.dropped_kernel = now.dropped_kernel;
        }
        total
    }
}

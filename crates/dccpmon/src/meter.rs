//! One end of a running test: its flows, and what it tells about them. Client and server use the
//! same.

use crate::distribution::Distribution;
use crate::limits::DRAIN_MAX;
use crate::load::receive::{Receiver, RxCounts};
use crate::load::send::{Sender, Traffic, TxCounts};
use crate::schema::Samples;
use crate::wire::figures::{
    FlowTotal, Interval, Negotiated, RxInterval, RxTotal, TxInterval, TxTotal,
};
use core::sync::atomic::Ordering;
use core::time::Duration;
use dccp::proto::cc::Snapshot;
use dccp::proto::conn::ConnSnapshot;
use dccp::proto::time::nanos;
use dccp::{Instant, Socket, Stats, clock};
use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

/// How often the senders are looked at: what round-trip times and verdicts are made from.
pub(crate) const SAMPLE: Duration = Duration::from_millis(10);

/// The flows of one end.
pub(crate) struct Meter {
    flows: Vec<End>,
    begin: Instant,
    /// Where the current interval began.
    since: Instant,
    index: u32,
    /// Several flows use one transport at this end: its drops are theirs together.
    shares_transport: bool,
}

/// This end of a flow.
pub(crate) enum End {
    /// It sends.
    Tx(Box<TxEnd>),
    /// It receives.
    Rx(Box<RxEnd>),
}

/// A sending end and what was seen of it.
pub(crate) struct TxEnd {
    id: u32,
    sender: Sender,
    before: Option<Stats>,
    /// Datagrams that had left when the interval began, and their bytes.
    left: u64,
    length: u64,
    /// Round-trip times of the interval, and of the whole test, in nanoseconds: of those that the
    /// connection measured, the newest at each look.
    rtts: Distribution,
    all_rtts: Distribution,
    samples: Samples,
    last: Option<ConnSnapshot>,
    /// Datagrams taken back at the end: they count as never offered.
    taken_back: u64,
}

/// A receiving end and what was seen of it.
pub(crate) struct RxEnd {
    id: u32,
    receiver: Receiver,
    before: Option<Stats>,
    counts: RxCounts,
}

impl End {
    /// A sending end that begins now.
    pub(crate) fn send(
        socket: &Arc<Socket>,
        traffic: Traffic,
        duration: Duration,
    ) -> io::Result<Self> {
        let before = socket.stats().ok();
        Ok(Self::Tx(Box::new(TxEnd {
            id: traffic.flow,
            sender: Sender::start(socket, traffic, duration)?,
            before,
            left: 0,
            length: traffic.length as u64,
            rtts: Distribution::default(),
            all_rtts: Distribution::default(),
            samples: Samples::default(),
            last: None,
            taken_back: 0,
        })))
    }

    /// A receiving end that begins now.
    pub(crate) fn receive(socket: &Arc<Socket>, token: u64, flow: u32) -> io::Result<Self> {
        let before = socket.stats().ok();
        Ok(Self::Rx(Box::new(RxEnd {
            id: flow,
            receiver: Receiver::start(socket, token, flow)?,
            before,
            counts: RxCounts::default(),
        })))
    }

    fn socket(&self) -> &Socket {
        match self {
            Self::Tx(tx) => &tx.sender.socket,
            Self::Rx(rx) => &rx.receiver.socket,
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
        }
    }

    /// Since the test began.
    pub(crate) fn elapsed(&self) -> Duration {
        clock::now() - self.begin
    }

    /// Looks at the senders.
    pub(crate) fn sample(&mut self) {
        for flow in &mut self.flows {
            if let End::Tx(tx) = flow {
                tx.sample();
            }
        }
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
        let empty = |flow| Interval {
            flow,
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
    /// ever, and closes the connections. Samples go on meanwhile.
    pub(crate) fn finish_sending(&mut self) {
        for flow in &mut self.flows {
            if let End::Tx(tx) = flow {
                tx.sender.stop();
                tx.taken_back = tx.sender.socket.withdraw_queued() as u64;
            }
        }
        let until = clock::now() + DRAIN_MAX;
        while clock::now() < until && !self.flows.iter().all(is_drained) {
            self.sample();
            std::thread::sleep(SAMPLE);
        }
        for flow in &self.flows {
            if is_drained(flow) {
                flow.socket().shutdown(std::net::Shutdown::Write);
            } else {
                flow.socket().abort();
            }
        }
        // All flows share the time, so that no peer holds the test longer by opening more of them.
        let until = clock::now() + DRAIN_MAX;
        let has_closed = |flow: &End| flow.socket().wait_closed(until - clock::now()).is_ok();
        for flow in self.flows.iter().filter(|flow| !has_closed(flow)) {
            // So that every datagram has its fate.
            flow.socket().abort();
            let _ = flow.socket().wait_closed(DRAIN_MAX);
        }
    }

    /// Ends receiving: waits until the connections have ended, but not for ever.
    pub(crate) fn finish_receiving(&mut self) {
        let until = clock::now() + DRAIN_MAX;
        while !self.is_done() && clock::now() < until {
            std::thread::sleep(SAMPLE);
        }
        for flow in &mut self.flows {
            if let End::Rx(rx) = flow {
                rx.receiver.stop();
            }
        }
    }

    /// The totals of the flows, after they have ended.
    pub(crate) fn totals(&mut self) -> Vec<FlowTotal> {
        let shares_transport = self.shares_transport;
        self.flows
            .iter_mut()
            .map(|flow| match flow {
                End::Tx(tx) => FlowTotal {
                    flow: tx.id,
                    tx: Some(tx.total(shares_transport)),
                    rx: None,
                },
                End::Rx(rx) => FlowTotal {
                    flow: rx.id,
                    tx: None,
                    rx: Some(rx.total(shares_transport)),
                },
            })
            .collect()
    }

    /// Protocol counters of all flows, those above 0.
    pub(crate) fn mib(&self) -> BTreeMap<String, u64> {
        let mut sum = BTreeMap::new();
        for stats in self.flows.iter().filter_map(|f| f.socket().stats().ok()) {
            let s = &stats.connection;
            let named = s.mib.by_name().chain(s.counters.by_name());
            for (name, n) in named.filter(|(_, n)| *n > 0) {
                *sum.entry(name.to_owned()).or_default() += n;
            }
            for (reason, n) in s.drops.by_name().filter(|(_, n)| *n > 0) {
                *sum.entry(format!("dropped_{reason}")).or_default() += n;
            }
        }
        sum
    }
}

fn is_drained(flow: &End) -> bool {
    match flow {
        End::Rx(_) => true,
        End::Tx(tx) => tx
            .sender
            .socket
            .stats()
            .map_or(true, |s| s.sent.queued == 0 && s.sent.in_flight == 0),
    }
}

impl TxEnd {
    fn sample(&mut self) {
        let Ok(now) = self.sender.socket.snapshot() else {
            return;
        };
        let before = self.last.as_ref().and_then(|l| l.rtt_sample);
        if let Some((_, rtt)) = now.rtt_sample.filter(|s| Some(*s) != before) {
            self.rtts.add(nanos(rtt));
        }
        let is_idle = self.sender.socket.queued() == 0;
        let is_full = now
            .tx
            .cwnd_packets
            .is_some_and(|cwnd| f64::from(now.pipe_packets) + 1.0 > cwnd);
        self.samples.n += 1;
        *match (is_idle, is_full) {
            (true, _) => &mut self.samples.idle,
            (false, true) => &mut self.samples.window_full,
            (false, false) => &mut self.samples.paced,
        } += 1;
        self.samples.slow_start += u64::from(now.tx.phase == Some("slow_start"));
        self.last = Some(now);
    }

    fn interval(&mut self) -> TxInterval {
        let left = self
            .sender
            .socket
            .stats()
            .map_or(self.left, |s| self.left(&s));
        let packets = left - self.left;
        self.left = left;
        let rtt_ns = self.rtts.spread();
        self.all_rtts.append(&mut self.rtts);
        let tx = self.last.as_ref().map(|s| s.tx.clone()).unwrap_or_default();
        TxInterval {
            packets,
            bytes: packets * self.length,
            rtt_ns,
            cwnd_packets: tx.cwnd_packets,
            ssthresh_packets: tx.ssthresh_packets,
            rate_bps: rate_bps(&tx),
            cc_state: tx.phase.map(str::to_owned),
        }
    }

    fn total(&mut self, shares_transport: bool) -> TxTotal {
        self.all_rtts.append(&mut self.rtts);
        let TxCounts {
            offered, refused, ..
        } = &*self.sender.counts;
        let mut total = TxTotal {
            offered: offered.load(Ordering::Relaxed) - self.taken_back,
            refused: refused.load(Ordering::Relaxed),
            rtt_ns: self.all_rtts.spread(),
            samples: self.samples,
            broken: self.sender.failure().map(|e| e.to_string()),
            shares_transport,
            ..TxTotal::default()
        };
        if let Some(last) = &self.last {
            total.connection = Negotiated {
                ccid: last.tx_ccid,
                cc: last.tx.law.map(str::to_owned),
                ack_ratio: last.ack_ratio,
                is_ecn: last.is_ecn,
                mps_bytes: last.mps as u64,
                cscov: last.cscov,
            };
        }
        let Ok(stats) = self.sender.socket.stats() else {
            return total;
        };
        let since = |of: fn(&Stats) -> u64| of(&stats) - self.before.as_ref().map_or(0, of);
        total.left = self.left(&stats);
        total.dropped_queue = since(|s| s.sent.pushed) - self.taken_back - total.left;
        total.acked = since(|s| s.sent.fates.acked);
        total.marked = since(|s| s.sent.fates.acked_ce);
        total.rx_dropped = since(|s| s.sent.fates.rx_dropped);
        total.lost = since(|s| s.sent.fates.lost);
        total.unreported = since(|s| s.sent.fates.sent) + stats.sent.in_flight;
        forget_tokens(&mut total);
        total.dropped_host = since(|s| s.transport.dropped());
        let overhead = self.sender.socket.flow().path.overhead() as u64;
        total.wire_bytes = since(|s| s.connection.counters.bytes_out)
            + since(|s| s.connection.packets_out.total()) * overhead;
        total
    }

    /// Datagrams of the test that have left.
    fn left(&self, stats: &Stats) -> u64 {
        left(stats) - self.before.as_ref().map_or(0, left)
    }
}

impl RxEnd {
    fn interval(&mut self) -> RxInterval {
        let now = self.receiver.counts();
        let before = core::mem::replace(&mut self.counts, now);
        let now = &self.counts;
        RxInterval {
            packets: now.numbers.distinct - before.numbers.distinct,
            bytes: now.bytes - before.bytes,
            // A late datagram was counted as missing in an earlier interval.
            lost_packets: now
                .numbers
                .missing()
                .saturating_sub(before.numbers.missing()),
        }
    }

    fn total(&mut self, shares_transport: bool) -> RxTotal {
        let counts = self.receiver.counts();
        let mut total = RxTotal {
            delivered: counts.numbers.distinct,
            passed: counts.numbers.passed,
            bytes: counts.bytes,
            duplicates: counts.numbers.duplicates,
            reordered: counts.numbers.reordered,
            marked: counts.marked,
            duration_ns: counts
                .first_at
                .map_or(0, |first| nanos(counts.last_at - first)),
            shares_transport,
            ..RxTotal::default()
        };
        if let Ok(stats) = self.receiver.socket.stats() {
            total.dropped_socket = stats.received.dropped_full + stats.received.dropped_budget;
            total.unread = stats.received.delivered - stats.received.taken
                + stats.received.dropped_not_listening;
            let before = self.before.as_ref();
            total.is_dropped_kernel_least = stats.transport.recv_merged > 0;
            total.dropped_kernel = stats.transport.recv_overflowed.map(|now| {
                now - before
                    .and_then(|b| b.transport.recv_overflowed)
                    .unwrap_or(0)
            });
        }
        total
    }
}

/// A token whose fate was still open when the test began is no datagram of the test; it was most
/// likely lost, or came in the end.
fn forget_tokens(total: &mut TxTotal) {
    let told = total.acked + total.marked + total.rx_dropped + total.lost + total.unreported;
    let mut tokens = told.saturating_sub(total.left);
    for fate in [&mut total.lost, &mut total.unreported, &mut total.acked] {
        let part = tokens.min(*fate);
        *fate -= part;
        tokens -= part;
    }
}

/// Datagrams that have left.
fn left(stats: &Stats) -> u64 {
    let sent = &stats.sent;
    let f = &sent.fates;
    let stayed = f.expired + f.superseded + f.withdrawn + f.overflowed + f.limited + f.too_big;
    sent.pushed - sent.queued - stayed
}

fn rate_bps(tx: &Snapshot) -> Option<f64> {
    tx.rate.map(dccp::Rate::bits_per_s)
}

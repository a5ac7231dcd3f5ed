//! The result of a test: both ends put together.

pub(crate) mod check;
pub(crate) mod document;
pub(crate) mod figures;
pub(crate) mod halves;
pub(crate) mod ledger;
pub(crate) mod stored;
pub(crate) mod texts;
pub(crate) mod verdict;

use crate::cli::Bulk;
use crate::result::ledger::{Closed, Handled, HostCounters, share};
use crate::result::verdict::{Sight, limit_of};
use crate::schema::{CcSample, Ledger, Limit, Problem, Transport};
use crate::wire::figures::{FlowTotal, Host, RxTotal, TxTotal};
use core::net::SocketAddr;
use core::time::Duration;
use dccp::Rate;
use dccp_cli::quantity::show as units;
use std::collections::BTreeMap;

/// How a test ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Status {
    /// As planned.
    Complete,
    /// By the user; what was measured is whole.
    Interrupted,
    /// The server, or a data connection, was lost midway.
    Incomplete,
}

/// The result of a test.
#[derive(Debug)]
pub(crate) struct TestResult {
    pub(crate) status: Status,
    /// Bytes of a datagram.
    pub(crate) length: usize,
    /// How long it sent.
    pub(crate) elapsed: Duration,
    pub(crate) flows: Vec<FlowResult>,
    /// The senders at points of time; `None` unless asked for.
    pub(crate) samples: Option<Vec<CcSample>>,
    pub(crate) client: Host,
    pub(crate) server: Option<Host>,
}

impl TestResult {
    /// The problem of a test that a circuit breaker of CCID 248 ended.
    pub(crate) fn broken_by_breaker(&self) -> Option<Problem> {
        let ended = |flow: &FlowResult| flow.tx.safe_udp.as_ref()?.ended.clone();
        let ended = self.flows.iter().find_map(ended)?;
        Some(Problem {
            what: ended.to_string(),
            next: format!(
                "wait {} s, and send less with -b, or follow the advice with --obey",
                units::seconds(ended.hold_ns)
            ),
        })
    }
}

/// The result of a flow.
#[derive(Debug)]
pub(crate) struct FlowResult {
    pub(crate) id: u32,
    pub(crate) transport: Transport,
    /// Whether the server sends.
    pub(crate) is_reverse: bool,
    /// The connection that carries it, counted from 0.
    pub(crate) connection: u32,
    /// The client's address and port.
    pub(crate) client: Option<SocketAddr>,
    pub(crate) tx: TxTotal,
    pub(crate) rx: Option<RxTotal>,
    pub(crate) ledger: Ledger,
    /// Bytes of application data that arrived; `None` if it is not known.
    pub(crate) bytes: Option<u64>,
    /// The same in bits per second.
    pub(crate) goodput_bps: Option<f64>,
    /// Bits per second of IP packets that were sent; `None` if the sender was not heard.
    pub(crate) wire_bps: Option<f64>,
    pub(crate) limit: Limit,
}

/// The totals of one flow from both ends.
#[derive(Default)]
struct Merged {
    tx: Option<TxTotal>,
    rx: Option<RxTotal>,
}

/// Both ends' totals and hosts.
pub(crate) struct Sides {
    pub(crate) totals: Vec<FlowTotal>,
    pub(crate) samples: Option<Vec<CcSample>>,
    /// The client's address of each connection.
    pub(crate) addresses: Vec<Option<SocketAddr>>,
    pub(crate) client: Host,
    pub(crate) server: Option<Host>,
}

/// Combines the totals of both ends into the result.
pub(crate) fn combine(
    asked: &Bulk,
    length: usize,
    status: Status,
    elapsed: Duration,
    sides: Sides,
) -> TestResult {
    let Sides {
        totals,
        samples,
        addresses,
        client,
        server,
    } = sides;
    let mut merged: BTreeMap<u32, Merged> = BTreeMap::new();
    for total in totals {
        let flow = merged.entry(total.flow).or_default();
        flow.tx = total.tx.or(flow.tx.take());
        flow.rx = total.rx.or(flow.rx.take());
    }
    // The ends change places with the direction, and so do their counters.
    let (mut forward, mut reverse): (BTreeMap<_, _>, BTreeMap<_, _>) = merged
        .into_iter()
        .partition(|(id, _)| asked.client_sends(*id));
    if status == Status::Complete {
        note_silence(&mut forward);
        note_silence(&mut reverse);
    }
    let hosts = (Some(&client), server.as_ref());
    let mut flows = flows_of(asked, length, elapsed, forward, hosts);
    let hosts = (server.as_ref(), Some(&client));
    flows.extend(flows_of(asked, length, elapsed, reverse, hosts));
    flows.sort_by_key(|flow| flow.id);
    for flow in &mut flows {
        flow.client = addresses.get(flow.connection as usize).copied().flatten();
    }
    let is_broken = flows.iter().any(|f| f.tx.broken.is_some());
    TestResult {
        status: if is_broken {
            Status::Incomplete
        } else {
            status
        },
        length,
        elapsed,
        flows,
        samples,
        client,
        server,
    }
}

/// The flows of one direction, between a sending and a receiving host.
fn flows_of(
    asked: &Bulk,
    length: usize,
    elapsed: Duration,
    mut merged: BTreeMap<u32, Merged>,
    (sender, receiver): (Option<&Host>, Option<&Host>),
) -> Vec<FlowResult> {
    if merged.is_empty() {
        return Vec::new();
    }
    divide_shared_drops(&mut merged);
    let hosts = HostCounters::new(sender, receiver, handled(&merged));
    let open = merged.values().map(|Merged { tx, rx }| {
        let kernel_drops = rx.as_ref().and_then(|r| r.dropped_kernel);
        ledger::open(tx.as_ref(), rx.as_ref(), kernel_drops)
    });
    let Closed {
        mut ledgers,
        mut notes,
    } = ledger::close(open.collect(), &hosts);
    if asked.transport == Transport::Tcp {
        // TCP loses nothing: its blocks are delivered or on the way.
        ledgers.iter_mut().for_each(all_on_the_way);
        notes.clear();
    }
    let per_second = |n: u64| rate(n, elapsed);
    merged
        .into_iter()
        .zip(ledgers)
        .map(|((id, Merged { tx, rx }), ledger)| {
            let bytes = match (&rx, tx.as_ref().and_then(|tx| tx.tcp)) {
                (Some(rx), _) => Some(rx.bytes),
                // The receiver was not heard, but acknowledgements say what arrived.
                (None, Some(tcp)) => Some(tcp.acknowledged_bytes),
                (None, None) if asked.transport == Transport::Udp => None,
                (None, None) => Some(ledger.delivered * length as u64),
            };
            let time = receiving_time(elapsed, rx.as_ref());
            let goodput_bps = bytes.map(|bytes| rate(bytes, time));
            let wire_bps = tx.as_ref().map(|t| per_second(t.wire_bytes));
            let tx = tx.unwrap_or_default();
            let mut limit = limit_of(&Sight {
                transport: asked.transport,
                tx: &tx,
                rx: rx.as_ref(),
                ledger: &ledger,
                socket_buffer: asked.socket_buffer,
                rate_bps: asked.values_of(id).shape.mean_bps(length),
                goodput_bps,
                sender,
                receiver,
            });
            limit.evidence.extend_from_slice(&notes);
            FlowResult {
                id,
                transport: asked.transport,
                is_reverse: !asked.client_sends(id),
                connection: asked.connection_of(id),
                client: None,
                tx,
                rx,
                ledger,
                bytes,
                goodput_bps,
                wire_bps,
                limit,
            }
        })
        .collect()
}

/// Counts what was not delivered as in flight.
fn all_on_the_way(ledger: &mut Ledger) {
    *ledger = Ledger {
        offered: ledger.offered,
        dropped_app: ledger.dropped_app,
        dropped_ring: ledger.dropped_ring,
        dropped_ccid: ledger.dropped_ccid,
        sent: ledger.sent,
        delivered: ledger.delivered,
        in_flight: ledger.sent.saturating_sub(ledger.delivered),
        ..Ledger::default()
    };
}

/// The time over which a flow received. A queue on the path drains after the sender has ended, so the last datagram may
/// arrive later than `sending` after the first.
fn receiving_time(sending: Duration, rx: Option<&RxTotal>) -> Duration {
    let arrivals = rx.and_then(|rx| rx.arrivals.as_ref());
    let span = arrivals.and_then(|a| Some(a.last_ns?.saturating_sub(a.first_ns?)));
    sending.max(Duration::from_nanos(span.unwrap_or(0)))
}

/// Marks all flows as broken if datagrams left and none at all arrived: nothing was measured then.
fn note_silence(merged: &mut BTreeMap<u32, Merged>) {
    let has_left = |h: &Merged| h.tx.as_ref().is_some_and(|tx| tx.left > 0);
    let is_silent = |h: &Merged| h.rx.as_ref().is_some_and(|rx| rx.delivered == 0);
    if !merged.values().any(has_left) || !merged.values().all(is_silent) {
        return;
    }
    for tx in merged.values_mut().filter_map(|h| h.tx.as_mut()) {
        tx.broken
            .get_or_insert_with(|| "no datagram arrived".into());
    }
}

/// The packets of all flows at both hosts.
fn handled(merged: &BTreeMap<u32, Merged>) -> Handled {
    let rx = |of: fn(&RxTotal) -> u64| -> u64 {
        merged.values().filter_map(|h| h.rx.as_ref()).map(of).sum()
    };
    Handled {
        sent: (merged.values())
            .filter_map(|h| h.tx.as_ref())
            .map(|t| t.left)
            .sum(),
        arrived: rx(|r| {
            r.delivered + r.duplicates + r.unread + r.dropped_socket + r.dropped_kernel.unwrap_or(0)
        }),
        answers: rx(|r| r.answers),
    }
}

/// Bits per second.
pub(crate) fn rate(bytes: u64, time: Duration) -> f64 {
    if time.is_zero() {
        return 0.0;
    }
    Rate::over(bytes, time).bits_per_s()
}

/// Drops of a transport that several flows share are each end's together: divides them by what the
/// flows miss.
fn divide_shared_drops(merged: &mut BTreeMap<u32, Merged>) {
    let missing: Vec<u64> = merged
        .values()
        .map(|h| {
            let (delivered, passed) = h.rx.as_ref().map_or((0, 0), |r| (r.delivered, r.passed));
            let left = h.tx.as_ref().map_or(passed, |t| t.left);
            left.saturating_sub(delivered)
        })
        .collect();
    let most = |of: fn(&Merged) -> Option<u64>| merged.values().filter_map(of).max();
    let kernel = most(|h| h.rx.as_ref().filter(|r| r.shares_transport)?.dropped_kernel);
    let host = most(|h| Some(h.tx.as_ref().filter(|t| t.shares_transport)?.dropped_host));
    let kernel = kernel.map(|drops| share(drops, &missing));
    let host = host.map(|drops| share(drops, &missing));
    for (i, flow) in merged.values_mut().enumerate() {
        if let (Some(parts), Some(rx)) = (&kernel, &mut flow.rx) {
            rx.dropped_kernel = Some(parts[i]);
        }
        if let (Some(parts), Some(tx)) = (&host, &mut flow.tx) {
            tx.dropped_host = parts[i];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dccp_stats::{Arrival, Arrivals};

    /// A receiver that got 100 datagrams of 1,250 bytes: 1 Mbit in all.
    fn received(gap: Duration) -> RxTotal {
        let mut arrivals = Arrivals::new(0);
        let gap_ns = u64::try_from(gap.as_nanos()).unwrap();
        for number in 0..100 {
            arrivals.add(&Arrival {
                number,
                sent_ns: 0,
                arrived_ns: 5_000_000 + number * gap_ns,
                bytes: 1250,
                is_marked: false,
            });
        }
        RxTotal {
            delivered: 100,
            passed: 100,
            bytes: 125_000,
            arrivals: Some(arrivals.finish(None)),
            ..RxTotal::default()
        }
    }

    // Goodput is no higher than the rate of the link, though its queue drains after the end of the sender.
    #[test]
    fn goodput_counts_the_time_of_the_drain() {
        let second = Duration::from_secs(1);
        let goodput = |rx: &RxTotal| rate(rx.bytes, receiving_time(second, Some(rx)));
        // The queue needs 1.98 s for what was sent in one.
        let slow = goodput(&received(Duration::from_millis(20)));
        assert!((slow - 1e6 / 1.98).abs() < 1.0, "{slow}");
        let in_time = goodput(&received(Duration::from_millis(9)));
        assert!((in_time - 1e6).abs() < 1.0, "{in_time}");
        assert_eq!(receiving_time(second, None), second);
        assert_eq!(receiving_time(second, Some(&RxTotal::default())), second);
    }

    fn merged(left: u64, delivered: &[u64]) -> BTreeMap<u32, Merged> {
        let of = |delivered: &u64| Merged {
            tx: Some(TxTotal {
                left,
                ..TxTotal::default()
            }),
            rx: Some(RxTotal {
                delivered: *delivered,
                ..RxTotal::default()
            }),
        };
        (0..).zip(delivered.iter().map(of)).collect()
    }

    #[test]
    fn run_without_any_arrival_is_broken() {
        let is_broken = |mut merged: BTreeMap<u32, Merged>| {
            note_silence(&mut merged);
            let broken = |h: &Merged| h.tx.as_ref().is_some_and(|tx| tx.broken.is_some());
            merged.values().all(broken)
        };
        assert!(is_broken(merged(10, &[0, 0])));
        assert!(!is_broken(merged(10, &[0, 1])));
        // Nothing left, so nothing could arrive.
        assert!(!is_broken(merged(0, &[0])));
    }
}

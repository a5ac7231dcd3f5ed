//! Checks what the server reports before anything is computed from it: a false server must neither end the client nor
//! change what the client has counted itself.

use crate::result::texts::{clean, is_moderate};
use crate::schema::SafeUdp;
use crate::wire::channel::Lost;
use crate::wire::figures::{FlowTotal, Host, Interval};
use crate::wire::message::client_sends;
use core::time::Duration;
use dccp::proto::time::nanos;
use dccp_stats::{ArrivalFigures, Spread};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::to_value;
use std::collections::BTreeSet;

/// The longest text of a peer that is shown.
pub(crate) const SHOWN_MAX: usize = 300;
/// A server reports intervals for at most this time after the end of the test.
const OVERTIME: Duration = Duration::from_secs(20);
/// Counters of the DCCP stack at one host.
const NAMES_MAX: usize = 200;
/// Processor cores of a host.
const CORES_MAX: u32 = 4096;
/// Packets have numbers below this one.
const NUMBER_MAX: u64 = 1 << 48;

/// The reports that a server can make about one test.
#[derive(Debug)]
pub(crate) struct Reports {
    flows: u32,
    /// The number of intervals.
    intervals: u64,
    /// The server sends in all flows.
    is_reverse: bool,
    /// The server sends in the second half of the flows.
    is_both: bool,
    /// The flows with a total.
    totals: BTreeSet<u32>,
}

impl Reports {
    /// Of a test with these values. Its directions are `is_reverse` and `is_both`.
    pub(crate) fn new(
        flows: u32,
        (is_reverse, is_both): (bool, bool),
        duration: Duration,
        interval: Duration,
    ) -> Self {
        let longest = nanos(duration.saturating_add(OVERTIME));
        Self {
            flows,
            intervals: longest / nanos(interval).max(1) + 2,
            is_reverse,
            is_both,
            totals: BTreeSet::new(),
        }
    }

    /// The server's half of an interval.
    ///
    /// # Errors
    /// It cannot be one.
    pub(crate) fn interval(&self, interval: &Interval) -> Result<Interval, Lost> {
        let tx = interval.tx.as_ref();
        let spreads = tx.map(|tx| [&tx.rtt_ns, &tx.queue_ns]);
        let is_possible = interval.flow < self.flows
            && u64::from(interval.index) < self.intervals
            && interval.t0_ns <= interval.t1_ns
            && self.is_half(interval.flow, tx.is_some(), interval.rx.is_some())
            && spreads.into_iter().flatten().flatten().all(is_ordered);
        if !is_possible {
            return Err(Lost::Nonsense);
        }
        cleaned(interval)
    }

    /// The server's total of a flow.
    ///
    /// # Errors
    /// It cannot be one, or is the second of its flow.
    pub(crate) fn total(&mut self, mut total: FlowTotal) -> Result<FlowTotal, Lost> {
        let arrivals = total.rx.as_mut().and_then(|rx| rx.arrivals.take());
        let tx = total.tx.as_ref();
        let spreads = tx.map(|tx| {
            [
                &tx.rtt_ns,
                &tx.loss_rtt_ns,
                &tx.queue_ns,
                &tx.user_ns,
                &tx.echo_wait_ns,
            ]
        });
        let wait = total.rx.as_ref().and_then(|rx| rx.wait_ns.as_ref());
        let safe_udp = tx.and_then(|tx| tx.safe_udp.as_ref());
        let is_possible = total.flow < self.flows
            && self.totals.insert(total.flow)
            && safe_udp.is_none_or(SafeUdp::is_bounded)
            && self.is_half(total.flow, tx.is_some(), total.rx.is_some())
            && spreads
                .into_iter()
                .flatten()
                .flatten()
                .chain(wait)
                .all(is_ordered)
            && arrivals.as_ref().is_none_or(are_possible);
        if !is_possible {
            return Err(Lost::Nonsense);
        }
        let mut total: FlowTotal = cleaned(&total)?;
        if let Some(rx) = &mut total.rx {
            rx.arrivals = arrivals;
        }
        Ok(total)
    }

    /// The packets of each flow that a sending server states.
    ///
    /// # Errors
    /// There are more flows than in the test, or more packets than numbers.
    pub(crate) fn packets(&self, packets: Vec<u64>) -> Result<Vec<u64>, Lost> {
        let is_possible = packets.len() as u64 <= u64::from(self.flows)
            && packets.iter().all(|packets| *packets <= NUMBER_MAX);
        is_possible.then_some(packets).ok_or(Lost::Nonsense)
    }

    /// Whether a report is that of the server's end: the client counts the other end itself.
    fn is_half(&self, flow: u32, has_tx: bool, has_rx: bool) -> bool {
        let client_sends = client_sends(self.is_reverse, self.is_both, self.flows, flow);
        (has_tx, has_rx) == (!client_sends, client_sends)
    }
}

/// The server's report about its host. Its processor time is at most that of all its cores.
///
/// # Errors
/// A number is beyond reason.
pub(crate) fn host(host: &Host) -> Result<Host, Lost> {
    if host.delta.dccp.len() > NAMES_MAX {
        return Err(Lost::Nonsense);
    }
    let mut host: Host = cleaned(host)?;
    let cores = host.identity.cores.clamp(1, CORES_MAX);
    let delta = &mut host.delta;
    let most_ns = delta.wall_ns.saturating_mul(cores.into());
    delta.process_cpu_ns = delta.process_cpu_ns.map(|ns| ns.min(most_ns));
    delta.process_system_ratio = delta
        .process_system_ratio
        .map(|ratio| ratio.clamp(0.0, 1.0));
    if let Some(threads) = &mut delta.threads {
        threads.cpu_max_ns = threads.cpu_max_ns.min(delta.wall_ns);
    }
    Ok(host)
}

/// A report with harmless texts.
fn cleaned<T: Serialize + DeserializeOwned>(reported: &T) -> Result<T, Lost> {
    let mut value = to_value(reported).map_err(|_| Lost::Nonsense)?;
    if !is_moderate(&value) {
        return Err(Lost::Nonsense);
    }
    clean(&mut value, SHOWN_MAX);
    serde_json::from_value(value).map_err(|_| Lost::Nonsense)
}

/// Whether the percentiles rise.
fn is_ordered(spread: &Spread) -> bool {
    let percentiles = [spread.p50, spread.p90, spread.p99, spread.p999];
    let least = core::iter::once(spread.min);
    spread.min <= spread.max && least.chain(percentiles.into_iter().flatten()).is_sorted()
}

/// The clocks of hosts have any zero, so times and delays by the clocks of both ends can have any value.
fn are_possible(arrivals: &ArrivalFigures) -> bool {
    let ArrivalFigures {
        sent,
        counts,
        first_ns,
        last_ns,
        order,
        loss,
        jitter,
        ..
    } = arrivals;
    let parts = [
        to_value(sent),
        to_value(counts),
        to_value(order),
        to_value(loss),
        to_value(jitter),
    ];
    let are_moderate = parts
        .iter()
        .all(|part| part.as_ref().is_ok_and(is_moderate));
    let times = first_ns.zip(*last_ns);
    are_moderate && times.is_none_or(|(first, last)| first <= last)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::figures::{RxInterval, RxTotal, TxInterval, TxTotal};
    use dccp_host::{Delta, Identity};
    use std::collections::BTreeMap;

    const SECOND: Duration = Duration::from_secs(1);

    fn reports(is_reverse: bool) -> Reports {
        Reports::new(2, (is_reverse, false), SECOND * 10, SECOND)
    }

    fn received() -> Interval {
        Interval {
            flow: 1,
            index: 3,
            t0_ns: 3,
            t1_ns: 4,
            tx: None,
            rx: Some(RxInterval::default()),
        }
    }

    fn sent(tx: TxInterval) -> Interval {
        Interval {
            tx: Some(tx),
            rx: None,
            ..received()
        }
    }

    #[test]
    fn possible_interval_passes_as_it_is() {
        assert_eq!(reports(false).interval(&received()), Ok(received()));
        let tx = sent(TxInterval::default());
        assert_eq!(reports(true).interval(&tx), Ok(tx));
    }

    #[test]
    fn impossible_intervals_are_nonsense() {
        let rx = |rx: RxInterval| Interval {
            rx: Some(rx),
            ..received()
        };
        let impossible = [
            Interval {
                flow: 2,
                ..received()
            },
            Interval {
                flow: u32::MAX,
                ..received()
            },
            Interval {
                index: u32::MAX,
                ..received()
            },
            Interval {
                t0_ns: 5,
                ..received()
            },
            rx(RxInterval {
                lost_packets: u64::MAX,
                ..RxInterval::default()
            }),
            // The client sends, and has counted that itself.
            sent(TxInterval::default()),
            Interval {
                tx: Some(TxInterval::default()),
                ..received()
            },
        ];
        for interval in impossible {
            assert_eq!(
                reports(false).interval(&interval),
                Err(Lost::Nonsense),
                "{interval:?}"
            );
        }
    }

    #[test]
    fn round_trips_that_fall_are_nonsense() {
        let tx = |p50| {
            let rtt_ns = Spread {
                min: 10,
                p50: Some(p50),
                p90: None,
                p99: None,
                p999: None,
                max: 20,
                mean: 15.0,
                n: 9,
                hdr: None,
            };
            sent(TxInterval {
                rtt_ns: Some(rtt_ns),
                ..TxInterval::default()
            })
        };
        reports(true).interval(&tx(10)).unwrap();
        assert_eq!(reports(true).interval(&tx(9)), Err(Lost::Nonsense));
    }

    #[test]
    fn texts_cannot_rewrite_the_terminal() {
        let tx = TxInterval {
            cc_state: Some("\u{1b}[31mred\u{7}".into()),
            ..TxInterval::default()
        };
        let state = reports(true).interval(&sent(tx)).unwrap().tx.unwrap();
        assert_eq!(state.cc_state.unwrap(), "\u{fffd}[31mred\u{fffd}");
    }

    #[test]
    fn totals_are_those_of_the_servers_end() {
        let rx = |flow| FlowTotal {
            flow,
            tx: None,
            rx: Some(RxTotal::default()),
        };
        let mut reports = reports(false);
        assert_eq!(reports.total(rx(0)), Ok(rx(0)));
        assert_eq!(reports.total(rx(0)), Err(Lost::Nonsense), "twice");
        assert_eq!(reports.total(rx(2)), Err(Lost::Nonsense), "no such flow");
        let both = FlowTotal {
            tx: Some(TxTotal::default()),
            ..rx(1)
        };
        assert_eq!(reports.total(both), Err(Lost::Nonsense));
        let huge = TxTotal {
            acked: u64::MAX,
            marked: u64::MAX,
            ..TxTotal::default()
        };
        let huge = FlowTotal {
            flow: 0,
            tx: Some(huge),
            rx: None,
        };
        assert_eq!(self::reports(true).total(huge), Err(Lost::Nonsense));
    }

    #[test]
    fn server_sends_in_the_second_half_of_both_directions() {
        let mut reports = Reports::new(2, (false, true), SECOND * 10, SECOND);
        let total = |flow, tx: Option<TxTotal>, rx| FlowTotal { flow, tx, rx };
        let (tx, rx) = (Some(TxTotal::default()), Some(RxTotal::default()));
        reports.total(total(0, None, rx.clone())).unwrap();
        assert_eq!(reports.total(total(1, None, rx)), Err(Lost::Nonsense));
        let mut reports = Reports::new(2, (false, true), SECOND * 10, SECOND);
        reports.total(total(1, tx, None)).unwrap();
    }

    #[test]
    fn stated_packets_are_bounded() {
        let reports = reports(true);
        assert_eq!(reports.packets(vec![1, 2]), Ok(vec![1, 2]));
        assert_eq!(reports.packets(vec![1, 2, 3]), Err(Lost::Nonsense));
        assert_eq!(reports.packets(vec![u64::MAX]), Err(Lost::Nonsense));
    }

    #[test]
    fn processor_time_is_at_most_that_of_all_cores() {
        let reported = |names: usize| Host {
            identity: Identity {
                system: "\u{1b}[2JEVIL".into(),
                cores: 2,
                ..Identity::default()
            },
            delta: Delta {
                wall_ns: 1000,
                process_cpu_ns: Some(1 << 50),
                dccp: (0..names).map(|n| (format!("{n}\u{1b}"), 1)).collect(),
                ..Delta::default()
            },
            ..Host::default()
        };
        let known = host(&reported(1)).unwrap();
        assert_eq!(known.delta.process_cpu_ns, Some(2000));
        assert_eq!(known.identity.system, "\u{fffd}[2JEVIL");
        assert_eq!(
            known.delta.dccp,
            BTreeMap::from([("0\u{fffd}".to_owned(), 1)])
        );
        assert_eq!(host(&reported(NAMES_MAX + 1)), Err(Lost::Nonsense));
    }
}

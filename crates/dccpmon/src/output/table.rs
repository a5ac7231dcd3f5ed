//! The result as text: a line for each interval, and a summary.

use crate::plan::Plan;
use crate::result::verdict::cpu_percent;
use crate::result::{FlowResult, Status, TestResult, rate};
use crate::schema::Ledger;
use crate::wire::figures::{Host, Interval, RxTotal};
use core::time::Duration;
use dccp_cli::quantity::show as units;
use std::collections::BTreeMap;

/// Collects the intervals of both ends and prints a line when both halves are there. A printed interval is dropped.
pub(crate) struct Table {
    is_silent: bool,
    has_head: bool,
    has_printed: bool,
    /// By index and flow.
    intervals: BTreeMap<(u32, u32), Interval>,
}

const HEAD: &str = "[ID]  interval    sent      goodput       loss   RTT p50/p99 ms   cwnd  state";

impl Table {
    /// A table; a silent one only collects, and keeps all intervals.
    pub(crate) fn new(is_silent: bool) -> Self {
        Self {
            is_silent,
            has_head: false,
            has_printed: false,
            intervals: BTreeMap::new(),
        }
    }

    /// Prints the plan.
    pub(crate) fn plan(&self, plan: &Plan) {
        if !self.is_silent {
            println!("{plan}");
        }
    }

    /// One end's half of an interval.
    pub(crate) fn add(&mut self, half: Interval) {
        if !self.is_silent && !core::mem::replace(&mut self.has_head, true) {
            println!("{HEAD}");
        }
        let key = (half.index, half.flow);
        match self.intervals.get_mut(&key) {
            Some(known) => {
                known.tx = half.tx.or(known.tx.take());
                known.rx = half.rx.or(known.rx.take());
            }
            None => {
                self.intervals.insert(key, half);
            }
        }
        self.print_complete();
    }

    /// Prints what is complete and follows on what was printed.
    fn print_complete(&mut self) {
        if self.is_silent {
            return;
        }
        while let Some(first) = self.intervals.first_entry()
            && is_complete(first.get())
        {
            println!("{}", line(&first.remove()));
            self.has_printed = true;
        }
    }

    /// Prints what is left, complete or not. Returns the intervals that were not printed before.
    pub(crate) fn finish(&mut self) -> Vec<Interval> {
        // A last interval that only one end began is no interval.
        let last = self.intervals.values().rposition(is_complete);
        let last = match last {
            Some(i) => i + 1,
            None if self.has_printed => 0,
            None => self.intervals.len(),
        };
        if !self.is_silent {
            for interval in self.intervals.values().take(last) {
                println!("{}", line(interval));
            }
        }
        let intervals = core::mem::take(&mut self.intervals);
        intervals.into_values().take(last).collect()
    }
}

/// Whether both ends have reported the interval.
fn is_complete(interval: &Interval) -> bool {
    interval.tx.is_some() && interval.rx.is_some()
}

/// The totals.
pub(crate) fn summary(plan: &Plan, result: &TestResult) {
    println!("{}", "-".repeat(81));
    for flow in &result.flows {
        if result.flows.len() > 1 {
            println!("{}", flow_line(flow));
        }
    }
    for text in totals(result) {
        println!("{text}");
    }
    for text in details(plan, result) {
        println!("{text}");
    }
    for flow in &result.flows {
        if let Some(why) = &flow.tx.broken {
            println!(" broken off   [{:>2}] {why}", flow.id + 1);
        }
    }
    match result.status {
        _ if result.server.is_none() => {
            println!(" incomplete   the server was lost before its totals came");
        }
        Status::Incomplete if result.flows.iter().all(|f| f.tx.broken.is_none()) => {
            println!(" incomplete   the server was stopped");
        }
        Status::Interrupted => println!(" interrupted"),
        Status::Incomplete | Status::Complete => {}
    }
}

/// One interval of one flow.
fn line(i: &Interval) -> String {
    let tx = i.tx.clone().unwrap_or_default();
    let time = Duration::from_nanos(i.t1_ns - i.t0_ns);
    let (goodput, loss) = match &i.rx {
        None => ("-".into(), "-".into()),
        Some(rx) => (
            units::rate(rate(rx.bytes, time)),
            units::loss(rx.lost_packets, rx.lost_packets + rx.packets),
        ),
    };
    let rtt = tx.rtt_ns.map_or("-".into(), |r| {
        format!("{} / {}", units::millis(r.p50), units::millis(r.p99))
    });
    let span = format!("{}-{} s", units::seconds(i.t0_ns), units::seconds(i.t1_ns));
    let window = match (tx.cwnd_packets, tx.rate_bps) {
        (Some(cwnd), _) => format!("{cwnd:.0} p"),
        (None, Some(x)) => units::rate(x),
        (None, None) => "-".into(),
    };
    let state = tx.cc_state.unwrap_or_default().replace('_', " ");
    format!(
        "[{:>2}]  {span:<9} {:>9}  {goodput:>12}  {loss:>7}  {rtt:>15}  {window:>7}  {state}",
        i.flow + 1,
        units::bytes(tx.bytes),
    )
    .trim_end()
    .to_owned()
}

fn flow_line(flow: &FlowResult) -> String {
    format!(
        "[{:>2}] goodput {}   loss {} = {} packets   limited by {}",
        flow.id + 1,
        units::rate(flow.goodput_bps),
        units::loss(flow.ledger.lost(), flow.ledger.sent),
        flow.ledger.lost(),
        flow.limit.verdict,
    )
}

/// Throughput and the ledger, over all flows.
fn totals(result: &TestResult) -> Vec<String> {
    let ledger = Ledger::sum(result.flows.iter().map(|f| &f.ledger));
    let goodput: f64 = result.flows.iter().map(|f| f.goodput_bps).sum();
    let wire: Option<f64> = result.flows.iter().map(|f| f.wire_bps).sum();
    let bytes = result.flows.iter().map(|f| f.bytes).sum();
    vec![
        format!(
            " total  {:.2} s  {}  goodput {} (wire {})   loss {} = {} packets",
            result.elapsed.as_secs_f64(),
            units::bytes(bytes),
            units::rate(goodput),
            wire.map_or("-".into(), units::rate),
            units::loss(ledger.lost(), ledger.sent),
            ledger.lost(),
        ),
        where_lost(&ledger),
    ]
}

fn where_lost(l: &Ledger) -> String {
    let mut places = vec![("app", l.dropped_app), ("send ring", l.dropped_ring)];
    let usual = ["network", "peer socket", "peer app"];
    let is_shown = |(place, packets): &(&str, u64)| *packets > 0 || usual.contains(place);
    places.extend(l.losses().into_iter().filter(is_shown));
    if l.unknown > 0 {
        places.push(("unknown", l.unknown));
    }
    let places: Vec<String> = places.iter().map(|(p, n)| format!("{p} {n}")).collect();
    format!(
        " where lost   {}   (sum {} = sent {} - delivered {})",
        places.join("   "),
        l.lost(),
        l.sent,
        l.delivered
    )
}

/// Round trips, order, CPU and verdict.
fn details(plan: &Plan, result: &TestResult) -> Vec<String> {
    let mut lines = Vec::new();
    let is_single = result.flows.len() == 1;
    for flow in &result.flows {
        let label = if is_single {
            String::new()
        } else {
            format!("[{:>2}] ", flow.id + 1)
        };
        if let Some(r) = flow.tx.rtt_ns {
            lines.push(format!(
                " RTT          {label}min {}  p50 {}  p99 {}  max {} ms",
                units::millis(r.min),
                units::millis(r.p50),
                units::millis(r.p99),
                units::millis(r.max)
            ));
        }
    }
    let sum = |of: fn(&RxTotal) -> u64| -> u64 {
        result
            .flows
            .iter()
            .filter_map(|f| f.rx.as_ref())
            .map(of)
            .sum()
    };
    let dropped: u64 = result.flows.iter().map(|f| f.tx.rx_dropped).sum();
    lines.push(format!(
        " reordered {}   duplicates {}   ECN marks {}   data dropped {dropped}",
        sum(|r| r.reordered),
        sum(|r| r.duplicates),
        sum(|r| r.marked),
    ));
    lines.push(cpu(plan, result));
    let limits = result.flows.iter().map(|f| {
        let label = if is_single {
            String::new()
        } else {
            format!("[{:>2}] ", f.id + 1)
        };
        format!(
            " limited by   {label}{}: {}{}{}",
            f.limit.verdict,
            f.limit.sentence,
            if f.limit.evidence.is_empty() {
                ""
            } else {
                ": "
            },
            f.limit.evidence.join(", ")
        )
    });
    lines.extend(limits);
    lines
}

fn cpu(plan: &Plan, result: &TestResult) -> String {
    let ledger = Ledger::sum(result.flows.iter().map(|f| &f.ledger));
    let (here, there) = if plan.asked.is_reverse {
        (ledger.delivered, ledger.sent)
    } else {
        (ledger.sent, ledger.delivered)
    };
    let of = |host: Option<&Host>, packets: u64| {
        let known = host.and_then(|h| Some((h.cpu_ns?, cpu_percent(h)?)));
        known.map_or("unknown".into(), |(ns, percent)| {
            let each = ns.checked_div(packets).unwrap_or(0);
            format!(
                "{percent:.0} % of a core ({} us/packet)",
                units::micros(each)
            )
        })
    };
    format!(
        " CPU          here {}   there {}",
        of(Some(&result.client), here),
        of(result.server.as_ref(), there)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::figures::{RxInterval, TxInterval};

    fn halves(index: u32) -> [Interval; 2] {
        let empty = Interval {
            flow: 0,
            index,
            t0_ns: 0,
            t1_ns: 1,
            tx: None,
            rx: None,
        };
        let tx = Interval {
            tx: Some(TxInterval::default()),
            ..empty.clone()
        };
        let rx = Interval {
            rx: Some(RxInterval::default()),
            ..empty
        };
        [tx, rx]
    }

    #[test]
    fn printed_intervals_are_dropped_and_those_for_json_kept() {
        for (is_silent, kept) in [(false, 0), (true, 100)] {
            let mut table = Table::new(is_silent);
            for index in 0..100 {
                for half in halves(index) {
                    table.add(half);
                }
                assert!(is_silent || table.intervals.is_empty());
            }
            // A last interval that only one end began is no interval.
            let [tx, _] = halves(100);
            table.add(tx);
            assert_eq!(table.finish().len(), kept);
        }
    }
}

//! The intervals as a table of at most 80 columns.

use crate::output::{safeudp as safe_udp, text};
use crate::schema::{Interval, IntervalFlow, Missing, Requested, SafeUdpInterval, Transport};
use dccp::safeudp;
use dccp_cli::quantity::show as units;

/// Makes the lines of the table.
pub(crate) struct Table {
    transport: Transport,
    /// A flow has CCID 248.
    is_safe_udp: bool,
    is_wide: bool,
}

impl Table {
    pub(crate) fn new(requested: &Requested, is_wide: bool) -> Self {
        let mut flows = requested.flows.iter();
        Self {
            transport: requested.transport,
            is_safe_udp: flows.any(|flow| flow.ccid == Some(safeudp::NUMBER)),
            is_wide,
        }
    }

    /// The names of the columns.
    pub(crate) fn head(&self) -> String {
        let lost = match self.transport {
            Transport::Tcp => "resent",
            Transport::Dccp | Transport::Udp => "loss",
        };
        if self.is_safe_udp {
            let line = safe_udp_columns([
                "[ID]",
                "interval s",
                "sent",
                "goodput",
                "loss",
                "adv/cap",
                "drops",
                "net/host",
                "state",
            ]);
            if self.is_wide {
                return widened(&line, ["host?", "p50 ms", "marks", "late us"]);
            }
            return line;
        }
        let line = columns([
            "[ID]",
            "interval s",
            "sent",
            "goodput",
            lost,
            "RTT p50/99 ms",
            "window",
            "state",
        ]);
        if self.is_wide {
            return widened(&line, ["p90 ms", "queue ms", "marks", "late us"]);
        }
        line
    }

    /// The line of each flow, and of their sum if there are several.
    pub(crate) fn lines(&self, interval: &Interval) -> Vec<String> {
        let line = |flow: &IntervalFlow| self.line(&format!("[{:>2}]", flow.id), interval, flow);
        let mut lines: Vec<String> = interval.flows.iter().map(line).collect();
        if interval.flows.len() > 1 {
            lines.push(self.line("SUM", interval, &sum(&interval.flows)));
        }
        lines
    }

    fn line(&self, id: &str, interval: &Interval, flow: &IntervalFlow) -> String {
        if self.is_safe_udp {
            return self.safe_udp_line(id, interval, flow);
        }
        let rtt = flow.rtt_ns.as_ref();
        let window = match (flow.cwnd_packets, flow.cc_rate_bps) {
            (Some(cwnd), _) => format!("{cwnd:.0} p"),
            (None, Some(rate)) => text::short_rate(rate),
            (None, None) => "-".into(),
        };
        let state = flow.cc_state.as_deref().unwrap_or_default();
        let line = columns([
            id,
            &span(interval),
            &flow.sent_bytes.map_or("-".into(), units::bytes),
            &text::rate(flow.goodput_bps),
            &self.lost(flow),
            &format!(
                "{}/{}",
                text::millis(rtt.and_then(|rtt| rtt.p50)),
                text::millis(rtt.and_then(|rtt| rtt.p99))
            ),
            &window,
            &state.replace('_', " "),
        ]);
        if self.is_wide {
            let queue = flow.queue_ns.as_ref().and_then(|queue| queue.p50);
            let late = flow.late_ns.as_ref().and_then(|late| late.p50);
            return widened(
                &line,
                [
                    &text::millis(rtt.and_then(|rtt| rtt.p90)),
                    &text::millis(queue),
                    &flow.marked_packets.map_or("-".into(), |n| n.to_string()),
                    &late.map_or("-".into(), units::micros),
                ],
            );
        }
        line
    }

    /// The line of a flow among flows with CCID 248.
    fn safe_udp_line(&self, id: &str, interval: &Interval, flow: &IntervalFlow) -> String {
        let of = flow.safe_udp.as_ref();
        let dashed = |show: fn(&SafeUdpInterval) -> String| of.map_or("-".into(), show);
        let line = safe_udp_columns([
            id,
            &span(interval),
            &flow.sent_bytes.map_or("-".into(), units::bytes),
            &text::rate(flow.goodput_bps),
            &self.lost(flow),
            &of.and_then(|of| of.advised_bps.or(of.cap_bps))
                .map_or("-".into(), text::short_rate),
            &dashed(|of| of.dropped_packets.to_string()),
            &dashed(|of| {
                format!(
                    "{}/{}",
                    of.missing.network_packets,
                    of.missing.hosts_packets()
                )
            }),
            &flow
                .cc_state
                .as_deref()
                .map_or(String::new(), safe_udp::state),
        ]);
        if self.is_wide {
            let late = flow.late_ns.as_ref().and_then(|late| late.p50);
            return widened(
                &line,
                [
                    &dashed(|of| of.missing.unknown_host_packets.to_string()),
                    &text::millis(flow.rtt_ns.as_ref().and_then(|rtt| rtt.p50)),
                    &flow.marked_packets.map_or("-".into(), |n| n.to_string()),
                    &late.map_or("-".into(), units::micros),
                ],
            );
        }
        line
    }

    fn lost(&self, flow: &IntervalFlow) -> String {
        if self.transport == Transport::Tcp {
            let resent = flow.retransmitted_segments;
            return resent.map_or("-".into(), |n| n.to_string());
        }
        let (Some(lost), Some(received)) = (flow.lost_packets, flow.received_packets) else {
            return "-".into();
        };
        units::loss(lost, lost.saturating_add(received))
    }
}

/// The sum of all flows. Round trips and windows have none.
fn sum(flows: &[IntervalFlow]) -> IntervalFlow {
    let packets =
        |of: fn(&IntervalFlow) -> Option<u64>| -> Option<u64> { flows.iter().map(of).sum() };
    IntervalFlow {
        sent_bytes: packets(|flow| flow.sent_bytes),
        goodput_bps: flows.iter().map(|flow| flow.goodput_bps).sum(),
        lost_packets: packets(|flow| flow.lost_packets),
        received_packets: packets(|flow| flow.received_packets),
        marked_packets: packets(|flow| flow.marked_packets),
        retransmitted_segments: packets(|flow| flow.retransmitted_segments),
        safe_udp: sum_of_safe_udp(flows),
        ..IntervalFlow::default()
    }
}

/// The counts of the flows with CCID 248. Rates and states have no sum.
fn sum_of_safe_udp(flows: &[IntervalFlow]) -> Option<SafeUdpInterval> {
    let all = || flows.iter().filter_map(|flow| flow.safe_udp.as_ref());
    all().next()?;
    Some(SafeUdpInterval {
        dropped_packets: all().map(|of| of.dropped_packets).sum(),
        missing: all().fold(Missing::default(), |sum, of| sum.plus(of.missing)),
        ..SafeUdpInterval::default()
    })
}

fn span(interval: &Interval) -> String {
    format!(
        "{}-{}",
        units::seconds(interval.t0_ns),
        units::seconds(interval.t1_ns)
    )
}

/// A line with the columns of CCID 248.
fn safe_udp_columns(texts: [&str; 9]) -> String {
    let [id, span, sent, goodput, lost, rate, drops, places, state] = texts;
    let line = format!(
        "{id:<4} {span:<11} {sent:>7} {goodput:>11} {lost:>8} {rate:>8} {drops:>6} {places:>8} {state}"
    );
    line.trim_end().to_owned()
}

/// A line whose columns have their places.
fn columns(texts: [&str; 8]) -> String {
    let [id, span, sent, goodput, lost, rtt, window, state] = texts;
    let state: String = state.chars().take(10).collect();
    let line = format!(
        "{id:<4} {span:<11} {sent:>8} {goodput:>11} {lost:>8} {rtt:>13} {window:>8} {state}"
    );
    line.trim_end().to_owned()
}

/// A line with the columns of a wide table.
fn widened(line: &str, texts: [&str; 4]) -> String {
    let [p90, queue, marks, late] = texts;
    format!("{line:<80} {p90:>8} {queue:>8} {marks:>8} {late:>8}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::sample;

    #[test]
    fn columns_stand_below_their_names() {
        let document = sample::document();
        let table = Table::new(&document.requested, false);
        let mut lines = vec![table.head()];
        lines.extend(table.lines(&document.intervals[0]));
        assert_eq!(
            lines,
            [
                "[ID] interval s      sent     goodput     loss RTT p50/99 ms   window state",
                "[ 1] 0-1          12.0 MB 95.2 Mbit/s   0.02 %     20.4/24.1    181 p slow start",
            ]
        );
    }

    fn table(transport: Transport, is_wide: bool) -> Table {
        Table {
            transport,
            is_safe_udp: false,
            is_wide,
        }
    }

    #[test]
    fn flows_with_ccid_248_have_columns_of_their_own() {
        let mut document = sample::safe_udp();
        let table = Table::new(&document.requested, false);
        let mut lines = vec![table.head()];
        lines.extend(table.lines(&document.intervals[0]));
        assert_eq!(
            lines,
            [
                "[ID] interval s     sent     goodput     loss  adv/cap  drops net/host state",
                "[ 1] 0-1         12.0 MB 95.2 Mbit/s   0.02 % 50.0Mb/s      0      2/3 ADVISORY",
            ]
        );
        let interval = &mut document.intervals[0];
        interval.flows.push(interval.flows[0].clone());
        (interval.t0_ns, interval.t1_ns) = (86_399_000_000_000, 86_400_000_000_000);
        let lines = table.lines(interval);
        assert!(lines[2].contains("      0      4/6"), "{lines:#?}");
        for line in &lines {
            assert!(line.chars().count() <= 80, "{line}");
        }
    }

    /// The longest value that each column can have.
    #[test]
    fn no_line_is_longer_than_eighty() {
        let mut interval = sample::document().intervals[0].clone();
        interval.t0_ns = 86_399_000_000_000;
        interval.t1_ns = 86_400_000_000_000;
        let flow = &mut interval.flows[0];
        flow.id = 32;
        flow.lost_packets = Some(1);
        flow.received_packets = Some(0);
        flow.cwnd_packets = None;
        flow.cc_rate_bps = Some(99.9e6);
        flow.cc_state = Some("a state with a long name".into());
        let rtt = flow.rtt_ns.as_mut().unwrap();
        (rtt.p50, rtt.p99) = (Some(99_999_000_000), Some(100_000_000_000));
        for transport in [Transport::Dccp, Transport::Tcp] {
            let table = table(transport, false);
            for line in table.lines(&interval).iter().chain([&table.head()]) {
                assert!(line.chars().count() <= 80, "{line}");
            }
        }
    }

    #[test]
    fn several_flows_have_a_sum() {
        let mut interval = sample::document().intervals[0].clone();
        let mut second = interval.flows[0].clone();
        second.id = 2;
        second.lost_packets = Some(8_498);
        interval.flows.push(second);
        let lines = table(Transport::Dccp, false).lines(&interval);
        assert_eq!(
            lines[2],
            "SUM  0-1          24.0 MB  190 Mbit/s  33.34 %           -/-        -"
        );
    }

    #[test]
    fn unknown_values_are_dashes() {
        let mut interval = sample::document().intervals[0].clone();
        let flow = &mut interval.flows[0];
        flow.sent_bytes = None;
        flow.goodput_bps = None;
        flow.lost_packets = None;
        (flow.rtt_ns, flow.queue_ns, flow.late_ns) = (None, None, None);
        flow.marked_packets = None;
        flow.cwnd_packets = None;
        flow.cc_state = None;
        let line = table(Transport::Dccp, true).lines(&interval).remove(0);
        let words: Vec<&str> = line.split_whitespace().collect();
        assert_eq!(
            words,
            [
                "[", "1]", "0-1", "-", "-", "-", "-/-", "-", "-", "-", "-", "-"
            ]
        );
    }
}

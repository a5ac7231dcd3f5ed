//! The totals as text.

use crate::output::safeudp as safe_udp;
use crate::output::text::{self, WIDTH, lengths, millis, paragraph, percent, spread};
use crate::schema::{Direction, Document, Flow, Ledger, Limit, SafeUdp, Status, Summary};
use core::fmt;
use dccp::proto::number::to_f64;
use dccp_cli::quantity::show as units;
use dccp_host::Delta;
use dccp_stats::LostRun;

/// The lines of the summary, each at most 80 columns wide.
pub(crate) fn lines(document: &Document) -> Vec<String> {
    let Some(summary) = &document.summary else {
        return Vec::new();
    };
    let mut page = Page(vec!["-".repeat(WIDTH)]);
    flows(&mut page, summary);
    totals(&mut page, summary);
    for flow in summary.flows.iter().take(FLOWS_MAX) {
        delays(&mut page, summary, flow);
        if let Some(of) = &flow.safe_udp {
            ccid_248(&mut page, &number_of(summary, flow.id), of);
        }
    }
    if let Some(idle) = &document.idle {
        let mut parts = vec![format!("idle {}", spread(&idle.idle_ns))];
        if let Some(loaded) = &idle.loaded_ns {
            let rpm = idle
                .rpm
                .map_or(String::new(), |rpm| format!(" ({rpm:.0} RPM)"));
            parts.push(format!("loaded {}{rpm}", spread(loaded)));
        }
        page.add("probe RTT", &parts);
    }
    order(&mut page, summary);
    hosts(&mut page, document);
    repeats(&mut page, summary);
    for flow in summary.flows.iter().take(FLOWS_MAX) {
        limit(&mut page, summary, flow.id, &flow.limited_by);
    }
    if let Some(more) = summary.flows.len().checked_sub(FLOWS_MAX + 1) {
        let more = more + 1;
        page.add(
            "and",
            &[format!("{more} more flows, whose details --json shows")],
        );
    }
    endings(&mut page, document, summary);
    page.0
}

/// Flows whose details the summary shows. A line for each flow names the verdict of all.
const FLOWS_MAX: usize = 4;

/// Lines of text.
struct Page(Vec<String>);

impl Page {
    fn add(&mut self, label: &str, parts: &[String]) {
        self.0.extend(paragraph(label, parts));
    }
}

/// The flow's number, if there are several.
fn number_of(summary: &Summary, id: u32) -> String {
    if summary.flows.len() > 1 {
        format!("[{id:>2}] ")
    } else {
        String::new()
    }
}

fn sum_of(summary: &Summary, of: fn(&Flow) -> Option<u64>) -> Option<u64> {
    summary.flows.iter().map(of).sum()
}

/// A count, or a dash.
fn count(n: Option<u64>) -> impl fmt::Display {
    n.map_or("-".into(), |n| n.to_string())
}

fn flows(page: &mut Page, summary: &Summary) {
    if summary.flows.len() < 2 {
        return;
    }
    let mut directions = summary.flows.windows(2);
    let is_both = directions.any(|pair| pair[0].direction != pair[1].direction);
    for flow in &summary.flows {
        let direction = match flow.direction {
            _ if !is_both => "",
            Direction::Reverse => "reverse ",
            Direction::Forward | Direction::Both => "forward ",
        };
        let loss = flow.ledger.map_or(String::new(), |ledger| {
            format!("  loss {}", units::loss(ledger.lost(), ledger.sent))
        });
        page.0.push(format!(
            "[{:>2}] {direction}goodput {}{loss}  limited by {}",
            flow.id,
            text::rate(flow.goodput_bps),
            flow.limited_by.verdict
        ));
    }
    connections(page, summary);
    let mut parts = Vec::new();
    if let Some(jain) = summary.fairness_jain {
        parts.push(format!("Jain's index {jain:.3}"));
    }
    if let Some(asymmetry) = summary.asymmetry {
        parts.push(format!("asymmetry {}", text::asymmetry(asymmetry)));
    }
    if !parts.is_empty() {
        page.add("fairness", &parts);
    }
    let stabilities = summary.flows.iter().filter_map(|flow| {
        let stability = flow.stability?;
        Some(format!("[{:>2}] {stability:.3}", flow.id))
    });
    let mut stabilities: Vec<String> = stabilities.collect();
    if !stabilities.is_empty() {
        stabilities.push("(0 is steady)".into());
        page.add("stability", &stabilities);
    }
}

/// The flows that share a connection.
fn connections(page: &mut Page, summary: &Summary) {
    let mut flows = summary.flows.iter();
    let mut parts = Vec::new();
    while let Some(flow) = flows.next() {
        let is_shared = |other: &&Flow| other.connection == flow.connection;
        let mut others = flows.clone().filter(|_| flow.connection.is_some());
        if let Some(other) = others.find(is_shared) {
            parts.push(format!("[{:>2}] and [{:>2}] share one", flow.id, other.id));
        }
    }
    if !parts.is_empty() {
        page.add("connections", &parts);
    }
}

fn totals(page: &mut Page, summary: &Summary) {
    let wire: Option<f64> = summary.flows.iter().map(|flow| flow.wire_bps).sum();
    let bytes = sum_of(summary, |flow| flow.received_bytes);
    let ledgers: Option<Vec<Ledger>> = summary.flows.iter().map(|flow| flow.ledger).collect();
    let ledger = ledgers.map(|ledgers| Ledger::sum(ledgers.iter()));
    let mut parts = vec![
        format!("{:.2} s", to_f64(summary.duration_ns) / 1e9),
        bytes.map_or("-".into(), units::bytes),
        format!(
            "goodput {} (wire {})",
            text::rate(summary.goodput_bps),
            text::rate(wire)
        ),
    ];
    if let Some(ledger) = &ledger {
        parts.push(format!("loss {}", units::loss(ledger.lost(), ledger.sent)));
    }
    if let [flow] = summary.flows.as_slice()
        && let Some(stability) = flow.stability
    {
        parts.push(format!("stability {stability:.3} (0 is steady)"));
    }
    page.add("total", &parts);
    if let Some(ledger) = &ledger {
        where_lost(page, ledger);
    }
    for flow in &summary.flows {
        let Some(tcp) = flow.tcp else { continue };
        page.add(
            "TCP",
            &[
                format!(
                    "{}{} segments sent again",
                    number_of(summary, flow.id),
                    tcp.retransmitted_segments
                ),
                format!("busy {} s", units::seconds(tcp.busy_ns)),
                format!(
                    "held by the peer's window {} s",
                    units::seconds(tcp.rwnd_limited_ns)
                ),
                format!(
                    "by the send buffer {} s",
                    units::seconds(tcp.sndbuf_limited_ns)
                ),
            ],
        );
    }
}

/// The packets that were not sent, and the places of losses. The usual places appear even without losses.
fn where_lost(page: &mut Page, ledger: &Ledger) {
    let not_sent = ledger.offered.saturating_sub(ledger.sent);
    if not_sent > 0 {
        let mut parts = vec![format!("{not_sent} of {} offered:", ledger.offered)];
        let dropped = ledger.not_sent().into_iter();
        let dropped = dropped.filter(|(_, packets)| *packets > 0);
        parts.extend(dropped.map(place));
        page.add("not sent", &parts);
    }
    let usual = ["network", "receiver socket", "receiver app"];
    let places = ledger.losses().into_iter();
    let places = places.chain([("unknown", ledger.unknown)]);
    let places = places.filter(|(name, packets)| *packets > 0 || usual.contains(name));
    let mut parts: Vec<String> = places.map(place).collect();
    parts.push(format!("= {} of {} sent", ledger.lost(), ledger.sent));
    page.add("where lost", &parts);
    if ledger.in_flight > 0 {
        page.add("in flight", &[ledger.in_flight.to_string()]);
    }
}

fn place((name, packets): (&str, u64)) -> String {
    format!("{name} {packets}")
}

/// Conclusions of CCID 248 that the summary shows: the last ones.
const CONCLUSIONS_MAX: usize = 12;

/// The states, the attribution, the trips and the conclusions of CCID 248.
fn ccid_248(page: &mut Page, number: &str, of: &SafeUdp) {
    page.add(
        "SafeUDP",
        &[format!("{number}{}", safe_udp::states(of).join("  "))],
    );
    let mut missing = safe_udp::places(&of.missing);
    if let Some(first) = missing.first_mut() {
        first.insert_str(0, "missing: ");
    }
    missing.push(format!("dropped {}", of.dropped_packets));
    page.add("", &missing);
    let trips = safe_udp::trips(of);
    if !trips.is_empty() {
        page.add("", &[format!("trips: {}", trips.join(", "))]);
    }
    let earlier = of.conclusions.len().saturating_sub(CONCLUSIONS_MAX);
    if earlier > 0 {
        page.add(
            "",
            &[format!("{earlier} earlier conclusions, which --json shows")],
        );
    }
    for conclusion in of.conclusions.iter().skip(earlier) {
        page.add("", &[safe_udp::timed(conclusion)]);
    }
}

/// Round trip and its parts, one-way delay, jitter, schedule.
fn delays(page: &mut Page, summary: &Summary, flow: &Flow) {
    let number = number_of(summary, flow.id);
    if let Some(rtt) = &flow.rtt {
        let whole = rtt.user_ns.as_ref().or(rtt.network_ns.as_ref());
        if let Some(whole) = whole {
            page.add("RTT", &[format!("{number}{}", spread(whole))]);
        }
        let parts = [
            ("send queue", &rtt.send_queue_ns),
            ("network", &rtt.network_ns),
            ("receiver", &rtt.receiver_ns),
        ];
        let known = parts.iter().filter_map(|(name, part)| {
            let part = part.as_ref()?;
            Some(format!("{name} {}", millis(part.p50)))
        });
        let known: Vec<String> = known.collect();
        if known.len() > 1 {
            page.add("", &[format!("{number}p50 of {} ms", known.join(", "))]);
        }
    }
    if let Some(one_way) = &flow.one_way {
        page.add(
            "one way",
            &[
                format!(
                    "{number}{} (± {})",
                    spread(&one_way.ns),
                    millis(Some(one_way.error_ns))
                ),
                "from program to program".into(),
            ],
        );
    }
    if let Some(jitter) = &flow.jitter {
        let ipdv = jitter.ipdv_ns.as_ref().and_then(|ipdv| ipdv.p50);
        page.add(
            "jitter",
            &[
                format!("{number}RFC 3550 {}", millis(jitter.rfc3550_ns)),
                format!("median change {}", millis(ipdv)),
                format!("p95 - p50 {} ms", millis(jitter.p95_minus_p50_ns)),
            ],
        );
    }
    if let Some(schedule) = &flow.schedule
        && let (Some(asked), Some(mean)) = (schedule.asked_gap_ns, schedule.mean_gap_ns)
    {
        let mut parts = vec![format!(
            "{number}asked for a packet each {:.1} us, got {:.1} us",
            asked / 1e3,
            mean / 1e3
        )];
        if let Some(late) = &schedule.late_ns {
            parts.push(format!(
                "late p50 {} p99 {} ms",
                millis(late.p50),
                millis(late.p99)
            ));
        }
        if schedule.skipped_packets > 0 {
            parts.push(format!("skipped {}", schedule.skipped_packets));
        }
        page.add("schedule", &parts);
    }
}

fn order(page: &mut Page, summary: &Summary) {
    let dropped = sum_of(summary, |flow| {
        Some(flow.acknowledged?.dropped_by_peer_packets)
    });
    let mut parts = vec![
        format!(
            "reordered {}",
            count(sum_of(summary, |flow| flow.reordered_packets))
        ),
        format!(
            "duplicates {}",
            count(sum_of(summary, |flow| flow.duplicate_packets))
        ),
        format!(
            "ECN marks {}",
            count(sum_of(summary, |flow| flow.marked_packets))
        ),
    ];
    if let Some(dropped) = dropped {
        parts.push(format!("data dropped {dropped}"));
    }
    page.add("packets", &parts);
    for flow in &summary.flows {
        let Some(pattern) = &flow.loss_pattern else {
            continue;
        };
        if pattern.lost_packets == 0 {
            continue;
        }
        let longest = pattern.runs.iter().map(|run| run.0).max().unwrap_or(0);
        let several = if pattern.runs_n == 1 { "" } else { "s" };
        let mut parts = vec![format!(
            "{}{} run{several}, the longest {} packets",
            number_of(summary, flow.id),
            pattern.runs_n,
            lengths(longest)
        )];
        if let Some(model) = &pattern.gilbert {
            parts.push(format!(
                "a run begins after {}, ends after {} (Gilbert's p, r)",
                percent(model.p),
                percent(model.r)
            ));
        }
        page.add("loss runs", &parts);
        let list = pattern.list.iter().flatten();
        let list: Vec<String> = list.map(lost_run).collect();
        if !list.is_empty() {
            page.add("", &[format!("numbers {}", list.join(", "))]);
        }
    }
}

/// The numbers of a run of lost packets.
fn lost_run(run: &LostRun) -> String {
    match run.packets {
        1 => run.first.to_string(),
        packets => format!("{}-{}", run.first, run.first.saturating_add(packets) - 1),
    }
}

fn hosts(page: &mut Page, document: &Document) {
    let Some(hosts) = &document.hosts else { return };
    page.add(
        "CPU",
        &[
            format!("client {}", cpu(Some(&hosts.client))),
            format!("server {}", cpu(hosts.server.as_ref())),
        ],
    );
}

/// Processor time of the program.
pub(crate) fn cpu(host: Option<&Delta>) -> String {
    let known = host.and_then(|host| Some((host, host.process_cpu_ns?)));
    let Some((host, cpu_ns)) = known.filter(|(host, _)| host.wall_ns > 0) else {
        return "unknown".into();
    };
    let share = to_f64(cpu_ns) * 100.0 / to_f64(host.wall_ns);
    let each = host
        .ns_per_packet
        .map_or(String::new(), |ns| format!(" ({:.1} us/packet)", ns / 1e3));
    format!("{share:.0} % of a core{each}")
}

fn repeats(page: &mut Page, summary: &Summary) {
    let Some(repeat) = &summary.repeat else {
        return;
    };
    let mut parts = vec![format!("{} runs", repeat.goodputs_bps.len())];
    if let Some(mean) = &repeat.goodput {
        parts.push(format!("mean goodput {}", units::rate(mean.mean)));
        parts.push(format!(
            "95 % interval {} to {}",
            units::rate(mean.low),
            units::rate(mean.high)
        ));
    }
    page.add("repeated", &parts);
}

fn limit(page: &mut Page, summary: &Summary, id: u32, limit: &Limit) {
    let mut parts = vec![format!(
        "{}{}: {}",
        number_of(summary, id),
        limit.verdict,
        limit.sentence
    )];
    if !limit.evidence.is_empty() {
        parts.push(format!("({})", limit.evidence.join(", ")));
    }
    page.add("limited by", &parts);
    if let Some(command) = &limit.command {
        page.add("to lift it", core::slice::from_ref(command));
    }
}

/// Why the test ended early.
fn endings(page: &mut Page, document: &Document, summary: &Summary) {
    let mut is_broken = false;
    for flow in &summary.flows {
        if let Some(why) = &flow.broken {
            page.add("broken off", &[format!("[{:>2}] {why}", flow.id)]);
            is_broken = true;
        }
    }
    let is_server_lost = document
        .hosts
        .as_ref()
        .is_none_or(|hosts| hosts.server.is_none());
    let error = document.error.as_ref();
    let has_tripped = is_ended_by_breaker(summary);
    if let Some(error) = error.filter(|_| has_tripped) {
        page.add("next", core::slice::from_ref(&error.next));
    }
    let reason = error.map(|error| format!("({})", error.what));
    let incomplete = |page: &mut Page, what: &str| {
        let parts: Vec<String> = [what.to_owned()]
            .into_iter()
            .chain(reason.clone())
            .collect();
        page.add("incomplete", &parts);
    };
    match document.status {
        _ if is_server_lost => incomplete(page, "the server was lost before its totals came"),
        Status::Incomplete if has_tripped => {}
        Status::Incomplete if error.is_some() => incomplete(page, "the server was lost"),
        Status::Incomplete if !is_broken => incomplete(page, "the server was stopped"),
        Status::Interrupted => page.add("interrupted", &[]),
        _ => {}
    }
}

/// Whether a circuit breaker of CCID 248 ended a flow.
fn is_ended_by_breaker(summary: &Summary) -> bool {
    let mut flows = summary.flows.iter();
    flows.any(|flow| flow.safe_udp.as_ref().is_some_and(|of| of.ended.is_some()))
}

#[cfg(test)]
mod tests;

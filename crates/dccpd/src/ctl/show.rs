//! Tables for people.

use crate::admin::Report;
use crate::users::name_of;
use core::fmt::Write as _;
use dccp_cli::quantity::show;
use dccp_counters::{ConnectionCounters, Counters};

/// The connections: a line with addresses, and a line with the state of congestion control.
pub(super) fn connections(report: &Report) -> String {
    let mut rows = vec![
        [
            "Id",
            "State",
            "Queued",
            "Local address",
            "Peer address",
            "Service",
            "Program",
        ]
        .map(str::to_owned),
    ];
    let mut details = vec![String::new()];
    for connection in &report.snapshot.connections {
        rows.push(row(report, connection));
        details.push(detail(connection));
    }
    let mut text = String::new();
    for (line, detail) in aligned(&rows).iter().zip(&details) {
        text.push_str(line);
        text.push('\n');
        if !detail.is_empty() {
            // Writing to a text cannot fail.
            let _ = writeln!(text, "    {detail}");
        }
    }
    text
}

fn row(report: &Report, connection: &ConnectionCounters) -> [String; 7] {
    let user = name_of(connection.user);
    let mut programs = report.programs.iter();
    let program = match programs.find(|p| p.connection == connection.id) {
        Some(found) => format!("{user} (process {})", found.pid),
        None => user,
    };
    let queued = connection.gauges.get("queued_datagrams").unwrap_or(0.0);
    [
        connection.id.to_string(),
        connection.state.clone(),
        format!("{queued:.0}"),
        connection.local.clone(),
        connection.remote.clone(),
        connection.service.clone(),
        program,
    ]
}

/// The state of a connection's congestion control, in the words of `ss -i`.
fn detail(connection: &ConnectionCounters) -> String {
    let mut words = vec![format!(
        "ccid:{}/{}",
        connection.ccid_tx, connection.ccid_rx
    )];
    let gauge = |key: &str| connection.gauges.get(key);
    let counter = |key: &str| connection.counters.get(key).unwrap_or(0);
    for (name, key) in [("cwnd", "cwnd_packets"), ("ssthresh", "ssthresh_packets")] {
        words.extend(gauge(key).map(|packets| format!("{name}:{packets:.0}")));
    }
    for (name, key) in [("rtt", "rtt_seconds"), ("rto", "rto_seconds")] {
        words.extend(gauge(key).map(|s| format!("{name}:{:.3}ms", s * 1e3)));
    }
    let rate = gauge("send_rate_bytes_per_second");
    words.extend(rate.map(|bytes| format!("rate:{}", show::rate(bytes * 8.0))));
    let loss = gauge("loss_event_ratio");
    words.extend(loss.map(|p| format!("p:{}", show::percent(p))));
    words.extend(gauge("max_packet_size_bytes").map(|bytes| format!("mps:{bytes:.0}")));
    for (name, key) in COUNTED {
        words.push(format!("{name}:{}", counter(key)));
    }
    words.push(format!("age:{:.1}s", connection.age_s));
    words.join(" ")
}

/// Counters that the list of connections shows.
const COUNTED: [(&str, &str); 4] = [
    ("sent", "datagrams_sent"),
    ("lost", "datagrams_lost"),
    ("expired", "datagram_fates_expired"),
    ("received", "datagrams_received"),
];

/// The listeners.
pub(super) fn listeners(report: &Report) -> String {
    let mut rows = vec![["Local address", "Services", "User", "Refused"].map(str::to_owned)];
    for listener in &report.snapshot.listeners {
        rows.push([
            listener.local.join(" "),
            listener.services.join(" "),
            name_of(listener.user),
            (listener.refused_backlog + listener.refused_source).to_string(),
        ]);
    }
    aligned(&rows).join("\n") + "\n"
}

/// Counters by name, in the order of the MIB.
pub(super) fn counters(counters: &Counters, has_zeros: bool) -> String {
    let wanted = counters.rows().filter(|(_, value)| has_zeros || *value > 0);
    let rows: Vec<[String; 2]> = wanted
        .map(|(row, value)| [row.key(), value.to_string()])
        .collect();
    let mut text = aligned(&rows).join("\n");
    if !text.is_empty() {
        text.push('\n');
    }
    text
}

/// Lines whose columns have the width of their longest entry.
fn aligned<const N: usize>(rows: &[[String; N]]) -> Vec<String> {
    let width = |column: usize| rows.iter().map(|row| row[column].len()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..N).map(width).collect();
    let line = |row: &[String; N]| {
        let padded = row.iter().zip(&widths);
        let padded: Vec<String> = padded
            .map(|(text, width)| format!("{text:width$}"))
            .collect();
        padded.join("  ").trim_end().to_owned()
    };
    rows.iter().map(line).collect()
}

//! The table of a sweep, within 80 columns.

use crate::schema::{Knee, Point};
use dccp::proto::number::to_f64;
use dccp_cli::quantity::show;

/// The names of the columns, and their units.
pub(super) fn header() -> String {
    let names = [
        "size", "asked", "kept", "offer", "sent", "recv", "wire", "net", "host", "held", "jitter",
        "tx", "rx",
    ];
    let units = [
        "B", "us", "us", "Mbit/s", "Mbit/s", "Mbit/s", "Mbit/s", "lost%", "lost%", "%", "us", "%",
        "%",
    ];
    row(&names.map(str::to_owned)) + &row(&units.map(str::to_owned))
}

fn row(values: &[String; 13]) -> String {
    const WIDTHS: [usize; 13] = [5, 6, 6, 6, 6, 6, 6, 5, 5, 4, 6, 3, 3];
    let columns = values.iter().zip(WIDTHS);
    let columns: Vec<String> = columns
        .map(|(value, width)| format!("{value:>width$}"))
        .collect();
    columns.join(" ") + "\n"
}

/// The line of a point.
pub(super) fn line(point: &Point) -> String {
    let micros = |ns: f64| format!("{:.1}", ns / 1e3);
    let mbits = |bps: Option<f64>| optional(bps, |bps| three_digits(bps / 1e6));
    let percent = |share: Option<f64>| optional(share, |share| format!("{:.0}", share * 100.0));
    let loss = |packets: u64| {
        let share = to_f64(packets) / to_f64(point.sent_packets.max(1));
        format!("{:.2}", share * 100.0)
    };
    let jitter = point.jitter.as_ref().and_then(|jitter| jitter.rfc3550_ns);
    row(&[
        point.packet_bytes.to_string(),
        micros(to_f64(point.asked_gap_ns)),
        optional(point.gap_ns, micros),
        mbits(point.offered_bps),
        mbits(point.sent_bps),
        mbits(point.received_bps),
        mbits(point.wire_bps),
        loss(point.lost_network_packets + point.unknown_packets),
        loss(point.lost_host_packets),
        percent(point.held_ratio),
        optional(jitter, show::micros),
        percent(point.client_cpu_ratio),
        percent(point.server_cpu_ratio),
    ])
}

/// The line of the result of a search.
pub(super) fn knee(knee: Option<&Knee>) -> String {
    match knee {
        None => " knee: not found, each spacing lost packets or was not kept\n".into(),
        Some(knee) => {
            let wire = knee.wire_bps.map_or_else(String::new, |bps| {
                format!(", {} on the wire", show::rate(bps))
            });
            format!(
                " knee: {:.1} us per packet of {} bytes = {}{wire}\n",
                to_f64(knee.gap_ns) / 1e3,
                knee.packet_bytes,
                show::rate(knee.user_bps),
            )
        }
    }
}

fn optional<T>(value: Option<T>, show: impl Fn(T) -> String) -> String {
    value.map_or_else(|| "-".into(), show)
}

/// As many decimals as fit six columns.
fn three_digits(value: f64) -> String {
    let decimals = match value {
        v if v >= 1_000.0 => 0,
        v if v >= 10.0 => 1,
        _ => 2,
    };
    format!("{value:.decimals$}")
}

//! The result with the keys of `iperf3 -J`, for programs that read those.
//!
//! DCCP looks like UDP there, because it has losses and jitter. A value that is not known has no key, because a 0 would
//! be read as one. `extra_data`, a text that iperf3 has too, names the real transport.

use crate::schema::{Direction, Document, Flow, Interval, IntervalFlow, Summary, Transport};
use dccp::proto::number::to_f64;
use dccp_host::Delta;
use serde_json::{Map, Value, json};

/// The document on several lines, as iperf3 prints it.
pub(crate) fn text(document: &Document) -> String {
    let mut value = json!({
        "start": start(document),
        "intervals": document.intervals.iter().map(|i| interval(document, i)).collect::<Vec<_>>(),
        "end": document.summary.as_ref().map_or(json!({}), |summary| end(document, summary)),
        "title": document.requested.title,
        "extra_data": extra(document),
        "error": document.error.as_ref().map(|error| &error.what),
    });
    drop_nulls(&mut value);
    serde_json::to_string_pretty(&value).expect("keys are texts") + "\n"
}

/// Removes all keys without a value.
fn drop_nulls(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|_, field| !field.is_null());
            fields.values_mut().for_each(drop_nulls);
        }
        Value::Array(items) => items.iter_mut().for_each(drop_nulls),
        _ => {}
    }
}

fn is_tcp(document: &Document) -> bool {
    document.requested.transport == Transport::Tcp
}

/// Whether the client sends.
fn is_sender(document: &Document) -> bool {
    document.requested.direction != Direction::Reverse
}

fn extra(document: &Document) -> String {
    let agreed = document.negotiated.first();
    let ccid = agreed.and_then(|agreed| agreed.ccid);
    let ccid = ccid.map_or(String::new(), |ccid| format!(" CCID {ccid}"));
    let transport = document.requested.transport;
    format!(
        "dccpmon {}: {transport}{ccid}",
        document.record.program_version
    )
}

fn start(document: &Document) -> Value {
    let requested = &document.requested;
    let agreed = document.negotiated.first();
    let flow = requested.flows.first();
    let rate = flow.and_then(|flow| flow.rate_bps).unwrap_or(0);
    let connected = |flow: &crate::schema::Negotiated| {
        json!({
            "socket": flow.flow,
            "local_host": flow.client_host,
            "local_port": flow.client_port,
            "remote_host": requested.host,
            "remote_port": requested.udp_port.or(requested.dccp_port),
        })
    };
    json!({
        "connected": document.negotiated.iter().map(connected).collect::<Vec<_>>(),
        "version": format!("dccpmon {}", document.record.program_version),
        "system_info": document.ends.as_ref().map(|ends| &ends.client.system),
        "timestamp": { "time": date(begin_s(document)), "timesecs": begin_s(document) },
        "connecting_to": {
            "host": requested.host,
            "port": requested.udp_port.or(requested.dccp_port),
        },
        "target_bitrate": rate,
        "tcp_mss_default": agreed.and_then(|agreed| agreed.mss_bytes),
        "sock_bufsize": flow.map(|flow| flow.socket_buffer_bytes.unwrap_or(0)),
        "sndbuf_actual": agreed.and_then(|agreed| agreed.send_buffer_bytes),
        "rcvbuf_actual": agreed.and_then(|agreed| agreed.recv_buffer_bytes),
        "test_start": {
            "protocol": if is_tcp(document) { "TCP" } else { "UDP" },
            "num_streams": requested.flows.len(),
            "blksize": agreed.map(|agreed| agreed.packet_bytes),
            "omit": 0,
            "duration": requested.duration_ns.div_ceil(1_000_000_000),
            "bytes": 0,
            "blocks": 0,
            "reverse": u8::from(!is_sender(document)),
            // The field of the IP head, which has two bits of ECN below the code point.
            "tos": flow.map(|flow| flow.dscp.unwrap_or(0) << 2),
            "target_bitrate": rate,
        },
    })
}

/// The begin in seconds since 1970.
fn begin_s(document: &Document) -> u64 {
    let duration_ns = document
        .summary
        .as_ref()
        .map_or(0, |summary| summary.duration_ns);
    document.record.ended_unix_s - (duration_ns / 1_000_000_000).min(document.record.ended_unix_s)
}

/// A time in seconds since 1970 as RFC 9110 writes it: `Sat, 28 Nov 2026 02:37:21 GMT`.
fn date(unix_s: u64) -> String {
    const WEEKDAYS: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];
    const MONTHS: [(&str, u64); 12] = [
        ("Jan", 31),
        ("Feb", 28),
        ("Mar", 31),
        ("Apr", 30),
        ("May", 31),
        ("Jun", 30),
        ("Jul", 31),
        ("Aug", 31),
        ("Sep", 30),
        ("Oct", 31),
        ("Nov", 30),
        ("Dec", 31),
    ];
    let (days, second) = (unix_s / 86_400, unix_s % 86_400);
    // Days of the years before this one, since 1 January of year 1.
    let before =
        |year: u64| (year - 1) * 365 + (year - 1) / 4 - (year - 1) / 100 + (year - 1) / 400;
    let since_year_1 = days + before(1970);
    let mut year = since_year_1 / 366 + 1;
    while before(year + 1) <= since_year_1 {
        year += 1;
    }
    let leap = before(year + 1) - before(year) - 365;
    let mut day = since_year_1 - before(year);
    let mut name = "";
    for (month, length) in MONTHS {
        let length = if month == "Feb" {
            length + leap
        } else {
            length
        };
        name = month;
        if day < length {
            break;
        }
        day -= length;
    }
    let weekday = WEEKDAYS[usize::try_from(days % 7).unwrap_or(0)];
    let (hour, minute) = (second / 3600, second / 60 % 60);
    format!(
        "{weekday}, {:02} {name} {year} {hour:02}:{minute:02}:{:02} GMT",
        day + 1,
        second % 60
    )
}

fn interval(document: &Document, of: &Interval) -> Value {
    let (t0, t1) = (to_f64(of.t0_ns) / 1e9, to_f64(of.t1_ns) / 1e9);
    let sender = is_sender(document);
    let mss = document
        .negotiated
        .first()
        .and_then(|agreed| agreed.mss_bytes);
    let streams: Vec<Value> = (of.flows.iter())
        .map(|flow| {
            let mut stream = span(t0, t1, bytes(flow, sender));
            stream.insert("socket".into(), json!(flow.id));
            if is_tcp(document) {
                let rtt_us = flow
                    .rtt_ns
                    .as_ref()
                    .and_then(|rtt| rtt.p50)
                    .map(|ns| ns / 1_000);
                let cwnd = flow
                    .cwnd_packets
                    .zip(mss)
                    .map(|(cwnd, mss)| cwnd * to_f64(mss));
                stream.insert("retransmits".into(), json!(flow.retransmitted_segments));
                stream.insert("snd_cwnd".into(), json!(cwnd.map(f64::round)));
                stream.insert("rtt".into(), json!(rtt_us));
            } else {
                lost(
                    &mut stream,
                    flow.lost_packets,
                    packets(flow, sender),
                    sender,
                );
            }
            ending(stream, sender)
        })
        .collect();
    let sum = |of_flow: &dyn Fn(&IntervalFlow) -> Option<u64>| -> Option<u64> {
        of.flows.iter().map(of_flow).sum()
    };
    let mut whole = span(t0, t1, sum(&|flow| bytes(flow, sender)));
    if is_tcp(document) {
        let resent = sum(&|flow| flow.retransmitted_segments);
        whole.insert("retransmits".into(), json!(resent));
    } else {
        let lost_packets = sum(&|flow| flow.lost_packets);
        lost(
            &mut whole,
            lost_packets,
            sum(&|flow| packets(flow, sender)),
            sender,
        );
    }
    json!({ "streams": streams, "sum": ending(whole, sender) })
}

fn bytes(flow: &IntervalFlow, is_sender: bool) -> Option<u64> {
    if is_sender {
        flow.sent_bytes
    } else {
        flow.received_bytes
    }
}

fn packets(flow: &IntervalFlow, is_sender: bool) -> Option<u64> {
    if is_sender {
        return flow.sent_packets;
    }
    Some(flow.received_packets? + flow.lost_packets?)
}

/// The keys that every line of iperf3 begins with.
fn span(t0: f64, t1: f64, bytes: Option<u64>) -> Map<String, Value> {
    let seconds = t1 - t0;
    let rate = bytes
        .filter(|_| seconds > 0.0)
        .map(|bytes| to_f64(bytes) * 8.0 / seconds);
    let mut fields = Map::new();
    fields.insert("start".into(), json!(t0));
    fields.insert("end".into(), json!(t1));
    fields.insert("seconds".into(), json!(seconds));
    fields.insert("bytes".into(), json!(bytes));
    fields.insert("bits_per_second".into(), json!(rate));
    fields
}

/// Packets, and in intervals that the client received also losses.
fn lost(fields: &mut Map<String, Value>, lost: Option<u64>, packets: Option<u64>, is_sender: bool) {
    fields.insert("packets".into(), json!(packets));
    if !is_sender {
        fields.insert("lost_packets".into(), json!(lost));
        fields.insert("lost_percent".into(), json!(percent(lost, packets)));
    }
}

fn percent(part: Option<u64>, whole: Option<u64>) -> Option<f64> {
    let (part, whole) = (part?, whole?);
    Some(if whole == 0 {
        0.0
    } else {
        to_f64(part) * 100.0 / to_f64(whole)
    })
}

fn ending(mut fields: Map<String, Value>, is_sender: bool) -> Value {
    fields.insert("omitted".into(), json!(false));
    fields.insert("sender".into(), json!(is_sender));
    Value::Object(fields)
}

fn end(document: &Document, summary: &Summary) -> Value {
    let hosts = document.hosts.as_ref();
    let client = hosts.and_then(|hosts| cpu(&hosts.client));
    let server = hosts.and_then(|hosts| cpu(hosts.server.as_ref()?));
    let cpu = json!({
        "host_total": client.map(|cpu| cpu.total),
        "host_user": client.and_then(|cpu| cpu.user),
        "host_system": client.and_then(|cpu| cpu.system),
        "remote_total": server.map(|cpu| cpu.total),
        "remote_user": server.and_then(|cpu| cpu.user),
        "remote_system": server.and_then(|cpu| cpu.system),
    });
    let sent = |flow: &Flow| sent_bytes(document, flow);
    let total =
        |of: &dyn Fn(&Flow) -> Option<u64>| -> Option<u64> { summary.flows.iter().map(of).sum() };
    let seconds = to_f64(summary.duration_ns) / 1e9;
    if is_tcp(document) {
        let streams: Vec<Value> = (summary.flows.iter())
            .map(|flow| {
                let side = |bytes: Option<u64>, is_sending: bool| {
                    let mut side = span(0.0, seconds, bytes);
                    side.insert("socket".into(), json!(flow.id));
                    if is_sending {
                        let resent = flow.tcp.map(|tcp| tcp.retransmitted_segments);
                        side.insert("retransmits".into(), json!(resent));
                    }
                    side.insert("sender".into(), json!(is_sender(document)));
                    side
                };
                json!({ "sender": side(sent(flow), true), "receiver": side(flow.received_bytes, false) })
            })
            .collect();
        let mut sum_sent = span(0.0, seconds, total(&sent));
        let resent = total(&|flow| Some(flow.tcp?.retransmitted_segments));
        sum_sent.insert("retransmits".into(), json!(resent));
        sum_sent.insert("sender".into(), json!(is_sender(document)));
        let mut sum_received = span(0.0, seconds, total(&|flow| flow.received_bytes));
        sum_received.insert("sender".into(), json!(is_sender(document)));
        let cc = document
            .negotiated
            .first()
            .and_then(|agreed| agreed.cc.clone());
        return json!({
            "streams": streams,
            "sum_sent": sum_sent,
            "sum_received": sum_received,
            "cpu_utilization_percent": cpu,
            "sender_tcp_congestion": cc,
            "receiver_tcp_congestion": cc,
        });
    }
    let streams: Vec<Value> = (summary.flows.iter())
        .map(|flow| {
            let mut udp = datagrams(seconds, sent(flow), core::slice::from_ref(flow));
            udp.insert("socket".into(), json!(flow.id));
            udp.insert("out_of_order".into(), json!(flow.reordered_packets));
            udp.insert("sender".into(), json!(is_sender(document)));
            json!({ "udp": udp })
        })
        .collect();
    let side = |bytes: Option<u64>, is_sending: bool| {
        let mut side = datagrams(seconds, bytes, &summary.flows);
        side.insert("sender".into(), json!(is_sending));
        side
    };
    json!({
        "streams": streams,
        "sum": side(total(&sent), is_sender(document)),
        "sum_sent": side(total(&sent), true),
        "sum_received": side(total(&|flow| flow.received_bytes), false),
        "cpu_utilization_percent": cpu,
    })
}

/// Application data that left.
fn sent_bytes(document: &Document, flow: &Flow) -> Option<u64> {
    if let Some(tcp) = flow.tcp {
        return Some(tcp.sent_bytes - tcp.retransmitted_bytes.min(tcp.sent_bytes));
    }
    let mut agreed = document.negotiated.iter();
    let agreed = agreed.find(|agreed| agreed.flow == flow.id)?;
    Some(flow.ledger?.sent.saturating_mul(agreed.packet_bytes))
}

/// The keys of datagrams over the whole test.
fn datagrams(seconds: f64, bytes: Option<u64>, flows: &[Flow]) -> Map<String, Value> {
    let mut fields = span(0.0, seconds, bytes);
    let lost: Option<u64> = flows.iter().map(|flow| Some(flow.ledger?.lost())).sum();
    let sent: Option<u64> = flows.iter().map(|flow| Some(flow.ledger?.sent)).sum();
    // As iperf3 does: the mean of the flows.
    let jitters: Option<Vec<u64>> = flows
        .iter()
        .map(|flow| flow.jitter.as_ref()?.rfc3550_ns)
        .collect();
    let jitter = jitters
        .filter(|jitters| !jitters.is_empty())
        .map(|jitters| to_f64(jitters.iter().sum()) / to_f64(jitters.len() as u64) / 1e6);
    fields.insert("jitter_ms".into(), json!(jitter));
    fields.insert("lost_packets".into(), json!(lost));
    fields.insert("packets".into(), json!(sent));
    fields.insert("lost_percent".into(), json!(percent(lost, sent)));
    fields
}

/// The processor time of a program in percent of one core.
#[derive(Clone, Copy)]
struct Cpu {
    total: f64,
    user: Option<f64>,
    system: Option<f64>,
}

fn cpu(host: &Delta) -> Option<Cpu> {
    let cpu_ns = host.process_cpu_ns.filter(|_| host.wall_ns > 0)?;
    let total = to_f64(cpu_ns) * 100.0 / to_f64(host.wall_ns);
    let system = host.process_system_ratio.map(|ratio| total * ratio);
    Some(Cpu {
        total,
        user: system.map(|system| total - system),
        system,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::sample;
    use crate::schema::TcpTotals;

    #[test]
    fn unknown_values_have_no_key() {
        let document: Value = serde_json::from_str(&text(&sample::document())).unwrap();
        let start = &document["start"];
        assert_eq!(start["test_start"]["protocol"], "UDP");
        assert!(start.get("sndbuf_actual").is_none() && document.get("title").is_none());
        assert_eq!(document["extra_data"], "dccpmon 0.1.0: DCCP CCID 2");
        let end = &document["end"];
        assert_eq!(end["sum"]["lost_packets"], 21);
        assert_eq!(end["sum"]["packets"], 42_164);
        assert_eq!(end["sum_received"]["bytes"], 59_000_200);
        assert_eq!(end["streams"][0]["udp"]["jitter_ms"], 0.12);
        assert_eq!(document["intervals"][1]["streams"][0]["packets"], 8_572);
    }

    #[test]
    fn dates_are_those_of_the_calendar() {
        for (unix_s, text) in [
            (0, "Thu, 01 Jan 1970 00:00:00 GMT"),
            (951_782_400, "Tue, 29 Feb 2000 00:00:00 GMT"),
            (1_709_251_199, "Thu, 29 Feb 2024 23:59:59 GMT"),
            (1_767_225_599, "Wed, 31 Dec 2025 23:59:59 GMT"),
            (1_795_833_441, "Sat, 28 Nov 2026 02:37:21 GMT"),
            (4_107_542_400, "Mon, 01 Mar 2100 00:00:00 GMT"),
        ] {
            assert_eq!(date(unix_s), text);
        }
    }

    #[test]
    fn processor_time_is_that_of_program_and_kernel() {
        let document: Value = serde_json::from_str(&text(&sample::document())).unwrap();
        let cpu = &document["end"]["cpu_utilization_percent"];
        let percent = |key: &str| format!("{:.1}", cpu[key].as_f64().unwrap());
        for end in ["host", "remote"] {
            let parts = ["total", "user", "system"].map(|part| percent(&format!("{end}_{part}")));
            assert_eq!(parts, ["11.0", "4.4", "6.6"]);
        }
    }

    #[test]
    fn tcp_has_the_keys_of_tcp() {
        let mut document = sample::two_flows();
        document.requested.transport = Transport::Tcp;
        for flow in &mut document.summary.as_mut().unwrap().flows {
            flow.ledger = None;
            flow.tcp = Some(TcpTotals {
                sent_bytes: 1_000_000,
                acknowledged_bytes: 990_000,
                retransmitted_segments: 7,
                retransmitted_bytes: 9_800,
                busy_ns: 0,
                rwnd_limited_ns: 0,
                sndbuf_limited_ns: 0,
            });
        }
        let document: Value = serde_json::from_str(&text(&document)).unwrap();
        assert_eq!(document["start"]["test_start"]["protocol"], "TCP");
        let end = &document["end"];
        assert_eq!(end["sum_sent"]["retransmits"], 14);
        assert_eq!(end["sum_sent"]["bytes"], 2 * 990_200);
        assert_eq!(end["streams"][1]["sender"]["socket"], 2);
        assert!(end.get("sum").is_none());
    }
}

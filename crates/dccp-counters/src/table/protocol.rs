//! Counters of the protocol: each connection has them, and the engine sums them up.

use super::{Group, Metric, Read, Rows, camel, labels, rows, snake};
use crate::unit::Unit;
use dccp::ProtocolStats;
use dccp_proto::conn::Timer;
use dccp_proto::conn::stats::{DropReason, PerResetCode};
use dccp_proto::wire::PacketType;
use dccp_proto::wire::ack_cells::DropCode;

/// Members of packets sent begin after this one.
const OUT: u32 = 100;

fn read(read: impl Fn(&ProtocolStats) -> u64 + Send + Sync + 'static) -> Read {
    Read::Protocol(Box::new(read))
}

pub(super) fn groups() -> Vec<Group> {
    vec![
        packets(),
        bytes(),
        data(),
        drops(),
        resets(),
        drop_codes(),
        timers(),
        connections(),
        events(),
    ]
}

fn packets() -> Group {
    let mut rows = Rows::new(1);
    for (n, packet_type) in (1..).zip(PacketType::ALL) {
        let name = format!("{packet_type:?}");
        let labels = labels(&[("direction", "in"), ("type", &snake(&name))]);
        let help = format!("{name} packets received with a correct header, valid or not");
        let count = read(move |s| s.packets_in.of(packet_type));
        let metric = Metric("packets", Unit::Packets, labels);
        rows.add(n, format!("dccpInPkts{name}"), metric, help, count);
    }
    for (n, packet_type) in (1..).zip(PacketType::ALL) {
        let name = format!("{packet_type:?}");
        let labels = labels(&[("direction", "out"), ("type", &snake(&name))]);
        let help = format!("{name} packets sent");
        let count = read(move |s| s.packets_out.of(packet_type));
        let metric = Metric("packets", Unit::Packets, labels);
        rows.add(OUT + n, format!("dccpOutPkts{name}"), metric, help, count);
    }
    rows.rows
}

fn bytes() -> Group {
    let mut rows = Rows::new(2);
    rows!(rows, Bytes, read:
        1, "dccpInOctets", "packet" ["direction" = "in"], "Bytes of packets received, with DCCP headers", counters.bytes_in => 20;
        2, "dccpOutOctets", "packet" ["direction" = "out"], "Bytes of packets sent, with DCCP headers", counters.bytes_out => 21;
        3, "dccpInDataOctets", "data" ["direction" = "in"], "Bytes of application data received for the first time", counters.data_bytes_in => 22;
        4, "dccpOutDataOctets", "data" ["direction" = "out"], "Bytes of application data sent", counters.data_bytes_out => 23;
        5, "dccpInAckOctets", "ack" ["direction" = "in"], "Bytes of Ack packets received, with DCCP headers", counters.ack_bytes_in;
        6, "dccpOutAckOctets", "ack" ["direction" = "out"], "Bytes of Ack packets sent, with DCCP headers", counters.ack_bytes_out;
        7, "dccpInAckVectorOctets", "ack_vector" ["direction" = "in"], "Bytes of Ack Vector options received", counters.ack_vector_bytes_in;
        8, "dccpOutAckVectorOctets", "ack_vector" ["direction" = "out"], "Bytes of Ack Vector options sent", counters.ack_vector_bytes_out;
    );
    rows.rows
}

fn data() -> Group {
    let mut rows = Rows::new(3);
    rows!(rows, Datagrams, read:
        1, "dccpDatagramsOut", "datagrams_sent", "Datagrams that left", counters.data_sent => 24;
        2, "dccpDatagramsAcked", "datagrams_acked", "Sent datagrams that the peer reported as received, unmarked", counters.data_acked => 25;
        3, "dccpDatagramsMarked", "datagrams_marked", "Sent datagrams that the peer reported as received with a congestion mark", counters.data_marked => 26;
        4, "dccpDatagramsLost", "datagrams_lost", "Sent datagrams that were taken for lost", counters.data_lost => 27;
        5, "dccpSpuriousLosses", "spurious_losses", "Datagrams taken for lost that the peer reported as received later", counters.spurious_losses;
        6, "dccpDatagramsIn", "datagrams_received", "Datagrams received for the first time", counters.data_received => 28;
        7, "dccpDatagramsDelivered", "datagrams_delivered", "Received datagrams that the receive buffer took", counters.data_delivered => 29;
    );
    rows!(rows, Packets, read:
        8, "dccpDuplicates", "duplicate_packets", "Packets received more than once", counters.duplicates;
        9, "dccpInCePkts", "marked_packets" ["mark" = "ce"], "Packets received with a congestion mark", counters.ce_received;
        10, "dccpInEct1Pkts", "marked_packets" ["mark" = "ect1"], "Packets received with ECT(1)", counters.ect1_received;
        11, "dccpAcksLost", "acks_lost", "Acknowledgements of the peer that were lost or marked", counters.acks_lost;
    );
    rows.rows
}

/// Reasons in the order of their members. New ones come last, whatever their place in [`DropReason`].
const DROP_REASONS: &[DropReason] = &[
    DropReason::TooShort,
    DropReason::UnknownType,
    DropReason::ShortSeqno,
    DropReason::DataOffsetTooSmall,
    DropReason::DataOffsetTooLarge,
    DropReason::CscovTooLarge,
    DropReason::BadChecksum,
    DropReason::Divided,
    DropReason::BadAddress,
    DropReason::NoConnection,
    DropReason::TimeWait,
    DropReason::PortReuse,
    DropReason::NotRequest,
    DropReason::BadServiceCode,
    DropReason::TooBusy,
    DropReason::BadInitCookie,
    DropReason::ResponseLimit,
    DropReason::UnwantedListen,
    DropReason::NotResponse,
    DropReason::SyncOutOfWindow,
    DropReason::ShortSeqnoRefused,
    DropReason::SeqnoOutOfWindow,
    DropReason::AcknoOutOfWindow,
    DropReason::UnexpectedType,
    DropReason::OptionReset,
    DropReason::Closed,
    DropReason::Duplicate,
    DropReason::NotReady,
    DropReason::BelowMinCscov,
    DropReason::DataCorrupt,
    DropReason::ReceiveBuffer,
    DropReason::NotListening,
];

fn drops() -> Group {
    let mut rows = Rows::new(4);
    for (n, &reason) in (1..).zip(DROP_REASONS) {
        let name = reason.name();
        let metric = Metric(
            "dropped_packets",
            Unit::Packets,
            labels(&[("reason", name)]),
        );
        let help = format!("Packets received whose content was dropped, with the reason {name}");
        let count = read(move |s| s.drops.of(reason));
        rows.add(n, format!("dccpDrop{}", camel(name)), metric, help, count);
    }
    rows.rows
}

fn resets() -> Group {
    let mut rows = Rows::new(5);
    for code in PerResetCode::codes() {
        let name = snake(code.name());
        let metric = Metric(
            "resets",
            Unit::Packets,
            labels(&[("direction", "in"), ("code", &name)]),
        );
        let help = format!(
            "Resets received that ended a connection, {}",
            code_words(code.name())
        );
        let count = Read::Resets(Box::new(move |r| r.received.of(code)));
        rows.add(
            u32::from(code.0) + 1,
            format!("dccpInResets{}", camel(&name)),
            metric,
            help,
            count,
        );
    }
    for code in PerResetCode::codes() {
        let name = snake(code.name());
        let metric = Metric(
            "resets",
            Unit::Packets,
            labels(&[("direction", "out"), ("code", &name)]),
        );
        let help = format!("Resets sent, {}", code_words(code.name()));
        let count = Read::Resets(Box::new(move |r| r.sent.of(code)));
        rows.add(
            1001 + u32::from(code.0),
            format!("dccpOutResets{}", camel(&name)),
            metric,
            help,
            count,
        );
    }
    rows.rows
}

fn code_words(name: &str) -> String {
    match name {
        "CCID-specific" => "with a code of 128 or more".into(),
        "unassigned" => "with a code that no RFC assigns".into(),
        name => format!("with the code \"{name}\""),
    }
}

fn drop_codes() -> Group {
    let mut rows = Rows::new(6);
    for (n, code) in (1..).zip((0..8).filter_map(DropCode::from_number)) {
        let name = drop_code_name(code);
        let metric = Metric(
            "drop_codes",
            Unit::Datagrams,
            labels(&[("direction", "in"), ("code", name)]),
        );
        let help = format!(
            "Sent datagrams that the peer's host dropped, with Drop Code {}",
            code.number()
        );
        let count = read(move |s| s.rx_dropped[usize::from(code.number())]);
        rows.add(
            n,
            format!("dccpInDropCode{}", camel(name)),
            metric,
            help,
            count,
        );
    }
    for (n, code) in (1..).zip((0..8).filter_map(DropCode::from_number)) {
        let name = drop_code_name(code);
        let metric = Metric(
            "drop_codes",
            Unit::Datagrams,
            labels(&[("direction", "out"), ("code", name)]),
        );
        let help = format!(
            "Received datagrams that this host dropped, with Drop Code {}",
            code.number()
        );
        let count = read(move |s| s.drop_codes_out.of(code));
        rows.add(
            OUT + n,
            format!("dccpOutDropCode{}", camel(name)),
            metric,
            help,
            count,
        );
    }
    rows.rows
}

/// RFC 4340 §11.7, table 6.
fn drop_code_name(code: DropCode) -> &'static str {
    match code.number() {
        0 => "protocol_constraints",
        1 => "not_listening",
        2 => "receive_buffer",
        3 => "corrupt",
        4 => "reserved_4",
        5 => "reserved_5",
        6 => "reserved_6",
        _ => "delivered_corrupt",
    }
}

/// Timers in the order of their members. New ones come last, whatever their place in [`Timer`].
const TIMERS: &[Timer] = &[
    Timer::GiveUp,
    Timer::Listen,
    Timer::Request,
    Timer::PartOpen,
    Timer::Close,
    Timer::Pace,
    Timer::Resync,
    Timer::Keepalive,
    Timer::Silence,
    Timer::Expiry,
    Timer::Feature,
    Timer::HcSender,
    Timer::Ack,
    Timer::Pmtu,
];

fn timers() -> Group {
    let mut rows = Rows::new(7);
    for (n, &timer) in (1..).zip(TIMERS) {
        let name = format!("{timer:?}");
        let metric = Metric(
            "timer_expiries",
            Unit::Events,
            labels(&[("timer", &snake(&name))]),
        );
        let help = format!("Expiries of the timer {name}");
        let count = read(move |s| s.timers.of(timer));
        rows.add(n, format!("dccpTimer{name}"), metric, help, count);
    }
    rows.rows
}

fn connections() -> Group {
    let mut rows = Rows::new(8);
    rows!(rows, Connections, read:
        1, "dccpActiveOpens", "connections_opened" ["role" = "client"], "Connections that this host tried to open", mib.active_opens;
        2, "dccpPassiveOpens", "connections_opened" ["role" = "server"], "Connections that listeners answered", mib.passive_opens;
        3, "dccpAttemptFails", "connection_attempts_failed", "Handshakes that failed", mib.attempt_fails;
        4, "dccpEstabResets", "established_resets", "Established connections that were reset", mib.estab_resets;
        5, "dccpAbortOnTimeout", "timeout_aborts", "Connections given up after repeating a packet in vain", mib.abort_on_timeout;
        6, "dccpOptMandatoryError", "mandatory_errors", "Connections that this host reset because it did not understand a Mandatory option", mib.opt_mandatory_error;
        7, "dccpInvalidOpt", "option_errors", "Connections that this host reset because of an invalid option", mib.invalid_opt;
    );
    rows!(rows, Packets, read:
        9, "dccpRequestsRepeated", "requests_repeated", "Requests sent after the first one of an attempt", counters.requests_repeated;
        10, "dccpTimeouts", "timeouts", "Timeouts that made a packet be repeated, or that the sending CCID answered", mib.timeouts;
        11, "dccpInErrs", "malformed_packets", "Datagrams received that are no packets: malformed, or with a bad checksum", mib.in_errs;
        12, "dccpCookiesSent", "cookies_sent", "Responses with an Init Cookie", counters.cookies_sent;
    );
    rows.rows
}

fn events() -> Group {
    let mut rows = Rows::new(9);
    rows!(rows, Events, read:
        1, "dccpCcTimeouts", "cc_timeouts", "Retransmission or nofeedback timeouts of the sending CCID", counters.cc_timeouts => 30;
        2, "dccpRttSamples", "rtt_samples", "Round-trip samples", counters.rtt_samples;
        3, "dccpRateSamples", "rate_samples", "Samples of the delivered rate", counters.rate_samples;
        4, "dccpNonceEchoes0", "nonce_echoes" ["nonce" = "0"], "Ack Vectors received with Nonce Echo 0", counters.nonce_echoes_0;
        5, "dccpNonceEchoes1", "nonce_echoes" ["nonce" = "1"], "Ack Vectors received with Nonce Echo 1", counters.nonce_echoes_1;
        6, "dccpInvalidVectors", "invalid_ack_vectors", "Ack Vectors that could not be true and were ignored", counters.invalid_vectors;
        7, "dccpInvalidDataDropped", "invalid_data_dropped", "Data Dropped options that could not be true and were ignored", counters.invalid_data_dropped;
        8, "dccpAudits", "audits", "Sequence numbers withheld to test the peer's reports", counters.audits;
        9, "dccpMisreports", "misreports", "Withheld sequence numbers that the peer reported as received", counters.misreports;
        10, "dccpRollbacks", "rollbacks", "Returns of GSR after a forged packet", counters.rollbacks;
        11, "dccpSlowReceiver", "slow_receiver_options", "Packets received with a Slow Receiver option", counters.slow_receiver;
        12, "dccpSyncsLimited", "syncs_limited", "Syncs not sent because of their limit", counters.syncs_limited;
        13, "dccpResetsLimited", "resets_limited", "Resets not sent because of their limit", counters.resets_limited;
        14, "dccpOptionsIgnored", "options_ignored", "Options received that were not understood and ignored", counters.options_ignored;
        15, "dccpFeatureChanges", "feature_changes", "Values of features that changed", counters.feature_changes;
        16, "dccpPmtuProbes", "pmtu_probes_sent", "Path MTU probes sent", counters.pmtu_probes;
        17, "dccpPmtuProbesAcked", "pmtu_probes_answered", "Path MTU probes that were answered", counters.pmtu_probes_acked;
        18, "dccpPmtuBlackHoles", "pmtu_black_holes", "Times that the path stopped carrying packets of a size that it had carried", counters.pmtu_black_holes;
        19, "dccpIcmpUsed", "icmp_errors" ["outcome" = "used"], "ICMP errors that quote a packet sent lately, and were used", counters.icmp_used;
        20, "dccpIcmpIgnored", "icmp_errors" ["outcome" = "ignored"], "ICMP errors ignored because they quote nothing sent lately", counters.icmp_ignored;
    );
    rows.rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_reason_and_each_timer_has_one_row() {
        let count = |reason| DROP_REASONS.iter().filter(|r| **r == reason).count();
        assert!(DropReason::ALL.iter().all(|reason| count(*reason) == 1));
        let count = |timer| TIMERS.iter().filter(|t| **t == timer).count();
        assert!(Timer::ALL.iter().all(|timer| count(*timer) == 1));
    }
}

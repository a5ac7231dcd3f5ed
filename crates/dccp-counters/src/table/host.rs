//! Counters that only the host has: of transports, which connections share, and of listeners.

use super::{Group, Metric, Read, Rows, rows};
use crate::listener::ListenerCounters;
use crate::unit::Unit;
use dccp::TransportCounters;

pub(super) fn groups() -> Vec<Group> {
    vec![transports(), listeners()]
}

fn transport(read: impl Fn(&TransportCounters) -> u64 + Send + Sync + 'static) -> Read {
    Read::Engine(Box::new(move |engine| read(&engine.transport)))
}

fn transports() -> Group {
    let mut rows = Rows::new(30);
    rows!(rows, Packets, transport:
        1, "dccpTransportOut", "transport_packets_sent", "Packets that the kernel took", sent;
        2, "dccpTransportIn", "transport_packets_received", "Packets that the kernel delivered", received;
        3, "dccpTransportDropQueueFull", "transport_dropped_packets" ["reason" = "queue_full"], "Packets lost because a queue of this host was full", dropped_queue_full;
        4, "dccpTransportDropTooBig", "transport_dropped_packets" ["reason" = "too_big"], "Packets refused because they exceeded the interface's MTU", dropped_too_big;
        5, "dccpTransportDropOther", "transport_dropped_packets" ["reason" = "other"], "Packets refused for any other reason", dropped_other;
        7, "dccpTransportInMalformed", "transport_malformed_packets", "Datagrams received that were no whole packet", recv_malformed;
        8, "dccpTransportForeign", "transport_foreign_packets", "Packets received for ports of other programs, over IP only", foreign;
    );
    let metric = Metric("transport_receive_overflows", Unit::Packets, Vec::new());
    let help = "Packets that the kernel dropped because the socket's buffer was full, as far as it reports";
    let count = transport(|t| t.recv_overflowed.unwrap_or(0));
    rows.add(6, "dccpTransportInOverflows", metric, help, count);
    rows!(rows, Events, transport:
        9, "dccpTransportSendCalls", "transport_send_calls", "System calls that sent", send_calls;
        10, "dccpTransportRecvCalls", "transport_receive_calls", "System calls that received", recv_calls;
        11, "dccpTransportSendBatches", "transport_send_batches", "System calls that sent more than one packet", send_batches;
        12, "dccpTransportRecvMerged", "transport_receive_merges", "Buffers received with more than one packet", recv_merged;
        13, "dccpTransportSendBlocked", "transport_send_blocked", "Times that a socket had no room", send_blocked;
        14, "dccpTransportIcmp", "transport_icmp_errors", "ICMP errors read", icmp;
        15, "dccpTransportIcmpPauses", "transport_icmp_pauses", "Times that reading ICMP errors paused because too many arrived", icmp_pauses;
    );
    rows.rows
}

fn listener(read: impl Fn(&ListenerCounters) -> u64 + Send + Sync + 'static) -> Read {
    Read::Listener(Box::new(read))
}

fn listeners() -> Group {
    let mut rows = Rows::new(31);
    rows!(rows, Connections, listener:
        1, "dccpRefusedBacklog", "connections_refused" ["reason" = "backlog"], "Connections refused because too many waited to be accepted", refused_backlog;
        2, "dccpRefusedSource", "connections_refused" ["reason" = "source"], "Connections refused because their address had too many", refused_source;
    );
    rows.rows
}

//! Counters of the sockets of connections. The engine does not have them, so connections that have ended are added up.

use super::{Group, Metric, Read, Rows, camel, labels, rows};
use crate::unit::Unit;
use dccp::{ConnSnapshot, Fate, Stats};

fn read(read: impl Fn(&Stats) -> u64 + Send + Sync + 'static) -> Read {
    Read::Socket(Box::new(move |(stats, _)| read(stats)))
}

pub(super) fn groups() -> Vec<Group> {
    vec![sending(), fates(), receiving(), losses(), host_drops()]
}

fn sending() -> Group {
    let mut rows = Rows::new(20);
    rows!(rows, Datagrams, read:
        1, "dccpDatagramsPushed", "datagrams_pushed", "Datagrams taken from applications: each is queued, in flight, or has a fate", sent.pushed => 31;
        2, "dccpFillers", "fillers", "Fillers among the datagrams taken, which keep a target rate", sent.fillers;
        3, "dccpFatesMissed", "fates_missed", "Fates dropped because the application did not fetch them", sent.fates_missed;
    );
    rows.rows
}

/// Fates in the order of their members. New ones come last, whatever their place in [`Fate`].
const FATES: &[Fate] = &[
    Fate::Sent,
    Fate::Acked,
    Fate::AckedCe,
    Fate::Lost,
    Fate::RxDropped(0),
    Fate::Expired,
    Fate::Superseded,
    Fate::Withdrawn,
    Fate::Overflowed,
    Fate::Limited,
    Fate::TooBig,
];

fn fates() -> Group {
    let mut rows = Rows::new(21);
    for (n, fate) in (1..).zip(FATES) {
        let name = fate.name();
        let metric = Metric("datagram_fates", Unit::Datagrams, labels(&[("fate", name)]));
        let help = format!(
            "Datagrams of applications with the fate {name}: {}",
            fate_words(*fate)
        );
        let count = read(move |s| {
            let fates = s.sent.fates.by_name();
            fates
                .filter(|(fate, _)| *fate == name)
                .map(|(_, n)| n)
                .sum()
        });
        rows.add(n, format!("dccpFate{}", camel(name)), metric, help, count);
    }
    rows.rows
}

fn fate_words(fate: Fate) -> &'static str {
    match fate {
        Fate::Sent => "they left, and no report on them came",
        Fate::Acked => "the peer received them",
        Fate::AckedCe => "the peer received them with a congestion mark",
        Fate::Lost => "the network lost them",
        Fate::RxDropped(_) => "the peer's host dropped them",
        Fate::Expired => "their deadline came before they could leave",
        Fate::Superseded => "a newer datagram with the same key took their place",
        Fate::Withdrawn => "the application or the end of the connection withdrew them",
        Fate::Overflowed => "the queue dropped them to make room",
        Fate::Limited => "the congestion controller dropped them",
        Fate::TooBig => "they exceeded the maximum packet size",
        _ => "a fate that this version does not describe",
    }
}

fn receiving() -> Group {
    let mut rows = Rows::new(22);
    rows!(rows, Datagrams, read:
        1, "dccpDatagramsTaken", "datagrams_taken", "Datagrams that applications took from their receive buffers", received.taken => 32;
        2, "dccpRxDropFull", "receive_buffer_drops" ["reason" = "full"], "Received datagrams dropped because the connection's buffer was full", received.dropped_full;
        3, "dccpRxDropBudget", "receive_buffer_drops" ["reason" = "budget"], "Received datagrams dropped because connections together used up their memory", received.dropped_budget;
        4, "dccpRxDropTooLong", "receive_buffer_drops" ["reason" = "too_long"], "Received datagrams dropped because they exceeded an entry of the ring", received.dropped_too_long;
        5, "dccpRxDropNotListening", "receive_buffer_drops" ["reason" = "not_listening"], "Received datagrams dropped because the application does not read", received.dropped_not_listening;
    );
    rows.rows
}

fn losses() -> Group {
    let mut rows = Rows::new(23);
    let read = |events: fn(&ConnSnapshot) -> Option<u64>| {
        Read::Socket(Box::new(move |(_, snapshot)| events(snapshot).unwrap_or(0)))
    };
    let metric = |side| Metric("loss_events", Unit::Events, labels(&[("side", side)]));
    let help = "Congestion events that sending CCIDs answered";
    rows.add(
        1,
        "dccpLossEventsAnswered",
        metric("sender"),
        help,
        read(|c| c.tx.loss_events),
    );
    rows.column(33);
    let help = "Congestion events that receiving CCIDs found";
    rows.add(
        2,
        "dccpLossEventsFound",
        metric("receiver"),
        help,
        read(|c| c.rx.loss_events),
    );
    rows.column(34);
    rows.rows
}

fn host_drops() -> Group {
    let mut rows = Rows::new(24);
    rows!(rows, Packets, read:
        1, "dccpHostDropQueueFull", "host_dropped_packets" ["reason" = "queue_full"], "Packets of connections that this host did not send because a queue was full", host_drops.queue_full;
        2, "dccpHostDropTooBig", "host_dropped_packets" ["reason" = "too_big"], "Packets of connections that this host did not send because they exceeded the MTU", host_drops.too_big;
        3, "dccpHostDropUnreachable", "host_dropped_packets" ["reason" = "unreachable"], "Packets of connections that this host did not send for lack of a route or a socket", host_drops.unreachable;
        4, "dccpHostDropNotPermitted", "host_dropped_packets" ["reason" = "not_permitted"], "Packets of connections that a rule of this host forbids", host_drops.not_permitted;
        5, "dccpHostDropOther", "host_dropped_packets" ["reason" = "other"], "Packets of connections that this host did not send for another reason", host_drops.other;
    );
    rows.rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_fate_has_one_row() {
        let count = |fate| FATES.iter().filter(|f| **f == fate).count();
        assert!(Fate::ALL.iter().all(|fate| count(*fate) == 1));
    }
}

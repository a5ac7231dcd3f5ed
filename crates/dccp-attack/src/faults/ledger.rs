//! The report of a victim: the place of each of its datagrams.

use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// The report of a victim, in JSON on its standard output.
#[derive(Default, Debug, Serialize, Deserialize)]
pub(crate) struct Report {
    /// Datagrams that the connection took. They are numbered from 0.
    pub(crate) offered: u64,
    /// Datagrams by the name of their fate.
    pub(crate) fates: BTreeMap<String, u64>,
    /// Datagrams with more than one fate.
    pub(crate) repeated_fates: u64,
    /// Numbers of datagrams that the peer has acknowledged.
    pub(crate) acked: BTreeSet<u64>,
    /// Numbers of datagrams that the peer's application received.
    pub(crate) received: BTreeSet<u64>,
    /// Datagrams that it received again.
    pub(crate) duplicates: u64,
    /// Packets of the sender that its host refused to send.
    pub(crate) host_dropped: u64,
    /// The longest time between two arrivals, in milliseconds.
    pub(crate) longest_gap_ms: u64,
    /// The reason, if the connection ended before it was closed.
    pub(crate) ended: Option<String>,
    /// Events by name.
    pub(crate) events: BTreeMap<String, u64>,
    /// Attempts to open a connection or a ring beside the first one.
    pub(crate) openings: Openings,
    /// The time from the end of the fault to the next arrival, in milliseconds.
    pub(crate) resumed_ms: Option<u64>,
    /// The time from the end of the fault to the next success in opening, in milliseconds.
    pub(crate) opened_ms: Option<u64>,
}

/// Attempts to open a connection or a ring.
#[derive(Default, Debug, Serialize, Deserialize)]
pub(crate) struct Openings {
    pub(crate) succeeded: u64,
    /// Failures by their messages.
    pub(crate) failed: BTreeMap<String, u64>,
    /// The longest attempt, in milliseconds.
    pub(crate) longest_ms: u64,
}

impl Report {
    /// Adds the report of the other process of a connection.
    pub(crate) fn join(mut self, other: Self) -> Self {
        let add = |to: &mut BTreeMap<String, u64>, from: BTreeMap<String, u64>| {
            for (name, n) in from {
                *to.entry(name).or_default() += n;
            }
        };
        self.offered += other.offered;
        add(&mut self.fates, other.fates);
        self.repeated_fates += other.repeated_fates;
        self.acked.extend(other.acked);
        self.received.extend(other.received);
        self.duplicates += other.duplicates;
        self.host_dropped += other.host_dropped;
        self.longest_gap_ms = self.longest_gap_ms.max(other.longest_gap_ms);
        self.ended = self.ended.or(other.ended);
        add(&mut self.events, other.events);
        self.openings.succeeded += other.openings.succeeded;
        add(&mut self.openings.failed, other.openings.failed);
        self.openings.longest_ms = self.openings.longest_ms.max(other.openings.longest_ms);
        self.resumed_ms = self.resumed_ms.or(other.resumed_ms);
        self.opened_ms = self.opened_ms.or(other.opened_ms);
        self
    }

    /// Lists what keeps the ledger from being closed.
    pub(crate) fn gaps(&self) -> Vec<String> {
        let with_fate: u64 = self.fates.values().sum();
        let unseen = self.acked.difference(&self.received).count();
        let invented = self.received.iter().filter(|n| **n >= self.offered).count();
        let counts = [
            (self.offered.abs_diff(with_fate), "datagrams without a fate"),
            (self.repeated_fates, "datagrams with two fates"),
            (unseen as u64, "acknowledged datagrams that did not arrive"),
            (self.duplicates, "datagrams that arrived twice"),
            (invented as u64, "datagrams that were not sent"),
        ];
        let wrong = counts.into_iter().filter(|(n, _)| *n > 0);
        wrong.map(|(n, what)| format!("{n} {what}")).collect()
    }

    /// The fates in words.
    pub(crate) fn fates_in_words(&self) -> String {
        let words = self.fates.iter().map(|(name, n)| format!("{n} {name}"));
        words.collect::<Vec<_>>().join(", ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(offered: u64, acked: &[u64], lost: u64, received: &[u64]) -> Report {
        let fates = [
            ("acked".to_owned(), acked.len() as u64),
            ("lost".to_owned(), lost),
        ];
        Report {
            offered,
            fates: fates.into(),
            acked: acked.iter().copied().collect(),
            received: received.iter().copied().collect(),
            ..Report::default()
        }
    }

    #[test]
    fn ledger_is_closed_only_if_every_datagram_has_its_place() {
        assert!(report(3, &[0, 2], 1, &[0, 2]).gaps().is_empty());
        // A datagram that arrives late keeps the fate "lost".
        assert!(report(3, &[0, 2], 1, &[0, 1, 2]).gaps().is_empty());
        assert_eq!(
            report(4, &[0, 2], 1, &[0, 2]).gaps(),
            ["1 datagrams without a fate"]
        );
        let hidden = report(3, &[0, 2], 1, &[0]).gaps();
        assert_eq!(hidden, ["1 acknowledged datagrams that did not arrive"]);
        assert_eq!(
            report(1, &[0], 0, &[0, 1]).gaps(),
            ["1 datagrams that were not sent"]
        );
    }
}

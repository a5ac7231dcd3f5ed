//! What changes in a network at moments known beforehand.

use crate::ids::{LinkId, NodeId};
use crate::loss::FaultConfig;
use crate::queue::Limit;
use core::time::Duration;
use dccp_proto::{Instant, Rate};
use std::collections::BTreeMap;

/// A change of the network.
#[derive(Clone, PartialEq, Debug)]
pub enum Change {
    /// The link has another rate, and no trace. Of a packet in transmission the remaining bits go at
    /// the new rate.
    Rate(LinkId, Option<Rate>),
    /// Packets that are sent from then on take this time.
    Delay(LinkId, Duration),
    /// Packets that are sent from then on meet these faults.
    Faults(LinkId, FaultConfig),
    /// The link works, or does not. While it does not, routes lead around it where there is a way;
    /// what waits for it stays or is lost, as its [`WhileDown`](crate::link::WhileDown) says.
    Up(LinkId, bool),
    /// So much may wait for the link.
    QueueLimit(LinkId, Limit),
    /// Frames at one node for another one take this link; `None`: the shortest way again.
    Route {
        /// Where.
        at: NodeId,
        /// Where to.
        to: NodeId,
        /// A link that begins at `at`.
        link: Option<LinkId>,
    },
}

/// Changes to come, in the order of their moments; those of one moment in the order in which they
/// were asked for.
#[derive(Debug, Default)]
pub(crate) struct Timeline {
    changes: BTreeMap<(Instant, u64), Change>,
    made: u64,
}

impl Timeline {
    pub(crate) fn add(&mut self, at: Instant, change: Change) {
        self.made += 1;
        self.changes.insert((at, self.made), change);
    }

    pub(crate) fn next_at(&self) -> Option<Instant> {
        self.changes.first_key_value().map(|((at, _), _)| *at)
    }

    /// The next change whose moment has come.
    pub(crate) fn take(&mut self, now: Instant) -> Option<Change> {
        let first = self.changes.first_entry()?;
        (first.key().0 <= now).then(|| first.remove())
    }
}

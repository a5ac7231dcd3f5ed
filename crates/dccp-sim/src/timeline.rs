//! Scheduled changes of a network.

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
    /// The link goes up or down. While it is down, routes avoid it where possible. Packets that wait for it
    /// stay or are lost, according to its [`WhileDown`](crate::link::WhileDown).
    Up(LinkId, bool),
    /// The queue of the link has another limit.
    QueueLimit(LinkId, Limit),
    /// Frames at one node for another node take this link; `None`: the shortest path again.
    Route {
        /// Where.
        at: NodeId,
        /// Where to.
        to: NodeId,
        /// A link that begins at `at`.
        link: Option<LinkId>,
    },
}

/// Future changes in the order of their times; at one time, in the order of the calls that added them.
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

    /// The next change that is due.
    pub(crate) fn take(&mut self, now: Instant) -> Option<Change> {
        let first = self.changes.first_entry()?;
        (first.key().0 <= now).then(|| first.remove())
    }
}

//! When a receiver acknowledges that counts to an Ack Ratio (RFC 4340 §11.3): those of CCIDs 2 and 248.

use super::config::{CcConfig, DEFAULT_RTT};
use super::one_way::Newest;
use super::{AckDue, Arrival};
use crate::seq::Seq;
use crate::time::{Instant, Nanos};
use crate::wire::Ecn;

/// Counts data packets, and notices gaps and marks.
#[derive(Debug)]
pub(crate) struct AckTiming {
    ratio: u32,
    rtt: Nanos,
    newest: Newest,
    /// Every gap is reported at once.
    is_strict: bool,
    /// Data packets since the last acknowledgement, and when the first of them arrived.
    pending: u32,
    pending_since: Instant,
    is_urgent: bool,
    /// The packet after or before a gap that last caused an acknowledgement.
    gap_told: Option<Seq>,
    /// When a mark last caused an acknowledgement.
    marked_at: Option<Instant>,
}

impl AckTiming {
    pub(crate) fn new(config: &CcConfig, is_strict: bool) -> Self {
        Self {
            ratio: 2,
            rtt: config.rtt.unwrap_or(DEFAULT_RTT).into(),
            newest: Newest::default(),
            is_strict,
            pending: 0,
            pending_since: config.now,
            is_urgent: false,
            gap_told: None,
            marked_at: None,
        }
    }

    /// The Ack Ratio; 0: the peer asked for none.
    pub(crate) const fn ratio(&self) -> u32 {
        self.ratio
    }

    pub(crate) const fn rtt(&self) -> Nanos {
        self.rtt
    }

    /// The packet that acknowledgements name, and when it arrived.
    pub(crate) const fn newest(&self) -> &Newest {
        &self.newest
    }

    /// Whether a gap or a mark is to be reported at once.
    pub(crate) const fn is_urgent(&self) -> bool {
        self.is_urgent
    }

    /// Data packets that no acknowledgement has covered yet.
    pub(crate) const fn pending(&self) -> u32 {
        self.pending
    }

    pub(crate) fn on_ratio(&mut self, value: u64) {
        self.ratio = u32::try_from(value).unwrap_or(u32::MAX);
    }

    pub(crate) fn on_packet(&mut self, p: &Arrival<'_>) {
        self.rtt = p.rtt.map_or(self.rtt, Nanos::from);
        let before = self.newest.on_packet(p.seq, p.now);
        // It shows a gap, or closes one (4340-11.3-4).
        let is_out_of_order = before.is_some_and(|newest| p.seq != newest.next());
        if is_out_of_order && self.is_news(p.seq) {
            self.is_urgent = true;
            self.gap_told = Some(p.seq);
        }
        if !p.is_data {
            return;
        }
        if p.ecn == Ecn::Ce && self.marked_at.is_none_or(|at| p.now >= at + self.rtt) {
            // 4340-11.3-4: a queue that marks everything must not make us answer everything.
            self.marked_at = Some(p.now);
            self.is_urgent = true;
        }
        if self.pending == 0 {
            self.pending_since = p.now;
        }
        self.pending += 1;
    }

    /// Whether to report a gap at once: not if one was reported less than half an Ack Ratio before.
    /// Scattered losses would be answered one by one, ten times as often as the peer expects, and
    /// its acknowledgements of those would fall out of our Sequence Window.
    fn is_news(&self, seq: Seq) -> bool {
        self.gap_told.is_none_or(|told| {
            self.is_strict
                || !seq.is_after(told)
                || seq.steps_from(told) >= u64::from(self.ratio / 2)
        })
    }

    /// Whether an acknowledgement is due. A single packet waits for `delay` at most.
    pub(crate) fn due(&self, now: Instant, delay: Nanos) -> AckDue {
        // 4340-11.3-1; AMB-4: without an Ack Ratio, one per two packets.
        let ratio = if self.ratio == 0 { 2 } else { self.ratio };
        if self.is_urgent || self.pending >= ratio {
            AckDue::Now
        } else if self.pending > 0 {
            // 4340-11.3-3
            AckDue::at(self.pending_since + delay, now)
        } else {
            AckDue::No
        }
    }

    /// An acknowledgement leaves. One with data reports the same, so counting restarts (4340-11.3-2).
    pub(crate) fn on_ack(&mut self) {
        self.pending = 0;
        self.is_urgent = false;
    }

    pub(crate) fn on_rollback(&mut self) {
        self.newest = Newest::default();
        self.gap_told = None;
    }
}

//! The receiving half: one acknowledgement per two data packets, and one at once after a gap.

use core::time::Duration;
use dccp_proto::cc::config::CcConfig;
use dccp_proto::cc::{AckDue, Arrival, HcReceiver, OutgoingAck, Snapshot};
use dccp_proto::{Instant, Seq};

/// Data packets per acknowledgement.
const PACKETS_PER_ACK: u32 = 2;
/// The round-trip time before one was measured.
const FIRST_RTT: Duration = Duration::from_millis(200);

/// The state of the receiving half.
#[derive(Debug)]
pub(super) struct Receiver {
    /// The longest delay of an acknowledgement.
    delayed_ack: Duration,
    /// The greatest sequence number that arrived.
    newest: Option<Seq>,
    /// Data packets since the last acknowledgement, and when the first of them arrived.
    pending: u32,
    pending_since: Instant,
    has_gap: bool,
    rtt: Duration,
}

impl Receiver {
    pub(super) fn new(config: &CcConfig) -> Self {
        Self {
            delayed_ack: config.delayed_ack,
            newest: None,
            pending: 0,
            pending_since: config.now,
            has_gap: false,
            rtt: config.rtt.unwrap_or(FIRST_RTT),
        }
    }
}

impl HcReceiver for Receiver {
    fn on_packet(&mut self, p: &Arrival<'_>) {
        self.rtt = p.rtt.unwrap_or(self.rtt);
        let is_next = self.newest.is_none_or(|newest| p.seq == newest.next());
        self.has_gap |= !is_next;
        self.newest = Some(self.newest.map_or(p.seq, |newest| newest.max(p.seq)));
        if !p.is_data {
            return;
        }
        if self.pending == 0 {
            self.pending_since = p.now;
        }
        self.pending += 1;
    }

    fn ack_due(&self, now: Instant) -> AckDue {
        if self.has_gap || self.pending >= PACKETS_PER_ACK {
            AckDue::Now
        } else if self.pending > 0 {
            AckDue::at(self.pending_since + self.delayed_ack, now)
        } else {
            AckDue::No
        }
    }

    /// The CCID has no options of its own, and the connection adds the Ack Vector.
    fn ack_options_len(&self, _now: Instant) -> usize {
        0
    }

    fn on_ack(&mut self, _ack: &mut OutgoingAck<'_>) -> bool {
        self.pending = 0;
        self.has_gap = false;
        true
    }

    fn snapshot(&self) -> Snapshot {
        Snapshot {
            rtt: Some(self.rtt),
            ..Snapshot::default()
        }
    }
}

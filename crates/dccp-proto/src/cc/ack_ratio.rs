//! Ack Ratio: how often the peer acknowledges (RFC 4341 §6.1.2; `docs/design.md`, decision 8c).

/// The acknowledgements per round trip that a higher Ack Ratio must keep (`docs/design.md`,
/// decision 8c).
const ACKS_PER_RTT: u32 = 16;
/// The largest Ack Ratio that saves acknowledgements (`docs/design.md`, decision 8c).
const RATIO_MAX: u32 = 64;

/// The Ack Ratio of a CCID 2 sender.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct AckRatio {
    /// The value that the loss of acknowledgements requires.
    congestion: u32,
    /// The value that the application fixed.
    fixed: Option<u32>,
    is_strict: bool,
    /// The value to request next.
    wanted: u32,
    /// The value last requested.
    asked: u32,
    /// The value that the peer is known to use.
    in_use: u32,
    /// The round trip that is being watched, and whether it lost acknowledgements.
    round: u64,
    has_lost: bool,
    /// Consecutive round trips without loss of acknowledgements.
    clean_rounds: u32,
}

impl AckRatio {
    /// The control of a connection whose window starts at `cwnd` packets.
    pub(crate) fn new(cwnd: u32, fixed: Option<u16>, is_strict: bool) -> Self {
        let mut control = Self {
            congestion: 2,
            fixed: fixed.map(u32::from),
            is_strict,
            wanted: 2,
            asked: 2,
            in_use: 2,
            round: 0,
            has_lost: false,
            clean_rounds: 0,
        };
        control.wanted = control.wish(cwnd);
        control
    }

    /// The value that the peer is known to use, at least 1 (AMB-4: at 0 it chooses itself).
    pub(crate) fn in_use(&self) -> u32 {
        self.in_use.max(1)
    }

    /// The feature has this value now.
    pub(crate) fn on_confirm(&mut self, value: u64) {
        self.in_use = u32::try_from(value).unwrap_or(u32::MAX);
        self.asked = self.in_use;
    }

    /// An acknowledgement arrived in round trip `round`; `acks_lost` before it were lost or marked.
    pub(crate) fn on_feedback(&mut self, round: u64, acks_lost: u32, cwnd: u32) {
        self.has_lost |= acks_lost > 0;
        if round > self.round {
            self.round = round;
            self.on_round(cwnd);
            self.wanted = self.wish(cwnd);
        }
    }

    /// The value to ask for, once, if it is another than the one asked for last.
    ///
    /// Once per round trip (4341-6.1.2-3), except that a window that shrank makes the old value
    /// illegal at once (4341-6.1.2-1).
    pub(crate) fn poll(&mut self, cwnd: u32) -> Option<u16> {
        self.wanted = self.wanted.min(most_wanted(cwnd));
        if self.wanted == self.asked {
            return None;
        }
        self.asked = self.wanted;
        u16::try_from(self.wanted).ok()
    }

    /// 4341-6.1.2-2: doubles the ratio after a round trip that lost acknowledgements, and takes one off
    /// after cwnd / (R² − R) clean ones.
    fn on_round(&mut self, cwnd: u32) {
        let r = self.congestion;
        if core::mem::take(&mut self.has_lost) {
            let in_force = r.max(self.scaled(cwnd));
            self.congestion = in_force.saturating_mul(2).min(largest(cwnd));
            self.clean_rounds = 0;
            return;
        }
        self.clean_rounds = self.clean_rounds.saturating_add(1);
        let r = u64::from(r);
        if r > 2 && u64::from(self.clean_rounds) * (r * r - r) >= u64::from(cwnd) {
            self.congestion -= 1;
            self.clean_rounds = 0;
        }
    }

    /// The ratio that leaves [`ACKS_PER_RTT`] acknowledgements in a round trip.
    fn scaled(&self, cwnd: u32) -> u32 {
        if self.is_strict {
            2
        } else {
            (cwnd / ACKS_PER_RTT).min(RATIO_MAX)
        }
    }

    fn wish(&self, cwnd: u32) -> u32 {
        self.fixed
            .unwrap_or(self.congestion.max(self.scaled(cwnd)))
            .max(2)
            .min(most_wanted(cwnd))
    }
}

/// The largest Ack Ratio to ask for. 4341-6.1.2-3, LINUX-10: 1 for windows up to 3, since a peer
/// without a delayed-ack timer would never acknowledge their last packets.
fn most_wanted(cwnd: u32) -> u32 {
    if cwnd <= 3 { 1 } else { largest(cwnd) }
}

/// The largest legal Ack Ratio: half the window, rounded up; 2 always is (4341-6.1.2-1).
fn largest(cwnd: u32) -> u32 {
    cwnd.div_ceil(2).max(2)
}

#[cfg(test)]
mod tests;

//! Slow start of a window sender (RFC 4341 §5).

use super::law::Window;

/// Grows a window by one packet per two acknowledged ones until its threshold is reached.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct SlowStart {
    /// Acknowledged packets that have not made the window grow yet: 0 or 1.
    acked: u32,
}

impl SlowStart {
    /// Takes `acked` newly acknowledged unmarked packets of one acknowledgement. Returns how many
    /// of them slow start did not use, because it is over.
    pub(crate) fn grow(&mut self, window: &mut Window, acked: u32, ack_ratio: u32) -> u32 {
        // 4341-5-8: an acknowledgement adds at most half its Ack Ratio, or a peer that acknowledges
        // late would make the sender burst. Rounded up, or Ack Ratio 1 would never grow.
        let mut allowance = ack_ratio.max(1).div_ceil(2);
        let mut left = acked;
        while left > 0 && window.is_slow_start() {
            left -= 1;
            self.acked += 1;
            if self.acked == 2 {
                self.acked = 0;
                if allowance > 0 {
                    allowance -= 1;
                    window.cwnd += 1.0;
                }
            }
        }
        left
    }

    /// Forgets what was counted: the window shrank.
    pub(crate) fn reset(&mut self) {
        self.acked = 0;
    }
}

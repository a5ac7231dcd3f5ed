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

#[cfg(test)]
mod tests {
    use super::*;

    fn window(cwnd: u32, ssthresh: f64) -> Window {
        Window {
            ssthresh,
            ..Window::new(cwnd)
        }
    }

    #[test]
    fn two_acknowledged_packets_add_one() {
        // 4341-5-8
        let mut w = window(3, f64::INFINITY);
        let mut s = SlowStart::default();
        for (acked, cwnd) in [(1, 3), (1, 4), (3, 5), (1, 6)] {
            assert_eq!(s.grow(&mut w, acked, 4), 0);
            assert_eq!(w.packets(), cwnd);
        }
        s.grow(&mut w, 1, 2);
        s.reset();
        s.grow(&mut w, 1, 2);
        assert_eq!(w.packets(), 6);
    }

    #[test]
    fn an_acknowledgement_adds_half_the_ack_ratio_at_most() {
        // 4341-5-8
        for (ack_ratio, grown) in [(0, 1), (1, 1), (2, 1), (3, 2), (4, 2), (5, 3), (64, 32)] {
            let mut w = window(100, f64::INFINITY);
            SlowStart::default().grow(&mut w, 100, ack_ratio);
            assert_eq!(w.packets(), 100 + grown, "{ack_ratio}");
        }
    }

    #[test]
    fn what_is_acknowledged_beyond_the_threshold_is_left_for_the_law() {
        let mut w = window(8, 10.0);
        assert_eq!(SlowStart::default().grow(&mut w, 10, 20), 6);
        assert_eq!(w.packets(), 10);
        assert_eq!(SlowStart::default().grow(&mut w, 10, 20), 10);
    }
}

//! Reno in whole packets, as CCID 2 has it (RFC 4341 §5).

use super::{Ack, Congestion, Law, Window};
use crate::time::Instant;

/// One packet more per window acknowledged without loss; half the window per congestion event.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Reno {
    /// Acknowledged packets that have not made the window grow yet.
    acked: u32,
}

impl Law for Reno {
    fn name(&self) -> &'static str {
        "reno"
    }

    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        // 4341-5-8: only a window without any loss or mark makes it grow.
        if !ack.is_clean {
            self.acked = 0;
            return;
        }
        self.acked += ack.growth;
        while self.acked >= window.packets() {
            self.acked -= window.packets();
            window.cwnd += 1.0;
        }
    }

    fn on_congestion(&mut self, window: &mut Window, _event: &Congestion) {
        // 4341-5-7
        window.cwnd = f64::from((window.packets() / 2).max(1));
        window.ssthresh = window.cwnd.max(2.0);
        self.acked = 0;
    }

    fn on_timeout(&mut self, window: &mut Window, _now: Instant) {
        // 4341-5-7
        window.ssthresh = f64::from((window.packets() / 2).max(2));
        window.cwnd = 1.0;
        self.acked = 0;
    }

    fn inner(&self, out: &mut Vec<(&'static str, f64)>) {
        out.push(("acked_towards_growth", f64::from(self.acked)));
    }
}

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::fixtures::START;
    use crate::cc::law::Cause;
    use crate::cc::slow_start::SlowStart;

    fn ack(growth: u32) -> Ack {
        Ack {
            now: START,
            acked: growth,
            growth,
            is_clean: true,
            rtt: None,
            delivered_rate: None,
            is_app_limited: false,
            pipe: 0,
            round: 0,
        }
    }

    fn congestion() -> Congestion {
        Congestion {
            now: START,
            cause: Cause::Loss,
            packets: 1,
            pipe: 0,
        }
    }

    #[test]
    fn acknowledgements_make_the_window_grow_as_pinned() {
        // 4341-5-8, congestion-control §3
        let unlimited = f64::INFINITY;
        for (cwnd, ssthresh, ack_ratio, acks, acked, after, left) in [
            (3, unlimited, 2, 10, 2, 13, 0),
            (3, unlimited, 2, 100, 2, 103, 0),
            (3, unlimited, 4, 10, 4, 23, 0),
            (10, unlimited, 2, 1, 10, 11, 0),
            (10, unlimited, 8, 1, 8, 14, 0),
            (10, 10.0, 2, 5, 2, 11, 0),
            (10, 10.0, 2, 50, 2, 17, 9),
            (10, 10.0, 2, 500, 2, 46, 10),
            (100, 100.0, 2, 500, 2, 109, 64),
            (8, 12.0, 2, 20, 2, 14, 7),
        ] {
            let mut window = Window {
                ssthresh,
                ..Window::new(cwnd)
            };
            let mut slow_start = SlowStart::default();
            let mut reno = Reno::default();
            for _ in 0..acks {
                let growth = slow_start.grow(&mut window, acked, ack_ratio);
                reno.on_ack(&mut window, &ack(growth));
            }
            assert_eq!(window.packets(), after, "{cwnd} {ssthresh}");
            assert_eq!(reno.acked, left, "{cwnd} {ssthresh}");
            // Slow start has nothing left either: one more packet does not add one.
            assert_eq!(slow_start, SlowStart::default());
        }
    }

    #[test]
    fn events_and_timeouts_shrink_the_window_as_pinned() {
        // 4341-5-7, congestion-control §3
        for (cwnd, event, event_ssthresh, timeout_ssthresh) in [
            (1, 1, 2.0, 2.0),
            (2, 1, 2.0, 2.0),
            (3, 1, 2.0, 2.0),
            (7, 3, 3.0, 3.0),
            (10, 5, 5.0, 5.0),
            (101, 50, 50.0, 50.0),
            (8333, 4166, 4166.0, 4166.0),
        ] {
            let mut reno = Reno { acked: 3 };
            let mut window = Window::new(cwnd);
            reno.on_congestion(&mut window, &congestion());
            let expected = Window {
                cwnd: f64::from(event),
                ssthresh: event_ssthresh,
            };
            assert_eq!(window, expected);
            assert_eq!(reno.acked, 0);

            let mut reno = Reno { acked: 3 };
            let mut window = Window::new(cwnd);
            reno.on_timeout(&mut window, START);
            let expected = Window {
                cwnd: 1.0,
                ssthresh: timeout_ssthresh,
            };
            assert_eq!(window, expected);
            assert_eq!(reno.acked, 0);
        }
    }

    #[test]
    fn a_window_with_a_loss_does_not_count() {
        // 4341-5-8: only windows without loss or mark make it grow.
        let mut reno = Reno::default();
        let mut window = Window {
            ssthresh: 10.0,
            ..Window::new(10)
        };
        reno.on_ack(&mut window, &ack(9));
        reno.on_ack(
            &mut window,
            &Ack {
                is_clean: false,
                ..ack(0)
            },
        );
        reno.on_ack(&mut window, &ack(9));
        assert_eq!(window.packets(), 10);
        reno.on_ack(&mut window, &ack(1));
        assert_eq!(window.packets(), 11);
    }

    #[test]
    fn it_tells_its_name_and_what_it_has_counted() {
        let mut inner = Vec::new();
        let reno = Reno { acked: 7 };
        reno.inner(&mut inner);
        assert_eq!(inner, [("acked_towards_growth", 7.0)]);
        assert_eq!(reno.name(), "reno");
    }

    #[test]
    fn buffer_drops_take_one_packet_each_but_not_the_last() {
        // 4341-5.2-1, 4340-11.7.2-3
        for (cwnd, drops, after) in [(10, 3, 7.0), (4, 3, 1.0), (3, 3, 1.0), (3, 9, 1.0)] {
            let mut window = Window::new(cwnd);
            Reno::default().on_host_drop(&mut window, drops);
            let expected = Window {
                cwnd: after,
                ssthresh: after,
            };
            assert_eq!(window, expected);
        }
    }
}

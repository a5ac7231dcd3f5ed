//! Reno: in whole packets as in CCID 2 (RFC 4341 §5), or in fractions (RFC 5681).

use super::{Ack, Cause, Congestion, Law, LawSettings, SettingError, Window};
use crate::cc::slow_start::Pace;
use crate::time::Instant;

/// Settings of Reno. The default is CCID 2's (4341-5-8).
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Config {
    /// Each acknowledged packet adds 1/w, and an event leaves at least 2 packets. Otherwise the window grows in
    /// whole packets as in RFC 4341.
    pub fractional: bool,
    /// The number of Reno flows that the law imitates together (MulTCP). More than 1 implies `fractional`.
    pub flows: u32,
    /// The share of the window that remains after an ECN mark: 0.8 is RFC 8511's alternative backoff.
    pub ecn_beta: f64,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            fractional: false,
            flows: 1,
            ecn_beta: 0.5,
        }
    }
}

impl LawSettings for Config {
    fn name(&self) -> &'static str {
        "reno"
    }

    fn build(&self) -> Box<dyn Law> {
        Box::new(Reno::new(*self))
    }

    fn check(&self) -> Result<(), SettingError> {
        SettingError::unless_within("flows", self.flows.into(), 1.0..=1024.0)?;
        SettingError::unless_within("ecn_beta", self.ecn_beta, 0.5..=0.95)
    }

    fn pace(&self) -> Pace {
        Pace::Ccid2
    }
}

/// The share of the window that remains after a loss.
const BETA: f64 = 0.5;

/// Reno adds one packet per window acknowledged without loss, and halves the window per congestion event.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Reno {
    config: Config,
    /// Acknowledged packets that have not made the window grow yet.
    acked: u32,
}

impl Reno {
    /// Reno with these options.
    pub const fn new(config: Config) -> Self {
        Self { config, acked: 0 }
    }

    /// Reno that grows by fractions of a packet. Other laws use it at small windows.
    pub const fn fractional() -> Self {
        Self::new(Config {
            fractional: true,
            flows: 1,
            ecn_beta: 0.5,
        })
    }

    const fn is_fractional(&self) -> bool {
        self.config.fractional || self.config.flows > 1
    }

    /// Returns the window after an event. Only one of several flows reduces its share.
    fn reduced(&self, window: &Window, cause: Cause) -> f64 {
        let beta = match cause {
            Cause::Loss => BETA,
            Cause::Mark => self.config.ecn_beta,
        };
        let keep = 1.0 - (1.0 - beta) / f64::from(self.config.flows);
        if self.is_fractional() {
            (keep * window.cwnd).max(2.0)
        } else {
            (keep * f64::from(window.packets())).floor()
        }
    }
}

impl Law for Reno {
    fn name(&self) -> &'static str {
        "reno"
    }

    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        if self.is_fractional() {
            for _ in 0..ack.growth {
                window.cwnd += f64::from(self.config.flows) / window.cwnd;
            }
            return;
        }
        // 4341-5-8: the window grows only after a window without loss or mark.
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

    fn on_congestion(&mut self, window: &mut Window, event: &Congestion) {
        // 4341-5-7: a congestion event halves the window.
        window.reduce_to(self.reduced(window, event.cause));
        self.acked = 0;
    }

    fn on_timeout(&mut self, window: &mut Window, _now: Instant) {
        // 4341-5-7: a timeout leaves one packet, and half the window as threshold.
        window.collapse(self.reduced(window, Cause::Loss));
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
    use crate::cc::law::bench::{
        self, acked, assert_near, avoiding, check_sawtooth, from_threshold, loss, table,
    };
    use crate::cc::slow_start::{self, SlowStart};

    fn slow_start() -> SlowStart {
        SlowStart::new(slow_start::Config::default(), true)
    }

    #[test]
    fn acknowledgements_make_the_window_grow_as_pinned() {
        // 4341-5-8: slow start adds one per two packets, congestion avoidance one per window.
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
            let mut start = slow_start();
            let mut reno = Reno::default();
            for _ in 0..acks {
                let growth = start.grow(&mut window, acked, ack_ratio);
                reno.on_ack(&mut window, &bench::acked(growth));
            }
            assert_eq!(window.packets(), after, "{cwnd} {ssthresh}");
            assert_eq!(reno.acked, left, "{cwnd} {ssthresh}");
            // Slow start keeps no remainder: one more packet does not add one.
            assert_eq!(start, slow_start());
        }
    }

    #[test]
    fn events_and_timeouts_shrink_the_window_as_pinned() {
        // 4341-5-7: an event halves the window, a timeout leaves one packet.
        for (cwnd, event, event_ssthresh, timeout_ssthresh) in [
            (1, 1, 2.0, 2.0),
            (2, 1, 2.0, 2.0),
            (3, 1, 2.0, 2.0),
            (7, 3, 3.0, 3.0),
            (10, 5, 5.0, 5.0),
            (101, 50, 50.0, 50.0),
            (8333, 4166, 4166.0, 4166.0),
        ] {
            let mut reno = Reno {
                acked: 3,
                ..Reno::default()
            };
            let mut window = Window::new(cwnd);
            reno.on_congestion(&mut window, &loss(9));
            let expected = Window {
                cwnd: f64::from(event),
                ssthresh: event_ssthresh,
            };
            assert_eq!(window, expected);
            assert_eq!(reno.acked, 0);

            let mut reno = Reno {
                acked: 3,
                ..Reno::default()
            };
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
        // 4341-5-8: the window grows only after windows without loss or mark.
        let mut reno = Reno::default();
        let mut window = Window {
            ssthresh: 10.0,
            ..Window::new(10)
        };
        reno.on_ack(&mut window, &acked(9));
        reno.on_ack(
            &mut window,
            &Ack {
                is_clean: false,
                ..acked(0)
            },
        );
        reno.on_ack(&mut window, &acked(9));
        assert_eq!(window.packets(), 10);
        reno.on_ack(&mut window, &acked(1));
        assert_eq!(window.packets(), 11);
    }

    #[test]
    fn law_reports_its_name_and_its_count() {
        let mut inner = Vec::new();
        let reno = Reno {
            acked: 7,
            ..Reno::default()
        };
        reno.inner(&mut inner);
        assert_eq!(inner, [("acked_towards_growth", 7.0)]);
        assert_eq!(reno.name(), "reno");
    }

    #[test]
    fn buffer_drops_take_one_packet_each_but_not_the_last() {
        // 4341-5.2-1, 4340-11.7.2-3: each packet dropped for lack of buffers takes one from the window.
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

    #[test]
    fn fractions_add_one_packet_per_window() {
        // Per packet: w += 1/w. Per event: w = max(2, w/2).
        let mut reno = Reno::fractional();
        let mut w = avoiding(10.0);
        reno.on_ack(&mut w, &acked(2));
        assert_near(w.cwnd, 10.1 + 1.0 / 10.1);
        reno.on_congestion(&mut w, &loss(10));
        assert_near(w.cwnd, 5.05 + 0.5 / 10.1);
        assert_near(w.ssthresh, w.cwnd);
        let mut w = avoiding(3.0);
        reno.on_congestion(&mut w, &loss(10));
        assert_near(w.cwnd, 2.0);
    }

    #[test]
    fn several_flows_lose_half_of_one_share_as_pinned() {
        // N flows: growth a = N per window, decrease b = 1/(2N).
        for [flows, decrease] in table(
            "
             1  0.5
             2  0.25
             4  0.125
             8  0.0625
            16  0.03125
            32  0.015625
            ",
        ) {
            let mut law = Reno::new(Config {
                fractional: true,
                flows: bench::whole(flows),
                ..Config::default()
            });
            let mut w = avoiding(1000.0);
            law.on_congestion(&mut w, &loss(1000));
            assert_near(1.0 - w.cwnd / 1000.0, decrease);
            let mut w = avoiding(1000.0);
            law.on_ack(&mut w, &acked(1));
            assert_near(w.cwnd - 1000.0, flows / 1000.0);
        }
    }

    #[test]
    fn several_flows_imply_fractions_and_one_does_not() {
        for (flows, grown, reduced) in [(1, 101.0, 50.0), (2, 101.02, 75.75)] {
            let mut law = Reno::new(Config {
                flows,
                ..Config::default()
            });
            let mut w = avoiding(101.0);
            law.on_ack(&mut w, &acked(1));
            assert!((w.cwnd - grown).abs() < 2e-4, "{flows}: {}", w.cwnd);
            let mut w = avoiding(101.0);
            law.on_congestion(&mut w, &loss(101));
            assert_near(w.cwnd, reduced);
        }
    }

    #[test]
    fn a_mark_may_take_less_than_a_loss() {
        // RFC 8511 §3: alternative backoff.
        let mut law = Reno::new(Config {
            ecn_beta: 0.8,
            ..Config::default()
        });
        for (cause, after) in [(Cause::Loss, 50.0), (Cause::Mark, 80.0)] {
            let mut w = avoiding(101.0);
            let event = Congestion { cause, ..loss(101) };
            law.on_congestion(&mut w, &event);
            assert_near(w.cwnd, after);
        }
    }

    #[test]
    fn the_response_to_loss_is_as_pinned() {
        // With one loss at window w in each 3/8·w² packets, the mean window is sqrt(1.5/p).
        for [p, expected] in table("1e-2 12.2474 \n 1e-3 38.7298 \n 1e-4 122.474") {
            let mut reno = Reno::fractional();
            let mut w = avoiding(expected);
            let (mut sum, mut windows) = (0.0, 0.0);
            for _ in 0..200 {
                let mut left = 1.0 / p;
                while left >= 1.0 {
                    reno.on_ack(&mut w, &acked(1));
                    sum += 1.0;
                    windows += 1.0 / w.cwnd;
                    left -= 1.0;
                }
                reno.on_congestion(&mut w, &loss(1));
            }
            // Packets per round trip. The fluid and the discrete result differ by a few percent.
            let mean = sum / windows;
            assert!((mean / expected - 1.0).abs() < 0.03, "{p}: {mean}");
        }
    }

    #[test]
    fn sawtooth_is_as_stored() {
        check_sawtooth(
            from_threshold(Config::default()),
            include_str!("sawtooth/reno.txt"),
        );
    }
}

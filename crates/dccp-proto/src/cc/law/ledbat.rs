//! LEDBAT (RFC 6817) uses the bandwidth that other flows do not use: it keeps the queueing delay below a target.

use super::delay::{Extremes, Signal};
use super::{Ack, Congestion, Law, LawSettings, SettingError, Wants, Window};
use crate::time::Instant;
use core::time::Duration;

/// Settings of LEDBAT.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Config {
    /// The queueing delay to keep (TARGET): at most 100 ms.
    pub target_ms: f64,
    /// Packets per round trip when the queue is empty (GAIN): at most 1.
    pub gain: f64,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            target_ms: 100.0,
            gain: 1.0,
        }
    }
}

impl LawSettings for Config {
    fn name(&self) -> &'static str {
        "ledbat"
    }

    fn build(&self) -> Box<dyn Law> {
        Box::new(Ledbat::new(*self))
    }

    fn check(&self) -> Result<(), SettingError> {
        SettingError::unless_within("target_ms", self.target_ms, 1.0..=100.0)?;
        SettingError::unless_within("gain", self.gain, 0.01..=1.0)
    }
}

/// `INIT_CWND` and `MIN_CWND`.
const CWND_MIN: f64 = 2.0;
/// `ALLOWED_INCREASE`: the window may exceed the packets in flight by this many.
const ALLOWED_INCREASE: f64 = 1.0;
/// `BASE_HISTORY` minima, one a minute.
const BASE_HISTORY: usize = 10;
const BASE_SPAN: Duration = Duration::from_mins(1);
/// `CURRENT_FILTER`: the current delay is the least of this many samples.
const CURRENT_FILTER: usize = 4;

/// LEDBAT.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Ledbat {
    config: Config,
    signal: Signal,
    base: Extremes<BASE_HISTORY>,
    /// The last samples in seconds, the newest first.
    current: [f64; CURRENT_FILTER],
}

impl Ledbat {
    /// LEDBAT with these options.
    pub fn new(config: Config) -> Self {
        Self {
            config,
            signal: Signal::default(),
            base: Extremes::new(BASE_SPAN),
            current: [f64::INFINITY; CURRENT_FILTER],
        }
    }

    fn sample(&mut self, ack: &Ack) {
        let Some(sample) = self.signal.sample(ack) else {
            return;
        };
        if sample.is_other_kind {
            self.base.clear();
            self.current = [f64::INFINITY; CURRENT_FILTER];
        }
        self.base.add(ack.now, sample.delay);
        self.current.rotate_right(1);
        self.current[0] = sample.delay;
    }

    /// Returns the queueing delay in seconds; `None` before the first sample.
    fn queueing(&self) -> Option<f64> {
        let current = self.current.iter().copied().fold(f64::INFINITY, f64::min);
        current.is_finite().then(|| current - self.base.min())
    }
}

impl Law for Ledbat {
    fn name(&self) -> &'static str {
        "ledbat"
    }

    fn wants(&self) -> Wants {
        Wants {
            one_way: true,
            ..Wants::default()
        }
    }

    fn on_start(&mut self, window: &mut Window) {
        // RFC 6817 §2.4.2 has no slow start.
        *window = Window {
            cwnd: CWND_MIN,
            ssthresh: CWND_MIN,
        };
    }

    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        self.sample(ack);
        let Some(queueing) = self.queueing() else {
            return;
        };
        let target = self.config.target_ms / 1000.0;
        let off_target = (target - queueing) / target;
        let packets = if off_target > 0.0 {
            ack.growth
        } else {
            ack.acked
        };
        let w = window.cwnd;
        let moved = w + self.config.gain * off_target * f64::from(packets) / w;
        // The flight bounds growth only. It is briefly below the window, because packets are paced and
        // acknowledged in groups. A window that is cut at that time never fills the path.
        let allowed = f64::from(ack.flight) + ALLOWED_INCREASE;
        window.cwnd = moved.min(allowed.max(w)).max(CWND_MIN);
        // RFC 6817 has no slow start, also not after a loss or an idle time.
        window.leave_slow_start();
    }

    fn on_congestion(&mut self, window: &mut Window, _event: &Congestion) {
        let halved = (window.cwnd / 2.0).max(CWND_MIN);
        window.reduce_to(window.cwnd.min(halved));
    }

    fn on_timeout(&mut self, window: &mut Window, _now: Instant) {
        window.cwnd = 1.0;
        window.ssthresh = 1.0;
    }

    fn inner(&self, out: &mut Vec<(&'static str, f64)>) {
        if let Some(queueing) = self.queueing() {
            out.push(("base_delay_s", self.base.min()));
            out.push(("queueing_delay_s", queueing));
        }
        self.signal.inner(out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::fixtures::{START, at};
    use crate::cc::law::bench::{
        acked, assert_near, avoiding, check_sawtooth, inner, law, loss, table, whole,
    };

    /// An acknowledgement of `n` packets with this one-way delay, while `flight` were in flight.
    fn ack(n: u32, delay_ms: f64, flight: u32) -> Ack {
        Ack {
            one_way: Some(Duration::from_secs_f64(delay_ms / 1000.0)),
            flight,
            ..acked(n)
        }
    }

    #[test]
    fn windows_move_as_pinned() {
        for [cwnd, n, queueing, flight, after] in table(
            "
              2  1    0    2      2.5
             10  1    0   10     10.1
             10  1   50   10    10.05
             10  1  100   10       10
             10  1  200   10      9.9
            100  2   25  100  100.015
            100  1  400  100    99.97
             10  1    0    4       10
             10  1    0    9       10
              2  1  300    2        2
            ",
        ) {
            let mut ledbat = law(Config::default());
            // The base delay, and three samples of the filter.
            let mut before = avoiding(cwnd);
            ledbat.on_ack(&mut before, &ack(0, 500.0, 1000));
            for _ in 0..3 {
                ledbat.on_ack(&mut before, &ack(0, 500.0 + queueing, 1000));
            }
            let mut w = avoiding(cwnd);
            ledbat.on_ack(&mut w, &ack(whole(n), 500.0 + queueing, whole(flight)));
            assert_near(w.cwnd, after);
            assert!((inner(&*ledbat, "queueing_delay_s") - queueing / 1000.0).abs() < 1e-8);
            assert_near(inner(&*ledbat, "base_delay_s"), 0.5);
            assert_near(inner(&*ledbat, "delay_is_one_way"), 1.0);
        }
    }

    #[test]
    fn ledbat_starts_with_two_packets_and_without_slow_start() {
        let mut w = Window::new(4);
        law(Config::default()).on_start(&mut w);
        assert_near(w.cwnd, 2.0);
        assert!(!w.is_slow_start());
    }

    #[test]
    fn unused_window_shrinks_but_does_not_grow() {
        for (queueing, after) in [(0.0, 100.0), (200.0, 99.99)] {
            let mut ledbat = law(Config::default());
            let mut w = avoiding(100.0);
            let idle = |delay| Ack {
                growth: 0,
                ..ack(1, delay, 200)
            };
            ledbat.on_ack(&mut w, &idle(10.0));
            for _ in 0..3 {
                ledbat.on_ack(
                    &mut w,
                    &Ack {
                        acked: 0,
                        ..idle(10.0 + queueing)
                    },
                );
            }
            w.cwnd = 100.0;
            ledbat.on_ack(&mut w, &idle(10.0 + queueing));
            assert_near(w.cwnd, after);
        }
    }

    #[test]
    fn a_window_that_shrinks_after_a_loss_stays_out_of_slow_start() {
        let mut ledbat = law(Config::default());
        let mut w = avoiding(100.0);
        ledbat.on_congestion(&mut w, &loss(1));
        ledbat.on_ack(&mut w, &ack(0, 100.0, 50));
        for _ in 0..10 {
            ledbat.on_ack(&mut w, &ack(10, 400.0, 50));
        }
        assert!(w.cwnd < 50.0 && !w.is_slow_start(), "{w:?}");
    }

    #[test]
    fn losses_halve_and_a_timeout_leaves_one_packet() {
        for (cwnd, after) in [(10.0, 5.0), (3.0, 2.0), (1.0, 1.0)] {
            let mut w = avoiding(cwnd);
            law(Config::default()).on_congestion(&mut w, &loss(1));
            assert_near(w.cwnd, after);
        }
        let mut w = avoiding(10.0);
        law(Config::default()).on_timeout(&mut w, START);
        assert_near(w.cwnd, 1.0);
        assert!(!w.is_slow_start());
    }

    #[test]
    fn the_base_delay_is_that_of_ten_minutes() {
        let mut ledbat = law(Config::default());
        let mut w = avoiding(10.0);
        for minute in 0..=10 {
            let delay = if minute == 0 { 40.0 } else { 50.0 };
            let ack = Ack {
                now: at(60_000 * minute),
                ..ack(1, delay, 10)
            };
            ledbat.on_ack(&mut w, &ack);
            let base = if minute < 10 { 0.040 } else { 0.050 };
            assert_near(inner(&*ledbat, "base_delay_s"), base);
        }
    }

    #[test]
    fn target_and_gain_can_be_lower() {
        let mut ledbat = law(Config {
            target_ms: 25.0,
            gain: 0.5,
        });
        let mut w = avoiding(10.0);
        ledbat.on_ack(&mut w, &ack(0, 100.0, 20));
        for _ in 0..3 {
            ledbat.on_ack(&mut w, &ack(0, 105.0, 20));
        }
        ledbat.on_ack(&mut w, &ack(1, 105.0, 20));
        assert_near(w.cwnd, 10.0 + 0.5 * 0.8 / 10.0);
        let law = Config {
            target_ms: 101.0,
            ..Config::default()
        };
        assert!(law.check().is_err());
    }

    #[test]
    fn sawtooth_is_as_stored() {
        let law = Config {
            target_ms: 25.0,
            ..Config::default()
        };
        check_sawtooth(law.into(), include_str!("sawtooth/ledbat.txt"));
    }
}

//! Westwood+ (Mascolo et al., 2001–2004). After a loss, the window is the measured bandwidth times the
//! shortest round trip. Growth is that of Reno.

use super::reno::Reno;
use super::{Ack, Congestion, Law, LawSettings, Window};
use crate::time::Instant;
use core::time::Duration;

/// Settings of Westwood+ (none).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Config;

impl LawSettings for Config {
    fn name(&self) -> &'static str {
        "westwood"
    }

    fn build(&self) -> Box<dyn Law> {
        Box::new(Westwood::default())
    }
}

/// A sample covers a round trip, and at least this time.
const SAMPLE_MIN: Duration = Duration::from_millis(50);

/// Westwood+.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Westwood {
    reno: Reno,
    bandwidth: Option<Bandwidth>,
    rtt_min: Option<Duration>,
    since: Option<Instant>,
    packets: u32,
}

/// A bandwidth in packets per second.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Bandwidth {
    estimate: f64,
    /// The first of the two averages.
    before: f64,
}

impl Bandwidth {
    const fn first(sample: f64) -> Self {
        Self {
            estimate: sample,
            before: sample,
        }
    }

    /// Applies two averages with gain 1/8 in a row, as the Linux kernel does.
    fn next(self, sample: f64) -> Self {
        let average = |old: f64, new: f64| (7.0 * old + new) / 8.0;
        let before = average(self.before, sample);
        Self {
            estimate: average(self.estimate, before),
            before,
        }
    }
}

impl Default for Westwood {
    fn default() -> Self {
        Self {
            reno: Reno::fractional(),
            bandwidth: None,
            rtt_min: None,
            since: None,
            packets: 0,
        }
    }
}

impl Westwood {
    fn sample(&mut self, ack: &Ack) {
        self.packets += ack.acked;
        let since = *self.since.get_or_insert(ack.now);
        let time = ack.now - since;
        if time < SAMPLE_MIN.max(ack.smoothed_rtt.unwrap_or_default()) {
            return;
        }
        let sample = f64::from(self.packets) / time.as_secs_f64();
        self.bandwidth = Some(match self.bandwidth {
            None => Bandwidth::first(sample),
            Some(bandwidth) => bandwidth.next(sample),
        });
        self.since = Some(ack.now);
        self.packets = 0;
    }

    /// Returns the window that fills the path without a queue. Before the first sample, half of `window`.
    fn product(&self, window: &Window) -> f64 {
        match (self.bandwidth, self.rtt_min) {
            (Some(bandwidth), Some(rtt)) => bandwidth.estimate * rtt.as_secs_f64(),
            _ => window.cwnd / 2.0,
        }
    }
}

impl Law for Westwood {
    fn name(&self) -> &'static str {
        "westwood"
    }

    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        if let Some(rtt) = ack.rtt {
            self.rtt_min = Some(self.rtt_min.map_or(rtt, |min| min.min(rtt)));
        }
        self.sample(ack);
        self.reno.on_ack(window, ack);
    }

    fn on_congestion(&mut self, window: &mut Window, _event: &Congestion) {
        window.ssthresh = self.product(window).max(2.0);
        window.cwnd = window.cwnd.min(window.ssthresh);
    }

    fn on_timeout(&mut self, window: &mut Window, _now: Instant) {
        window.collapse(self.product(window));
    }

    fn inner(&self, out: &mut Vec<(&'static str, f64)>) {
        if let Some(bandwidth) = self.bandwidth {
            out.push(("bandwidth", bandwidth.estimate));
        }
        if let Some(rtt) = self.rtt_min {
            out.push(("rtt_min_s", rtt.as_secs_f64()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::fixtures::{START, at, ms};
    use crate::cc::law::bench::{
        acked, assert_near, avoiding, check_sawtooth, from_threshold, inner, law, loss, table,
        whole,
    };

    const RTT_MIN: f64 = 0.07;

    #[test]
    fn two_averages_in_a_row_are_as_pinned() {
        let mut b = Bandwidth::first(500.0);
        for [sample, first, second, ssthresh] in table(
            "
             500      500      500       35
            1000    562.5  507.812  35.5469
            1000  617.188  521.484  36.5039
            1000  665.039  539.429    37.76
             800  681.909  557.239  39.0067
             800  696.671  574.668  40.2267
            ",
        ) {
            if whole(sample) != 500 {
                b = b.next(sample);
            }
            assert_near(b.before, first);
            assert_near(b.estimate, second);
            assert_near(b.estimate * RTT_MIN, ssthresh);
        }
    }

    /// An acknowledgement of `packets`, `after_ms` milliseconds after the start.
    fn ack(after_ms: u64, packets: u32) -> Ack {
        Ack {
            now: at(after_ms),
            rtt: Some(ms(70 + after_ms / 100)),
            smoothed_rtt: Some(ms(80)),
            ..acked(packets)
        }
    }

    #[test]
    fn an_event_leaves_bandwidth_times_the_shortest_round_trip() {
        let mut westwood = law(Config);
        let mut w = avoiding(100.0);
        // 1000 packets per second.
        westwood.on_ack(&mut w, &ack(0, 0));
        for i in 1..=8 {
            westwood.on_ack(&mut w, &ack(10 * i, 10));
        }
        assert_near(inner(&*westwood, "bandwidth"), 1000.0);
        assert_near(inner(&*westwood, "rtt_min_s"), 0.07);
        let grown = w.cwnd;
        assert!(grown > 100.7 && grown < 100.9);
        westwood.on_congestion(&mut w, &loss(100));
        assert_near(w.cwnd, 70.0);
        assert_near(w.ssthresh, 70.0);
        // A smaller window stays.
        let mut w = avoiding(20.0);
        westwood.on_congestion(&mut w, &loss(20));
        assert_near(w.cwnd, 20.0);
        assert_near(w.ssthresh, 70.0);
        westwood.on_timeout(&mut w, START);
        assert_near(w.cwnd, 1.0);
        assert_near(w.ssthresh, 70.0);
    }

    #[test]
    fn a_sample_covers_a_round_trip_and_50_ms() {
        for (srtt, takes_ms) in [(80, 80), (20, 50)] {
            let mut westwood = Westwood::default();
            let mut w = avoiding(100.0);
            for after_ms in 0..takes_ms {
                let ack = Ack {
                    smoothed_rtt: Some(ms(srtt)),
                    ..ack(after_ms, 1)
                };
                westwood.on_ack(&mut w, &ack);
                assert_eq!(westwood.bandwidth, None);
            }
            let ack = Ack {
                smoothed_rtt: Some(ms(srtt)),
                ..ack(takes_ms, 1)
            };
            westwood.on_ack(&mut w, &ack);
            assert!(westwood.bandwidth.is_some());
        }
    }

    #[test]
    fn event_halves_the_window_before_the_first_sample() {
        let mut w = avoiding(100.0);
        law(Config).on_congestion(&mut w, &loss(100));
        assert_near(w.cwnd, 50.0);
    }

    #[test]
    fn sawtooth_is_as_stored() {
        check_sawtooth(
            from_threshold(Config),
            include_str!("sawtooth/westwood.txt"),
        );
    }
}

//! BBR's model of the path: its bandwidth, its delay, and the packets in flight that fill it.

use super::{Ack, Config, Duration, Instant};

/// Cycles of probing with a stored maximum of the bandwidth: this one and the one before.
const CYCLES: usize = 2;
/// The shortest round trip expires after this time.
const MIN_RTT_MEMORY: Duration = Duration::from_secs(10);
/// The shortest recent round trip expires after this time. Then it is measured again.
const PROBE_RTT_INTERVAL: Duration = Duration::from_secs(5);
/// The excess of acknowledgements in bursts is stored for one to two times this many round trips.
const EXTRA_ACKED_ROUNDS: u64 = 5;
/// The least window.
pub(super) const WINDOW_MIN: f64 = 4.0;

/// A shortest round trip in seconds, and the time of its measurement.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Shortest {
    rtt: f64,
    at: Instant,
}

/// The path, in packets and seconds.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Model {
    config: Config,
    /// Packets per second, the newest cycle first.
    max_bw: [f64; CYCLES],
    min_rtt: Shortest,
    probe_rtt_min: Shortest,
    /// The shortest recent round trip has expired.
    pub(super) is_probe_rtt_due: bool,
    /// The most packets in flight, because more were once too many.
    pub(super) inflight_longterm: f64,
    /// The same after losses outside of probing, until the next probing.
    pub(super) inflight_shortterm: f64,
    bw_shortterm: f64,
    /// The highest bandwidth sample of this round trip, and the most packets that it delivered.
    bw_latest: f64,
    inflight_latest: f64,
    /// The most packets that were acknowledged in excess of the bandwidth.
    extra_acked: [f64; 2],
    /// The start of the count, and the packets acknowledged since.
    lump: (Instant, f64),
}

impl Model {
    pub(super) const fn new(config: Config) -> Self {
        const UNKNOWN: Shortest = Shortest {
            rtt: f64::INFINITY,
            at: Instant::ZERO,
        };
        Self {
            config,
            max_bw: [0.0; CYCLES],
            min_rtt: UNKNOWN,
            probe_rtt_min: UNKNOWN,
            is_probe_rtt_due: false,
            inflight_longterm: f64::INFINITY,
            inflight_shortterm: f64::INFINITY,
            bw_shortterm: f64::INFINITY,
            bw_latest: 0.0,
            inflight_latest: 0.0,
            extra_acked: [0.0; 2],
            lump: (Instant::ZERO, 0.0),
        }
    }

    /// Returns the greatest recent bandwidth in packets per second; 0 before the first sample.
    pub(super) fn max_bw(&self) -> f64 {
        self.max_bw.into_iter().fold(0.0, f64::max)
    }

    /// Returns the bandwidth that sets the window and the rate.
    pub(super) fn bw(&self) -> f64 {
        self.max_bw().min(self.bw_shortterm)
    }

    /// Returns the shortest round trip in seconds, infinite before the first sample.
    pub(super) const fn min_rtt(&self) -> f64 {
        self.min_rtt.rtt
    }

    /// Returns the packets in flight that fill the path `gain` times. `None` until bandwidth and delay are known.
    pub(super) fn bdp(&self, gain: f64) -> Option<f64> {
        let is_known = self.min_rtt.rtt.is_finite() && self.bw() > 0.0;
        is_known.then(|| gain * self.bw() * self.min_rtt.rtt)
    }

    /// Returns the same, plus the excess for bursts of acknowledgements.
    pub(super) fn window(&self, gain: f64) -> Option<f64> {
        let lumps = self.extra_acked.into_iter().fold(0.0, f64::max);
        Some((self.bdp(gain)? + lumps).max(WINDOW_MIN))
    }

    /// Returns the most packets in flight that leave room for other flows.
    pub(super) fn inflight_with_headroom(&self) -> f64 {
        ((1.0 - self.config.headroom) * self.inflight_longterm).max(WINDOW_MIN)
    }

    /// Takes the samples of an acknowledgement. `begins_round`: it is the first of a round trip.
    pub(super) fn on_ack(&mut self, ack: &Ack, cwnd: f64, begins_round: bool) {
        self.sample_bw(ack, begins_round);
        self.count_lumps(ack, cwnd, begins_round);
        self.sample_rtt(ack);
    }

    fn sample_bw(&mut self, ack: &Ack, begins_round: bool) {
        let Some(rate) = ack.delivered_rate else {
            return;
        };
        // ratelimited-3-5: a sample is only a lower bound while the application is the limit.
        if !ack.is_app_limited || rate >= self.max_bw() {
            self.max_bw[0] = self.max_bw[0].max(rate);
        }
        if begins_round {
            (self.bw_latest, self.inflight_latest) = (0.0, 0.0);
        }
        let rtt = ack.rtt.or(ack.smoothed_rtt).unwrap_or_default();
        self.bw_latest = self.bw_latest.max(rate);
        self.inflight_latest = self.inflight_latest.max(rate * rtt.as_secs_f64());
    }

    fn count_lumps(&mut self, ack: &Ack, cwnd: f64, begins_round: bool) {
        if begins_round && ack.round.is_multiple_of(EXTRA_ACKED_ROUNDS) {
            self.extra_acked = [0.0, self.extra_acked[0]];
        }
        let (since, acked) = self.lump;
        let expected = self.bw() * (ack.now - since).as_secs_f64();
        let (since, acked, expected) = if acked <= expected {
            (ack.now, 0.0, 0.0)
        } else {
            (since, acked, expected)
        };
        let acked = acked + f64::from(ack.acked + ack.marked);
        self.lump = (since, acked);
        self.extra_acked[0] = self.extra_acked[0].max((acked - expected).min(cwnd));
    }

    fn sample_rtt(&mut self, ack: &Ack) {
        let is_old = |s: &Shortest, memory| ack.now > s.at + memory;
        self.is_probe_rtt_due = is_old(&self.probe_rtt_min, PROBE_RTT_INTERVAL);
        if let Some(rtt) = ack.rtt {
            let rtt = rtt.as_secs_f64();
            if rtt < self.probe_rtt_min.rtt || self.is_probe_rtt_due {
                self.is_probe_rtt_due &= self.probe_rtt_min.rtt.is_finite();
                self.probe_rtt_min = Shortest { rtt, at: ack.now };
            }
        }
        let is_shorter = self.probe_rtt_min.rtt < self.min_rtt.rtt;
        if is_shorter || is_old(&self.min_rtt, MIN_RTT_MEMORY) {
            self.min_rtt = self.probe_rtt_min;
        }
    }

    /// Handles the end of a measurement of the round trip with an empty queue.
    pub(super) const fn on_probe_rtt(&mut self, now: Instant) {
        self.probe_rtt_min.at = now;
    }

    /// Ends a cycle of probing.
    pub(super) fn advance_cycle(&mut self) {
        // A cycle without samples is not a measurement.
        if self.max_bw[0] > 0.0 {
            self.max_bw = [0.0, self.max_bw[0]];
        }
    }

    /// Lowers the short-term bounds after losses or marks in a round trip without probing.
    pub(super) fn lower(&mut self, cwnd: f64) {
        if self.bw_shortterm.is_infinite() {
            self.bw_shortterm = self.max_bw();
        }
        if self.inflight_shortterm.is_infinite() {
            self.inflight_shortterm = cwnd;
        }
        let beta = self.config.beta;
        self.bw_shortterm = self.bw_latest.max(beta * self.bw_shortterm);
        self.inflight_shortterm = self.inflight_latest.max(beta * self.inflight_shortterm);
    }

    /// Removes the bounds that [`lower`](Self::lower) set.
    pub(super) const fn forget_short_term(&mut self) {
        self.bw_shortterm = f64::INFINITY;
        self.inflight_shortterm = f64::INFINITY;
    }

    /// Sets the bound, because losses ended slow start: the packets in flight, at least as many as fill the path.
    pub(super) fn on_lossy_startup(&mut self) {
        let bdp = self.bdp(1.0).unwrap_or_default();
        self.inflight_longterm = bdp.max(self.inflight_latest);
    }

    /// Lowers the bound, because `inflight` packets were too many in a probe.
    pub(super) fn on_too_much(&mut self, inflight: f64, cwnd: f64) {
        let target = self.target(cwnd);
        self.inflight_longterm = inflight.max(self.config.beta * target);
    }

    /// Returns the target for packets in flight: as many as fill the path, but at most the window.
    pub(super) fn target(&self, cwnd: f64) -> f64 {
        self.bdp(1.0).map_or(cwnd, |bdp| bdp.min(cwnd))
    }
}

/// Returns the packets in flight when the share of losses reached `threshold`. Before, `lost` of `inflight`
/// packets were lost. All later packets were lost.
pub(super) fn inflight_at_loss(inflight: f64, lost: f64, threshold: f64) -> f64 {
    inflight + ((threshold * inflight - lost) / (1.0 - threshold)).max(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::fixtures::{at, ms};
    use crate::cc::law::bench::assert_near;

    /// A path with 83333.3 packets per second and 70 ms.
    fn model() -> Model {
        let mut m = Model::new(Config::default());
        m.max_bw = [250_000.0 / 3.0, 0.0];
        m.min_rtt.rtt = 0.07;
        m
    }

    #[test]
    fn the_model_is_as_pinned() {
        let mut m = model();
        assert_near(m.bdp(1.0).unwrap_or_default(), 5833.33);
        assert_near(m.window(2.0).unwrap_or_default(), 11_666.7);
        assert_near(m.bdp(0.5).unwrap_or_default(), 2916.67);
        m.inflight_longterm = 6000.0;
        assert_near(m.inflight_with_headroom(), 5100.0);
        for (latest, bw) in [(50_000.0, 56_000.0), (70_000.0, 70_000.0)] {
            let mut m = model();
            m.bw_shortterm = 80_000.0;
            m.bw_latest = latest;
            m.lower(1000.0);
            assert_near(m.bw_shortterm, bw);
            assert_near(m.inflight_shortterm, 700.0);
        }
        assert_near(inflight_at_loss(1000.0, 15.0, 0.02), 1_005.102_04);
        assert_near(inflight_at_loss(1000.0, 30.0, 0.02), 1000.0);
    }

    #[test]
    fn product_is_none_before_the_first_sample() {
        let mut m = Model::new(Config::default());
        assert_eq!((m.bdp(1.0), m.window(2.0)), (None, None));
        assert_near(m.target(17.0), 17.0);
        m.max_bw[0] = 100.0;
        assert_eq!(m.bdp(1.0), None);
        m.min_rtt.rtt = 0.01;
        assert_near(m.bdp(1.0).unwrap_or_default(), 1.0);
        assert_near(m.window(1.0).unwrap_or_default(), 4.0);
        assert_near(m.target(17.0), 1.0);
    }

    #[test]
    fn the_bandwidth_is_the_greatest_of_two_cycles() {
        let mut m = Model::new(Config::default());
        let sample = |m: &mut Model, rate: f64, is_app_limited| {
            let ack = Ack {
                delivered_rate: Some(rate),
                is_app_limited,
                ..Ack::default()
            };
            m.on_ack(&ack, 10.0, false);
            m.max_bw()
        };
        assert_near(sample(&mut m, 100.0, false), 100.0);
        assert_near(sample(&mut m, 90.0, false), 100.0);
        m.advance_cycle();
        assert_near(sample(&mut m, 50.0, true), 100.0);
        m.advance_cycle();
        assert_near(sample(&mut m, 60.0, false), 100.0);
        m.advance_cycle();
        assert_near(m.max_bw(), 60.0);
        // ratelimited-3-5: a sample limited by the application may raise the maximum, but never lowers it.
        assert_near(sample(&mut m, 70.0, true), 70.0);
    }

    #[test]
    fn shortest_round_trip_is_measured_again_after_5_s_and_expires_after_10() {
        let mut m = Model::new(Config::default());
        let mut hear = |t: u64, rtt_ms: u64| {
            let ack = Ack {
                now: at(t),
                rtt: Some(ms(rtt_ms)),
                ..Ack::default()
            };
            m.on_ack(&ack, 10.0, false);
            (m.min_rtt(), m.is_probe_rtt_due)
        };
        assert_eq!(hear(0, 50), (0.05, false));
        assert_eq!(hear(1000, 40), (0.04, false));
        assert_eq!(hear(6000, 60), (0.04, false));
        assert_eq!(hear(6001, 60), (0.04, true));
        assert_eq!(hear(6002, 55), (0.04, false));
        assert_eq!(hear(11_000, 60), (0.04, false));
        assert_eq!(hear(11_001, 60), (0.055, false));
    }

    #[test]
    fn equal_measurement_does_not_delay_expiry() {
        let mut m = Model::new(Config::default());
        for (t, rtt_ms, least) in [(0, 50, 0.05), (5001, 50, 0.05), (10_002, 60, 0.06)] {
            let ack = Ack {
                now: at(t),
                rtt: Some(ms(rtt_ms)),
                ..Ack::default()
            };
            m.on_ack(&ack, 10.0, false);
            assert_near(m.min_rtt(), least);
        }
    }

    #[test]
    fn equal_round_trip_does_not_delay_the_next_measurement() {
        let mut m = Model::new(Config::default());
        for (t, rtt_ms, is_due) in [(0, 50, false), (4000, 50, false), (5001, 60, true)] {
            let ack = Ack {
                now: at(t),
                rtt: Some(ms(rtt_ms)),
                ..Ack::default()
            };
            m.on_ack(&ack, 10.0, false);
            assert_eq!(m.is_probe_rtt_due, is_due, "{t}");
        }
    }

    #[test]
    fn excess_in_flight_lowers_the_bound_to_beta_of_the_product() {
        for (inflight, cwnd, left) in [
            (100.0, 1000.0, 700.0),
            (900.0, 1000.0, 900.0),
            (100.0, 9000.0, 0.7 * 5833.33),
        ] {
            let mut m = model();
            m.on_too_much(inflight, cwnd);
            assert_near(m.inflight_longterm, left);
        }
    }

    #[test]
    fn bursts_expire_at_the_start_of_every_fifth_round_trip() {
        let mut m = model();
        m.extra_acked = [30.0, 10.0];
        for (round, begins_round, left) in [
            (10, false, [30.0, 10.0]),
            (11, true, [30.0, 10.0]),
            (15, true, [0.0, 30.0]),
            (15, false, [0.0, 30.0]),
        ] {
            let ack = Ack {
                round,
                ..Ack::default()
            };
            m.on_ack(&ack, 100.0, begins_round);
            for (lumps, expected) in m.extra_acked.into_iter().zip(left) {
                assert!((lumps - expected).abs() < 1e-9, "{round}: {lumps}");
            }
        }
    }

    #[test]
    fn bursts_of_acknowledgements_widen_the_window() {
        let mut m = model();
        m.max_bw = [1000.0, 0.0];
        m.min_rtt.at = at(0);
        let mut ack = |t: u64, acked, round| {
            let ack = Ack {
                now: at(t),
                acked,
                round,
                ..Ack::default()
            };
            m.on_ack(&ack, 100.0, true);
            m.window(1.0).unwrap_or_default()
        };
        // 30 at once, then 30 after 30 ms. The bandwidth explains the second 30.
        assert_near(ack(0, 30, 1), 100.0);
        assert_near(ack(20, 30, 2), 110.0);
        assert_near(ack(5000, 1, 5), 110.0);
        assert_near(ack(9000, 1, 10), 71.0);
    }
}

//! H-TCP of the Linux kernel: the published law in whole milliseconds, packets and 128ths of a window, scaled by
//! the shortest round trip.
//!
//! Besides rounding, the kernel differs in these rules. The backoff adapts only above 10 ms of round trip, and not at
//! the first event after a change of the throughput. The longest round trip is not measured in a recovery, and grows
//! by 20 ms at most at a time. The time since an event counts from the end of the recovery. Growth has no floor, and
//! is computed again only when the window has grown by one packet.

use dccp_proto::Instant;
use dccp_proto::cc::law::htcp::Throughput;
use dccp_proto::cc::law::{Ack, Congestion, Law, Window};

/// Time after an event during which growth is that of Reno, in seconds.
const DELTA_L: f64 = 1.0;
/// The least share of the window that remains after an event.
const BETA_MIN: f64 = 0.5;
/// The greatest share that remains, in parts of a window.
const BETA_MAX: f64 = 102.0;
/// Parts that make up a window.
const PARTS: f64 = 128.0;
/// The greatest relative change of a steady throughput.
const RATE_CHANGE: f64 = 0.2;
/// The share of the queueing delay in the longest round trip that is kept after an event.
const FADE: f64 = 0.95;
/// The round trip with scale 1, in seconds, and the bounds of the scale.
const RTT_REF: f64 = 0.1;
const SCALE_MIN: f64 = 0.1;
const SCALE_MAX: f64 = 2.0;
/// The shortest round trip with adaptive backoff, and the largest increase of the longest one, in seconds.
const RTT_MIN: f64 = 0.010;
const RTT_STEP: f64 = 0.020;
/// The unit of time, in seconds.
const TICK: f64 = 0.001;

/// H-TCP of the Linux kernel.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Htcp {
    /// The end of the last recovery, or the first acknowledgement.
    event: Option<Instant>,
    beta: f64,
    rtt_min: f64,
    rtt_max: f64,
    throughput: Throughput,
    /// The throughput before the last event.
    last_rate: Option<f64>,
    /// The last event found the throughput unchanged.
    is_steady: bool,
    /// Acknowledged packets since the window grew, and the growth per round trip since then.
    waited: u32,
    pace: f64,
}

impl Default for Htcp {
    fn default() -> Self {
        Self {
            event: None,
            beta: BETA_MIN,
            rtt_min: f64::INFINITY,
            rtt_max: 0.0,
            throughput: Throughput::default(),
            last_rate: None,
            is_steady: false,
            waited: 0,
            pace: 1.0,
        }
    }
}

/// Returns the whole ticks in a time in seconds.
fn ticks(seconds: f64) -> f64 {
    // The thousandth keeps rounding from removing a tick of a time in whole ticks.
    (seconds / TICK + 0.001).floor()
}

/// Returns a thousandth of `ticks`, in whole ticks.
fn ticks_of_ticks(ticks: f64) -> f64 {
    (ticks * TICK).floor()
}

impl Htcp {
    fn sample(&mut self, ack: &Ack) {
        let Some(rtt) = ack.rtt else { return };
        let rtt = ticks(rtt.as_secs_f64()) * TICK;
        self.rtt_min = self.rtt_min.min(rtt);
        if !ack.is_recovering {
            let limit = if self.rtt_max > 0.0 {
                self.rtt_max + RTT_STEP
            } else {
                f64::INFINITY
            };
            self.rtt_max = self.rtt_max.max(rtt.min(limit));
        }
    }

    /// Returns the growth in packets per round trip, `delta` seconds after the last event.
    fn alpha(&self, delta: f64) -> f64 {
        let late = ticks((delta - DELTA_L).max(0.0));
        let half = (late / 2.0).floor();
        let alpha = 1.0 + ticks_of_ticks(10.0 * late + ticks_of_ticks(half * half));
        let scale = (8.0 * RTT_REF / self.rtt_min).clamp(8.0 / SCALE_MAX, 8.0 / SCALE_MIN);
        let alpha = (8.0 * alpha / scale.floor()).floor().max(1.0);
        2.0 * (1.0 - self.beta) * alpha
    }

    /// Returns the share of the window that remains after an event with the throughput `rate` before it.
    fn beta(&mut self, rate: Option<f64>) -> f64 {
        let has_changed = match (rate, self.last_rate) {
            (Some(now), Some(last)) => (now - last).abs() > RATE_CHANGE * last,
            _ => true,
        };
        if has_changed {
            self.is_steady = false;
            return BETA_MIN;
        }
        let was_steady = core::mem::replace(&mut self.is_steady, true);
        if !was_steady || self.rtt_min <= RTT_MIN || self.rtt_max <= 0.0 {
            return BETA_MIN;
        }
        let beta = (PARTS * ticks(self.rtt_min) / ticks(self.rtt_max)).floor();
        (beta / PARTS).clamp(BETA_MIN, BETA_MAX / PARTS)
    }

    fn begin_epoch(&mut self, now: Instant) {
        let rate = self.throughput.finish();
        self.beta = self.beta(rate);
        self.last_rate = rate;
        let last = self.event.replace(now).unwrap_or(now);
        self.waited = 0;
        self.pace = self.alpha((now - last).as_secs_f64());
        if self.rtt_max > 0.0 {
            let queue = ticks(FADE * (self.rtt_max - self.rtt_min)) * TICK;
            self.rtt_max = self.rtt_min + queue;
        }
    }
}

impl Law for Htcp {
    fn name(&self) -> &'static str {
        "htcp-linux"
    }

    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        if ack.is_recovering {
            self.event = Some(ack.now);
        }
        let event = *self.event.get_or_insert(ack.now);
        let delta = (ack.now - event).as_secs_f64();
        self.sample(ack);
        self.throughput.on_ack(ack.now, ack.acked, self.rtt_min);
        for _ in 0..ack.growth {
            if f64::from(self.waited) * self.pace >= window.cwnd.floor() {
                window.cwnd += 1.0;
                self.waited = 0;
                self.pace = self.alpha(delta);
            } else {
                self.waited += 1;
            }
        }
    }

    fn on_congestion(&mut self, window: &mut Window, event: &Congestion) {
        self.begin_epoch(event.now);
        window.reduce_to((self.beta * window.cwnd).max(2.0));
    }

    fn on_timeout(&mut self, window: &mut Window, now: Instant) {
        window.collapse(self.beta * window.cwnd);
        self.throughput = Throughput::default();
        self.event = Some(now);
    }

    fn inner(&self, out: &mut Vec<(&'static str, f64)>) {
        out.push(("beta", self.beta));
        if self.rtt_max > 0.0 {
            out.push(("rtt_min_s", self.rtt_min));
            out.push(("rtt_max_s", self.rtt_max));
        }
        out.push(("throughput", self.throughput.max()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::time::Duration;
    use dccp_proto::cc::law::testing::{acked, assert_near, at, avoiding, loss};

    #[test]
    fn backoff_adapts_from_the_second_event_and_only_above_10_ms() {
        let mut h = Htcp {
            rtt_min: 0.07,
            rtt_max: 0.1,
            last_rate: Some(100.0),
            ..Htcp::default()
        };
        assert_near(h.beta(Some(100.0)), 0.5);
        // 128 × 70 / 100 = 89.6.
        assert_near(h.beta(Some(100.0)), 89.0 / 128.0);
        h.rtt_max = 0.0;
        assert_near(h.beta(Some(100.0)), 0.5);
        for (rtt_max, beta) in [(0.08, 102.0), (0.087, 102.0), (0.088, 101.0)] {
            h.rtt_max = rtt_max;
            assert_near(h.beta(Some(100.0)), beta / 128.0);
        }
        (h.rtt_min, h.rtt_max) = (0.010, 0.1);
        assert_near(h.beta(Some(100.0)), 0.5);
    }

    #[test]
    fn growth_is_whole_packets_before_and_after_scaling() {
        // 1 + 5 + 0.0625 = 6.06 and 4.2 of it; 1 + 10 × 0.1 + … = 2.002 and 1.4; never none. 800 / 70 = 11 eighths.
        for (delta, rtt_min, scaled) in [
            (0.5, 0.07, 1.0),
            (1.1, 0.07, 1.0),
            (1.5, 0.07, 4.0),
            (3.001, 0.07, 16.0),
            (3.0, 0.01, 2.0),
            (3.0, 0.001, 2.0),
            (3.0, 0.2, 44.0),
            (3.0, 0.3, 44.0),
        ] {
            let mut h = Htcp {
                rtt_min,
                ..Htcp::default()
            };
            assert_near(h.alpha(delta), scaled);
            // Growth has no floor.
            h.beta = BETA_MAX / PARTS;
            assert_near(h.alpha(delta), scaled * 52.0 / 128.0);
        }
    }

    #[test]
    fn growth_is_computed_again_when_the_window_has_grown_or_shrunk() {
        let mut h = Htcp {
            rtt_min: 0.1,
            ..Htcp::default()
        };
        let mut w = avoiding(100.0);
        let after = |seconds: u64| Ack {
            now: at(1000 * seconds),
            ..acked(1)
        };
        h.on_ack(&mut w, &after(0));
        h.on_ack(&mut w, &after(3));
        assert_near(h.pace, 1.0);
        h.waited = 100;
        h.on_ack(&mut w, &after(3));
        assert_near(w.cwnd, 101.0);
        assert_near(h.pace, 22.0);
        let event = Congestion {
            now: at(5000),
            ..loss(101)
        };
        h.on_congestion(&mut w, &event);
        // The throughput since the previous event.
        assert_near(h.pace, 45.0);
    }

    #[test]
    fn round_trips_are_whole_ticks_and_the_longest_is_measured_outside_of_recoveries() {
        let mut h = Htcp::default();
        let mut w = avoiding(100.0);
        for (rtt_us, is_recovering, shortest, longest) in [
            (70_900, false, 0.070, 0.070),
            (80_900, false, 0.070, 0.080),
            (85_000, true, 0.070, 0.080),
            (65_000, true, 0.065, 0.080),
            (85_000, false, 0.065, 0.085),
            (500_000, false, 0.065, 0.105),
        ] {
            let sample = Ack {
                rtt: Some(Duration::from_micros(rtt_us)),
                is_recovering,
                ..acked(1)
            };
            h.on_ack(&mut w, &sample);
            assert_near(h.rtt_min, shortest);
            assert_near(h.rtt_max, longest);
        }
        // 0.95 of 40 ms.
        h.on_congestion(&mut w, &loss(1));
        assert_near(h.rtt_max, 0.103);
    }

    #[test]
    fn a_packet_takes_one_acknowledgement_more_than_the_window() {
        let mut h = Htcp {
            rtt_min: 0.1,
            ..Htcp::default()
        };
        let mut w = avoiding(10.5);
        for (packets, after) in [(10, 10.5), (1, 11.5), (11, 11.5)] {
            h.on_ack(&mut w, &acked(packets));
            assert_near(w.cwnd, after);
        }
        // An event resets the count of acknowledged packets.
        h.on_congestion(&mut w, &loss(11));
        let mut w = avoiding(11.5);
        h.on_ack(&mut w, &acked(11));
        assert_near(w.cwnd, 11.5);
        h.on_ack(&mut w, &acked(1));
        assert_near(w.cwnd, 12.5);
    }
}

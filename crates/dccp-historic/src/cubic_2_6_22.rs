//! CUBIC of Linux 2.6.22 (version 2.1), in whole packets and acknowledgements. It grows at twice the pace of the
//! published function. Before the first event, 26 acknowledged packets add one.

use dccp_proto::Instant;
use dccp_proto::cc::law::{Ack, Congestion, Law, Window};

/// C in packets per second cubed.
const C: f64 = 0.4;
/// The share of the window that remains after an event, and Reno's growth per window with the same mean window.
const BETA: f64 = 0.8;
const ALPHA: f64 = 3.0 * (1.0 - BETA) / (1.0 + BETA);
/// Before the first event and after a timeout, this many acknowledged packets add one.
const FIRST: u32 = 50;
/// While the function is at or below the window, this many windows add one packet.
const FLAT: u32 = 100;
/// Beyond the flat part the window grows by at most this many packets per second.
const INCREMENT: f64 = 160.0;
/// The mean number of packets per acknowledgement moves by a sixteenth of the difference.
const RATIO_SHIFT: u32 = 4;
/// An acknowledgement counts for at most this many packets.
const RATIO_MAX: u32 = 1 << 16;
/// The shortest round trip is not measured for this time after the start of an epoch, in seconds.
const SETTLING: f64 = 1.0;

/// CUBIC of Linux 2.6.22.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Cubic {
    /// The window before the last event, or less with fast convergence; 0: none.
    last_max: u32,
    has_lost: bool,
    /// The mean number of packets per acknowledgement, times 16. It starts at 2 and moves in whole sixteenths, so it
    /// stays near 2 although each packet is acknowledged. The growth is therefore twice the function's.
    per_ack: u32,
    /// The shortest round trip in seconds.
    rtt_min: Option<f64>,
    epoch: Option<Epoch>,
    /// Acknowledged packets since the window grew.
    waited: u32,
}

/// Congestion avoidance since an event.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Epoch {
    start: Instant,
    /// The time that the function takes to its flat part, in seconds, and the window there.
    k: f64,
    origin: u32,
    /// Reno's window, and the acknowledged packets that it has not counted yet.
    reno: u32,
    acks: f64,
}

impl Default for Cubic {
    fn default() -> Self {
        Self {
            last_max: 0,
            has_lost: false,
            per_ack: 2 << RATIO_SHIFT,
            rtt_min: None,
            epoch: None,
            waited: 0,
        }
    }
}

impl Cubic {
    fn epoch(&self, w: u32, now: Instant) -> Epoch {
        self.epoch.unwrap_or_else(|| Epoch {
            start: now,
            k: k(self.last_max.max(w).into(), w.into()),
            origin: self.last_max.max(w),
            reno: w,
            acks: 0.0,
        })
    }

    fn measure(&mut self, ack: &Ack) {
        let is_settled = self
            .epoch
            .is_none_or(|epoch| (ack.now - epoch.start).as_secs_f64() >= SETTLING);
        if let Some(rtt) = ack.rtt.filter(|_| is_settled) {
            let rtt = rtt.as_secs_f64();
            self.rtt_min = Some(self.rtt_min.map_or(rtt, |least| least.min(rtt)));
        }
    }

    /// Returns the acknowledged packets that add one to the window `w`.
    fn packets_per_step(&self, w: u32, now: Instant, epoch: &mut Epoch) -> u32 {
        let rtt = self.rtt_min.unwrap_or_default();
        let t = (now - epoch.start).as_secs_f64() + rtt;
        let x = t - epoch.k;
        let aim = whole(f64::from(epoch.origin) + C * x * x * x);
        let mut count = if aim > w { w / (aim - w) } else { FLAT * w };
        if x >= 0.0 && rtt > 0.0 {
            count = count.max(whole(f64::from(w) / (INCREMENT * rtt)));
        }
        if !self.has_lost {
            count = FIRST;
        }
        count = count.min(reno_step(w, epoch));
        ((count << RATIO_SHIFT) / self.per_ack.max(1)).max(1)
    }

    /// Returns the window after an event.
    fn reduced(&mut self, w: u32) -> f64 {
        let share = if w < self.last_max {
            f64::midpoint(1.0, BETA)
        } else {
            1.0
        };
        self.last_max = whole(share * f64::from(w));
        self.has_lost = true;
        self.epoch = None;
        self.waited = 0;
        (BETA * f64::from(w)).floor()
    }
}

impl Law for Cubic {
    fn name(&self) -> &'static str {
        "cubic-2.6.22"
    }

    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        if ack.acked > 0 && !ack.is_recovering {
            let faded = self.per_ack >> RATIO_SHIFT;
            self.per_ack = self.per_ack + ack.acked.min(RATIO_MAX) - faded;
        }
        self.measure(ack);
        for _ in 0..ack.growth {
            let w = window.packets();
            let mut epoch = self.epoch(w, ack.now);
            if self.waited >= self.packets_per_step(w, ack.now, &mut epoch) {
                window.cwnd += 1.0;
                self.waited = 0;
            } else {
                self.waited += 1;
            }
            self.epoch = Some(epoch);
        }
    }

    fn on_congestion(&mut self, window: &mut Window, _event: &Congestion) {
        window.reduce_to(self.reduced(window.packets()).max(2.0));
    }

    fn on_timeout(&mut self, window: &mut Window, _now: Instant) {
        window.collapse(self.reduced(window.packets()));
        *self = Self::default();
    }

    fn inner(&self, out: &mut Vec<(&'static str, f64)>) {
        out.push(("w_max", f64::from(self.last_max)));
        if let Some(epoch) = self.epoch {
            out.push(("k_s", epoch.k));
            out.push(("w_est", f64::from(epoch.reno)));
        }
    }
}

/// Returns the seconds from `w` to the flat part of the function at `w_max`.
fn k(w_max: f64, w: f64) -> f64 {
    libm::cbrt((w_max - w) / C)
}

/// Returns the acknowledged packets that add one to the window on its way to Reno's.
fn reno_step(w: u32, epoch: &mut Epoch) -> u32 {
    let per_packet = f64::from(w) / ALPHA;
    epoch.acks += 1.0;
    while epoch.acks > per_packet {
        epoch.acks -= per_packet;
        epoch.reno += 1;
    }
    let behind = epoch.reno.saturating_sub(w);
    w.checked_div(behind).unwrap_or(u32::MAX)
}

/// Returns the whole part.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a cast from float saturates, and windows are positive"
)]
const fn whole(x: f64) -> u32 {
    x as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use dccp_proto::cc::law::testing::{START, acked, assert_near, at, avoiding, inner, loss, ms};

    /// Acknowledges one packet `after_ms` milliseconds after the start, with a round trip of 100 ms.
    fn acked_at(after_ms: u64) -> Ack {
        Ack {
            now: at(after_ms),
            rtt: Some(ms(100)),
            ..acked(1)
        }
    }

    /// Returns the number of acknowledgements that add a packet to the window at this time.
    fn step(law: &mut Cubic, window: Window, after_ms: u64) -> u32 {
        let mut grown = window;
        let mut count = 0;
        while grown.cwnd <= window.cwnd {
            law.on_ack(&mut grown, &acked_at(after_ms));
            count += 1;
        }
        assert_near(grown.cwnd, window.cwnd + 1.0);
        count
    }

    #[test]
    fn before_the_first_event_and_after_a_timeout_26_acknowledgements_add_a_packet() {
        // 50 × 16/31, plus one.
        let mut cubic = Cubic::default();
        assert_eq!(step(&mut cubic, avoiding(100.0), 0), 26);
        assert_eq!(step(&mut cubic, avoiding(3000.0), 0), 26);
        let mut w = avoiding(1000.0);
        cubic.on_congestion(&mut w, &loss(1000));
        assert_ne!(step(&mut cubic, w, 100), 26);
        cubic.on_timeout(&mut w, START);
        assert_near(w.ssthresh, 640.0);
        assert_near(w.cwnd, 1.0);
        assert_near(inner(&cubic, "w_max"), 0.0);
        assert_eq!(step(&mut cubic, avoiding(1000.0), 0), 26);
    }

    #[test]
    fn after_an_event_steps_follow_the_function_at_twice_its_pace() {
        let mut cubic = Cubic::default();
        let mut w = avoiding(1000.0);
        cubic.on_congestion(&mut w, &loss(1000));
        assert_near(w.cwnd, 800.0);
        let unmeasured = Ack {
            rtt: None,
            ..acked_at(0)
        };
        cubic.on_ack(&mut w, &unmeasured);
        assert_near(w.cwnd, 800.0);
        assert_near(inner(&cubic, "k_s"), 7.937_005);
        for (after_ms, window, acknowledgements) in [
            // 1000 − 0.4 × 2.837³ = 990.8. 800/190 = 4, × 16/31 = 2, plus one, minus one counted before.
            (5_000, 800.0, 2),
            // 999.7: 990/9 = 110, × 16/31 = 56.
            (7_000, 990.0, 57),
            // Beyond the flat part 1172.2 gives 5. The least is 1000/16 = 62, which gives 32.
            (15_388, 1000.0, 33),
        ] {
            let found = step(&mut cubic, avoiding(window), after_ms);
            assert_eq!(found, acknowledgements, "{after_ms} ms");
        }
    }

    #[test]
    fn an_event_below_the_maximum_sets_it_lower() {
        let mut cubic = Cubic::default();
        for _ in 0..2 {
            cubic.on_congestion(&mut avoiding(1000.0), &loss(1000));
            assert_near(inner(&cubic, "w_max"), 1000.0);
        }
        let mut w = avoiding(900.9);
        cubic.on_congestion(&mut w, &loss(900));
        assert_near(inner(&cubic, "w_max"), 810.0);
        assert_near(w.cwnd, 720.0);
        let mut w = avoiding(2.0);
        cubic.on_congestion(&mut w, &loss(2));
        assert_near(w.cwnd, 2.0);
    }

    #[test]
    fn a_small_window_catches_up_with_reno() {
        // Reno's window gains a packet after three acknowledged windows, then after one packet more.
        let mut cubic = Cubic::default();
        let mut w = avoiding(20.0);
        cubic.on_congestion(&mut w, &loss(20));
        assert_near(w.cwnd, 16.0);
        for _ in 0..48 {
            cubic.on_ack(&mut w, &acked_at(0));
        }
        assert_near(inner(&cubic, "w_est"), 16.0);
        cubic.on_ack(&mut w, &acked_at(0));
        assert_near(inner(&cubic, "w_est"), 17.0);
        // The window is one packet below Reno's: 16 × 16/31.
        assert_near(w.cwnd, 17.0);
    }
}

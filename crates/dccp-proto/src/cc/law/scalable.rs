//! Scalable TCP (T. Kelly, "Scalable TCP: improving performance in highspeed wide area networks",
//! 2003): each acknowledged packet adds 0.01, and an event takes an eighth of the window.

use super::{Ack, Congestion, Law, LawSettings, SettingError, Window};
use crate::time::Instant;

/// Settings of Scalable.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Config {
    /// Kelly's legacy threshold in packets: at and below it growth and decrease are Reno's.
    pub lwnd: f64,
}

impl Default for Config {
    fn default() -> Self {
        Self { lwnd: 16.0 }
    }
}

impl LawSettings for Config {
    fn name(&self) -> &'static str {
        "scalable"
    }

    fn build(&self) -> Box<dyn Law> {
        Box::new(Scalable(*self))
    }

    fn check(&self) -> Result<(), SettingError> {
        SettingError::unless_within("lwnd", self.lwnd, 1.0..=1e6)
    }
}

/// Growth of the window per acknowledged packet.
const A: f64 = 0.01;
/// The share of the window that an event takes.
const B: f64 = 0.125;

/// Scalable TCP.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Scalable(Config);

impl Scalable {
    fn is_reno(self, window: &Window) -> bool {
        window.cwnd <= self.0.lwnd
    }

    fn step(self, window: &Window) -> f64 {
        if self.is_reno(window) {
            1.0 / window.cwnd
        } else {
            A
        }
    }

    fn reduced(self, window: &Window) -> f64 {
        let b = if self.is_reno(window) { 0.5 } else { B };
        window.cwnd - b * window.cwnd
    }
}

impl Law for Scalable {
    fn name(&self) -> &'static str {
        "scalable"
    }

    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        for _ in 0..ack.growth {
            window.cwnd += self.step(window);
        }
    }

    fn on_congestion(&mut self, window: &mut Window, _event: &Congestion) {
        window.reduce_to(self.reduced(window));
    }

    fn on_timeout(&mut self, window: &mut Window, _now: Instant) {
        window.collapse(self.reduced(window));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::fixtures::START;
    use crate::cc::law::bench::{
        acked, assert_near, avoiding, check_sawtooth, from_threshold, loss, table,
    };

    #[test]
    fn growth_and_decrease_are_as_pinned() {
        for [w, gain, after_rtt, after_loss] in table(
            "
                16.1     0.161    16.261   14.0875
                  20       0.2      20.2      17.5
                  50       0.5      50.5     43.75
                 100         1       101      87.5
                1000        10      1010       875
                8333     83.33   8416.33   7291.38
               83333    833.33   84166.3   72916.4
            ",
        ) {
            // Fluid: each of w packets adds as much as the first.
            let mut window = avoiding(w);
            Scalable::default().on_ack(&mut window, &acked(1));
            assert!(((window.cwnd - w) * w - gain).abs() < 1e-5 * w, "{w}");
            assert_near(w + gain, after_rtt);
            let mut window = avoiding(w);
            Scalable::default().on_congestion(&mut window, &loss(1));
            assert_near(window.cwnd, after_loss);
        }
    }

    #[test]
    fn up_to_lwnd_it_is_reno() {
        for (lwnd, w, after_ack, after_loss) in [
            (16.0, 16.0, 16.0625, 8.0),
            (16.0, 16.01, 16.02, 14.00875),
            (38.0, 38.0, 38.0 + 1.0 / 38.0, 19.0),
            (38.0, 38.1, 38.11, 33.3375),
        ] {
            let mut law = Scalable(Config { lwnd });
            let mut window = avoiding(w);
            law.on_ack(&mut window, &acked(1));
            assert_near(window.cwnd, after_ack);
            let mut window = avoiding(w);
            law.on_congestion(&mut window, &loss(1));
            assert_near(window.cwnd, after_loss);
            let mut window = avoiding(w);
            law.on_timeout(&mut window, START);
            assert_near(window.ssthresh, after_loss);
            assert_near(window.cwnd, 1.0);
        }
    }

    #[test]
    fn recovery_takes_as_many_round_trips_whatever_the_window() {
        // ln(1/0.875)/ln(1.01) = 13.4198 round trips: 13 whole ones.
        for start in [1000.0, 100_000.0] {
            let mut w = avoiding(start);
            let mut scalable = Scalable::default();
            scalable.on_congestion(&mut w, &loss(1));
            let mut round_trips = 0;
            while w.cwnd < start {
                let window = acked(w.packets());
                scalable.on_ack(&mut w, &window);
                round_trips += 1;
            }
            assert_eq!(round_trips, 14);
        }
    }

    #[test]
    fn the_response_to_loss_is_as_pinned() {
        // The window at loss rate p is a/(b p).
        for (p, w) in [(1e-3, 80.0), (1e-4, 800.0), (1e-5, 8000.0), (1e-6, 80000.0)] {
            let mut window = avoiding(w);
            let mut scalable = Scalable::default();
            scalable.on_ack(&mut window, &acked(1));
            let gained = (window.cwnd - w) / p;
            let mut window = avoiding(w);
            scalable.on_congestion(&mut window, &loss(1));
            // 1/p packets add as much as an event takes.
            assert!((gained - (w - window.cwnd)).abs() < 1e-5 * gained);
        }
    }

    #[test]
    fn sawtooth_is_as_stored() {
        check_sawtooth(
            from_threshold(Config::default()),
            include_str!("sawtooth/scalable.txt"),
        );
    }
}

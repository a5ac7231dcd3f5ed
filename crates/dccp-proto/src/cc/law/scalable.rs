//! Scalable TCP (T. Kelly, "Scalable TCP: improving performance in highspeed wide area networks",
//! 2003): each acknowledged packet adds 0.01, an event takes an eighth, whatever the window.

use super::highspeed::Count;
use super::settings::{Plan, choice, number, settings};
use super::{Ack, Congestion, Law, Window};
use crate::time::Instant;

choice! {
    /// Where the law ends and Reno begins.
    pub enum Mode {
        /// At `lwnd`: below, growth and decrease are Reno's.
        Kelly = "kelly",
        /// Nowhere: each step is 1/min(w, `cap`), and an event always takes an eighth.
        Kernel = "kernel",
    }
}

settings! {
    /// Options of Scalable.
    pub struct Config {
        /// Where the law ends and Reno begins.
        mode: Mode = Mode::Kelly, Mode::read;
        /// Kelly's legacy threshold in packets.
        lwnd: f64 = 16.0, number(1.0..=1e6);
        /// The kernel's: 50 up to Linux 4.14, 100 since.
        cap: f64 = 100.0, number(1.0..=1e6);
        /// What counts as one step of growth.
        count: Count = Count::Packets, Count::read;
    }
}

impl Plan for Config {
    fn build(&self) -> Box<dyn Law> {
        Box::new(Scalable(*self))
    }
}

/// Packets that an acknowledged packet adds.
const A: f64 = 0.01;
/// The share of the window that an event takes.
const B: f64 = 0.125;

/// Scalable TCP.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Scalable(Config);

impl Scalable {
    fn is_reno(&self, window: &Window) -> bool {
        self.0.mode == Mode::Kelly && window.cwnd <= self.0.lwnd
    }

    fn step(&self, window: &Window) -> f64 {
        if self.is_reno(window) {
            1.0 / window.cwnd
        } else if self.0.mode == Mode::Kelly {
            A
        } else {
            1.0 / window.cwnd.min(self.0.cap)
        }
    }

    fn reduced(&self, window: &Window) -> f64 {
        let b = if self.is_reno(window) { 0.5 } else { B };
        window.cwnd - b * window.cwnd
    }
}

impl Law for Scalable {
    fn name(&self) -> &'static str {
        "scalable"
    }

    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        for _ in 0..self.0.count.steps(ack) {
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
    use crate::cc::fixtures::START;
    use crate::cc::law::bench::{acked, assert_near, avoiding, check_sawtooth, law, loss, table};

    #[test]
    fn growth_and_decrease_are_as_pinned() {
        // congestion-control §5
        for [w, gain, after_rtt, gain_of_acks, after_loss] in table(
            "
             16.1   0.161   16.261   0.0805  14.0875
               20     0.2     20.2      0.1     17.5
               50     0.5     50.5     0.25    43.75
              100       1      101      0.5     87.5
             1000      10     1010        5      875
             8333   83.33  8416.33   41.665  7291.38
            83333  833.33  84166.3  416.665  72916.4
            ",
        ) {
            // Fluid: w packets at the growth of one.
            let mut window = avoiding(w);
            law("scalable").on_ack(&mut window, &acked(1));
            assert!(((window.cwnd - w) * w - gain).abs() < 1e-5 * w, "{w}");
            assert_near(w + gain, after_rtt);
            // Delayed acknowledgements: w/2 of two packets each.
            let mut window = avoiding(w);
            law("scalable:count=acks").on_ack(&mut window, &acked(2));
            let grown = (window.cwnd - w) * w / 2.0;
            assert!((grown - gain_of_acks).abs() < 1e-5 * w, "{w}");
            let mut window = avoiding(w);
            law("scalable").on_congestion(&mut window, &loss(1));
            assert_near(window.cwnd, after_loss);
        }
    }

    #[test]
    fn up_to_lwnd_it_is_reno() {
        for (text, w, after_ack, after_loss) in [
            ("scalable", 16.0, 16.0625, 8.0),
            ("scalable", 16.01, 16.02, 14.00875),
            ("scalable:lwnd=38", 38.0, 38.0 + 1.0 / 38.0, 19.0),
            ("scalable:lwnd=38", 38.1, 38.11, 33.3375),
        ] {
            let mut window = avoiding(w);
            law(text).on_ack(&mut window, &acked(1));
            assert_near(window.cwnd, after_ack);
            let mut window = avoiding(w);
            law(text).on_congestion(&mut window, &loss(1));
            assert_near(window.cwnd, after_loss);
            let mut window = avoiding(w);
            law(text).on_timeout(&mut window, START);
            assert_near(window.ssthresh, after_loss);
            assert_near(window.cwnd, 1.0);
        }
    }

    #[test]
    fn the_kernel_has_a_cap_and_no_threshold() {
        for (text, w, step) in [
            ("scalable:mode=kernel", 10.0, 0.1),
            ("scalable:mode=kernel", 200.0, 0.01),
            ("scalable:mode=kernel,cap=50", 50.0, 0.02),
            ("scalable:mode=kernel,cap=50", 8333.0, 0.02),
        ] {
            let mut window = avoiding(w);
            law(text).on_ack(&mut window, &acked(1));
            assert!((window.cwnd - w - step).abs() < 1e-9, "{text} {w}");
            let mut window = avoiding(w);
            law(text).on_congestion(&mut window, &loss(1));
            assert_near(window.cwnd, 0.875 * w);
        }
    }

    #[test]
    fn recovery_takes_as_many_round_trips_whatever_the_window() {
        // congestion-control §5: ln(1/0.875)/ln(1.01) = 13.4198, of which 13 are whole.
        for start in [1000.0, 100_000.0] {
            let mut w = avoiding(start);
            let mut scalable = law("scalable");
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
        // congestion-control §5: a/(b p)
        for (p, w) in [(1e-3, 80.0), (1e-4, 800.0), (1e-5, 8000.0), (1e-6, 80000.0)] {
            let mut window = avoiding(w);
            let mut scalable = law("scalable");
            scalable.on_ack(&mut window, &acked(1));
            let gained = (window.cwnd - w) / p;
            let mut window = avoiding(w);
            scalable.on_congestion(&mut window, &loss(1));
            // What 1/p packets bring is what an event takes.
            assert!((gained - (w - window.cwnd)).abs() < 1e-5 * gained);
        }
    }

    #[test]
    fn the_sawtooth_looks_as_it_did() {
        check_sawtooth(
            "scalable",
            "scalable:initial_ssthresh=150",
            include_str!("sawtooth/scalable.txt"),
        );
    }
}

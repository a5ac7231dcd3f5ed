//! A law: additive increase, multiplicative decrease (AIMD), both settable.
//!
//! With an increase of 1 and a decrease of 0.5 it is Reno.

use dccp_proto::Instant;
use dccp_proto::cc::law::{Ack, Congestion, Law, LawSettings, SettingError, Window};

const NAME: &str = "aimd";

/// The settings, and the law itself: it stores nothing else.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Aimd {
    /// Growth of the window in packets per round trip, from 0.01 to 100.
    pub increase: f64,
    /// The share of the window that a congestion event takes, from 0.01 to 0.99.
    pub decrease: f64,
}

impl Aimd {
    fn reduced(self, window: &Window) -> f64 {
        window.cwnd * (1.0 - self.decrease)
    }
}

impl Default for Aimd {
    fn default() -> Self {
        Self {
            increase: 1.0,
            decrease: 0.5,
        }
    }
}

impl LawSettings for Aimd {
    fn name(&self) -> &'static str {
        NAME
    }

    fn build(&self) -> Box<dyn Law> {
        Box::new(*self)
    }

    fn check(&self) -> Result<(), SettingError> {
        SettingError::unless_within("increase", self.increase, 0.01..=100.0)?;
        SettingError::unless_within("decrease", self.decrease, 0.01..=0.99)
    }
}

impl Law for Aimd {
    fn name(&self) -> &'static str {
        NAME
    }

    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        // A window of packets is acknowledged per round trip, so each packet adds its share of the increase.
        window.cwnd += self.increase * f64::from(ack.growth) / window.cwnd;
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

    #[test]
    fn window_grows_by_the_increase_per_round_trip() {
        let mut law = Aimd {
            increase: 3.0,
            ..Aimd::default()
        };
        let mut window = Window {
            cwnd: 50.0,
            ssthresh: 2.0,
        };
        let ack = Ack {
            growth: 50,
            ..Ack::default()
        };
        law.on_ack(&mut window, &ack);
        assert!((window.cwnd - 53.0).abs() < 1e-9, "{window:?}");
    }

    #[test]
    fn decrease_of_the_whole_window_is_refused() {
        let law = Aimd {
            decrease: 1.0,
            ..Aimd::default()
        };
        let error = law.check().expect_err("out of range");
        assert_eq!(error.to_string(), "decrease: 1: must be from 0.01 to 0.99");
    }
}

//! Start-up in the shared profile: from ten packets per round trip, doubled per round trip (SafeUDP §5).

use super::bucket::Limit;

/// Packets of the first round trip.
const PACKETS: f64 = 10.0;
/// The start-up ends at this multiple of the input: then nothing was dropped for a whole round trip.
const HEADROOM: f64 = 2.0;
/// A round trip that carried less than this part of the window does not end the start-up …
const USED: f64 = 0.25;
/// … unless as many round trips carried something, and the network lost nothing.
const ROUNDS: u32 = 10;

/// A start-up that goes on.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct StartUp {
    /// Bytes that may leave in a round trip.
    window: f64,
    /// Number of the round trip.
    round: u64,
    /// Round trips with input and without objection.
    rounds: u32,
    /// Bytes that the application offered in it.
    input: f64,
    /// The network or the receiver objected to more in it.
    has_objection: bool,
}

impl StartUp {
    /// A start-up with datagrams of `size` bytes.
    pub(crate) const fn new(size: f64) -> Self {
        Self {
            window: PACKETS * size,
            round: 0,
            rounds: 0,
            input: 0.0,
            has_objection: false,
        }
    }

    /// The application offers a datagram.
    pub(crate) fn on_input(&mut self, len: f64) {
        self.input += len;
    }

    /// The bytes that may leave in a round trip.
    pub(crate) const fn window(&self) -> f64 {
        self.window
    }

    /// The limit at this round-trip time in seconds. Its bucket holds what a round trip may carry, because the input can come
    /// in bursts.
    pub(crate) fn limit(&self, rtt: f64) -> Limit {
        Limit {
            rate: self.window / rtt,
            depth: self.window,
        }
    }

    /// Losses, marks or a slow receiver: no doubling in this round trip.
    pub(crate) const fn object(&mut self) {
        self.has_objection = true;
    }

    /// Feedback arrived in this round trip. Returns whether the start-up is over: the window is twice the input of a round
    /// trip, and not below the declared rate if there is one. A first short message does not end the start-up.
    pub(crate) fn on_round(&mut self, round: u64, declared: f64) -> bool {
        if round <= self.round {
            return false;
        }
        self.round = round;
        let input = core::mem::take(&mut self.input);
        if core::mem::take(&mut self.has_objection) || input <= 0.0 {
            return false;
        }
        self.rounds += 1;
        let is_used = input >= USED * self.window || self.rounds >= ROUNDS;
        if is_used && self.window >= HEADROOM * input && self.window >= declared {
            return true;
        }
        self.window *= 2.0;
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn start_up_doubles_until_it_is_twice_the_input() {
        let mut start = StartUp::new(1000.0);
        let mut windows = Vec::new();
        for round in 1..100 {
            for _ in 0..100 {
                start.on_input(1000.0);
            }
            windows.push(start.window() / 1000.0);
            if start.on_round(round, 0.0) {
                break;
            }
        }
        assert_eq!(windows, [10.0, 20.0, 40.0, 80.0, 160.0, 320.0]);
    }

    #[test]
    fn objection_and_the_same_round_do_not_double() {
        let mut start = StartUp::new(100.0);
        start.on_input(100.0);
        start.object();
        assert!(!start.on_round(1, 0.0));
        assert!((start.window() - 1000.0).abs() < 1e-9);
        start.on_input(1e6);
        assert!(!start.on_round(2, 0.0));
        assert!(!start.on_round(2, 0.0));
        assert!((start.window() - 2000.0).abs() < 1e-9);
    }

    #[test]
    fn declared_rate_keeps_the_start_up_going() {
        let mut start = StartUp::new(100.0);
        start.on_input(500.0);
        assert!(!start.on_round(1, 2000.0));
        start.on_input(500.0);
        assert!(start.on_round(2, 2000.0));
    }

    #[test]
    fn feedback_before_the_first_datagram_does_not_end_the_start_up() {
        assert!(!StartUp::new(0.0).on_round(1, 0.0));
    }

    #[test]
    fn round_trips_with_little_input_end_the_start_up_later() {
        let mut start = StartUp::new(100.0);
        for round in 1..10 {
            start.on_input(200.0);
            assert!(!start.on_round(round, 0.0), "{round}");
        }
        start.on_input(200.0);
        assert!(start.on_round(10, 0.0));
    }

    #[test]
    fn first_short_message_does_not_end_the_start_up() {
        let mut start = StartUp::new(100.0);
        start.on_input(100.0);
        assert!(!start.on_round(1, 0.0));
        // Round trips without input do not count.
        for round in 2..100 {
            assert!(!start.on_round(round, 0.0));
        }
        start.on_input(1e6);
        assert!(!start.on_round(100, 0.0));
        assert!((start.window() - 4000.0).abs() < 1e-9);
    }
}

//! The one-way delay of data, which CCID 2 does not have: its experimental option 248 carries when
//! the acknowledged packet arrived (RFC 4340 §10.3; peers that do not know it ignore it).
//!
//! ```text
//!  0        1        2                          5
//!  +--------+--------+--------+--------+--------+
//!  |  248   |   5    | arrival time, 10 µs, mod 2^24
//!  +--------+--------+--------+--------+--------+
//! ```
//!
//! The option contains the arrival time, by the receiver's clock, of the packet with the
//! Acknowledgement Number. The sender's result contains the unknown offset of the two clocks, so only
//! changes of the delay are meaningful. The delay drifts as the hosts' clocks drift.

use super::Feedback;
use crate::seq::Seq;
use crate::time::{Instant, Nanos};
use crate::wire::{Opt, OptionWriter};
use core::time::Duration;

/// Type of the option: the first of those for experiments at the HC-Receiver (4341-10-1).
const ARRIVAL_TIME: u8 = 248;
/// Bytes of the option.
pub(crate) const LEN: usize = 5;
/// A unit of the option.
const TICK: Duration = Duration::from_micros(10);
/// The clock of the option wraps here.
const WRAP: u32 = 1 << 24;
/// The first delay counts as this, so that later ones may be shorter by as much as clocks drift.
const FIRST: Duration = Duration::from_secs(1000);

/// The arrival of the newest packet at a receiver.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Newest(Option<(Seq, Instant)>);

impl Newest {
    /// A packet arrived. Returns which one was the newest before.
    pub(crate) fn on_packet(&mut self, seq: Seq, now: Instant) -> Option<Seq> {
        let before = self.seq();
        if before.is_none_or(|newest| seq.is_after(newest)) {
            self.0 = Some((seq, now));
        }
        before
    }

    /// The newest packet.
    pub(crate) fn seq(&self) -> Option<Seq> {
        self.0.map(|(seq, _)| seq)
    }

    /// When packet `ack` arrived, if it is the newest.
    pub(crate) fn arrival(&self, ack: Seq) -> Option<Instant> {
        self.0.filter(|(seq, _)| *seq == ack).map(|(_, at)| at)
    }

    /// Adds the option to an acknowledgement of `ack`, if that is the newest packet and there is
    /// room: nothing depends on it.
    pub(crate) fn push(&self, ack: Seq, options: &mut OptionWriter) {
        if let Some(at) = self.arrival(ack) {
            let [_, time @ ..] = at.timestamp().to_be_bytes();
            let _ = options.push_raw(ARRIVAL_TIME, &time);
        }
    }
}

/// The send time of a packet by its sender's clock and the arrival time by its receiver's clock. Both
/// are in units of 10 µs; only the low 24 bits count.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Times {
    /// When it left.
    pub sent: u32,
    /// When it arrived.
    pub arrived: u32,
}

impl Times {
    /// The times of the packet that an acknowledgement of CCID 2 names, if it reports them.
    pub(crate) fn of(fb: &Feedback<'_>) -> Option<Self> {
        let sent = fb.ack_sent_at?.timestamp();
        fb.options.iter().find_map(|option| match option {
            Opt::CcidSpecific {
                kind: ARRIVAL_TIME,
                data: &[a, b, c],
            } => Some(Self {
                sent,
                arrived: u32::from_be_bytes([0, a, b, c]),
            }),
            _ => None,
        })
    }
}

/// The one-way delays that a sender computes from arrival times.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct OneWay {
    /// The last difference of the clocks, modulo the option's wrap, and the delay that it stands for.
    last: Option<(u32, Nanos)>,
}

impl OneWay {
    /// The one-way delay that an acknowledgement reports, plus a constant.
    pub(crate) fn sample(&mut self, times: Times) -> Duration {
        let ticks = times.arrived.wrapping_sub(times.sent) % WRAP;
        let delay = self.last.map_or(FIRST, |(last, delay)| {
            let delay = delay.duration();
            // The shorter way around the circle is the change.
            let longer = ticks.wrapping_sub(last) % WRAP;
            if longer < WRAP / 2 {
                delay + TICK * longer
            } else {
                delay.saturating_sub(TICK * (WRAP - longer))
            }
        });
        self.last = Some((ticks, delay.into()));
        delay
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::fixtures::feedback;
    use crate::wire::Options;

    fn at_ticks(ticks: u64) -> Instant {
        Instant::from_nanos(10_000 * ticks)
    }

    /// The options of an acknowledgement of packet 7, which arrived at this time.
    fn options(arrived_ticks: u64) -> OptionWriter {
        let mut newest = Newest::default();
        newest.on_packet(Seq::new(7), at_ticks(arrived_ticks));
        let mut options = OptionWriter::new(100);
        newest.push(Seq::new(7), &mut options);
        options
    }

    #[test]
    fn the_option_carries_24_bits_of_ten_microseconds() {
        // 4341-10-1
        let bytes = [248, 5, 0x23, 0x45, 0x67];
        assert_eq!(options(0x0123_4567).as_slice(), bytes);
        assert_eq!(bytes.len(), LEN);
    }

    #[test]
    fn only_the_newest_packet_has_an_arrival_time() {
        let mut newest = Newest::default();
        newest.on_packet(Seq::new(9), at_ticks(5));
        newest.on_packet(Seq::new(8), at_ticks(6));
        for (ack, len) in [(8, 0), (9, LEN)] {
            let mut options = OptionWriter::new(100);
            newest.push(Seq::new(ack), &mut options);
            assert_eq!(options.as_slice().len(), len);
        }
        let mut full = OptionWriter::new(LEN - 1);
        newest.push(Seq::new(9), &mut full);
        assert_eq!(full.as_slice(), []);
    }

    #[test]
    fn delays_differ_as_arrivals_do_also_across_the_wrap() {
        let mut one_way = OneWay::default();
        let mut sample = |sent: u64, arrived: u64| {
            let options = options(arrived);
            let times = Times::of(&Feedback {
                ack_sent_at: Some(at_ticks(sent)),
                options: Options(options.as_slice()),
                ..feedback()
            });
            times.map(|times| one_way.sample(times))
        };
        let wrap = u64::from(WRAP);
        // The receiver's clock is 50 ticks ahead.
        assert_eq!(sample(1000, 1150), Some(FIRST));
        assert_eq!(sample(2000, 2170), Some(FIRST + 20 * TICK));
        assert_eq!(sample(3000, 3120), Some(FIRST.saturating_sub(30 * TICK)));
        assert_eq!(
            sample(wrap - 60, wrap + 60),
            Some(FIRST.saturating_sub(30 * TICK))
        );
        assert_eq!(sample(5 * wrap + 40, wrap + 190), Some(FIRST));
    }

    #[test]
    fn without_the_option_or_the_time_of_sending_there_is_no_delay() {
        let options = options(5);
        assert_eq!(Times::of(&feedback()), None);
        let unknown = Feedback {
            options: Options(options.as_slice()),
            ..feedback()
        };
        assert_eq!(Times::of(&unknown), None);
    }
}

//! Due times from a file: one packet at each time, and again after the last one.
//!
//! The file has one time in milliseconds on each line, as a trace of mahimahi. Its last time is the length of a round: the
//! first packet of the next round is due that much later than the first one of this round.

use core::fmt;
use core::str::FromStr;
use core::time::Duration;
use std::collections::VecDeque;
use std::fs::File;
use std::io::Read as _;
use std::path::Path;
use std::sync::Arc;

/// The most packets of a round: all of them fit into a control message.
const PACKETS_MAX: usize = 4096;
/// The longest pause between two packets, in microseconds.
const GAP_MAX_US: u64 = 10_000_000;
/// The most bytes of a file.
const FILE_MAX: u64 = 1 << 20;

/// The pauses before the packets of a round, in microseconds: at least one packet, and one pause above 0.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Timetable(Arc<[u32]>);

impl Timetable {
    /// Reads a file of times in milliseconds. Empty lines, and what follows a `#`, are left out.
    pub(crate) fn read(path: &Path) -> Result<Self, String> {
        let file = File::open(path).map_err(|e| e.to_string())?;
        let mut text = String::new();
        let length = file.take(FILE_MAX + 1).read_to_string(&mut text);
        if length.map_err(|e| e.to_string())? as u64 > FILE_MAX {
            return Err("must have at most 1 MiB".into());
        }
        Self::of_lines(text.lines())
    }

    fn of_lines<'a>(lines: impl Iterator<Item = &'a str>) -> Result<Self, String> {
        let (mut gaps, mut last_us) = (Vec::new(), 0);
        for (number, line) in (1..).zip(lines) {
            let time = line.split('#').next().unwrap_or_default().trim();
            if time.is_empty() {
                continue;
            }
            let at_us = micros(time).ok_or(format!("line {number}: '{time}' is no time in ms"))?;
            let gap =
                (at_us.checked_sub(last_us)).ok_or(format!("line {number}: times must rise"))?;
            gaps.push(gap);
            last_us = at_us;
        }
        Self::new(&gaps)
    }

    fn new(gaps_us: &[u64]) -> Result<Self, String> {
        if !(1..=PACKETS_MAX).contains(&gaps_us.len()) {
            return Err(format!("must have 1 to {PACKETS_MAX} times"));
        }
        if gaps_us.iter().any(|gap| *gap > GAP_MAX_US) {
            return Err("two times must be at most 10 s apart".into());
        }
        if gaps_us.iter().all(|gap| *gap == 0) {
            return Err("its last time must be above 0".into());
        }
        let gaps = gaps_us.iter().map(|gap| u32::try_from(*gap));
        let gaps: Result<_, _> = gaps.collect();
        gaps.map(Self)
            .map_err(|_| "its times are too far apart".into())
    }

    /// The pause before a packet of the flow, in nanoseconds.
    pub(crate) fn gap_ns(&self, packet: u64) -> f64 {
        let at = usize::try_from(packet % self.packets()).unwrap_or(0);
        1e3 * self.0.get(at).copied().map_or(0.0, f64::from)
    }

    /// Packets of a round.
    pub(crate) fn packets(&self) -> u64 {
        self.0.len() as u64
    }

    /// The most packets that are due within `time`, the first and the last included.
    pub(crate) fn most_packets_within(&self, time: Duration) -> u64 {
        let (time_us, round_us) = (time.as_micros(), self.round().as_micros());
        let rest_us = time_us % round_us;
        let (mut at_us, mut due, mut most) = (0, VecDeque::new(), 0);
        // A run of packets can begin in one round and end in the next.
        for pause_us in self.0.iter().chain(self.0.iter()) {
            at_us += u128::from(*pause_us);
            due.push_back(at_us);
            while due.front().is_some_and(|first| first + rest_us < at_us) {
                due.pop_front();
            }
            most = most.max(due.len() as u64);
        }
        let rounds = u64::try_from(time_us / round_us).unwrap_or(u64::MAX);
        rounds.saturating_mul(self.packets()).saturating_add(most)
    }

    /// The length of a round.
    pub(crate) fn round(&self) -> Duration {
        Duration::from_micros(self.0.iter().copied().map(u64::from).sum())
    }
}

/// Milliseconds with at most three decimals, in microseconds.
fn micros(text: &str) -> Option<u64> {
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    let is_digits = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
    if part.len() > 3 || whole.is_empty() || !is_digits(whole) || !is_digits(part) {
        return None;
    }
    let part: u64 = format!("{part:0<3}").parse().ok()?;
    whole
        .parse::<u64>()
        .ok()?
        .checked_mul(1000)?
        .checked_add(part)
}

/// The pauses in microseconds, with commas between them.
impl FromStr for Timetable {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let gaps = text.split(',').take(PACKETS_MAX + 1).map(str::parse);
        let gaps: Result<Vec<u64>, _> = gaps.collect();
        Self::new(&gaps.map_err(|_| "its pauses must be whole microseconds")?)
    }
}

/// A text that [`FromStr`] reads as the same pauses.
impl fmt::Display for Timetable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, gap) in self.0.iter().enumerate() {
            let comma = if at > 0 { "," } else { "" };
            write!(f, "{comma}{gap}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Result<Timetable, String> {
        Timetable::of_lines(text.lines())
    }

    #[test]
    fn times_of_a_file_become_pauses() {
        let table = of("# a comment\n5\n5 # two at once\n\n7.25\n10\n").unwrap();
        assert_eq!(table.to_string(), "5000,0,2250,2750");
        assert_eq!(table.round(), Duration::from_millis(10));
        let gaps: Vec<f64> = (3..6).map(|packet| table.gap_ns(packet)).collect();
        assert_eq!(gaps, [2.75e6, 5e6, 0.0]);
        assert_eq!("5000,0,2250,2750".parse(), Ok(table));
    }

    #[test]
    fn most_packets_are_counted_over_the_ends_of_rounds() {
        // Due at 5, 5, 7 and 10 ms, then at 15, 15, 17 and 20 ms.
        let table = of("5\n5\n7\n10").unwrap();
        let most = |ms| table.most_packets_within(Duration::from_millis(ms));
        assert_eq!([0, 1, 2, 4, 5, 7].map(most), [2, 2, 3, 3, 4, 4]);
        assert_eq!([8, 10, 12, 20].map(most), [4, 6, 7, 10]);
    }

    #[test]
    fn wrong_files_are_refused_with_their_line() {
        for (text, problem) in [
            ("", "must have 1 to 4096 times"),
            ("0\n0", "its last time must be above 0"),
            ("5\n4", "line 2: times must rise"),
            ("5\nx", "line 2: 'x' is no time in ms"),
            ("-1", "line 1: '-1' is no time in ms"),
            ("1.2345", "line 1: '1.2345' is no time in ms"),
            ("1\n10002", "two times must be at most 10 s apart"),
            (
                "99999999999999999999",
                "line 1: '99999999999999999999' is no time in ms",
            ),
        ] {
            assert_eq!(of(text), Err(problem.to_owned()));
        }
        assert!(of(&"1\n".repeat(PACKETS_MAX)).is_ok());
        assert!(of(&"1\n".repeat(PACKETS_MAX + 1)).is_err());
        assert!("0,x".parse::<Timetable>().is_err());
    }
}

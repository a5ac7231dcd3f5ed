//! Waits until packets are due, and measures how late they are offered.

use super::shape::{DueTimes, Shape};
use crate::schema::Achieved;
use crate::transport::{BATCH, LOOK};
use core::time::Duration;
use dccp::proto::number::to_f64;
use dccp::proto::time::nanos;
use dccp::{Instant, clock};
use dccp_stats::Histogram;

/// The due times that the digest of a schedule covers.
const DIGESTED: usize = 10_000;

/// The schedule of a flow that runs.
pub(crate) struct Schedule {
    times: DueTimes,
    begin: Instant,
    /// When the first packet that was not found due yet is due, after `begin`.
    next_ns: u64,
    /// Packets that are due and that the transport has not taken.
    due: usize,
    /// The mean rate in bits per second.
    bps: u64,
    /// Gaps are this many times as long as those of the shape.
    stretch: f64,
    record: Record,
}

/// The packets of a schedule and their lateness.
#[derive(Clone, Debug)]
pub(crate) struct Record {
    asked_gap_ns: Option<f64>,
    digest: u64,
    late: Histogram,
    /// How far the schedule was put back because the sender itself was late.
    left_out_ns: u64,
    packets: u64,
    first_at: Option<Instant>,
    last_at: Instant,
}

impl Schedule {
    /// A schedule that begins at `begin`. A shape without due times has none.
    pub(crate) fn new(shape: &Shape, length: usize, seed: u64, begin: Instant) -> Option<Self> {
        let bps = shape.mean_bps(length)?;
        let mut times = DueTimes::new(shape.clone(), length, seed);
        let digest = digest(times.clone());
        Some(Self {
            next_ns: times.next()?,
            times,
            begin,
            due: 0,
            bps,
            stretch: 1.0,
            record: Record {
                asked_gap_ns: Some(to_f64(8 * length as u64) * 1e9 / to_f64(bps)),
                digest,
                late: Histogram::default(),
                left_out_ns: 0,
                packets: 0,
                first_at: None,
                last_at: begin,
            },
        })
    }

    /// Lowers the mean rate to this one in bits per second, from the next gap on; 0: the shape's own.
    pub(crate) fn slow_to(&mut self, bps: u64) {
        self.stretch = match bps {
            0 => 1.0,
            bps => (to_f64(self.bps) / to_f64(bps)).max(1.0),
        };
    }

    /// Waits for the next packet, not longer than [`LOOK`]. Returns how many are due, at most a batch.
    pub(crate) fn wait(&mut self) -> usize {
        let left = self.next_at() - clock::now();
        if self.due == 0 && !left.is_zero() {
            std::thread::sleep(left.min(LOOK));
        }
        self.due(clock::now())
    }

    /// How many packets are due. A schedule that is more than a batch late is put back: it catches up by one batch.
    fn due(&mut self, now: Instant) -> usize {
        let is_free = self.due == 0;
        let mut last_ns = self.next_ns;
        while self.due < BATCH && self.next_at() <= now {
            self.record.late.record(nanos(now - self.next_at()));
            last_ns = self.next_ns;
            self.advance();
        }
        // Packets of one burst are due together, however many they are.
        if self.due == BATCH && self.next_ns > last_ns && self.next_at() <= now {
            let late = now - self.next_at();
            self.begin += late;
            // Else the transport made it late.
            if is_free {
                self.record.left_out_ns += nanos(late);
            }
        }
        self.due
    }

    fn advance(&mut self) {
        self.due += 1;
        let next_ns = self.times.next().unwrap_or(u64::MAX);
        if self.stretch > 1.0 {
            let gap = Duration::from_nanos(next_ns.saturating_sub(self.next_ns));
            self.begin += gap.mul_f64(self.stretch - 1.0);
        }
        self.next_ns = next_ns;
    }

    /// Notes that the transport took this number of due packets at `now`.
    pub(crate) fn took(&mut self, packets: usize, now: Instant) {
        self.due -= packets.min(self.due);
        if packets > 0 {
            self.record.first_at.get_or_insert(now);
            self.record.last_at = now;
            self.record.packets += packets as u64;
        }
    }

    pub(crate) fn into_record(self) -> Record {
        self.record
    }

    fn next_at(&self) -> Instant {
        self.begin + Duration::from_nanos(self.next_ns)
    }
}

impl Record {
    /// In the form of the result.
    pub(crate) fn achieved(&self) -> Achieved {
        let time = self.first_at.map(|first| nanos(self.last_at - first));
        let gaps = self.packets.saturating_sub(1);
        let mean = time.filter(|_| gaps > 0);
        Achieved {
            asked_gap_ns: self.asked_gap_ns,
            mean_gap_ns: mean.map(|time| to_f64(time) / to_f64(gaps)),
            late_ns: self.late.spread(),
            departure_late_ns: None,
            skipped_packets: self.left_out(),
            hash: Some(format!("{:016x}", self.digest)),
        }
    }

    /// The packets that the sender left out when it was late.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "times are not negative, and counts are far below 2^53"
    )]
    fn left_out(&self) -> u64 {
        let gap_ns = self.asked_gap_ns.filter(|gap| *gap > 0.0);
        gap_ns.map_or(0, |gap| (to_f64(self.left_out_ns) / gap).round() as u64)
    }
}

/// FNV-1a of the first due times.
fn digest(times: DueTimes) -> u64 {
    let bytes = times.take(DIGESTED).flat_map(u64::to_be_bytes);
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schedule(shape: &str, begin: Instant) -> Schedule {
        Schedule::new(&shape.parse().unwrap(), 1250, 1, begin).unwrap()
    }

    #[test]
    fn late_schedule_catches_up_by_one_batch() {
        let begin = Instant::from_nanos(5);
        let at = |ms| begin + Duration::from_millis(ms);
        let mut schedule = schedule("cbr:10M", begin);
        let mut due = |ms| {
            let due = schedule.due(at(ms));
            schedule.took(due, at(ms));
            due
        };
        assert_eq!(due(0), 1);
        assert_eq!(due(0), 0);
        assert_eq!(due(3), 3);
        assert_eq!(due(100), BATCH);
        // The next packet is due now, the one after it a gap later.
        assert_eq!(due(100), 1);
        assert_eq!(due(100), 0);
        assert_eq!(due(102), 2);
        // 100 packets were due by then: four left before, and the batch at 100 ms.
        let left_out = 100 - 4 - BATCH as u64;
        assert_eq!(schedule.into_record().achieved().skipped_packets, left_out);
    }

    #[test]
    fn obedient_schedule_has_longer_gaps_until_it_has_its_own_rate_again() {
        let begin = Instant::from_nanos(5);
        let at = |ms| begin + Duration::from_millis(ms);
        let mut schedule = schedule("cbr:10M", begin);
        let due = |schedule: &mut Schedule, ms| {
            let due = schedule.due(at(ms));
            schedule.took(due, at(ms));
            due
        };
        assert_eq!(due(&mut schedule, 10), 11);
        schedule.slow_to(2_500_000);
        // The gap to the next packet was that of the shape.
        assert_eq!(due(&mut schedule, 31), 6);
        schedule.slow_to(20_000_000);
        assert_eq!(due(&mut schedule, 35), 1);
        assert_eq!(due(&mut schedule, 45), 10);
        schedule.slow_to(0);
        assert_eq!(due(&mut schedule, 55), 10);
        assert_eq!(schedule.into_record().achieved().skipped_packets, 0);
    }

    // goal 34: a schedule that waits for the transport is not the sender's fault.
    #[test]
    fn packets_that_the_transport_delays_are_not_left_out() {
        let begin = Instant::from_nanos(5);
        let mut schedule = schedule("cbr:10M", begin);
        assert_eq!(schedule.due(begin), 1);
        let later = begin + Duration::from_millis(900);
        assert_eq!(schedule.due(later), BATCH);
        schedule.took(BATCH, later);
        assert_eq!(schedule.into_record().achieved().skipped_packets, 0);
    }

    #[test]
    fn packets_that_the_transport_did_not_take_stay_due() {
        let begin = Instant::from_nanos(5);
        let mut schedule = schedule("cbr:10M", begin);
        let later = begin + Duration::from_millis(9);
        assert_eq!(schedule.due(later), 10);
        schedule.took(4, later);
        assert_eq!(schedule.due(later), 6);
    }

    // goal 11: bursts of any size leave back to back.
    #[test]
    fn bursts_leave_back_to_back() {
        let begin = Instant::from_nanos(5);
        let mut schedule = schedule("burst:150/10ms", begin);
        let mut at_once = Vec::new();
        for ms in [0, 0, 0, 0, 10] {
            let now = begin + Duration::from_millis(ms);
            let due = schedule.due(now);
            schedule.took(due, now);
            at_once.push(due);
        }
        assert_eq!(at_once, [64, 64, 22, 0, 64]);
    }

    // goal 28: the achieved schedule stands beside the requested one.
    #[test]
    fn late_sender_is_seen() {
        let begin = Instant::from_nanos(5);
        let mut schedule = schedule("cbr:10M", begin);
        for ms in (0..100).step_by(2) {
            let now = begin + Duration::from_millis(ms);
            let due = schedule.due(now);
            schedule.took(due, now);
        }
        let achieved = schedule.into_record().achieved();
        assert_eq!(achieved.asked_gap_ns, Some(1e6));
        let late = achieved.late_ns.unwrap();
        assert_eq!((late.min, late.n), (0, 99));
        assert!((990_000..=1_010_000).contains(&late.max), "{late:?}");
        let mean = achieved.mean_gap_ns.unwrap();
        assert!((mean / 1e6 - 1.0).abs() < 0.001, "{mean}");
    }

    // goal 10: equal seeds give equal digests.
    #[test]
    fn digest_tells_schedules_apart() {
        let of = |seed| digest(DueTimes::new("poisson:10M".parse().unwrap(), 1250, seed));
        assert_eq!(of(1), of(1));
        assert_ne!(of(1), of(2));
    }
}

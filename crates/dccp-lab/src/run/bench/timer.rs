//! Processor time.

use core::time::Duration;
use dccp::clock;

/// The processor time of this thread. Systems that do not tell it give the real time.
#[cfg(unix)]
pub(super) fn of_thread() -> Duration {
    time_of(rustix::time::ClockId::ThreadCPUTime)
}

/// The processor time of this thread. Systems that do not tell it give the real time.
#[cfg(not(unix))]
pub(super) fn of_thread() -> Duration {
    clock::now() - dccp::Instant::ZERO
}

/// The processor time of all threads of this process, if the system tells it.
#[cfg(unix)]
#[expect(clippy::unnecessary_wraps, reason = "other systems do not tell it")]
pub(super) fn of_process() -> Option<Duration> {
    Some(time_of(rustix::time::ClockId::ProcessCPUTime))
}

/// The processor time of all threads of this process, if the system tells it.
#[cfg(not(unix))]
pub(super) fn of_process() -> Option<Duration> {
    None
}

#[cfg(unix)]
fn time_of(clock: rustix::time::ClockId) -> Duration {
    let time = rustix::time::clock_gettime(clock);
    // Processor time is never negative.
    let (seconds, ns) = (time.tv_sec.cast_unsigned(), time.tv_nsec.cast_unsigned());
    Duration::from_secs(seconds) + Duration::from_nanos(ns)
}

/// Calls `step` until `time` of real time is over, at least once.
pub(super) fn repeat_for<E>(
    time: Duration,
    mut step: impl FnMut() -> Result<(), E>,
) -> Result<(), E> {
    let end = clock::now() + time;
    loop {
        step()?;
        if clock::now() >= end {
            return Ok(());
        }
    }
}

/// Sums of the processor time of parts of this thread.
pub(super) struct Stopwatch {
    /// The time that reading the clock itself takes.
    reading: Duration,
    last: Duration,
}

impl Stopwatch {
    pub(super) fn new() -> Self {
        const READINGS: u32 = 1000;
        let begin = of_thread();
        let end = (0..READINGS).fold(begin, |_, _| of_thread());
        Self {
            reading: end.saturating_sub(begin) / READINGS,
            last: of_thread(),
        }
    }

    /// The processor time since the last call, without that of reading the clock.
    pub(super) fn lap(&mut self) -> Duration {
        let now = of_thread();
        let lap = now.saturating_sub(core::mem::replace(&mut self.last, now));
        lap.saturating_sub(self.reading)
    }
}

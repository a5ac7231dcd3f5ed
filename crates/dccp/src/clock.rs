//! The only reader of the operating system's clocks.
//!
//! On Linux all processes of a host share one origin, that of `CLOCK_MONOTONIC`: deadlines and times of fates
//! mean the same on both sides of a ring. (Containers can give themselves another origin, by a time namespace:
//! who lends rings across that border should not.) Elsewhere the origin is the first call in the process, and no
//! ring leaves it. The clock is monotonic; it does not follow changes of the wall clock, and stands while
//! the host sleeps.

#![expect(
    clippy::disallowed_methods,
    reason = "this is the module that the ban points to"
)]

use core::time::Duration;
use dccp_proto::Instant;
use std::sync::OnceLock;
use std::time::SystemTime;

/// Now, in nanoseconds since an origin that all processes of the host share.
#[cfg(target_os = "linux")]
pub fn now() -> Instant {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    // Neither is ever negative.
    let (seconds, ns) = (time.tv_sec.cast_unsigned(), time.tv_nsec.cast_unsigned());
    Instant::from_nanos(seconds * 1_000_000_000 + ns)
}

/// Now, in nanoseconds since the first call in this process.
#[cfg(not(target_os = "linux"))]
pub fn now() -> Instant {
    static ORIGIN: OnceLock<std::time::Instant> = OnceLock::new();
    let origin = ORIGIN.get_or_init(std::time::Instant::now);
    Instant::from_nanos(dccp_proto::time::nanos(origin.elapsed()))
}

/// The same time as the standard library's clock shows it.
pub fn to_std(at: Instant) -> std::time::Instant {
    let (std, own) = anchor();
    let after = at - own;
    let before = own - at;
    std.checked_sub(before).unwrap_or(std) + after
}

/// The time that the standard library's clock shows, on this one. Times before the clock's origin become the origin.
pub fn from_std(at: std::time::Instant) -> Instant {
    let (std, own) = anchor();
    let after = at.saturating_duration_since(std);
    let before = std.saturating_duration_since(at);
    own - before + after
}

/// One moment on both clocks, which run at the same rate.
fn anchor() -> (std::time::Instant, Instant) {
    static ANCHOR: OnceLock<(std::time::Instant, Instant)> = OnceLock::new();
    *ANCHOR.get_or_init(|| {
        // The thread may be interrupted between two readings: the closest pair counts.
        let pairs = (0..8).map(|_| {
            let before = now();
            let std = std::time::Instant::now();
            (now() - before, std, before)
        });
        let closest = pairs.min_by_key(|(gap, ..)| *gap);
        closest.map_or_else(
            || (std::time::Instant::now(), now()),
            |(gap, std, before)| (std, before + gap / 2),
        )
    })
}

/// Busy-waits for `time`; returns the time then. Exact, at the price of the processor.
pub(crate) fn spin(time: Duration) -> Instant {
    let mut at = now();
    let end = at + time;
    while at < end {
        core::hint::spin_loop();
        at = now();
    }
    at
}

/// Wall-clock time since 1970-01-01 UTC, for reports only: it may jump.
pub fn unix_time() -> Duration {
    SystemTime::now()
        .duration_since(SystemTime::UNIX_EPOCH)
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clock_moves_forward() {
        let before = now();
        std::thread::sleep(Duration::from_millis(2));
        assert!(now() - before >= Duration::from_millis(2));
    }

    #[test]
    fn times_of_the_standard_library_convert() {
        let (std, own) = (std::time::Instant::now(), now());
        for offset in [Duration::ZERO, Duration::from_secs(3)] {
            let converted = from_std(std + offset);
            assert!(converted <= now() + offset);
            assert!(converted + Duration::from_millis(100) > own + offset);
            let back = to_std(converted);
            assert!(back.max(std + offset) - back.min(std + offset) < Duration::from_micros(1));
        }
        let past = own - Duration::from_millis(5);
        assert_eq!(from_std(to_std(past)), past);
    }

    /// This program runs the same test again, as another process that prints its time.
    #[cfg(target_os = "linux")]
    #[test]
    fn all_processes_of_a_host_have_one_clock() {
        const CHILD: &str = "CLOCK_CHILD";
        if std::env::var_os(CHILD).is_some() {
            println!("\nnow={}", now().as_nanos());
            return;
        }
        let name = "clock::tests::all_processes_of_a_host_have_one_clock";
        let before = now().as_nanos();
        let child = std::process::Command::new(std::env::current_exe().unwrap())
            .args(["--exact", name, "--nocapture"])
            .env(CHILD, "")
            .output();
        let after = now().as_nanos();
        let output = String::from_utf8(child.unwrap().stdout).unwrap();
        let told = output.lines().find_map(|line| line.strip_prefix("now="));
        let told: u64 = told.unwrap().parse().unwrap();
        assert!((before..=after).contains(&told), "{before} {told} {after}");
    }
}

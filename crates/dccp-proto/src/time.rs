//! Time as the core sees it: an argument, never a clock that is read.

use crate::number::to_f64;
use core::fmt;
use core::num::NonZeroU64;
use core::ops::{Add, AddAssign, Sub};
use core::time::Duration;

/// A moment in nanoseconds since an origin that the caller chose.
///
/// All instants given to one endpoint share an origin. `Sub` between instants saturates at zero,
/// because a clock that steps back must not panic the protocol.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Instant(
    /// One more than the nanoseconds, so that an `Option` takes no more memory: connections keep many.
    NonZeroU64,
);

impl Instant {
    /// The origin.
    pub const ZERO: Self = Self(NonZeroU64::MIN);
    /// Later than any real moment.
    pub const FAR_FUTURE: Self = Self(NonZeroU64::MAX);

    /// The moment `ns` nanoseconds after the origin.
    pub const fn from_nanos(ns: u64) -> Self {
        Self(NonZeroU64::MIN.saturating_add(ns))
    }

    /// Nanoseconds since the origin.
    pub const fn as_nanos(self) -> u64 {
        self.0.get() - 1
    }

    /// Units of 10 µs since the origin, modulo 2^32: the clock of the Timestamp option
    /// (RFC 4340 §13.1).
    #[expect(
        clippy::cast_possible_truncation,
        reason = "the option's clock wraps at 2^32"
    )]
    pub const fn timestamp(self) -> u32 {
        (self.as_nanos() / 10_000) as u32
    }
}

impl Default for Instant {
    fn default() -> Self {
        Self::ZERO
    }
}

impl fmt::Debug for Instant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Instant").field(&self.as_nanos()).finish()
    }
}

impl Add<Duration> for Instant {
    type Output = Self;

    fn add(self, d: Duration) -> Self {
        Self(self.0.saturating_add(nanos(d)))
    }
}

impl Add<Nanos> for Instant {
    type Output = Self;

    fn add(self, span: Nanos) -> Self {
        Self(self.0.saturating_add(span.get()))
    }
}

impl AddAssign<Duration> for Instant {
    fn add_assign(&mut self, d: Duration) {
        *self = *self + d;
    }
}

impl Sub<Duration> for Instant {
    type Output = Self;

    fn sub(self, d: Duration) -> Self {
        Self::from_nanos(self.as_nanos().saturating_sub(nanos(d)))
    }
}

impl Sub<Nanos> for Instant {
    type Output = Self;

    fn sub(self, span: Nanos) -> Self {
        Self::from_nanos(self.as_nanos().saturating_sub(span.get()))
    }
}

impl Sub for Instant {
    type Output = Duration;

    fn sub(self, earlier: Self) -> Duration {
        Duration::from_nanos(self.as_nanos().saturating_sub(earlier.as_nanos()))
    }
}

/// Returns the nanoseconds of `time`. 584 years and more count as `u64::MAX`.
pub fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// A span of time as connections keep it: in 8 bytes, also in an `Option`, where a `Duration` takes 16. Spans beyond
/// five centuries count as such.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Nanos(
    /// One more than the nanoseconds.
    NonZeroU64,
);

impl Nanos {
    pub(crate) const ZERO: Self = Self(NonZeroU64::MIN);
    pub(crate) const MAX: Self = Self(NonZeroU64::MAX);

    pub(crate) const fn new(ns: u64) -> Self {
        Self(NonZeroU64::MIN.saturating_add(ns))
    }

    pub(crate) const fn get(self) -> u64 {
        self.0.get() - 1
    }

    pub(crate) const fn duration(self) -> Duration {
        Duration::from_nanos(self.get())
    }

    pub(crate) const fn as_secs_f64(self) -> f64 {
        to_f64(self.get()) / 1e9
    }
}

impl From<Duration> for Nanos {
    fn from(span: Duration) -> Self {
        Self::new(nanos(span))
    }
}

impl fmt::Debug for Nanos {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.duration().fmt(f)
    }
}

/// A rate in bytes per second.
#[derive(Clone, Copy, PartialEq, PartialOrd, Debug, Default)]
pub struct Rate(f64);

impl Rate {
    /// A rate of `bytes` per second.
    pub const fn from_bytes_per_s(bytes: f64) -> Self {
        Self(bytes)
    }

    /// The rate at which `bytes` pass in `time`; zero time gives an infinite rate.
    pub fn over(bytes: u64, time: Duration) -> Self {
        Self(to_f64(bytes) / time.as_secs_f64())
    }

    /// Bytes per second.
    pub const fn bytes_per_s(self) -> f64 {
        self.0
    }

    /// Bits per second.
    pub fn bits_per_s(self) -> f64 {
        self.0 * 8.0
    }

    /// How long `bytes` take at this rate; a century at most.
    pub fn time_for(self, bytes: u64) -> Duration {
        const CENTURY_S: f64 = 3.15e9;
        let s = to_f64(bytes) / self.0;
        Duration::from_secs_f64(if s.is_finite() {
            s.clamp(0.0, CENTURY_S)
        } else if self.0 > 0.0 {
            0.0
        } else {
            CENTURY_S
        })
    }
}

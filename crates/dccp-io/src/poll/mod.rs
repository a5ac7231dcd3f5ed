//! Waits until datagrams arrive, there is room to send, another thread wakes the poller, or time is over.
//!
//! Linux: epoll, with a timer of the kernel's high-resolution clock (a time-out in epoll itself may
//! come 50 µs late by default). Elsewhere: `mio`, whose time-outs are the system's: nanoseconds on
//! macOS and the BSDs, milliseconds on Windows.

use core::time::Duration;

#[cfg(target_os = "linux")]
mod linux;
#[cfg(any(not(target_os = "linux"), test))]
#[cfg_attr(
    target_os = "linux",
    expect(unreachable_pub, reason = "compiled here for its tests only")
)]
mod portable;
#[cfg(test)]
mod tests;

#[cfg(target_os = "linux")]
pub use linux::{Poller, Waker};
#[cfg(not(target_os = "linux"))]
pub use portable::{Poller, Waker};

/// Names a transport at its [`Poller`]; the caller chooses it. The two highest are the poller's.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Token(pub usize);

/// Readiness of a transport.
///
/// The caller then calls `recv` until it finds nothing, or polls again with a time-out of zero, because only some systems
/// report readiness again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ready {
    /// The transport.
    pub token: Token,
    /// `recv` has something.
    pub readable: bool,
    /// There is room again; reported only while `want_writable` is on.
    pub writable: bool,
    /// `recv_errors` has something.
    pub error: bool,
}

/// How long to sleep: all but the last `busy_wait` before a deadline. The caller polls again at once with the time that
/// is left, and so wakes up exactly.
fn sleep_time(timeout: Option<Duration>, busy_wait: Duration) -> Option<Duration> {
    timeout.map(|t| t.saturating_sub(busy_wait))
}

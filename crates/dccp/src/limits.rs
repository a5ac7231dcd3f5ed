//! Limits of this library: what a peer, a flood or a fault can cost the program.

use core::time::Duration;

/// ICMP errors that a socket reports in a second. Beyond them the kernel discards ICMP for this socket for
/// [`ICMP_PAUSE`] (4340-18-10), because each report costs a system call and hides another.
pub const ICMP_PER_S: usize = 1_000;
/// The time for which ICMP is discarded after too many errors.
pub const ICMP_PAUSE: Duration = Duration::from_secs(1);
/// The first pause after a failure of a socket. Each further failure doubles it.
pub const RETRY_FIRST: Duration = Duration::from_millis(10);
/// The longest pause between two attempts to mend a socket.
pub const RETRY_MAX: Duration = Duration::from_secs(5);
/// Ports that stay open for flows in TIMEWAIT, for each thread of an engine. Each costs a file descriptor, so the oldest goes
/// when a program opens and closes faster than flows rest, and when no descriptor is left.
pub const RESTING_PORTS: usize = 256;
/// Resting ports have at most this part of the descriptors that the process may open: a quarter.
pub const RESTING_SHARE: u64 = 4;

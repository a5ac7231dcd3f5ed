//! Limits of the program: defaults of options, and bounds of what peers and programs can cost.

use core::ops::RangeInclusive;
use core::time::Duration;

/// DCCP port of the listening side, unless the address has another.
pub(crate) const DCCP_PORT: u16 = 5002;
/// Service Code (RFC 5595) of connections between two bridges.
pub(crate) const SERVICE: [u8; 4] = *b"UDPB";

/// Flows at the same time.
pub(crate) const FLOWS: RangeInclusive<u64> = 1..=4096;
/// Open files of a flow: sockets of DCCP and UDP, three of its signal, and one that rests after its end.
pub(crate) const FILES_PER_FLOW: u64 = 6;
/// Open files of everything else.
pub(crate) const FILES: u64 = 128;
/// Datagrams of a flow that wait to be sent.
pub(crate) const QUEUE: RangeInclusive<u64> = 1..=65_536;
/// The greatest age of a datagram that waits.
pub(crate) const AGE: RangeInclusive<Duration> = Duration::from_millis(1)..=Duration::from_mins(1);
/// The time without datagrams after which a flow ends.
pub(crate) const IDLE: RangeInclusive<Duration> =
    Duration::from_millis(100)..=Duration::from_hours(24);

/// Samples of all flows are taken in turns, this far apart.
pub(crate) const TICK: Duration = Duration::from_millis(100);
/// Flows that are sampled in one tick. Each sample asks the engine three times, which takes some microseconds.
pub(crate) const SAMPLES_PER_TICK: usize = 32;

/// The first wait after a connection failed. Each further failure doubles it.
pub(crate) const RETRY_FIRST: Duration = Duration::from_millis(250);
/// The longest wait before a further connection attempt.
pub(crate) const RETRY_MAX: Duration = Duration::from_secs(5);
/// A connection attempt without an answer ends after this time.
pub(crate) const CONNECT_MAX: Duration = Duration::from_secs(5);
/// A connection ends if the peer has not answered data for this time.
pub(crate) const DEAD_AFTER: Duration = Duration::from_secs(10);

/// Clients of the rate socket. A further one is closed at once.
pub(crate) const RATE_CLIENTS: usize = 16;
/// The longest configuration file in bytes.
pub(crate) const FILE_MAX: u64 = 64 << 10;
/// The kernel's receive buffer of a UDP socket in bytes, where the system permits it.
pub(crate) const SOCKET_BUFFER: usize = 4 << 20;
/// Rounds of system calls before other sockets are served.
pub(crate) const ROUNDS: usize = 4;
/// Datagrams taken from a connection in one round.
pub(crate) const BATCH: usize = 64;
/// Warnings of one kind are at least this far apart.
pub(crate) const WARN_EVERY: Duration = Duration::from_secs(1);

/// NATs forget a mapping after 30 s of silence.
pub(crate) const KEEPALIVE: Duration = Duration::from_secs(20);

/// The bytes of a datagram that the bound of a queue assumes.
pub(crate) const PACKET: u64 = 1500;

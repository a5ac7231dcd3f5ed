//! Limits of this library: what a peer, a flood or a fault can cost the program.

use core::time::Duration;
pub use dccp_proto::path::source_of;

dccp_proto::listed! {
/// ICMP errors that a socket reports in a second. Beyond them the kernel discards ICMP for this socket for
/// `ICMP_PAUSE` (4340-18-10), because each report costs a system call and hides another.
pub const ICMP_PER_S: usize = 1_000;
/// The time for which ICMP is discarded after too many errors.
pub const ICMP_PAUSE: Duration = Duration::from_secs(1);
/// The pause before a socket that failed is opened again. Each further failure doubles it.
pub const RETRY_FIRST: Duration = Duration::from_millis(10);
/// The longest pause before a socket that failed is opened again.
pub const RETRY_MAX: Duration = Duration::from_secs(5);
/// Ports that stay open for flows in TIMEWAIT, for each thread of an engine. Each costs a file descriptor, so the oldest goes
/// when a program opens and closes faster than flows rest, and when no descriptor is left.
pub const RESTING_PORTS: usize = 256;
/// Resting ports have at most a quarter of the descriptors that the process may open: their number is divided by this.
pub const RESTING_DIVISOR: u64 = 4;
/// Bytes of datagrams that wait to be read in one connection, unless `Options::recv_buffer_bytes` says otherwise
/// (4340-18-9). Allocated memory counts. Datagrams beyond a limit are dropped, and reported to the peer (Drop Code 2).
pub const RECV_BYTES_CONNECTION: u64 = 4 << 20;
/// Bytes of datagrams that wait to be read in a connection that is not accepted yet.
pub const RECV_BYTES_UNACCEPTED: u64 = 64 << 10;
/// Bytes of datagrams that may wait in each connection although its listener, its address or its engine has no room left.
pub const RECV_BYTES_RESERVED: u64 = 16 << 10;
/// Bytes that wait in all connections of one listener, accepted and not.
pub const RECV_BYTES_LISTENER: u64 = 64 << 20;
/// Bytes that wait in all connections that came in from one address (IPv6: one /64). Loopback addresses have the limit of
/// the engine.
pub const RECV_BYTES_SOURCE: u64 = 16 << 20;
/// Bytes that wait in all connections of an engine.
pub const RECV_BYTES_ENGINE: u64 = 256 << 20;
/// Connections from one address (IPv6: one /64) to one engine, unless `Options::connections_per_source` says otherwise;
/// more are refused as "too busy". Loopback addresses are not limited.
pub const CONNECTIONS_PER_SOURCE: usize = 64;
/// A connection that came in and has sent nothing for this time sends a Sync, unless `Options::keepalive` says otherwise.
/// So a peer that vanished does not keep its place for ever.
pub const ACCEPTED_KEEPALIVE: Duration = Duration::from_mins(10);
/// Bits of data per second that CCIDs 3 and 4 send at most before the peer has reported a loss event, unless
/// `Options::max_rate` says otherwise. A receiver that hides all loss would get any rate.
pub const MAX_RATE: u64 = 100_000_000;
/// Memory that is kept for further datagrams counts as if data waited in it. It is kept only while no budget has used more
/// than a half: its bytes divided by this.
pub const SPARE_DIVISOR: u64 = 2;
}

//! Limits of this library: what a peer, a flood or a fault can cost the program.

use core::net::IpAddr;
use core::time::Duration;

dccp_proto::listed! {
/// ICMP errors that a socket reports in a second. Beyond them the kernel discards ICMP for this socket for
/// `ICMP_PAUSE` (4340-18-10), because each report costs a system call and hides another.
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
/// Bytes of datagrams that wait to be read in one connection, unless `Options::recv_buffer_bytes` says otherwise
/// (4340-18-9). This and the next are counted as memory that is allocated. Datagrams beyond a limit are dropped, and
/// reported to the peer (Drop Code 2).
pub const RECV_BYTES_CONNECTION: u64 = 4 << 20;
/// The same, while the connection waits to be accepted.
pub const RECV_BYTES_UNACCEPTED: u64 = 64 << 10;
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
/// Memory that waits for further datagrams counts as if data waited in it. It is kept only while no budget has used more than
/// this part: a half.
pub const SPARE_SHARE: u64 = 2;
}

/// The source that limits count for an address: an IPv4 address, or the first 64 bits of an IPv6 address, because one
/// customer of a provider has all addresses that begin with them.
pub fn source_of(ip: IpAddr) -> IpAddr {
    match ip.to_canonical() {
        IpAddr::V6(v6) => IpAddr::V6((v6.to_bits() & !u128::from(u64::MAX)).into()),
        v4 @ IpAddr::V4(_) => v4,
    }
}

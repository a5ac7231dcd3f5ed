//! Counters of sockets that programs opened themselves.

/// How many datagrams the kernel dropped because the socket's receive buffer was full, or because their UDP checksum was
/// wrong; modulo 2^32. `None` where the system does not count them.
#[cfg(target_os = "linux")]
pub fn recv_drops(socket: &impl std::os::fd::AsFd) -> Option<u64> {
    let drops = crate::sys::sockopt::recv_drops(socket.as_fd());
    drops.ok().map(u64::from)
}

/// How many datagrams the kernel dropped because the socket's receive buffer was full, or because their UDP checksum was
/// wrong; modulo 2^32. `None` where the system does not count them.
#[cfg(not(target_os = "linux"))]
pub fn recv_drops<T>(_: &T) -> Option<u64> {
    None
}

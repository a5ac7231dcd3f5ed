//! Privileges of the calling thread.

/// Whether the thread may administer the network of this namespace (`CAP_NET_ADMIN`). It asks the kernel to do something that
/// needs the capability there: what `capget` reports may belong to a user namespace of the caller's own. On systems other than
/// Linux it may not, because they have no such capability.
pub(crate) fn administers_network() -> bool {
    #[cfg(target_os = "linux")]
    {
        use rustix::net::{AddressFamily, SocketType, socket, sockopt};
        /// Any size will do.
        const BYTES: usize = 4096;
        let socket = socket(AddressFamily::INET, SocketType::DGRAM, None);
        socket.is_ok_and(|s| sockopt::set_socket_recv_buffer_size_force(&s, BYTES).is_ok())
    }
    #[cfg(not(target_os = "linux"))]
    {
        false
    }
}

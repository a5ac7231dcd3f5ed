//! Properties of Unix sockets that no safe crate gives.

use crate::sys::sockopt;
use std::io;
use std::os::fd::BorrowedFd;

/// The process at the other end of a Unix socket when that was connected, by its numbers in our namespaces.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Peer {
    /// Process; 0: it has no number here.
    pub pid: u32,
    /// User.
    pub uid: u32,
    /// Group.
    pub gid: u32,
}

/// The process at the other end.
///
/// # Errors
/// When it is no Unix socket.
pub fn peer(socket: BorrowedFd<'_>) -> io::Result<Peer> {
    let [pid, uid, gid] = sockopt::peer_credentials(socket)?;
    Ok(Peer { pid, uid, gid })
}

/// Whether the other side has read all that a Unix socket has sent, descriptors included.
///
/// # Errors
/// Before Linux 4.12, which does not tell.
pub fn is_read(socket: BorrowedFd<'_>) -> io::Result<bool> {
    sockopt::unread(socket).map(|bytes| bytes == 0)
}

/// The most descriptors that the process may have open; `None` if the system does not tell.
pub fn descriptors_max() -> Option<u64> {
    crate::sys::limits::descriptors()
}

/// Refuses descriptors that are sent to a Unix socket, or to those that a listening one accepts.
///
/// # Errors
/// Before Linux 6.16, which has no such option.
pub fn refuse_descriptors(socket: BorrowedFd<'_>) -> io::Result<()> {
    sockopt::refuse_descriptors(socket)
}

//! The error queue of a socket (`MSG_ERRQUEUE`).
#![expect(unsafe_code, reason = "recvmsg with control messages")]

use core::mem::MaybeUninit;
use std::io::{self, IoSliceMut};
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsRawFd, BorrowedFd};

use socket2::{SockAddr, SockAddrStorage};

use super::cmsg::{Control, Extended, Received};

/// An entry of the queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Entry {
    /// The error; `None` for other entries, such as a transmit timestamp.
    pub(crate) error: Option<Extended>,
    /// Where the packet went that caused it.
    pub(crate) remote: Option<SocketAddr>,
    /// The address of this host that the ICMP message was sent to: the packet's source.
    pub(crate) local: Option<IpAddr>,
    /// Bytes of the packet's payload in the caller's buffer.
    pub(crate) len: usize,
}

/// Takes the oldest entry; `None` when there is none. The packet's payload, as far as it was
/// quoted, goes to `payload`.
pub(crate) fn recv(fd: BorrowedFd<'_>, payload: &mut [u8]) -> io::Result<Option<Entry>> {
    let mut control = Control::EMPTY;
    let mut iov = IoSliceMut::new(payload);
    // SAFETY: a `msghdr` is integers and pointers, for which all zeros are valid.
    let mut header: libc::msghdr = unsafe { MaybeUninit::zeroed().assume_init() };
    header.msg_iov = (&raw mut iov).cast();
    header.msg_iovlen = 1;
    control.attach_to(&mut header);

    let receive = |name: *mut SockAddrStorage, name_len: *mut libc::socklen_t| {
        header.msg_name = name.cast();
        header.msg_namelen = SockAddrStorage::zeroed().size_of();
        let flags = libc::MSG_ERRQUEUE | libc::MSG_DONTWAIT;
        // SAFETY: `header` points to a name, one buffer and control space that live through the
        // call, each with its true length.
        let n = unsafe { libc::recvmsg(fd.as_raw_fd(), &raw mut header, flags) };
        let len = usize::try_from(n).map_err(|_| io::Error::last_os_error())?;
        // SAFETY: `name_len` is the valid pointer that `try_init` gave.
        unsafe { name_len.write(header.msg_namelen) };
        Ok(len)
    };
    // SAFETY: the kernel writes an address of `name_len` bytes to `name`, or none and the length 0.
    match unsafe { SockAddr::try_init(receive) } {
        Ok((len, name)) => {
            let messages = Received::parse(control.used(&header));
            Ok(Some(Entry {
                error: messages.error,
                remote: name.as_socket(),
                local: messages.local,
                len,
            }))
        }
        Err(e) if e.kind() == io::ErrorKind::WouldBlock => Ok(None),
        Err(e) => Err(e),
    }
}

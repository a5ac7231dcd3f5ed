//! Unix sockets between programs and this host.

use core::time::Duration;
use dccprun_message::{HostKey, Role};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::sockopt::{Timeout, set_socket_send_buffer_size, set_socket_timeout};
use rustix::net::{
    AddressFamily, SocketAddrUnix, SocketFlags, SocketType, accept_with, bind, connect,
    getpeername, listen, socket_with,
};
use std::os::fd::OwnedFd;
use std::path::Path;

/// The longest datagram in bytes: a jumbo frame. Longer ones of the program are discarded.
pub(crate) const DATAGRAM_MAX: usize = 9216;
/// Bytes that wait for the program. The system may allow less.
const SEND_BUFFER: usize = 512 << 10;
/// Connections of programs that wait to be accepted here. The system may allow less.
const BACKLOG: i32 = 4096;

fn open(flags: SocketFlags) -> rustix::io::Result<OwnedFd> {
    let flags = flags | SocketFlags::CLOEXEC;
    socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None)
}

fn place(host: HostKey, role: Role) -> rustix::io::Result<SocketAddrUnix> {
    SocketAddrUnix::new_abstract_name(host.name(role).bytes())
}

/// A socket that accepts connections of programs without waiting.
pub(crate) fn listener(host: HostKey, role: Role) -> rustix::io::Result<OwnedFd> {
    let socket = open(SocketFlags::NONBLOCK)?;
    bind(&socket, &place(host, role)?)?;
    listen(&socket, BACKLOG)?;
    Ok(socket)
}

/// Checks that a server listens at a path.
pub(crate) fn probe(path: &Path) -> rustix::io::Result<()> {
    let socket = open(SocketFlags::NONBLOCK)?;
    match connect(&socket, &SocketAddrUnix::new(path)?) {
        // Many programs connect at once.
        Err(Errno::AGAIN) => Ok(()),
        connected => connected,
    }
}

/// Whether a socket of the program still has this name.
pub(crate) fn is_alive(host: HostKey, role: Role) -> bool {
    let probe = || bind(open(SocketFlags::empty())?, &place(host, role)?);
    // Without a descriptor for the probe, nothing is known.
    probe().is_err()
}

/// Whether a process has a DCCP socket of this host, by the kernel's list of names.
pub(crate) fn has_sockets(host: HostKey) -> bool {
    let Ok(list) = std::fs::read("/proc/net/unix") else {
        return false;
    };
    list.split(|byte| *byte == b'\n').any(|line| {
        // The name of an abstract address begins with @.
        let name = line.rsplit(|byte| *byte == b'@').next().unwrap_or_default();
        matches!(host.role(name), Some(Role::Socket(_)))
    })
}

/// A socket of this name, which then connects to a program's listener.
pub(crate) fn named(host: HostKey, role: Role) -> rustix::io::Result<OwnedFd> {
    let socket = open(SocketFlags::empty())?;
    bind(&socket, &place(host, role)?)?;
    enlarge(&socket);
    Ok(socket)
}

/// Connects to a program's listener; waits at most for `patience` for room in its backlog.
///
/// # Errors
/// `EAGAIN`: there is no room; `ECONNREFUSED`: the listener is closed.
pub(crate) fn dial(
    socket: &OwnedFd,
    host: HostKey,
    to: Role,
    patience: Duration,
) -> rustix::io::Result<()> {
    set_socket_timeout(socket, Timeout::Send, Some(patience))?;
    connect(socket, &place(host, to)?)?;
    set_socket_timeout(socket, Timeout::Send, None)
}

/// Makes room for batches towards the program.
fn enlarge(socket: &OwnedFd) {
    // A smaller buffer only costs system calls.
    let _ = set_socket_send_buffer_size(socket, SEND_BUFFER);
}

/// The next connection of a program, with the role of its socket.
pub(crate) fn accept(
    listener: &OwnedFd,
    host: HostKey,
) -> rustix::io::Result<(OwnedFd, Option<Role>)> {
    let socket = accept_with(listener, SocketFlags::CLOEXEC)?;
    let peer = getpeername(&socket)?;
    let peer = peer.and_then(|peer| SocketAddrUnix::try_from(peer).ok());
    let role = peer.and_then(|peer| host.role(peer.abstract_name()?));
    if let Some(Role::Socket(_)) = role {
        enlarge(&socket);
    }
    Ok((socket, role))
}

/// Waits until the program has closed its socket or shut it down for both directions, at most for `patience`. Returns
/// whether it has.
pub(crate) fn wait_for_hangup(socket: &OwnedFd, patience: Option<Duration>) -> bool {
    let timeout = patience.and_then(|time| Timespec::try_from(time).ok());
    let mut polled = [PollFd::new(socket, PollFlags::empty())];
    match poll(&mut polled, timeout.as_ref()) {
        Ok(_) => polled[0].revents().contains(PollFlags::HUP),
        Err(Errno::INTR) => false,
        // Without the memory to wait, the socket counts as closed.
        Err(_) => true,
    }
}

/// Waits until the program's socket has a message or its end.
pub(crate) fn wait_for_message(socket: &OwnedFd) {
    let mut polled = [PollFd::new(socket, PollFlags::IN)];
    if poll(&mut polled, None).is_err() {
        // Without the memory to wait, a thread must not use a core.
        std::thread::sleep(Duration::from_millis(1));
    }
}

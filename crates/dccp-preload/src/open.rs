//! Sockets, connections and listeners.

#![expect(unsafe_code, reason = "functions of the C library")]

use crate::host::{ask, ask_within, host, is_of, place, unix_socket};
use crate::{memory, native, ours};
use core::ffi::c_int;
use dccprun_message::{Family, HostKey, MPS_UNCONNECTED, Op, Role, SocketKey, address};
use libc::{AF_INET, AF_INET6, SOCK_CLOEXEC, SOCK_NONBLOCK, sockaddr, socklen_t};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::{BorrowedFd, IntoRawFd as _};
use rustix::io::Errno;
use rustix::net::sockopt::{
    Timeout, set_socket_send_buffer_size, set_socket_timeout, socket_send_buffer_size,
    socket_timeout,
};
use rustix::net::{SendFlags, SocketFlags};
use rustix::rand::{GetRandomFlags, getrandom};

const SOCK_DCCP: c_int = 6;
const IPPROTO_DCCP: c_int = 33;
/// Bytes of datagrams that wait in the program's Unix socket, which the kernel doubles. With 1200-byte datagrams these are
/// about 110: enough for a batch, few enough that data does not grow old.
const SEND_BUFFER: usize = 128 << 10;
/// The longest plug.
const PLUG_MAX: usize = 64 << 10;
/// More plugs than the largest buffer of a socket needs.
const PLUGS_MAX: c_int = 1024;

static PLUG: [u8; PLUG_MAX] = [0; PLUG_MAX];

/// Opens a socket; one of DCCP becomes a Unix socket.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn socket(domain: c_int, kind: c_int, protocol: c_int) -> c_int {
    let flags = kind & (SOCK_CLOEXEC | SOCK_NONBLOCK);
    let is_dccp = kind & !flags == SOCK_DCCP && matches!(protocol, 0 | IPPROTO_DCCP);
    let family = match domain {
        AF_INET => Some(Family::V4),
        AF_INET6 => Some(Family::V6),
        _ => None,
    };
    match (host(), family) {
        (Some(host), Some(family)) if is_dccp => match make(host, family, flags) {
            Ok(fd) => fd,
            Err(error) => native::fail(error.raw_os_error()),
        },
        _ => {
            // SAFETY: the caller keeps the contract of the function.
            let fd = unsafe { native::socket(domain, kind, protocol) };
            ours::mark_foreign(fd);
            fd
        }
    }
}

/// A Unix socket with the name of a new DCCP socket.
fn make(host: HostKey, family: Family, flags: c_int) -> Result<c_int, Errno> {
    let mut socket_flags = SocketFlags::empty();
    socket_flags.set(SocketFlags::CLOEXEC, flags & SOCK_CLOEXEC != 0);
    socket_flags.set(SocketFlags::NONBLOCK, flags & SOCK_NONBLOCK != 0);
    let socket = unix_socket(socket_flags)?;
    set_socket_send_buffer_size(&socket, SEND_BUFFER)?;
    loop {
        let mut number = [0; 8];
        getrandom(&mut number, GetRandomFlags::empty())?;
        let number = u64::from_ne_bytes(number);
        let name = place(host, Role::Socket(SocketKey { family, number }))?;
        match rustix::net::bind(&socket, &name) {
            Ok(()) => break,
            Err(Errno::ADDRINUSE) => {}
            Err(error) => return Err(error),
        }
    }
    let fd = socket.into_raw_fd();
    ours::forget(fd);
    ours::mark_ours(fd, MPS_UNCONNECTED);
    Ok(fd)
}

/// Gives a socket its address.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bind(fd: c_int, addr: *const sockaddr, len: socklen_t) -> c_int {
    let Some(key) = ours::key(fd) else {
        // SAFETY: the caller keeps the contract of the function.
        return unsafe { native::bind(fd, addr, len) };
    };
    // SAFETY: the program promises `len` bytes at `addr`.
    let local = unsafe { memory::read_local(key.family, addr, len) };
    native::outcome(local.and_then(|local| ask(Op::Bind, key, 0, &address(local)).map(drop)))
}

/// Makes a socket a listener.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn listen(fd: c_int, backlog: c_int) -> c_int {
    // The host may connect to this socket even before it answers.
    // SAFETY: the caller keeps the contract of the function.
    let listening = unsafe { native::listen(fd, backlog) };
    if listening == 0
        && let Some(key) = ours::key(fd)
        && let Err(error) = ask(Op::Listen, key, backlog, &[])
    {
        // The Unix socket stays a listener, to which the host does not connect.
        return native::fail(error);
    }
    listening
}

/// Connects a socket to a peer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn connect(fd: c_int, addr: *const sockaddr, len: socklen_t) -> c_int {
    let (Some(key), Some(socket)) = (ours::key(fd), ours::borrow(fd)) else {
        // SAFETY: the caller keeps the contract of the function.
        return unsafe { native::connect(fd, addr, len) };
    };
    // SAFETY: the program promises `len` bytes at `addr`.
    let remote = unsafe { memory::read_address(key.family, addr, len) };
    // The peer's connection tells the new greatest length.
    ours::forget(fd);
    native::outcome(remote.and_then(|remote| {
        // A DCCP socket cannot go back to the unconnected state here.
        let remote = remote.ok_or(libc::EOPNOTSUPP)?;
        connect_to(socket, key, &address(remote))
    }))
}

/// Connects to the host, and has it connect to the peer.
fn connect_to(socket: BorrowedFd<'_>, key: SocketKey, remote: &[u8]) -> Result<(), c_int> {
    let host = host().ok_or(libc::ENETDOWN)?;
    let raw = |error: Errno| error.raw_os_error();
    let plugs = match rustix::net::connect(socket, &place(host, Role::Data).map_err(raw)?) {
        Ok(()) => plug(socket)?,
        // The host knows whether the handshake goes on, or has ended.
        Err(Errno::ISCONN) => 0,
        Err(Errno::CONNREFUSED) => return Err(libc::ENETDOWN),
        Err(error) => return Err(raw(error)),
    };
    let flags = rustix::fs::fcntl_getfl(socket).map_err(raw)?;
    if flags.contains(rustix::fs::OFlags::NONBLOCK) {
        return ask(Op::ConnectLater, key, plugs, remote).map(drop);
    }
    let timeout = socket_timeout(socket, Timeout::Send).map_err(raw)?;
    match ask_within(Op::Connect, key, plugs, remote, timeout) {
        // The handshake goes on, as in the kernel.
        Err(libc::EAGAIN) => Err(libc::EINPROGRESS),
        asked => asked.map(drop),
    }
}

/// Fills the socket until it is not writable, so that `poll` reports the end of the handshake: then the host reads the plugs.
/// Returns how many there are.
fn plug(socket: BorrowedFd<'_>) -> Result<c_int, c_int> {
    let raw = |error: Errno| error.raw_os_error();
    let buffer = socket_send_buffer_size(socket).map_err(raw)?;
    // The kernel calls a Unix socket writable while a quarter of its buffer is not exceeded.
    let size = PLUG_MAX.min(buffer / 4 + 1);
    let now = Timespec::default();
    let mut plugs = 0;
    while plugs < PLUGS_MAX {
        let mut polled = [PollFd::new(&socket, PollFlags::OUT)];
        poll(&mut polled, Some(&now)).map_err(raw)?;
        if !polled[0].revents().contains(PollFlags::OUT) {
            break;
        }
        let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
        match rustix::net::send(socket, &PLUG[..size], flags) {
            Ok(_) => plugs += 1,
            Err(Errno::AGAIN) => break,
            Err(error) => return Err(raw(error)),
        }
    }
    Ok(plugs)
}

/// Whether a call that reads would not wait.
fn is_readable(socket: BorrowedFd<'_>) -> bool {
    let mut polled = [PollFd::new(&socket, PollFlags::IN)];
    matches!(poll(&mut polled, Some(&Timespec::default())), Ok(1))
}

/// Checks that there are two free descriptors: a connection takes one, and the question about its peer another.
fn check_descriptors(listener: BorrowedFd<'_>) -> Result<(), Errno> {
    let _first = rustix::io::fcntl_dupfd_cloexec(listener, 0)?;
    rustix::io::fcntl_dupfd_cloexec(listener, 0).map(drop)
}

/// Accepts a connection.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn accept(fd: c_int, addr: *mut sockaddr, len: *mut socklen_t) -> c_int {
    // SAFETY: the caller keeps the contract of the function.
    unsafe { accept4(fd, addr, len, 0) }
}

/// Gives an accepted socket the times that calls on its listener wait, as the kernel does. Without them it waits for ever.
fn inherit_timeouts(listener: BorrowedFd<'_>, socket: BorrowedFd<'_>) {
    for side in [Timeout::Recv, Timeout::Send] {
        if let Ok(time @ Some(_)) = socket_timeout(listener, side) {
            let _ = set_socket_timeout(socket, side, time);
        }
    }
}

/// As [`accept`], with flags.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn accept4(
    fd: c_int,
    addr: *mut sockaddr,
    len: *mut socklen_t,
    flags: c_int,
) -> c_int {
    let (Some(host), Some(_), Some(listener)) = (host(), ours::key(fd), ours::borrow(fd)) else {
        // SAFETY: the caller keeps the contract of the function.
        let accepted = unsafe { native::accept4(fd, addr, len, flags) };
        ours::mark_foreign(accepted);
        return accepted;
    };
    // Without descriptors the connection still waits.
    if !addr.is_null()
        && let Err(error) = check_descriptors(listener)
    {
        return native::fail(error.raw_os_error());
    }
    loop {
        let none = core::ptr::null_mut();
        // SAFETY: without an address, nothing is stored.
        let accepted = unsafe { native::accept4(fd, none, core::ptr::null_mut(), flags) };
        let Some(socket) = ours::borrow(accepted) else {
            return accepted;
        };
        ours::forget(accepted);
        inherit_timeouts(listener, socket);
        if !is_of(socket, host) {
            // Another user's process has connected to the listener's name.
            // SAFETY: the descriptor is new, and known to no one else.
            unsafe { native::close(accepted) };
            if !is_readable(listener) {
                // The program may have waited for this one, and would now wait for ever.
                return native::fail(libc::ECONNABORTED);
            }
            continue;
        }
        if !addr.is_null() {
            // SAFETY: the program's pointers.
            let told = unsafe { crate::address::store_peer(accepted, addr, len) };
            // A peer that has gone again has no address; the kernel's DCCP accepts it too.
            if let Err(error) = told
                && error != libc::ENOTCONN
            {
                // SAFETY: as above.
                unsafe { native::close(accepted) };
                return native::fail(error);
            }
        }
        return accepted;
    }
}

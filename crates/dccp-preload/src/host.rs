//! Requests to `dccprun`: each is a connection of its own, so that nothing is shared after a fork.

#![expect(unsafe_code, reason = "reads the environment of a C program")]

use crate::native;
use core::cell::UnsafeCell;
use core::ffi::CStr;
use core::mem::MaybeUninit;
use core::sync::atomic::{AtomicU8, Ordering};
use core::time::Duration;
use dccprun_message::{Answer, HostKey, MESSAGE_MAX, Op, Request, Role, SocketKey, VARIABLE};
use libc::{ENETDOWN, c_int};
use rustix::cmsg_space;
use rustix::fd::{AsFd, OwnedFd};
use rustix::io::Errno;
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendFlags, SocketAddrUnix,
    SocketFlags, SocketType, connect, recv, recvmsg, send, socket_with,
};
use std::io::IoSliceMut;

/// The host of this process, once the environment has been read.
struct Known {
    /// One of the constants below.
    state: AtomicU8,
    host: UnsafeCell<Option<HostKey>>,
}

const UNREAD: u8 = 0;
const READING: u8 = 1;
const READ: u8 = 2;

// SAFETY: `host` is written once, by the thread that moved `state` from UNREAD to READING, and read only after READ.
unsafe impl Sync for Known {}

static KNOWN: Known = Known {
    state: AtomicU8::new(UNREAD),
    host: UnsafeCell::new(None),
};

/// The host that serves this process; `None`: `dccprun` has not started it. The first call decides.
pub(crate) fn host() -> Option<HostKey> {
    if KNOWN.state.load(Ordering::Acquire) == READ {
        // SAFETY: nothing writes after READ.
        return unsafe { *KNOWN.host.get() };
    }
    let found = read_environment();
    let begun = KNOWN
        .state
        .compare_exchange(UNREAD, READING, Ordering::Acquire, Ordering::Relaxed);
    if begun.is_ok() {
        // SAFETY: only the thread that moved the state to READING writes.
        unsafe { *KNOWN.host.get() = found };
        KNOWN.state.store(READ, Ordering::Release);
    }
    found
}

fn read_environment() -> Option<HostKey> {
    let mut name = [0; VARIABLE.len() + 1];
    name[..VARIABLE.len()].copy_from_slice(VARIABLE.as_bytes());
    // SAFETY: the name is a C string.
    let value = unsafe { libc::getenv(name.as_ptr().cast()) };
    if value.is_null() {
        return None;
    }
    // SAFETY: the C library returns a C string, which nothing changes while this call runs.
    let value = unsafe { CStr::from_ptr(value) };
    HostKey::parse(value.to_bytes())
}

/// Reads the environment before the program can change it, and finds the functions that this library replaces.
#[used]
#[unsafe(link_section = ".init_array")]
static START: extern "C" fn() = start;

extern "C" fn start() {
    host();
    native::find_all();
}

/// A new Unix socket, as all sockets between programs and the host are.
pub(crate) fn unix_socket(flags: SocketFlags) -> Result<OwnedFd, Errno> {
    socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None)
}

/// The address of one of the host's sockets, or of one of this program's.
pub(crate) fn place(host: HostKey, role: Role) -> Result<SocketAddrUnix, Errno> {
    SocketAddrUnix::new_abstract_name(host.name(role).bytes())
}

/// Sends a request and waits for the answer.
///
/// # Errors
/// The error number of the answer; `ENETDOWN`: the host has ended.
pub(crate) fn ask(op: Op, key: SocketKey, argument: c_int, body: &[u8]) -> Result<Answer, c_int> {
    ask_within(op, key, argument, body, None)
}

/// Sends a request and waits for the answer, at most for `timeout`.
///
/// # Errors
/// As [`ask`]; `EAGAIN`: the time is over; `EINTR`: a signal arrived, whose handler does not restart calls.
pub(crate) fn ask_within(
    op: Op,
    key: SocketKey,
    argument: c_int,
    body: &[u8],
    timeout: Option<Duration>,
) -> Result<Answer, c_int> {
    let request = Request {
        op,
        key,
        argument,
        body,
    };
    let channel = request_over_channel(&request)?;
    if timeout.is_some() {
        set_socket_timeout(&channel, Timeout::Recv, timeout).map_err(Errno::raw_os_error)?;
    }
    let mut buffer = [0; MESSAGE_MAX];
    let len = loop {
        match recv(&channel, &mut buffer, RecvFlags::empty()) {
            Ok((len, _)) => break len,
            // The kernel's calls for options and names do not wait, so no signal interrupts them.
            Err(Errno::INTR) if op != Op::Connect => {}
            Err(error @ (Errno::INTR | Errno::AGAIN)) => return Err(error.raw_os_error()),
            Err(_) => return Err(ENETDOWN),
        }
    };
    let answer = buffer.get(..len).and_then(Answer::parse).ok_or(ENETDOWN)?;
    answer.result()?;
    Ok(answer)
}

/// Sends a request and waits for the descriptor that comes with the answer.
///
/// # Errors
/// As [`ask`].
pub(crate) fn ask_for_descriptor(op: Op, key: SocketKey) -> Result<OwnedFd, c_int> {
    let request = Request {
        op,
        key,
        argument: 0,
        body: &[],
    };
    let channel = request_over_channel(&request)?;
    let mut buffer = [0; MESSAGE_MAX];
    let mut space = [MaybeUninit::uninit(); cmsg_space!(ScmRights(1))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let parts = &mut [IoSliceMut::new(&mut buffer)];
    let receive = || recvmsg(&channel, parts, &mut ancillary, RecvFlags::CMSG_CLOEXEC);
    let received = rustix::io::retry_on_intr(receive);
    let len = received.map_err(|_| ENETDOWN)?.bytes;
    let descriptor = ancillary.drain().find_map(|message| match message {
        RecvAncillaryMessage::ScmRights(mut descriptors) => descriptors.next(),
        _ => None,
    });
    let answer = buffer.get(..len).and_then(Answer::parse).ok_or(ENETDOWN)?;
    answer.result()?;
    descriptor.ok_or(libc::EMFILE)
}

/// Sends a request over a connection of its own.
fn request_over_channel(request: &Request<'_>) -> Result<OwnedFd, c_int> {
    let host = host().ok_or(ENETDOWN)?;
    let mut buffer = [0; MESSAGE_MAX];
    let message = request.build(&mut buffer).ok_or(libc::EINVAL)?;
    let channel = open(host)?;
    send(&channel, message, SendFlags::NOSIGNAL).map_err(|_| ENETDOWN)?;
    Ok(channel)
}

/// Connects to the host. The name can be taken by another user's process after the host's end.
fn open(host: HostKey) -> Result<OwnedFd, c_int> {
    let channel = unix_socket(SocketFlags::CLOEXEC).map_err(Errno::raw_os_error)?;
    let place = place(host, Role::Control).map_err(Errno::raw_os_error)?;
    while let Err(error) = connect(&channel, &place) {
        if error != Errno::INTR {
            return Err(ENETDOWN);
        }
    }
    if is_of(&channel, host) {
        Ok(channel)
    } else {
        Err(ENETDOWN)
    }
}

/// Whether the process at the other end belongs to the host's user.
pub(crate) fn is_of(socket: impl AsFd, host: HostKey) -> bool {
    let peer = rustix::net::sockopt::socket_peercred(socket);
    peer.is_ok_and(|peer| peer.uid.as_raw() == host.uid)
}

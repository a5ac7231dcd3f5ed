//! Datagrams on their way to the program.
//!
//! The socket carries datagrams until the host has the queue, and then bells. Behind the first bell there are no datagrams
//! in the socket.

#![expect(unsafe_code, reason = "functions of the C library")]

use super::{ask_for_queue, find};
use crate::host::{ask, ask_for_descriptor, host};
use crate::mapped::RECEIVERS;
use crate::{native, ours};
use core::ffi::c_int;
use core::ops::ControlFlow;
use dccprun_message::{BELL_LEN, Op, SocketKey};
use dccprun_queue::inward::{Consumer, Mode};
use dccprun_queue::table::{Absent, Used};
use libc::{MSG_DONTWAIT, MSG_OOB, MSG_PEEK, MSG_TRUNC, msghdr, ssize_t};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::OFlags;
use rustix::io::Errno;
use rustix::net::RecvFlags;

/// Looks at the socket that only yield the processor, while another thread has a bell in hand. Later ones sleep 1 ms.
const LOOKS: u32 = 1000;
/// Looks of a call that does not wait. It may be in a signal handler that has interrupted that thread.
const LOOKS_NONBLOCKING: u32 = 10;
/// Waits of 10 ms for a bell that is on its way, if its sender does not run.
const BELL_WAITS: u32 = 100;

/// The next message of a socket.
enum Found {
    Bell,
    /// A datagram, or the end.
    Other,
}

fn attach(_: c_int, key: SocketKey) -> Result<Consumer, Absent> {
    let queue = ask_for_queue(key, Op::ReceiveQueue)?;
    let queue = Consumer::attach(queue).map_err(|_| Absent::Always)?;
    // Only now there is a place in the table, so that this process will use it.
    queue.want();
    Ok(queue)
}

/// Receives a message by the queue of a DCCP socket; `None`: the socket has it. Errors are in `errno`.
///
/// # Safety
/// The message and its parts are valid.
pub(crate) unsafe fn receive(fd: c_int, header: *mut msghdr, flags: c_int) -> Option<ssize_t> {
    if header.is_null() || flags & MSG_OOB != 0 || !ours::is_ours(fd) {
        return None;
    }
    let bell = host()?.bell();
    let mut look_flags = RecvFlags::PEEK;
    look_flags.set(RecvFlags::DONTWAIT, flags & MSG_DONTWAIT != 0);
    let queue = loop {
        if let Some(queue) = find(&RECEIVERS, fd, attach) {
            break queue;
        }
        // SAFETY: the caller promises a message.
        let received = unsafe { without_queue(fd, header, flags, look_flags, &bell) };
        if let ControlFlow::Break(received) = received {
            return received;
        }
    };
    let mut looks = 0;
    loop {
        // Only then there are no datagrams in the socket any more. Another thread may switch while this one looks.
        let was_switched = queue.is_switched();
        if was_switched
            // SAFETY: the caller promises a message.
            && let Some(received) = unsafe { take(&queue, fd, header, flags, &bell) }
        {
            return Some(received);
        }
        // One that is switched may have been filled since.
        let is_empty = queue.begin_waiting();
        let found = if is_empty || !was_switched {
            Some(look(fd, look_flags, &bell))
        } else {
            None
        };
        queue.end_waiting();
        let Some(found) = found else { continue };
        match found {
            Err(Errno::NOTSOCK) => return foreign(fd),
            Err(error) => return Some(native::fail(error.raw_os_error()) as ssize_t),
            Ok(Found::Bell) if !queue.is_switched() => queue.switch(),
            Ok(Found::Bell) => {
                // Another thread has taken the datagrams, and reads the bell now.
                queue.settle(|| read_bell(fd, &queue, &bell));
                if looks > LOOKS_NONBLOCKING && is_nonblocking(fd, flags) {
                    return Some(native::fail(libc::EAGAIN) as ssize_t);
                }
                pause(&mut looks);
            }
            // The end.
            Ok(Found::Other) if was_switched && queue.is_empty() => return None,
            // Another thread has switched, or the host has filled the queue before the end.
            Ok(Found::Other) if queue.is_switched() => {}
            Ok(Found::Other) => {
                if queue.begin_reading() || looks > LOOKS {
                    // SAFETY: as above.
                    let received = unsafe { by_socket(fd, header, flags, &bell) };
                    queue.end_reading();
                    if received.is_some() {
                        return received;
                    }
                }
                pause(&mut looks);
            }
        }
    }
}

/// The hint was stale: the number stands for a file now.
fn foreign(fd: c_int) -> Option<ssize_t> {
    ours::mark_foreign(fd);
    None
}

/// Receives a datagram that the socket has carried, or the end, while no other thread does; `None`: there is none any more.
///
/// # Safety
/// The message and its parts are valid.
unsafe fn by_socket(
    fd: c_int,
    header: *mut msghdr,
    flags: c_int,
    bell: &[u8; BELL_LEN],
) -> Option<ssize_t> {
    let found = look(fd, RecvFlags::PEEK | RecvFlags::DONTWAIT, bell);
    if !matches!(found, Ok(Found::Other)) {
        return None;
    }
    // SAFETY: the caller promises a message.
    let received = unsafe { native::recvmsg(fd, header, flags | MSG_DONTWAIT) };
    (received >= 0 || native::errno() != libc::EAGAIN).then_some(received)
}

/// Takes a datagram from the queue; `None`: there is none.
///
/// # Safety
/// The message and its parts are valid.
unsafe fn take(
    queue: &Used<'_, Consumer>,
    fd: c_int,
    header: *mut msghdr,
    flags: c_int,
    bell: &[u8; BELL_LEN],
) -> Option<ssize_t> {
    // SAFETY: the caller promises a message.
    let header = unsafe { &mut *header };
    let mode = if flags & MSG_PEEK == 0 {
        Mode::Take
    } else {
        Mode::Peek
    };
    // SAFETY: the caller promises the parts.
    let (len, room) = unsafe { copy(queue, mode, header)? };
    if mode == Mode::Take {
        queue.settle(|| read_bell(fd, queue, bell));
        if queue.leaves_waiters(|| read_bell(fd, queue, bell))
            && let Some(key) = ours::key(fd)
        {
            // If this fails, they sleep on until the queue has been empty once.
            let _ = ask(Op::Bell, key, 0, &[]);
        }
    }
    header.msg_namelen = 0;
    header.msg_controllen = 0;
    header.msg_flags = if len > room { MSG_TRUNC } else { 0 };
    let told = if flags & MSG_TRUNC == 0 {
        len.min(room)
    } else {
        len
    };
    ssize_t::try_from(told).ok()
}

/// Copies a datagram into the parts of a message. Returns its length, and that of the parts.
unsafe fn copy(queue: &Consumer, mode: Mode, header: &msghdr) -> Option<(usize, usize)> {
    let part = |index: usize| {
        // SAFETY: the caller promises this many parts.
        let part = unsafe { header.msg_iov.add(index) };
        // SAFETY: as above.
        let part = unsafe { part.read() };
        if part.iov_base.is_null() {
            return &mut [][..];
        }
        // SAFETY: the caller promises the bytes, which nothing else uses during the call.
        unsafe { core::slice::from_raw_parts_mut(part.iov_base.cast::<u8>(), part.iov_len) }
    };
    if header.msg_iovlen == 1 {
        let room = part(0);
        return Some((queue.receive(mode, room)?, room.len()));
    }
    let parts = || (0..header.msg_iovlen).map(part);
    let room = parts().map(|part| part.len()).sum();
    let len = queue.receive_parts(mode, |offset, bytes| {
        let mut skipped = 0;
        for part in parts() {
            // The place of `bytes` in this part, in bytes of the datagram.
            let (start, end) = (skipped, skipped + part.len());
            skipped = end;
            let (from, to) = (offset.max(start), (offset + bytes.len()).min(end));
            if from < to {
                part[from - start..to - start].copy_from_slice(&bytes[from - offset..to - offset]);
            }
        }
    })?;
    Some((len, room))
}

/// Receives by the socket of a connection without a queue here, as [`receive`]; `Continue`: look again.
///
/// # Safety
/// The message and its parts are valid.
unsafe fn without_queue(
    fd: c_int,
    header: *mut msghdr,
    flags: c_int,
    look_flags: RecvFlags,
    bell: &[u8; BELL_LEN],
) -> ControlFlow<Option<ssize_t>> {
    let found = look(fd, look_flags, bell);
    if matches!(found, Ok(Found::Bell)) {
        RECEIVERS.look_again(fd);
    }
    // Meanwhile another thread may have got the queue, and then it reads the socket.
    if found.is_ok() && find(&RECEIVERS, fd, attach).is_some() {
        return ControlFlow::Continue(());
    }
    let error = match found {
        Err(Errno::NOTSOCK) => return ControlFlow::Break(foreign(fd)),
        Err(error) => error.raw_os_error(),
        // The bell stays for the descriptor that has the queue.
        Ok(Found::Bell) if has_ended(fd) => {
            // SAFETY: the caller promises a message.
            let header = unsafe { &mut *header };
            header.msg_namelen = 0;
            header.msg_controllen = 0;
            header.msg_flags = 0;
            return ControlFlow::Break(Some(0));
        }
        // Another process uses the queue, and this one has no room for it now.
        Ok(Found::Bell) => libc::ENOBUFS,
        Ok(Found::Other) => {
            // SAFETY: the caller promises a message.
            let received = unsafe { native::recvmsg(fd, header, flags | MSG_DONTWAIT) };
            let is_gone = received < 0 && native::errno() == libc::EAGAIN;
            return if is_gone && !is_nonblocking(fd, flags) {
                // Another thread has taken it.
                ControlFlow::Continue(())
            } else {
                ControlFlow::Break(Some(received))
            };
        }
    };
    ControlFlow::Break(Some(native::fail(error) as ssize_t))
}

/// Whether a connection is over: the host says so, or has ended itself.
fn has_ended(fd: c_int) -> bool {
    let (Some(key), Some(socket)) = (ours::key(fd), ours::borrow(fd)) else {
        return false;
    };
    match ask_for_descriptor(Op::ReceiveQueue, key) {
        Err(libc::ENOTCONN) => true,
        Err(libc::ENETDOWN) => {
            let mut polled = [PollFd::new(&socket, PollFlags::empty())];
            let hung_up = poll(&mut polled, Some(&Timespec::default())).is_ok();
            hung_up && polled[0].revents().contains(PollFlags::HUP)
        }
        _ => false,
    }
}

/// The length of the next datagram in the queue, 0 without one; `None`: the socket knows.
pub(crate) fn next_len(fd: c_int) -> Option<usize> {
    let queue = RECEIVERS.known(fd)?;
    if !queue.is_switched() {
        let found = look(fd, RecvFlags::PEEK | RecvFlags::DONTWAIT, &host()?.bell());
        if !matches!(found, Ok(Found::Bell)) {
            return None;
        }
        queue.switch();
    }
    Some(queue.receive(Mode::Peek, &mut []).unwrap_or(0))
}

/// Whether calls on a socket do not wait.
fn is_nonblocking(fd: c_int, flags: c_int) -> bool {
    let of_socket = ours::borrow(fd).and_then(|fd| rustix::fs::fcntl_getfl(fd).ok());
    flags & MSG_DONTWAIT != 0 || of_socket.is_some_and(|flags| flags.contains(OFlags::NONBLOCK))
}

/// Looks at the next message of the socket.
fn look(fd: c_int, flags: RecvFlags, bell: &[u8; BELL_LEN]) -> Result<Found, Errno> {
    let socket = ours::borrow(fd).ok_or(Errno::BADF)?;
    // A longer message is none.
    let mut message = [0; BELL_LEN + 1];
    let (len, _) = rustix::net::recv(socket, &mut message[..], flags)?;
    Ok(if message.get(..len) == Some(&bell[..]) {
        Found::Bell
    } else {
        Found::Other
    })
}

/// Reads a bell that this thread has claimed. It may still be on its way, but not for long.
fn read_bell(fd: c_int, queue: &Consumer, bell: &[u8; BELL_LEN]) {
    for _ in 0..BELL_WAITS {
        let Some(socket) = ours::borrow(fd) else {
            return;
        };
        // Another thread may have closed the descriptor, which then stands for something else.
        let known = RECEIVERS.known(fd);
        if !known.is_some_and(|known| core::ptr::eq(&raw const *known, queue)) {
            return;
        }
        match look(fd, RecvFlags::PEEK | RecvFlags::DONTWAIT, bell) {
            Ok(Found::Bell) => {
                let read = rustix::net::recv(socket, &mut [0; 1][..], RecvFlags::DONTWAIT);
                if read.is_ok() {
                    return;
                }
            }
            // The connection has ended without it.
            Ok(Found::Other) => return,
            Err(Errno::AGAIN) => {
                let moment = Timespec {
                    tv_sec: 0,
                    tv_nsec: 10_000_000,
                };
                let _ = poll(&mut [PollFd::new(&socket, PollFlags::IN)], Some(&moment));
            }
            Err(_) => {}
        }
    }
}

/// Lets other threads go on.
fn pause(looks: &mut u32) {
    *looks += 1;
    if *looks < LOOKS {
        rustix::thread::sched_yield();
    } else {
        // One of them was killed, or does not run.
        let _ = rustix::thread::nanosleep(&Timespec {
            tv_sec: 0,
            tv_nsec: 1_000_000,
        });
    }
}

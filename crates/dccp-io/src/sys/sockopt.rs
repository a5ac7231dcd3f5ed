//! Socket options.
#![expect(
    unsafe_code,
    reason = "getsockopt and setsockopt for options that no safe crate has"
)]

use core::mem::size_of;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

use libc::{c_int, socklen_t};

use crate::versions::Versions;

/// Words of `SO_MEMINFO`; among them bytes queued in the host, the send buffer's size, datagrams dropped.
const MEMINFO_WORDS: usize = 9;
const MEMINFO_SEND_ALLOCATED: usize = 2;
const MEMINFO_SEND_BUFFER: usize = 3;
const MEMINFO_DROPS: usize = 8;
const TCP_INFO_WORDS: usize = 58;
/// The `libc` crate has it for one processor only.
const SO_PASSRIGHTS: c_int = 83;

/// Whether routers, and this host, may fragment what the socket sends.
///
/// "Never" is the kernel's probe mode: DF is set and only the interface's MTU counts, since path
/// MTUs are the core's business (4340-14.1-3: an ICMP message must be checked first).
pub(crate) fn set_may_fragment(fd: BorrowedFd<'_>, of: Versions, may: bool) -> io::Result<()> {
    let mode = if may {
        libc::IP_PMTUDISC_DONT
    } else {
        libc::IP_PMTUDISC_PROBE
    };
    if of.has_v6() {
        set(fd, libc::IPPROTO_IPV6, libc::IPV6_MTU_DISCOVER, mode)?;
        set(
            fd,
            libc::IPPROTO_IPV6,
            libc::IPV6_DONTFRAG,
            c_int::from(!may),
        )?;
    }
    if of.has_v4() {
        set(fd, libc::IPPROTO_IP, libc::IP_MTU_DISCOVER, mode)?;
    }
    Ok(())
}

/// Makes a raw socket tell ECN marks, local addresses, arrival times and errors; unfragmentable.
pub(crate) fn prepare_raw(fd: BorrowedFd<'_>, of: Versions) -> io::Result<()> {
    set_icmp_reports(fd, of, true)?;
    if of.has_v6() {
        let level = libc::IPPROTO_IPV6;
        set(fd, level, libc::IPV6_RECVTCLASS, 1)?;
        set(fd, level, libc::IPV6_RECVPKTINFO, 1)?;
        // The kernel must not touch the checksum: it may cover a part of the packet only.
        set(fd, level, libc::IPV6_CHECKSUM, -1)?;
    } else {
        // The IP header, which the socket gives, has the mark.
        set(fd, libc::IPPROTO_IP, libc::IP_PKTINFO, 1)?;
    }
    set_timestamps(fd, true)?;
    set_may_fragment(fd, of, false)
}

/// Whether the socket queues ICMP errors and fails its next call with them. Off: the queue is emptied, and ICMP is ignored
/// because the socket has no peer. One error that is pending already stays.
pub(crate) fn set_icmp_reports(fd: BorrowedFd<'_>, of: Versions, on: bool) -> io::Result<()> {
    if of.has_v6() {
        set(fd, libc::IPPROTO_IPV6, libc::IPV6_RECVERR, c_int::from(on))?;
    }
    if of.has_v4() {
        set(fd, libc::IPPROTO_IP, libc::IP_RECVERR, c_int::from(on))?;
    }
    Ok(())
}

/// Sets the receive buffer in bytes, beyond the system's limit where we may.
pub(crate) fn set_recv_buffer(fd: BorrowedFd<'_>, bytes: usize) -> io::Result<()> {
    let bytes = c_int::try_from(bytes).unwrap_or(c_int::MAX);
    set(fd, libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, bytes)
        .or_else(|_| set(fd, libc::SOL_SOCKET, libc::SO_RCVBUF, bytes))
}

/// Sets the send buffer in bytes, beyond the system's limit where we may.
pub(crate) fn set_send_buffer(fd: BorrowedFd<'_>, bytes: usize) -> io::Result<()> {
    let bytes = c_int::try_from(bytes).unwrap_or(c_int::MAX);
    set(fd, libc::SOL_SOCKET, libc::SO_SNDBUFFORCE, bytes)
        .or_else(|_| set(fd, libc::SOL_SOCKET, libc::SO_SNDBUF, bytes))
}

/// Switches the kernel's receive timestamps on or off.
pub(crate) fn set_timestamps(fd: BorrowedFd<'_>, on: bool) -> io::Result<()> {
    set(fd, libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, c_int::from(on))
}

/// Process, user and group at the other end of a Unix socket. (The kernel has no process number for who is in another
/// namespace, and says 0: a type that has no 0 must not be filled by it.)
pub(crate) fn peer_credentials(fd: BorrowedFd<'_>) -> io::Result<[u32; 3]> {
    let mut words = [0; 3];
    get(fd, libc::SOL_SOCKET, libc::SO_PEERCRED, &mut words)?;
    Ok(words)
}

/// Refuses descriptors that others send to a Unix socket (Linux 6.16).
pub(crate) fn refuse_descriptors(fd: BorrowedFd<'_>) -> io::Result<()> {
    set(fd, libc::SOL_SOCKET, SO_PASSRIGHTS, 0)
}

/// How many datagrams the kernel dropped at this socket because its buffer was full, modulo 2^32.
///
/// `SO_MEMINFO` tells the same number that `SO_RXQ_OVFL` would put into every message, but only
/// when asked.
pub(crate) fn recv_drops(fd: BorrowedFd<'_>) -> io::Result<u32> {
    Ok(meminfo(fd)?[MEMINFO_DROPS])
}

/// Whether a poller would call the socket writable: less than half of its send buffer is in use.
pub(crate) fn has_room(fd: BorrowedFd<'_>) -> io::Result<bool> {
    let words = meminfo(fd)?;
    Ok(words[MEMINFO_SEND_ALLOCATED] < words[MEMINFO_SEND_BUFFER] / 2)
}

/// Bytes that wait in the host: on a Unix socket those that the other side has not read, with what the kernel needs for them.
pub(crate) fn unread(fd: BorrowedFd<'_>) -> io::Result<u32> {
    Ok(meminfo(fd)?[MEMINFO_SEND_ALLOCATED])
}

/// Words of `TCP_INFO`; the crate `libc` names the first half. Words that an older kernel lacks are 0.
pub(crate) fn tcp_info(fd: BorrowedFd<'_>) -> io::Result<[u32; TCP_INFO_WORDS]> {
    let mut words = [0; TCP_INFO_WORDS];
    get(fd, libc::IPPROTO_TCP, libc::TCP_INFO, &mut words)?;
    Ok(words)
}

fn meminfo(fd: BorrowedFd<'_>) -> io::Result<[u32; MEMINFO_WORDS]> {
    let mut words = [0; MEMINFO_WORDS];
    get(fd, libc::SOL_SOCKET, libc::SO_MEMINFO, &mut words)?;
    Ok(words)
}

/// Sets an option whose value is an `int`.
fn set(fd: BorrowedFd<'_>, level: c_int, name: c_int, value: c_int) -> io::Result<()> {
    // SAFETY: `value` lives through the call and the length is its size; the kernel only reads it.
    let rc = unsafe {
        libc::setsockopt(
            fd.as_raw_fd(),
            level,
            name,
            (&raw const value).cast(),
            len_of::<c_int>(1),
        )
    };
    check(rc)
}

/// Gets an option whose value is words of 32 bits; those that the kernel does not fill stay.
fn get(fd: BorrowedFd<'_>, level: c_int, name: c_int, words: &mut [u32]) -> io::Result<()> {
    let mut len = len_of::<u32>(words.len());
    // SAFETY: the kernel writes at most `len` bytes to `words`, which has that many, and any bytes
    // are valid words.
    let rc = unsafe {
        libc::getsockopt(
            fd.as_raw_fd(),
            level,
            name,
            words.as_mut_ptr().cast(),
            &raw mut len,
        )
    };
    check(rc)
}

fn len_of<T>(count: usize) -> socklen_t {
    socklen_t::try_from(size_of::<T>() * count).unwrap_or(socklen_t::MAX)
}

fn check(rc: c_int) -> io::Result<()> {
    if rc == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

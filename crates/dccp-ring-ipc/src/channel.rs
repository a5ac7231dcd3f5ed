//! The Unix sockets between the two processes of a ring: one for messages, one for wake-ups.
//!
//! No call on a connected socket blocks, whatever the other process does to its own end or to ours.

use crate::caller::RingCaller;
use crate::message::MESSAGE_MAX;
use core::mem::MaybeUninit;
use core::time::Duration;
use dccp::clock;
use dccp_io::local::{self, Peer};
use dccp_ring::Bell;
use rustix::cmsg_space;
use rustix::io::Errno;
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags,
    SendAncillaryBuffer, SendAncillaryMessage, SendFlags, SocketAddrUnix, SocketFlags, SocketType,
};
use std::io::{self, IoSlice, IoSliceMut};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::FileTypeExt as _;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

const SEND: SendFlags = SendFlags::DONTWAIT.union(SendFlags::NOSIGNAL);
/// Connections that wait to be accepted.
const BACKLOG: i32 = 128;
/// Descriptors that come with one message at most.
const FDS: usize = 3;

/// Attempts of a call for which the system lacks memory.
const TRIES: usize = 4;
/// The pause between them.
const PAUSE: Duration = Duration::from_millis(1);

/// Messages to and from another process, in order; each arrives whole.
#[derive(Debug)]
pub(crate) struct Channel {
    fd: OwnedFd,
}

/// The result of reading a channel.
#[derive(Debug)]
pub(crate) enum Incoming {
    /// A message with its descriptors, or with the reason why they are lost: this process may open no more.
    Message(Vec<u8>, io::Result<Vec<OwnedFd>>),
    /// No message waits.
    Nothing,
    /// The other process has closed the channel.
    End,
}

fn new_socket(flags: SocketFlags) -> io::Result<OwnedFd> {
    let (family, kind) = (AddressFamily::UNIX, SocketType::SEQPACKET);
    let flags = flags.union(SocketFlags::CLOEXEC);
    Ok(rustix::net::socket_with(family, kind, flags, None)?)
}

/// The longest sleep of a thread that must repeat a call for which the system lacked memory.
pub(crate) const SHORT: Duration = Duration::from_millis(10);

/// Whether a message could not be sent because the other process has closed its end.
pub(crate) fn has_ended(error: &io::Error) -> bool {
    use io::ErrorKind as K;
    matches!(
        error.kind(),
        K::BrokenPipe | K::ConnectionReset | K::NotConnected
    )
}

/// Repeats a call that a signal or a short lack of memory made fail.
fn repeat<T>(mut call: impl FnMut() -> rustix::io::Result<T>) -> rustix::io::Result<T> {
    for _ in 1..TRIES {
        match call() {
            Err(Errno::INTR) => {}
            Err(error) if is_out_of_memory(error) => std::thread::sleep(PAUSE),
            done => return done,
        }
    }
    call()
}

/// Whether a call failed because the system lacks memory, so that a later one can succeed.
fn is_out_of_memory(error: Errno) -> bool {
    matches!(error, Errno::NOBUFS | Errno::NOMEM)
}

impl Channel {
    /// Connects to the listener at a path. Blocks at most for `timeout` while its backlog is full.
    ///
    /// # Errors
    /// `WouldBlock` if the backlog is full for the whole `timeout`.
    pub(crate) fn connect(path: &Path, timeout: Duration) -> io::Result<Self> {
        let fd = new_socket(SocketFlags::empty())?;
        let address = SocketAddrUnix::new(path)?;
        let until = clock::now() + timeout;
        loop {
            // 0 would stand for no limit.
            let left = (until - clock::now()).max(Duration::from_millis(1));
            set_socket_timeout(&fd, Timeout::Send, Some(left))?;
            match rustix::net::connect(&fd, &address) {
                Err(Errno::INTR) if clock::now() < until => {}
                connected => {
                    connected?;
                    return Ok(Self { fd });
                }
            }
        }
    }

    /// The two ends of a channel: ours, which accepts no descriptors (as those of a [`Gate`]), and the other process's.
    pub(crate) fn pair() -> io::Result<(Self, OwnedFd)> {
        let (family, kind) = (AddressFamily::UNIX, SocketType::SEQPACKET);
        let (fd, theirs) = rustix::net::socketpair(family, kind, SocketFlags::CLOEXEC, None)?;
        let _ = local::refuse_descriptors(fd.as_fd());
        Ok((Self { fd }, theirs))
    }

    /// The end that another process has sent.
    pub(crate) fn of(fd: OwnedFd) -> Self {
        Self { fd }
    }

    /// The process at the other end.
    pub(crate) fn caller(&self) -> io::Result<RingCaller> {
        let Peer { pid, uid, gid } = local::peer(self.fd.as_fd())?;
        Ok(RingCaller { pid, uid, gid })
    }

    /// Sends a message with descriptors.
    ///
    /// # Errors
    /// Also when the other side does not read.
    pub(crate) fn send(&self, message: &[u8], fds: &[BorrowedFd<'_>]) -> io::Result<()> {
        let mut space = [MaybeUninit::uninit(); cmsg_space!(ScmRights(FDS))];
        let mut ancillary = SendAncillaryBuffer::new(&mut space);
        if !fds.is_empty() && !ancillary.push(SendAncillaryMessage::ScmRights(fds)) {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let iov = [IoSlice::new(message)];
        repeat(|| rustix::net::sendmsg(&self.fd, &iov, &mut ancillary, SEND))?;
        Ok(())
    }

    /// Whether the other process has read all messages. On systems too old to report it, returns `true`.
    pub(crate) fn is_read(&self) -> bool {
        local::is_read(self.fd.as_fd()).unwrap_or(true)
    }

    /// The next message. One that is too long is cut, so that it is invalid.
    pub(crate) fn recv(&self) -> Incoming {
        let mut buf = [0; MESSAGE_MAX + 1];
        let mut space = [MaybeUninit::uninit(); cmsg_space!(ScmRights(FDS))];
        let mut ancillary = RecvAncillaryBuffer::new(&mut space);
        let flags = RecvFlags::DONTWAIT.union(RecvFlags::CMSG_CLOEXEC);
        let iov = &mut [IoSliceMut::new(&mut buf)];
        let mut recv = || repeat(|| rustix::net::recvmsg(&self.fd, iov, &mut ancillary, flags));
        let mut received = recv();
        if matches!(received, Err(Errno::CONNRESET)) {
            // The other process closed its end with unread messages. Its own messages follow this error.
            received = recv();
        }
        let (len, flags) = match received {
            Ok(received) => (received.bytes, received.flags),
            Err(Errno::AGAIN | Errno::INTR) => return Incoming::Nothing,
            Err(error) if is_out_of_memory(error) => return Incoming::Nothing,
            Err(_) => return Incoming::End,
        };
        let fds = ancillary.drain().filter_map(|message| match message {
            RecvAncillaryMessage::ScmRights(fds) => Some(fds),
            _ => None,
        });
        let fds = fds.flatten().collect();
        let fds = if flags.contains(ReturnFlags::CTRUNC) {
            Err(Errno::MFILE.into())
        } else {
            Ok(fds)
        };
        match len {
            0 => Incoming::End,
            _ => Incoming::Message(buf[..len].to_vec(), fds),
        }
    }
}

impl AsFd for Channel {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// The listening socket for applications of other processes.
#[derive(Debug)]
pub(crate) struct Gate {
    fd: OwnedFd,
}

impl Gate {
    /// Listens at a path. A socket that an ended server has left there is removed.
    pub(crate) fn bind(path: &Path) -> io::Result<Self> {
        let address = SocketAddrUnix::new(path)?;
        let fd = new_socket(SocketFlags::NONBLOCK)?;
        let bound = rustix::net::bind(&fd, &address);
        if bound == Err(Errno::ADDRINUSE) && is_socket(path) && is_deserted(&address) {
            std::fs::remove_file(path)?;
            rustix::net::bind(&fd, &address)?;
        } else {
            bound?;
        }
        // A server needs no descriptors, and closing some can take long. Older systems do not know this option.
        let _ = local::refuse_descriptors(fd.as_fd());
        rustix::net::listen(&fd, BACKLOG)?;
        Ok(Self { fd })
    }

    /// Takes over a listening socket.
    ///
    /// # Errors
    /// `InvalidInput` if it is not one of packets between processes.
    pub(crate) fn of(fd: OwnedFd) -> io::Result<Self> {
        let is_right = rustix::net::sockopt::socket_domain(&fd)? == AddressFamily::UNIX
            && rustix::net::sockopt::socket_type(&fd)? == SocketType::SEQPACKET
            && rustix::net::sockopt::socket_acceptconn(&fd)?;
        if !is_right {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        rustix::io::ioctl_fionbio(&fd, true)?;
        let _ = local::refuse_descriptors(fd.as_fd());
        Ok(Self { fd })
    }

    /// The next channel, once the gate is readable.
    pub(crate) fn accept(&self) -> io::Result<Channel> {
        let fd = rustix::net::accept_with(&self.fd, SocketFlags::CLOEXEC)?;
        Ok(Channel { fd })
    }
}

impl AsFd for Gate {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// Whether a path is a socket, not a file with data.
fn is_socket(path: &Path) -> bool {
    std::fs::symlink_metadata(path).is_ok_and(|about| about.file_type().is_socket())
}

/// Whether no server listens at a path any more.
fn is_deserted(address: &SocketAddrUnix) -> bool {
    let connected = new_socket(SocketFlags::NONBLOCK).map(|fd| rustix::net::connect(fd, address));
    matches!(connected, Ok(Err(Errno::CONNREFUSED)))
}

/// Wakes another process by bytes without meaning. An eventfd cannot be used, because the other process shares its flags and
/// its counter, and could make a write to it block.
#[derive(Debug)]
pub(crate) struct Doorbell {
    stream: UnixStream,
    /// The last wake-up failed.
    is_owed: AtomicBool,
}

impl Doorbell {
    /// The two ends of a doorbell: ours, which accepts no descriptors, because closing some can take long on the engine's
    /// thread, and the other process's.
    pub(crate) fn pair() -> io::Result<(Self, Self)> {
        let (ours, theirs) = UnixStream::pair()?;
        let _ = local::refuse_descriptors(ours.as_fd());
        Ok((Self::with(ours), Self::with(theirs)))
    }

    /// The end that another process has sent.
    pub(crate) fn of(fd: OwnedFd) -> Self {
        Self::with(fd.into())
    }

    fn with(stream: UnixStream) -> Self {
        Self {
            stream,
            is_owed: AtomicBool::new(false),
        }
    }

    /// Whether the system refused the last wake-up.
    pub(crate) fn is_owed(&self) -> bool {
        self.is_owed.load(Ordering::Relaxed)
    }

    /// Removes the wake-ups that wait. Returns `false` if the other process has closed its end.
    pub(crate) fn drain(&self) -> bool {
        let mut rings = [0; 256];
        let received = rustix::net::recv(&self.stream, &mut rings, RecvFlags::DONTWAIT);
        match received {
            Ok((_, n)) => n > 0,
            Err(error) => matches!(error, Errno::AGAIN | Errno::INTR) || is_out_of_memory(error),
        }
    }
}

impl Bell for Doorbell {
    fn ring(&self) -> bool {
        // Without a pause, because the engine's thread rings, too.
        let is_rung = (0..TRIES).any(|_| match rustix::net::send(&self.stream, &[1], SEND) {
            Err(error) if error == Errno::INTR || is_out_of_memory(error) => false,
            // A full socket wakes the other process already. If that has ended, no thread sleeps there.
            _ => true,
        });
        self.is_owed.store(!is_rung, Ordering::Relaxed);
        is_rung
    }
}

impl AsFd for Doorbell {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }
}

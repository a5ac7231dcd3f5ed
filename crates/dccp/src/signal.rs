//! A file descriptor that is readable while something waits: what `poll`, `epoll`, `kqueue` and the
//! event loops above them can watch. On systems without such descriptors there is none.

#[cfg(unix)]
use dccp_io::ProcessGeneration;

/// A socket pair holds one byte while the signal is up.
#[cfg(unix)]
#[derive(Debug)]
pub(crate) struct Signal {
    watched: std::os::unix::net::UnixStream,
    raising: std::os::unix::net::UnixStream,
    is_up: bool,
    process: ProcessGeneration,
}

#[cfg(unix)]
impl Signal {
    /// A signal that is down.
    pub(crate) fn new() -> std::io::Result<Self> {
        let (watched, raising) = std::os::unix::net::UnixStream::pair()?;
        watched.set_nonblocking(true)?;
        raising.set_nonblocking(true)?;
        Ok(Self {
            watched,
            raising,
            is_up: false,
            process: ProcessGeneration::watched(),
        })
    }

    /// A second descriptor for the same signal.
    pub(crate) fn watch(&self) -> std::io::Result<std::os::fd::OwnedFd> {
        self.watched.try_clone().map(Into::into)
    }

    /// Makes the descriptor readable or not.
    pub(crate) fn set(&mut self, up: bool) {
        use std::io::{Read as _, Write as _};
        // In a child of the process, the byte is the parent's.
        if up == self.is_up || !self.process.is_current() {
            return;
        }
        // Neither call can block or fail: at most one byte is on its way.
        let moved = if up {
            self.raising.write(&[1])
        } else {
            self.watched.read(&mut [0])
        };
        if moved.is_ok() {
            self.is_up = up;
        }
    }
}

/// There is no such descriptor here.
#[cfg(not(unix))]
#[derive(Debug)]
pub(crate) enum Signal {}

#[cfg(not(unix))]
impl Signal {
    pub(crate) fn set(&mut self, _up: bool) {
        match *self {}
    }
}

/// A descriptor that is readable while its socket or listener is [`ready`](crate::Socket::ready).
/// Watch it; never read it.
#[cfg(unix)]
#[derive(Debug)]
pub struct ReadyFd {
    pub(crate) fd: std::os::fd::OwnedFd,
}

#[cfg(unix)]
impl std::os::fd::AsFd for ReadyFd {
    fn as_fd(&self) -> std::os::fd::BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

#[cfg(unix)]
impl std::os::fd::AsRawFd for ReadyFd {
    fn as_raw_fd(&self) -> std::os::fd::RawFd {
        self.fd.as_raw_fd()
    }
}

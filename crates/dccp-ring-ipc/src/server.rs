//! The server, which lends rings to other processes.

use crate::channel::Gate;
use crate::error::RingServerError;
use crate::lent::Room;
use crate::request::{Policy, RingLimits, RingPolicy};
use crate::session::{Session, Stock};
use crate::wait::timespec;
use core::time::Duration;
use dccp::clock;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::net::RecvFlags;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::thread::JoinHandle;

/// Lends connections of this process's engine to applications of other processes, each through a ring in shared memory.
///
/// Applications push, change and receive datagrams without a system call ([`RingClient`](crate::RingClient)). If the
/// policy allows it, the server also listens for them, and lends the connections that they accept
/// ([`RingListener`](crate::RingListener)).
///
/// The server trusts no application: one that breaks the rules of its ring or of its messages loses its own connection
/// only. After the end of an application, the datagrams that it pushed are sent, and its connection is closed.
/// One thread serves all applications. Dropping the server ends the thread and all lent connections.
#[derive(Debug)]
pub struct RingServer {
    path: PathBuf,
    stop: UnixStream,
    thread: Option<JoinHandle<()>>,
}

impl RingServer {
    /// Lends rings to applications that connect to `path`, a Unix socket that this call creates, if `policy` allows. The path's
    /// permissions decide which users can connect.
    ///
    /// ```no_run
    /// use dccp::Options;
    /// use dccp_ring_ipc::{RingCaller, RingLimits, RingRequest, RingServer};
    ///
    /// let policy = |caller: &RingCaller, request: &RingRequest| {
    ///     if caller.uid == 1000 && request.remote.dccp_port == 5001 {
    ///         Ok(Options::new())
    ///     } else {
    ///         Err("only user 1000, to port 5001".into())
    ///     }
    /// };
    /// let server = RingServer::bind("/run/rings", RingLimits::default(), policy)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Fails if the path cannot be bound, or the system has no thread.
    pub fn bind(
        path: impl AsRef<Path>,
        limits: RingLimits,
        policy: impl RingPolicy + 'static,
    ) -> Result<Self, RingServerError> {
        let path = path.as_ref().to_path_buf();
        let gate = Gate::bind(&path).map_err(|error| RingServerError::Path {
            path: path.clone(),
            error,
        })?;
        let (stop, stopped) = UnixStream::pair().map_err(RingServerError::System)?;
        let service = Service {
            gate,
            stopped,
            limits,
            policy: Policy(Box::new(policy)),
            sessions: Vec::new(),
        };
        let thread = std::thread::Builder::new().name("dccp-rings".into());
        let thread = thread
            .spawn(move || service.run())
            .map_err(RingServerError::System)?;
        Ok(Self {
            path,
            stop,
            thread: Some(thread),
        })
    }
}

impl Drop for RingServer {
    fn drop(&mut self) {
        // The thread polls the other end.
        let _ = self.stop.shutdown(std::net::Shutdown::Both);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
        let _ = std::fs::remove_file(&self.path);
    }
}

/// The state of the server's thread.
struct Service {
    gate: Gate,
    stopped: UnixStream,
    limits: RingLimits,
    policy: Policy,
    sessions: Vec<Session>,
}

/// The pause after a failed system call, so that a failure that lasts does not use a core.
const PAUSE: Duration = Duration::from_millis(10);
/// The applications that have connected and requested nothing. They have no seat; a further one displaces the oldest of
/// the user that has the most.
const ASKING_MAX: usize = 16;

/// The result of polling all sources.
struct News {
    is_stopped: bool,
    /// An application connects.
    has_caller: bool,
    /// The sessions that need a turn, by index.
    sessions: Vec<bool>,
}

impl Service {
    fn run(mut self) {
        loop {
            let news = self.wait();
            if news.is_stopped {
                break;
            }
            self.serve(&news.sessions);
            if news.has_caller {
                self.admit();
            }
        }
        for session in self.sessions {
            session.end(&mut self.policy);
        }
    }

    /// Waits for a stop, an application, a message or a deadline.
    fn wait(&self) -> News {
        let mut fds = vec![
            PollFd::from_borrowed_fd(self.stopped.as_fd(), PollFlags::IN),
            PollFd::from_borrowed_fd(self.gate.as_fd(), PollFlags::IN),
        ];
        let mut owners = Vec::new();
        for (owner, session) in self.sessions.iter().enumerate() {
            for (source, flags) in session.sources() {
                fds.push(PollFd::from_borrowed_fd(source, flags));
                owners.push(owner);
            }
        }
        let due = self.sessions.iter().filter_map(Session::due).min();
        let now = clock::now();
        match poll(&mut fds, due.map(|due| timespec(due, now)).as_ref()) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(_) => return self.look_everywhere(),
        }
        let is_ready = |fd: &PollFd<'_>| !fd.revents().is_empty();
        let now = clock::now();
        let is_due = |session: &Session| session.due().is_some_and(|due| due <= now);
        let mut sessions: Vec<bool> = self.sessions.iter().map(is_due).collect();
        for (fd, owner) in fds.iter().skip(2).zip(owners) {
            sessions[owner] |= is_ready(fd);
        }
        News {
            is_stopped: is_ready(&fds[0]),
            has_caller: is_ready(&fds[1]),
            sessions,
        }
    }

    /// Replaces `poll` while it fails, for example because the process may have fewer descriptors than it has: after a
    /// pause, everything gets a turn.
    fn look_everywhere(&self) -> News {
        std::thread::sleep(PAUSE);
        let stop = rustix::net::recv(&self.stopped, &mut [0; 1], RecvFlags::DONTWAIT);
        News {
            is_stopped: matches!(stop, Ok((_, 0))),
            has_caller: true,
            sessions: vec![true; self.sessions.len()],
        }
    }

    /// Gives a turn to the sessions that need one.
    fn serve(&mut self, has_news: &[bool]) {
        let lent: u64 = self.sessions.iter().map(Session::memory).sum();
        let taken: usize = self.sessions.iter().map(Session::seats).sum();
        let seats = self.limits.clients.saturating_sub(taken);
        let memory = self.limits.memory.saturating_sub(lent);
        let mut stock = Stock::new(&mut self.policy, Room { memory, seats });
        let mut has_news = has_news.iter();
        self.sessions.retain_mut(|session| {
            if has_news.next() != Some(&true) {
                return true;
            }
            let (memory, seats) = (session.memory(), session.seats());
            let stays = session.turn(&mut stock);
            let room = &mut stock.room;
            room.memory += memory;
            room.seats += seats;
            if stays {
                room.memory = room.memory.saturating_sub(session.memory());
                room.seats = room.seats.saturating_sub(session.seats());
            }
            stays
        });
        self.sessions.append(&mut stock.newcomers);
    }

    /// Accepts an application. Its request decides whether it gets a seat.
    fn admit(&mut self) {
        let channel = match self.gate.accept() {
            Ok(channel) => channel,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
            Err(_) => {
                // Without a descriptor, the waiting application would wake this thread again at once.
                std::thread::sleep(PAUSE);
                return;
            }
        };
        let Ok(session) = Session::new(channel) else {
            return;
        };
        let asking = self.sessions.iter().enumerate();
        let asking = asking.filter(|(_, session)| session.seats() == 0);
        let asking: Vec<(usize, u32)> = asking.map(|(at, session)| (at, session.uid())).collect();
        if asking.len() >= ASKING_MAX
            && let Some(at) = displaced(&asking)
        {
            self.sessions.remove(at).dismiss();
        }
        self.sessions.push(session);
    }
}

/// Chooses the oldest session of the user with the most, of sessions and their users in the order of age.
fn displaced(asking: &[(usize, u32)]) -> Option<usize> {
    let held = |uid: u32| asking.iter().filter(|(_, other)| *other == uid).count();
    let most = asking.iter().map(|(_, uid)| held(*uid)).max()?;
    let oldest = asking.iter().find(|(_, uid)| held(*uid) == most);
    oldest.map(|(at, _)| *at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn user_with_the_most_silent_applications_loses_the_oldest() {
        assert_eq!(displaced(&[]), None);
        assert_eq!(displaced(&[(4, 7)]), Some(4));
        let asking = [(0, 1000), (2, 7), (3, 7), (5, 1000), (6, 7), (9, 0)];
        assert_eq!(displaced(&asking), Some(2));
    }
}

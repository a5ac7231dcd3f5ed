//! Lending rings to other processes.

use super::channel::Gate;
use super::error::RingServerError;
use super::request::{Policy, RingLimits, RingPolicy};
use super::session::Session;
use crate::clock;
use core::time::Duration;
use dccp_proto::Instant;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::thread::JoinHandle;

/// Lends connections of this process's engine to applications of other processes, each through a ring in
/// memory that the two share: they push, change and receive datagrams without a system call
/// ([`RingClient`](crate::RingClient)).
///
/// An application is believed nothing: what breaks the rules of its ring or of its messages ends its
/// connection, and no other. When it ends, what it has pushed leaves, and its connection is closed.
/// One thread serves them all; dropping the server ends it, and all that it has lent.
#[derive(Debug)]
pub struct RingServer {
    path: PathBuf,
    stop: UnixStream,
    thread: Option<JoinHandle<()>>,
}

impl RingServer {
    /// Lends rings to whoever connects to `path`, a Unix socket that this makes, if `policy` allows: who may
    /// connect is a matter of the path's permissions.
    ///
    /// ```no_run
    /// use dccp::{Options, RingCaller, RingLimits, RingRequest, RingServer};
    ///
    /// let policy = |caller: &RingCaller, request: &RingRequest| {
    ///     if caller.uid == 1000 && request.port == 5001 {
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
    /// When the path cannot be had, or the system has no thread.
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
        let hall = Hall {
            gate,
            stopped,
            limits,
            policy: Policy(Box::new(policy)),
            sessions: Vec::new(),
        };
        let thread = std::thread::Builder::new().name("dccp-rings".into());
        let thread = thread
            .spawn(move || hall.run())
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
        // The thread sees the end of this line.
        let _ = self.stop.shutdown(std::net::Shutdown::Both);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
        let _ = std::fs::remove_file(&self.path);
    }
}

/// The thread's.
struct Hall {
    gate: Gate,
    stopped: UnixStream,
    limits: RingLimits,
    policy: Policy,
    sessions: Vec<Session>,
}

/// How long nobody is let in when the system has no descriptor left.
const FULL: Duration = Duration::from_millis(10);

/// What a look at all sources gives.
struct News {
    is_stopped: bool,
    has_visitor: bool,
    /// For each session.
    sessions: Vec<bool>,
}

impl Hall {
    fn run(mut self) {
        while let Ok(news) = self.wait()
            && !news.is_stopped
        {
            self.serve(&news.sessions);
            if news.has_visitor {
                self.let_in();
            }
        }
        for session in self.sessions {
            session.end(&mut self.policy);
        }
    }

    /// Waits until there is something to do.
    fn wait(&self) -> io::Result<News> {
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
            Err(error) => return Err(error.into()),
        }
        let is_ready = |fd: &PollFd<'_>| !fd.revents().is_empty();
        let now = clock::now();
        let is_due = |session: &Session| session.due().is_some_and(|due| due <= now);
        let mut sessions: Vec<bool> = self.sessions.iter().map(is_due).collect();
        for (fd, owner) in fds.iter().skip(2).zip(owners) {
            sessions[owner] |= is_ready(fd);
        }
        Ok(News {
            is_stopped: is_ready(&fds[0]),
            has_visitor: is_ready(&fds[1]),
            sessions,
        })
    }

    /// Gives a turn to those that have news.
    fn serve(&mut self, has_news: &[bool]) {
        let mut lent: u64 = self.sessions.iter().map(Session::memory).sum();
        let (policy, limits) = (&mut self.policy, self.limits);
        let mut has_news = has_news.iter();
        self.sessions.retain_mut(|session| {
            if has_news.next() != Some(&true) {
                return true;
            }
            lent -= session.memory();
            let stays = session.turn(policy, limits.memory.saturating_sub(lent));
            lent += if stays { session.memory() } else { 0 };
            stays
        });
    }

    fn let_in(&mut self) {
        let Ok(channel) = self.gate.accept() else {
            // No descriptor is left: who waits at the gate would wake us again at once.
            std::thread::sleep(FULL);
            return;
        };
        if self.sessions.len() >= self.limits.clients {
            Session::turn_away(&channel, "too many applications have rings");
        } else if let Ok(session) = Session::new(channel) {
            self.sessions.push(session);
        }
    }
}

/// From `now` until `due`.
pub(super) fn timespec(due: Instant, now: Instant) -> Timespec {
    let left = due - now;
    Timespec {
        tv_sec: i64::try_from(left.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: left.subsec_nanos().into(),
    }
}

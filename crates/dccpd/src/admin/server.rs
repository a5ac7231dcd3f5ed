//! The daemon's side of the administrator's socket.

use super::{Answer, REQUEST_MAX, Reloaded, Request, TraceRequest};
use crate::daemon::Daemon;
use crate::trace::{End, TRACES_MAX};
use core::sync::atomic::{AtomicUsize, Ordering};
use core::time::Duration;
use dccp::clock;
use dccp::unstable::io::local;
use dccp_ring_ipc::LentConnection;
use rustix::net::RecvFlags;
use serde::Serialize;
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::os::fd::AsFd as _;
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::Arc;

/// Clients at the same time.
const CLIENTS_MAX: usize = 16;
/// The longest time to send a request, and to take a part of the answer.
const CLIENT_TIMEOUT: Duration = Duration::from_secs(5);
/// The pause after the system could not accept.
const PAUSE: Duration = Duration::from_millis(100);

/// A refusal: what and next.
type Refusal = (String, &'static str);

/// Answers clients until the process ends.
///
/// # Errors
/// When the system has no thread.
pub(crate) fn start(listener: UnixListener, daemon: Arc<Daemon>) -> io::Result<()> {
    let clients = Arc::new(AtomicUsize::new(0));
    let accept = move || {
        for stream in listener.incoming() {
            match stream {
                Ok(stream) => admit(stream, &daemon, &clients),
                Err(_) => std::thread::sleep(PAUSE),
            }
        }
    };
    std::thread::Builder::new()
        .name("dccpd-admin".into())
        .spawn(accept)
        .map(drop)
}

/// Serves an administrator on a thread of its own. Other users get no seat, so that they cannot keep administrators out.
fn admit(stream: UnixStream, daemon: &Arc<Daemon>, clients: &Arc<AtomicUsize>) {
    let seat = Seat::take(clients);
    let refusal = if !is_administrator(&stream, daemon) {
        let next = "become root, or ask for a place in the key admins of the policy";
        Some(("only administrators may do this".into(), next))
    } else if seat.is_none() {
        let what = format!("{CLIENTS_MAX} clients are connected already");
        Some((what, "end another dccpctl, for example a trace"))
    } else {
        None
    };
    if let Some(refusal) = refusal {
        // The few bytes fit; a client that has gone needs none.
        let _ = refuse(&stream, refusal);
        return;
    }
    let daemon = daemon.clone();
    let serve = move || {
        serve(&stream, &daemon);
        drop(seat);
    };
    // Without a thread the client finds the connection closed.
    let _ = std::thread::Builder::new()
        .name("dccpd-client".into())
        .spawn(serve);
}

/// The place of a client.
struct Seat(Arc<AtomicUsize>);

impl Seat {
    fn take(clients: &Arc<AtomicUsize>) -> Option<Self> {
        let seat = Self(clients.clone());
        let taken = clients.fetch_add(1, Ordering::Relaxed);
        (taken < CLIENTS_MAX).then_some(seat)
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

fn is_administrator(stream: &UnixStream, daemon: &Daemon) -> bool {
    let peer = local::peer(stream.as_fd());
    peer.is_ok_and(|peer| daemon.is_administrator(peer.uid, peer.gid))
}

fn serve(stream: &UnixStream, daemon: &Daemon) {
    // A client that has gone needs no answer.
    let _ = answer(stream, daemon);
}

fn answer(stream: &UnixStream, daemon: &Daemon) -> io::Result<()> {
    stream.set_read_timeout(Some(CLIENT_TIMEOUT))?;
    stream.set_write_timeout(Some(CLIENT_TIMEOUT))?;
    let mut line = String::new();
    BufReader::new(stream)
        .take(REQUEST_MAX)
        .read_line(&mut line)?;
    let Ok(request) = serde_json::from_str::<Request>(&line) else {
        let next = "use dccpctl and dccpd of the same version";
        return refuse(stream, ("the request has another form".into(), next));
    };
    match request {
        Request::Report => match daemon.report() {
            Ok(report) => reply(stream, &report),
            Err(gone) => {
                let next = "systemd ends and starts dccpd soon; otherwise start it again";
                refuse(stream, (gone.to_string(), next))
            }
        },
        Request::Reload => match daemon.reload() {
            Ok(needs_restart) => reply(stream, &Reloaded { needs_restart }),
            Err(failure) => send(
                stream,
                &Answer::<()>::Error {
                    error: failure.what,
                    next: failure.next,
                },
            ),
        },
        Request::Abort { id } => match connection(daemon, id) {
            Ok(connection) => {
                connection.socket.abort();
                reply(stream, &())
            }
            Err(refusal) => refuse(stream, refusal),
        },
        Request::Trace(wanted) => trace(stream, daemon, &wanted),
    }
}

fn connection(daemon: &Daemon, id: u32) -> Result<LentConnection, Refusal> {
    let found = daemon.connection(id);
    found.ok_or_else(|| {
        let what = format!("there is no connection {id}");
        (what, "`dccpctl connections` lists them")
    })
}

fn trace(stream: &UnixStream, daemon: &Daemon, wanted: &TraceRequest) -> io::Result<()> {
    let connection = match connection(daemon, wanted.id) {
        Ok(connection) => connection,
        Err(refusal) => return refuse(stream, refusal),
    };
    let Some(trace) = daemon.traces.begin(connection.socket.flow(), wanted.snap) else {
        return refuse(
            stream,
            (
                format!("{TRACES_MAX} traces run already"),
                "end another trace",
            ),
        );
    };
    reply(stream, &())?;
    let begin = clock::now();
    let time = wanted
        .seconds
        .and_then(|s| Duration::try_from_secs_f64(s).ok());
    let end_of = |written: u64| {
        let is_done = wanted.packets.is_some_and(|most| written >= most)
            || time.is_some_and(|time| clock::now() - begin >= time)
            || has_gone(stream);
        if is_done {
            Some(End::Now)
        } else {
            connection.socket.close_reason().map(|_| End::AfterTheQueue)
        }
    };
    trace.write(io::BufWriter::new(Patient(stream)), end_of)
}

/// A client that takes a trace as slowly as it likes. The packets wait meanwhile; those that find no room are counted.
struct Patient<'a>(&'a UnixStream);

impl io::Write for Patient<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        loop {
            match self.0.write(bytes) {
                Err(e) if e.kind() == io::ErrorKind::WouldBlock && !has_gone(self.0) => {}
                written => return written,
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// Whether a client that sends nothing more has closed the connection.
fn has_gone(stream: &UnixStream) -> bool {
    let read = rustix::net::recv(stream, &mut [0; 1], RecvFlags::DONTWAIT);
    matches!(read, Ok((_, 0)))
}

fn reply<T: Serialize>(stream: &UnixStream, ok: &T) -> io::Result<()> {
    send(stream, &Answer::Ok { ok })
}

fn refuse(stream: &UnixStream, (what, next): Refusal) -> io::Result<()> {
    send(
        stream,
        &Answer::<()>::Error {
            error: what,
            next: next.into(),
        },
    )
}

fn send<T: Serialize>(mut stream: &UnixStream, answer: &Answer<T>) -> io::Result<()> {
    let mut line = serde_json::to_vec(answer)?;
    line.push(b'\n');
    stream.write_all(&line)
}

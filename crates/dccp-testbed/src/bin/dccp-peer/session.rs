//! One connection, from its first message to its last.

use std::net::Shutdown;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use dccp::{CloseReason, Instant, RecvError, SendError, Socket, clock};

use crate::args::Settings;
use crate::message::{self, Arrivals};

/// Which end we are.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    Connect,
    Listen,
}

impl Role {
    fn name(self) -> &'static str {
        match self {
            Self::Connect => "connect",
            Self::Listen => "listen",
        }
    }
}

/// Messages sent.
#[derive(Clone, Copy, Default)]
struct Sent {
    messages: u64,
    bytes: u64,
}

struct Session<'a> {
    socket: &'a Socket,
    settings: &'a Settings,
    role: Role,
    number: usize,
    start: Instant,
    sent: Mutex<Sent>,
    /// There is nothing more to send.
    all_sent: AtomicBool,
    /// The connection is ending: the sender must not go on.
    is_over: AtomicBool,
}

/// How a session ended, in the words of the JSON lines.
struct End {
    who: &'static str,
    error: Option<String>,
}

impl End {
    fn by(who: &'static str) -> Self {
        Self { who, error: None }
    }

    fn error(error: &dyn ToString) -> Self {
        Self {
            who: "error",
            error: Some(error.to_string()),
        }
    }
}

/// The interval of the receiver's timer.
const TICK: Duration = Duration::from_millis(20);

/// Runs the connection until it ends; whether it went well.
pub(crate) fn session(socket: &Socket, role: Role, number: usize, settings: &Settings) -> bool {
    let has_messages = settings.count.is_some() || settings.duration.is_some();
    let is_sending = has_messages && (role == Role::Connect || settings.source);
    let session = Session {
        socket,
        settings,
        role,
        number,
        start: clock::now(),
        sent: Mutex::default(),
        all_sent: AtomicBool::new(false),
        is_over: AtomicBool::new(false),
    };
    session.print_connected();
    socket.set_recv_timeout(Some(TICK));
    socket.set_send_timeout(Some(TICK));
    let mut arrivals = Arrivals::default();
    let mut end = thread::scope(|scope| {
        if is_sending {
            scope.spawn(|| session.send());
        }
        let end = session.receive(&mut arrivals);
        session.is_over.store(true, Ordering::Relaxed);
        end
    });
    if end.who == "local" && !settings.abort {
        end = session.close().unwrap_or(end);
    }
    session.print_totals("summary", &arrivals, Some(&end));
    if settings.abort {
        socket.abort();
    }
    end.error.is_none() && end.who != "timeout"
}

impl Session<'_> {
    /// Sends the messages at their times.
    fn send(&self) {
        let Settings {
            count,
            rate,
            duration,
            size,
            ..
        } = *self.settings;
        let mut message = vec![0; size];
        let mut number: u32 = 0;
        while count.is_none_or(|count| number < count) && !self.is_over.load(Ordering::Relaxed) {
            let elapsed = clock::now() - self.start;
            if duration.is_some_and(|duration| elapsed >= duration) {
                break;
            }
            if rate > 0.0 {
                let due = Duration::from_secs_f64(f64::from(number) / rate);
                thread::sleep(due.saturating_sub(elapsed));
            }
            message::fill(&mut message, number, clock::now().as_nanos());
            match self.socket.send(&message) {
                Ok(_) => self.count_sent(size),
                Err(SendError::TimedOut) => continue,
                Err(_) => break,
            }
            number += 1;
        }
        self.all_sent.store(true, Ordering::Relaxed);
    }

    fn count_sent(&self, bytes: usize) {
        let mut sent = self.sent.lock().unwrap_or_else(PoisonError::into_inner);
        sent.messages += 1;
        sent.bytes += bytes as u64;
    }

    fn sent(&self) -> Sent {
        *self.sent.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes what arrives until one end ends the connection.
    fn receive(&self, arrivals: &mut Arrivals) -> End {
        let is_echo = self.settings.echo && self.role == Role::Connect;
        let mut message = vec![0; usize::from(u16::MAX)];
        let mut next_report = self.start + Duration::from_secs(1);
        let mut stop_at: Option<Instant> = None;
        loop {
            let now = clock::now();
            if now >= next_report {
                self.print_totals("report", arrivals, None);
                next_report += Duration::from_secs(1);
            }
            if self
                .settings
                .timeout()
                .is_some_and(|timeout| now - self.start >= timeout)
            {
                return End::by("timeout");
            }
            if stop_at.is_none() && self.all_sent.load(Ordering::Relaxed) {
                stop_at = Some(now + self.settings.wait());
            }
            let has_all = is_echo && arrivals.received >= self.sent().messages;
            if stop_at.is_some_and(|stop_at| now >= stop_at || has_all) {
                return End::by("local");
            }
            match self.socket.recv(&mut message) {
                Ok(length) => {
                    arrivals.count(&message[..length]);
                    stop_at = stop_at.map(|_| clock::now() + self.settings.wait());
                    if self.settings.echo
                        && !is_echo
                        && self.socket.send(&message[..length]).is_ok()
                    {
                        self.count_sent(length);
                    }
                }
                Err(RecvError::TimedOut) => {}
                Err(RecvError::Closed(CloseReason::Peer)) => return End::by("peer"),
                Err(error) => return End::error(&error),
            }
        }
    }

    fn print_connected(&self) {
        let Settings {
            cscov,
            min_cscov,
            service,
            ..
        } = self.settings;
        let (tx_ccid, rx_ccid) = match self.socket.snapshot() {
            Ok(snapshot) => (snapshot.tx_ccid, snapshot.rx_ccid),
            Err(_) => (0, 0),
        };
        println!(
            r#"{{"type":"connected","role":"{}","conn":{},"peer":"{}","service":{},"tx_ccid":{tx_ccid},"rx_ccid":{rx_ccid},"send_cscov":{cscov},"recv_cscov":{min_cscov}}}"#,
            self.role.name(),
            self.number,
            self.socket.peer_addr().ip,
            service.0,
        );
    }

    fn print_totals(&self, kind: &str, arrivals: &Arrivals, end: Option<&End>) {
        let time = (clock::now() - self.start).as_secs_f64();
        let lost = arrivals
            .lost()
            .map_or("null".to_owned(), |lost| lost.to_string());
        let Sent { messages, bytes } = self.sent();
        let Arrivals {
            received,
            bytes: bytes_received,
            duplicates,
            reordered,
            damaged,
            ..
        } = arrivals;
        let mut line = format!(
            r#"{{"type":"{kind}","role":"{}","conn":{},"t":{time:.3},"sent":{messages},"received":{received},"lost":{lost},"duplicates":{duplicates},"reordered":{reordered},"damaged":{damaged},"bytes_sent":{bytes},"bytes_received":{bytes_received}"#,
            self.role.name(),
            self.number,
        );
        if let Some(End { who, error }) = end {
            let error = error
                .as_ref()
                .map_or("null".to_owned(), |error| format!("\"{error}\""));
            line = format!(r#"{line},"end":"{who}","error":{error}"#);
        }
        println!("{line}}}");
    }

    /// Closes from here; how that went, if not well.
    fn close(&self) -> Option<End> {
        self.socket.shutdown(Shutdown::Write);
        match self.socket.wait_closed(Duration::from_secs(30)) {
            Ok(CloseReason::Local | CloseReason::Peer) => None,
            Ok(reason) => Some(End::error(&dccp::reason_text(&reason))),
            Err(error) => Some(End::error(&error)),
        }
    }
}

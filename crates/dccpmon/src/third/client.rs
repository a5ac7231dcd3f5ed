//! `dccpmon --from A B`: the client's side of a third-party test.

use super::errand::Errand;
use crate::cli::third::Third;
use crate::cli::{Bulk, Family};
use crate::limits::FLOWS_MAX;
use crate::output::Outputs;
use crate::plan::Plan;
use crate::result::document;
use crate::result::stored::{self, Event};
use crate::result::texts::clean_text;
use crate::schema::{Document, Granted, Problem, Requested, Status};
use crate::session::agree::{Agreement, refused};
use crate::session::failure::failure;
use crate::session::reports::SHOWN_MAX;
use crate::session::wait;
use crate::wire::auth::Key;
use crate::wire::channel::{Channel, Lost};
use crate::wire::message::Message;
use crate::wire::pieces::Joiner;
use core::time::Duration;
use dccp::proto::time::nanos;
use dccp::{Encapsulation, Instant, Socket, clock};
use dccp_cli::{Failure, exit, interrupt};
use std::io::{Write as _, stderr};

/// How often the client looks for Ctrl-C.
const LOOK: Duration = Duration::from_millis(50);
/// The time that a test may take beyond its duration: to connect, to agree, to end.
const OVERTIME: Duration = Duration::from_mins(1);
/// The time that a test may take to end after Ctrl-C.
const FAREWELL: Duration = Duration::from_secs(30);

/// Has the test run and writes the result; gives the exit code.
pub(crate) fn run(asked: &Third) -> Result<u8, Failure> {
    interrupt::listen()?;
    for note in &asked.test.notes {
        say_note(note);
    }
    let begin = Document {
        status: Status::Running,
        ..empty(asked)
    };
    let checks = asked.test.wanted.load(&begin.requested)?;
    let mut outputs = Outputs::new(&asked.test.output, checks, &begin.requested)?;
    let plan = Plan::of_another(asked.test.clone());
    let plan = format!("{plan}, with {} as the client", asked.from);
    outputs.begin(&plan, &begin);
    let (mut document, failure) = match measure(asked, &mut outputs) {
        Ok(document) => (document, None),
        Err(failure) => (of_failure(asked, &failure), Some(failure)),
    };
    outputs.finish(&mut document)?;
    failure.map_or(Ok(document.exit_code), Err)
}

fn say_note(text: &str) {
    // A closed standard error does not change the outcome.
    let _ = writeln!(stderr(), "note: {text}");
}

/// A document without results.
fn empty(asked: &Third) -> Document {
    let empty = document::empty(&asked.test);
    Document {
        requested: Requested {
            from: Some(asked.from.to_string()),
            ..empty.requested
        },
        ..empty
    }
}

fn of_failure(asked: &Third, failure: &Failure) -> Document {
    let failed = document::of_failure(&asked.test, failure);
    Document {
        status: match failure.code {
            exit::INCOMPLETE => Status::Incomplete,
            _ => failed.status,
        },
        requested: empty(asked).requested,
        ..failed
    }
}

fn measure(asked: &Third, outputs: &mut Outputs<'_>) -> Result<Document, Failure> {
    let test = &asked.test;
    let mut channel = connect(asked)?;
    let key = test.key_file.as_deref().map(Key::read).transpose()?;
    let mut agreement = Agreement::begin(&mut channel, key)?;
    let body = Errand::of(test).body()?;
    let request = test.errand_request();
    let granted = agreement.request_as(&mut channel, body, &request, test.is_patient)?;
    let mut lowered = Vec::new();
    for text in granted.grant.lowered {
        if test.is_strict {
            let next = "ask for less, or leave --strict out";
            return Err(Failure::refused(format!("{}: {text}", asked.from), next));
        }
        say_note(&format!("{}: {text}", asked.from));
        lowered.push(text);
    }
    let duration = Duration::from_nanos(granted.request.duration_ns);
    let mut relay = Relay {
        asked,
        outputs,
        joiner: Joiner::default(),
        begin: clock::now() + test.idle_time(),
        duration,
        intervals_left: intervals_max(duration, test.interval),
    };
    let theirs = relay.receive(&mut channel);
    // The server waits for the end no longer than a second.
    let _ = channel.say(&Message::Bye);
    let _ = channel.flush(clock::now() + LOOK);
    let mut document = theirs?;
    if let Some(Granted { lowered: more, .. }) = &mut document.granted {
        for text in &*more {
            say_note(&format!("{}: {text}", test.host));
        }
        lowered.append(more);
        *more = lowered;
    }
    Ok(document)
}

/// The most intervals of a test: a false server must not fill the memory.
fn intervals_max(duration: Duration, interval: Duration) -> u64 {
    nanos(duration + OVERTIME) / nanos(interval).max(1) + 2
}

/// Opens the control connection to the measuring server. It is over UDP, whatever carries the test.
fn connect(asked: &Third) -> Result<Channel, Failure> {
    let control = Bulk {
        host: asked.from.host.clone(),
        udp_port: asked.from.udp_port,
        dccp_port: asked.from.dccp_port,
        over: Encapsulation::Udp,
        family: Family::Any,
        congestion: None,
        ..asked.test.clone()
    };
    let plan = Plan::new(control)?;
    let (remotes, options) = (plan.remotes.clone(), plan.control.clone());
    let port = plan.asked.dccp_port;
    let connect = move || Socket::connect((remotes.as_slice(), port), &options);
    let socket = wait::interruptible(connect)?.map_err(|e| failure(&plan.asked, e))?;
    Channel::new(socket, None).map_err(|e| lost(asked, &e))
}

/// The failure of a test whose measuring server is lost.
fn lost(asked: &Third, e: &Lost) -> Failure {
    Failure {
        code: exit::INCOMPLETE,
        what: format!("{}: {e}", asked.from),
        next: "look at the server's output, and try again".into(),
    }
}

/// The lines of a test on their way to the outputs.
struct Relay<'a, 'b> {
    asked: &'a Third,
    outputs: &'a mut Outputs<'b>,
    joiner: Joiner,
    /// About when the load begins.
    begin: Instant,
    duration: Duration,
    intervals_left: u64,
}

impl Relay<'_, '_> {
    /// Receives lines until the last one, which holds the document.
    fn receive(&mut self, channel: &mut Channel) -> Result<Document, Failure> {
        let mut until = self.begin + self.duration + OVERTIME;
        let mut is_stopping = false;
        loop {
            let now = clock::now();
            if interrupt::is_pressed() && !core::mem::replace(&mut is_stopping, true) {
                channel
                    .say(&Message::Stop)
                    .map_err(|e| lost(self.asked, &e))?;
                until = until.min(now + FAREWELL);
            }
            if now >= until {
                return Err(lost(self.asked, &Lost::Silent));
            }
            let message = channel.poll((now + LOOK).min(until));
            let line = match message.map_err(|e| lost(self.asked, &e))? {
                Some(Message::Piece(piece)) => self.joiner.add(&piece).map_err(|_| Lost::Nonsense),
                Some(Message::Refused(refusal)) => return Err(refused(&refusal)),
                Some(_) => Err(Lost::Nonsense),
                None => Ok(None),
            };
            if let Some(line) = line.map_err(|e| lost(self.asked, &e))?
                && let Some(document) = self.take(&line)?
            {
                return Ok(document);
            }
            let elapsed = (clock::now() - self.begin).min(self.duration);
            self.outputs.progress(nanos(elapsed), nanos(self.duration));
        }
    }

    /// Shows an interval. Returns the document of the last line.
    fn take(&mut self, line: &str) -> Result<Option<Document>, Failure> {
        let nonsense = || lost(self.asked, &Lost::Nonsense);
        let event = stored::event(line).map_err(|_| nonsense())?;
        match event {
            Event::Interval(interval) => {
                let left = self.intervals_left.checked_sub(1);
                self.intervals_left = left.ok_or_else(nonsense)?;
                if !self.has_flows(interval.flows.iter().map(|flow| flow.id)) {
                    return Err(nonsense());
                }
                self.outputs.interval(interval);
                Ok(None)
            }
            Event::End(theirs) => self.end(*theirs).map(Some),
            Event::Other => Ok(None),
        }
    }

    /// Whether these are numbers of flows of the test, each at most once.
    fn has_flows(&self, ids: impl Iterator<Item = u32>) -> bool {
        let mut last = 0;
        let mut ids = ids.take(FLOWS_MAX as usize + 1);
        ids.all(|id| core::mem::replace(&mut last, id) < id) && last <= self.asked.test.flows
    }

    /// The document of this host, with the other one's figures.
    fn end(&self, theirs: Document) -> Result<Document, Failure> {
        let Some(summary) = &theirs.summary else {
            return Err(self.relayed(theirs));
        };
        if !self.has_flows(summary.flows.iter().map(|flow| flow.id)) {
            return Err(lost(self.asked, &Lost::Nonsense));
        }
        let mut error = theirs.error.map(|error| self.attribute(&error));
        let (status, exit_code) = match theirs.status {
            Status::Complete => (Status::Complete, exit::DONE),
            Status::Interrupted if interrupt::is_pressed() => {
                (Status::Interrupted, exit::INTERRUPTED)
            }
            _ => {
                error.get_or_insert_with(|| {
                    self.attribute(&Problem {
                        what: "the server ended the test early".into(),
                        next: "look at the server's output, and try again".into(),
                    })
                });
                (Status::Incomplete, exit::INCOMPLETE)
            }
        };
        let own = empty(self.asked);
        Ok(Document {
            status,
            exit_code,
            error,
            granted: theirs.granted,
            negotiated: theirs.negotiated,
            ends: theirs.ends,
            clock: theirs.clock,
            idle: theirs.idle,
            summary: theirs.summary,
            hosts: theirs.hosts,
            ..own
        })
    }

    /// The failure of a test that the measuring host could not run.
    fn relayed(&self, theirs: Document) -> Failure {
        let code = match theirs.status {
            Status::Refused => exit::REFUSED,
            Status::Interrupted if interrupt::is_pressed() => exit::INTERRUPTED,
            _ => exit::FAILED,
        };
        let problem = theirs.error.unwrap_or_else(|| Problem {
            what: "the test could not run".into(),
            next: "look at the server's output, and try again".into(),
        });
        let Problem { what, next } = self.attribute(&problem);
        Failure { code, what, next }
    }

    /// A problem of the measuring host, which has the key of its server only.
    fn attribute(&self, problem: &Problem) -> Problem {
        let next = if problem.next.contains("--key-file") {
            "start both servers with the same --key-file, or both without".into()
        } else {
            clean_text(&problem.next, SHOWN_MAX)
        };
        Problem {
            what: format!(
                "{}: {}",
                self.asked.from,
                clean_text(&problem.what, SHOWN_MAX)
            ),
            next,
        }
    }
}

//! The measuring server's side of a third-party test: it runs the test to another server and passes its lines on.

use super::log::{complain, log};
use super::metrics::{Direction, Outcome};
use super::policy::{Policy, ThirdParty, has_higher_bursts, is_valid, too_bursty};
use super::seats::Seat;
use super::session::stopped;
use crate::limits::{ANSWER_MAX, FAREWELL_MAX, THIRD_OVERTIME_MAX};
use crate::meter::SAMPLE;
use crate::output::text;
use crate::plan::look_up;
use crate::result::stored::{self, Event};
use crate::schema::{Direction as Way, Document, Status};
use crate::third::errand::Errand;
use crate::third::process::{Order, Process};
use crate::wire::auth::Exchange;
use crate::wire::channel::{Channel, Lost};
use crate::wire::message::{Message, Ready, RefusalCode, Refused, Request, Setup};
use crate::wire::pieces::cut;
use core::net::SocketAddr;
use core::time::Duration;
use dccp::{DccpAddr, clock};
use dccp_cli::interrupt;
use std::sync::Arc;
use std::sync::mpsc::{self, TryRecvError};
use std::thread;

/// The longest look-up of a name. The client waits twice as long for its answer.
const LOOK_UP: Duration = Duration::from_secs(5);
/// The time that a test may take to end in order, before its process is killed.
const END_MAX: Duration = Duration::from_secs(12);
/// The time that a test may take beyond its duration before it is ended: to connect, to agree, to probe the idle path.
const OVERTIME: Duration = THIRD_OVERTIME_MAX
    .saturating_sub(LOOK_UP)
    .saturating_sub(END_MAX)
    .saturating_sub(ANSWER_MAX)
    .saturating_sub(FAREWELL_MAX);

fn off() -> Refused {
    Refused::new(
        RefusalCode::Destination,
        "the server runs no third-party tests",
        "start it with `dccpmon serve --third-party`, or run dccpmon on that host",
    )
}

fn not_permitted(terms: &ThirdParty, host: &str) -> Refused {
    let reason = if terms.destinations.0.is_empty() {
        format!("the server measures to public addresses only, and {host} has none")
    } else {
        format!("the server measures to the hosts of its list only, and {host} is none of them")
    };
    let next = format!("check the name, or permit it there: `dccpmon serve --third-party {host}`");
    Refused::new(RefusalCode::Destination, reason, next)
}

fn wrong(problem: &str) -> Refused {
    Refused::new(
        RefusalCode::Limit,
        format!("the server does not run this test: {problem}"),
        "install the same version at both ends",
    )
}

fn no_process() -> Refused {
    Refused::new(
        RefusalCode::Busy,
        "the server's system could not run the test",
        "look at the server's output, and try again",
    )
}

/// A test that the server runs, apart from its destination, which is looked up later.
pub(super) struct Granted {
    /// With the values that the server has lowered.
    errand: Errand,
    /// The request that the client gets back.
    pub(super) request: Request,
}

impl Policy {
    /// Checks the proof and the values of an errand. Lowers its duration and its rate to what the server allows.
    pub(super) fn grant_errand(
        &self,
        exchange: &mut Exchange,
        setup: &Setup,
        mut errand: Errand,
    ) -> Result<Granted, Refused> {
        self.check_key(exchange, setup)?;
        if self.third_party.is_none() {
            return Err(off());
        }
        let test = errand.test().map_err(|problem| wrong(&problem))?;
        let request = test.errand_request();
        if !is_valid(&request) {
            return Err(wrong("a value is beyond its limits"));
        }
        let request = self.lower(request)?;
        errand.lower(&request).map_err(|problem| wrong(&problem))?;
        if let Some(limit) = self.rate_bps {
            let each = (limit / u64::from(request.flows)).max(1);
            for shape in errand.own_shapes() {
                let own = Request {
                    shape: shape.clone(),
                    ..request.clone()
                };
                if has_higher_bursts(&own, each) {
                    return Err(too_bursty(each));
                }
            }
        }
        Ok(Granted { errand, request })
    }
}

/// A third-party test that has a seat.
pub(super) struct ThirdSession {
    pub(super) peer: DccpAddr,
    pub(super) channel: Channel,
    pub(super) exchange: Exchange,
    pub(super) policy: Arc<Policy>,
    pub(super) granted: Box<Granted>,
    pub(super) seat: Seat,
}

/// How a test ended, if the client knows it.
enum End {
    /// With this document.
    Tested(Box<Document>),
    Refused(Refused),
}

impl ThirdSession {
    /// Runs the test, and prints a line about it.
    pub(super) fn run(mut self) {
        let what = format!(
            "third-party test from {} to {}",
            self.peer, self.granted.errand.host
        );
        match self.serve() {
            Ok(End::Tested(document)) => {
                log(&format!("{what}: {}", outcome_text(&document)));
                self.count(&document);
                self.seat.finish();
            }
            Ok(End::Refused(refused)) => {
                log(&format!("{what}: refused ({})", refused.reason));
                self.seat.metrics().refused(refused.code);
            }
            Err(e) => {
                log(&format!("{what}: broken off, {e}"));
                self.seat.metrics().test_ended(Outcome::Lost);
            }
        }
    }

    fn serve(&mut self) -> Result<End, Lost> {
        let policy = self.policy.clone();
        let Some(third_party) = &policy.third_party else {
            return self.refuse(off());
        };
        let key_file = third_party.key_file.clone();
        let remotes = self.find()?;
        let errand = &self.granted.errand;
        let remotes = third_party.destinations.permitted(&errand.host, remotes);
        if remotes.is_empty() {
            let refused = not_permitted(third_party, &errand.host);
            return self.refuse(refused);
        }
        let order = Order {
            errand: errand.clone(),
            remotes,
            key_file,
        };
        self.accept()?;
        let mut process = match Process::start(&order) {
            Ok(process) => process,
            Err(e) => {
                complain(&format!("no process for a test: {e}"));
                return self.refuse(no_process());
            }
        };
        let relayed = self.relay(&mut process);
        if relayed.is_err() {
            // The other server gets the end of the test too.
            process.stop();
            wait_for_end(&process);
        }
        match relayed? {
            Some(document) => {
                self.take_leave()?;
                Ok(End::Tested(document))
            }
            None if interrupt::is_pressed() => self.refuse(stopped()),
            None => self.refuse(no_process()),
        }
    }

    /// The addresses of the other server; none if its name has none. They are looked up in a thread, because that can
    /// take longer than the client may be left without an answer.
    fn find(&mut self) -> Result<Vec<SocketAddr>, Lost> {
        let errand = &self.granted.errand;
        let (host, port, family) = (errand.host.clone(), errand.udp_port, errand.family);
        let (found, addresses) = mpsc::sync_channel(1);
        let look_up = move || {
            // Nothing takes them after the longest time.
            let _ = found.send(look_up(&host, port, family));
        };
        let thread = thread::Builder::new().name("look-up".into());
        thread
            .spawn(look_up)
            .map_err(|e| Lost::Closed(e.to_string()))?;
        let until = clock::now() + LOOK_UP;
        while clock::now() < until {
            match addresses.try_recv() {
                Ok(addresses) => return Ok(addresses.unwrap_or_default()),
                Err(TryRecvError::Disconnected) => break,
                Err(TryRecvError::Empty) => {}
            }
            if self.channel.poll(clock::now() + SAMPLE)?.is_some() {
                return Err(Lost::Nonsense);
            }
        }
        Ok(Vec::new())
    }

    /// Grants the request.
    fn accept(&mut self) -> Result<(), Lost> {
        let granted = serde_json::to_string(&self.granted.request).map_err(|_| Lost::Nonsense)?;
        let token = self.seat.token;
        let key = self.policy.key.as_ref();
        let proof = key.map(|key| self.exchange.prove_answer(key, token, &granted).into());
        self.channel.say(&Message::Ready(Ready {
            token,
            granted,
            proof,
        }))
    }

    fn refuse(&mut self, refused: Refused) -> Result<End, Lost> {
        self.channel.say(&Message::Refused(refused.clone()))?;
        self.channel.flush(clock::now() + FAREWELL_MAX)?;
        Ok(End::Refused(refused))
    }

    /// Passes lines on until the last one, whose document is returned. `None`: the process ended without one.
    fn relay(&mut self, process: &mut Process) -> Result<Option<Box<Document>>, Lost> {
        let duration = Duration::from_nanos(self.granted.errand.duration_ns);
        let until = clock::now() + duration + OVERTIME;
        let mut stopped_at = None;
        loop {
            let now = clock::now();
            let is_over = interrupt::is_pressed() || now >= until;
            let asked = self.channel.poll(now + SAMPLE)?;
            if !matches!(asked, None | Some(Message::Stop)) {
                return Err(Lost::Nonsense);
            }
            if is_over || asked.is_some() {
                stopped_at.get_or_insert(now);
                process.stop();
            }
            if stopped_at.is_some_and(|at| now >= at + END_MAX) {
                return Ok(None);
            }
            match process.line() {
                Ok(line) => {
                    if let Some(document) = self.pass_on(&line)? {
                        return Ok(Some(document));
                    }
                }
                Err(TryRecvError::Empty) => {}
                Err(TryRecvError::Disconnected) => return Ok(None),
            }
        }
    }

    /// Sends a line to the client. Returns the document of the last one.
    fn pass_on(&mut self, line: &str) -> Result<Option<Box<Document>>, Lost> {
        let document = match stored::event(line) {
            Ok(Event::Interval(_)) => None,
            Ok(Event::End(document)) => Some(document),
            Ok(Event::Other) | Err(_) => return Ok(None),
        };
        for piece in cut(line) {
            let until = clock::now() + ANSWER_MAX;
            self.channel.say_in_turn(&Message::Piece(piece), until)?;
        }
        Ok(document)
    }

    /// Repeats the last line until the client has said that it has it.
    fn take_leave(&mut self) -> Result<(), Lost> {
        self.channel.flush(clock::now() + ANSWER_MAX)?;
        let until = clock::now() + FAREWELL_MAX;
        while clock::now() < until {
            match self.channel.poll(until) {
                Ok(Some(Message::Bye)) | Err(_) => break,
                Ok(_) => {}
            }
        }
        Ok(())
    }

    /// Adds the test to the server's counters.
    fn count(&self, document: &Document) {
        let metrics = self.seat.metrics();
        let [sent, received] = moved(document);
        metrics.moved(Direction::Sent, sent);
        metrics.moved(Direction::Received, received);
        metrics.test_ended(match document.status {
            Status::Complete => Outcome::Complete,
            _ if interrupt::is_pressed() => Outcome::Stopped,
            Status::Interrupted => Outcome::Complete,
            _ => Outcome::Lost,
        });
    }
}

/// Waits until the process has ended.
fn wait_for_end(process: &Process) {
    let until = clock::now() + END_MAX;
    while clock::now() < until {
        match process.line() {
            Err(TryRecvError::Disconnected) => return,
            Err(TryRecvError::Empty) => thread::sleep(SAMPLE),
            Ok(_) => {}
        }
    }
}

fn outcome_text(document: &Document) -> String {
    match (&document.summary, &document.error) {
        (Some(summary), _) => format!(
            "{} flow(s), {}",
            summary.flows.len(),
            text::rate(summary.goodput_bps)
        ),
        (None, Some(error)) => format!("could not run, {}", error.what),
        (None, None) => "could not run".into(),
    }
}

/// The payload that this host has sent and received, in bytes.
fn moved(document: &Document) -> [u64; 2] {
    let [mut sent, mut received] = [0_u64; 2];
    let flows = document.summary.iter().flat_map(|summary| &summary.flows);
    let half = document.requested.flows.len() / 2;
    for flow in flows {
        let is_sender = match document.requested.direction {
            Way::Forward => true,
            Way::Reverse => false,
            Way::Both => flow.id as usize <= half,
        };
        let arrived = flow.received_bytes.unwrap_or(0);
        if !is_sender {
            received += arrived;
            continue;
        }
        let agreed = document.negotiated.iter().find(|n| n.flow == flow.id);
        let left = flow.ledger.zip(agreed);
        sent += left.map_or(arrived, |(ledger, agreed)| {
            ledger.sent * agreed.packet_bytes
        });
    }
    [sent, received]
}

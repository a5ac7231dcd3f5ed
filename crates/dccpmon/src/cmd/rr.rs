//! `dccpmon rr HOST`: latency against message size, by requests and responses.

use crate::cli::Bulk;
use crate::cli::rr::Rr;
use crate::cmd::bulk::Client;
use crate::host::Usage;
use crate::load::echo::Asker;
use crate::meter::SAMPLE;
use crate::output::json;
use crate::plan::Plan;
use crate::result::document;
use crate::schema::{self, Document, Granted, RrPoint, Status};
use crate::session::agree::lost;
use crate::session::reports;
use crate::transport::FlowError;
use crate::wire::figures::Host;
use crate::wire::message::{Message, Mode};
use core::fmt::Write as _;
use core::time::Duration;
use dccp::proto::number::to_f64;
use dccp::proto::time::nanos;
use dccp::{Instant, clock};
use dccp_cli::{Failure, interrupt, print};
use dccp_stats::{Histogram, Line, steps};
use std::collections::BTreeMap;

/// Requests of each size before the measured ones.
const WARM_UP: u64 = 5;
/// The longest wait until the server has received the start, and until it has ended.
const STEP: Duration = Duration::from_secs(8);
/// The longest sleep between two looks for the user and the server.
const LOOK: Duration = Duration::from_millis(50);
/// A server that answers nothing for this time is gone …
const SILENCE_MAX: Duration = Duration::from_secs(10);
/// … if this number of requests had their time.
const LOST_MAX: u32 = 5;

/// Measures all sizes and prints them; gives the exit code.
pub(crate) fn run(asked: &Rr) -> Result<u8, Failure> {
    let test = asked.test()?;
    interrupt::listen()?;
    let (document, failure) = match measure(asked, &test) {
        Ok(document) => (document, None),
        Err(failure) => (document::of_failure(&test, &failure), Some(failure)),
    };
    if asked.json {
        print(&(json(&document) + "\n"))?;
    }
    failure.map_or(Ok(document.exit_code), Err)
}

fn measure(asked: &Rr, test: &Bulk) -> Result<Document, Failure> {
    let mut client = Client::connect(Plan::new(test.clone())?, Mode::Rr)?;
    let mut usage = Usage::begin(client.channel.socket());
    let (least, most) = (
        asked.messages(asked.size.from),
        asked.messages(asked.size.to),
    );
    check_request(most.0, client.length)?;
    client.settle();
    client.begin()?;
    client
        .channel
        .flush(clock::now() + STEP)
        .map_err(|e| lost(&e))?;
    if !asked.json {
        print(&head(asked, least, most))?;
    }
    let granted = client.granted.clone();
    let time = granted.as_ref().map_or(test.duration, |granted| {
        Duration::from_nanos(granted.duration_ns)
    });
    let mut run = Run {
        asked,
        client: &mut client,
        until: clock::now() + time,
        points: Vec::new(),
        silence: Silence::new(clock::now()),
        trouble: None,
        server: None,
    };
    let status = run.play_all()?;
    usage.end();
    run.finish();
    let document = run.document(test, status, &usage.host(BTreeMap::new()), granted);
    if !asked.json {
        print(&foot(&document))?;
    }
    Ok(document)
}

/// A request is one packet.
fn check_request(bytes: u32, length: usize) -> Result<(), Failure> {
    if bytes as usize <= length {
        return Ok(());
    }
    Err(Failure::run(
        format!("a request of {bytes} bytes does not fit into a packet of {length} bytes"),
        "ask for smaller requests, or vary the responses only",
    ))
}

/// A test that runs.
struct Run<'a> {
    asked: &'a Rr,
    client: &'a mut Client,
    /// The end of the granted time.
    until: Instant,
    points: Vec<RrPoint>,
    silence: Silence,
    /// Why the flow carries no more messages.
    trouble: Option<FlowError>,
    /// The last message of the server.
    server: Option<Host>,
}

/// The requests since the last answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Silence {
    since: Instant,
    lost: u32,
}

impl Silence {
    fn new(now: Instant) -> Self {
        Self {
            since: now,
            lost: 0,
        }
    }

    /// A request had its time without an answer. Returns whether the server is gone: nothing else shows that soon.
    fn is_end(&mut self, now: Instant) -> bool {
        self.lost = self.lost.saturating_add(1);
        self.lost >= LOST_MAX && now - self.since >= SILENCE_MAX
    }
}

impl Run<'_> {
    /// Plays all sizes, and prints each when it is done.
    fn play_all(&mut self) -> Result<Status, Failure> {
        let flow = self.client.flows.first().cloned();
        let flow = flow.ok_or_else(|| Failure::run("there is no flow", "try again"))?;
        let (token, length) = (self.client.token, self.client.length);
        let mut asker = Asker::new(&*flow, token, length, self.asked.timeout);
        for size in self.asked.size.values() {
            let (point, ended) = self.play(&mut asker, size);
            if !self.asked.json {
                print(&line(&point))?;
            }
            self.points.push(point);
            if let Some(status) = ended {
                return Ok(status);
            }
        }
        Ok(Status::Complete)
    }

    /// Plays one size. Also gives the status of a test that ends before its time.
    fn play(&mut self, asker: &mut Asker<'_>, size: u64) -> (RrPoint, Option<Status>) {
        let (request, response) = self.asked.messages(size);
        let mut latencies = Histogram::default();
        let mut lost_requests = 0;
        let mut ended = None;
        for number in 0..WARM_UP + self.asked.count {
            ended = self.why_end();
            if ended.is_some() {
                break;
            }
            let begin = clock::now();
            let outcome = asker.ask(request as usize, response);
            match &outcome {
                Ok(Some(latency)) if number >= WARM_UP => latencies.record(nanos(*latency)),
                Ok(None) if number >= WARM_UP => lost_requests += 1,
                _ => {}
            }
            self.trouble = self.trouble_of(outcome);
            if self.trouble.is_some() {
                ended = Some(Status::Incomplete);
                break;
            }
            self.pause(begin);
        }
        let latency_ns = latencies.spread().map(|spread| dccp_stats::Spread {
            hdr: Some(latencies.text()),
            ..spread
        });
        let point = RrPoint {
            request_bytes: request.into(),
            response_bytes: response.into(),
            latency_ns,
            lost_requests,
        };
        (point, ended)
    }

    /// The reason why no more requests follow the outcome of one.
    fn trouble_of(&mut self, outcome: Result<Option<Duration>, FlowError>) -> Option<FlowError> {
        let now = clock::now();
        match outcome {
            Ok(Some(_)) => {
                self.silence = Silence::new(now);
                None
            }
            Ok(None) if self.silence.is_end(now) => {
                let seconds = (now - self.silence.since).as_secs();
                Some(FlowError(format!(
                    "the server has answered no request for {seconds} s"
                )))
            }
            Ok(None) => None,
            Err(trouble) => Some(trouble),
        }
    }

    /// Waits until the next request is due.
    fn pause(&self, begin: Instant) {
        let due = begin + self.asked.interval.unwrap_or_default();
        while clock::now() < due && !interrupt::is_pressed() {
            std::thread::sleep(LOOK.min(due - clock::now()));
        }
    }

    /// The reason to end now, if there is one. Also takes the messages of the server.
    fn why_end(&mut self) -> Option<Status> {
        if interrupt::is_pressed() {
            return Some(Status::Interrupted);
        }
        loop {
            match self.client.channel.try_poll() {
                Ok(None) => break,
                Ok(Some(Message::Host(host))) => {
                    self.server = reports::host(&host).ok();
                    return Some(Status::Incomplete);
                }
                Ok(Some(Message::Ending)) | Err(_) => return Some(Status::Incomplete),
                Ok(Some(_)) => {}
            }
        }
        (clock::now() >= self.until).then_some(Status::Incomplete)
    }

    /// Ends the test, and gets the counters of the server's host.
    fn finish(&mut self) {
        let channel = &mut self.client.channel;
        let _ = channel.say(&Message::Stop);
        let until = clock::now() + STEP;
        while self.server.is_none() && clock::now() < until {
            match channel.poll(clock::now() + SAMPLE) {
                Ok(Some(Message::Host(host))) => match reports::host(&host) {
                    Ok(host) => self.server = Some(host),
                    Err(_) => break,
                },
                Ok(_) => {}
                Err(_) => break,
            }
        }
        let _ = channel.say(&Message::Bye);
        let _ = channel.flush(clock::now() + STEP / 8);
        for flow in &self.client.flows {
            flow.close();
        }
    }

    fn document(
        self,
        test: &Bulk,
        status: Status,
        client: &Host,
        granted: Option<Granted>,
    ) -> Document {
        let status = match status {
            Status::Complete if self.server.is_none() => Status::Incomplete,
            status => status,
        };
        let least = least_latencies(self.asked, &self.points);
        // The server takes no times.
        let server = self.server.as_ref().map(|host| (host, None));
        let stamps = self.client.flows.first().and_then(|flow| flow.stamps());
        Document {
            granted,
            rr: Some(schema::Rr {
                varied: self.asked.vary,
                line: Line::new(&least),
                steps: steps(&least),
                points: self.points,
            }),
            ..document::of_kind(
                test,
                status,
                self.trouble.as_ref(),
                (client, stamps),
                server,
            )
        }
    }
}

/// The least latency of each size, in nanoseconds over bytes.
fn least_latencies(asked: &Rr, points: &[RrPoint]) -> Vec<(f64, f64)> {
    let sizes = asked.size.values().zip(points);
    sizes
        .filter_map(|(size, point)| {
            let least = point.latency_ns.as_ref()?.min;
            Some((to_f64(size), to_f64(least)))
        })
        .collect()
}

fn head(asked: &Rr, least: (u32, u32), most: (u32, u32)) -> String {
    let range = |from: u32, to: u32| {
        if from == to {
            format!("{from} B")
        } else {
            format!("{from} to {to} B")
        }
    };
    format!(
        "rr  {}, requests of {}, responses of {}, {} of each size\n\
         {COLUMNS}",
        asked.host,
        range(least.0, most.0),
        range(least.1, most.1),
        asked.count,
    )
}

/// The names of the columns.
const COLUMNS: &str = "request  response    least ms   median ms      p99 ms     most ms    lost\n";

/// The table of a stored result.
pub(crate) fn table(document: &Document) -> String {
    let points = document.rr.iter().flat_map(|rr| &rr.points);
    let lines: String = points.map(line).collect();
    format!("{COLUMNS}{lines}{}", foot(document))
}

fn line(point: &RrPoint) -> String {
    let ms = |ns: Option<u64>| {
        ns.map_or_else(|| "-".to_owned(), |ns| format!("{:.3}", to_f64(ns) / 1e6))
    };
    let spread = point.latency_ns.as_ref();
    format!(
        "{:>7}  {:>8}  {:>10}  {:>10}  {:>10}  {:>10}  {:>6}\n",
        point.request_bytes,
        point.response_bytes,
        ms(spread.map(|s| s.min)),
        ms(spread.and_then(|s| s.p50)),
        ms(spread.and_then(|s| s.p99)),
        ms(spread.map(|s| s.max)),
        point.lost_requests,
    )
}

/// The line through the least latencies, and what ended the test early.
fn foot(document: &Document) -> String {
    let mut text = String::new();
    let rr = document.rr.as_ref();
    if let Some(fit) = rr.and_then(|rr| rr.line) {
        let _ = writeln!(
            text,
            "least latency = {:.3} ± {:.3} ms + {:.2} ± {:.2} ns for each byte (95 % confidence)",
            fit.intercept / 1e6,
            fit.intercept_error / 1e6,
            fit.slope,
            fit.slope_error,
        );
    }
    for step in rr.iter().flat_map(|rr| &rr.steps) {
        let _ = writeln!(
            text,
            "step of {:+.3} ms at {} bytes",
            step.jump / 1e6,
            step.at
        );
    }
    let problem = document.error.as_ref().map(|problem| problem.what.as_str());
    match document.status {
        Status::Incomplete => {
            let why = problem.unwrap_or("the time was over, or the server ended the test");
            let _ = writeln!(text, "incomplete: {why}");
        }
        Status::Interrupted => text += "interrupted\n",
        _ => {}
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(latency_ns: Option<dccp_stats::Spread>) -> RrPoint {
        RrPoint {
            request_bytes: 64,
            response_bytes: 1_400,
            latency_ns,
            lost_requests: 3,
        }
    }

    #[test]
    fn line_has_a_dash_for_each_unknown_time() {
        assert_eq!(
            line(&point(None)),
            "     64      1400           -           -           -           -       3\n"
        );
        let mut latencies = Histogram::default();
        latencies.record(2_000_000);
        latencies.record(2_000_000);
        assert_eq!(
            line(&point(latencies.spread())),
            "     64      1400       2.000       2.000           -       2.000       3\n"
        );
    }

    // goal 57: a server that has vanished ends the test soon.
    #[test]
    fn silence_needs_time_and_requests() {
        let begin = clock::now();
        let at = |seconds| begin + Duration::from_secs(seconds);
        let mut silence = Silence::new(begin);
        for second in 6..10 {
            assert!(!silence.is_end(at(second)));
        }
        assert!(silence.is_end(at(10)));
        // Each request may wait for 4 s: fewer of them can be lost by chance.
        let mut silence = Silence::new(begin);
        assert!(!silence.is_end(at(4)) && !silence.is_end(at(8)) && !silence.is_end(at(12)));
    }

    #[test]
    fn request_must_fit_into_a_packet() {
        assert!(check_request(1_400, 1_400).is_ok());
        let failure = check_request(1_401, 1_400).unwrap_err();
        assert!(failure.what.contains("1401 bytes does not fit"));
    }
}

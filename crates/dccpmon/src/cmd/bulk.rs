//! `dccpmon HOST`: throughput, round trip and loss to a server.

mod flows;

use crate::cli::Bulk;
use crate::host::Usage;
use crate::limits::INTERVAL_MIN;
use crate::meter::{Meter, SAMPLE};
use crate::output::capture::Capture;
use crate::output::{self, Format, Options, Outputs};
use crate::plan::{self, Plan};
use crate::result::check::Checks;
use crate::result::halves::Halves;
use crate::result::{Sides, Status, TestResult, combine, document};
use crate::schema::{self, Document, Granted, Problem, Transport};
use crate::session::agree::{Agreement, lost};
use crate::session::clock::Timing;
use crate::session::failure::failure;
use crate::session::repeat::Series;
use crate::session::reports::{self, Reports};
use crate::session::wait;
use crate::transport::Flow;
use crate::wire::auth::Key;
use crate::wire::channel::{Channel, Lost};
use crate::wire::figures::{FlowTotal, Host, Interval};
use crate::wire::message::{Message, Mode, Request};
use core::time::Duration;
use dccp::proto::time::nanos;
use dccp::{Encapsulation, Socket, clock};
use dccp_cli::quantity::show as units;
use dccp_cli::{Failure, exit, interrupt};
use std::io::{Write as _, stderr};
use std::sync::Arc;

/// How long each step of the agreement with the server may take.
const STEP: Duration = Duration::from_secs(10);
/// How long the server may take to send its totals after the end.
const TOTALS: Duration = Duration::from_secs(8);
/// How long the acknowledgement of the tokens is waited for.
const SETTLE: Duration = Duration::from_millis(500);
/// The interval between two tokens of a data connection, until the server has confirmed it.
const JOIN: Duration = Duration::from_millis(100);

/// Runs the test and writes the result; gives the exit code.
pub(crate) fn run(asked: &Bulk) -> Result<u8, Failure> {
    run_with(asked, Plan::new)
}

/// The same with another way to make the plan.
pub(crate) fn run_with(
    asked: &Bulk,
    plan: impl FnOnce(Bulk) -> Result<Plan, Failure>,
) -> Result<u8, Failure> {
    interrupt::listen()?;
    for note in &asked.notes {
        // A closed standard error does not change the outcome.
        let _ = writeln!(stderr(), "note: {note}");
    }
    let requested = document::of_begin(asked).requested;
    let checks = asked.wanted.load(&requested);
    let opened = checks.and_then(|checks| Outputs::new(&asked.output, checks, &requested));
    let mut outputs = opened.or_else(|failure| {
        output::show_failure(&asked.output, &document::of_failure(asked, &failure))?;
        Err(failure)
    })?;
    let measured = plan(asked.clone()).and_then(|plan| measure(plan, &mut outputs));
    let (mut document, failure) = match measured {
        Ok(document) => (document, None),
        Err(failure) => (document::of_failure(asked, &failure), Some(failure)),
    };
    outputs.finish(&mut document)?;
    failure.map_or(Ok(document.exit_code), Err)
}

fn measure(plan: Plan, outputs: &mut Outputs<'_>) -> Result<Document, Failure> {
    let asked = &plan.asked;
    if asked.is_dry_run {
        return rehearse(plan, outputs);
    }
    outputs.begin(&plan.to_string(), &document::of_begin(asked));
    let mut series = Series::new(asked.runs_max, asked.until_ci, asked.seed);
    let mut begin_ns = 0;
    let mut last = None;
    loop {
        let run = measure_once(&plan, outputs, &mut series, begin_ns);
        let mut document = run.or_else(|failure| keep(last.take(), failure))?;
        let is_complete = document.exit_code == exit::DONE;
        let summary = document.summary.as_mut().filter(|_| is_complete);
        let is_over = summary.is_none_or(|summary| {
            begin_ns += summary.duration_ns;
            !series.run(summary)
        });
        if is_over {
            if let Some(summary) = &mut document.summary {
                summary.repeat = series.finish();
            }
            return Ok(document);
        }
        last = Some(document);
    }
}

/// The document of the last run, if a later one cannot run: what was measured is not lost.
fn keep(last: Option<Document>, failure: Failure) -> Result<Document, Failure> {
    let Some(document) = last else {
        return Err(failure);
    };
    // A closed standard error does not change the outcome.
    let _ = writeln!(
        stderr(),
        "dccpmon: a repetition could not run: {}",
        failure.what
    );
    Ok(Document {
        status: schema::Status::Incomplete,
        exit_code: exit::INCOMPLETE,
        error: Some(Problem {
            what: failure.what,
            next: failure.next,
        }),
        ..document
    })
}

/// Runs the test once without printing anything.
pub(crate) fn quietly(asked: Bulk) -> Result<Document, Failure> {
    // A document is printed by `Outputs::finish` only.
    let options = Options {
        format: Format::Json,
        ..Options::default()
    };
    let requested = document::of_begin(&asked).requested;
    let mut outputs = Outputs::new(&options, Checks::default(), &requested)?;
    let mut series = Series::new(asked.runs_max, asked.until_ci, asked.seed);
    measure_once(&Plan::new(asked)?, &mut outputs, &mut series, 0)
}

/// Runs the test once. Its intervals begin at `begin_ns`.
fn measure_once(
    plan: &Plan,
    outputs: &mut Outputs<'_>,
    series: &mut Series,
    begin_ns: u64,
) -> Result<Document, Failure> {
    let client = Client::connect(plan.clone(), Mode::Stream)?;
    let granted = client.granted.clone();
    let rows = Rows {
        halves: Halves::new(plan.asked.flows),
        outputs,
        series,
        begin_ns,
    };
    let (result, timing, error) = client.measure(rows)?;
    let code = match result.status {
        Status::Complete => exit::DONE,
        Status::Interrupted => exit::INTERRUPTED,
        Status::Incomplete => exit::INCOMPLETE,
    };
    let mut document = Document {
        error,
        granted,
        ..document::of_test(plan, &result, code)
    };
    timing.write(&mut document, &result.flows, &plan.asked);
    Ok(document)
}

/// Asks the server for its limits only, and shows what a test would do.
fn rehearse(plan: Plan, outputs: &mut Outputs<'_>) -> Result<Document, Failure> {
    outputs.note(&plan.to_string());
    let mut client = Client::reach(plan, Mode::Stream)?;
    let grant = client.greet()?.foresee(&client.request());
    client.accept(&grant)?;
    let asked = &client.plan.asked;
    let rates = (0..asked.flows).map(|flow| {
        let mut values = asked.values_of(flow);
        values.lower(grant.rate_bps, client.length);
        values.shape.mean_bps(client.length)
    });
    let bps = rates.sum();
    outputs.note(&plan::load(bps, client.length, grant.duration_ns));
    let of_server = &grant.limits;
    outputs.note(&format!(
        "limit {} tests at once, {} flows, {} s, packets of {} B",
        of_server.tests,
        of_server.flows,
        units::seconds(of_server.duration_ns),
        of_server.packet_bytes_max
    ));
    outputs.note("This was a dry run: no test was requested, and no data was sent.");
    Ok(document::of_plan(asked, grant))
}

/// The client's side of a test.
pub(crate) struct Client {
    plan: Plan,
    mode: Mode,
    pub(crate) channel: Channel,
    pub(crate) token: u64,
    /// Bytes of a datagram.
    pub(crate) length: usize,
    pub(crate) granted: Option<Granted>,
    /// The data connections.
    pub(crate) flows: Vec<Arc<dyn Flow>>,
    capture: Option<Capture>,
}

/// The server's messages during a test.
struct ServerReport {
    checks: Reports,
    /// The reason why the server was lost.
    lost: Option<Lost>,
    totals: Vec<FlowTotal>,
    host: Option<Host>,
    has_sent: bool,
    /// The packets of each flow, if the server sends.
    packets: Vec<u64>,
    /// The server is being stopped.
    is_ending: bool,
}

impl ServerReport {
    fn new(asked: &Bulk) -> Self {
        let Bulk {
            flows,
            duration,
            interval,
            is_reverse,
            is_both,
            ..
        } = *asked;
        Self {
            checks: Reports::new(flows, (is_reverse, is_both), duration, interval),
            lost: None,
            totals: Vec::new(),
            host: None,
            has_sent: false,
            packets: Vec::new(),
            is_ending: false,
        }
    }
}

/// The intervals of a running test on their way to the outputs.
struct Rows<'a, 'b> {
    halves: Halves,
    outputs: &'a mut Outputs<'b>,
    series: &'a mut Series,
    /// When this run began: the sum of the runs before it.
    begin_ns: u64,
}

impl Rows<'_, '_> {
    /// One end's half of an interval.
    fn add(&mut self, half: Interval) {
        for interval in self.halves.add(half) {
            self.show(interval);
        }
    }

    /// No half comes any more.
    fn finish(mut self) {
        let halves = core::mem::replace(&mut self.halves, Halves::new(0));
        for interval in halves.finish() {
            self.show(interval);
        }
    }

    fn show(&mut self, mut interval: schema::Interval) {
        self.series.interval(&interval);
        interval.t0_ns = interval.t0_ns.saturating_add(self.begin_ns);
        interval.t1_ns = interval.t1_ns.saturating_add(self.begin_ns);
        self.outputs.interval(interval);
    }
}

/// Agreement with the server.
impl Client {
    /// Connects all flows of a test that the server grants.
    pub(crate) fn connect(mut plan: Plan, mode: Mode) -> Result<Self, Failure> {
        let capture = Capture::start(&plan.asked.output.capture)?;
        if let Some(capture) = &capture {
            plan.data = plan.data.engine(capture.engine());
        }
        let mut client = Self::reach(plan, mode)?;
        client.capture = capture;
        client.agree()?;
        client.open_flows()?;
        client.join()?;
        Ok(client)
    }

    /// Opens the control connection.
    fn reach(plan: Plan, mode: Mode) -> Result<Self, Failure> {
        let port = plan.asked.dccp_port;
        let (remotes, options) = (plan.remotes.clone(), plan.control.clone());
        let connect = move || Socket::connect((remotes.as_slice(), port), &options);
        let control = wait::interruptible(connect)?.map_err(|e| failure(&plan.asked, e))?;
        let mps = control.max_packet_size().unwrap_or(usize::MAX);
        let length = plan.length(mps)?;
        let channel = Channel::new(control, None).map_err(|e| lost(&e))?;
        Ok(Self {
            plan,
            mode,
            channel,
            token: 0,
            length,
            granted: None,
            flows: Vec::new(),
            capture: None,
        })
    }

    /// Exchanges versions with the server.
    fn greet(&mut self) -> Result<Agreement, Failure> {
        let key = self.plan.asked.key_file.as_deref();
        let key = key.map(Key::read).transpose()?;
        Agreement::begin(&mut self.channel, key)
    }

    /// The test as the user asked for it.
    fn request(&self) -> Request {
        self.plan.asked.request(self.mode, self.length)
    }

    /// Tells the user what the server lowered.
    fn accept(&self, grant: &Granted) -> Result<(), Failure> {
        for text in &grant.lowered {
            if self.plan.asked.is_strict {
                let next = "ask for less, or leave --strict out";
                return Err(Failure::refused(text.clone(), next));
            }
            // A closed standard error does not change the outcome.
            let _ = writeln!(stderr(), "note: {text}");
        }
        Ok(())
    }

    /// Agrees on the test. The plan takes over the lowered values of the server.
    fn agree(&mut self) -> Result<(), Failure> {
        let mut agreement = self.greet()?;
        let request = self.request();
        let granted = agreement.request(&mut self.channel, &request, self.plan.asked.is_patient)?;
        self.accept(&granted.grant)?;
        self.token = granted.token;
        let asked = &mut self.plan.asked;
        asked.duration = Duration::from_nanos(granted.request.duration_ns);
        asked.interval = asked.interval.min(asked.duration.max(INTERVAL_MIN));
        asked.rate_bps = granted.request.rate_bps;
        asked.shape = granted.request.shape.clone();
        for flow in &mut asked.own {
            flow.lower(granted.request.rate_bps, self.length);
        }
        self.granted = Some(granted.grant);
        Ok(())
    }

    /// Begins the test, whose flows have settled.
    pub(crate) fn begin(&mut self) -> Result<(), Failure> {
        self.channel.say(&Message::Start).map_err(|e| lost(&e))
    }
}

/// The test itself.
impl Client {
    /// The result, the delays, and the reason if the server was lost.
    fn measure(
        mut self,
        mut rows: Rows<'_, '_>,
    ) -> Result<(TestResult, Timing, Option<Problem>), Failure> {
        self.settle();
        let timing = Timing::before(&mut self.channel, self.plan.asked.idle_time());
        let mut timing = timing.map_err(|e| lost(&e))?;
        let mut usage = Usage::begin(self.channel.socket());
        self.begin()?;
        let mut meter = Meter::new(
            self.start_flows()?,
            self.plan.asked.over == Encapsulation::Ip
                && self.plan.asked.transport == Transport::Dccp,
        )
        .traced(self.plan.asked.sample);
        let mut report = ServerReport::new(&self.plan.asked);
        let mut status = self.watch(&mut meter, &mut report, &mut rows, &mut timing);
        timing.close(&mut self.channel);
        usage.end();
        let samples = meter.take_rows();
        let elapsed = meter.series().unwrap_or_else(|| meter.elapsed());
        let elapsed = elapsed.min(self.plan.asked.duration);
        status = self.finish(status, &mut meter, &mut report, &mut rows, &mut timing);
        let mut totals = meter.totals(&report.packets);
        totals.append(&mut report.totals);
        let sides = Sides {
            totals,
            samples,
            addresses: self.flows.iter().map(|flow| flow.local_addr()).collect(),
            client: usage.host(meter.mib()),
            server: report.host,
        };
        rows.finish();
        if let Err(e) = self.end_capture(meter) {
            // The figures are whole: only the files of packets are missing.
            let _ = writeln!(stderr(), "{e}");
            status = Status::Incomplete;
        }
        let result = combine(&self.plan.asked, self.length, status, elapsed, sides);
        let error = report.lost.map(|e| Problem::from(&lost(&e)));
        let error = error.or_else(|| result.broken_by_breaker());
        Ok((result, timing, error))
    }

    /// Ends the capture after the data connections, whose last packets it has.
    fn end_capture(&mut self, meter: Meter) -> Result<(), Failure> {
        drop(meter);
        self.flows.clear();
        match self.capture.take() {
            Some(capture) => capture.finish(),
            None => Ok(()),
        }
    }

    /// Takes back tokens that are not needed any more and waits until the others are acknowledged, so
    /// that the flows begin with nothing in flight.
    pub(crate) fn settle(&self) {
        for flow in &self.flows {
            flow.withdraw();
        }
        let until = clock::now() + SETTLE;
        while !self.flows.iter().all(|flow| flow.is_drained()) && clock::now() < until {
            std::thread::sleep(SAMPLE);
        }
    }

    /// Until the time is over, or something else ends the test.
    fn watch(
        &mut self,
        meter: &mut Meter,
        report: &mut ServerReport,
        rows: &mut Rows<'_, '_>,
        timing: &mut Timing,
    ) -> Status {
        let Bulk {
            interval,
            duration,
            sample,
            ..
        } = self.plan.asked;
        let look = sample.unwrap_or(SAMPLE).min(SAMPLE);
        let mut next = interval;
        loop {
            meter.sample();
            timing.step(&mut self.channel);
            if let Some(capture) = &self.capture {
                meter.show_states(capture);
            }
            let until = look.min(next.saturating_sub(meter.elapsed()));
            if !self.handle_messages(until, report, rows) {
                return Status::Incomplete;
            }
            let elapsed = meter.elapsed();
            rows.outputs.progress(nanos(elapsed), nanos(duration));
            let is_over = report.has_sent || elapsed >= duration || meter.is_done();
            let is_interrupted = interrupt::is_pressed();
            let has_ended = meter.is_done() && elapsed < duration;
            let is_early = is_interrupted || report.is_ending || has_ended;
            let is_last = is_over && elapsed + interval / 2 >= next;
            // The server may report the part of an interval before an early end.
            if elapsed >= next || is_last || is_early {
                next += interval;
                meter.interval().into_iter().for_each(|i| rows.add(i));
            }
            if is_interrupted {
                return Status::Interrupted;
            }
            if report.is_ending {
                return Status::Incomplete;
            }
            if is_over {
                return Status::Complete;
            }
        }
    }

    /// Ends both directions and gets the server's totals.
    fn finish(
        &mut self,
        status: Status,
        meter: &mut Meter,
        report: &mut ServerReport,
        rows: &mut Rows<'_, '_>,
        timing: &mut Timing,
    ) -> Status {
        if self.plan.asked.is_reverse {
            let _ = self.channel.say(&Message::Stop);
        } else {
            meter.finish_sending();
            let packets = meter.packets_sent();
            let _ = self.channel.say(&Message::Sent { packets });
        }
        if self.plan.asked.is_both {
            // The server ends sending once it has heard that the client has.
            let until = clock::now() + TOTALS;
            while !report.has_sent && clock::now() < until {
                if !self.handle_messages(SAMPLE, report, rows) {
                    break;
                }
            }
        }
        if self.plan.asked.is_one_connection {
            meter.close();
        }
        if self.plan.asked.is_reverse || self.plan.asked.is_both {
            meter.finish_receiving();
        }
        let until = clock::now() + TOTALS;
        while report.host.is_none() {
            if clock::now() >= until || !self.handle_messages(SAMPLE, report, rows) {
                return Status::Incomplete;
            }
        }
        timing.after(&mut self.channel);
        let _ = self.channel.say(&Message::Bye);
        let _ = self.channel.flush(clock::now() + STEP / 10);
        status
    }

    /// Handles the server's messages for `time`. Returns whether the server is still connected.
    fn handle_messages(
        &mut self,
        time: Duration,
        report: &mut ServerReport,
        rows: &mut Rows<'_, '_>,
    ) -> bool {
        let heard = self.listen(time, report, rows);
        if let Err(e) = heard {
            report.lost.get_or_insert(e);
        }
        report.lost.is_none()
    }

    /// Handles the server's messages for `time`.
    fn listen(
        &mut self,
        time: Duration,
        report: &mut ServerReport,
        rows: &mut Rows<'_, '_>,
    ) -> Result<(), Lost> {
        let until = clock::now() + time;
        while let Some(message) = self.channel.poll(until)? {
            match message {
                Message::Interval(interval) => rows.add(report.checks.interval(&interval)?),
                Message::Total(total) => report.totals.push(report.checks.total(*total)?),
                Message::Host(host) => report.host = Some(reports::host(&host)?),
                Message::Sent { packets } => {
                    report.has_sent = true;
                    report.packets = report.checks.packets(packets)?;
                }
                Message::Ending => report.is_ending = true,
                _ => {}
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;

//! `dccpmon media HOST`: important packets, and others that make room for them when the path is slow.

use crate::cli::Bulk;
use crate::cli::media::Media;
use crate::cmd::bulk::Client;
use crate::host::Usage;
use crate::limits::DRAIN_MAX;
use crate::load::classes::{CLASSES, IMPORTANT, OTHER};
use crate::load::source::Source;
use crate::output::json;
use crate::output::text::{millis, percent};
use crate::plan::Plan;
use crate::result::document;
use crate::schema::{self, Document, Granted, MediaClass, OneWay, StampSource, Status, Transport};
use crate::session::agree::lost;
use crate::session::clock::Timing;
use crate::session::reports::{self, Reports};
use crate::transport::{BATCH, FlowError};
use crate::wire::channel::Lost;
use crate::wire::figures::{FlowTotal, Host};
use crate::wire::message::{Message, Mode};
use crate::wire::packet::{Head, Kind as PacketKind};
use core::fmt::Write as _;
use core::time::Duration;
use dccp::proto::number::to_f64;
use dccp::{Instant, clock};
use dccp_cli::{Failure, interrupt, print};
use std::collections::BTreeMap;

/// The longest wait for the server's totals.
const TOTALS: Duration = Duration::from_secs(8);
/// The longest time between two looks at the server and the probes.
const LOOK: Duration = Duration::from_millis(10);

/// Sends, and prints the shares of important packets; gives the exit code.
pub(crate) fn run(asked: &Media) -> Result<u8, Failure> {
    let test = asked.test()?;
    interrupt::listen()?;
    let (document, failure) = match measure(asked, &test) {
        Ok(document) => (document, None),
        Err(failure) => (document::of_failure(&test, &failure), Some(failure)),
    };
    if asked.json {
        print(&(json(&document) + "\n"))?;
    } else if failure.is_none() {
        print(&table(&document))?;
    }
    failure.map_or(Ok(document.exit_code), Err)
}

fn measure(asked: &Media, test: &Bulk) -> Result<Document, Failure> {
    let mut client = Client::connect(Plan::new(test.clone())?, Mode::Media)?;
    client.settle();
    let source = open(asked, test, &mut client)?;
    let timing = Timing::before(&mut client.channel, test.idle_time()).map_err(|e| lost(&e))?;
    let mut usage = Usage::begin(client.channel.socket());
    client.begin()?;
    let granted = client.granted.clone();
    let time = granted.as_ref().map_or(test.duration, |granted| {
        Duration::from_nanos(granted.duration_ns)
    });
    let rate = granted.as_ref().and_then(|granted| granted.rate_bps);
    let mut run = Run {
        asked,
        client: &mut client,
        source,
        timing,
        bps: rate.unwrap_or(asked.bitrate),
        offered: [0; CLASSES],
        trouble: None,
        server: Server::new(test),
    };
    let status = run.play(time);
    usage.end();
    let status = run.finish(status);
    Ok(run.document(test, status, &usage.host(BTreeMap::new()), granted))
}

/// The way of the packets: a ring over DCCP, nothing over UDP.
fn open(asked: &Media, test: &Bulk, client: &mut Client) -> Result<Source, Failure> {
    let failed = || Failure::run("the data connection has ended", "try again");
    let flow = client.flows.pop().ok_or_else(failed)?;
    if test.transport != Transport::Dccp {
        return Ok(Source::Direct {
            flow,
            sent: [0; CLASSES],
        });
    }
    let socket = flow.into_socket().ok_or_else(failed)?;
    Source::ring(socket, asked.ring, client.length)
        .map_err(|e| Failure::run(format!("--ring: {e}"), "write a smaller --ring"))
}

/// The server's messages.
struct Server {
    checks: Reports,
    totals: Vec<FlowTotal>,
    host: Option<Host>,
    is_ending: bool,
}

impl Server {
    fn new(test: &Bulk) -> Self {
        // Classes are flows here, and this is the greater number of the two.
        let classes = u32::from(IMPORTANT) + 1;
        Self {
            checks: Reports::new(classes, (false, false), test.duration, test.interval),
            totals: Vec::new(),
            host: None,
            is_ending: false,
        }
    }

    /// The source of its arrival times.
    fn stamps(&self) -> Option<StampSource> {
        let received = self.totals.iter().filter_map(|total| total.rx.as_ref());
        StampSource::of_all(received.map(|rx| rx.stamps))
    }
}

/// A test that runs.
struct Run<'a> {
    asked: &'a Media,
    client: &'a mut Client,
    source: Source,
    timing: Timing,
    /// The granted rate.
    bps: u64,
    /// Packets of each class that were made.
    offered: [u64; CLASSES],
    /// Why no more packets can leave.
    trouble: Option<FlowError>,
    server: Server,
}

impl Run<'_> {
    /// Makes packets at their times, until the time is over or something else ends the test.
    fn play(&mut self, time: Duration) -> Status {
        let length = self.client.length;
        let mut packet = vec![0; length];
        let gap = 8e9 * to_f64(length as u64) / to_f64(self.bps);
        let begin = clock::now();
        let due_at = |packets: u64| begin + Duration::from_secs_f64(gap * to_f64(packets) / 1e9);
        loop {
            let now = clock::now();
            if now - begin >= time {
                return Status::Complete;
            }
            // A rate that this host cannot make leaves packets due for ever: the end and the user come first.
            for _ in 0..BATCH {
                if due_at(self.made()) > now {
                    break;
                }
                if let Err(trouble) = self.offer(&mut packet) {
                    self.trouble = Some(trouble);
                    return Status::Incomplete;
                }
            }
            self.timing.step(&mut self.client.channel);
            let next = due_at(self.made()).min(now + LOOK);
            if self.listen(next).is_err() || self.server.is_ending {
                return Status::Incomplete;
            }
            if interrupt::is_pressed() {
                return Status::Interrupted;
            }
        }
    }

    /// Packets of all classes that were made.
    fn made(&self) -> u64 {
        self.offered.iter().sum()
    }

    fn offer(&mut self, packet: &mut [u8]) -> Result<(), FlowError> {
        let is_important = self.made().is_multiple_of(self.asked.important);
        let class = if is_important { IMPORTANT } else { OTHER };
        let offered = &mut self.offered[usize::from(class)];
        let head = Head {
            kind: PacketKind::Data,
            token: self.client.token,
            flow: class,
            wants_echo: false,
            number: *offered,
            sent_ns: clock::now().as_nanos(),
        };
        head.write(packet);
        *offered += 1;
        self.source.offer(packet, class)
    }

    /// Handles the server's messages until then.
    fn listen(&mut self, until: Instant) -> Result<(), Lost> {
        while let Some(message) = self.client.channel.poll(until)? {
            match message {
                Message::Total(total) => {
                    let total = self.server.checks.total(*total)?;
                    self.server.totals.push(total);
                }
                Message::Host(host) => self.server.host = Some(reports::host(&host)?),
                Message::Ending => self.server.is_ending = true,
                _ => {}
            }
        }
        Ok(())
    }

    /// Ends the test, and gets the server's totals.
    fn finish(&mut self, status: Status) -> Status {
        self.timing.close(&mut self.client.channel);
        self.source.finish(DRAIN_MAX);
        // All has arrived or is lost: the probes find empty queues. The totals would fill those of a slow path.
        self.timing.after(&mut self.client.channel);
        let packets = self.offered.to_vec();
        let _ = self.client.channel.say(&Message::Sent { packets });
        let until = clock::now() + TOTALS;
        while self.server.host.is_none() {
            if clock::now() >= until || self.listen(clock::now() + LOOK).is_err() {
                return Status::Incomplete;
            }
        }
        let _ = self.client.channel.say(&Message::Bye);
        let _ = self.client.channel.flush(clock::now() + TOTALS / 8);
        status
    }

    fn document(
        self,
        test: &Bulk,
        status: Status,
        client: &Host,
        granted: Option<Granted>,
    ) -> Document {
        let server = self.server.host.as_ref();
        let server = server.map(|host| (host, self.server.stamps()));
        let mut document = Document {
            granted,
            // The client takes no times.
            ..document::of_kind(test, status, self.trouble.as_ref(), (client, None), server)
        };
        let clocks = self.timing.clocks();
        self.timing.write(&mut document, &[], test);
        let (offered, sent, totals) = (self.offered, self.source.sent(), self.server.totals);
        let class = |class: u16| {
            let at = usize::from(class);
            let total = totals.iter().find(|total| total.flow == u32::from(class));
            let rx = total.and_then(|total| total.rx.as_ref());
            let arrivals = rx.and_then(|rx| rx.arrivals.as_ref());
            MediaClass {
                offered_packets: offered[at],
                sent_packets: sent[at],
                delivered_packets: rx.map(|rx| rx.delivered),
                age: arrivals.and_then(|arrivals| clocks.one_way(&arrivals.delays, false)),
            }
        };
        document.media = Some(schema::Media {
            important_every: self.asked.important,
            ring_packets: matches!(self.source, Source::Ring(_)).then_some(self.asked.ring),
            important: class(IMPORTANT),
            other: class(OTHER),
        });
        document
    }
}

/// A line for each class, and the share of important packets at each place.
pub(crate) fn table(document: &Document) -> String {
    let Some(media) = &document.media else {
        return String::new();
    };
    let mut text = format!(
        "media  {}, one packet in {} is important\n\
         {:<10} {:>9} {:>9} {:>9} {:>11} {:>11} {:>9}\n",
        document.requested.host,
        media.important_every,
        "",
        "offered",
        "sent",
        "delivered",
        "age p50 ms",
        "age p99 ms",
        "± ms"
    );
    let classes = [("important", &media.important), ("other", &media.other)];
    for (name, class) in classes {
        let age = |of: fn(&OneWay) -> Option<u64>| millis(class.age.as_ref().and_then(of));
        let _ = writeln!(
            text,
            "{name:<10} {:>9} {:>9} {:>9} {:>11} {:>11} {:>9}",
            class.offered_packets,
            class.sent_packets,
            class
                .delivered_packets
                .map_or("-".into(), |n| n.to_string()),
            age(|age| age.ns.p50),
            age(|age| age.ns.p99),
            age(|age| Some(age.error_ns)),
        );
    }
    let share = |of: fn(&MediaClass) -> Option<u64>| {
        let important = of(&media.important)?;
        // A server can state any number.
        let all = important.saturating_add(of(&media.other)?);
        (all > 0).then(|| to_f64(important) / to_f64(all))
    };
    let shares = [
        share(|class| Some(class.offered_packets)),
        share(|class| Some(class.sent_packets)),
        share(|class| class.delivered_packets),
    ];
    let shares = shares.map(|share| share.map_or("-".into(), percent));
    let _ = writeln!(
        text,
        "{:<10} {:>9} {:>9} {:>9}",
        "share", shares[0], shares[1], shares[2]
    );
    match document.status {
        Status::Incomplete => text += "incomplete: the server or the connection ended the test\n",
        Status::Interrupted => text += "interrupted\n",
        _ => {}
    }
    text
}

//! `dccpmon sweep HOST`: a grid of packet sizes and spacings, a short test each; or the search for the knee of a path.

mod file;
mod table;

use crate::cli::Bulk;
use crate::cli::sweep::Sweep;
use crate::cmd::bulk;
use crate::limits::INTERVAL_MIN;
use crate::load::shape::Shape;
use crate::output::json;
use crate::result::document::{self, status_of};
use crate::schema::{Document, Kind, Knee, Ledger, Point, Problem, Status};
use core::time::Duration;
use dccp::proto::number::to_f64;
use dccp_cli::{Failure, exit, interrupt, print};
use file::PointFile;

/// The spacing at which the search for the knee begins, for 1,400 bytes: a little faster than 1 Gbit/s.
const KNEE_FIRST_NS: u64 = 12_000;
/// The smallest spacing that is tried.
const KNEE_LEAST_NS: u64 = 500;
/// The most doublings of the spacing until one is good.
const DOUBLINGS: u32 = 16;
/// The search ends when a good spacing is less than this times a bad one.
const RESOLUTION: f64 = 1.01;
/// A spacing is good up to this share of lost packets …
const LOSS_MAX: f64 = 0.001;
/// … and up to this deviation of the achieved spacing.
const DEVIATION_MAX: f64 = 0.05;
/// The longest time of a point beyond that of its packets.
const GRACE: Duration = Duration::from_secs(10);

impl Sweep {
    /// Plays the points and prints them; gives the exit code.
    pub(crate) fn run(&self) -> Result<u8, Failure> {
        self.carrier.check()?;
        self.carrier
            .refuse_safe_udp("each point is a new connection, which its start-up would limit")?;
        interrupt::listen()?;
        let mut run = Run {
            asked: self,
            file: PointFile::open(self.out.as_deref(), self.resume)?,
            points: Vec::new(),
            knees: Vec::new(),
            begun: dccp::clock::now(),
            played: 0,
            last: None,
        };
        if !self.json {
            print(&table::header())?;
        }
        let ended = if self.knee {
            run.search_all()
        } else {
            run.play_all()
        };
        run.finish(ended)
    }

    /// The test of one point.
    fn test(&self, packet_bytes: u64, gap_ns: u64) -> Bulk {
        let sending = Duration::from_nanos(gap_ns.saturating_mul(self.count));
        let shape = match gap_ns {
            0 => Shape::Greedy,
            gap_ns => Shape::Burst {
                packets: 1,
                gap: Duration::from_nanos(gap_ns),
            },
        };
        let length = usize::try_from(packet_bytes).unwrap_or(usize::MAX);
        Bulk {
            duration: sending + GRACE,
            interval: (sending + GRACE).max(INTERVAL_MIN),
            rate_bps: shape.mean_bps(length),
            shape,
            length: Some(length),
            socket_buffer: None,
            packets: Some(self.count),
            key_file: self.key_file.clone(),
            ..self.carrier.test(Kind::Sweep, &self.host, &self.common)
        }
    }
}

/// The reason why no more points are played.
enum Stopped {
    Interrupted,
    Failed(Failure),
}

impl From<Failure> for Stopped {
    fn from(failure: Failure) -> Self {
        if failure.code == exit::INTERRUPTED {
            return Self::Interrupted;
        }
        Self::Failed(failure)
    }
}

/// A sweep that runs.
struct Run<'a> {
    asked: &'a Sweep,
    file: PointFile,
    points: Vec<Point>,
    knees: Vec<Knee>,
    begun: dccp::Instant,
    /// Points that were played, without those of the file.
    played: u32,
    /// The document of the last point that was played.
    last: Option<Document>,
}

impl Run<'_> {
    fn play_all(&mut self) -> Result<(), Stopped> {
        let (sizes, gaps) = (self.asked.size, self.asked.spacing);
        let total = sizes.values().count() * gaps.values().count();
        for size in sizes.values() {
            for gap_ns in gaps.values() {
                self.play(size, gap_ns)?;
                self.show_time_left(total);
            }
        }
        Ok(())
    }

    /// Searches for the knee of each size.
    fn search_all(&mut self) -> Result<(), Stopped> {
        for size in self.asked.size.values() {
            let knee = self.search(size)?;
            if !self.asked.json {
                print(&table::knee(knee.as_ref()))?;
            }
            self.knees.extend(knee);
        }
        Ok(())
    }

    /// Doubles the spacing until it is good, or halves it until it is not, then bisects on a logarithmic scale.
    fn search(&mut self, size: u64) -> Result<Option<Knee>, Stopped> {
        let mut bad = 0;
        let mut good = (KNEE_FIRST_NS * size / 1_400).max(1);
        let mut best = self.play(size, good)?;
        if is_good(&best) {
            while bad == 0 && good >= 2 * KNEE_LEAST_NS {
                let point = self.play(size, good / 2)?;
                if is_good(&point) {
                    (good, best) = (good / 2, point);
                } else {
                    bad = good / 2;
                }
            }
        } else {
            for _ in 0..DOUBLINGS {
                bad = good;
                good *= 2;
                best = self.play(size, good)?;
                if is_good(&best) {
                    break;
                }
            }
            if !is_good(&best) {
                return Ok(None);
            }
        }
        while bad > 0 && to_f64(good) > RESOLUTION * to_f64(bad) {
            let middle = (to_f64(bad) * to_f64(good)).sqrt();
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "it lies between two whole numbers"
            )]
            let middle = middle as u64;
            if middle <= bad || middle >= good {
                break;
            }
            let point = self.play(size, middle)?;
            if is_good(&point) {
                (good, best) = (middle, point);
            } else {
                bad = middle;
            }
        }
        Ok(Some(Knee {
            packet_bytes: size,
            gap_ns: good,
            user_bps: to_f64(size * 8) * 1e9 / to_f64(good),
            wire_bps: best.wire_bps,
        }))
    }

    /// Plays one point, or takes it from the file.
    fn play(&mut self, size: u64, gap_ns: u64) -> Result<Point, Stopped> {
        if interrupt::is_pressed() {
            return Err(Stopped::Interrupted);
        }
        let test = self.asked.test(size, gap_ns);
        let point = if let Some(known) = self.file.find(&test) {
            known
        } else {
            let document = bulk::quietly(test.clone())?;
            match document.status {
                Status::Complete => {}
                Status::Interrupted => return Err(Stopped::Interrupted),
                // Its figures would pass for those of the path.
                _ => return Err(incomplete(document, size, gap_ns).into()),
            }
            let point = point(&document, size, gap_ns);
            self.last = Some(document);
            self.played += 1;
            self.file.add(&test, &point)?;
            point
        };
        if !self.asked.json {
            print(&table::line(&point))?;
        }
        self.points.push(point.clone());
        Ok(point)
    }

    /// Shows on a terminal how long the rest takes, from the points so far.
    fn show_time_left(&self, total: usize) {
        use std::io::{IsTerminal as _, Write as _};
        let left = total - self.points.len();
        if self.asked.json || left == 0 || self.played == 0 || !std::io::stderr().is_terminal() {
            return;
        }
        let each = (dccp::clock::now() - self.begun) / self.played;
        let left = each * u32::try_from(left).unwrap_or(u32::MAX);
        // A terminal that went away ends nothing.
        let _ = write!(std::io::stderr(), "\r {:.0} s left \r", left.as_secs_f64());
    }

    /// Prints the document of all points so far, however the sweep ended.
    fn finish(self, ended: Result<(), Stopped>) -> Result<u8, Failure> {
        let failure = match ended {
            Err(Stopped::Failed(mut failure)) => {
                if !self.points.is_empty() {
                    failure.code = exit::INCOMPLETE;
                }
                Some(failure)
            }
            Ok(()) | Err(Stopped::Interrupted) => None,
        };
        let code = match &failure {
            Some(failure) => failure.code,
            None if interrupt::is_pressed() => exit::INTERRUPTED,
            None => exit::DONE,
        };
        if self.asked.json {
            let test = self
                .asked
                .test(self.asked.size.from, self.asked.spacing.from);
            let mut document = self.last.unwrap_or_else(|| document::empty(&test));
            document.exit_code = code;
            document.status = status_of(code);
            document.error = failure.as_ref().map(Problem::from);
            document.summary = None;
            document.intervals.clear();
            document.points = Some(self.points);
            document.knees = self.asked.knee.then_some(self.knees);
            print(&(json(&document) + "\n"))?;
        }
        failure.map_or(Ok(code), Err)
    }
}

/// The table of a stored result.
pub(crate) fn stored(document: &Document) -> String {
    let points = document.points.iter().flatten().map(table::line);
    let knees = document.knees.iter().flatten();
    let knees = knees.map(|knee| table::knee(Some(knee)));
    [table::header()]
        .into_iter()
        .chain(points)
        .chain(knees)
        .collect()
}

/// The failure of a point that one end did not finish.
fn incomplete(document: Document, size: u64, gap_ns: u64) -> Failure {
    let mut flows = document.summary.into_iter().flat_map(|s| s.flows);
    let broken = flows.find_map(|flow| flow.broken);
    let error = document.error.map(|error| error.what);
    let why = error
        .or(broken)
        .unwrap_or_else(|| "the server ended it".into());
    Failure {
        code: exit::INCOMPLETE,
        ..Failure::run(
            format!(
                "the point of {size} bytes each {} us is incomplete: {why}",
                to_f64(gap_ns) / 1e3
            ),
            "look at the server's output; --out and --resume keep the points before",
        )
    }
}

/// Whether nothing was lost, and the packets left at the requested times.
fn is_good(point: &Point) -> bool {
    let lost = point.lost_network_packets + point.lost_host_packets + point.unknown_packets;
    let share = to_f64(lost) / to_f64(point.sent_packets.max(1));
    let asked = to_f64(point.asked_gap_ns);
    let deviation = point.gap_ns.map(|gap| (gap - asked).abs() / asked);
    share < LOSS_MAX && deviation.is_some_and(|deviation| deviation <= DEVIATION_MAX)
}

/// The point of a test with one flow.
fn point(document: &Document, packet_bytes: u64, asked_gap_ns: u64) -> Point {
    let summary = document.summary.as_ref();
    let flow = summary.and_then(|summary| summary.flows.first());
    let ledger = flow.and_then(|flow| flow.ledger).unwrap_or_default();
    let duration_ns = summary.map_or(0, |summary| summary.duration_ns);
    let samples = flow.and_then(|flow| flow.sender_samples);
    let rate = |packets: u64| match duration_ns {
        0 => None,
        ns => Some(to_f64(packets * packet_bytes * 8) * 1e9 / to_f64(ns)),
    };
    let cpu = |delta: &dccp_host::Delta| {
        let used = delta.process_cpu_ns?;
        Some(to_f64(used) / to_f64(delta.wall_ns.max(1)))
    };
    let hosts = document.hosts.as_ref();
    let server = hosts.and_then(|hosts| hosts.server.as_ref());
    Point {
        packet_bytes,
        asked_gap_ns,
        gap_ns: (ledger.sent > 1).then(|| to_f64(duration_ns) / to_f64(ledger.sent)),
        sent_packets: ledger.sent,
        delivered_packets: ledger.delivered,
        offered_bps: (asked_gap_ns > 0)
            .then(|| to_f64(packet_bytes * 8) * 1e9 / to_f64(asked_gap_ns)),
        sent_bps: rate(ledger.sent),
        received_bps: flow.and_then(|flow| flow.goodput_bps),
        wire_bps: flow.and_then(|flow| flow.wire_bps),
        lost_network_packets: ledger.lost_network,
        lost_host_packets: lost_in_hosts(&ledger),
        unknown_packets: ledger.unknown,
        held_ratio: samples
            .filter(|samples| samples.n > 0)
            .map(|samples| to_f64(samples.window_full + samples.paced) / to_f64(samples.n)),
        jitter: flow.and_then(|flow| flow.jitter.clone()),
        client_cpu_ratio: hosts.and_then(|hosts| cpu(&hosts.client)),
        server_cpu_ratio: server.and_then(cpu),
    }
}

/// Packets that were lost in either host.
fn lost_in_hosts(ledger: &Ledger) -> u64 {
    let all: u64 = ledger.losses().iter().map(|(_, packets)| packets).sum();
    all - ledger.lost_network
}

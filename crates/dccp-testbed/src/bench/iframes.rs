//! Important frames: a constant-rate source whose every tenth frame is important, through a token bucket that TCP
//! cross traffic shares.
//!
//! ```text
//! source, TCP ─▶ namespace ─▶ dccp-emu: token bucket, 10 ms ─▶ namespace ─▶ sinks
//! ```
//!
//! All cells of a seed run at the same time, each between two hosts of its own: they need little.

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use std::thread;
use std::time::Duration;

use super::row::{Goal, Row};
use crate::programs;
use dccp_dev::median;
use dccp_dev::packages;
use dccp_dev::shell::{self, Background};
use dccp_netns::Namespace;

const PROGRAM: &str = "target/release/bench-ends";
const EMULATOR: &str = "target/release/dccp-emu";
const CLIENT: &str = "10.37.0.1";
const SERVER: &str = "10.37.0.2";

/// The published figure: kB/s of the source, transport, loss and share of important frames in percent. Its link was
/// limited to 50 kB/s, according to its text.
const PUBLISHED: [(u32, &str, f64, f64); 9] = [
    (150, "UDP", 62.0, 10.1),
    (150, "TCP", 1.2, 10.0),
    (150, "DCCP", 0.7, 23.8),
    (75, "UDP", 37.0, 10.1),
    (75, "TCP", 0.5, 10.0),
    (75, "DCCP", 0.5, 12.8),
    (60, "UDP", 11.0, 10.1),
    (60, "TCP", 0.6, 10.0),
    (60, "DCCP", 0.6, 10.1),
];
/// Bit/s of the buckets: according to the publication's text, and to its numbers.
const BUCKETS: [(&str, &str); 2] = [("50 kB/s", "400kbit"), ("62.5 kB/s", "500kbit")];
/// Names of the transports, and what the programs call them.
const TRANSPORTS: [(&str, &str); 4] = [
    ("UDP", "--over udp"),
    ("TCP", "--over tcp"),
    ("DCCP CCID 2", "--over dccp --ccid 2"),
    ("DCCP CCID 3", "--over dccp --ccid 3"),
];
/// The source begins this much later than the cross traffic, times the seed.
const STAGGER: Duration = Duration::from_millis(370);

/// A combination that is run.
#[derive(Clone, Copy)]
struct Cell {
    rate: u32,
    bucket: (&'static str, &'static str),
    transport: (&'static str, &'static str),
}

/// The result of a cell's run: shares in percent, ages in milliseconds.
struct Sample {
    loss: f64,
    important: f64,
    delivered_kb_per_s: f64,
    age_p50: f64,
    age_p99: f64,
    important_age: f64,
}

/// Seconds of each run.
const TIME: u32 = 60;
const TIME_QUICK: u32 = 10;

pub(super) fn rows(seeds: usize, is_quick: bool) -> Result<Vec<Row>> {
    let seconds = if is_quick { TIME_QUICK } else { TIME };
    ensure!(
        shell::is_root(),
        "`iframes` needs root, for namespaces; the other groups do without but `net`"
    );
    packages::install(packages::FOR_BENCH)?;
    programs::build(programs::BENCH_ENDS)?;
    programs::build(programs::EMULATOR)?;
    let cells = cells();
    let mut samples: Vec<Vec<Sample>> = cells.iter().map(|_| Vec::new()).collect();
    for seed in 1..=seeds {
        eprintln!(
            "iframes: seed {seed} of {seeds}, {} cells, {seconds} s",
            cells.len()
        );
        for (samples, sample) in samples.iter_mut().zip(run_all(&cells, seed, seconds)?) {
            samples.push(sample);
        }
    }
    Ok(report(&cells, &samples))
}

fn cells() -> Vec<Cell> {
    let mut cells = Vec::new();
    for bucket in BUCKETS {
        for rate in [150, 75, 60] {
            cells.extend(TRANSPORTS.map(|transport| Cell {
                rate,
                bucket,
                transport,
            }));
        }
    }
    cells
}

/// Runs all cells at once.
fn run_all(cells: &[Cell], seed: usize, seconds: u32) -> Result<Vec<Sample>> {
    // Created before the runs, because creation removes what a killed run left behind.
    let hosts = |n| {
        let client = Namespace::new(&format!("client{n}"))?;
        Ok([client, Namespace::new(&format!("server{n}"))?])
    };
    let hosts: Vec<_> = (0..cells.len()).map(hosts).collect::<Result<_>>()?;
    let results: Vec<_> = thread::scope(|scope| {
        let run = |(cell, hosts): (&Cell, _)| {
            let cell = *cell;
            scope.spawn(move || cell.run(hosts, seed, seconds))
        };
        let runs: Vec<_> = cells.iter().zip(&hosts).map(run).collect();
        runs.into_iter()
            .map(thread::ScopedJoinHandle::join)
            .collect()
    });
    let sample = |(result, cell): (thread::Result<Result<Sample>>, &Cell)| {
        let result = result.map_err(|_| anyhow::anyhow!("a thread panicked"))?;
        result.with_context(|| cell.name())
    };
    results.into_iter().zip(cells).map(sample).collect()
}

impl Cell {
    fn name(self) -> String {
        let (transport, _) = self.transport;
        format!("{} kB/s through {}, {transport}", self.rate, self.bucket.0)
    }

    /// Loss and share of important frames, percent.
    fn published(self) -> Option<(f64, f64)> {
        let found = PUBLISHED.iter().find(|(rate, transport, ..)| {
            *rate == self.rate && self.transport.0.starts_with(transport)
        });
        found.map(|(.., loss, important)| (*loss, *important))
    }

    fn run(self, hosts: &[Namespace; 2], seed: usize, seconds: u32) -> Result<Sample> {
        let [client, server] = hosts;
        let emulator = format!(
            "{EMULATOR} tun --left {}/tun0,{CLIENT}/24 --right {}/tun0,{SERVER}/24 --rate {} --burst 10KB \
             --queue 20p --delay 10ms --back-rate 100Mbit --back-queue 1000p --seed {seed}",
            client.name(),
            server.name(),
            self.bucket.1
        );
        let _emulator = Background::start(shell::command_line(&emulator), "ready")?;
        let _cross_sink = Background::start(
            server.command(&words("iperf3 -s --forceflush")),
            "listening",
        )?;
        let cross = format!(
            "iperf3 -c {SERVER} -C reno --forceflush -t {}",
            seconds + 10
        );
        let _cross = Background::start(client.command(&words(&cross)), "Connecting")?;
        thread::sleep(STAGGER * u32::try_from(seed)?);
        let over = self.transport.1;
        let sink = format!("{PROGRAM} media-sink {SERVER}:7006 {over}");
        let mut sink = Background::start(server.command(&words(&sink)), "ready")?;
        let source = format!(
            "{PROGRAM} media-send {SERVER}:7006 {over} --rate {} --time {seconds}",
            self.rate * 1000
        );
        let sent = serde_json::from_str(&shell::output(&mut client.command(&words(&source)))?)?;
        let got = serde_json::from_str(&sink.rest()?)?;
        Sample::of(&sent, &got, seconds).with_context(|| format!("{sent} {got}"))
    }
}

fn words(line: &str) -> Vec<&str> {
    line.split_whitespace().collect()
}

impl Sample {
    /// From the reports of both ends. TCP's loss is the share of retransmitted segments.
    fn of(sent: &Value, got: &Value, seconds: u32) -> Option<Self> {
        let delivered = got["delivered"].as_f64()?;
        let lost = 1.0 - delivered / sent["sent"].as_f64()?;
        Some(Self {
            loss: 100.0 * sent["retransmitted"].as_f64().unwrap_or(lost),
            important: 100.0 * got["important"].as_f64()? / delivered,
            delivered_kb_per_s: delivered / f64::from(seconds),
            age_p50: got["age_p50_ms"].as_f64()?,
            age_p99: got["age_p99_ms"].as_f64()?,
            important_age: got["important_age_p50_ms"].as_f64()?,
        })
    }
}

/// Prints each cell's figures beside the published ones and returns the rows.
fn report(cells: &[Cell], samples: &[Vec<Sample>]) -> Vec<Row> {
    println!(
        "| source, link, transport | loss, % (published) | important of delivered, % (published) | delivered, kB/s | \
         age p50, ms | age p99, ms | of the important p50, ms |\n|---|---|---|---|---|---|---|"
    );
    let mut rows = Vec::new();
    let mut important_by_udp = 0.0;
    for (cell, samples) in cells.iter().zip(samples) {
        let of = |value: fn(&Sample) -> f64| median(samples.iter().map(value).collect());
        let (loss, important) = (of(|s| s.loss), of(|s| s.important));
        let published = cell.published().unwrap_or_default();
        println!(
            "| {} | {loss:.1} ({}) | {important:.1} ({}) | {:.1} | {:.0} | {:.0} | {:.0} |",
            cell.name(),
            published.0,
            published.1,
            of(|s| s.delivered_kb_per_s),
            of(|s| s.age_p50),
            of(|s| s.age_p99),
            of(|s| s.important_age),
        );
        // UDP is the first of each group.
        if cell.transport.0 == "UDP" {
            important_by_udp = important;
        } else if cell.transport.0 != "TCP" {
            let goal = if cell.rate == 150 {
                Goal::AtLeast(2.0)
            } else {
                Goal::None
            };
            let name = format!("{}: important of delivered, %, beside UDP", cell.name());
            rows.push(Row::new(name, important, Some(important_by_udp), goal));
        }
    }
    println!();
    rows
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn every_cell_has_published_figures() {
        let cells = cells();
        assert_eq!(cells.len(), 24);
        assert!(cells.iter().all(|cell| cell.published().is_some()));
        assert_eq!(cells[2].name(), "150 kB/s through 50 kB/s, DCCP CCID 2");
        assert_eq!(cells[2].published(), Some((0.7, 23.8)));
    }

    #[test]
    fn loss_is_what_was_sent_and_did_not_arrive_and_of_tcp_what_was_sent_again() {
        let got = json!({"delivered": 600, "important": 150, "age_p50_ms": 20.0, "age_p99_ms": 90.0, "important_age_p50_ms": 10.0});
        let of = |sent| Sample::of(&sent, &got, 10).unwrap();
        let udp = of(json!({"offered": 1500, "sent": 1500, "retransmitted": null}));
        assert!((udp.loss - 60.0).abs() < 1e-9 && (udp.important - 25.0).abs() < 1e-9);
        assert!((udp.delivered_kb_per_s - 60.0).abs() < 1e-9);
        let tcp = of(json!({"offered": 1500, "sent": 600, "retransmitted": 0.012}));
        assert!((tcp.loss - 1.2).abs() < 1e-9);
    }
}

//! `cargo xtask demo`: CCID 2 beside CCID 3 on one bottleneck, between two hosts on this machine.
//!
//! As root the hosts are network namespaces, joined by `dccp-emu` with TUN devices; otherwise both are
//! this host, and `dccp-emu` relays UDP on loopback.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result, bail};
use dccp_lab::plot::{Figure, Panel, Series};
use serde_json::Value;

use crate::netns::Namespace;
use crate::packages;
use crate::shell::{self, command};

const SECONDS: &str = "20";
const LINK: [&str; 6] = ["--rate", "50M", "--delay", "20ms", "--queue", "167p"];
const CCIDS: [u8; 2] = [2, 3];
const OUT: &str = "target/demo";

pub(crate) fn run() -> Result<bool> {
    packages::install(packages::FOR_DEMO)?;
    println!("building dccpmon and dccp-emu (some minutes the first time)");
    shell::run(&mut command(&[
        "cargo",
        "build",
        "--quiet",
        "--release",
        "--package",
        "dccpmon",
        "--package",
        "dccp-emu",
    ]))?;
    let bench = if shell::is_root() {
        Bench::in_namespaces()?
    } else {
        Bench::on_loopback()?
    };
    println!("{}", bench.description);
    println!("50 Mbit/s, 20 ms each way, drop-tail queue of 167 packets; {SECONDS} s");
    let runs = CCIDS.map(|ccid| bench.client(ccid));
    let results = runs.map(|run| -> Result<Value> {
        let output = run?.wait_with_output().context("dccpmon")?;
        serde_json::from_slice(&output.stdout).context("dccpmon gave no result")
    });
    let [two, three] = results;
    let results = [two?, three?];
    drop(bench);
    print_tables(&results);
    let path = Path::new(OUT).join("demo.svg");
    std::fs::create_dir_all(OUT)?;
    std::fs::write(&path, figure(&results).to_svg()?)?;
    println!("\nrate and round trip over time: {}", path.display());
    Ok(results.iter().all(|r| r["status"] == "complete"))
}

/// Two hosts with the emulator and the server running. All of it ends with it.
struct Bench {
    description: &'static str,
    server: &'static str,
    running: Vec<Child>,
    /// Hosts of the clients and of the server; `None`: this one.
    hosts: Option<[Namespace; 2]>,
}

impl Bench {
    fn in_namespaces() -> Result<Self> {
        let hosts = [Namespace::new("a")?, Namespace::new("b")?];
        let mut bench = Self {
            description: "two hosts in network namespaces, joined by dccp-emu; DCCP over UDP",
            server: "10.77.0.2",
            running: Vec::new(),
            hosts: None,
        };
        let left = format!("{}/emu0,10.77.0.1/24", hosts[0].name());
        let right = format!("{}/emu1,10.77.0.2/24", hosts[1].name());
        let ends = [
            "target/release/dccp-emu",
            "tun",
            "--left",
            &left,
            "--right",
            &right,
        ];
        bench.start(command(&[&ends[..], &LINK[..]].concat()))?;
        bench.start(hosts[1].command(&["target/release/dccpmon", "serve"]))?;
        bench.hosts = Some(hosts);
        Ok(bench)
    }

    fn on_loopback() -> Result<Self> {
        let mut bench = Self {
            description: "not root: both hosts are this one, dccp-emu relays UDP on loopback",
            server: "127.0.0.1",
            running: Vec::new(),
            hosts: None,
        };
        bench.start(command(&["target/release/dccpmon", "serve", "-p", "14235"]))?;
        let ends = [
            "target/release/dccp-emu",
            "relay",
            "--listen",
            "127.0.0.1:14233",
            "--to",
            "127.0.0.1:14235",
        ];
        bench.start(command(&[&ends[..], &LINK[..]].concat()))?;
        Ok(bench)
    }

    /// Starts a program that says something when it is ready, and waits for that.
    fn start(&mut self, mut program: Command) -> Result<()> {
        let mut child = program
            .stdout(Stdio::piped())
            .spawn()
            .context("cannot start a program")?;
        let out = child.stdout.take().context("no output")?;
        self.running.push(child);
        let mut line = String::new();
        let mut out = BufReader::new(out);
        if out.read_line(&mut line)? == 0 {
            bail!("{program:?} ended at once");
        }
        // What it says later is nobody's business, but the pipe must not fill.
        std::thread::spawn(move || std::io::copy(&mut out, &mut std::io::sink()));
        Ok(())
    }

    fn client(&self, ccid: u8) -> Result<Child> {
        let ccid = ccid.to_string();
        let words = [
            "target/release/dccpmon",
            self.server,
            "-t",
            SECONDS,
            "-J",
            "--ccid",
            &ccid,
        ];
        let mut run = match &self.hosts {
            Some([host, _]) => host.command(&words),
            None => command(&words),
        };
        run.stdout(Stdio::piped())
            .spawn()
            .context("cannot start dccpmon")
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        for child in &mut self.running {
            // It may have ended by itself.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

fn print_tables(results: &[Value; 2]) {
    println!("\n           CCID 2                     CCID 3");
    println!("  time     goodput       RTT p50      goodput       RTT p50");
    let [two, three] = [0, 1].map(|i| intervals(&results[i]));
    for (a, b) in two.iter().zip(&three) {
        println!(
            "{:>4.0} s  {:>6.1} Mbit/s  {:>6.1} ms  {:>6.1} Mbit/s  {:>6.1} ms",
            a.end_s, a.mbps, a.rtt_ms, b.mbps, b.rtt_ms
        );
    }
    for (ccid, result) in CCIDS.iter().zip(results) {
        let flow = &result["summary"]["flows"][0];
        let ledger = &flow["ledger"];
        println!(
            "CCID {ccid}: goodput {:.1} Mbit/s; sent {} = delivered {} + lost in the network {} + peer socket {} + unknown {}; limited by {}",
            flow["goodput_bps"].as_f64().unwrap_or(0.0) / 1e6,
            ledger["sent"],
            ledger["delivered"],
            ledger["lost_network"],
            ledger["lost_peer_socket"],
            ledger["unknown"],
            flow["limited_by"]["verdict"].as_str().unwrap_or("?"),
        );
    }
}

/// An interval of a run.
struct Interval {
    end_s: f64,
    mbps: f64,
    rtt_ms: f64,
}

fn intervals(result: &Value) -> Vec<Interval> {
    let number = |v: &Value| v.as_f64().unwrap_or(f64::NAN);
    let all = result["intervals"]
        .as_array()
        .map_or(&[][..], Vec::as_slice);
    let one = |i: &Value| Interval {
        end_s: number(&i["t1_ns"]) / 1e9,
        mbps: number(&i["flows"][0]["goodput_bps"]) / 1e6,
        rtt_ms: number(&i["flows"][0]["rtt_ns"]["p50"]) / 1e6,
    };
    all.iter().map(one).collect()
}

fn figure(results: &[Value; 2]) -> Figure {
    let series = |value: fn(&Interval) -> f64| -> Vec<Series> {
        let one = |(ccid, result): (&u8, &Value)| Series {
            name: format!("CCID {ccid}"),
            points: intervals(result)
                .iter()
                .map(|i| (i.end_s, value(i)))
                .collect(),
        };
        CCIDS.iter().zip(results).map(one).collect()
    };
    Figure {
        title: "CCID 2 beside CCID 3: 50 Mbit/s, 40 ms, drop-tail".to_owned(),
        x_label: "time (s)".to_owned(),
        panels: vec![
            Panel {
                y_label: "goodput (Mbit/s)".to_owned(),
                series: series(|i| i.mbps),
            },
            Panel {
                y_label: "RTT (ms)".to_owned(),
                series: series(|i| i.rtt_ms),
            },
        ],
    }
}

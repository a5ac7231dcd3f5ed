//! `dccp-emu`: a link in real time.
//!
//! Prints `ready …` when packets can flow, warnings while it cannot keep up, and at the end one
//! line of JSON with the counters of both directions. Exit codes: 0 done, 1 could not run, 2 wrong
//! command line.

mod args;

use args::{Cli, Command, Link};
use clap::Parser as _;
use core::time::Duration;
use dccp_emu::clock;
use dccp_emu::relay::Relay;
use dccp_emu::report::Report;
use dccp_proto::Instant;
use dccp_sim::LinkConfig;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// How often to look for reasons to warn or to end.
const TICK: Duration = Duration::from_millis(100);
const WARN_EVERY: Duration = Duration::from_secs(1);

/// Why the program ends with an error: what is wrong, what to do next, and the exit code.
struct Failure {
    error: String,
    next: String,
    code: u8,
}

impl Failure {
    fn cannot_run(error: &dyn std::fmt::Display, next: &str) -> Self {
        Self {
            error: error.to_string(),
            next: next.to_owned(),
            code: 1,
        }
    }
}

fn main() -> ExitCode {
    let done = match Cli::try_parse() {
        Ok(cli) => run(&cli),
        // Help and version are answers, not errors.
        Err(e) if !e.use_stderr() => {
            print!("{e}");
            Ok(())
        }
        Err(e) => Err(usage(&e)),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("error: {}\n next: {}", failure.error, failure.next);
            ExitCode::from(failure.code)
        }
    }
}

/// A wrong command line in two lines.
fn usage(e: &clap::Error) -> Failure {
    if e.kind() == clap::error::ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        return Failure {
            error: "what is to be emulated?".to_owned(),
            next: "write `dccp-emu relay` or `dccp-emu tun`, and their options".to_owned(),
            code: 2,
        };
    }
    // The first paragraph: what is missing stands in lines of its own.
    let text = e.to_string();
    let first: Vec<&str> = text
        .lines()
        .map(str::trim)
        .take_while(|line| !line.is_empty())
        .collect();
    Failure {
        error: first.join(" ").trim_start_matches("error: ").to_owned(),
        next: "see `dccp-emu --help`".to_owned(),
        code: 2,
    }
}

fn run(cli: &Cli) -> Result<(), Failure> {
    let is_over = Arc::new(AtomicBool::new(false));
    let flag = is_over.clone();
    ctrlc::set_handler(move || flag.store(true, Ordering::Relaxed))
        .map_err(|e| Failure::cannot_run(&e, "report this"))?;
    match &cli.command {
        Command::Relay { listen, to, link } => {
            let links = configs(link)?;
            let relay = Relay::new(*listen, *to, links, link.seed(), link.busy_wait);
            let mut relay =
                relay.map_err(|e| Failure::cannot_run(&e, "choose another --listen address"))?;
            println!("ready {}", relay.local_addr());
            let mut watch = Watch::new(link, is_over, relay.report());
            while !watch.is_over() {
                relay
                    .run_until(clock::now() + TICK)
                    .map_err(|e| Failure::cannot_run(&e, "look whether the server still runs"))?;
                watch.look(&mut || relay.report());
            }
            print_report(&relay.report())
        }
        Command::Tun { left, right, link } => tun(left, right, link, is_over),
    }
}

fn configs(link: &Link) -> Result<[LinkConfig; 2], Failure> {
    link.configs().map_err(|error| Failure {
        error,
        next: "change that setting; see `dccp-emu --help`".to_owned(),
        code: 2,
    })
}

#[cfg(target_os = "linux")]
fn tun(left: &str, right: &str, link: &Link, is_over: Arc<AtomicBool>) -> Result<(), Failure> {
    use dccp_emu::tun::Tunnel;
    let end = |text| {
        args::end(text).map_err(|error| Failure {
            error,
            next: "write an end as namespace/device,address/prefix".to_owned(),
            code: 2,
        })
    };
    let ends = [end(left)?, end(right)?];
    let tunnel = Tunnel::start(ends, configs(link)?, link.seed(), link.busy_wait).map_err(|e| {
        Failure::cannot_run(
            &e,
            "TUN devices need root, /dev/net/tun and existing namespaces",
        )
    })?;
    println!("ready");
    let mut watch = Watch::new(link, is_over, tunnel.report());
    while !watch.is_over() && tunnel.is_running() {
        std::thread::sleep(TICK);
        watch.look(&mut || tunnel.report());
    }
    let report = tunnel.report();
    tunnel
        .stop()
        .map_err(|e| Failure::cannot_run(&e, "look whether the devices still exist"))?;
    print_report(&report)
}

#[cfg(not(target_os = "linux"))]
fn tun(_: &str, _: &str, _: &Link, _: Arc<AtomicBool>) -> Result<(), Failure> {
    Err(Failure::cannot_run(
        "TUN devices are for Linux only",
        "use `dccp-emu relay`",
    ))
}

fn print_report(report: &Report) -> Result<(), Failure> {
    let json = serde_json::to_string(report).map_err(|e| Failure::cannot_run(&e, "report this"))?;
    println!("{json}");
    Ok(())
}

/// Decides when to end, and warns while the emulator falls behind.
struct Watch {
    end: Option<Instant>,
    is_interrupted: Arc<AtomicBool>,
    next_look: Instant,
    last: Report,
}

impl Watch {
    fn new(link: &Link, is_interrupted: Arc<AtomicBool>, first: Report) -> Self {
        let now = clock::now();
        Self {
            end: link.duration.map(|d| now + d),
            is_interrupted,
            next_look: now + WARN_EVERY,
            last: first,
        }
    }

    fn is_over(&self) -> bool {
        let has_ended = self.end.is_some_and(|end| clock::now() >= end);
        has_ended || self.is_interrupted.load(Ordering::Relaxed)
    }

    fn look(&mut self, report: &mut dyn FnMut() -> Report) {
        let now = clock::now();
        if now < self.next_look {
            return;
        }
        self.next_look = now + WARN_EVERY;
        let report = report();
        for complaint in report.complaints_since(&self.last) {
            eprintln!("warning: falls behind: {complaint}");
        }
        self.last = report;
    }
}

//! `dccp-emu`: a link in real time.
//!
//! Prints `ready …` when packets can flow, warnings while it cannot keep up, and at the end one
//! line of JSON with the counters of both directions. Exit codes: 0 done, 1 could not run, 2 wrong
//! command line.

mod args;

use args::{Cli, Command, Link, TunEnd};
use clap::Parser as _;
use core::fmt::Display;
use core::time::Duration;
use dccp_cli::{Failure, end, exit, interrupt, print};
use dccp_emu::clock;
use dccp_emu::log::Log;
use dccp_emu::relay::Relay;
use dccp_emu::report::Report;
use dccp_emu::schedule::LinkPlan;
use dccp_proto::Instant;
use std::path::PathBuf;
use std::process::ExitCode;

/// How often to look for reasons to warn or to end.
const TICK: Duration = Duration::from_millis(100);
const WARN_EVERY: Duration = Duration::from_secs(1);

fn main() -> ExitCode {
    let done = match Cli::try_parse() {
        Ok(cli) => run(&cli),
        // Help and version are answers, not errors.
        Err(e) if !e.use_stderr() => print(&e.to_string()),
        Err(e) => Err(usage(&e)),
    };
    end(done.map(|()| exit::DONE))
}

fn cannot_run(error: &dyn Display, next: &str) -> Failure {
    Failure::run(error.to_string(), next)
}

/// A wrong command line in two lines.
fn usage(e: &clap::Error) -> Failure {
    if e.kind() == clap::error::ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        return Failure::usage(
            "what is to be emulated?",
            "write `dccp-emu relay` or `dccp-emu tun`, and their options",
        );
    }
    // The first paragraph: what is missing stands in lines of its own.
    let text = e.to_string();
    let first: Vec<&str> = text
        .lines()
        .map(str::trim)
        .take_while(|line| !line.is_empty())
        .collect();
    let first = first.join(" ");
    Failure::usage(first.trim_start_matches("error: "), "see `dccp-emu --help`")
}

fn run(cli: &Cli) -> Result<(), Failure> {
    interrupt::listen()?;
    match &cli.command {
        Command::Relay { listen, to, link } => {
            let links = plans(link)?;
            let relay = Relay::new(*listen, *to, links, link.seed(), link.busy_wait);
            let mut relay = relay.map_err(|e| cannot_run(&e, "choose another --listen address"))?;
            let log = open_log(link)?;
            if let Some(log) = &log {
                relay.observe(["forward", "back"].map(|name| log.observer(name)));
            }
            print(&format!("ready {}\n", relay.local_addr()))?;
            let mut watch = Watch::new(link, relay.report());
            while !watch.is_over() {
                relay
                    .run_until(clock::now() + TICK)
                    .map_err(|e| cannot_run(&e, "look whether the server still runs"))?;
                watch.look(&mut || relay.report());
            }
            finish_log(log.as_ref())?;
            print_report(&relay.report())
        }
        Command::Tun { left, right, link } => tun(left, right, link),
    }
}

fn open_log(link: &Link) -> Result<Option<Log>, Failure> {
    let create = |path: &PathBuf| {
        let no_file = |e| {
            cannot_run(
                &format!("{}: {e}", path.display()),
                "choose another --log file",
            )
        };
        Log::create(path).map_err(no_file)
    };
    link.log.as_ref().map(create).transpose()
}

fn finish_log(log: Option<&Log>) -> Result<(), Failure> {
    log.map_or(Ok(()), Log::finish)
        .map_err(|e| cannot_run(&format!("the log is cut: {e}"), "look for room on the disk"))
}

fn plans(link: &Link) -> Result<[LinkPlan; 2], Failure> {
    link.plans()
        .map_err(|error| Failure::usage(error, "change that setting; see `dccp-emu --help`"))
}

#[cfg(target_os = "linux")]
fn tun(left: &TunEnd, right: &TunEnd, link: &Link) -> Result<(), Failure> {
    use dccp_emu::tun::Tunnel;
    let ends = [left.0.clone(), right.0.clone()];
    let tunnel = Tunnel::start(ends, plans(link)?, link.seed(), link.busy_wait).map_err(|e| {
        cannot_run(
            &e,
            "TUN devices need root, /dev/net/tun and existing namespaces",
        )
    })?;
    let log = open_log(link)?;
    if let Some(log) = &log {
        tunnel.observe(["forward", "back"].map(|name| log.observer(name)));
    }
    print("ready\n")?;
    let mut watch = Watch::new(link, tunnel.report());
    while !watch.is_over() && tunnel.is_running() {
        std::thread::sleep(TICK);
        watch.look(&mut || tunnel.report());
    }
    let report = tunnel.report();
    tunnel
        .stop()
        .map_err(|e| cannot_run(&e, "look whether the devices still exist"))?;
    finish_log(log.as_ref())?;
    print_report(&report)
}

#[cfg(not(target_os = "linux"))]
fn tun(_: &TunEnd, _: &TunEnd, _: &Link) -> Result<(), Failure> {
    Err(cannot_run(
        "TUN devices are for Linux only",
        "use `dccp-emu relay`",
    ))
}

fn print_report(report: &Report) -> Result<(), Failure> {
    let json = serde_json::to_string(report).map_err(|e| cannot_run(&e, "report this"))?;
    print(&format!("{json}\n"))
}

/// Decides when to end, and warns while the emulator falls behind.
struct Watch {
    end: Option<Instant>,
    next_look: Instant,
    last: Report,
}

impl Watch {
    fn new(link: &Link, first: Report) -> Self {
        let now = clock::now();
        Self {
            end: link.duration.map(|d| now + d),
            next_look: now + WARN_EVERY,
            last: first,
        }
    }

    fn is_over(&self) -> bool {
        let has_ended = self.end.is_some_and(|end| clock::now() >= end);
        has_ended || interrupt::is_pressed()
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

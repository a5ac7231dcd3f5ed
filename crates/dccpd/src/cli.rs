//! The command lines of both programs.

mod explain;

use crate::policy;
use clap::{Args, CommandFactory, Parser, Subcommand};
use core::net::IpAddr;
use core::time::Duration;
use dccp_cli::Failure;
use dccp_cli::args::BadValue;
use dccp_cli::package::Shell;
use dccp_cli::quantity;
use std::ffi::OsString;
use std::path::PathBuf;

/// The command of a command line, or a text to show: help or version.
pub(crate) enum Parsed<T> {
    Command(T),
    Show(String),
}

/// Parses a command line (without the program's name).
pub(crate) fn parse<T: Parser>(
    words: impl Iterator<Item = OsString>,
) -> Result<Parsed<T>, Failure> {
    let command = T::command();
    let program = command.get_name().to_owned();
    let words: Vec<OsString> = words.collect();
    let all = core::iter::once(OsString::from(&program)).chain(words.iter().cloned());
    let matches = match command.try_get_matches_from(all) {
        Err(e) if !e.use_stderr() => return Ok(Parsed::Show(e.render().to_string())),
        matches => matches,
    };
    let name = words
        .first()
        .and_then(|word| word.to_str())
        .unwrap_or_default();
    let explained = |e: clap::Error| explain::explain(&e, &program, name);
    let parsed = T::from_arg_matches(&matches.map_err(explained)?);
    parsed.map(Parsed::Command).map_err(explained)
}

/// The command line of `dccpd`, for manual pages, completions and tests.
pub fn daemon() -> clap::Command {
    DaemonWords::command()
}

/// The command line of `dccpctl`, for manual pages, completions and tests.
pub fn control() -> clap::Command {
    ControlWords::command()
}

#[derive(Parser, Debug)]
#[command(
    name = "dccpd",
    version,
    about = "DCCP for all programs of this host: one engine, a policy, counters",
    after_help = DAEMON_HELP,
    args_conflicts_with_subcommands = true,
    disable_help_subcommand = true
)]
pub(crate) struct DaemonWords {
    #[command(subcommand)]
    pub(crate) command: Option<DaemonCommand>,
    /// The policy file
    #[arg(long, value_name = "FILE", default_value = policy::PATH)]
    pub(crate) policy: PathBuf,
}

const DAEMON_HELP: &str = "Examples:
  dccpd                          run with the policy /etc/dccpd.toml
  dccpd --policy lab.toml        run with another policy
  dccpd check lab.toml           check a policy, and run nothing

The signal HUP makes the daemon read the policy again; TERM ends it.
Exit codes: 0 done, 1 could not run, 2 wrong command line or policy.";

#[derive(Subcommand, Debug)]
pub(crate) enum DaemonCommand {
    /// Check a policy file, and show what it says
    Check {
        /// The policy file
        #[arg(default_value = policy::PATH)]
        file: PathBuf,
    },
    /// Write the manual pages of dccpd
    Man {
        /// Where the pages are written
        folder: PathBuf,
    },
    /// Print the script that completes command lines of dccpd
    Completions {
        /// The shell
        shell: Shell,
    },
}

#[derive(Parser, Debug)]
#[command(
    name = "dccpctl",
    version,
    about = "Shows and controls the DCCP of this host, which dccpd runs",
    after_help = CONTROL_HELP,
    disable_help_subcommand = true
)]
pub(crate) struct ControlWords {
    /// The daemon's socket for administrators
    #[arg(
        long,
        value_name = "PATH",
        default_value = "/run/dccpd/admin",
        global = true
    )]
    pub(crate) admin_socket: PathBuf,
    #[command(subcommand)]
    pub(crate) command: ControlCommand,
}

const CONTROL_HELP: &str = "Examples:
  dccpctl connections            all connections with their congestion control
  dccpctl counters               what all connections sent and received
  dccpctl trace 7 -w seven.pcapng -t 10
  dccpctl reload                 read the policy again

Exit codes: 0 done, 1 could not run, 2 wrong command line, 4 the daemon refused, 130 interrupted.";

#[derive(Subcommand, Debug)]
pub(crate) enum ControlCommand {
    /// Show the connections, like `ss -i`
    Connections(Form),
    /// Show the listeners, like `ss -l`
    Listeners(Form),
    /// Show the counters of the host, like `nstat -a`
    Counters(CountersForm),
    /// Write the packets of a connection as pcapng
    Trace(TraceWords),
    /// End a connection at once
    Abort {
        /// Number of the connection
        id: u32,
    },
    /// Make the daemon read its policy again
    Reload,
    /// Make a connection through the daemon to this host itself, and send datagrams both ways
    Selftest(SelftestWords),
    /// Answer snmpd, which starts this by `pass_persist`
    Snmp,
    /// Write the manual pages of dccpctl
    Man {
        /// Where the pages are written
        folder: PathBuf,
    },
    /// Print the script that completes command lines of dccpctl
    Completions {
        /// The shell
        shell: Shell,
    },
}

#[derive(Args, Debug)]
pub(crate) struct Form {
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args, Debug)]
pub(crate) struct CountersForm {
    /// Print JSON
    #[arg(long, conflicts_with = "prometheus")]
    pub(crate) json: bool,
    /// Print the text that Prometheus reads
    #[arg(long)]
    pub(crate) prometheus: bool,
    /// Print counters that are zero, too
    #[arg(short = 'z', long, conflicts_with_all = ["json", "prometheus"])]
    pub(crate) zeros: bool,
    /// Those of one connection only
    #[arg(long, value_name = "ID", conflicts_with = "prometheus")]
    pub(crate) id: Option<u32>,
}

#[derive(Args, Debug)]
pub(crate) struct TraceWords {
    /// Number of the connection
    pub(crate) id: u32,
    /// Write to this file [default: standard output]
    #[arg(short = 'w', long, value_name = "FILE")]
    pub(crate) write: Option<PathBuf>,
    /// End after this many packets
    #[arg(short = 'c', long, value_name = "N")]
    pub(crate) packets: Option<u64>,
    /// End after this time
    #[arg(short = 't', long, value_name = "TIME", value_parser = time)]
    pub(crate) time: Option<Duration>,
    /// Bytes of each packet from the DCCP header on; the header is always whole
    #[arg(short = 's', long, value_name = "BYTES", default_value = "65535")]
    pub(crate) snap: usize,
}

#[derive(Args, Debug)]
pub(crate) struct SelftestWords {
    /// The daemon's socket for programs
    #[arg(long, value_name = "PATH", default_value = "/run/dccpd/socket")]
    pub(crate) socket: PathBuf,
    /// The IP address of this host to use
    #[arg(long, value_name = "IP", default_value = "127.0.0.1")]
    pub(crate) at: IpAddr,
    /// The DCCP port to use [default: any that is free]
    #[arg(
        long,
        value_name = "PORT",
        default_value = "0",
        hide_default_value = true
    )]
    pub(crate) port: u16,
}

fn time(text: &str) -> Result<Duration, BadValue> {
    Ok(quantity::time_or_seconds(text)?)
}

//! The command line, parsed into a plan. A file can hold the same options.

mod explain;
mod file;
mod values;

use crate::limits::{AGE, FLOWS, IDLE, QUEUE};
use clap::{Args, CommandFactory, FromArgMatches as _, Parser, Subcommand, ValueEnum};
use core::net::SocketAddr;
use core::time::Duration;
use dccp::Encapsulation;
use dccp_cli::Failure;
use dccp_cli::args::ccid;
use dccp_cli::law::NamedLaw;
use dccp_cli::package::Shell;
use explain::explain;
use std::ffi::OsString;
use std::path::PathBuf;
use values::{encapsulation, law, number, span, udp_address};

/// A parsed command line.
#[derive(Debug)]
pub(crate) enum Command {
    /// Carry datagrams.
    Carry(Box<Plan>),
    /// Write the manual pages into this folder.
    Man(PathBuf),
    /// Print the completions of a shell.
    Completions(Shell),
    /// Print this text: help or version.
    Show(String),
}

/// A side of the bridge, and its settings.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Plan {
    pub(crate) side: Side,
    /// Where applications send to (`connect`), or the application to which datagrams go (`listen`).
    pub(crate) udp: SocketAddr,
    pub(crate) over: Encapsulation,
    /// `None`: CCID 2 to connect; any to listen.
    pub(crate) ccid: Option<u8>,
    /// The law of CCID 2; `None`: the usual one.
    pub(crate) law: Option<NamedLaw>,
    pub(crate) max_age: Duration,
    pub(crate) when_full: WhenFull,
    /// Datagrams of a flow that wait at most.
    pub(crate) queue: usize,
    pub(crate) idle: Duration,
    pub(crate) max_flows: usize,
    pub(crate) rate_file: Option<PathBuf>,
    pub(crate) rate_socket: Option<PathBuf>,
    pub(crate) metrics: Option<SocketAddr>,
}

/// The end of the connections.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Side {
    /// Accepts connections at these addresses; none: at all of this host.
    Listen(Vec<String>),
    /// Connects to this address.
    Connect(String),
}

/// The datagram that a full queue drops.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum WhenFull {
    /// The one that has waited longest
    Oldest,
    /// The one that arrives
    Newest,
}

/// Parses the command line (without the program's name), and the file that it names.
pub(crate) fn parse(words: impl IntoIterator<Item = OsString>) -> Result<Command, Failure> {
    let words: Vec<OsString> = words.into_iter().collect();
    let name = words.first().and_then(|word| word.to_str());
    let name = name.unwrap_or_default().to_owned();
    let matches = match matches_of(&words) {
        Err(e) if !e.use_stderr() => return Ok(Command::Show(e.render().to_string())),
        Err(e) => return Err(explain(&e, &name)),
        Ok(matches) => matches,
    };
    let given = matches.subcommand_matches(&name);
    let config = given.filter(|_| name == "listen" || name == "connect");
    let config = config.and_then(|given| given.get_one::<PathBuf>("config").map(|f| (given, f)));
    let matches = match config {
        None => matches,
        Some((given, path)) => {
            let from_file = file::words(path, &name, given)?;
            let head = words.iter().take(1).cloned();
            let rest = words.iter().skip(1).cloned();
            let all: Vec<OsString> = head.chain(from_file).chain(rest).collect();
            // The words of the command line alone are valid.
            matches_of(&all).map_err(|e| {
                let failure = explain(&e, &name);
                file::located(path, failure)
            })?
        }
    };
    let cli = Cli::from_arg_matches(&matches).map_err(|e| explain(&e, &name))?;
    match cli.command {
        Words::Listen(words) => {
            let common = words.common;
            common.plan(Side::Listen(words.at), "listen")
        }
        Words::Connect(words) => {
            let peer = words.peer.ok_or_else(|| {
                Failure::usage(
                    "there is no peer to connect to",
                    "add --peer HOST, the host where `dccp-bridge listen` runs",
                )
            })?;
            words.common.plan(Side::Connect(peer), "connect")
        }
        Words::Man { folder } => Ok(Command::Man(folder)),
        Words::Completions { shell } => Ok(Command::Completions(shell)),
    }
}

fn matches_of(words: &[OsString]) -> Result<clap::ArgMatches, clap::Error> {
    let program = OsString::from("dccp-bridge");
    command().try_get_matches_from(core::iter::once(&program).chain(words))
}

/// The definition of the command line, for manual pages, completions and tests.
pub fn command() -> clap::Command {
    Cli::command()
}

#[derive(Parser, Debug)]
#[command(
    name = "dccp-bridge",
    version,
    about = "Carries UDP between two hosts over DCCP, unchanged for the applications",
    after_help = "Exit codes: 0 done, 1 could not run, 2 wrong command line or file, 130 interrupted.",
    disable_help_subcommand = true
)]
struct Cli {
    #[command(subcommand)]
    command: Words,
}

#[derive(Subcommand, Debug)]
enum Words {
    /// Accept connections, and send their datagrams to a program
    #[command(after_help = LISTEN_EXAMPLE)]
    Listen(ListenWords),
    /// Take datagrams of programs, and send each flow over a connection of its own
    #[command(after_help = CONNECT_EXAMPLE)]
    Connect(ConnectWords),
    /// Write the manual pages
    Man {
        /// Where the pages are written
        folder: PathBuf,
    },
    /// Print the script that completes command lines of this program
    Completions {
        /// The shell
        shell: Shell,
    },
}

const LISTEN_EXAMPLE: &str = "Example: a video player on this host receives at udp://127.0.0.1:5004
  dccp-bridge listen --udp 127.0.0.1:5004";
const CONNECT_EXAMPLE: &str = "Example: an encoder on this host sends to udp://127.0.0.1:5004
  dccp-bridge connect --udp 127.0.0.1:5004 --peer 192.0.2.10";

#[derive(Args, Debug)]
struct ListenWords {
    /// Listen here: IP:UDP-PORT/DCCP-PORT; can be repeated [default: all addresses, ports 14233/5002]
    #[arg(long, value_name = "ADDR")]
    at: Vec<String>,
    #[command(flatten)]
    common: Common,
}

#[derive(Args, Debug)]
struct ConnectWords {
    /// The host where `dccp-bridge listen` runs: HOST, or HOST:UDP-PORT/DCCP-PORT [default ports: 14233/5002]
    #[arg(long, value_name = "ADDR")]
    peer: Option<String>,
    #[command(flatten)]
    common: Common,
}

#[derive(Args, Debug)]
struct Common {
    /// `connect`: where programs send to. `listen`: the program that datagrams go to. IP:PORT, IPv6 in brackets
    #[arg(long, value_name = "ADDR:PORT", value_parser = udp_address)]
    udp: Option<SocketAddr>,
    /// The carrier of DCCP: udp, or ip (protocol 33, needs root)
    #[arg(long, value_name = "PROTOCOL", default_value = "udp", value_parser = encapsulation)]
    over: Encapsulation,
    /// Congestion control: 2, 3, 4 or safeudp [default: connect 2; listen any, as the peer chooses]
    #[arg(long, value_name = "CCID", value_parser = ccid)]
    ccid: Option<u8>,
    /// The law of CCID 2 for what this side sends: cubic, reno, … [default: reno]
    #[arg(long, value_name = "LAW", value_parser = law)]
    law: Option<NamedLaw>,
    /// Drop datagrams that have waited for this time
    #[arg(long, value_name = "TIME", default_value = "200ms", value_parser = span(AGE))]
    max_age: Duration,
    /// The datagram that a full queue drops
    #[arg(long, value_name = "WHICH", default_value = "oldest")]
    when_full: WhenFull,
    /// Datagrams of a flow that wait at most
    #[arg(long, value_name = "N", default_value = "4096", value_parser = number(QUEUE))]
    queue: u64,
    /// End flows without datagrams after this time
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = span(IDLE))]
    idle: Duration,
    /// Flows at the same time; datagrams of further ones are dropped
    #[arg(long, value_name = "N", default_value = "256", value_parser = number(FLOWS))]
    max_flows: u64,
    /// Write the allowed rates to this file, as JSON, whenever they change
    #[arg(long, value_name = "FILE")]
    rate_file: Option<PathBuf>,
    /// Send the allowed rates to clients of this Unix socket, as lines of JSON
    #[arg(long, value_name = "PATH")]
    rate_socket: Option<PathBuf>,
    /// Offer counters and rates to Prometheus at this address, over HTTP without a key
    #[arg(long, value_name = "ADDR:PORT", value_parser = udp_address)]
    metrics: Option<SocketAddr>,
    /// Read options from this file in TOML: max-age = "200ms". The command line counts before the file
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
}

impl Common {
    fn plan(self, side: Side, name: &str) -> Result<Command, Failure> {
        let udp = self.udp.ok_or_else(|| {
            Failure::usage(
                "there is no address for UDP",
                match side {
                    Side::Listen(_) => "add --udp ADDR:PORT, where the receiving program waits",
                    Side::Connect(_) => "add --udp ADDR:PORT, where programs send to",
                },
            )
        })?;
        if udp.port() == 0 && name == "listen" {
            return Err(Failure::usage(
                format!("--udp {udp}: must have a port"),
                "write the port where the receiving program waits",
            ));
        }
        if self.law.is_some() && self.ccid.is_some_and(|ccid| ccid != 2) {
            return Err(Failure::usage(
                "--law: only CCID 2 has laws",
                "leave --ccid out, or --law",
            ));
        }
        Ok(Command::Carry(Box::new(Plan {
            side,
            udp,
            over: self.over,
            ccid: self.ccid,
            law: self.law,
            max_age: self.max_age,
            when_full: self.when_full,
            queue: usize::try_from(self.queue).unwrap_or(usize::MAX),
            idle: self.idle,
            max_flows: usize::try_from(self.max_flows).unwrap_or(usize::MAX),
            rate_file: self.rate_file,
            rate_socket: self.rate_socket,
            metrics: self.metrics,
        })))
    }
}

#[cfg(test)]
mod tests;

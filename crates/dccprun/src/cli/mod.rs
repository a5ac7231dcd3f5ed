//! The command line, parsed into a plan.

mod explain;
mod values;

use clap::{CommandFactory, FromArgMatches as _, Parser};
use core::time::Duration;
use dccp::{Encapsulation, ServiceCode};
use dccp_cli::Failure;
use dccp_cli::args::{BadValue, ccid};
use dccp_cli::law::NamedLaw;
use dccp_cli::package::Shell;
use explain::explain;
use std::ffi::OsString;
use std::path::PathBuf;
use values::{connections, law, port, service, span};

/// A parsed command line.
#[derive(Debug)]
pub(crate) enum Command {
    /// Run a program.
    Run(Box<Plan>),
    /// Write the manual page into this folder.
    Man(PathBuf),
    /// Print the completions of a shell.
    Completions(Shell),
    /// Print this text: help or version.
    Show(String),
}

/// A program, and the settings of its connections.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) program: OsString,
    pub(crate) args: Vec<OsString>,
    /// `None`: beside this program, or where packages put it.
    pub(crate) library: Option<PathBuf>,
    pub(crate) defaults: Defaults,
}

/// The carrier of all connections, and the settings of sockets whose program sets none.
#[derive(Clone, Debug)]
pub(crate) struct Defaults {
    pub(crate) encapsulation: Encapsulation,
    /// The UDP port to listen on.
    pub(crate) udp_port: u16,
    /// The peers' UDP port.
    pub(crate) remote_udp_port: u16,
    pub(crate) ccid: Option<u8>,
    pub(crate) service: Option<ServiceCode>,
    /// The law of CCID 2; `None`: the usual one.
    pub(crate) law: Option<NamedLaw>,
    pub(crate) connect_timeout: Duration,
    /// The socket of the host's daemon; `None`: an engine of this process runs the connections.
    pub(crate) daemon: Option<PathBuf>,
    /// Accepted connections of one listener at a time, which the daemon is asked for.
    pub(crate) connections: u32,
}

/// Parses the command line (without the program's name).
pub(crate) fn parse(words: impl IntoIterator<Item = OsString>) -> Result<Command, Failure> {
    let program = OsString::from("dccprun");
    let words = core::iter::once(program).chain(words);
    let matches = match command().try_get_matches_from(words) {
        Err(e) if !e.use_stderr() => return Ok(Command::Show(e.render().to_string())),
        Err(e) => return Err(explain(&e)),
        Ok(matches) => matches,
    };
    let cli = Cli::from_arg_matches(&matches).map_err(|e| explain(&e))?;
    if let Some(folder) = cli.man {
        return Ok(Command::Man(folder));
    }
    if let Some(shell) = cli.completions {
        return Ok(Command::Completions(shell));
    }
    cli.plan()
}

/// The definition of the command line. The manual page and the completions are made from it.
pub fn command() -> clap::Command {
    Cli::command()
}

#[derive(Parser, Debug)]
#[command(
    name = "dccprun",
    version,
    about = "Runs programs written for the Linux kernel's DCCP unchanged, on kernels without it",
    override_usage = "dccprun [OPTIONS] PROGRAM [ARGS]...",
    after_help = HELP
)]
struct Cli {
    /// Listen on this UDP port; connections use any
    #[arg(long, value_name = "PORT", default_value = "6511", value_parser = port)]
    udp_port: u16,
    /// The UDP port where the peers listen
    #[arg(long, value_name = "PORT", default_value = "6511", value_parser = port)]
    remote_udp_port: u16,
    /// Carry DCCP in IP as protocol 33, which kernels speak; needs root, or a daemon that may
    #[arg(long, conflicts_with_all = ["udp_port", "remote_udp_port"])]
    raw: bool,
    /// Congestion control of sockets whose program sets none: 2, 3, 4 or safeudp [default: 2, or 3 if the peer prefers]
    #[arg(long, value_name = "CCID", value_parser = ccid)]
    ccid: Option<u8>,
    /// The law of CCID 2 for what the program sends: cubic, reno, … [default: reno]
    #[arg(long, value_name = "LAW", value_parser = law)]
    law: Option<NamedLaw>,
    /// Service Code of sockets whose program sets none: a number, 0xHEX or SC:TEXT [default: 0]
    #[arg(long, value_name = "CODE", value_parser = service)]
    service: Option<ServiceCode>,
    /// Give up connecting after this time, at most 10s with --daemon [default: 3min, or 10s with --daemon]
    #[arg(long, value_name = "TIME", value_parser = span)]
    connect_timeout: Option<Duration>,
    /// Let the host's daemon dccpd run the connections [default PATH: /run/dccpd/socket]
    #[arg(
        long,
        value_name = "PATH",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "/run/dccpd/socket",
        conflicts_with = "udp_port"
    )]
    daemon: Option<PathBuf>,
    /// Accepted connections of a listener at a time, which the daemon's policy must allow [default: 16]
    #[arg(long, value_name = "NUMBER", value_parser = connections)]
    connections: Option<u32>,
    /// The library to load into the program [default: beside dccprun, in ../lib, or in ../lib/dccprun]
    #[arg(long, value_name = "FILE")]
    library: Option<PathBuf>,
    /// Write the manual page into this folder, and run nothing
    #[arg(long, value_name = "FOLDER", exclusive = true)]
    man: Option<PathBuf>,
    /// Print the script that completes command lines in this shell, and run nothing
    #[arg(long, value_name = "SHELL", exclusive = true)]
    completions: Option<Shell>,
    /// The program and its arguments
    #[arg(
        value_name = "PROGRAM",
        trailing_var_arg = true,
        allow_hyphen_values = true
    )]
    words: Vec<OsString>,
}

const HELP: &str = "Examples:
  dccprun nc -Z -l 5001                        listen on DCCP port 5001, on UDP port 6511
  dccprun nc -Z 192.0.2.10 5001                connect to it from another host
  dccprun --raw ./server                       speak to kernels, as root
  dccprun --daemon ./server                    use the host's daemon dccpd
  dccprun --udp-port 7000 ./server             listen on another UDP port …
  dccprun --remote-udp-port 7000 ./client HOST   … and connect to it

Exit codes: that of the program, or 128 + N after signal N; 2 wrong command line, 125 could not run, 126 the program
cannot be run this way, 127 there is no such program.";

impl Cli {
    fn plan(self) -> Result<Command, Failure> {
        let mut words = self.words.into_iter();
        let program = words.next().ok_or_else(|| {
            Failure::usage(
                "there is no program to run",
                "write for example `dccprun nc -Z -l 5001`; `dccprun --help` lists the options",
            )
        })?;
        // clap takes an unknown option for the program.
        if program.to_string_lossy().starts_with('-') {
            let what = format!("{}: there is no such option", program.display());
            return Err(Failure::usage(what, explain::LIST));
        }
        if self.law.is_some() && self.ccid.is_some_and(|ccid| ccid != 2) {
            return Err(Failure::usage(
                "--law: only CCID 2 has laws",
                "leave --ccid out, or --law",
            ));
        }
        if self.connections.is_some() && self.daemon.is_none() {
            return Err(Failure::usage(
                "--connections: only the daemon has such a bound",
                "leave it out, or add --daemon",
            ));
        }
        let patience = match self.daemon {
            Some(_) => DAEMON_PATIENCE,
            None => Duration::from_mins(3),
        };
        let connect_timeout = self.connect_timeout.unwrap_or(patience);
        if self.daemon.is_some() && connect_timeout > DAEMON_PATIENCE {
            return Err(Failure::usage(
                "--connect-timeout: the daemon gives up after 10 s",
                "write 10s or less, or leave --daemon out",
            ));
        }
        let encapsulation = if self.raw {
            Encapsulation::Ip
        } else {
            Encapsulation::Udp
        };
        Ok(Command::Run(Box::new(Plan {
            program,
            args: words.collect(),
            library: self.library,
            defaults: Defaults {
                encapsulation,
                udp_port: self.udp_port,
                remote_udp_port: self.remote_udp_port,
                ccid: self.ccid,
                service: self.service,
                law: self.law,
                connect_timeout,
                daemon: self.daemon,
                connections: self.connections.unwrap_or(CONNECTIONS),
            },
        })))
    }
}

/// Accepted connections of a listener, which the daemon is asked for.
const CONNECTIONS: u32 = 16;
/// How long the daemon tries to connect.
const DAEMON_PATIENCE: Duration = Duration::from_secs(10);

/// The result of a parser of values.
type Parsed<T> = Result<T, BadValue>;

#[cfg(test)]
mod tests;

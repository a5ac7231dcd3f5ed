//! The command line: from words to plain values. The letters are those of iperf3.

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Args, Parser, Subcommand};
use core::time::Duration;
use dccp::proto::cc::law::LawConfig;
use dccp::proto::cc::law::settings::LawError;
use dccp::{DEFAULT_UDP_PORT, Over};
use dccp_cli::Failure;
use dccp_cli::quantity::QuantityError;
use std::ffi::OsString;

/// DCCP port of the service.
pub(crate) const DCCP_PORT: u16 = 5001;

/// What to do.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Command {
    /// Serve tests.
    Serve(Serve),
    /// Measure throughput.
    Bulk(Bulk),
    /// Print this text, which was asked for.
    Show(String),
}

/// Which IP versions to use.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Family {
    /// Both.
    Any,
    /// IPv4.
    V4,
    /// IPv6.
    V6,
}

/// Values of `serve`.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Serve {
    pub(crate) udp_port: u16,
    pub(crate) dccp_port: u16,
    /// `None`: over both, as far as the system permits.
    pub(crate) over: Option<Over>,
    pub(crate) family: Family,
    pub(crate) is_one_off: bool,
}

/// Values of `bulk`.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Bulk {
    pub(crate) host: String,
    pub(crate) udp_port: u16,
    pub(crate) dccp_port: u16,
    pub(crate) over: Over,
    pub(crate) family: Family,
    pub(crate) duration: Duration,
    pub(crate) interval: Duration,
    /// Bits per second and flow; `None`: as fast as the congestion control allows.
    pub(crate) rate_bps: Option<u64>,
    /// Bytes of a datagram; `None`: 1400, or less if the path bears less.
    pub(crate) length: Option<usize>,
    pub(crate) flows: u32,
    pub(crate) is_reverse: bool,
    pub(crate) ccid: u8,
    /// Of CCID 2.
    pub(crate) law: LawConfig,
    pub(crate) is_json: bool,
}

impl Bulk {
    /// The law asked for; CCID 3 has none, and who sends from the server is the server's affair.
    pub(crate) fn cc(&self) -> Option<String> {
        (self.ccid == 2 && !self.is_reverse).then(|| self.law.to_string())
    }
}

/// Reads the command line (without the program's name).
pub(crate) fn parse(words: impl IntoIterator<Item = OsString>) -> Result<Command, Failure> {
    let words: Vec<OsString> = words.into_iter().collect();
    let first = words.first().and_then(|w| w.to_str());
    if let Some(later) = first.filter(|w| LATER_COMMANDS.contains(w)) {
        return Err(not_yet(later));
    }
    let words = with_subcommand(words);
    let cli = match Cli::try_parse_from(&words) {
        Ok(cli) => cli,
        Err(e) if !e.use_stderr() => return Ok(Command::Show(e.render().to_string())),
        Err(e) => return Err(explain(&e, words.get(1).is_some_and(|w| w == "serve"))),
    };
    match cli.command {
        Words::Serve(w) => serve(&w).map(Command::Serve),
        Words::Bulk(w) => bulk(w).map(Command::Bulk),
    }
}

#[derive(Parser, Debug)]
#[command(
    name = "dccpmon",
    version,
    about = "Measures DCCP paths: throughput, delay, and where each loss happened",
    after_help = "`dccpmon HOST` is `dccpmon bulk HOST`; iperf3's `-s` and `-c HOST` work too.\n\
        Exit codes: 0 done, 1 could not run, 2 wrong command line, 4 the peer refused, \
        5 the result is incomplete, 130 interrupted.",
    disable_help_subcommand = true
)]
struct Cli {
    #[command(subcommand)]
    command: Words,
}

#[derive(Subcommand, Debug)]
enum Words {
    /// Serve tests until interrupted
    Serve(ServeWords),
    /// Measure throughput, round trip and loss to HOST
    Bulk(BulkWords),
}

#[derive(Args, Debug)]
struct Common {
    /// UDP port of the server
    #[arg(short, long, value_name = "PORT", default_value_t = DEFAULT_UDP_PORT.to_string())]
    port: String,
    /// DCCP port of the server
    #[arg(long, value_name = "PORT", default_value_t = DCCP_PORT.to_string())]
    dccp_port: String,
    /// Carry DCCP over udp or ip
    #[arg(long, value_name = "udp|ip")]
    over: Option<String>,
    /// IPv4 only
    #[arg(short = '4', long, conflicts_with = "ipv6")]
    ipv4: bool,
    /// IPv6 only
    #[arg(short = '6', long)]
    ipv6: bool,
}

#[derive(Args, Debug)]
struct ServeWords {
    #[command(flatten)]
    common: Common,
    /// End after one test
    #[arg(short = '1', long)]
    one_off: bool,
}

#[derive(Args, Debug)]
struct BulkWords {
    /// Where `dccpmon serve` runs
    host: String,
    #[command(flatten)]
    common: Common,
    /// How long to send: 10, 10s, 5m
    #[arg(
        short,
        long,
        value_name = "TIME",
        allow_negative_numbers = true,
        default_value = "10"
    )]
    time: String,
    /// Time between two lines of the table [default: 1, or all of a shorter test]
    #[arg(short, long, value_name = "TIME", allow_negative_numbers = true)]
    interval: Option<String>,
    /// Send at this rate per flow, in bit/s: 50M [default: as fast as congestion control allows]
    #[arg(short, long, value_name = "RATE", allow_negative_numbers = true)]
    bitrate: Option<String>,
    /// Bytes of a datagram [default: 1400, or what the path bears]
    #[arg(short, long, value_name = "SIZE", allow_negative_numbers = true)]
    length: Option<String>,
    /// Flows at the same time
    #[arg(
        short = 'P',
        long,
        value_name = "N",
        default_value = "1",
        allow_negative_numbers = true
    )]
    parallel: String,
    /// The server sends
    #[arg(short = 'R', long)]
    reverse: bool,
    /// Congestion control of the data: 2 (TCP-like) or 3 (TFRC)
    #[arg(long, value_name = "N", default_value = "2")]
    ccid: String,
    /// How the window of CCID 2 moves: reno, highspeed, `cubic:fast_convergence=no` … [default: reno]
    #[arg(long, value_name = "NAME")]
    law: Option<String>,
    /// One JSON document instead of tables
    #[arg(short = 'J', long)]
    json: bool,
}

/// Puts the subcommand in front that iperf3's habits, or a bare host, leave out.
fn with_subcommand(mut words: Vec<OsString>) -> Vec<OsString> {
    let is = |word: &OsString, texts: &[&str]| texts.iter().any(|t| word == t);
    let first = words.first();
    if first.is_none_or(|w| is(w, &["serve", "bulk", "-h", "--help", "-V", "--version"])) {
    } else if let Some(at) = words.iter().position(|w| is(w, &["-s", "--server"])) {
        words.remove(at);
        words.insert(0, "serve".into());
    } else {
        words.retain(|w| !is(w, &["-c", "--client"]));
        words.insert(0, "bulk".into());
    }
    words.insert(0, "dccpmon".into());
    words
}

fn serve(w: &ServeWords) -> Result<Serve, Failure> {
    Ok(Serve {
        udp_port: port("--port", &w.common.port)?,
        dccp_port: port("--dccp-port", &w.common.dccp_port)?,
        over: w.common.over.as_deref().map(over).transpose()?,
        family: family(&w.common),
        is_one_off: w.one_off,
    })
}

fn bulk(w: BulkWords) -> Result<Bulk, Failure> {
    let duration = time("-t", &w.time)?;
    let interval = match &w.interval {
        None => INTERVAL.min(duration).max(INTERVAL_MIN),
        Some(text) => interval(text, duration)?,
    };
    let length = w.length.as_deref().map(length).transpose()?;
    let ccid = ccid(&w.ccid)?;
    let law = match &w.law {
        Some(text) => law(text, ccid, w.reverse)?,
        None => LawConfig::default(),
    };
    Ok(Bulk {
        host: w.host,
        udp_port: port("--port", &w.common.port)?,
        dccp_port: port("--dccp-port", &w.common.dccp_port)?,
        over: w.common.over.as_deref().map_or(Ok(Over::Udp), over)?,
        family: family(&w.common),
        duration,
        interval,
        rate_bps: w.bitrate.as_deref().map(rate).transpose()?,
        length,
        flows: whole("-P", &w.parallel, 1..=FLOWS_MAX)?,
        is_reverse: w.reverse,
        ccid,
        law,
        is_json: w.json,
    })
}

/// The longest test that a server runs.
pub(crate) const DURATION_MAX: Duration = Duration::from_hours(1);
/// The interval of the table if nobody asked for another.
const INTERVAL: Duration = Duration::from_secs(1);
/// The shortest interval of the table.
const INTERVAL_MIN: Duration = Duration::from_millis(100);
/// The most flows of one test.
pub(crate) const FLOWS_MAX: u32 = 32;

fn time(flag: &str, text: &str) -> Result<Duration, Failure> {
    let value = dccp_cli::quantity::time_or_seconds(text).map_err(|e| wrong(flag, text, &e))?;
    if value.is_zero() || value > DURATION_MAX {
        return Err(Failure::usage(
            format!("{flag} {text}: longer than nothing, an hour at most"),
            "write 5s, 5m or 5 (seconds)",
        ));
    }
    Ok(value)
}

fn interval(text: &str, duration: Duration) -> Result<Duration, Failure> {
    let value = time("-i", text)?;
    if (INTERVAL_MIN..=duration.max(INTERVAL_MIN)).contains(&value) {
        return Ok(value);
    }
    Err(Failure::usage(
        format!("-i {text}: too short or longer than the test"),
        "write a time from 100ms to that of -t",
    ))
}

fn rate(text: &str) -> Result<u64, Failure> {
    dccp_cli::quantity::rate_bits_per_s(text).map_err(|e| wrong("-b", text, &e))
}

fn length(text: &str) -> Result<usize, Failure> {
    let bytes = dccp_cli::quantity::size_bytes(text).map_err(|e| wrong("-l", text, &e))?;
    match usize::try_from(bytes) {
        Ok(n) if (crate::packet::LEN_MIN..=crate::packet::LEN_MAX).contains(&n) => Ok(n),
        _ => Err(Failure::usage(
            format!("-l {text}: no size of a datagram"),
            format!(
                "write {} to {} bytes",
                crate::packet::LEN_MIN,
                crate::packet::LEN_MAX
            ),
        )),
    }
}

fn ccid(text: &str) -> Result<u8, Failure> {
    let ccids = dccp::proto::cc::registry::Ccids::default();
    match text.parse() {
        Ok(ccid) if ccids.find(ccid).is_some() => Ok(ccid),
        _ => {
            let list: Vec<String> = ccids
                .iter()
                .map(|c| format!("{} ({})", c.number(), c.name()))
                .collect();
            Err(Failure::usage(
                format!("--ccid {text}: there is no such congestion control"),
                format!("choose one of {}", list.join(", ")),
            ))
        }
    }
}

fn law(text: &str, ccid: u8, is_reverse: bool) -> Result<LawConfig, Failure> {
    let mismatch =
        |problem: &str, next: &str| Failure::usage(format!("--law {text}: {problem}"), next);
    if ccid != 2 {
        return Err(mismatch(
            "only CCID 2 has laws",
            "leave --ccid out, or --law",
        ));
    }
    if is_reverse {
        return Err(mismatch(
            "the server sends, and the law is the sender's choice",
            "leave -R out, or start the test from the other host",
        ));
    }
    text.parse()
        .map_err(|e: LawError| Failure::usage(format!("--law {text}: {}", e.problem), e.next))
}

fn port(flag: &str, text: &str) -> Result<u16, Failure> {
    whole(flag, text, 1..=u16::MAX)
}

fn whole<T>(flag: &str, text: &str, range: core::ops::RangeInclusive<T>) -> Result<T, Failure>
where
    T: core::str::FromStr + PartialOrd + core::fmt::Display,
{
    match text.parse() {
        Ok(n) if range.contains(&n) => Ok(n),
        _ => Err(Failure::usage(
            format!(
                "{flag} {text}: not a number from {} to {}",
                range.start(),
                range.end()
            ),
            format!("write for example {flag} {}", range.start()),
        )),
    }
}

fn over(text: &str) -> Result<Over, Failure> {
    text.parse().map_err(|_| {
        Failure::usage(
            format!("--over {text}: DCCP runs over udp or ip"),
            "write --over udp or --over ip",
        )
    })
}

fn family(common: &Common) -> Family {
    match (common.ipv4, common.ipv6) {
        (true, _) => Family::V4,
        (_, true) => Family::V6,
        _ => Family::Any,
    }
}

fn wrong(flag: &str, text: &str, e: &QuantityError) -> Failure {
    Failure::usage(format!("{flag} {text}: {e}"), e.next_step())
}

/// Subcommands that are planned.
const LATER_COMMANDS: &[&str] = &[
    "stream",
    "sweep",
    "rr",
    "media",
    "send",
    "recv",
    "ping",
    "compare",
    "export",
    "doctor",
    "completions",
    "man",
];

/// Options that are planned, with iperf3's letters.
const LATER_OPTIONS: &[&str] = &[
    "-A",
    "-B",
    "-C",
    "-D",
    "-M",
    "-N",
    "-O",
    "-S",
    "-T",
    "-V",
    "-Z",
    "-n",
    "-q",
    "-u",
    "-w",
    "--assert",
    "--baseline",
    "--bidir",
    "--burst",
    "--compat",
    "--cport",
    "--dscp",
    "--flow",
    "--full",
    "--get-server-output",
    "--json-stream",
    "--key-file",
    "--live",
    "--metrics",
    "--output",
    "--plot",
    "--probe",
    "--queue",
    "--repeat",
    "--shape",
    "--wide",
];

fn not_yet(word: &str) -> Failure {
    Failure::usage(
        format!("{word}: not yet"),
        "this version has `serve` and `bulk`; `dccpmon bulk --help` lists the options",
    )
}

/// clap's errors in two lines.
fn explain(e: &clap::Error, is_serve: bool) -> Failure {
    let command = if is_serve { "serve" } else { "bulk" };
    let list = format!("`dccpmon {command} --help` lists the options");
    let context = |kind| match e.get(kind) {
        Some(ContextValue::String(s)) => Some(s.clone()),
        Some(ContextValue::Strings(list)) => list.first().cloned(),
        _ => None,
    };
    let argument = context(ContextKind::InvalidArg).unwrap_or_default();
    let word = argument.split_whitespace().next().unwrap_or_default();
    match e.kind() {
        ErrorKind::UnknownArgument if LATER_OPTIONS.contains(&word) => not_yet(word),
        ErrorKind::UnknownArgument if !word.starts_with('-') => Failure::usage(
            format!("{word}: one word too many"),
            if is_serve {
                "write `dccpmon serve` and options; it needs no host"
            } else {
                "write one host, and a letter before each value"
            },
        ),
        ErrorKind::UnknownArgument => {
            let next = match context(ContextKind::SuggestedArg) {
                Some(known) => format!("did you mean {known}?"),
                None => list,
            };
            Failure::usage(format!("{word}: there is no such option"), next)
        }
        ErrorKind::MissingRequiredArgument
        | ErrorKind::MissingSubcommand
        | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => Failure::usage(
            "there is no host to measure to",
            "write `dccpmon HOST`, or `dccpmon serve` on the other host",
        ),
        ErrorKind::ArgumentConflict => Failure::usage(
            "-4 and -6 exclude each other",
            "leave both out to use what the host's name gives",
        ),
        ErrorKind::InvalidValue => Failure::usage(format!("{word} needs a value"), list),
        ErrorKind::TooManyValues => Failure::usage(format!("{word} takes no value"), list),
        _ => Failure::usage(
            e.kind()
                .as_str()
                .unwrap_or("this is no command line of dccpmon"),
            "write `dccpmon HOST` or `dccpmon serve`; `dccpmon --help` tells more",
        ),
    }
}

#[cfg(test)]
mod tests;

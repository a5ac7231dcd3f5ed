//! The command line, parsed into values. The letters are those of iperf3.

pub(crate) mod both;
mod carrier;
mod checks;
mod common;
mod explain;
pub(crate) mod export;
pub(crate) mod flow;
pub(crate) mod media;
pub(crate) mod open;
mod output;
pub(crate) mod ping;
pub(crate) mod rr;
mod serve;
pub(crate) mod sweep;
pub(crate) mod third;
pub(crate) mod udpmon;
pub(crate) mod values;

use crate::cmd::compare::Compare;
use crate::cmd::doctor::Doctor;
use crate::cmd::monitor::Monitor;
use crate::limits::{FLOWS_MAX, INTERVAL_MIN, LENGTH, LOST_RUNS_MAX};
use crate::load::shape::Shape;
use crate::output::Options;
use crate::output::text::fitted;
use crate::result::check::Wanted;
use crate::schema::{Kind, Transport};
use crate::session::repeat::RUNS_MAX;
use both::BothWords;
use checks::{
    check_count, check_law, check_safe_udp, check_sample, check_window, flows, has_echoes, notes,
    pattern, usual_interval,
};
use clap::{Args, CommandFactory, Parser, Subcommand};
use common::{Common, family};
use core::time::Duration;
use dccp::Encapsulation;
use dccp_cli::Failure;
use dccp_cli::law::NamedLaw;
use dccp_cli::package::Shell;
use explain::{explain, no_host};
use export::Export;
use flow::{FlowValues, flow};
use media::Media;
use open::{Recv, Send};
use output::{OutputWords, check_capture};
use ping::Ping;
use rr::Rr;
use serde::{Deserialize, Serialize};
pub(crate) use serve::Serve;
use serve::ServeWords;
use std::ffi::OsString;
use std::path::PathBuf;
use sweep::Sweep;
use third::{EXAMPLES, Third, ThirdWords, measurement};
use values::{
    bitrate, burst, ccid, congestion, count, idle, law, length, number, precision, sample, shape,
    socket_buffer, spacing, time, transport,
};

/// DCCP port of the service.
pub(crate) const DCCP_PORT: u16 = 5001;

/// A parsed command line.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Command {
    /// Serve tests.
    Serve(Serve),
    /// Measure throughput.
    Bulk(Box<Bulk>),
    /// Have one server measure throughput to another.
    Third(Box<Third>),
    /// Measure at many packet sizes and spacings.
    Sweep(Sweep),
    /// Write the manual pages into this folder.
    Man(PathBuf),
    /// Print the completions of a shell.
    Completions(Shell),
    /// Compare two results.
    Compare(Compare),
    /// Convert a result.
    Export(Export),
    /// Probe a port.
    Ping(Ping),
    /// Show the settings of this host.
    Doctor(Doctor),
    /// Repeat tests on a schedule.
    Monitor(Monitor),
    /// Measure latency against message size.
    Rr(Box<Rr>),
    /// Choose between important packets and others.
    Media(Box<Media>),
    /// Send without a control connection.
    Send(Box<Send>),
    /// Receive without a control connection.
    Recv(Recv),
    /// Print this text: help, or the limits.
    Show(String),
}

/// The IP versions to use.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) enum Family {
    /// Both.
    Any,
    /// IPv4.
    V4,
    /// IPv6.
    V6,
}

/// Values of `bulk`.
#[derive(Clone, PartialEq, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "flags of a command line")]
pub(crate) struct Bulk {
    /// `bulk`, or another kind of test that runs in the same way.
    pub(crate) kind: Kind,
    pub(crate) host: String,
    pub(crate) udp_port: u16,
    pub(crate) dccp_port: u16,
    pub(crate) over: Encapsulation,
    pub(crate) family: Family,
    pub(crate) duration: Duration,
    pub(crate) interval: Duration,
    /// The carrier of the data.
    pub(crate) transport: Transport,
    /// Bits per second and flow, on average; `None`: as fast as the transport allows.
    pub(crate) rate_bps: Option<u64>,
    pub(crate) shape: Shape,
    /// Of random shapes.
    pub(crate) seed: u64,
    /// Bytes of a datagram, or of a block of TCP; `None`: 1400, or less if the path bears less, and 64,000 over TCP.
    pub(crate) length: Option<usize>,
    /// Bytes of the kernel's buffers of the data sockets at both ends; `None`: the usual ones.
    pub(crate) socket_buffer: Option<u64>,
    /// Packets of each flow; `None`: as many as fit into the duration.
    pub(crate) packets: Option<u64>,
    pub(crate) flows: u32,
    /// The values of each flow; empty: all are alike.
    pub(crate) own: Vec<FlowValues>,
    pub(crate) is_reverse: bool,
    /// Whether both ends send: the client in the first half of the flows, the server in the second.
    pub(crate) is_both: bool,
    /// Whether a flow of the client and one of the server share each connection.
    pub(crate) is_one_connection: bool,
    /// The CCID of flows of the server, if both ends send; `None`: that of all flows.
    pub(crate) server_ccid: Option<u8>,
    /// Whether echoes measure the round trip from program to program.
    pub(crate) has_echoes: bool,
    /// The senders follow the advice of CCID 248.
    pub(crate) obeys: bool,
    /// The gap between samples of the senders that the result keeps.
    pub(crate) sample: Option<Duration>,
    pub(crate) ccid: u8,
    /// The law of CCID 2.
    pub(crate) law: NamedLaw,
    /// The congestion control of TCP; `None`: the usual one.
    pub(crate) congestion: Option<String>,
    /// The user's name of the test.
    pub(crate) title: Option<String>,
    /// Options of iperf3 that change nothing, with the reason.
    pub(crate) notes: Vec<&'static str>,
    pub(crate) output: Options,
    pub(crate) wanted: Wanted,
    pub(crate) key_file: Option<PathBuf>,
    /// Whether to end rather than accept less than what was asked for.
    pub(crate) is_strict: bool,
    /// Whether to wait in the server's queue.
    pub(crate) is_patient: bool,
    /// Whether to end before the test.
    pub(crate) is_dry_run: bool,
    /// How often the test runs at most.
    pub(crate) runs_max: u32,
    /// The relative error of the mean goodput at which the repetitions end.
    pub(crate) until_ci: Option<f64>,
    /// How long the idle path is probed first, if that is given.
    pub(crate) idle: Option<Duration>,
    /// The runs of lost packets of each flow that are listed.
    pub(crate) lost_runs: u32,
}

/// Parses the command line (without the program's name).
pub(crate) fn parse(words: impl IntoIterator<Item = OsString>) -> Result<Command, Failure> {
    let words: Vec<OsString> = words.into_iter().collect();
    let words = with_subcommand(words);
    let cli = match Cli::try_parse_from(&words) {
        Ok(cli) => cli,
        Err(e) if !e.use_stderr() => return Ok(Command::Show(fitted(&e.render().to_string()))),
        Err(e) => {
            let command = words.get(1).and_then(|w| w.to_str());
            return Err(explain(&e, command.unwrap_or("bulk")));
        }
    };
    match cli.command {
        Words::Serve(w) if w.limits => Ok(Command::Show(fitted(&w.parts().limits()))),
        Words::Serve(w) => Ok(Command::Serve(w.parts())),
        Words::Bulk(w) => measurement(*w, Kind::Bulk),
        Words::Stream(w) => measurement(*w, Kind::Stream),
        Words::Sweep(sweep) => Ok(Command::Sweep(sweep)),
        Words::Man { folder } => Ok(Command::Man(folder)),
        Words::Completions { shell } => Ok(Command::Completions(shell)),
        Words::Compare(compare) => Ok(Command::Compare(compare)),
        Words::Export(export) => Ok(Command::Export(export)),
        Words::Ping(ping) => Ok(Command::Ping(ping)),
        Words::Doctor(doctor) => Ok(Command::Doctor(doctor)),
        Words::Monitor(monitor) => Ok(Command::Monitor(monitor)),
        Words::Rr(rr) => Ok(Command::Rr(rr)),
        Words::Media(media) => Ok(Command::Media(media)),
        Words::Send(send) => Ok(Command::Send(send)),
        Words::Recv(recv) => Ok(Command::Recv(recv)),
    }
}

/// The definition of the command line, for manual pages, completions and tests.
pub fn command() -> clap::Command {
    Cli::command()
}

#[derive(Parser, Debug)]
#[command(
    name = "dccpmon",
    version,
    about = "Measures DCCP paths: throughput, delay, and where each loss happened",
    after_help = "`dccpmon HOST` is `dccpmon bulk HOST`; iperf3's `-s` and `-c HOST` work too.\n\
        Exit codes: 0 done, 1 could not run, 2 wrong command line, 3 an assertion failed, \
        4 the peer refused, 5 the result is incomplete, 130 interrupted.",
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
    #[command(after_help = EXAMPLES)]
    Bulk(Box<BulkWords>),
    /// As bulk, and measure the round trip from program to program by echoes
    #[command(after_help = EXAMPLES)]
    Stream(Box<BulkWords>),
    /// Measure to HOST at many packet sizes and spacings
    Sweep(Sweep),
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
    /// Compare two saved results
    Compare(Compare),
    /// Print a saved result in another form
    Export(Export),
    /// Tell whether a DCCP port of HOST is open, closed or filtered
    Ping(Ping),
    /// Show this host's settings beside those that measurements need
    Doctor(Doctor),
    /// Repeat tests on a schedule, keep their results and offer them to Prometheus
    Monitor(Monitor),
    /// Measure latency against message size to HOST, by requests and responses
    Rr(Box<Rr>),
    /// Send important packets and others through the packet ring; the others make room when the path is slow
    Media(Box<Media>),
    /// Send to `dccpmon recv` on HOST, without a control connection
    Send(Box<Send>),
    /// Receive from `dccpmon send`, without a control connection
    Recv(Recv),
}

#[derive(Args, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "flags of a command line")]
struct BulkWords {
    /// Where `dccpmon serve` runs
    #[arg(required_unless_present = "to")]
    host: Option<String>,
    #[command(flatten)]
    common: Common,
    /// How long to send: 10, 10s, 5m
    #[arg(
        short,
        long,
        value_name = "TIME",
        allow_negative_numbers = true,
        default_value = "10",
        value_parser = time
    )]
    time: Duration,
    /// Time between two lines of the table [default: 1, or all of a shorter test; less with --live]
    #[arg(short, long, value_name = "TIME", allow_negative_numbers = true, value_parser = time)]
    interval: Option<Duration>,
    /// End each flow after N packets, or after -t
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = count, conflicts_with_all = ["reverse", "bidir"])]
    count: Option<u64>,
    /// Send at this rate per flow, in bit/s: 50M; 0 is no limit [default: DCCP as fast as congestion control
    /// allows, UDP 1M]
    #[arg(short, long, value_name = "RATE", allow_negative_numbers = true, value_parser = bitrate, group = "pattern")]
    bitrate: Option<u64>,
    /// Send in this pattern: cbr:20M, burst:64/10ms, poisson:5M, pareto:5M/1.5, frames:30:4M,
    /// sine:20M..80M/60s, square:20M..80M/60s, or trace:FILE with a time in ms on each line
    #[arg(long, value_name = "SHAPE", value_parser = shape, group = "pattern")]
    shape: Option<Shape>,
    /// The same as --shape burst:N/TIME
    #[arg(long, value_name = "N/TIME", value_parser = burst, group = "pattern")]
    burst: Option<Shape>,
    /// One packet each TIME
    #[arg(long, value_name = "TIME", value_parser = spacing, group = "pattern")]
    spacing: Option<Shape>,
    /// The seed of random shapes
    #[arg(long, value_name = "N", default_value_t = 1, allow_negative_numbers = true, value_parser = number(0..=u64::MAX))]
    seed: u64,
    /// Bytes of a datagram [default: 1400, or what the path bears], or of a block of TCP [default: 64000]
    #[arg(short, long, value_name = "SIZE", allow_negative_numbers = true, value_parser = length)]
    length: Option<usize>,
    /// Bytes of the kernel's buffers of the data sockets at both ends, over UDP and TCP: 64K, 4M [default: 6144000 for
    /// receiving over UDP; TCP: what the system chooses]
    #[arg(short, long, value_name = "SIZE", allow_negative_numbers = true, value_parser = socket_buffer)]
    window: Option<u64>,
    /// Flows at the same time
    #[arg(
        short = 'P',
        long,
        value_name = "N",
        default_value_t = 1,
        allow_negative_numbers = true,
        value_parser = number(1..=FLOWS_MAX)
    )]
    parallel: u32,
    /// One flow with values of its own, such as ccid=3,rate=5M or rate=2M,law=cubic (several times)
    #[arg(
        long = "flow",
        value_name = "VALUES",
        value_parser = flow,
        conflicts_with_all = ["parallel", "reverse", "bidir", "carrier", "congestion", "ccid", "law", "pattern"]
    )]
    own: Vec<FlowValues>,
    /// The server sends
    #[arg(short = 'R', long)]
    reverse: bool,
    #[command(flatten)]
    both: BothWords,
    /// Measure the round trip from program to program, by at most 200 echoes a second (UDP always does)
    #[arg(long)]
    echo: bool,
    /// Keep the sender's window, rate and round trip each TIME, 1ms at least, in the JSON document
    #[arg(long, value_name = "TIME", allow_negative_numbers = true, value_parser = sample)]
    sample: Option<Duration>,
    /// Carry the data over dccp, over udp without congestion control, or over tcp of the system [default: dccp]
    #[arg(long, value_name = "NAME", value_parser = transport, group = "carrier")]
    transport: Option<Transport>,
    /// The same as --transport udp
    #[arg(short, long, group = "carrier")]
    udp: bool,
    /// The same as --transport tcp
    #[arg(long, group = "carrier")]
    tcp: bool,
    /// Congestion control of DCCP: 2 (TCP-like), 3 (TFRC), 4 (TFRC for small packets), or 248 (safeudp), which needs a
    /// rate [default: 2]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = ccid)]
    ccid: Option<u8>,
    /// With CCID 248: slow down to the advised rate, and return in steps when the congestion is over [default: ignore the
    /// advice]
    #[arg(long)]
    obey: bool,
    /// How the window of CCID 2 moves: reno, highspeed, `cubic:fast_convergence=no` … [default: reno]
    #[arg(long, value_name = "NAME", value_parser = law)]
    law: Option<NamedLaw>,
    /// Congestion control of TCP by its name in the sending system: cubic, reno … [default: cubic, or reno]
    #[arg(short = 'C', long, value_name = "NAME", value_parser = congestion)]
    congestion: Option<String>,
    /// The name of the test in the plan, the page and the document
    #[arg(short = 'T', long, value_name = "TEXT")]
    title: Option<String>,
    /// Changes nothing: packets are always sent with as few copies as the system allows
    #[arg(short = 'Z', long)]
    zerocopy: bool,
    /// Changes nothing: the result always holds the figures of both ends
    #[arg(long)]
    get_server_output: bool,
    /// The server's key
    #[arg(long, value_name = "FILE")]
    key_file: Option<PathBuf>,
    /// End if the server allows less time or a lower rate than asked for
    #[arg(long)]
    strict: bool,
    /// If the server is busy, wait in its queue
    #[arg(long, conflicts_with = "dry_run")]
    wait: bool,
    /// Show what the test would do and what the server allows, and end: no data is sent
    #[arg(long)]
    dry_run: bool,
    /// Run the test N times
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = number(1..=RUNS_MAX))]
    repeat: Option<u32>,
    /// Repeat the test until the 95 % confidence interval of the mean goodput is within ± SHARE of it: 2%
    #[arg(long, value_name = "SHARE", allow_negative_numbers = true, value_parser = precision)]
    until_ci: Option<f64>,
    /// Probe the idle path for this long first; 0: no probes, also none beside the load [default: a tenth of -t, at most 1s]
    #[arg(long, value_name = "TIME", allow_negative_numbers = true, value_parser = idle)]
    idle: Option<Duration>,
    /// List the first N runs of lost packets
    #[arg(long, value_name = "N", default_value_t = 0, allow_negative_numbers = true, value_parser = number(0..=LOST_RUNS_MAX))]
    lost: u32,
    #[command(flatten)]
    third: ThirdWords,
    #[command(flatten)]
    output: OutputWords,
}

/// Inserts the subcommand, which iperf3's options and a bare host leave out.
fn with_subcommand(mut words: Vec<OsString>) -> Vec<OsString> {
    let is = |word: &OsString, texts: &[&str]| texts.iter().any(|t| word == t);
    let first = words.first();
    let is_known = |word: &OsString| {
        let command = command();
        let mut names = command.get_subcommands().map(clap::Command::get_name);
        names.any(|name| word == name) || is(word, &["-h", "--help", "-V", "--version"])
    };
    if first.is_none_or(is_known) {
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

fn bulk(w: BulkWords, kind: Kind) -> Result<Bulk, Failure> {
    let host = w.host.clone().filter(|host| !host.is_empty());
    let host = host.ok_or_else(no_host)?;
    let interval = w.interval.unwrap_or_else(|| usual_interval(&w));
    let is_default = w.interval.is_none();
    if !is_default && !(INTERVAL_MIN..=w.time.max(INTERVAL_MIN)).contains(&interval) {
        return Err(Failure::usage(
            format!(
                "--interval {interval:?}: must be at least 100ms and at most the time of the test"
            ),
            "write for example --interval 1s",
        ));
    }
    let transport = match (w.udp, w.tcp) {
        (true, _) => Transport::Udp,
        (_, true) => Transport::Tcp,
        _ => w.transport.unwrap_or_default(),
    };
    let (flows, notes) = (flows(&w)?, notes(&w));
    let has_echoes = has_echoes(transport, kind == Kind::Stream || w.echo)?;
    w.both.check(transport, has_echoes)?;
    check_count(transport, w.count)?;
    let is_controlled = w.ccid.is_some() || w.law.is_some();
    if transport != Transport::Dccp && is_controlled {
        let option = if w.ccid.is_some() { "--ccid" } else { "--law" };
        return Err(Failure::usage(
            format!("{option}: {transport} has no congestion control of DCCP"),
            format!("leave {option} out, or choose --transport dccp"),
        ));
    }
    if transport != Transport::Tcp && w.congestion.is_some() {
        return Err(Failure::usage(
            format!("--congestion: {transport} does not use the system's TCP"),
            "choose --transport tcp, or a law of DCCP with --law",
        ));
    }
    check_window(transport, w.window)?;
    let ccid = w.ccid.unwrap_or(2);
    if w.law.is_some() {
        check_law(ccid, w.reverse)?;
    }
    let shape = pattern(&w, transport);
    check_safe_udp(&w, transport, &shape)?;
    let (output, wanted) = w.output.parts();
    if w.sample.is_some() {
        check_sample(transport, w.reverse, &output)?;
    }
    let runs_default = if w.until_ci.is_some() { RUNS_MAX } else { 1 };
    let runs_max = w.repeat.unwrap_or(runs_default);
    check_capture(&output.capture, transport, runs_max)?;
    Ok(Bulk {
        kind,
        has_echoes,
        obeys: w.obey,
        host,
        udp_port: w.common.port,
        dccp_port: w.common.dccp_port,
        over: w.common.over.unwrap_or(Encapsulation::Udp),
        family: w.common.family(),
        duration: w.time,
        interval: interval.max(INTERVAL_MIN),
        rate_bps: shape.mean_bps(w.length.unwrap_or(LENGTH)),
        shape,
        seed: w.seed,
        length: w.length,
        socket_buffer: w.window,
        packets: w.count,
        flows,
        own: w.own,
        is_both: w.both.bidir,
        is_one_connection: w.both.one_connection,
        server_ccid: w.both.server_ccid,
        is_reverse: w.reverse,
        sample: w.sample,
        notes,
        title: w.title,
        ccid,
        transport,
        law: w.law.unwrap_or_default(),
        congestion: w.congestion,
        output,
        wanted,
        key_file: w.key_file,
        is_strict: w.strict,
        is_patient: w.wait,
        is_dry_run: w.dry_run,
        runs_max,
        until_ci: w.until_ci,
        idle: w.idle,
        lost_runs: w.lost,
    })
}

#[cfg(test)]
mod tests;

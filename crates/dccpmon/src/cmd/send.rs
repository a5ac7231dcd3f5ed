//! `dccpmon send HOST`: sends to `dccpmon recv` without a control connection.

use crate::cli::open::Send;
use crate::limits::{DRAIN_MAX, LENGTH};
use crate::load::send::{Sender, Traffic};
use crate::meter::{SAMPLE, safeudp};
use crate::output::safeudp as words;
use crate::plan::{data_options, look_up};
use crate::schema::{Ended, Transport};
use crate::transport::Flow;
use crate::transport::dccp::DccpFlow;
use crate::transport::udp::UdpFlow;
use core::fmt::Write as _;
use core::net::SocketAddr;
use core::sync::atomic::Ordering;
use core::time::Duration;
use dccp::proto::number::to_f64;
use dccp::proto::time::nanos;
use dccp::{Encapsulation, Options, Socket, clock};
use dccp_cli::quantity::show as units;
use dccp_cli::{Failure, exit, interrupt, print};
use std::sync::Arc;

/// The Service Code of tests without a control connection.
pub(crate) const SERVICE: [u8; 4] = *b"DMOL";
/// The token in the packets of these tests.
pub(crate) const TOKEN: u64 = 0;
/// How long the receiver may take to answer.
const ANSWER: Duration = Duration::from_secs(5);

/// Sends, and prints the counters at each snapshot; gives the exit code.
pub(crate) fn run(asked: &Send) -> Result<u8, Failure> {
    asked.check()?;
    interrupt::listen()?;
    let (flow, length) = connect(asked)?;
    let traffic = Traffic {
        token: TOKEN,
        flow: 0,
        length,
        shape: asked.pattern(),
        seed: asked.seed,
        packets: asked.count,
        congestion: None,
        has_echoes: false,
        obeys: false,
    };
    print(&format!(
        "send  {} to {}, packets of {length} B, shape {}\n  time s     offered        left     new        rate\n",
        asked.carrier.transport(),
        asked.host,
        traffic.shape
    ))?;
    let mut sender = Sender::start(&flow, traffic, asked.time)
        .map_err(|e| Failure::run(e.to_string(), "check this system's limits"))?;
    let begin = clock::now();
    let mut table = Table::default();
    let mut conclusions = Conclusions::default();
    while !sender.is_done() && !interrupt::is_pressed() {
        std::thread::sleep(SAMPLE);
        let elapsed = clock::now() - begin;
        print(&conclusions.lines(elapsed, &*flow))?;
        if elapsed >= table.time + asked.snapshot {
            print(&table.line(elapsed, &sender, 0, length))?;
        }
    }
    sender.stop();
    let elapsed = clock::now() - begin;
    let taken_back = flow.withdraw();
    finish(&*flow);
    print(&table.line(elapsed, &sender, taken_back, length))?;
    print(&conclusions.lines(elapsed, &*flow))?;
    if let Some(ended) = conclusions.ended {
        return Err(Failure {
            code: exit::INCOMPLETE,
            ..Failure::run(ended.to_string(), "wait, and send less than before with -b")
        });
    }
    if let Some(trouble) = sender.failure() {
        return Err(Failure {
            code: exit::INCOMPLETE,
            ..Failure::run(
                format!("sending ended early: {trouble}"),
                "is `dccpmon recv` running there, with the same --transport and -p?",
            )
        });
    }
    Ok(if interrupt::is_pressed() {
        exit::INTERRUPTED
    } else {
        exit::DONE
    })
}

/// Connects to the receiver. Also gives the length of the datagrams.
fn connect(asked: &Send) -> Result<(Arc<dyn Flow>, usize), Failure> {
    let remotes = look_up(&asked.host, asked.common.port, asked.common.family())?;
    match asked.carrier.transport() {
        Transport::Udp => {
            let flow = connect_udp(&remotes)?;
            Ok((Arc::new(flow), asked.length.unwrap_or(LENGTH)))
        }
        Transport::Dccp | Transport::Tcp => connect_dccp(asked, &remotes),
    }
}

fn connect_udp(remotes: &[SocketAddr]) -> Result<UdpFlow, Failure> {
    let remote = remotes.first().copied();
    let remote = remote.ok_or_else(|| Failure::run("the host has no address", "check its name"))?;
    UdpFlow::connect(remote)
        .map_err(|e| Failure::run(e.to_string(), "check the route to the receiver"))
}

fn connect_dccp(asked: &Send, remotes: &[SocketAddr]) -> Result<(Arc<dyn Flow>, usize), Failure> {
    let options = Options::new()
        .service_code(SERVICE)
        .encapsulation(asked.common.over.unwrap_or(Encapsulation::Udp))
        .connect_timeout(ANSWER)
        .ccid(asked.carrier.ccid());
    let mut options = data_options(options);
    if let Some(law) = &asked.carrier.law {
        options = options.law(law.config.clone());
    }
    let socket = Socket::connect((remotes, asked.common.dccp_port), &options).map_err(|e| {
        Failure::run(
            format!("{}: {e}", asked.host),
            "is `dccpmon recv` running there, with the same ports?",
        )
    })?;
    let most = socket.max_packet_size().unwrap_or(usize::MAX);
    let length = asked.length.unwrap_or(LENGTH.min(most));
    if length > most {
        return Err(Failure::run(
            format!(
                "-l {length}: a packet to {} holds {most} bytes at most",
                asked.host
            ),
            format!("write -l {most}, or leave it out"),
        ));
    }
    Ok((Arc::new(DccpFlow::new(socket)), length))
}

/// Ends the connection when all that left is acknowledged, or after a while.
fn finish(flow: &dyn Flow) {
    let until = clock::now() + DRAIN_MAX;
    while !flow.is_drained() && clock::now() < until {
        std::thread::sleep(SAMPLE);
    }
    flow.close();
    if !flow.has_closed(clock::now() + DRAIN_MAX) {
        flow.abort();
    }
}

/// The conclusions of CCID 248, between the snapshots.
#[derive(Default)]
struct Conclusions {
    /// The name of the last one that was printed.
    last: String,
    ended: Option<Ended>,
}

impl Conclusions {
    /// The lines of the conclusions since the last call. Equal ones in a row have one line.
    fn lines(&mut self, elapsed: Duration, flow: &dyn Flow) -> String {
        let mut lines = String::new();
        flow.conclusions(&mut |code| {
            self.ended = safeudp::ended(clock::now(), &code).or(self.ended.take());
            let conclusion = safeudp::conclusion(nanos(elapsed), &code);
            if conclusion.code != self.last {
                let (at, text) = (elapsed.as_secs_f64(), words::conclusion(&conclusion));
                // A text takes all.
                let _ = writeln!(lines, "{at:>8.1}  {text}");
                self.last = conclusion.code;
            }
        });
        lines
    }
}

/// The lines of the snapshots.
#[derive(Default)]
struct Table {
    /// The last snapshot, and what had left.
    time: Duration,
    left: u64,
}

impl Table {
    fn line(
        &mut self,
        elapsed: Duration,
        sender: &Sender,
        taken_back: u64,
        length: usize,
    ) -> String {
        let offered = sender.counts.offered.load(Ordering::Relaxed);
        let left = sender.flow.counters().map_or(self.left, |now| now.left);
        let new = left.saturating_sub(self.left);
        let time = elapsed.saturating_sub(self.time);
        let line = snapshot_line(
            elapsed,
            offered.saturating_sub(taken_back),
            left,
            new,
            rate(new * length as u64, time),
        );
        (self.time, self.left) = (elapsed, left);
        line
    }
}

fn snapshot_line(elapsed: Duration, offered: u64, left: u64, new: u64, bps: f64) -> String {
    format!(
        "{:>8.1}  {offered:>10}  {left:>10}  {new:>6}  {:>14}\n",
        elapsed.as_secs_f64(),
        units::rate(bps)
    )
}

/// Bits per second; 0 of no time.
pub(crate) fn rate(bytes: u64, time: Duration) -> f64 {
    if time.is_zero() {
        return 0.0;
    }
    to_f64(bytes * 8) / time.as_secs_f64()
}

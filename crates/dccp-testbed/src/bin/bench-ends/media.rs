//! A constant-rate source whose every tenth frame is important (seed 003, figure 2), over UDP, TCP and DCCP.
//!
//! A frame of constant size contains its number, its time of creation, its importance and filling. When the network
//! is too slow for all frames, UDP cannot choose. The TCP writer discards a frame that finds the socket's buffer full.
//! With a packet ring the application withdraws the oldest unimportant frame.

use crate::report::{quantile, say_ready};
use anyhow::{Context, Result, bail};
use clap::{Args, ValueEnum};
use dccp::packet_ring::{Label, PushError, Sender, Shape};
use dccp::{Instant, Listener, Options, RingSocket, Socket, clock};
use nix::sys::socket::{setsockopt, sockopt};
use serde::Serialize;
use std::ffi::OsString;
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::thread;
use std::time::Duration;

/// Bytes of a frame, and of a ring's slot.
const LEN: usize = 1000;
const SLOT: u32 = 1000;
const PORT: u16 = 5001;
/// One frame in this many is important.
const EVERY: u64 = 10;
/// The silence after which the sender counts as gone.
const SILENCE: Duration = Duration::from_secs(3);

#[derive(Args)]
pub(crate) struct SinkArgs {
    local: SocketAddr,
    #[command(flatten)]
    over: Over,
}

#[derive(Args)]
pub(crate) struct SendArgs {
    remote: SocketAddr,
    #[command(flatten)]
    over: Over,
    /// Bytes per second that the source makes
    #[arg(long)]
    rate: f64,
    /// Frames that may wait in the packet ring
    #[arg(long, default_value_t = 8)]
    ring: u32,
    /// Seconds
    #[arg(long, default_value_t = 60.0)]
    time: f64,
}

#[derive(Args)]
struct Over {
    #[arg(long, value_enum)]
    over: Transport,
    #[arg(long, default_value_t = 2)]
    ccid: u8,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Transport {
    Udp,
    Tcp,
    Dccp,
}

/// The report of a sender.
#[derive(Serialize)]
pub(crate) struct SendReport {
    /// Frames made.
    offered: u64,
    /// Frames that left.
    sent: u64,
    /// The share of TCP's segments that were retransmitted.
    retransmitted: Option<f64>,
}

/// The report of a sink.
#[derive(Serialize)]
pub(crate) struct SinkReport {
    delivered: u64,
    important: u64,
    /// Milliseconds from a frame's making to its delivery.
    age_p50_ms: f64,
    age_p99_ms: f64,
    /// Of the important frames only.
    important_age_p50_ms: f64,
}

/// A frame's head.
fn frame(number: u64, at: Instant) -> [u8; LEN] {
    let mut frame = [0; LEN];
    frame[..8].copy_from_slice(&number.to_be_bytes());
    frame[8..16].copy_from_slice(&at.as_nanos().to_be_bytes());
    frame
}

fn is_important(number: u64) -> bool {
    number.is_multiple_of(EVERY)
}

/// Counts frames.
#[derive(Default)]
struct Tally {
    ages: Vec<Duration>,
    important_ages: Vec<Duration>,
}

impl Tally {
    fn add(&mut self, frame: &[u8]) {
        let (Some(number), Some(at)) = (frame.first_chunk(), frame.get(8..16)) else {
            return;
        };
        let number = u64::from_be_bytes(*number);
        let at = at.try_into().map_or(0, u64::from_be_bytes);
        let age = clock::now() - Instant::from_nanos(at);
        self.ages.push(age);
        if is_important(number) {
            self.important_ages.push(age);
        }
    }

    fn report(mut self) -> SinkReport {
        self.ages.sort_unstable();
        self.important_ages.sort_unstable();
        let ms = |ages: &[Duration], percent| quantile(ages, percent).as_secs_f64() * 1e3;
        SinkReport {
            delivered: self.ages.len() as u64,
            important: self.important_ages.len() as u64,
            age_p50_ms: ms(&self.ages, 50),
            age_p99_ms: ms(&self.ages, 99),
            important_age_p50_ms: ms(&self.important_ages, 50),
        }
    }
}

/// Receives until the sender has gone.
pub(crate) fn sink(args: &SinkArgs) -> Result<SinkReport> {
    let mut tally = Tally::default();
    let mut buf = [0; LEN];
    match args.over.over {
        Transport::Udp => {
            let socket = UdpSocket::bind(args.local)?;
            say_ready();
            let (len, _) = socket.recv_from(&mut buf)?;
            tally.add(&buf[..len]);
            socket.set_read_timeout(Some(SILENCE))?;
            while let Ok(len) = socket.recv(&mut buf) {
                tally.add(&buf[..len]);
            }
        }
        Transport::Tcp => {
            let listener = TcpListener::bind(args.local)?;
            say_ready();
            let (mut stream, _) = listener.accept()?;
            while stream.read_exact(&mut buf).is_ok() {
                tally.add(&buf);
            }
        }
        Transport::Dccp => {
            let listener = Listener::bind((args.local, PORT), &args.over.options())?;
            say_ready();
            let socket = listener.accept()?;
            while let Ok(len) = socket.recv(&mut buf) {
                tally.add(&buf[..len]);
            }
        }
    }
    Ok(tally.report())
}

impl Over {
    fn options(&self) -> Options {
        Options::new().ccid(self.ccid).service_code(*b"MDIA")
    }
}

/// Makes frames at the rate and hands them over, until the time is over.
pub(crate) fn send(args: &SendArgs) -> Result<SendReport> {
    let mut way = Way::open(args)?;
    #[expect(clippy::cast_precision_loss, reason = "a frame has 1,000 bytes")]
    let every = Duration::from_secs_f64(LEN as f64 / args.rate);
    let mut due = clock::now();
    let end = due + Duration::from_secs_f64(args.time);
    let mut offered = 0;
    while due < end {
        thread::sleep(due - clock::now());
        way.take(&frame(offered, clock::now()), is_important(offered))?;
        offered += 1;
        due += every;
    }
    way.finish(offered)
}

/// How frames leave.
enum Way {
    Udp(UdpSocket),
    Tcp(Stream),
    Dccp(Box<RingSocket>),
}

/// A stream, and what of a frame it has not taken yet.
struct Stream {
    inner: TcpStream,
    rest: Vec<u8>,
    taken: u64,
}

impl Way {
    fn open(args: &SendArgs) -> Result<Self> {
        Ok(match args.over.over {
            Transport::Udp => {
                let socket = UdpSocket::bind("0.0.0.0:0")?;
                socket.connect(args.remote)?;
                Self::Udp(socket)
            }
            Transport::Tcp => {
                let stream = TcpStream::connect(args.remote)?;
                setsockopt(&stream, sockopt::TcpCongestion, &OsString::from("reno"))
                    .context("TCP_CONGESTION")?;
                stream.set_nodelay(true)?;
                stream.set_nonblocking(true)?;
                Self::Tcp(Stream {
                    inner: stream,
                    rest: Vec::new(),
                    taken: 0,
                })
            }
            Transport::Dccp => {
                let socket = Socket::connect((args.remote, PORT), &args.over.options())?;
                Self::Dccp(Box::new(RingSocket::new(
                    socket,
                    Shape::new(args.ring, SLOT),
                )?))
            }
        })
    }

    fn take(&mut self, frame: &[u8], is_important: bool) -> Result<()> {
        match self {
            Self::Udp(socket) => match socket.send(frame) {
                // A full queue of this host is one that drops.
                Err(error) if error.kind() != ErrorKind::ConnectionRefused => Err(error.into()),
                _ => Ok(()),
            },
            Self::Tcp(stream) => stream.take(frame),
            Self::Dccp(ring) => choose(ring.sender(), frame, is_important),
        }
    }

    fn finish(self, offered: u64) -> Result<SendReport> {
        let (sent, retransmitted) = match self {
            Self::Udp(_) => (offered, None),
            Self::Tcp(stream) => (stream.taken, Some(retransmitted(&stream.inner)?)),
            Self::Dccp(mut ring) => {
                // The datagrams that still wait are too late.
                while !ring.sender().take_back(usize::MAX)?.is_empty() {
                    ring.sender().take_back(usize::MAX)?.withdraw(0);
                }
                let stats = ring.socket().stats().context("the engine is gone")?;
                ring.socket().close()?;
                (stats.connection.counters.data_sent, None)
            }
        };
        Ok(SendReport {
            offered,
            sent,
            retransmitted,
        })
    }
}

impl Stream {
    /// Writes the frame as far as there is room. A frame that has begun must be finished before the next one.
    fn take(&mut self, frame: &[u8]) -> Result<()> {
        if !self.flush()? {
            return Ok(());
        }
        self.rest.extend_from_slice(frame);
        self.flush()?;
        if self.rest.len() == frame.len() {
            // Not a byte of it has gone: it is left out.
            self.rest.clear();
        } else {
            self.taken += 1;
        }
        Ok(())
    }

    /// Whether nothing is left.
    fn flush(&mut self) -> Result<bool> {
        while !self.rest.is_empty() {
            match self.inner.write(&self.rest) {
                Ok(n) => self.rest.drain(..n).for_each(drop),
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(false),
                Err(error) => return Err(error.into()),
            }
        }
        Ok(true)
    }
}

/// Puts a frame into the ring. If that is full, the oldest unimportant frame makes room, be it this one.
fn choose(ring: &mut Sender, frame: &[u8], is_important: bool) -> Result<()> {
    let label = Label {
        tag: is_important.into(),
        // It overtakes the unimportant ones.
        priority: is_important.into(),
        ..Label::default()
    };
    match ring.push(frame, label) {
        Ok(_) => return Ok(()),
        Err(PushError::Full) => {}
        Err(error) => return Err(error.into()),
    }
    let mut waiting = ring.take_back(usize::MAX)?;
    let unimportant = waiting.labels().position(|label| label.tag == 0);
    match unimportant {
        Some(oldest) => waiting.withdraw(oldest),
        None if is_important && !waiting.is_empty() => waiting.withdraw(0),
        None => return Ok(()),
    };
    drop(waiting);
    match ring.push(frame, label) {
        Ok(_) | Err(PushError::Full) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// The share of segments with data that were retransmitted, from the system's counters.
fn retransmitted(stream: &TcpStream) -> Result<f64> {
    let local = stream.local_addr()?.port();
    let output = std::process::Command::new("ss")
        .args(["-tinH", &format!("sport = :{local}")])
        .output()
        .context("ss (package iproute2)")?;
    let said = String::from_utf8_lossy(&output.stdout);
    let count = |name: &str| {
        let word = said.split_whitespace().find_map(|w| w.strip_prefix(name))?;
        word.rsplit('/').next()?.parse::<f64>().ok()
    };
    let Some(segments) = count("data_segs_out:") else {
        bail!("ss says nothing of data_segs_out: {said}");
    };
    Ok(count("retrans:").unwrap_or(0.0) / segments)
}

#[cfg(test)]
mod tests {
    use super::*;
    use dccp::unstable::ring::{in_process, silent};

    #[test]
    fn a_full_ring_keeps_what_is_important() {
        let (mut app, mut transport) = in_process(Shape::new(4, SLOT), silent(), silent()).unwrap();
        for number in 0..40 {
            let frame = frame(number, Instant::ZERO);
            choose(&mut app.sender, &frame, is_important(number)).unwrap();
        }
        let mut left = Vec::new();
        let mut buf = [0; LEN];
        while let dccp::unstable::ring::Look::Offer { len } = transport.source.look(0).unwrap() {
            transport.source.claim_into(&mut buf[..len]).unwrap();
            left.push(u64::from_be_bytes(*buf.first_chunk().unwrap()));
        }
        assert_eq!(left, [0, 10, 20, 30]);
    }

    #[test]
    fn ages_and_important_frames_are_counted() {
        let mut tally = Tally::default();
        for number in 0..20 {
            tally.add(&frame(number, clock::now()));
        }
        tally.add(b"short");
        let report = tally.report();
        assert_eq!((report.delivered, report.important), (20, 2));
        assert!(report.age_p50_ms <= report.age_p99_ms);
    }
}

//! Plain UDP at a given rate, and its round trip: what a program feels that sends through a bridge.

use crate::report::{Meter, Report, say_ready};
use anyhow::{Context, Result, ensure};
use clap::Args;
use dccp::clock;
use dccp_proto::number::to_f64;
use serde::Serialize;
use std::net::{SocketAddr, UdpSocket};
use std::thread;
use std::time::Duration;

#[derive(Args)]
pub(crate) struct PacedArgs {
    remote: SocketAddr,
    /// Bits of payload per second
    #[arg(long)]
    rate: f64,
    /// Bytes of a datagram
    #[arg(long, default_value_t = 1400)]
    size: u16,
    /// Seconds
    #[arg(long, default_value_t = 3.0)]
    time: f64,
}

#[derive(Args)]
pub(crate) struct EchoArgs {
    local: SocketAddr,
}

#[derive(Args)]
pub(crate) struct PingArgs {
    remote: SocketAddr,
    /// Round trips
    #[arg(long, default_value_t = 5000)]
    count: usize,
}

/// The time between two bursts.
const GAP: Duration = Duration::from_micros(200);
/// Round trips that are not counted: those of the handshake, and of cold caches.
const WARM_UP: usize = 200;
/// The longest wait for an answer.
const PATIENCE: Duration = Duration::from_secs(1);

/// Sends at a rate.
pub(crate) fn send(args: &PacedArgs) -> Result<Report> {
    let socket = connected(args.remote)?;
    let payload = vec![7; args.size.into()];
    let bits = 8.0 * f64::from(args.size);
    let start = clock::now();
    let mut meter = Meter::default();
    let mut sent = 0;
    loop {
        let elapsed = (clock::now() - start).as_secs_f64();
        if elapsed >= args.time {
            return meter.report();
        }
        while to_f64(sent) * bits < args.rate * elapsed {
            socket.send(&payload)?;
            sent += 1;
            meter.add(1, args.size.into());
        }
        thread::sleep(GAP);
    }
}

/// Sends each datagram back until it is ended.
pub(crate) fn echo(args: &EchoArgs) -> Result<()> {
    let socket = UdpSocket::bind(args.local).context("cannot bind")?;
    say_ready();
    let mut buf = [0; 2048];
    loop {
        let (len, from) = socket.recv_from(&mut buf)?;
        socket.send_to(&buf[..len], from)?;
    }
}

/// Percentiles of round trips in microseconds.
#[derive(Serialize)]
pub(crate) struct RoundTrips {
    p50_us: f64,
    p99_us: f64,
}

/// Measures round trips, one after the other.
pub(crate) fn ping(args: &PingArgs) -> Result<RoundTrips> {
    let socket = connected(args.remote)?;
    socket.set_read_timeout(Some(PATIENCE))?;
    let payload = [7; 200];
    let mut buf = [0; 2048];
    let mut times = Vec::with_capacity(args.count);
    for _ in 0..WARM_UP + args.count {
        let start = clock::now();
        socket.send(&payload)?;
        socket.recv(&mut buf).context("no answer")?;
        times.push((clock::now() - start).as_secs_f64() * 1e6);
    }
    let mut times = times.split_off(WARM_UP);
    ensure!(!times.is_empty(), "--count: must be at least 1");
    times.sort_by(f64::total_cmp);
    Ok(RoundTrips {
        p50_us: times[times.len() / 2],
        p99_us: times[times.len() * 99 / 100],
    })
}

fn connected(remote: SocketAddr) -> Result<UdpSocket> {
    let local: SocketAddr = if remote.is_ipv4() {
        "0.0.0.0:0".parse()?
    } else {
        "[::]:0".parse()?
    };
    let socket = UdpSocket::bind(local)?;
    socket.connect(remote)?;
    Ok(socket)
}

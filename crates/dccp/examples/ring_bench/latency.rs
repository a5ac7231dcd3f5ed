//! From push to the moment at which the datagram is out.
//!
//! This thread is the application and, between the two ends, a relay that looks for datagrams all the time: over
//! loopback one is there while the engine's send call runs, and a look takes less than a microsecond.

use crate::peer::{Peers, address};
use crate::ring::Ring;
use crate::{Outcome, PORT};
use core::net::SocketAddr;
use core::time::Duration;
use dccp::packet_ring::{Label, Shape};
use dccp::{Event, Instant, Listener, RingClient, RingRequest, RingSocket, Socket, clock};
use rustix::event::{EventfdFlags, eventfd};
use std::net::UdpSocket;
use std::thread;

const SHAPE: Shape = Shape::new(64, 8);
/// How long nothing happens before each sample.
const IDLE: Duration = Duration::from_millis(1);
/// How long a sample may take.
const PATIENCE: Duration = Duration::from_secs(5);

/// Measures each kind, and prints a line for each.
pub(crate) fn run(peers: &Peers, samples: usize) -> Outcome {
    let bare = Quantiles::of(ping_pong(samples)?)?;
    for is_lent in [false, true] {
        let (name, times) = if is_lent {
            lent(peers, samples)?
        } else {
            own(peers, samples)?
        };
        let ours = Quantiles::of(times)?;
        println!(
            "{{\"name\":\"ring_latency\",\"ring\":\"{name}\",\"busy_wait\":{},\"samples\":{samples},\
             {},{},\"ratio_p99\":{:.3}}}",
            peers.is_busy,
            ours.json("push_to_out"),
            bare.json("eventfd_round_trip"),
            ours.p99.div_duration_f64(bare.p99)
        );
    }
    Ok(())
}

/// What many times say.
struct Quantiles {
    p50: Duration,
    p99: Duration,
    max: Duration,
}

impl Quantiles {
    fn of(mut times: Vec<Duration>) -> Outcome<Self> {
        times.sort_unstable();
        let last = times.len().checked_sub(1).ok_or("no samples")?;
        let at = |percent: usize| times[last * percent / 100];
        Ok(Self {
            p50: at(50),
            p99: at(99),
            max: at(100),
        })
    }

    fn json(&self, name: &str) -> String {
        let us = |time: Duration| time.as_secs_f64() * 1e6;
        format!(
            "\"{name}_p50_us\":{:.2},\"{name}_p99_us\":{:.2},\"{name}_max_us\":{:.2}",
            us(self.p50),
            us(self.p99),
            us(self.max)
        )
    }
}

/// Two threads wake each other, and nothing else.
fn ping_pong(samples: usize) -> Outcome<Vec<Duration>> {
    let there = eventfd(0, EventfdFlags::CLOEXEC)?;
    let back = eventfd(0, EventfdFlags::CLOEXEC)?;
    let one = 1_u64.to_ne_bytes();
    thread::scope(|scope| {
        scope.spawn(|| {
            for _ in 0..samples {
                let heard = rustix::io::read(&there, &mut [0; 8]);
                if heard.is_err() || rustix::io::write(&back, &one).is_err() {
                    return;
                }
            }
        });
        let sample = || {
            thread::sleep(IDLE);
            let begin = clock::now();
            rustix::io::write(&there, &one)?;
            rustix::io::read(&back, &mut [0; 8])?;
            Ok(clock::now() - begin)
        };
        core::iter::repeat_with(sample).take(samples).collect()
    })
}

/// One engine runs both ends of the connection.
fn own(peers: &Peers, samples: usize) -> Outcome<(&'static str, Vec<Duration>)> {
    let options = peers.options()?.nonblocking(true);
    let listener = Listener::bind("127.0.0.1:0", PORT, &options)?;
    let mut relay = Relay::to(listener.local_addrs()[0])?;
    let socket = Socket::connect(relay.local_addr()?, PORT, &options)?;
    let begin = clock::now();
    while socket.poll_event() != Some(Event::Connected) {
        relay.turn()?;
        if clock::now() - begin > PATIENCE {
            return Err("no connection".into());
        }
    }
    let mut ring = Ring::Own(RingSocket::new(socket, SHAPE)?);
    Ok((ring.name(), measure(&mut ring, &mut relay, samples)?))
}

/// Another process's engine runs both ends.
fn lent(peers: &Peers, samples: usize) -> Outcome<(&'static str, Vec<Duration>)> {
    let path = std::env::temp_dir().join(format!("ring-latency-{}", std::process::id()));
    let (_server, at) = peers.start(&["lend", path.to_str().ok_or("no path")?])?;
    let mut relay = Relay::to(address(&at)?)?;
    let request = RingRequest::new(relay.local_addr()?, PORT, SHAPE);
    let ring = thread::scope(|scope| {
        let connecting = scope.spawn(|| RingClient::connect(&path, &request));
        while !connecting.is_finished() {
            relay.turn()?;
        }
        let ring = connecting.join().map_err(|_| "a panic")?;
        Ok::<_, Box<dyn std::error::Error>>(ring?)
    })?;
    let _ = std::fs::remove_file(&path);
    let mut ring = Ring::Lent(ring);
    Ok((ring.name(), measure(&mut ring, &mut relay, samples)?))
}

fn measure(ring: &mut Ring, relay: &mut Relay, samples: usize) -> Outcome<Vec<Duration>> {
    let mut times = Vec::with_capacity(samples);
    for n in 0..samples as u64 {
        let idle_until = clock::now() + IDLE;
        while clock::now() < idle_until {
            relay.turn()?;
        }
        let data = n.to_be_bytes();
        let begin = clock::now();
        ring.sender().push(&data, Label::default())?;
        let out = loop {
            match relay.turn()? {
                Some((last, at)) if last == data => break at,
                _ if clock::now() - begin > PATIENCE => {
                    return Err("a datagram does not come out".into());
                }
                _ => {}
            }
        };
        times.push(out - begin);
    }
    Ok(times)
}

/// Hands on what the two ends send each other.
struct Relay {
    client: UdpSocket,
    server: UdpSocket,
    came_from: Option<SocketAddr>,
}

impl Relay {
    fn to(server: SocketAddr) -> Outcome<Self> {
        let client = UdpSocket::bind("127.0.0.1:0")?;
        client.set_nonblocking(true)?;
        let server_side = UdpSocket::bind("127.0.0.1:0")?;
        server_side.connect(server)?;
        server_side.set_nonblocking(true)?;
        Ok(Self {
            client,
            server: server_side,
            came_from: None,
        })
    }

    fn local_addr(&self) -> Outcome<SocketAddr> {
        Ok(self.client.local_addr()?)
    }

    /// Looks once on each side; the last eight bytes of what the client has sent, and when that was there.
    fn turn(&mut self) -> Outcome<Option<([u8; 8], Instant)>> {
        let mut buf = [0; 2048];
        let mut last = None;
        if let Ok((len, from)) = self.client.recv_from(&mut buf) {
            self.came_from = Some(from);
            let at = clock::now();
            last = buf[..len].last_chunk().map(|last| (*last, at));
            self.server.send(&buf[..len])?;
        }
        if let (Ok(len), Some(to)) = (self.server.recv(&mut buf), self.came_from) {
            self.client.send_to(&buf[..len], to)?;
        }
        Ok(last)
    }
}

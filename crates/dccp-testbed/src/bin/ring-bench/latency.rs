//! From push to the moment at which the datagram is out.
//!
//! This thread is the application and, between the two ends, a relay: over loopback a datagram is there while the
//! engine's send call runs.
//!
//! How the thread waits decides where the engine's thread runs. Looking all the time it holds its own processor, and the
//! engine must be woken on another one, which may be deeply asleep (in a virtual machine that takes tens of
//! microseconds). Asleep it makes room for the engine. The two threads that wake each other through eventfds, with which
//! all is compared, wait in the same way.

use crate::peer::{Peers, address};
use crate::ring::{Kind, Ring};
use crate::{Outcome, PORT};
use core::net::SocketAddr;
use core::time::Duration;
use dccp::packet_ring::{Label, Shape};
use dccp::{DccpAddr, Event, Instant, Listener, RingSocket, Socket, clock};
use dccp_ring_ipc::{RingClient, RingListenRequest, RingListener, RingRequest};
use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use std::net::UdpSocket;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::sync::Arc;
use std::thread;

const SHAPE: Shape = Shape::new(64, 8);
/// How long nothing happens before each sample.
const IDLE: Duration = Duration::from_millis(1);
/// How long a sample may take.
const PATIENCE: Duration = Duration::from_secs(5);

/// How the measuring thread waits.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Wait {
    /// It sleeps until there is something.
    Asleep,
    /// It looks all the time.
    Looking,
}

impl Wait {
    fn name(self) -> &'static str {
        match self {
            Self::Asleep => "asleep",
            Self::Looking => "looking",
        }
    }

    /// Waits until one of them has something or the time is over, or lets the caller look.
    fn pause(self, sources: &[&dyn AsFd], at_most: Duration) -> Outcome {
        if self == Self::Looking {
            return Ok(());
        }
        let fds = sources.iter();
        let mut fds: Vec<_> = fds
            .map(|source| PollFd::from_borrowed_fd(source.as_fd(), PollFlags::IN))
            .collect();
        poll(&mut fds, Some(&Timespec::try_from(at_most)?))?;
        Ok(())
    }
}

/// Measures each kind, and prints a line for each.
pub(crate) fn run(peers: &Peers, samples: usize) -> Outcome {
    // A busy-waiting engine occupies one processor and this thread the other, so no third thread may run.
    let waits: &[Wait] = if peers.is_busy {
        &[Wait::Looking]
    } else {
        &[Wait::Asleep, Wait::Looking]
    };
    for &wait in waits {
        for kind in Kind::ALL {
            let bare = if peers.is_busy {
                None
            } else {
                Some([PingPong::by_eventfd()?, PingPong::by_udp()?])
            };
            let mut meter = Meter {
                wait,
                bare,
                times: <[_; 3]>::default(),
            };
            match kind {
                Kind::Own => own(peers, &mut meter, samples)?,
                Kind::Lent => lent(peers, &mut meter, samples)?,
                Kind::Daemon => by_daemon(peers, &mut meter, samples)?,
            }
            let name = kind.name();
            println!(
                "{{\"name\":\"ring_latency\",\"ring\":\"{name}\",\"busy_wait\":{},\"application\":\"{}\",\
                 \"samples\":{samples},{}}}",
                peers.is_busy,
                wait.name(),
                meter.json()?
            );
        }
    }
    Ok(())
}

/// Times of pushes, and between two of these the bare ones: so all suffer from the same disturbances.
struct Meter {
    wait: Wait,
    /// Round trips of an eventfd: with an eventfd back, and with a datagram back.
    bare: Option<[PingPong; 2]>,
    /// Ours, and the bare ones.
    times: [Vec<Duration>; 3],
}

impl Meter {
    fn add(&mut self, ours: Duration) -> Outcome {
        let [all_ours, bare @ ..] = &mut self.times;
        all_ours.push(ours);
        for (times, ping_pong) in bare.iter_mut().zip(self.bare.iter().flatten()) {
            times.push(ping_pong.sample(self.wait)?);
        }
        Ok(())
    }

    fn json(self) -> Outcome<String> {
        let [ours, eventfd, udp] = self.times;
        let ours = Quantiles::of(ours)?;
        let mut json = ours.json("push_to_out");
        if self.bare.is_some() {
            let (eventfd, udp) = (Quantiles::of(eventfd)?, Quantiles::of(udp)?);
            json = format!(
                "{json},{},{},\"ratio_p50\":{:.3},\"ratio_p99\":{:.3}",
                eventfd.json("eventfd_round_trip"),
                udp.json("eventfd_udp_round_trip"),
                ours.p50.div_duration_f64(eventfd.p50),
                ours.p99.div_duration_f64(eventfd.p99)
            );
        }
        Ok(json)
    }
}

/// Percentiles of many times.
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
struct PingPong {
    there: Arc<OwnedFd>,
    back: OwnedFd,
}

impl PingPong {
    /// The second thread answers through an eventfd.
    fn by_eventfd() -> Outcome<Self> {
        let back = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        let answers = back.try_clone()?;
        Self::start(back, answers)
    }

    /// It answers with a datagram.
    fn by_udp() -> Outcome<Self> {
        let back = UdpSocket::bind("127.0.0.1:0")?;
        back.set_nonblocking(true)?;
        let answers = UdpSocket::bind("127.0.0.1:0")?;
        answers.connect(back.local_addr()?)?;
        Self::start(back.into(), answers.into())
    }

    fn start(back: OwnedFd, answers: OwnedFd) -> Outcome<Self> {
        let there = Arc::new(eventfd(0, EventfdFlags::CLOEXEC)?);
        let hears = there.clone();
        // It ends with the program.
        thread::spawn(move || {
            while rustix::io::read(&hears, &mut [0; 8]).is_ok() && ring(&answers).is_ok() {}
        });
        Ok(Self { there, back })
    }

    fn sample(&self, wait: Wait) -> Outcome<Duration> {
        let idle_until = clock::now() + IDLE;
        while clock::now() < idle_until {
            wait.pause(&[&self.back], idle_until - clock::now())?;
        }
        let begin = clock::now();
        ring(&self.there)?;
        loop {
            wait.pause(&[&self.back], PATIENCE)?;
            if rustix::io::read(&self.back, &mut [0; 8]).is_ok() {
                return Ok(clock::now() - begin);
            }
        }
    }
}

fn ring(bell: &OwnedFd) -> rustix::io::Result<usize> {
    rustix::io::write(bell, &1_u64.to_ne_bytes())
}

/// One engine runs both ends of the connection.
fn own(peers: &Peers, meter: &mut Meter, samples: usize) -> Outcome {
    let options = peers.options()?.nonblocking(true);
    let listener = Listener::bind(("127.0.0.1:0", PORT), &options)?;
    let mut relay = Relay::to(listener.local_addrs()[0].udp_addr())?;
    let socket = Socket::connect((relay.local_addr()?, PORT), &options)?;
    let begin = clock::now();
    while socket.poll_event() != Some(Event::Connected) {
        relay.turn()?;
        if clock::now() - begin > PATIENCE {
            return Err("no connection".into());
        }
    }
    let mut ring = Ring::Own(RingSocket::new(socket, SHAPE)?);
    measure(&mut ring, &mut relay, meter, samples)?;
    if let Ring::Own(ring) = ring {
        // An engine that closes in the background would look for packets while others are measured.
        ring.socket().abort();
        ring.socket().wait_closed(PATIENCE)?;
    }
    Ok(())
}

/// Another process's engine runs both ends.
fn lent(peers: &Peers, meter: &mut Meter, samples: usize) -> Outcome {
    let path = std::env::temp_dir().join(format!("ring-latency-{}", std::process::id()));
    let (_server, at) = peers.start(&["lend", path.to_str().ok_or("no path")?])?;
    through(&path, address(&at)?, meter, samples)
}

/// The engine of the host's service runs both ends.
fn by_daemon(peers: &Peers, meter: &mut Meter, samples: usize) -> Outcome {
    let path = std::env::temp_dir().join(format!("ring-daemon-{}", std::process::id()));
    let _daemon = peers.start_daemon(&path)?;
    let at = DccpAddr::new(core::net::Ipv4Addr::LOCALHOST.into(), 0, PORT);
    let listener = RingListener::bind(&path, &RingListenRequest::new(at, SHAPE))?;
    through(&path, listener.local_addr().udp_addr(), meter, samples)
}

/// Measures a connection of the server at `path` to a listener.
fn through(path: &Path, to: SocketAddr, meter: &mut Meter, samples: usize) -> Outcome {
    let mut relay = Relay::to(to)?;
    let request = RingRequest::new((relay.local_addr()?, PORT).into(), SHAPE);
    let ring = thread::scope(|scope| {
        let connecting = scope.spawn(|| RingClient::connect(path, &request));
        while !connecting.is_finished() {
            relay.turn()?;
        }
        let ring = connecting.join().map_err(|_| "a panic")?;
        Ok::<_, Box<dyn std::error::Error>>(ring?)
    })?;
    let _ = std::fs::remove_file(path);
    measure(&mut Ring::Lent(ring), &mut relay, meter, samples)
}

fn measure(ring: &mut Ring, relay: &mut Relay, meter: &mut Meter, samples: usize) -> Outcome {
    let wait = meter.wait;
    for n in 0..samples as u64 {
        let idle_until = clock::now() + IDLE;
        while clock::now() < idle_until {
            relay.pause(wait, idle_until - clock::now())?;
            relay.turn()?;
        }
        let data = n.to_be_bytes();
        let begin = clock::now();
        ring.sender().push(&data, Label::default())?;
        let out = loop {
            relay.pause(wait, PATIENCE)?;
            match relay.turn()? {
                Some((last, at)) if last == data => break at,
                _ if clock::now() - begin > PATIENCE => {
                    return Err("a datagram does not come out".into());
                }
                _ => {}
            }
        };
        meter.add(out - begin)?;
    }
    Ok(())
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

    /// Waits for something from one side.
    fn pause(&self, wait: Wait, at_most: Duration) -> Outcome {
        wait.pause(&[&self.client, &self.server], at_most)
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

//! UDP: datagrams leave when they are due. Each begins with its number and its time.
//!
//! ```text
//! | number u64 | time in ns u64 | zeros … |
//! ```
//! A datagram that answers another carries the time of that one, so that its receiver knows the round trip.

use super::LiveError;
use super::end::{LOOK, Received, Receivers, Sample, Sender, lock};
use super::pump::Pump;
use crate::run::outcome::RoundTrip;
use crate::run::stage::State;
use core::net::{Ipv4Addr, SocketAddr};
use core::sync::atomic::{AtomicU64, Ordering};
use core::time::Duration;
use dccp_emu::clock;
use dccp_proto::Instant;
use dccp_proto::time::nanos;
use dccp_proto::wire::Payload;
use dccp_sim::source::{App, Message, Source};
use dccp_sim::udp::Seen;
use std::collections::BTreeMap;
use std::io;
use std::net::UdpSocket;
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

/// Bytes of number and time.
pub(super) const HEAD: usize = 16;
/// The longest UDP datagram.
const DATAGRAM_MAX: usize = 65_536;

/// A stream over UDP.
pub(super) struct UdpSender {
    stream: Arc<Stream>,
    port: u16,
}

struct Stream {
    socket: UdpSocket,
    pump: Pump,
    /// Datagrams that the host did not take.
    refused: AtomicU64,
    sent: AtomicU64,
    answered_bytes: AtomicU64,
    round_trips: Mutex<RoundTrips>,
}

/// Round trips that were not fetched yet, and the newest of all.
#[derive(Debug, Default)]
struct RoundTrips {
    fresh: Vec<(Instant, Duration)>,
    newest: Option<Duration>,
}

/// A socket in the namespace of the calling thread.
pub(super) fn bind(address: Ipv4Addr, port: u16) -> io::Result<UdpSocket> {
    let socket = UdpSocket::bind((address, port))?;
    socket.set_read_timeout(Some(LOOK))?;
    Ok(socket)
}

impl UdpSender {
    /// Begins to send to `remote`. Returns the stream and its threads.
    pub(super) fn start(
        socket: UdpSocket,
        remote: SocketAddr,
        app: &App,
    ) -> Result<(Self, Vec<JoinHandle<()>>), LiveError> {
        socket.connect(remote)?;
        let port = socket.local_addr()?.port();
        let counts_answers = matches!(app.source, Source::Requests { .. });
        let stream = Arc::new(Stream {
            socket,
            pump: Pump::new(app),
            refused: AtomicU64::new(0),
            sent: AtomicU64::new(0),
            answered_bytes: AtomicU64::new(0),
            round_trips: Mutex::default(),
        });
        let (sending, receiving) = (stream.clone(), stream.clone());
        let threads = vec![
            std::thread::spawn(move || sending.send()),
            std::thread::spawn(move || receiving.receive(counts_answers)),
        ];
        Ok((Self { stream, port }, threads))
    }
}

impl Stream {
    fn send(&self) {
        let mut datagram = vec![0; DATAGRAM_MAX];
        let mut number = 0_u64;
        self.pump.run(|message: Message| {
            let datagram = &mut datagram[..message.len()];
            write_head(datagram, number, clock::now());
            // The first call may report an ICMP error about an earlier datagram.
            let is_sent = self.socket.send(datagram).is_ok() || self.socket.send(datagram).is_ok();
            if is_sent {
                number += 1;
                self.sent.store(number, Ordering::Relaxed);
            } else {
                self.refused.fetch_add(1, Ordering::Relaxed);
            }
            true
        });
    }

    /// Receives answers until the end.
    fn receive(&self, counts_answers: bool) {
        let mut memory = vec![0; DATAGRAM_MAX];
        let mut seen = Seen::default();
        while !self.pump.is_over() {
            let Ok(len) = self.socket.recv(&mut memory) else {
                continue;
            };
            let now = clock::now();
            let Some((_, sent)) = read_head(&memory[..len]).filter(|(n, _)| seen.note(*n)) else {
                continue;
            };
            let mut trips = lock(&self.round_trips);
            trips.fresh.push((now, now - sent));
            trips.newest = Some(now - sent);
            drop(trips);
            if counts_answers {
                self.answered_bytes.fetch_add(len as u64, Ordering::Relaxed);
            }
            self.pump.on_received(len);
        }
    }
}

impl Sender for UdpSender {
    fn port(&self) -> Option<u16> {
        Some(self.port)
    }

    fn sample(&self) -> Sample {
        let load = |n: &AtomicU64| n.load(Ordering::Relaxed);
        Sample {
            sent: load(&self.stream.sent),
            dropped_by_sender: load(&self.stream.refused),
            state: State {
                rtt: lock(&self.stream.round_trips).newest,
                ..State::default()
            },
            ..Sample::default()
        }
    }

    fn answered_bytes(&self) -> u64 {
        self.stream.answered_bytes.load(Ordering::Relaxed)
    }

    fn round_trips(&mut self, now: Duration) -> Vec<RoundTrip> {
        let fresh = core::mem::take(&mut lock(&self.stream.round_trips).fresh);
        let until = clock::now();
        let trip = |(at, rtt): (Instant, Duration)| RoundTrip {
            at: now.saturating_sub(until - at),
            rtt_ns: nanos(rtt),
        };
        fresh.into_iter().map(trip).collect()
    }

    fn stop(&mut self) {
        self.stream.pump.end();
    }

    fn lateness(&self) -> (u64, u64) {
        self.stream.pump.counts()
    }
}

/// Receives the datagrams of a flow until its end, and answers them as the application does.
pub(super) fn receive(socket: &UdpSocket, app: &App, receivers: &Receivers) {
    let mut memory = vec![0; DATAGRAM_MAX];
    let mut streams: BTreeMap<u16, Arrivals> = BTreeMap::new();
    while !receivers.is_over() {
        let Ok((len, peer)) = socket.recv_from(&mut memory) else {
            continue;
        };
        let Some((number, sent)) = read_head(&memory[..len]) else {
            continue;
        };
        let new = || Arrivals::new(receivers.of(peer.port()));
        let stream = streams.entry(peer.port()).or_insert_with(new);
        if !stream.seen.note(number) {
            continue;
        }
        stream.received.add(1, len as u64);
        stream
            .received
            .missing
            .store(stream.seen.missing(), Ordering::Relaxed);
        for message in app.replies(Payload::Zeros(len)) {
            let reply = &mut memory[..message.len()];
            reply.fill(0);
            write_head(reply, stream.answers, sent);
            stream.answers += u64::from(socket.send_to(reply, peer).is_ok());
        }
    }
}

/// The arrivals of one stream.
struct Arrivals {
    received: Arc<Received>,
    seen: Seen,
    /// Datagrams sent back.
    answers: u64,
}

impl Arrivals {
    fn new(received: Arc<Received>) -> Self {
        Self {
            received,
            seen: Seen::default(),
            answers: 0,
        }
    }
}

/// Writes number and time, as far as there is room.
fn write_head(datagram: &mut [u8], number: u64, time: Instant) {
    let head = [number.to_be_bytes(), time.as_nanos().to_be_bytes()].concat();
    for (byte, value) in datagram.iter_mut().zip(head) {
        *byte = value;
    }
}

fn read_head(datagram: &[u8]) -> Option<(u64, Instant)> {
    let (number, rest) = datagram.split_first_chunk()?;
    let time = rest.first_chunk()?;
    let time = Instant::from_nanos(u64::from_be_bytes(*time));
    Some((u64::from_be_bytes(*number), time))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn head_is_read_as_it_was_written() {
        let mut datagram = [0; 20];
        write_head(&mut datagram, 7, Instant::from_nanos(9));
        assert_eq!(read_head(&datagram), Some((7, Instant::from_nanos(9))));
        assert_eq!(read_head(&datagram[..HEAD - 1]), None);
    }
}

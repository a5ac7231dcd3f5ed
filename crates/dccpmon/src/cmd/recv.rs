//! `dccpmon recv`: receives from `dccpmon send` without a control connection.
//!
//! Nothing tells how many packets were sent, so losses behind the last packet of a sender are not counted.

use crate::cli::open::Recv;
use crate::cmd::send::{SERVICE, TOKEN, rate};
use crate::load::receive::Receiver;
use crate::plan::{ccids, data_options};
use crate::schema::Transport;
use crate::transport::Flow;
use crate::transport::dccp::DccpFlow;
use crate::transport::udp::bind;
use crate::wire::packet::{Head, Kind, LEN_MAX};
use core::net::SocketAddr;
use core::time::Duration;
use dccp::{AcceptError, Instant, Listener, Options, clock};
use dccp_cli::quantity::show as units;
use dccp_cli::{Failure, exit, interrupt, print};
use dccp_stats::{Arrival, ArrivalInterval, Arrivals, Counts};
use std::net::UdpSocket;
use std::sync::Arc;

/// The most senders at the same time. Packets of further ones are ignored.
const SENDERS_MAX: usize = 64;
/// A sender over UDP that was silent for this time is gone.
const SILENCE_MAX: Duration = Duration::from_mins(1);
/// The longest wait for a packet or a connection.
const LOOK: Duration = Duration::from_millis(50);

/// Receives until the time is over, and prints the counters at each snapshot; gives the exit code.
pub(crate) fn run(asked: &Recv) -> Result<u8, Failure> {
    asked.check()?;
    interrupt::listen()?;
    let local = if asked.ipv6 {
        SocketAddr::from(([0; 8], asked.port))
    } else {
        SocketAddr::from(([0; 4], asked.port))
    };
    let mut port = match asked.transport() {
        Transport::Udp => Port::udp(local)?,
        Transport::Dccp | Transport::Tcp => Port::dccp(local, asked)?,
    };
    print(&format!(
        "recv  {} on port {}\n  time s     packets     new      lost     new  reordered        rate  sender\n",
        asked.transport(),
        asked.port
    ))?;
    let begin = clock::now();
    let mut next = begin + asked.snapshot;
    let is_over = |now: Instant| asked.time.is_some_and(|time| now - begin >= time);
    while !interrupt::is_pressed() && !is_over(clock::now()) {
        port.look()?;
        let now = clock::now();
        if now >= next {
            next = now + asked.snapshot;
            print(&port.snapshot(begin, now))?;
        }
    }
    print(&port.snapshot(begin, clock::now()))?;
    Ok(if interrupt::is_pressed() {
        exit::INTERRUPTED
    } else {
        exit::DONE
    })
}

/// The port with its senders.
enum Port {
    Dccp(Box<Listener>, Vec<Source<Receiver>>),
    Udp(UdpSocket, Vec<u8>, Vec<Source<Arrivals>>),
}

/// A sender, and what arrived from it.
struct Source<T> {
    name: String,
    arrivals: T,
    total: Total,
    /// The last arrival, and the last snapshot.
    heard_at: Instant,
    shown_at: Instant,
}

/// The sums of the snapshots of a sender.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Total {
    packets: u64,
    lost: u64,
    reordered: u64,
}

impl<T> Source<T> {
    fn new(name: String, arrivals: T) -> Self {
        let now = clock::now();
        Self {
            name,
            arrivals,
            total: Total::default(),
            heard_at: now,
            shown_at: now,
        }
    }

    /// Adds the arrivals since the last snapshot, and gives the line.
    fn line(&mut self, new: &ArrivalInterval, begin: Instant, now: Instant) -> String {
        let lost = self.total.add(new);
        let time = now - core::mem::replace(&mut self.shown_at, now);
        if new.counts.packets > 0 {
            self.heard_at = now;
        }
        let Counts { packets, bytes, .. } = new.counts;
        format!(
            "{:>8.1}  {:>10}  {packets:>6}  {:>8}  {lost:>6}  {:>9}  {:>14}  {}\n",
            (now - begin).as_secs_f64(),
            self.total.packets,
            self.total.lost,
            self.total.reordered,
            units::rate(rate(bytes, time)),
            self.name
        )
    }
}

impl Total {
    /// Adds an interval. Gives the change of the lost packets, which late arrivals lower.
    fn add(&mut self, new: &ArrivalInterval) -> String {
        self.packets += new.counts.packets;
        self.reordered += new.counts.reordered;
        let before = self.lost;
        self.lost = (before + new.counts.missing).saturating_sub(new.recovered);
        if self.lost < before {
            format!("-{}", before - self.lost)
        } else {
            (self.lost - before).to_string()
        }
    }
}

impl Port {
    fn udp(local: SocketAddr) -> Result<Self, Failure> {
        let failure = |e: std::io::Error| {
            Failure::run(
                format!("UDP port {}: {e}", local.port()),
                "choose another port with -p",
            )
        };
        let socket = bind(local, false).map_err(failure)?;
        socket.set_read_timeout(Some(LOOK)).map_err(failure)?;
        Ok(Self::Udp(socket, vec![0; LEN_MAX], Vec::new()))
    }

    fn dccp(local: SocketAddr, asked: &Recv) -> Result<Self, Failure> {
        let ccids: Vec<u8> = ccids().map(|(number, _)| number).collect();
        let options = Options::new().send_ccids(&ccids).recv_ccids(&ccids);
        let options = data_options(options.service_code(SERVICE)).encapsulation(asked.over);
        let listener = Listener::bind((local, asked.dccp_port), &options)
            .map_err(|e| Failure::run(e.to_string(), e.next_step()))?;
        Ok(Self::Dccp(Box::new(listener), Vec::new()))
    }

    /// Takes what arrives, and waits at most [`LOOK`] for it.
    fn look(&mut self) -> Result<(), Failure> {
        match self {
            Self::Udp(socket, memory, sources) => {
                // An error is that of an earlier datagram, or nothing arrived.
                if let Ok((length, peer)) = socket.recv_from(memory) {
                    take(sources, memory.get(..length).unwrap_or_default(), peer);
                }
            }
            Self::Dccp(listener, sources) => match listener.accept_timeout(LOOK) {
                Ok(socket) if sources.len() < SENDERS_MAX => {
                    let name = socket.peer_addr().to_string();
                    let flow: Arc<dyn Flow> = Arc::new(DccpFlow::new(socket));
                    let receiver = Receiver::start(&flow, TOKEN, 0, 0)
                        .map_err(|e| Failure::run(e.to_string(), "check this system's limits"))?;
                    sources.push(Source::new(name, receiver));
                }
                Ok(socket) => socket.abort(),
                Err(AcceptError::TimedOut | AcceptError::WouldBlock) => {}
                Err(e) => return Err(Failure::run(e.to_string(), "start it again")),
            },
        }
        Ok(())
    }

    /// A line for each sender. Those that have ended are forgotten.
    fn snapshot(&mut self, begin: Instant, now: Instant) -> String {
        let mut text = String::new();
        match self {
            Self::Udp(_, _, sources) => {
                for source in &mut *sources {
                    let new = source.arrivals.interval();
                    text += &source.line(&new, begin, now);
                }
                sources.retain(|source| now - source.heard_at < SILENCE_MAX);
            }
            Self::Dccp(_, sources) => {
                sources.retain_mut(|source| {
                    let has_ended = source.arrivals.is_done();
                    let new = source.arrivals.interval();
                    text += &source.line(&new, begin, now);
                    !has_ended
                });
            }
        }
        text
    }
}

/// Counts a datagram for its sender.
fn take(sources: &mut Vec<Source<Arrivals>>, datagram: &[u8], peer: SocketAddr) {
    let head = Head::read(datagram).filter(|h| h.kind == Kind::Data && h.token == TOKEN);
    let Some(head) = head else { return };
    let name = peer.to_string();
    let known = sources.iter().position(|source| source.name == name);
    let at = match known {
        Some(at) => at,
        None if sources.len() < SENDERS_MAX => {
            sources.push(Source::new(name, Arrivals::new(0)));
            sources.len() - 1
        }
        None => return,
    };
    sources[at].arrivals.add(&Arrival {
        number: head.number,
        sent_ns: head.sent_ns,
        arrived_ns: clock::now().as_nanos(),
        bytes: datagram.len() as u64,
        is_marked: false,
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    fn data(number: u64) -> [u8; 100] {
        let mut datagram = [0; 100];
        let head = Head {
            kind: Kind::Data,
            token: TOKEN,
            flow: 0,
            wants_echo: false,
            number,
            sent_ns: 0,
        };
        head.write(&mut datagram);
        datagram
    }

    #[test]
    fn late_packets_are_lost_only_until_they_arrive() {
        let mut sources = Vec::new();
        let peer = SocketAddr::from(([192, 0, 2, 1], 9));
        for number in [0, 1, 4] {
            take(&mut sources, &data(number), peer);
        }
        let mut total = Total::default();
        assert_eq!(total.add(&sources[0].arrivals.interval()), "2");
        take(&mut sources, &data(2), peer);
        assert_eq!(total.add(&sources[0].arrivals.interval()), "-1");
        assert_eq!(
            total,
            Total {
                packets: 4,
                lost: 1,
                reordered: 1
            }
        );
    }

    #[test]
    fn further_senders_and_other_packets_are_ignored() {
        let mut sources = Vec::new();
        for port in 1..=100 {
            take(&mut sources, &data(0), ([192, 0, 2, 1], port).into());
        }
        take(&mut sources, &[0; 100], ([192, 0, 2, 2], 1).into());
        assert_eq!(sources.len(), SENDERS_MAX);
    }
}

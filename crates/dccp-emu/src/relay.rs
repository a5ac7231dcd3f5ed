//! A UDP relay: clients send to it instead of to the server. It needs no privileges.
//!
//! ```text
//!  client A ──▶ ┌ listening ┐ ══ forward link ══▶ ┌ one socket ┐ ──▶ server
//!  client B ──▶ └  socket   ┘ ◀══ back link ═════ └ per client ┘ ◀──
//! ```
//! The clients share the two links. Like a NAT, the relay gives each client a socket of its own
//! towards the server; a client that sends nothing for two minutes loses it.

use crate::channel::Channel;
use crate::clients::{Client, Clients};
use crate::clock;
use crate::log::Observer;
use crate::report::{DirectionReport, Report};
use crate::schedule::LinkPlan;
use core::time::Duration;
use dccp_io::{
    Carrier, Encapsulation, OpenError, Options, Poller, Ready, RecvBuffer, Token, Transport,
};
use dccp_proto::Instant;
use dccp_proto::batch::Batch;
use dccp_proto::path::{Encap, Path};
use dccp_proto::wire::Ecn;
use dccp_sim::Seed;
use std::collections::BTreeSet;
use std::io;
use std::net::SocketAddr;

const LISTENER: Token = Token(0);
/// Receive calls in a row. Packets that are due must not wait until a flood is over.
const RECV_BURST: usize = 4;

/// A relay between clients and one server.
pub struct Relay {
    poller: Poller,
    listener: Box<dyn Transport>,
    server: SocketAddr,
    forward: Channel,
    back: Channel,
    clients: Clients,
    /// Sockets that may hold more than was read.
    unread: BTreeSet<usize>,
    /// Packets of clients for which there was no room or no socket.
    turned_away: u64,
    /// Packets that the sockets of former clients dropped.
    former_overflow: u64,
    buffer: RecvBuffer,
    batch: Batch,
}

impl Relay {
    /// A relay that listens at `listen` and forwards to `server`. It busy-waits for `busy_wait` before each packet is
    /// due.
    ///
    /// # Errors
    /// When the sockets cannot be opened.
    pub fn new(
        listen: SocketAddr,
        server: SocketAddr,
        links: [impl Into<LinkPlan>; 2],
        seed: Seed,
        busy_wait: Duration,
    ) -> Result<Self, OpenError> {
        let mut poller = Poller::new(busy_wait)?;
        let mut listener = Carrier::new(Encapsulation::Udp, Options::default())?.open(listen)?;
        poller.add(listener.source(), LISTENER)?;
        // A packet's IP and UDP headers take their time too.
        let is_ipv6 = server.is_ipv6();
        let encap = Encap::Udp {
            local_port: 0,
            remote_port: 0,
        };
        let overhead = encap.overhead(is_ipv6);
        let [forward, back] = links.map(Into::into);
        Ok(Self {
            poller,
            listener,
            server,
            forward: Channel::new(forward, seed, "forward", overhead),
            back: Channel::new(back, seed, "back", overhead),
            clients: Clients::numbered_from(LISTENER.0 + 1),
            unread: BTreeSet::new(),
            turned_away: 0,
            former_overflow: 0,
            buffer: RecvBuffer::new(),
            batch: Batch::new(1),
        })
    }

    /// Gives each event of a packet to an observer: one for the way to the server, and one for the way back.
    pub fn observe(&mut self, [forward, back]: [Observer; 2]) {
        self.forward.observe(forward);
        self.back.observe(back);
    }

    /// The address that clients send to.
    pub fn local_addr(&self) -> SocketAddr {
        self.listener.local_addr()
    }

    /// Relays until `until` at the latest; may return early.
    ///
    /// # Errors
    /// When a socket is broken.
    pub fn run_until(&mut self, until: Instant) -> io::Result<()> {
        let mut ready = Vec::new();
        loop {
            let now = clock::now();
            self.deliver(now);
            if now >= until {
                return Ok(());
            }
            let next = [self.forward.next_at(), self.back.next_at()];
            let wake = next.into_iter().flatten().fold(until, Instant::min);
            let patience = if self.unread.is_empty() {
                wake - clock::now()
            } else {
                Duration::ZERO
            };
            self.poller.wait(Some(patience), &mut ready)?;
            for news in &ready {
                self.read_errors(*news)?;
                self.unread.insert(news.token.0);
            }
            for number in core::mem::take(&mut self.unread) {
                let may_hold_more = if number == LISTENER.0 {
                    self.receive_from_clients()?
                } else {
                    self.receive_from_server(number)?
                };
                if may_hold_more {
                    self.unread.insert(number);
                }
            }
        }
    }

    /// The counters so far.
    pub fn report(&mut self) -> Report {
        let overflow = |t: &mut Box<dyn Transport>| t.counters().recv_overflowed.unwrap_or(0);
        let at_clients: u64 = self
            .clients
            .iter_mut()
            .map(|c| overflow(&mut c.socket))
            .sum();
        Report {
            forward: DirectionReport::new(
                &self.forward.stats(),
                overflow(&mut self.listener) + self.turned_away,
            )
            .with_queue(self.forward.queue()),
            back: DirectionReport::new(&self.back.stats(), at_clients + self.former_overflow)
                .with_queue(self.back.queue()),
        }
    }

    /// Removes ICMP errors from a socket. The client finds out by itself that the server does not answer.
    fn read_errors(&mut self, news: Ready) -> io::Result<()> {
        let socket = match self.clients.get_mut(news.token.0) {
            _ if !news.error => return Ok(()),
            _ if news.token == LISTENER => &mut self.listener,
            Some(client) => &mut client.socket,
            None => return Ok(()),
        };
        socket.recv_errors(&mut self.buffer, &mut |_| {})?;
        Ok(())
    }

    /// Reads up to a burst from the socket of a client. Returns whether it may hold more.
    fn receive_from_server(&mut self, number: usize) -> io::Result<bool> {
        let Some(client) = self.clients.get_mut(number) else {
            return Ok(false);
        };
        let back = &mut self.back;
        for _ in 0..RECV_BURST {
            let mut has_answered = false;
            let may_have_more = client.socket.recv(&mut self.buffer, &mut |r| {
                for datagram in r.datagrams {
                    has_answered = true;
                    back.offer(clock::now(), number, datagram.bytes, r.ecn);
                }
            })?;
            if has_answered {
                client.note_answer();
            }
            if !may_have_more {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Reads up to a burst from the listening socket. Returns whether it may hold more.
    fn receive_from_clients(&mut self) -> io::Result<bool> {
        let mut arrived = Vec::new();
        for _ in 0..RECV_BURST {
            let may_have_more = self.listener.recv(&mut self.buffer, &mut |r| {
                let (path, ecn) = (r.path, r.ecn);
                arrived.extend(r.datagrams.map(|d| (path, ecn, d.bytes.to_vec())));
            })?;
            if !may_have_more {
                return Ok(false);
            }
            for (path, ecn, bytes) in arrived.drain(..) {
                let now = clock::now();
                match self.client(now, path) {
                    Some(number) => self.forward.offer(now, number, &bytes, ecn),
                    None => self.turned_away += 1,
                }
            }
        }
        Ok(true)
    }

    /// The number of the client at `path`, with a socket for it; `None` if there is no room for it.
    fn client(&mut self, now: Instant, path: Path) -> Option<usize> {
        if let Some(number) = self.clients.hear(&path, now) {
            return Some(number);
        }
        for client in self.clients.take_idle(now) {
            self.unwatch(client);
        }
        if let Some(client) = self.clients.make_room(path.remote).ok()? {
            self.unwatch(client);
        }
        let mut socket = if let Some(socket) = self.open() {
            socket
        } else {
            // The system may have no descriptor left.
            let client = self.clients.displace_unproven().ok()?;
            self.unwatch(client);
            self.open()?
        };
        let token = Token(self.clients.next_number());
        self.poller.add(socket.source(), token).ok()?;
        Some(self.clients.add(path, socket, now))
    }

    /// Opens a socket towards the server; `None` if the system has none.
    fn open(&self) -> Option<Box<dyn Transport>> {
        let source = dccp_io::route::to(self.server.ip()).ok()?.source;
        let carrier = Carrier::new(Encapsulation::Udp, Options::default()).ok()?;
        carrier.open(SocketAddr::new(source, 0)).ok()
    }

    fn unwatch(&mut self, mut client: Client) {
        // A socket that is gone cannot be watched any more; nothing else can go wrong.
        let _ = self.poller.remove(client.socket.source());
        self.former_overflow += client.socket.counters().recv_overflowed.unwrap_or(0);
    }

    /// Sends the packets that are due.
    fn deliver(&mut self, now: Instant) {
        let Self {
            forward,
            back,
            clients,
            listener,
            batch,
            server,
            ..
        } = self;
        forward.poll(now, &mut |number, bytes, ecn| {
            let Some(client) = clients.get_mut(number) else {
                return false;
            };
            let local = client.socket.local_addr();
            send(
                client.socket.as_mut(),
                batch,
                &path_between(local, *server),
                ecn,
                bytes,
            )
        });
        back.poll(now, &mut |number, bytes, ecn| {
            let Some(client) = clients.get_mut(number) else {
                return false;
            };
            send(listener.as_mut(), batch, &client.path, ecn, bytes)
        });
    }
}

fn path_between(local: SocketAddr, remote: SocketAddr) -> Path {
    Path {
        local: local.ip(),
        remote: remote.ip(),
        encap: Encap::Udp {
            local_port: local.port(),
            remote_port: remote.port(),
        },
    }
}

/// Sends one datagram. Returns `false` if the host refused it.
fn send(
    socket: &mut dyn Transport,
    batch: &mut Batch,
    path: &Path,
    ecn: Ecn,
    bytes: &[u8],
) -> bool {
    batch.clear();
    batch.push_built(path, ecn, true, 0, |buf| {
        buf.extend_from_slice(bytes);
        true
    });
    let sent = socket.send(batch, 0);
    sent.is_done(batch) && sent.dropped.is_none()
}

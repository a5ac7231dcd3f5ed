//! The listener and the thread that serves its connections.

use crate::clock;
use crate::connection::{Connection, Stream};
use crate::http::respond;
use core::cmp::Reverse;
use core::fmt;
use core::net::{IpAddr, Ipv6Addr, SocketAddr};
use core::time::Duration;
use mio::net::{TcpListener, TcpStream};
use mio::{Events, Interest, Poll, Token, Waker};
use prometheus_client::registry::Registry;
use std::io::{self, ErrorKind};
use std::net::Shutdown;
use std::thread::{self, JoinHandle};
use std::time::Instant;

/// The most connections at the same time. Each has the token of its place.
const CONNECTIONS_MAX: usize = 8;
const LISTENER: Token = Token(CONNECTIONS_MAX);
const STOP: Token = Token(CONNECTIONS_MAX + 1);
/// Connections that are accepted before the others are served again.
const ACCEPTED_AT_ONCE: usize = CONNECTIONS_MAX / 2;
/// The wait after the system could not accept, usually because the process has too many files open.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Serves metrics until it is dropped.
pub struct Server {
    local: SocketAddr,
    stop: Waker,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    /// Binds `at` and starts the thread that serves `registry` there. Port 0 chooses a free port.
    ///
    /// # Errors
    /// The address is not of this host or is in use, or a limit of the system forbids a socket or a thread.
    pub fn start(at: SocketAddr, registry: Registry) -> io::Result<Self> {
        let mut listener = TcpListener::bind(at)?;
        let local = listener.local_addr()?;
        let poll = Poll::new()?;
        poll.registry()
            .register(&mut listener, LISTENER, Interest::READABLE)?;
        let stop = Waker::new(poll.registry(), STOP)?;
        let mut service = Service {
            poll,
            listener,
            registry,
            places: [const { None }; CONNECTIONS_MAX],
            accepted: 0,
            accept_at: None,
        };
        let thread = thread::Builder::new()
            .name("metrics".into())
            .spawn(move || service.run())?;
        Ok(Self {
            local,
            stop,
            thread: Some(thread),
        })
    }

    /// Returns the address where the server listens.
    pub fn local_addr(&self) -> SocketAddr {
        self.local
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Without the wake-up the thread would not end, so it is joined only after a successful one.
        if self.stop.wake().is_ok()
            && let Some(thread) = self.thread.take()
        {
            // A panic there has printed its message.
            let _ = thread.join();
        }
    }
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server")
            .field("local", &self.local)
            .finish_non_exhaustive()
    }
}

/// The state that the thread owns.
struct Service {
    poll: Poll,
    listener: TcpListener,
    registry: Registry,
    places: [Option<Client>; CONNECTIONS_MAX],
    /// Connections accepted so far.
    accepted: u64,
    /// The time to accept again, if connections may wait that caused no event.
    accept_at: Option<Instant>,
}

struct Client {
    stream: TcpStream,
    source: IpAddr,
    number: u64,
    connection: Connection,
}

impl Service {
    fn run(&mut self) {
        let mut events = Events::with_capacity(CONNECTIONS_MAX + 2);
        loop {
            let wait = self
                .next_deadline()
                .map(|at| at.saturating_duration_since(clock::now()));
            match self.poll.poll(&mut events, wait) {
                Err(e) if e.kind() == ErrorKind::Interrupted => continue,
                Err(e) => {
                    eprintln!("metrics are no longer served: {e}");
                    return;
                }
                Ok(()) => {}
            }
            let now = clock::now();
            for event in &events {
                match event.token() {
                    STOP => return,
                    LISTENER => self.accept_at = Some(now),
                    Token(place) => self.advance(place, now),
                }
            }
            if self.accept_at.is_some_and(|at| at <= now) {
                self.accept(now);
            }
            self.close_overdue(now);
        }
    }

    fn next_deadline(&self) -> Option<Instant> {
        let clients = self.places.iter().flatten();
        clients
            .map(|client| client.connection.deadline())
            .chain(self.accept_at)
            .min()
    }

    fn accept(&mut self, now: Instant) {
        for _ in 0..ACCEPTED_AT_ONCE {
            match self.listener.accept() {
                Ok((stream, from)) => self.admit(stream, from.ip(), now),
                Err(e) if e.kind() == ErrorKind::WouldBlock => {
                    self.accept_at = None;
                    return;
                }
                // The next one may be whole.
                Err(e) if is_momentary(e.kind()) => {}
                Err(_) => {
                    self.accept_at = Some(now + ACCEPT_PAUSE);
                    return;
                }
            }
        }
        self.accept_at = Some(now);
    }

    fn admit(&mut self, mut stream: TcpStream, from: IpAddr, now: Instant) {
        let place = self.free_place();
        let both = Interest::READABLE | Interest::WRITABLE;
        let registry = self.poll.registry();
        if registry.register(&mut stream, Token(place), both).is_err() {
            return;
        }
        // This closes the connection that had the place.
        self.places[place] = Some(Client {
            stream,
            source: source(from),
            number: self.accepted,
            connection: Connection::new(now),
        });
        self.accepted += 1;
    }

    /// Returns a free place. If there is none, returns that of the oldest connection of the source with the most.
    fn free_place(&self) -> usize {
        let rank = |place: &Option<Client>| match place {
            None => (usize::MAX, Reverse(0)),
            Some(client) => {
                let clients = self.places.iter().flatten();
                let of_source = clients.filter(|other| other.source == client.source);
                (of_source.count(), Reverse(client.number))
            }
        };
        let ranks = self.places.iter().map(rank).enumerate();
        ranks
            .max_by_key(|(_, rank)| *rank)
            .map_or(0, |(place, _)| place)
    }

    fn advance(&mut self, place: usize, now: Instant) {
        let Some(Some(client)) = self.places.get_mut(place) else {
            return;
        };
        let is_open = client.connection.advance(&mut client.stream, now, |head| {
            respond(head, &self.registry)
        });
        if !is_open {
            self.places[place] = None;
        }
    }

    fn close_overdue(&mut self, now: Instant) {
        for place in &mut self.places {
            place.take_if(|client| client.connection.deadline() <= now);
        }
    }
}

/// Returns true for failures of one connection, or of one call.
fn is_momentary(kind: ErrorKind) -> bool {
    matches!(
        kind,
        ErrorKind::Interrupted | ErrorKind::ConnectionAborted | ErrorKind::ConnectionReset
    )
}

impl Stream for TcpStream {
    fn finish(&self) -> io::Result<()> {
        self.shutdown(Shutdown::Write)
    }
}

/// Returns the address that connections are counted by: an IPv6 host can have all addresses of a network of 64 bits.
fn source(ip: IpAddr) -> IpAddr {
    match ip.to_canonical() {
        IpAddr::V4(v4) => v4.into(),
        IpAddr::V6(v6) => Ipv6Addr::from_bits(v6.to_bits() >> 64 << 64).into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn source_is_an_ipv4_address_or_an_ipv6_network() {
        let of = |text: &str| source(text.parse().unwrap()).to_string();
        assert_eq!(of("192.0.2.1"), "192.0.2.1");
        assert_eq!(of("::ffff:192.0.2.1"), "192.0.2.1");
        assert_eq!(of("2001:db8:1:2:3:4:5:6"), "2001:db8:1:2::");
    }
}

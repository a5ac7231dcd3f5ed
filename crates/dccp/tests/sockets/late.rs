//! How late a choice can be: at 50 kB/s at most one packet is committed (docs/design.md, decision 8b).

use crate::{PATIENCE, PORT, listen, options};
use core::time::Duration;
use dccp::packet_ring::{Label, Shape};
use dccp::{Event, Instant, RingSocket, Socket, clock};
use std::collections::VecDeque;
use std::net::{SocketAddr, UdpSocket};
use std::thread;

/// The link's rate in bytes per second.
const RATE: u64 = 50_000;
const DELAY: Duration = Duration::from_millis(100);
/// Packets that may wait before the link.
const QUEUE: usize = 20;
/// Bytes of data in a packet. What is shorter than that is not data.
const DATA: usize = 1000;

/// A link between a client and a server. It does something only in [`Link::turn`], so that its caller sees at one
/// moment what has left the client.
struct Link {
    client: UdpSocket,
    server: UdpSocket,
    came_from: Option<SocketAddr>,
    queue: VecDeque<(Instant, Vec<u8>)>,
    free_from: Instant,
    /// Datagrams of data that have left the client.
    left: usize,
}

impl Link {
    fn to(server: SocketAddr) -> Self {
        let socket = || {
            let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
            socket.set_nonblocking(true).unwrap();
            socket
        };
        let link = Self {
            client: socket(),
            server: socket(),
            came_from: None,
            queue: VecDeque::new(),
            free_from: clock::now(),
            left: 0,
        };
        link.server.connect(server).unwrap();
        link
    }

    fn turn(&mut self) {
        let mut buf = [0; 2048];
        while let Ok((len, from)) = self.client.recv_from(&mut buf) {
            self.came_from = Some(from);
            self.left += usize::from(len > DATA);
            let bytes = u64::try_from(len).unwrap();
            if self.queue.len() < QUEUE {
                self.free_from = self.free_from.max(clock::now())
                    + Duration::from_nanos(bytes * 1_000_000_000 / RATE);
                let due = self.free_from + DELAY;
                self.queue.push_back((due, buf[..len].to_vec()));
            }
        }
        while self
            .queue
            .front()
            .is_some_and(|(due, _)| *due <= clock::now())
        {
            let (_, packet) = self.queue.pop_front().unwrap();
            self.server.send(&packet).unwrap();
        }
        while let (Ok(len), Some(to)) = (self.server.recv(&mut buf), self.came_from) {
            self.client.send_to(&buf[..len], to).unwrap();
        }
    }

    /// Works for `time`.
    fn work(&mut self, time: Duration) {
        let end = clock::now() + time;
        while clock::now() < end {
            self.turn();
            thread::sleep(Duration::from_micros(500));
        }
    }
}

/// An application, and what it has pushed.
struct App {
    ring: RingSocket,
    link: Link,
    pushed: usize,
    _server: Option<Socket>,
}

impl App {
    fn connect(ccid: u8) -> Self {
        let options = options().ccid(ccid).nonblocking(true);
        let (listener, address) = listen(&options);
        let mut link = Link::to(address);
        let client = Socket::connect((link.client.local_addr().unwrap(), PORT), &options).unwrap();
        let begin = clock::now();
        let (mut is_open, mut server) = (false, None);
        while !is_open || server.is_none() {
            assert!(clock::now() - begin < PATIENCE, "no connection");
            link.work(Duration::from_millis(1));
            is_open |= client.poll_event() == Some(Event::Connected);
            server = server.or_else(|| listener.accept().ok());
        }
        Self {
            ring: RingSocket::new(client, Shape::new(64, 1024)).unwrap(),
            link,
            pushed: 0,
            _server: server,
        }
    }

    fn push(&mut self, n: usize) {
        for _ in 0..n {
            let pushed = self.ring.sender().push(&[7; DATA], Label::default());
            pushed.unwrap();
            self.pushed += 1;
        }
    }

    /// Withdraws all datagrams that can be withdrawn. The others that have not left are committed.
    fn committed(&mut self) -> usize {
        let held = self.ring.sender().take_back(usize::MAX).unwrap();
        let claimed = self.pushed - held.len();
        // Datagrams claimed before now may leave until the link has polled the ring.
        self.link.turn();
        drop(held);
        claimed - self.link.left
    }

    /// Sends until all datagrams have left. Returns the most that were committed at any time.
    fn send_all(&mut self) -> usize {
        let begin = clock::now();
        let mut most = 0;
        while self.link.left < self.pushed {
            assert!(clock::now() - begin < 2 * PATIENCE, "it takes too long");
            most = most.max(self.committed());
            thread::sleep(Duration::from_millis(1));
        }
        most
    }

    /// Packets that have left, and in how many calls.
    fn sent(&self) -> (u64, u64) {
        let transport = self.ring.socket().stats().unwrap().transport;
        (transport.sent, transport.send_calls)
    }
}

fn at_most_one_is_committed(ccid: u8) {
    let mut app = App::connect(ccid);
    // At the beginning the controller does not know the rate.
    app.push(60);
    app.send_all();
    app.link.work(Duration::from_millis(300));
    let (before, pushed) = (app.sent(), app.pushed);
    for _ in 0..5 {
        // There is room for many in the window.
        app.push(12);
        let most = app.send_all();
        assert!(most <= 1, "{most} were committed");
        app.link.work(Duration::from_millis(300));
    }
    // However fast that was: each packet left alone.
    let now = app.sent();
    let (sent, calls) = (now.0 - before.0, now.1 - before.1);
    assert!(sent >= (app.pushed - pushed) as u64, "{sent} have left");
    assert_eq!(sent, calls);
}

#[test]
fn with_ccid_2_all_datagrams_but_one_can_still_be_changed() {
    at_most_one_is_committed(2);
}

#[test]
fn with_ccid_3_all_datagrams_but_one_can_still_be_changed() {
    at_most_one_is_committed(3);
}

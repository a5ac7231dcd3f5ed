//! The queue of a flow while nothing may leave: its connection waits for the first answer of the peer.

use crate::support::{Side, app, metric, start_connect};
use std::net::{SocketAddr, UdpSocket};

/// Datagrams that the application sends.
const SENT: u8 = 20;
/// Datagrams that the queue holds.
const HELD: u8 = 5;

/// A connecting side whose peer does not answer yet.
struct Held {
    connect: Side,
    metrics: SocketAddr,
    /// The peer's UDP port.
    hole: UdpSocket,
}

impl Held {
    /// Starts the side with more words, and sends numbered datagrams to it.
    fn start(more: &[&str]) -> Self {
        let hole = app("127.0.0.1");
        let peer = hole.local_addr().unwrap().to_string();
        let words = [more, &["--metrics", "127.0.0.1:0"]].concat();
        let connect = start_connect("127.0.0.1:0", &peer, &words);
        let metrics = connect.metrics_address();
        let program = app("127.0.0.1");
        for number in 0..SENT {
            program.send_to(&[number], connect.udp()).unwrap();
        }
        Self {
            connect,
            metrics,
            hole,
        }
    }

    /// Lets the peer answer. Returns the first datagrams that arrive, as many as `count`.
    fn release(self, count: u8) -> Vec<u8> {
        // After the second Request the third one takes a while, so it does not find a closed port.
        for _ in 0..2 {
            self.hole.recv(&mut [0; 2048]).unwrap();
        }
        let at = format!("{}/5002", self.hole.local_addr().unwrap());
        let receiver = app("127.0.0.1");
        let target = receiver.local_addr().unwrap().to_string();
        drop(self.hole);
        let _listen = Side::start(&["listen", "--at", &at, "--udp", &target]);
        self.connect.wait_for("connected to");
        let mut buf = [0; 10];
        let numbers = (0..count).map(|_| {
            assert_eq!(receiver.recv(&mut buf).unwrap(), 1);
            buf[0]
        });
        numbers.collect()
    }
}

#[test]
fn full_queue_keeps_the_newest_or_the_oldest_datagrams() {
    let kept = |policy| {
        let queue = HELD.to_string();
        let held = Held::start(&["--queue", &queue, "--when-full", policy, "--max-age", "60s"]);
        let dropped = f64::from(SENT - HELD);
        let counted = metric(
            held.metrics,
            "dropped_total",
            ("reason", "overflowed"),
            dropped,
        );
        assert_eq!(counted.to_bits(), dropped.to_bits());
        held.release(HELD)
    };
    assert_eq!(kept("oldest"), (SENT - HELD..SENT).collect::<Vec<_>>());
    assert_eq!(kept("newest"), (0..HELD).collect::<Vec<_>>());
}

#[test]
fn datagram_leaves_the_queue_when_it_is_too_old_and_not_before() {
    let held = Held::start(&["--max-age", "60s"]);
    assert_eq!(held.release(SENT), (0..SENT).collect::<Vec<_>>());

    let held = Held::start(&["--max-age", "50ms"]);
    let expired = ("reason", "expired");
    metric(held.metrics, "dropped_total", expired, f64::from(SENT));
}

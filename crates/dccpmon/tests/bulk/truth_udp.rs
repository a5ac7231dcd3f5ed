//! Flows over UDP through a forwarder that treats each packet by its number, so that the truth follows from the count.

use crate::support::{Server, client, read};
use core::net::SocketAddr;
use core::sync::atomic::{AtomicBool, Ordering};
use core::time::Duration;
use dccpmon::schema::{Flow, Ledger};
use std::net::UdpSocket;
use std::sync::Arc;

/// How often the packet with a number goes on; [`HELD`]: once, behind the next one.
type Copies = fn(u64) -> usize;

const HELD: usize = usize::MAX;

/// A socket and the next one, at ports that follow each other as those of a server do.
fn sockets() -> [UdpSocket; 2] {
    let bind = |port| UdpSocket::bind(SocketAddr::from(([127, 0, 0, 1], port))).ok();
    let pair = (0..20).find_map(|_| {
        let first = bind(0)?;
        let next = bind(first.local_addr().ok()?.port().checked_add(1)?)?;
        Some([first, next])
    });
    pair.expect("one of twenty ports has a free one after it")
}

/// Passes datagrams between a client and a port of the server until it is over.
fn pass(socket: &UdpSocket, server: SocketAddr, copies: Copies, is_over: &AtomicBool) {
    let look = Duration::from_millis(50);
    socket.set_read_timeout(Some(look)).unwrap();
    let (mut client, mut held, mut memory) = (None, None, [0; 2000]);
    while !is_over.load(Ordering::Relaxed) {
        let Ok((length, from)) = socket.recv_from(&mut memory) else {
            continue;
        };
        let datagram = &memory[..length];
        if from == server {
            if let Some(client) = client {
                socket.send_to(datagram, client).unwrap();
            }
        } else {
            client = Some(from);
            let copies = number_of(datagram).map_or(1, copies);
            if copies == HELD {
                held = Some(datagram.to_vec());
                continue;
            }
            for _ in 0..copies {
                socket.send_to(datagram, server).unwrap();
            }
            if let Some(held) = held.take() {
                socket.send_to(&held, server).unwrap();
            }
        }
    }
}

/// The number of a test packet with data.
fn number_of(datagram: &[u8]) -> Option<u64> {
    let number = datagram.get(16..24)?;
    (datagram.starts_with(&[b'D', b'M', 2, 0]))
        .then(|| u64::from_be_bytes(number.try_into().unwrap()))
}

/// A test of 250 packets over UDP; gives its flow.
fn measured(copies: Copies, more: &[&str]) -> Flow {
    let server = Server::start("udp");
    let control: u16 = server.port.parse().unwrap();
    let sockets = sockets();
    let port = sockets[0].local_addr().unwrap().port().to_string();
    let is_over = Arc::new(AtomicBool::new(false));
    let threads = sockets.map(|socket| {
        let is_over = is_over.clone();
        let offset = socket.local_addr().unwrap().port() - port.parse::<u16>().unwrap();
        let to = SocketAddr::from(([127, 0, 0, 1], control + offset));
        std::thread::spawn(move || pass(&socket, to, copies, &is_over))
    });
    let words = ["-u", "-t", "1", "-b", "1M", "-l", "500", "-J"];
    let output = client(&port, &words).args(more).output().unwrap();
    is_over.store(true, Ordering::Relaxed);
    for thread in threads {
        thread.join().unwrap();
    }
    let document = read(&output);
    assert_eq!(document["status"], "complete", "{document:#}");
    serde_json::from_value(document["summary"]["flows"][0].clone()).unwrap()
}

/// The numbers that were sent and fulfil a condition.
fn count(ledger: &Ledger, is_wanted: impl Fn(u64) -> bool) -> u64 {
    (0..ledger.sent).filter(|&number| is_wanted(number)).count() as u64
}

// goal 19: nothing arrives after the lost tail, and still each packet of it counts.
#[test]
fn lost_tail_counts_over_udp() {
    let flow = measured(|number| usize::from(number < 200), &[]);
    let ledger = flow.ledger.unwrap();
    assert!(ledger.is_closed() && ledger.sent > 200, "{ledger:?}");
    assert_eq!(ledger.delivered, 200);
    assert_eq!(ledger.lost_network, ledger.sent - 200, "{ledger:?}");
    let pattern = flow.loss_pattern.unwrap();
    assert_eq!(pattern.lost_packets, ledger.sent - 200);
    assert_eq!(pattern.runs.len(), 1, "{pattern:?}");
}

// goals 18, 20 and 21: losses and duplicates are those of the forwarder, exactly.
#[test]
fn losses_and_duplicates_are_exact_over_udp() {
    fn is_lost(number: u64) -> bool {
        number % 20 == 7 || number % 100 == 8
    }
    let flow = measured(
        |number| match number {
            n if is_lost(n) => 0,
            n if n % 9 == 0 => 2,
            _ => 1,
        },
        &["--lost", "4"],
    );
    let ledger = flow.ledger.unwrap();
    assert!(ledger.is_closed(), "{ledger:?}");
    let lost = count(&ledger, is_lost);
    assert!(lost > 10, "{ledger:?}");
    assert_eq!(ledger.lost_network, lost, "{ledger:?}");
    assert_eq!(ledger.delivered, ledger.sent - lost, "{ledger:?}");
    let duplicates = count(&ledger, |n| n % 9 == 0 && !is_lost(n));
    assert_eq!(flow.duplicate_packets, Some(duplicates));
    // Numbers 7 and 8, 107 and 108, and so on, are lost together.
    let pattern = flow.loss_pattern.unwrap();
    let pairs = count(&ledger, |n| n % 100 == 8);
    assert_eq!(pattern.runs, [(1, lost - 2 * pairs), (2, pairs)]);
    let runs = pattern.list.unwrap();
    let runs: Vec<(u64, u64)> = runs.iter().map(|run| (run.first, run.packets)).collect();
    assert_eq!(runs, [(7, 2), (27, 1), (47, 1), (67, 1)]);
}

// goal 22: a packet that another one overtakes is reordered and not lost.
#[test]
fn swapped_pairs_are_reordered_and_not_lost() {
    // Not in the tail, where nothing follows a packet that is held.
    fn is_held(number: u64) -> bool {
        number % 50 == 10 && number < 200
    }
    let flow = measured(|number| if is_held(number) { HELD } else { 1 }, &[]);
    let ledger = flow.ledger.unwrap();
    assert!(ledger.is_closed(), "{ledger:?}");
    assert_eq!(ledger.delivered, ledger.sent, "{ledger:?}");
    assert_eq!(ledger.lost(), 0, "{ledger:?}");
    let swapped = count(&ledger, is_held);
    assert_eq!(swapped, 4, "{ledger:?}");
    assert_eq!(flow.reordered_packets, Some(swapped));
    let order = flow.order.unwrap();
    assert_eq!(order.n_reordering, [swapped]);
    assert_eq!(flow.loss_pattern.unwrap().lost_packets, 0);
}

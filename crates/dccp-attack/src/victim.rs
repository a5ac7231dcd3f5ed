//! The program under attack: a listener that receives, sends or echoes.

use anyhow::Result;
use core::sync::atomic::{AtomicU64, Ordering};
use core::time::Duration;
use dccp::{AcceptError, DccpAddr, Event, Listener, ListenerEvent, Options, Socket};
use serde_json::json;
use std::io::BufRead as _;
use std::sync::Arc;
use std::thread;

pub(crate) const SERVICE: [u8; 4] = *b"ATCK";
/// The first datagram says what the client wants: to send,
pub(crate) const UPLOAD: &[u8] = b"upload";
/// to receive,
pub(crate) const DOWNLOAD: &[u8] = b"download";
/// to send what nothing reads,
pub(crate) const HOLD: &[u8] = b"hold";
/// or to receive one answer.
pub(crate) const ECHO: &[u8] = b"echo";
/// Bytes of the datagrams of a transfer.
pub(crate) const LEN: usize = 1200;

/// Counters of the listener and its connections.
#[derive(Default)]
struct Counters {
    bytes: AtomicU64,
    accepted: AtomicU64,
    /// Sockets that broke.
    lost: AtomicU64,
    /// DCCP port of the newest client of a transfer.
    peer: AtomicU64,
    /// ICMP errors that its socket read, and the pauses after too many of them.
    icmp: AtomicU64,
    pauses: AtomicU64,
    /// Packets of all but its own connection.
    strangers: AtomicU64,
}

/// Datagrams of a transfer between two looks at the socket's counters.
const PER_LOOK: u64 = 1000;

impl Counters {
    fn note_events(&self, socket: &Socket) {
        while let Some(event) = socket.poll_event() {
            let is_lost = matches!(event, Event::SocketLost { .. });
            self.lost.fetch_add(u64::from(is_lost), Ordering::Relaxed);
        }
    }

    fn look(&self, socket: &Socket) {
        let Ok(stats) = socket.stats() else {
            return;
        };
        let own = stats.connection.packets_in.total();
        let strangers = stats.transport.received.saturating_sub(own);
        self.strangers.store(strangers, Ordering::Relaxed);
        self.icmp.store(stats.transport.icmp, Ordering::Relaxed);
        let pauses = stats.transport.icmp_pauses;
        self.pauses.store(pauses, Ordering::Relaxed);
    }
}

/// Listens at `address`, and answers each line of the standard input with the counters.
pub(crate) fn run(address: DccpAddr) -> Result<()> {
    let options = Options::new().service_code(SERVICE);
    let listener = Arc::new(Listener::bind(address, &options)?);
    let counters = Arc::new(Counters::default());
    let (accepting, counting) = (listener.clone(), counters.clone());
    thread::spawn(move || accept(&accepting, &counting));
    for line in std::io::stdin().lock().lines() {
        line?;
        while let Some(event) = listener.poll_event() {
            let is_lost = matches!(event, ListenerEvent::SocketLost { .. });
            let lost = u64::from(is_lost);
            counters.lost.fetch_add(lost, Ordering::Relaxed);
        }
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let answer = json!({
            "bytes": count(&counters.bytes),
            "accepted": count(&counters.accepted),
            "lost": count(&counters.lost),
            "peer": count(&counters.peer),
            "icmp": count(&counters.icmp),
            "pauses": count(&counters.pauses),
            "strangers": count(&counters.strangers),
        });
        println!("{answer}");
    }
    Ok(())
}

fn accept(listener: &Listener, counters: &Arc<Counters>) {
    loop {
        match listener.accept() {
            Ok(socket) => {
                counters.accepted.fetch_add(1, Ordering::Relaxed);
                let counters = counters.clone();
                thread::spawn(move || serve(&socket, &counters));
            }
            Err(AcceptError::TimedOut) => {}
            Err(error) => {
                eprintln!("the listener has ended: {error}");
                return;
            }
        }
    }
}

/// Serves a connection until it ends.
fn serve(socket: &Socket, counters: &Counters) {
    let mut buffer = [0; 2000];
    let Ok(len) = socket.recv(&mut buffer) else {
        return;
    };
    let wanted = &buffer[..len];
    if wanted != ECHO {
        let port = socket.peer_addr().dccp_port.into();
        counters.peer.store(port, Ordering::Relaxed);
    }
    if wanted == DOWNLOAD {
        for n in 0_u64.. {
            if socket.send_zeros(LEN).is_err() {
                break;
            }
            counters.note_events(socket);
            if n % PER_LOOK == 0 {
                counters.look(socket);
            }
        }
    } else if wanted == ECHO {
        let _ = socket.send(ECHO);
        let _ = socket.wait_closed(Duration::from_secs(10));
    } else if wanted == HOLD {
        let _ = socket.wait_closed(Duration::from_mins(10));
    } else {
        for n in 0_u64.. {
            let Ok(len) = socket.recv(&mut buffer) else {
                break;
            };
            counters.bytes.fetch_add(len as u64, Ordering::Relaxed);
            counters.note_events(socket);
            if n % PER_LOOK == 0 {
                counters.look(socket);
            }
        }
    }
}

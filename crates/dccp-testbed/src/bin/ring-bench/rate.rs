//! Zero-length datagrams a second.

use crate::peer::{Peers, address};
use crate::ring::{Kind, Ring};
use crate::{Outcome, PORT};
use core::time::Duration;
use dccp::packet_ring::{Label, PushError, Shape};
use dccp::{Instant, RingSocket, Socket, clock};
use dccp_ring_ipc::{RingClient, RingRequest};
use std::net::UdpSocket;

const SHAPE: Shape = Shape::new(4096, 0);
/// Datagrams pushed between two readings of the clock.
const BATCH: usize = 64;

/// How many were sent and delivered, in how many seconds.
struct Count {
    sent: u64,
    delivered: u64,
    seconds: f64,
}

impl Count {
    #[expect(clippy::cast_precision_loss, reason = "counts stay far below 2^53")]
    fn rates(&self) -> (f64, f64) {
        let rate = |n: u64| n as f64 / self.seconds;
        (rate(self.sent), rate(self.delivered))
    }
}

/// Measures each kind, and prints a line for each.
pub(crate) fn run(peers: &Peers, seconds: u64) -> Outcome {
    let time = Duration::from_secs(seconds);
    let (udp_sent, udp_delivered) = udp(peers, time)?.rates();
    let mut own = 0.0;
    for kind in Kind::ALL {
        let (sent, delivered) = ring(peers, time, kind)?.rates();
        if kind == Kind::Own {
            own = delivered;
        }
        let name = kind.name();
        println!(
            "{{\"name\":\"ring_rate\",\"ring\":\"{name}\",\"of_own\":{:.3},\"seconds\":{seconds},\
             \"sent_per_s\":{sent:.0},\"delivered_per_s\":{delivered:.0},\
             \"udp_sent_per_s\":{udp_sent:.0},\"udp_delivered_per_s\":{udp_delivered:.0},\
             \"ratio\":{:.3}}}",
            delivered / own,
            delivered / udp_sent
        );
    }
    Ok(())
}

/// A loop of `send`.
fn udp(peers: &Peers, time: Duration) -> Outcome<Count> {
    let (mut sink, at) = peers.start(&["sink-udp"])?;
    let socket = UdpSocket::bind("127.0.0.1:0")?;
    socket.connect(address(&at)?)?;
    let begin = clock::now();
    let mut sent = 0;
    while clock::now() - begin < time {
        for _ in 0..BATCH {
            socket.send(&[])?;
            sent += 1;
        }
    }
    let seconds = (clock::now() - begin).as_secs_f64();
    // Its buffer may be full.
    std::thread::sleep(Duration::from_millis(200));
    socket.send(&[1])?;
    Ok(Count {
        sent,
        delivered: sink.line()?.parse()?,
        seconds,
    })
}

fn ring(peers: &Peers, time: Duration, kind: Kind) -> Outcome<Count> {
    let (mut sink, at) = peers.start(&["sink"])?;
    let path = std::env::temp_dir().join(format!("ring-bench-{}", std::process::id()));
    let place = path.to_str().ok_or("no path")?;
    let server = match kind {
        Kind::Own => None,
        Kind::Lent => Some(peers.start(&["lend", place])?.0),
        Kind::Daemon => Some(peers.start_daemon(&path)?),
    };
    let mut ring = if server.is_some() {
        let request = RingRequest::new((address(&at)?, PORT).into(), SHAPE);
        Ring::Lent(RingClient::connect(&path, &request)?)
    } else {
        let socket = Socket::connect((address(&at)?, PORT), &peers.options()?)?;
        Ring::Own(RingSocket::new(socket, SHAPE)?)
    };
    let begin = clock::now();
    let sent = push_until(&mut ring, begin + time)?;
    // Waiting datagrams are sent and delivered too, so their time counts.
    ring.close()?;
    let seconds = (clock::now() - begin).as_secs_f64();
    let delivered = sink.line()?.parse()?;
    drop(server);
    let _ = std::fs::remove_file(&path);
    Ok(Count {
        sent,
        delivered,
        seconds,
    })
}

/// Pushes as long as there is room, and waits where there is none; how many datagrams that were.
fn push_until(ring: &mut Ring, end: Instant) -> Outcome<u64> {
    let mut sent = 0;
    while clock::now() < end {
        let mut batch = ring.sender().batch();
        let pushed = (0..BATCH).try_for_each(|_| {
            batch.push(&[], Label::default())?;
            sent += 1;
            Ok(())
        });
        drop(batch);
        match pushed {
            Ok(()) => {}
            Err(PushError::Full) => ring.wait_for_room()?,
            Err(error) => return Err(error.into()),
        }
        // The fates are not read: they overflow and are counted.
    }
    Ok(sent)
}

//! Local users who want to harm others.

use crate::support::{Daemon, OPEN, PATIENCE, is_inside};
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use dccp::packet_ring::{Label, Shape};
use dccp_ring_ipc::{RingClient, RingRequest};
use rustix::cmsg_space;
use rustix::net::{
    AddressFamily, SendAncillaryBuffer, SendAncillaryMessage, SendFlags, SocketAddrUnix,
    SocketFlags, SocketType,
};
use std::io::IoSlice;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd as _, OwnedFd};
use std::path::Path;
use std::time::{Duration, Instant};

/// A connection to the daemon's socket that has sent nothing.
fn channel(socket: &Path) -> Option<OwnedFd> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let fd = rustix::net::socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None);
    let fd = fd.ok()?;
    rustix::net::connect(&fd, &SocketAddrUnix::new(socket).ok()?).ok()?;
    Some(fd)
}

/// Sends garbage in many lengths.
fn garbage(socket: &Path, turn: u64) {
    let Some(fd) = channel(socket) else { return };
    let length = usize::try_from(turn % 700).unwrap();
    let bytes: Vec<u8> = (0..length).map(|n| (n as u64 * turn) as u8).collect();
    let _ = rustix::net::send(&fd, &bytes, SendFlags::NOSIGNAL);
}

/// Sends descriptors that nobody wants.
fn descriptors(socket: &Path, _turn: u64) {
    let Some(fd) = channel(socket) else { return };
    let own = [fd.as_fd(); 3];
    let mut space = [MaybeUninit::uninit(); cmsg_space!(ScmRights(3))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    ancillary.push(SendAncillaryMessage::ScmRights(&own));
    let _ = rustix::net::sendmsg(
        &fd,
        &[IoSlice::new(&[9])],
        &mut ancillary,
        SendFlags::NOSIGNAL,
    );
}

/// Connects, and goes away.
fn connects(socket: &Path, _turn: u64) {
    drop(channel(socket));
}

/// Opens connections to nowhere, and kills them.
fn requests(socket: &Path, turn: u64) {
    let port = 6000 + turn % 50;
    let to = format!("127.0.0.1:6511/{port}").parse().unwrap();
    let request = RingRequest::new(to, Shape::new(4, 200));
    let _ = RingClient::connect_timeout(socket, &request, Duration::from_millis(20));
}

/// Sends at a rate for some time through the daemon. Returns the share that arrives.
fn delivered(daemon: &Daemon, time: Duration) -> f64 {
    const INTERVAL: Duration = Duration::from_micros(500);
    let (mut client, mut server) = daemon.pair();
    let sent = AtomicU64::new(0);
    let received = std::thread::scope(|scope| {
        let receiver = scope.spawn(|| {
            let mut buf = [0; 1400];
            let mut received = 0_u64;
            while server.recv(&mut buf).is_ok() {
                received += 1;
            }
            received
        });
        let begin = Instant::now();
        let mut due = begin;
        while due < begin + time {
            std::thread::sleep(due.saturating_duration_since(Instant::now()));
            if client.sender().push(&[0; 1000], Label::default()).is_ok() {
                client.recv_fates(&mut Vec::new(), 1000).unwrap();
            }
            // Those that do not fit in the ring count too.
            sent.fetch_add(1, Ordering::Relaxed);
            due += INTERVAL;
        }
        client.close(PATIENCE).unwrap();
        receiver.join().unwrap()
    });
    #[expect(clippy::cast_precision_loss, reason = "few datagrams")]
    let share = received as f64 / sent.into_inner() as f64;
    share
}

/// Ends the attack, also when the test fails.
struct EndOfAttack<'a>(&'a AtomicBool);

impl Drop for EndOfAttack<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[test]
fn hostile_programs_leave_others_nine_tenths_of_their_rate() {
    if !is_inside("hostile::hostile_programs_leave_others_nine_tenths_of_their_rate") {
        return;
    }
    let daemon = Daemon::start("hostile", OPEN);
    let socket = daemon.socket();
    let attacks: [(&str, fn(&Path, u64)); 4] = [
        ("garbage", garbage),
        ("descriptors", descriptors),
        ("connects", connects),
        ("requests", requests),
    ];
    for (name, attack) in attacks {
        let is_over = AtomicBool::new(false);
        let (share, attempts) = std::thread::scope(|scope| {
            let attacker = scope.spawn(|| {
                let mut turn = 0_u64;
                while !is_over.load(Ordering::Relaxed) {
                    attack(&socket, turn);
                    turn += 1;
                    // 10,000 a second, so that the attacker does not take the processor itself.
                    std::thread::sleep(Duration::from_micros(50));
                }
                turn
            });
            let end = EndOfAttack(&is_over);
            let share = delivered(&daemon, Duration::from_secs(2));
            drop(end);
            (share, attacker.join().unwrap())
        });
        println!("{name}: {attempts} attempts, {share:.3} of the datagrams arrive");
        assert!(share >= 0.9, "{name}: {share}");
    }
}

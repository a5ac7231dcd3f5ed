//! Applications that wait by the descriptor of a ring.

use super::*;
use dccp::{Ready, ReadyFd};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

/// Whether the descriptor becomes readable within a time.
pub(super) fn is_readable(fd: &ReadyFd, at_most: Duration) -> bool {
    let mut fds = [PollFd::new(fd, PollFlags::IN)];
    let time = Timespec::try_from(at_most).unwrap();
    poll(&mut fds, Some(&time)).unwrap() == 1
}

/// Waits by the descriptor until `ready` reports this. Takes all events. Returns the number of waits.
fn wait_by(ring: &mut RingClient, fd: &ReadyFd, is_there: impl Fn(&Ready) -> bool) -> usize {
    for waits in 0.. {
        while ring.poll_event().is_some() {}
        if is_there(&ring.ready().unwrap()) {
            return waits;
        }
        assert!(is_readable(fd, PATIENCE), "nothing woke this process");
    }
    unreachable!("the descriptor is readable all the time")
}

#[test]
fn ready_fd_of_ring_wakes_for_datagrams_fates_room_and_end() {
    let world = World::new("ready", RingLimits::default());
    let (mut ring, peer) = world.honest();
    let fd = ring.ready_fd().unwrap();
    // Events, such as a larger packet size, may arrive between the two calls.
    let is_quiet = (0..1000).any(|_| {
        while ring.poll_event().is_some() {}
        let ready = ring.ready().unwrap();
        !ready.recv && !ready.fates && ready.send && !is_readable(&fd, Duration::ZERO)
    });
    assert!(is_quiet, "readable without a reason");
    ring.set_timeout(Some(Duration::ZERO));
    let mut buf = [0; 100];
    for text in [&b"one"[..], b"three"] {
        thread::scope(|scope| {
            scope.spawn(|| {
                // By then the other thread waits.
                thread::sleep(Duration::from_millis(20));
                peer.send(text).unwrap();
            });
            assert!(wait_by(&mut ring, &fd, |ready| ready.recv) > 0);
        });
        assert_eq!(ring.recv(&mut buf), Ok(text.len()));
        assert_eq!(ring.recv(&mut buf), Err(RingError::TimedOut));
    }
    for _ in 0..SHAPE.slots {
        ring.sender().push(b"full", Label::default()).unwrap();
    }
    wait_by(&mut ring, &fd, |ready| ready.fates);
    let mut fates = Vec::new();
    ring.recv_fates(&mut fates, 9).unwrap();
    assert!(!fates.is_empty());
    while ring.sender().push(b"full", Label::default()).is_ok() {}
    wait_by(&mut ring, &fd, |ready| ready.send);
    drop(peer);
    wait_by(&mut ring, &fd, |ready| ready.recv);
    assert_eq!(
        ring.recv(&mut buf),
        Err(RingError::Closed(CloseReason::Peer))
    );
}

//! A ring in shareable memory: both sides are in this process, each with its own mapping.
#![cfg(target_os = "linux")]

use dccp_ring::shared::{self, SharedError};
use dccp_ring::{App, Arrival, Delivered, Label, Look, Report, Shape, Violation, silent};
use std::fs::File;
use std::io::ErrorKind;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::thread;

const SHAPE: Shape = Shape::new(8, 100);

#[test]
fn datagrams_fates_and_arrivals_cross_the_memory() {
    const DATAGRAMS: u64 = 2000;
    let (mut transport, fd) = shared::create(SHAPE, silent()).expect("memory");
    let mut app = shared::attach(&fd, silent()).expect("a ring");
    drop(fd);
    thread::scope(|scope| {
        scope.spawn(move || {
            let (mut sent, mut heard, mut received) = (0, 0, 0);
            while received < DATAGRAMS || heard + app.sender.fates_missed() < DATAGRAMS {
                let label = Label {
                    tag: sent,
                    ..Label::default()
                };
                if sent < DATAGRAMS && app.sender.push(&sent.to_le_bytes(), label).is_ok() {
                    sent += 1;
                }
                let each = |report: Report| assert_eq!(report.fate, 2 * report.tag);
                heard += app.sender.fates(99, each).expect("honest") as u64;
                let mut buf = [0; 8];
                if let Some((len, arrival)) = app.receiver.recv(&mut buf).expect("honest") {
                    assert_eq!((len, arrival.info), (8, received));
                    assert_eq!(u64::from_le_bytes(buf), received);
                    received += 1;
                } else {
                    thread::yield_now();
                }
            }
        });
        let mut next = 0;
        while next < DATAGRAMS {
            let mut buf = [0; 8];
            let Look::Offer { len: 8 } = transport.source.look(0).expect("honest") else {
                thread::yield_now();
                continue;
            };
            let claimed = transport.source.claim_into(&mut buf).expect("honest");
            assert_eq!(claimed.map(|c| c.label.tag), Some(next));
            let report = Report {
                tag: next,
                fate: 2 * next,
                at_ns: 0,
            };
            transport.source.report(report).expect("honest");
            transport.source.flush();
            let arrival = Arrival {
                at_ns: 0,
                info: next,
            };
            while transport.sink.deliver(&buf, arrival).expect("honest") != Delivered::Yes {
                thread::yield_now();
            }
            transport.sink.flush();
            next += 1;
        }
    });
}

#[test]
fn memory_cannot_be_made_shorter_or_longer() {
    let (_transport, fd) = shared::create(SHAPE, silent()).expect("memory");
    let file = File::from(fd);
    let len = file.metadata().expect("a file").len();
    for wrong in [0, len - 1, len + 1] {
        let error = file.set_len(wrong).expect_err("sealed");
        assert_eq!(error.kind(), ErrorKind::PermissionDenied);
    }
}

#[test]
fn ring_has_one_application() {
    let (_transport, fd) = shared::create(SHAPE, silent()).expect("memory");
    let first = shared::attach(&fd, silent());
    let second = shared::attach(&fd, silent());
    assert!(matches!(second, Err(SharedError::Taken)), "{second:?}");
    drop(first);
    let third = shared::attach(&fd, silent());
    assert!(
        matches!(third, Err(SharedError::Taken)),
        "its indexes have moved"
    );
}

#[test]
fn transport_that_ends_takes_its_memory_back() {
    let (mut transport, fd) = shared::create(SHAPE, silent()).expect("memory");
    let mut app = shared::attach(&fd, silent()).expect("a ring");
    let file = File::from(fd);
    let blocks = || file.metadata().expect("a file").blocks();
    let pages = SHAPE.bytes().expect("a shape").div_ceil(4096);
    assert_eq!(blocks(), pages * 8, "all of them from the beginning");
    transport
        .sink
        .deliver(&[7; 9], Arrival::default())
        .expect("honest");
    transport.sink.flush();
    drop(transport.source);
    assert_eq!(blocks(), pages * 8, "it has two parts");
    drop(transport.sink);
    assert_eq!(blocks(), 0);
    // The application now reads zeros: no datagram, no fate.
    takes_nothing(&mut app);
}

/// Checks that the application reads no entry from memory that was taken back.
fn takes_nothing(app: &mut App) {
    for _ in 0..3 {
        assert_eq!(app.receiver.recv(&mut [0; 99]), Ok(None));
        let each = |report| panic!("{report:?} never was");
        assert_eq!(app.sender.fates(9, each), Ok(0));
        assert_eq!(app.receiver.prepare_to_sleep(), Ok(true));
        assert_eq!(app.sender.prepare_to_wait_for_fates(), Ok(true));
        // The claims are unknown now, so no datagram is withdrawn.
        assert_eq!(app.sender.waiting(), Err(Violation::Index));
        assert!(app.sender.take_back(9).is_err());
    }
}

#[test]
fn unread_entries_are_lost_when_memory_is_taken_back() {
    for (given, read) in [(0, 0), (1, 0), (6, 1), (6, 2), (6, 6)] {
        let (mut transport, fd) = shared::create(SHAPE, silent()).expect("memory");
        let mut app = shared::attach(&fd, silent()).expect("a ring");
        for tag in 1..=given {
            let arrival = Arrival {
                info: tag,
                at_ns: 1,
            };
            let delivered = transport.sink.deliver(&[7; 50], arrival);
            assert_eq!(delivered, Ok(Delivered::Yes));
            let report = Report {
                tag,
                fate: 1,
                at_ns: 1,
            };
            transport.source.report(report).expect("honest");
            let pushed = app.sender.push(&[7; 50], Label::default());
            pushed.expect("there is room");
        }
        transport.sink.flush();
        transport.source.flush();
        for tag in 1..=read {
            let received = app.receiver.recv(&mut [0; 99]).expect("honest");
            let (len, arrival) = received.expect("a datagram");
            assert_eq!((len, arrival.info), (50, tag));
            let each = |report: Report| assert_eq!(report.tag, tag);
            assert_eq!(app.sender.fates(1, each), Ok(1));
        }
        drop(transport);
        takes_nothing(&mut app);
    }
}

#[test]
fn unsealed_or_foreign_memory_is_not_attached() {
    let file = File::open("Cargo.toml").expect("a file that is no memory");
    let attached = shared::attach(&file, silent());
    assert!(matches!(attached, Err(SharedError::Memory(_))));
    // Sealed memory whose header is empty, of another version, or of a larger ring.
    let (slots, version) = (8, 0);
    for (at, word) in [(slots, 7), (slots, 1024), (version, 2_u64)] {
        let (_transport, fd) = shared::create(SHAPE, silent()).expect("memory");
        let file = File::from(fd);
        file.write_at(&word.to_ne_bytes(), at).expect("written");
        let attached = shared::attach(&file, silent());
        assert!(
            matches!(attached, Err(SharedError::NoRing(_))),
            "{at} {word}"
        );
    }
    assert!(Violation::Index.to_string().contains("invalid index"));
}

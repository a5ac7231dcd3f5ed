//! Wake-ups: none is lost, and none reaches a side that does not sleep.

use super::{Ring, Way, claim, explore, ring, tag};
use crate::bell::{Bell, silent};
use crate::recv::{Arrival, Delivered};
use crate::transport::{Look, Report};
use loom::sync::atomic::{AtomicUsize, Ordering};
use loom::thread;
use std::sync::Arc;

/// A bell that counts.
struct Count(AtomicUsize);

impl Count {
    fn new() -> Arc<Self> {
        Arc::new(Self(AtomicUsize::new(0)))
    }

    fn rung(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }
}

impl Bell for Count {
    fn ring(&self) -> bool {
        self.0.fetch_add(1, Ordering::SeqCst);
        true
    }
}

#[test]
fn push_wakes_the_transport_that_found_nothing() {
    explore("transport sleeps", || {
        let bell = Count::new();
        let Ring {
            mut sender,
            mut source,
            ..
        } = ring(2, bell.clone(), silent());
        let transport = thread::spawn(move || source.look(0).unwrap());
        sender.push(&[1], tag(1)).unwrap();
        let look = transport.join().unwrap();
        assert!(look != Look::Nothing || bell.rung() == 1);
    });
}

#[test]
fn release_wakes_the_transport_whose_claim_failed() {
    explore("transport sleeps after a take-back", || {
        let bell = Count::new();
        let Ring {
            mut sender,
            mut source,
            ..
        } = ring(2, bell.clone(), silent());
        sender.push(&[1], tag(1)).unwrap();
        let transport = thread::spawn(move || {
            let claimed = claim(&mut source, Way { ahead: 2, looks: 3 });
            (claimed, source.look(0).unwrap())
        });
        drop(sender.take_back(usize::MAX).unwrap());
        let (claimed, last) = transport.join().unwrap();
        assert!(bell.rung() <= 2);
        // The transport has the datagram, or sees it, or will be woken.
        assert!(claimed == [1] || last != Look::Nothing || bell.rung() > 0);
    });
}

#[test]
fn claim_wakes_the_application_that_waits_for_room() {
    explore("application waits for room", || {
        let bell = Count::new();
        let Ring {
            mut sender,
            mut source,
            ..
        } = ring(1, silent(), bell.clone());
        sender.push(&[1], tag(1)).unwrap();
        let transport = thread::spawn(move || {
            assert_eq!(claim(&mut source, Way { ahead: 1, looks: 1 }), [1]);
            source.flush();
        });
        let sleeps = sender.prepare_to_wait_for_room().unwrap();
        transport.join().unwrap();
        assert!(!sleeps || bell.rung() == 1);
        assert_eq!(sender.room().unwrap(), 1);
    });
}

#[test]
fn fate_wakes_the_application_that_waits_for_it() {
    explore("application waits for fates", || {
        let bell = Count::new();
        let Ring {
            mut sender,
            mut source,
            ..
        } = ring(1, silent(), bell.clone());
        let transport = thread::spawn(move || {
            let report = Report {
                tag: 1,
                fate: 1,
                at_ns: 1,
            };
            source.report(report).unwrap();
            source.flush();
        });
        let sleeps = sender.prepare_to_wait_for_fates().unwrap();
        transport.join().unwrap();
        assert!(!sleeps || bell.rung() == 1);
        assert_eq!(sender.fates(9, |_| ()).unwrap(), 1);
    });
}

#[test]
fn delivery_wakes_the_application_that_waits_for_it() {
    explore("application waits for arrivals", || {
        let bell = Count::new();
        let Ring {
            mut sink,
            mut receiver,
            ..
        } = ring(1, silent(), bell.clone());
        let transport = thread::spawn(move || {
            let delivered = sink.deliver(&[1], Arrival::default()).unwrap();
            assert_eq!(delivered, Delivered::Yes);
            sink.flush();
        });
        let sleeps = receiver.prepare_to_sleep().unwrap();
        transport.join().unwrap();
        assert!(!sleeps || bell.rung() == 1);
        assert!(receiver.recv(&mut [0]).unwrap().is_some());
    });
}

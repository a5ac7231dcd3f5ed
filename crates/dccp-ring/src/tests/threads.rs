//! Both sides on real threads with many datagrams. Loom covers every order with two.

use super::*;
use std::thread;

const DATAGRAMS: u64 = if cfg!(miri) { 150 } else { 100_000 };

/// The data of a datagram follow from its tag, so that torn or swapped data are detected.
fn data_of(tag: u64) -> Vec<u8> {
    let len = usize::try_from(tag % 17).unwrap_or_default();
    tag.to_le_bytes().into_iter().cycle().take(len).collect()
}

#[test]
fn each_datagram_is_claimed_once_or_was_withdrawn() {
    let (mut app, mut transport) = ring(8);
    let source = &mut transport.source;
    thread::scope(|scope| {
        let application = scope.spawn(move || {
            let mut withdrawn = Vec::new();
            let mut n = 0;
            while n < DATAGRAMS {
                let Ok(pushed) = app.sender.push(&data_of(n), tag(n)) else {
                    thread::yield_now();
                    continue;
                };
                if n % 3 == 0 && app.sender.withdraw(pushed.ticket).is_ok() {
                    withdrawn.push(n);
                }
                if n % 5 == 0 {
                    let mut held = app.sender.take_back(3).unwrap();
                    held.sort_by(|a, b| b.tag.cmp(&a.tag));
                }
                n += 1;
            }
            (app, withdrawn)
        });
        let mut claimed = Vec::new();
        let mut looks = 0;
        loop {
            let is_over = application.is_finished();
            let mut buf = [0; 16];
            match source.look(0).unwrap() {
                Look::Nothing if is_over => break,
                Look::Nothing => thread::yield_now(),
                Look::Expired(_) => panic!("no datagram has a deadline"),
                Look::Offer { len } => {
                    // Claims one to eight per step, and sometimes gives up the rest of a step.
                    looks += 1;
                    source.claim_ahead(1 + looks % 8).unwrap();
                    if looks % 7 == 0 {
                        source.flush();
                        continue;
                    }
                    if let Some(of) = source.claim_into(&mut buf[..len]).unwrap() {
                        assert_eq!(buf[..len], data_of(of.label.tag));
                        claimed.push(of.label.tag);
                    }
                }
            }
        }
        let (_app, withdrawn) = application.join().unwrap();
        claimed.extend(withdrawn);
        claimed.sort_unstable();
        assert!(claimed.into_iter().eq(0..DATAGRAMS));
    });
}

#[test]
fn arrivals_and_fates_come_once_and_in_order() {
    let (app, mut transport) = ring(8);
    let App {
        mut sender,
        mut receiver,
    } = app;
    thread::scope(|scope| {
        let arrivals = scope.spawn(move || {
            let mut next = 0;
            while next < DATAGRAMS {
                let mut buf = [0; 16];
                let Some((len, arrival)) = receiver.recv(&mut buf).unwrap() else {
                    thread::yield_now();
                    continue;
                };
                assert_eq!(arrival.info, next);
                assert_eq!(buf[..len], data_of(next));
                next += 1;
            }
        });
        let fates = scope.spawn(move || {
            let mut heard = 0;
            let mut last = None;
            while heard + sender.fates_missed() < DATAGRAMS {
                let each = |report: Report| {
                    assert!(Some(report.tag) > last);
                    last = Some(report.tag);
                    heard += 1;
                };
                sender.fates(9, each).unwrap();
                thread::yield_now();
            }
        });
        let mut n = 0;
        while n < DATAGRAMS {
            let arrival = Arrival { at_ns: n, info: n };
            if transport.sink.deliver(&data_of(n), arrival).unwrap() == Delivered::Yes {
                let report = Report {
                    tag: n,
                    fate: 0,
                    at_ns: n,
                };
                transport.source.report(report).unwrap();
                n += 1;
            } else {
                thread::yield_now();
            }
            transport.sink.flush();
            transport.source.flush();
        }
        arrivals.join().unwrap();
        fates.join().unwrap();
    });
}

//! The lanes that go one way: received datagrams and fates.

use super::{explore, ring};
use crate::bell::silent;
use crate::recv::{Arrival, Delivered};
use crate::transport::Report;
use loom::thread;

#[test]
fn arrivals_are_received_whole_in_order() {
    explore("deliver", || {
        let mut ring = ring(1, silent(), silent());
        let (mut sink, mut receiver) = (ring.sink, ring.receiver);
        let transport = thread::spawn(move || {
            let mut delivered = 0;
            // The lane has room for two: the third waits until one has been read.
            for n in 1..=3_u8 {
                let arrival = Arrival {
                    at_ns: n.into(),
                    info: n.into(),
                };
                match sink.deliver(&[n], arrival).unwrap() {
                    Delivered::Yes => delivered = n,
                    Delivered::Full => assert_eq!(n, 3),
                    Delivered::TooLong => panic!("one byte is not too long"),
                }
                sink.flush();
            }
            delivered
        });
        let mut last = 0;
        let mut receive = |at_most| {
            let mut buf = [0];
            for _ in 0..at_most {
                if let Some((len, arrival)) = receiver.recv(&mut buf).unwrap() {
                    last += 1;
                    assert_eq!((len, buf[0]), (1, last));
                    assert_eq!((arrival.at_ns, arrival.info), (last.into(), last.into()));
                }
            }
            last
        };
        receive(2);
        let delivered = transport.join().unwrap();
        assert_eq!(receive(3), delivered);
        // No other part of the ring is involved.
        assert_eq!(ring.sender.fates(9, |_| ()).unwrap(), 0);
    });
}

#[test]
fn fates_come_back_whole_and_in_order_or_are_counted() {
    explore("fates", || {
        let ring = ring(1, silent(), silent());
        let (mut source, mut sender) = (ring.source, ring.sender);
        let transport = thread::spawn(move || {
            for n in 1..=3 {
                let report = Report {
                    tag: n,
                    fate: n,
                    at_ns: n,
                };
                source.report(report).unwrap();
                source.flush();
            }
        });
        let mut heard = Vec::new();
        let mut hear = |sender: &mut crate::app::Sender| {
            let take = |report: Report| {
                assert_eq!((report.fate, report.at_ns), (report.tag, report.tag));
                heard.push(report.tag);
            };
            sender.fates(9, take).unwrap();
        };
        hear(&mut sender);
        transport.join().unwrap();
        hear(&mut sender);
        assert_eq!(heard, [1, 2, 3][..heard.len()]);
        assert_eq!(heard.len() as u64 + sender.fates_missed(), 3);
    });
}

//! Received datagrams on their way into a ring.

use crate::counts::RecvCounts;
use crate::request::{Calls, Request};
use dccp_proto::queue::{Accepted, Delivery};
use dccp_proto::wire::{Ecn, Payload};
use dccp_proto::{Instant, Seq};
use dccp_ring::{Arrival, Delivered, Sink};
use std::borrow::Cow;

/// Received datagrams on their way into a ring.
#[derive(Debug)]
pub(crate) struct RingInbox {
    sink: Sink,
    delivered: u64,
    /// The application broke the rules: nothing more goes in.
    is_broken: bool,
    engine: Calls,
}

impl RingInbox {
    pub(crate) fn new(sink: Sink, engine: Calls) -> Self {
        Self {
            sink,
            delivered: 0,
            is_broken: false,
            engine,
        }
    }

    /// Copies a datagram into the ring, and counts what becomes of it. An application that breaks the rules of
    /// its ring has no connection any more.
    pub(crate) fn deliver(
        &mut self,
        payload: Payload<'_>,
        meta: Delivery,
        counts: &mut RecvCounts,
    ) -> Accepted {
        match self.put(payload, meta) {
            Some(Delivered::Yes) => {
                self.delivered += 1;
                counts.delivered += 1;
                counts.delivered_bytes += payload.len() as u64;
                Accepted::Yes
            }
            Some(Delivered::Full) => {
                counts.dropped_full += 1;
                Accepted::Full
            }
            Some(Delivered::TooLong) => {
                counts.dropped_too_long += 1;
                Accepted::Full
            }
            None => {
                counts.dropped_not_listening += 1;
                Accepted::NotListening
            }
        }
    }

    fn put(&mut self, payload: Payload<'_>, meta: Delivery) -> Option<Delivered> {
        if self.is_broken {
            return None;
        }
        let bytes = match payload {
            Payload::Bytes(bytes) => Cow::Borrowed(bytes),
            Payload::Zeros(len) => Cow::Owned(vec![0; len]),
        };
        let delivered = self.sink.deliver(&bytes, arrival(meta));
        if delivered.is_err() {
            self.is_broken = true;
            self.engine.call(Request::Abort);
        }
        delivered.ok()
    }

    /// Shows the application what was delivered.
    pub(crate) fn flush(&mut self) {
        self.sink.flush();
    }

    /// The number of datagrams that the application reports as taken.
    pub(crate) fn taken(&self) -> u64 {
        self.delivered.saturating_sub(self.sink.waiting().into())
    }
}

/// Bits of a sequence number (RFC 4340 §7).
const SEQ_BITS: u32 = 48;

/// As it stands in the ring: above the sequence number two bits of ECN, and one for corrupt data.
fn arrival(meta: Delivery) -> Arrival {
    let ecn = u64::from(meta.ecn as u8) << SEQ_BITS;
    let corrupt = u64::from(meta.is_corrupt) << (SEQ_BITS + 2);
    Arrival {
        at_ns: meta.arrived.as_nanos(),
        info: meta.seq.value() | ecn | corrupt,
    }
}

/// Reads the form in the ring; every value is a valid delivery.
pub(crate) fn delivery(arrival: Arrival) -> Delivery {
    let [.., high, _] = arrival.info.to_le_bytes();
    Delivery {
        arrived: Instant::from_nanos(arrival.at_ns),
        seq: Seq::new(arrival.info),
        ecn: Ecn::from_bits(high),
        is_corrupt: high & 4 != 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dccp_ring::{App, Shape, in_process, silent};
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    const META: Delivery = Delivery {
        arrived: Instant::from_nanos(7),
        seq: Seq::ZERO,
        ecn: Ecn::NotEct,
        is_corrupt: false,
    };

    #[test]
    fn arrival_keeps_all_facts_of_a_datagram() {
        for ecn in [Ecn::NotEct, Ecn::Ect1, Ecn::Ect0, Ecn::Ce] {
            for is_corrupt in [false, true] {
                let meta = Delivery {
                    seq: Seq::new((1 << 48) - 2),
                    ecn,
                    is_corrupt,
                    ..META
                };
                assert_eq!(delivery(arrival(meta)), meta);
            }
        }
        assert_eq!(arrival(META).info, 0);
    }

    fn inbox() -> (App, RingInbox, Arc<AtomicUsize>) {
        let (app, transport) = in_process(Shape::new(2, 4), silent(), silent()).unwrap();
        let aborted = Arc::new(AtomicUsize::new(0));
        let count = aborted.clone();
        let engine = Calls::to(move |request| {
            assert!(matches!(request, Request::Abort));
            count.fetch_add(1, Ordering::Relaxed);
        });
        (app, RingInbox::new(transport.sink, engine), aborted)
    }

    #[test]
    fn datagrams_are_counted_as_the_application_takes_them() {
        let (mut app, mut inbox, aborted) = inbox();
        let mut counts = RecvCounts::default();
        let payloads = [
            (Payload::Zeros(4), Accepted::Yes),
            (Payload::Bytes(b"abc"), Accepted::Yes),
            (Payload::Zeros(1), Accepted::Full),
            (Payload::Zeros(5), Accepted::Full),
            (Payload::Zeros(5), Accepted::Full),
        ];
        for (payload, accepted) in payloads {
            assert_eq!(inbox.deliver(payload, META, &mut counts), accepted);
        }
        let expected = RecvCounts {
            delivered: 2,
            delivered_bytes: 7,
            dropped_full: 1,
            dropped_too_long: 2,
            ..RecvCounts::default()
        };
        assert_eq!(counts, expected);
        let mut buf = [9; 4];
        assert_eq!(app.receiver.recv(&mut buf), Ok(None), "not yet shown");
        inbox.flush();
        assert_eq!(inbox.taken(), 0);
        let (len, told) = app.receiver.recv(&mut buf).unwrap().unwrap();
        assert_eq!((len, buf, delivery(told)), (4, [0; 4], META));
        assert_eq!(inbox.taken(), 1);
        app.receiver.recv(&mut buf).unwrap();
        assert_eq!(&buf[..3], b"abc");
        assert_eq!(inbox.taken(), 2);
        assert_eq!(aborted.load(Ordering::Relaxed), 0);
    }
}

//! A tap sees each datagram of an engine between the protocol and the system, for capture files.

use crate::clock;
use core::fmt;
use dccp_io::{BufferSizes, Counters, Received, RecvBuffer, Sent, Source, Transport};
use dccp_proto::batch::Batch;
use dccp_proto::path::Path;
use dccp_proto::wire::{Datagram, Ecn};
use dccp_proto::{IcmpError, Instant};
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

/// Sees the datagrams of an engine: [`EngineOptions::tap`](crate::EngineOptions::tap).
pub trait PacketTap: fmt::Debug + Send + Sync {
    /// Called on the engine's thread for each datagram that the system took or gave. All connections wait meanwhile, so it
    /// must return soon: copy what is wanted, and do the rest elsewhere.
    fn packet(&self, packet: &TappedPacket<'_>);
}

/// A datagram that left or arrived.
#[derive(Clone, Copy, Debug)]
pub struct TappedPacket<'a> {
    /// When the engine handed it to the system, or got it.
    pub at: Instant,
    /// Whether it left.
    pub is_sent: bool,
    /// Its addresses and encapsulation, seen from here.
    pub path: Path,
    /// The ECN field of its IP header.
    pub ecn: Ecn,
    /// Whether routers may fragment it. Of arrived datagrams that is unknown, and `false`.
    pub may_fragment: bool,
    /// Its bytes, from the DCCP header on.
    pub datagram: Datagram<'a>,
}

/// Puts the tap, if there is one, in front of a transport.
pub(crate) fn tapped(
    transport: Box<dyn Transport>,
    tap: Option<&Arc<dyn PacketTap>>,
) -> Box<dyn Transport> {
    match tap.cloned() {
        Some(tap) => Box::new(TappedTransport {
            inner: transport,
            tap,
        }),
        None => transport,
    }
}

/// A transport whose datagrams the tap sees.
struct TappedTransport {
    inner: Box<dyn Transport>,
    tap: Arc<dyn PacketTap>,
}

impl Transport for TappedTransport {
    fn send(&mut self, batch: &Batch, from: usize) -> Sent {
        let at = clock::now();
        let sent = self.inner.send(batch, from);
        let Some((&path, ecn)) = batch.destination() else {
            return sent;
        };
        let refused = sent
            .dropped
            .map_or(0..0, |d| d.first..d.first + d.datagrams);
        let handled = batch.datagrams().enumerate().take(sent.next).skip(from);
        for (index, datagram) in handled {
            if !refused.contains(&index) {
                self.tap.packet(&TappedPacket {
                    at,
                    is_sent: true,
                    path,
                    ecn,
                    may_fragment: batch.may_fragment(),
                    datagram,
                });
            }
        }
        sent
    }

    fn recv(
        &mut self,
        buffer: &mut RecvBuffer,
        sink: &mut dyn FnMut(Received<'_>),
    ) -> io::Result<bool> {
        let tap = &self.tap;
        self.inner.recv(buffer, &mut |received| {
            let at = clock::now();
            for datagram in received.datagrams.clone() {
                tap.packet(&TappedPacket {
                    at,
                    is_sent: false,
                    path: received.path,
                    ecn: received.ecn,
                    may_fragment: false,
                    datagram,
                });
            }
            sink(received);
        })
    }

    fn recv_errors(
        &mut self,
        buffer: &mut RecvBuffer,
        sink: &mut dyn FnMut(IcmpError<'_>),
    ) -> io::Result<usize> {
        self.inner.recv_errors(buffer, sink)
    }

    fn reports_icmp(&self) -> bool {
        self.inner.reports_icmp()
    }

    fn report_icmp(&mut self, on: bool) {
        self.inner.report_icmp(on);
    }

    fn counters(&mut self) -> Counters {
        self.inner.counters()
    }

    fn local_addr(&self) -> SocketAddr {
        self.inner.local_addr()
    }

    fn segments_max(&self) -> usize {
        self.inner.segments_max()
    }

    fn buffer_sizes(&self) -> io::Result<BufferSizes> {
        self.inner.buffer_sizes()
    }

    fn reads_ecn(&self) -> bool {
        self.inner.reads_ecn()
    }

    fn source(&mut self) -> Source<'_> {
        self.inner.source()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Engine, EngineOptions, Listener, Options, Socket};
    use core::time::Duration;
    use dccp_proto::wire::{ChecksumRule, PacketType, parse};
    use std::sync::Mutex;

    /// The direction, the type, the sequence number and the length of each datagram.
    type Record = (bool, PacketType, u64, usize);

    #[derive(Debug, Default)]
    struct Recorder(Mutex<Vec<Record>>);

    impl PacketTap for Recorder {
        fn packet(&self, packet: &TappedPacket<'_>) {
            let read = parse(&packet.datagram, ChecksumRule::Udp).expect("a valid packet");
            let len = packet.datagram.bytes.len();
            let record = (
                packet.is_sent,
                read.kind.packet_type(),
                read.seq.value(),
                len,
            );
            self.0.lock().unwrap().push(record);
        }
    }

    impl Recorder {
        /// The records of one direction, in the order of sequence numbers.
        fn records(&self, is_sent: bool) -> Vec<Record> {
            let mut records = self.0.lock().unwrap().clone();
            records.retain(|record| record.0 == is_sent);
            records.sort_by_key(|record| record.2);
            records
        }
    }

    fn tapped_engine() -> (Arc<Recorder>, Engine) {
        let recorder = Arc::new(Recorder::default());
        let options = EngineOptions::new().tap(recorder.clone());
        (recorder, Engine::start(&options).unwrap())
    }

    #[test]
    fn taps_of_both_ends_see_the_same_packets() {
        let (client_tap, client_engine) = tapped_engine();
        let (server_tap, server_engine) = tapped_engine();
        let options = Options::new();
        let at_server = options.clone().engine(&server_engine);
        let listener = Listener::bind("127.0.0.1:0/0", &at_server).unwrap();
        let at_client = options.engine(&client_engine);
        let client = Socket::connect(listener.local_addrs(), &at_client).unwrap();
        let server = listener.accept().unwrap();
        let mut buf = [0; 600];
        for _ in 0..20 {
            client.send(&[7; 600]).unwrap();
            assert_eq!(server.recv(&mut buf), Ok(600));
        }
        drop((client, server, listener));
        client_engine.wait_idle(Duration::from_secs(10)).unwrap();
        server_engine.wait_idle(Duration::from_secs(10)).unwrap();

        let sent = client_tap.records(true);
        assert_eq!(sent.first().unwrap().1, PacketType::Request);
        let data = sent.iter().filter(|record| record.3 > 600).count();
        assert_eq!(data, 20);
        for (one, other) in [(&client_tap, &server_tap), (&server_tap, &client_tap)] {
            let arrived = other.records(false).into_iter();
            let arrived: Vec<Record> = arrived
                .map(|(_, t, seq, len)| (true, t, seq, len))
                .collect();
            // The last packets can come after the port has closed.
            let sent = one.records(true);
            assert!(sent.starts_with(&arrived), "{sent:?} {arrived:?}");
            assert!(arrived.len() + 2 >= sent.len(), "{sent:?} {arrived:?}");
        }
    }
}

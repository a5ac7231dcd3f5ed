//! Flows over DCCP.

use super::safeudp::SafeUdpSample;
use super::{
    BATCH, Counters, Fates, Flow, FlowError, LOOK, Packet, Run, Sample, Sink, last_number, lock,
};
use crate::limits::FATES;
use crate::schema::StampSource;
use crate::wire::figures::{Buffers, Negotiated};
use ::dccp::proto::cc::safeudp::{NUMBER, SendCode};
use ::dccp::proto::conn::ConnSnapshot;
use ::dccp::proto::wire::Ecn;
use ::dccp::{
    Event, FateReport, Instant, RecvBatch, RecvError, SendError, SendItem, SendOptions, Socket,
    Stats, WhenFull, clock,
};
use core::net::SocketAddr;
use core::time::Duration;
use std::net::Shutdown;
use std::sync::{Arc, Mutex};

/// One end of a DCCP connection.
pub(crate) struct DccpFlow {
    socket: Socket,
    batch: Mutex<RecvBatch>,
    /// The connection at the last sample.
    last: Mutex<Option<ConnSnapshot>>,
    /// Memory for fates.
    fates: Mutex<Vec<FateReport>>,
    /// The kernel's drops at this transport before the connection was opened.
    overflowed_before: u64,
}

impl DccpFlow {
    pub(crate) fn new(socket: Socket) -> Self {
        socket.set_send_timeout(Some(LOOK));
        socket.set_recv_timeout(Some(LOOK));
        let before = socket.stats().ok();
        let overflowed_before = before.and_then(|stats| stats.transport.recv_overflowed);
        Self {
            overflowed_before: overflowed_before.unwrap_or(0),
            socket,
            batch: Mutex::new(RecvBatch::new(BATCH)),
            last: Mutex::new(None),
            fates: Mutex::new(Vec::new()),
        }
    }
}

impl Flow for DccpFlow {
    fn send(&self, run: &Run<'_>) -> Result<usize, FlowError> {
        let mut items: Vec<SendItem<'_>> = run.datagrams().map(SendItem::new).collect();
        let outcome = self.socket.send_batch(&mut items);
        let taken = items.iter().filter(|i| i.result.is_ok()).count();
        match outcome {
            // The next call returns the error again.
            Err(e) if taken == 0 && !matches!(e, SendError::TimedOut | SendError::WouldBlock) => {
                Err(FlowError(e.to_string()))
            }
            _ => Ok(taken),
        }
    }

    fn reply(&self, datagram: &[u8]) {
        let options = SendOptions::new().when_full(WhenFull::DropOldest);
        // A connection that has ended says so when it receives.
        let _ = self.socket.send_with(datagram, options);
    }

    fn recv(&self, sink: Sink<'_>) -> Result<(), FlowError> {
        let mut batch = lock(&self.batch);
        match self.socket.recv_batch(&mut batch) {
            Ok(_) => {}
            Err(RecvError::TimedOut | RecvError::WouldBlock) => return Ok(()),
            Err(e) => return Err(FlowError(e.to_string())),
        }
        let now = clock::now();
        sink(&mut batch.iter().map(|datagram| {
            let meta = datagram.meta();
            Packet {
                bytes: datagram,
                arrived: meta.arrived,
                waited: Some(now - meta.arrived),
                is_marked: meta.ecn == Ecn::Ce,
            }
        }));
        Ok(())
    }

    fn stamps(&self) -> Option<StampSource> {
        Some(StampSource::Engine)
    }

    fn shows_end(&self) -> bool {
        true
    }

    fn sample(&self) -> Option<Sample> {
        let now = self.socket.snapshot().ok()?;
        let is_full = |cwnd| f64::from(now.pipe_packets) + 1.0 > cwnd;
        let sample = Sample {
            rtt: now.rtt_sample,
            is_idle: self.socket.queued() == 0,
            is_window_full: now.tx.cwnd_packets.is_some_and(is_full),
            is_sequence_window_full: u64::from(now.pipe_packets) * 10 >= now.sequence_window * 7,
            cwnd_packets: now.tx.cwnd_packets,
            ssthresh_packets: now.tx.ssthresh_packets,
            rate_bps: now.tx.rate.map(::dccp::Rate::bits_per_s),
            phase: now.tx.phase,
            safe_udp: (now.tx_ccid == NUMBER).then(|| SafeUdpSample::of(&now.tx)),
            lost: self.socket.stats().map_or(0, |s| s.sent.fates.lost),
            retransmitted: None,
        };
        *lock(&self.last) = Some(now);
        Some(sample)
    }

    fn counters(&self) -> Option<Counters> {
        let stats = self.socket.stats().ok()?;
        let fates = &stats.sent.fates;
        let overhead = self.socket.flow().path.overhead() as u64;
        Some(Counters {
            taken: stats.sent.pushed,
            left: left(&stats),
            limited: fates.limited,
            fates: Fates {
                acked: fates.acked,
                marked: fates.acked_ce,
                rx_dropped: fates.rx_dropped,
                lost: fates.lost,
                unreported: fates.sent,
                in_flight: stats.sent.in_flight,
            },
            dropped_host: stats.transport.dropped(),
            wire_bytes: stats.connection.counters.bytes_out
                + stats.connection.packets_out.total() * overhead,
            dropped_socket: stats.received.dropped_full + stats.received.dropped_budget,
            packets_sent: stats.connection.packets_out.total(),
            unread: stats.received.delivered - stats.received.taken
                + stats.received.dropped_not_listening,
            dropped_kernel: (stats.transport.recv_overflowed)
                .map(|overflowed| overflowed - self.overflowed_before),
            tcp: None,
            is_dropped_kernel_least: stats.transport.recv_merged > 0,
        })
    }

    fn conclusions(&self, add: &mut dyn FnMut(SendCode)) {
        while let Some(event) = self.socket.poll_event() {
            if let Event::SafeUdp(code) = event {
                add(code);
            }
        }
    }

    fn shows_round_trips(&self) -> bool {
        true
    }

    fn store_queue_times(&self) {
        self.socket.store_fates(FATES);
    }

    fn queue_times(&self, add: &mut dyn FnMut(Duration)) {
        let mut fates = lock(&self.fates);
        self.socket.recv_fates(&mut fates, FATES);
        for report in fates.drain(..) {
            if let Some(sent) = report.sent {
                add(sent - report.queued);
            }
        }
    }

    fn negotiated(&self) -> Negotiated {
        let last = lock(&self.last);
        last.as_ref()
            .map_or_else(Negotiated::default, |last| Negotiated {
                ccid: Some(last.tx_ccid),
                cc: last.tx.law.map(str::to_owned),
                ack_ratio: Some(last.ack_ratio),
                is_ecn: Some(last.is_ecn),
                mps_bytes: Some(last.mps as u64),
                cscov: Some(last.cscov),
                mss_bytes: None,
            })
    }

    fn protocol_counters(&self, add: &mut dyn FnMut(String, u64)) {
        let Ok(stats) = self.socket.stats() else {
            return;
        };
        let s = &stats.connection;
        for (name, n) in s.mib.by_name().chain(s.counters.by_name()) {
            add(name.to_owned(), n);
        }
        for (reason, n) in s.drops.by_name() {
            add(format!("dropped_{reason}"), n);
        }
    }

    fn flush(&self) -> bool {
        let flushed = self.socket.flush(LOOK);
        !matches!(flushed, Err(SendError::TimedOut | SendError::WouldBlock))
    }

    fn withdraw(&self) -> u64 {
        self.socket.withdraw_queued() as u64
    }

    fn is_drained(&self) -> bool {
        let stats = self.socket.stats();
        stats.map_or(true, |s| s.sent.queued == 0 && s.sent.in_flight == 0)
    }

    fn close(&self) {
        self.socket.shutdown(Shutdown::Write);
    }

    fn has_closed(&self, until: Instant) -> bool {
        let left: Duration = until - clock::now();
        self.socket.wait_closed(left).is_ok()
    }

    fn abort(&self) {
        self.socket.abort();
    }

    fn local_addr(&self) -> Option<SocketAddr> {
        let local = self.socket.local_addr();
        let port = match local.udp_port {
            0 => local.dccp_port,
            port => port,
        };
        Some(SocketAddr::new(local.ip, port))
    }

    fn buffers(&self) -> Buffers {
        Buffers {
            recv_max_bytes: last_number("net.core.rmem_max"),
            ..Buffers::default()
        }
    }

    fn into_socket(self: Arc<Self>) -> Option<Socket> {
        Arc::into_inner(self).map(|flow| flow.socket)
    }
}

/// Datagrams that have left.
fn left(stats: &Stats) -> u64 {
    let sent = &stats.sent;
    let f = &sent.fates;
    let stayed = f.expired + f.superseded + f.withdrawn + f.overflowed + f.limited + f.too_big;
    sent.pushed - sent.queued - stayed
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{SERVICE, data_options};
    use ::dccp::{Listener, Options};

    fn pair() -> (DccpFlow, DccpFlow, Listener) {
        let options = data_options(Options::new().service_code(SERVICE));
        let listener = Listener::bind("127.0.0.1:0/5001", &options).unwrap();
        let client = Socket::connect(listener.local_addrs()[0], &options).unwrap();
        // The server's socket exists once data or the last part of the handshake has come.
        let server = listener.accept_timeout(Duration::from_secs(5)).unwrap();
        (DccpFlow::new(client), DccpFlow::new(server), listener)
    }

    // goal 6: the receiver's part is the time from the arrival to the program.
    #[test]
    fn wait_in_the_receive_buffer_is_told() {
        let (client, server, _listener) = pair();
        let run = Run {
            bytes: &[7; 100],
            length: 100,
        };
        assert_eq!(client.send(&run).unwrap(), 1);
        let until = clock::now() + Duration::from_secs(5);
        while server.counters().unwrap().unread == 0 {
            assert!(clock::now() < until, "no datagram arrives");
        }
        let wait = Duration::from_millis(20);
        std::thread::sleep(wait);
        let mut waits = Vec::new();
        server
            .recv(&mut |packets| waits.extend(packets.map(|p| p.waited)))
            .unwrap();
        let [Some(waited)] = waits[..] else {
            panic!("{waits:?}");
        };
        assert!(waited >= wait, "{waited:?}");
    }

    // goal 6: the send queue's part is known for each datagram.
    #[test]
    fn queue_times_are_given_once_for_each_datagram() {
        let (client, server, _listener) = pair();
        let run = Run {
            bytes: &[7; 300],
            length: 100,
        };
        assert_eq!(client.send(&run).unwrap(), 3);
        client.store_queue_times();
        assert_eq!(client.send(&run).unwrap(), 3);
        let mut times = Vec::new();
        let until = clock::now() + Duration::from_secs(5);
        while times.len() < 3 && clock::now() < until {
            server.recv(&mut |_| {}).unwrap();
            client.queue_times(&mut |time| times.push(time));
        }
        assert_eq!(times.len(), 3, "{times:?}");
        client.queue_times(&mut |time| times.push(time));
        assert_eq!(times.len(), 3);
    }
}

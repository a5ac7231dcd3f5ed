//! The rate limit of a server: what one client may send to it, and be sent.

use crate::schema::StampSource;
use crate::transport::{Counters, Flow, FlowError, LOOK, Run, Sample, Sink};
use crate::wire::figures::{Buffers, Negotiated};
use crate::wire::packet::LEN_MAX;
use core::net::SocketAddr;
use core::time::Duration;
use dccp::proto::number::to_f64;
use dccp::safeudp::SendCode;
use dccp::{Instant, clock};
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A queue of the path can delay data, and then deliver this much of it at once.
const DELAYED: Duration = Duration::from_secs(1);
/// Clients may be this much faster, because their clocks and gaps differ.
const TOLERANCE: f64 = 1.2;
/// Bytes that may always come at once: the first datagrams of many flows.
const AT_ONCE_BYTES: u64 = 256 << 10;
/// The longest time whose share may leave back to back.
pub(super) const BURST: Duration = Duration::from_millis(100);

/// The limit for all flows of one control connection. It lives as long as that, so that many short tests get no more
/// than a long one.
#[derive(Debug)]
pub(super) struct RateLimit {
    received: Mutex<Bucket>,
    sent: Mutex<Bucket>,
}

impl RateLimit {
    pub(super) fn new(bits_per_s: u64) -> Self {
        let bytes_per_s = to_f64(bits_per_s) / 8.0;
        let now = clock::now();
        Self {
            received: Bucket::new(bytes_per_s * TOLERANCE, DELAYED, AT_ONCE_BYTES, now).into(),
            sent: Bucket::new(bytes_per_s, BURST, LEN_MAX as u64, now).into(),
        }
    }

    /// The flow with this limit.
    pub(super) fn apply(self: &Arc<Self>, flow: Arc<dyn Flow>) -> Arc<dyn Flow> {
        let limit = self.clone();
        Arc::new(LimitedFlow { flow, limit })
    }

    /// Whether more arrived than may.
    pub(super) fn is_exceeded(&self) -> bool {
        let mut received = lock(&self.received);
        received.refill(clock::now());
        received.level < 0.0
    }
}

/// Bytes that may pass. They are saved up at a steady rate, to a bound.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Bucket {
    bytes_per_s: f64,
    most: f64,
    /// Below 0 when more passed than may.
    level: f64,
    at: Instant,
}

impl Bucket {
    /// A full bucket: it holds the bytes of `time`, and `more`.
    fn new(bytes_per_s: f64, time: Duration, more: u64, now: Instant) -> Self {
        let most = bytes_per_s * time.as_secs_f64() + to_f64(more);
        Self {
            bytes_per_s,
            most,
            level: most,
            at: now,
        }
    }

    fn refill(&mut self, now: Instant) {
        let saved = (now - self.at).as_secs_f64() * self.bytes_per_s;
        self.level = (self.level + saved).min(self.most);
        self.at = now;
    }

    /// Counts bytes that have passed.
    fn spend(&mut self, bytes: u64) {
        self.level -= to_f64(bytes);
    }

    /// Takes room for at most `count` datagrams of `length` bytes; returns for how many there is.
    fn take(&mut self, count: usize, length: usize, now: Instant) -> usize {
        self.refill(now);
        let length = to_f64(length as u64);
        let mut taken = 0;
        while taken < count && self.level >= length {
            self.level -= length;
            taken += 1;
        }
        taken
    }

    /// The time until there is room for `length` bytes, at most [`LOOK`].
    fn wait(&self, length: usize) -> Duration {
        let missing = (to_f64(length as u64) - self.level).max(0.0);
        let most = LOOK.as_secs_f64();
        Duration::from_secs_f64((missing / self.bytes_per_s.max(1.0)).min(most))
    }
}

/// A flow that sends no faster than its limit, and counts each datagram that arrives, whatever it holds.
struct LimitedFlow {
    flow: Arc<dyn Flow>,
    limit: Arc<RateLimit>,
}

impl Flow for LimitedFlow {
    fn send(&self, run: &Run<'_>) -> Result<usize, FlowError> {
        let length = run.length;
        let (room, wait) = {
            let mut sent = lock(&self.limit.sent);
            let room = sent.take(run.datagrams().len(), length, clock::now());
            (room, sent.wait(length))
        };
        if room == 0 {
            std::thread::sleep(wait);
            return Ok(0);
        }
        let bytes = run.bytes.get(..room * length).unwrap_or_default();
        let outcome = self.flow.send(&Run { bytes, length });
        let taken = outcome.as_ref().map_or(0, |taken| *taken);
        let left = room.saturating_sub(taken) * length;
        lock(&self.limit.sent).level += to_f64(left as u64);
        outcome
    }

    fn recv(&self, sink: Sink<'_>) -> Result<(), FlowError> {
        self.flow.recv(&mut |packets| {
            let mut bytes = 0;
            sink(&mut packets.inspect(|packet| bytes += packet.bytes.len() as u64));
            lock(&self.limit.received).spend(bytes);
        })
    }

    fn stamps(&self) -> Option<StampSource> {
        self.flow.stamps()
    }

    fn reply(&self, datagram: &[u8]) {
        self.flow.reply(datagram);
    }

    fn conclusions(&self, add: &mut dyn FnMut(SendCode)) {
        self.flow.conclusions(add);
    }

    fn shows_round_trips(&self) -> bool {
        self.flow.shows_round_trips()
    }

    fn store_queue_times(&self) {
        self.flow.store_queue_times();
    }

    fn queue_times(&self, add: &mut dyn FnMut(Duration)) {
        self.flow.queue_times(add);
    }

    fn local_addr(&self) -> Option<SocketAddr> {
        self.flow.local_addr()
    }

    fn shows_end(&self) -> bool {
        self.flow.shows_end()
    }

    fn sample(&self) -> Option<Sample> {
        self.flow.sample()
    }

    fn counters(&self) -> Option<Counters> {
        self.flow.counters()
    }

    fn negotiated(&self) -> Negotiated {
        self.flow.negotiated()
    }

    fn protocol_counters(&self, add: &mut dyn FnMut(String, u64)) {
        self.flow.protocol_counters(add);
    }

    fn flush(&self) -> bool {
        self.flow.flush()
    }

    fn withdraw(&self) -> u64 {
        self.flow.withdraw()
    }

    fn is_drained(&self) -> bool {
        self.flow.is_drained()
    }

    fn close(&self) {
        self.flow.close();
    }

    fn has_closed(&self, until: Instant) -> bool {
        self.flow.has_closed(until)
    }

    fn abort(&self) {
        self.flow.abort();
    }

    fn set_congestion(&self, name: &str) -> io::Result<()> {
        self.flow.set_congestion(name)
    }

    fn set_buffers(&self, bytes: u64) -> io::Result<()> {
        self.flow.set_buffers(bytes)
    }

    fn buffers(&self) -> Buffers {
        self.flow.buffers()
    }
}

fn lock(bucket: &Mutex<Bucket>) -> MutexGuard<'_, Bucket> {
    bucket.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transport::udp::{UdpFlow, bind};

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(ms)
    }

    /// 1,000 bytes a second, and 500 at once.
    fn bucket() -> Bucket {
        Bucket::new(1000.0, Duration::from_millis(500), 0, at(0))
    }

    #[test]
    fn bucket_saves_no_more_than_it_holds() {
        let mut bucket = bucket();
        assert_eq!(bucket.take(10, 100, at(0)), 5);
        assert_eq!(bucket.take(10, 100, at(99)), 0);
        assert_eq!(bucket.take(10, 100, at(101)), 1);
        assert_eq!(bucket.take(10, 100, at(60_000)), 5);
        assert_eq!(bucket.wait(50), Duration::from_millis(50));
        assert_eq!(bucket.wait(100_000), LOOK);
    }

    #[test]
    fn debts_stay_until_they_are_paid() {
        let mut bucket = bucket();
        bucket.spend(10_500);
        bucket.refill(at(9_900));
        assert!(bucket.level < 0.0);
        bucket.refill(at(10_100));
        assert!(bucket.level > 0.0);
    }

    /// Two ends of a flow.
    fn pair() -> (UdpFlow, UdpFlow) {
        let local = core::net::IpAddr::from([127, 0, 0, 1]);
        let [server, client] = [0, 0].map(|port| bind((local, port).into(), true).unwrap());
        let peer = client.local_addr().unwrap();
        let to_server = UdpFlow::accept(&client, local, server.local_addr().unwrap()).unwrap();
        (to_server, UdpFlow::accept(&server, local, peer).unwrap())
    }

    // Repeated numbers, and datagrams of another kind, are data too.
    #[test]
    fn bytes_of_all_datagrams_count() {
        let (client, server) = pair();
        let limit = Arc::new(RateLimit::new(8));
        let server = limit.apply(Arc::new(server));
        let length = 50_000;
        let bytes = vec![0; length];
        for _ in 0..5 {
            client
                .send(&Run {
                    bytes: &bytes,
                    length,
                })
                .unwrap();
            server
                .recv(&mut |packets| assert_eq!(packets.count(), 1))
                .unwrap();
        }
        assert!(!limit.is_exceeded());
        client
            .send(&Run {
                bytes: &bytes,
                length,
            })
            .unwrap();
        server
            .recv(&mut |packets| assert_eq!(packets.count(), 1))
            .unwrap();
        assert!(limit.is_exceeded());
    }

    // goal 6: a server with --rate-limit answers echoes too.
    #[test]
    fn limited_flow_answers_against_the_direction_of_the_data() {
        let (client, server) = pair();
        let server = Arc::new(RateLimit::new(1_000_000)).apply(Arc::new(server));
        assert!(!server.shows_round_trips());
        assert!(server.local_addr().is_some());
        server.reply(&[7; 100]);
        let mut heard = 0;
        client
            .recv(&mut |packets| heard += packets.filter(|p| p.bytes == [7; 100]).count())
            .unwrap();
        assert_eq!(heard, 1);
    }

    #[test]
    fn server_sends_no_more_than_its_limit_at_once() {
        let (client, _server) = pair();
        // 1 Mbit/s: 12,500 bytes in 100 ms, and one datagram of the greatest length.
        let limit = Arc::new(RateLimit::new(1_000_000));
        let client = limit.apply(Arc::new(client));
        let length = 1000;
        let bytes = vec![0; 64 * length];
        let begin = clock::now();
        let mut sent = 0;
        while clock::now() - begin < Duration::from_millis(200) {
            sent += client
                .send(&Run {
                    bytes: &bytes,
                    length,
                })
                .unwrap();
        }
        let passed = (clock::now() - begin).as_secs_f64();
        let most = 12.5 + 65.0 + 125.0 * passed;
        let sent = to_f64(sent as u64);
        assert!(sent >= 77.0 && sent <= most + 1.0, "{sent} of {most}");
    }
}

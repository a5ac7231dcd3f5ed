//! Settings of sockets and listeners, in builder style.

use crate::engine::Engine;
use crate::limits::{CONNECTIONS_PER_SOURCE, MAX_RATE};
use crate::settings::{Buffers, Target, Waiting};
use core::net::SocketAddr;
use core::num::NonZeroU16;
use core::time::Duration;
use dccp_io::Encapsulation;
use dccp_proto::Config;
use dccp_proto::cc::Ccid;
use dccp_proto::cc::law::LawConfig;
use dccp_proto::cc::safeudp::SafeUdpConfig;
use dccp_proto::queue::WhenFull;
use dccp_proto::rate_cap::RateCap;
use dccp_proto::wire::ServiceCode;
use std::io;

/// Settings of a socket, or of a listener and the sockets that it accepts.
///
/// ```
/// use dccp::Options;
/// let options = Options::new().ccid(3).service_code(*b"VIDE").send_buffer(32);
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct Options {
    pub(crate) config: Config,
    is_law_chosen: bool,
    pub(crate) mtu: Option<usize>,
    pub(crate) services: Vec<ServiceCode>,
    pub(crate) encapsulation: Encapsulation,
    pub(crate) bind: Option<SocketAddr>,
    /// The DCCP port of a client; `None`: any that is free.
    pub(crate) client_port: Option<NonZeroU16>,
    /// A listener may have the UDP port of the system-wide service.
    is_system_service: bool,
    pub(crate) engine: Option<Engine>,
    pub(crate) buffers: Buffers,
    pub(crate) waiting: Waiting,
    pub(crate) backlog: usize,
    pub(crate) per_source: usize,
    pub(crate) linger: Duration,
    pub(crate) gso: bool,
    pub(crate) target: Option<Target>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            config: Config {
                connect_timeout: Duration::from_secs(10),
                max_rate: Some(MAX_RATE),
                ..Config::default()
            },
            is_law_chosen: false,
            mtu: None,
            services: Vec::new(),
            encapsulation: Encapsulation::Udp,
            bind: None,
            client_port: None,
            is_system_service: false,
            engine: None,
            buffers: Buffers::default(),
            waiting: Waiting::default(),
            backlog: 128,
            per_source: CONNECTIONS_PER_SOURCE,
            linger: Duration::from_secs(10),
            gso: true,
            target: None,
        }
    }
}

/// Congestion control, reliability of headers, and other things that the two ends negotiate.
impl Options {
    /// The defaults: over UDP, CCID 2 (or 3 if the peer prefers), Service Code 0.
    pub fn new() -> Self {
        Self::default()
    }

    /// The CCID of both directions: no other is accepted.
    pub fn ccid(self, ccid: u8) -> Self {
        self.send_ccids(&[ccid]).recv_ccids(&[ccid])
    }

    /// Adds a CCID of your own, or replaces the built-in one with its number. [`ccid`](Self::ccid) then chooses it.
    /// The peer needs it too. The trait and its types are in the crate `dccp-proto`; see `examples/own-control`.
    pub fn add_ccid(mut self, ccid: impl Ccid + 'static) -> Self {
        self.config.ccids = self.config.ccids.with(ccid);
        self
    }

    /// CCIDs for the data that this end sends, preferred first.
    pub fn send_ccids(mut self, ccids: &[u8]) -> Self {
        self.config.tx_ccids = ccids.to_vec();
        self
    }

    /// CCIDs for the data that the peer sends, preferred first.
    pub fn recv_ccids(mut self, ccids: &[u8]) -> Self {
        self.config.rx_ccids = ccids.to_vec();
        self
    }

    /// The rule for growth and reduction of the window of CCID 2 at this end: the settings of a built-in
    /// law, such as `cubic::Config::default()`, or of one of your own. Reno by default. The peer need not know.
    ///
    /// CCIDs 3 and 4 have no law: if this end sends with them only, the options are refused.
    ///
    /// ```
    /// use dccp::law::cubic;
    ///
    /// let gentle = cubic::Config { beta: 0.8, ..cubic::Config::default() };
    /// let options = dccp::Options::new().ccid(2).law(gentle);
    /// ```
    pub fn law(mut self, law: impl Into<LawConfig>) -> Self {
        self.is_law_chosen = true;
        self.config.law = law.into();
        self
    }

    /// The law need not have a CCID that uses it.
    #[cfg(feature = "unstable")]
    pub(crate) const fn permit_unused_law(mut self) -> Self {
        self.is_law_chosen = false;
        self
    }

    /// Lets clients use this DCCP port.
    #[cfg(feature = "unstable")]
    pub(crate) const fn client_port(mut self, port: NonZeroU16) -> Self {
        self.client_port = Some(port);
        self
    }

    /// Lets listeners use the UDP port of the system-wide service.
    #[cfg(feature = "unstable")]
    pub(crate) const fn permit_system_port(mut self) -> Self {
        self.is_system_service = true;
        self
    }

    /// Whether listeners may use the UDP port of the system-wide service.
    pub(crate) const fn is_system_service(&self) -> bool {
        self.is_system_service
    }

    /// The Service Code (RFC 5595): what a client asks for, or one more that a listener serves.
    pub fn service_code(mut self, code: [u8; 4]) -> Self {
        self.services.push(ServiceCode(u32::from_be_bytes(code)));
        self
    }

    /// Checksum Coverage of sent data, 0 (all) to 15 (RFC 4340 §9.2). Over UDP it is negotiated
    /// but covers nothing less (6773-3.3.1-1).
    pub fn checksum_coverage(mut self, coverage: u8) -> Self {
        self.config.send_cscov = coverage;
        self
    }

    /// The least Checksum Coverage that received data must have, 0 (all) to 15.
    pub fn min_checksum_coverage(mut self, coverage: u8) -> Self {
        self.config.min_cscov = coverage;
        self
    }

    /// Protects data by a CRC of its own, and asks the peer to check it (RFC 4340 §9.3).
    pub fn data_checksum(mut self, on: bool) -> Self {
        self.config.data_checksum = on;
        self
    }

    /// Hands out data whose Data Checksum fails, marked as corrupt.
    pub fn deliver_corrupt(mut self, on: bool) -> Self {
        self.config.deliver_corrupt = on;
        self
    }

    /// The first Sequence Window in packets, 32 to 2^46−1; it follows the rate later.
    pub fn sequence_window(mut self, packets: u64) -> Self {
        self.config.sequence_window = packets;
        self
    }

    /// A fixed Ack Ratio for the data that this end sends; otherwise CCID 2 chooses.
    pub fn ack_ratio(mut self, packets_per_ack: u16) -> Self {
        self.config.ack_ratio = Some(packets_per_ack);
        self
    }

    /// Sends 24-bit sequence numbers where the peer allows them. A guess then hits the window of W packets with
    /// probability W / 2²⁴: N forged Data packets of someone who is not on the path succeed with W·N / 2²⁴ (RFC 4340
    /// §7.5.5). A hit delivers forged data, and may cost a few round trips.
    pub fn short_sequence_numbers(mut self, on: bool) -> Self {
        self.config.short_seqnos = on;
        self
    }

    /// Asks for NDP Counts, and sends them (RFC 4340 §7.7).
    pub fn ndp_count(mut self, on: bool) -> Self {
        self.config.ndp_count = on;
        self
    }

    /// Explicit Congestion Notification. On by default.
    pub fn ecn(mut self, on: bool) -> Self {
        self.config.ecn = on;
        self
    }

    /// Spreads packets over the round trip. On by default.
    pub fn pacing(mut self, on: bool) -> Self {
        self.config.pacing = on;
        self
    }

    /// Keeps to the letter of the RFCs where the defaults depart from it.
    pub fn strict(mut self, on: bool) -> Self {
        self.config.strict = on;
        self
    }

    /// Tests whether a peer of CCID 2 hides losses: now and then no packet carries a sequence number. A peer that reports
    /// such a packet as received gets less, with [`Event::Misreport`](crate::Event::Misreport); at the third time the
    /// connection ends with Reset 11, "Aggression Penalty". On by default; [`strict`](Self::strict) turns it off.
    pub fn audit(mut self, on: bool) -> Self {
        self.config.audit = on;
        self
    }

    /// Tells what the network takes, by [`Event::Rate`](crate::Event::Rate), when that has changed by an eighth; ten times
    /// a second at most, and the newest only.
    pub fn rate_hints(mut self, on: bool) -> Self {
        self.config.rate_hints = on;
        self
    }

    /// Measures the round trip with Timestamp options too.
    pub fn timestamps(mut self, on: bool) -> Self {
        self.config.timestamps = on;
        self
    }

    /// Sends something after this much silence, so that NATs keep their mapping (6773-L-1). Connections that a listener
    /// accepts do so after [`ACCEPTED_KEEPALIVE`](crate::limits::ACCEPTED_KEEPALIVE) by default, others never.
    pub fn keepalive(mut self, after: Duration) -> Self {
        self.config.keepalive = Some(after);
        self
    }

    /// Ends the connection with [`CloseReason::TimedOut`](crate::CloseReason::TimedOut) when the peer has not answered data or
    /// a keepalive for this time; at least 1 s, 90 s by default. [`Event::Silent`](crate::Event::Silent) comes after a quarter
    /// of it. `Duration::MAX`: never.
    pub fn dead_after(mut self, silence: Duration) -> Self {
        self.config.dead_after = Some(silence).filter(|silence| *silence < Duration::MAX);
        self
    }

    /// Ends the connection with [`CloseReason::TimedOut`](crate::CloseReason::TimedOut) when nothing has arrived for this
    /// time, even if no answer was due. Never by default.
    pub fn idle_timeout(mut self, silence: Duration) -> Self {
        self.config.idle_timeout = Some(silence);
        self
    }

    /// The most bits of data per second that CCIDs 3 and 4 send before the peer has reported a loss event; `None`: no bound.
    /// [`MAX_RATE`](crate::limits::MAX_RATE), 100 Mbit/s, by default. With these CCIDs the peer computes the rate of loss
    /// events, and one that hides them would get any rate. Lift the bound for peers that you trust on fast paths.
    pub fn max_rate(mut self, bits_per_s: Option<u64>) -> Self {
        self.config.max_rate = bits_per_s;
        self
    }

    /// Adds a cap on the data that this end sends, beyond congestion control. All sockets with clones of it share it, those
    /// of other engines too. Data beyond it waits in the send buffer.
    ///
    /// ```
    /// use dccp::{Options, RateCap};
    ///
    /// // Both sockets together send at most 10 Mbit/s.
    /// let cap = RateCap::new(10_000_000);
    /// let (video, files) = (Options::new().rate_cap(&cap), Options::new().rate_cap(&cap));
    /// # let _ = (video, files);
    /// ```
    pub fn rate_cap(mut self, cap: &RateCap) -> Self {
        self.config.rate_caps.push(cap.clone());
        self
    }

    /// The network that CCID 248 may assume, and the application's rate and limit of loss. The provisioned profile needs the
    /// capability `CAP_NET_ADMIN`, because it says that the network's operator has reserved the rate.
    pub fn safe_udp(mut self, settings: SafeUdpConfig) -> Self {
        self.config.safe_udp = settings;
        self
    }

    /// The largest packet in bytes, IP header included, that the way to the peer is taken to bear
    /// before the network says otherwise. By default that of the interface, 1500 at most: say more
    /// where all links on the way bear it.
    pub fn mtu(mut self, bytes: usize) -> Self {
        self.mtu = Some(bytes);
        self
    }

    /// Searches for a larger path MTU, and detects black holes (RFC 8899). On by default.
    pub fn probe_mtu(mut self, on: bool) -> Self {
        self.config.probe_pmtu = on;
        self
    }

    /// Changes the core's own settings, which may change in any release.
    #[doc(hidden)]
    pub fn configure(mut self, change: impl FnOnce(&mut Config)) -> Self {
        change(&mut self.config);
        self
    }
}

/// Resources and waiting on this host.
impl Options {
    /// The protocol that carries DCCP. UDP by default.
    pub fn encapsulation(mut self, encapsulation: Encapsulation) -> Self {
        self.encapsulation = encapsulation;
        self
    }

    /// The local address (and, over UDP, port) that a client uses; otherwise the system chooses.
    pub fn bind(mut self, local: SocketAddr) -> Self {
        self.bind = Some(local);
        self
    }

    /// The engine that runs the socket; otherwise the one that the process shares.
    pub fn engine(mut self, engine: &Engine) -> Self {
        self.engine = Some(engine.clone());
        self
    }

    /// How many datagrams wait to be sent at most. 256 by default.
    pub fn send_buffer(mut self, packets: usize) -> Self {
        self.buffers.send_packets = packets;
        self
    }

    /// The bytes that may wait to be sent: a datagram fits while fewer wait, so the last one may exceed the bound. No
    /// bound by default.
    pub fn send_buffer_bytes(mut self, bytes: u64) -> Self {
        self.buffers.send_bytes = bytes;
        self
    }

    /// The greatest age of a datagram that waits to be sent: then it gets the fate [`Expired`](crate::Fate::Expired). No
    /// bound by default. [`SendOptions::lifetime`](crate::SendOptions::lifetime) bounds single datagrams.
    pub fn lifetime(mut self, at_most: Duration) -> Self {
        self.buffers.lifetime = Some(at_most);
        self
    }

    /// Tests whether the path carries this rate: while the program sends less, copies of `filler` make up the
    /// difference. The peer's program must ignore them. Off by default, because they load the network.
    ///
    /// Fillers obey congestion control, leave only when no other datagram waits, and never raise the sum above the
    /// target. Datagrams of rings are not counted. [`Socket::set_target_rate`](crate::Socket::set_target_rate) changes the target.
    pub fn target_rate(mut self, bits_per_s: u64, filler: &[u8]) -> Self {
        self.target = Some(Target {
            bits_per_s,
            filler: filler.to_vec(),
        });
        self
    }

    /// The policy for a full send buffer; by default `send` waits for room. Each datagram can have another one
    /// ([`SendOptions::when_full`](crate::SendOptions::when_full)).
    pub fn when_full(mut self, policy: WhenFull) -> Self {
        self.waiting.when_full = policy;
        self
    }

    /// How many received datagrams wait for the application at most; more are dropped and
    /// reported to the peer (Drop Code 2). 1024 by default.
    pub fn recv_buffer(mut self, packets: usize) -> Self {
        self.buffers.recv_packets = packets;
        self
    }

    /// How many bytes of memory received datagrams that wait for the application take at most; more are dropped and
    /// reported to the peer. 4 MiB by default, at least 64 KiB. [`limits`](crate::limits) has the bounds of a connection that is not accepted yet, of a listener,
    /// of an address and of an engine.
    pub fn recv_buffer_bytes(mut self, bytes: u64) -> Self {
        self.buffers.recv_bytes = bytes;
        self
    }

    /// Keeps the fate of each datagram for [`recv_fates`](crate::Socket::recv_fates): at most `at_most` at a time. The
    /// oldest are dropped and counted. 0, the default, keeps totals only.
    ///
    /// With CCIDs 3 and 4 the peer is then asked for Ack Vectors, which report each datagram. Without them most datagrams
    /// end as [`Sent`](crate::Fate::Sent).
    pub fn fate_buffer(mut self, at_most: usize) -> Self {
        self.buffers.fates = at_most;
        self
    }

    /// Calls return `WouldBlock` instead of waiting, and connecting returns before the handshake. Calls that take a time
    /// limit, and [`close`](crate::Socket::close), still wait.
    pub fn nonblocking(mut self, on: bool) -> Self {
        self.waiting.is_nonblocking = on;
        self
    }

    /// How long sending waits for room in the buffer. For ever by default.
    pub fn send_timeout(mut self, at_most: Duration) -> Self {
        self.waiting.send_timeout = Some(at_most);
        self
    }

    /// How long receiving and accepting wait. For ever by default.
    pub fn recv_timeout(mut self, at_most: Duration) -> Self {
        self.waiting.recv_timeout = Some(at_most);
        self
    }

    /// How long connecting waits for an answer. 10 s by default.
    pub fn connect_timeout(mut self, at_most: Duration) -> Self {
        self.config.connect_timeout = at_most;
        self
    }

    /// How long [`close`](crate::Socket::close) waits for the end of the connection. 10 s by
    /// default.
    pub fn linger(mut self, at_most: Duration) -> Self {
        self.linger = at_most;
        self
    }

    /// How many connections wait to be accepted at most; more are refused as too busy: at their Request, or when their
    /// handshake completes and others were faster (such a client has connected, and is reset). 128 by default.
    pub fn backlog(mut self, connections: usize) -> Self {
        self.backlog = connections;
        self
    }

    /// For listeners: how many connections one address may have (IPv6: one /64), those to other listeners of the engine
    /// included; more are refused as "too busy". 64 by default. Loopback addresses are not limited.
    pub fn connections_per_source(mut self, connections: usize) -> Self {
        self.per_source = connections;
        self
    }

    /// Hands many packets at once to the system and takes many from it (GSO, GRO). On by default;
    /// off where an emulated link must see single packets (docs/design.md, decision 11).
    pub fn segmentation_offload(mut self, on: bool) -> Self {
        self.gso = on;
        self
    }

    /// Asks for, or serves, these Service Codes instead of those given before.
    pub fn service_codes(mut self, codes: &[ServiceCode]) -> Self {
        self.services = codes.to_vec();
        self
    }

    /// The requested engine, or the one that the process shares.
    pub(crate) fn engine_or_shared(&self) -> io::Result<Engine> {
        match &self.engine {
            Some(engine) => Ok(engine.clone()),
            None => Engine::shared(),
        }
    }

    /// The Service Codes to request or to serve: the unspecific one if none was given.
    pub(crate) fn services(&self) -> Vec<ServiceCode> {
        if self.services.is_empty() {
            vec![ServiceCode::NONE]
        } else {
            self.services.clone()
        }
    }
}

mod check;
#[cfg(test)]
mod tests;

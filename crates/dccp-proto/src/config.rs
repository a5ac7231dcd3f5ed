//! Settings, and every bound on memory that a peer can make us use.

use crate::cc::law::LawConfig;
use crate::cc::registry::Ccids;
use crate::cc::safeudp::SafeUdpConfig;
use crate::number::to_f64;
use crate::rate_cap::RateCap;
use crate::time::Rate;
use crate::wire::ServiceCode;
use core::time::Duration;

/// Defines constants, and `ALL` with the name, description and value of each.
#[doc(hidden)]
#[macro_export]
macro_rules! listed {
    ($($(#[doc = $doc:literal])+ pub const $name:ident: $type:ty = $value:expr;)+) => {
        $($(#[doc = $doc])+ pub const $name: $type = $value;)+
        /// Name, description and value of each bound, for programs that print them.
        pub const ALL: &[(&str, &str, &(dyn core::fmt::Debug + Sync))] =
            &[$((stringify!($name), concat!($($doc),+), &$name)),+];
    };
}

/// Bounds on what a peer can make one endpoint store, send or try. The code that enforces a bound says what an
/// overflow does.
pub mod bounds {
    use core::time::Duration;

    listed! {
    /// Ack Vector cells kept per connection (run-length coded, one byte each).
    pub const ACK_VECTOR_CELLS: usize = 16_384;
    /// Consecutive missing packets that an Ack Vector stores. No packet has room to report more: a longer gap clears
    /// the vector.
    pub const MISSING_PACKETS: u64 = 64_000;
    /// Packets that carried an Ack Vector and are not acknowledged yet (RFC 4340 appendix A).
    pub const ACK_RECORDS: usize = 256;
    /// Runs of packets with one Drop Code that are kept to be reported (RFC 4340 §11.7).
    pub const DATA_DROPPED_RUNS: usize = 512;
    /// Numbers before the newest run of arrivals among which repetitions are found (4340-18-6).
    pub const REPLAY_BITS: u64 = 1 << 16;
    /// Packets in flight whose fate is still open.
    pub const IN_FLIGHT_PACKETS: usize = 1 << 20;
    /// Preference-list entries kept per feature.
    pub const FEATURE_VALUES: usize = 32;
    /// Confirm options waiting for the next packet.
    pub const PENDING_CONFIRMS: usize = 32;
    /// Connections in RESPOND per listener before cookies take over.
    pub const RESPOND_PER_LISTENER: usize = 1024;
    /// Redeemed Init Cookies that are remembered in each of two epochs, 16 bytes each; beyond it the next epoch begins
    /// (4340-18-7).
    pub const COOKIES_REDEEMED: usize = 1 << 16;
    /// The time for which a key makes Init Cookies. A cookie is good in its own epoch and in the next one.
    pub const COOKIE_EPOCH: Duration = Duration::from_mins(1);
    /// Connections per endpoint.
    pub const CONNECTIONS: usize = 1 << 20;
    /// Entries in the TIMEWAIT table; the oldest is forgotten first.
    pub const TIME_WAIT: usize = 1 << 16;
    /// Stateless packets waiting to be sent.
    pub const STATELESS_QUEUE: usize = 256;
    /// Buckets that limit the Responses to a prefix (4340-18-5), 8 bytes each.
    pub const PREFIX_BUCKETS: usize = 4096;
    /// Bytes of Responses that a prefix earns a second without Requests, so that clients with short ones get theirs.
    pub const PREFIX_BYTES_PER_S: u32 = 20_000;
    /// Bytes of Responses that a prefix saves at most.
    pub const PREFIX_BYTES_SAVED: u32 = 64_000;
    /// Responses with Init Cookies per second that remain unredeemed. As many more go to prefixes that got
    /// none for `CROWDED_INTERVAL` (4340-18-8).
    pub const UNREDEEMED_PER_S: u32 = 8_192;
    /// Buckets of prefixes that share Responses while too many remain unredeemed, 8 bytes each. A flood that names the addresses
    /// of 512 prefixes then reaches one other prefix of 128.
    pub const CROWDED_BUCKETS: usize = 1 << 16;
    /// The time between two Responses to a prefix while too many remain unredeemed.
    pub const CROWDED_INTERVAL: Duration = Duration::from_millis(250);
    /// Stateless Resets per second (4340-8.1.3-1).
    pub const RESETS_PER_S: u32 = 1024;
    /// Syncs per second and connection in answer to invalid packets (4340-7.5.4-6). Packets with numbers that the peer used
    /// lately have the same limit once more.
    pub const SYNCS_PER_S: u32 = 8;
    /// Events waiting for the application per connection.
    pub const EVENTS: usize = 64;
    /// Loss intervals kept by a CCID 3 sender or receiver.
    pub const LOSS_INTERVALS: usize = 9;
    /// Peers that a circuit breaker of CCID 248 keeps from new connections.
    pub const HELD_OFF: usize = 1024;
    /// Service Codes that one call listens for.
    pub const SERVICE_CODES: usize = 32;
    /// The smallest MTU in bytes that a connection works with (4340-14.1-7): that of point-to-point links tuned for short
    /// delays (RFC 1191 §7). Packets of the handshake fit into it.
    pub const MTU_LEAST: usize = 296;
    /// Bytes of options of a Response with an Init Cookie: what `MTU_LEAST` leaves beside the headers of IPv4, 20 bytes, UDP, 8,
    /// and the Response, 28.
    pub const COOKIE_RESPONSE_OPTIONS: usize = MTU_LEAST - 20 - 8 - 28;
    }
}

/// Settings of one connection.
#[derive(Clone, PartialEq, Debug)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent switches, each named where it is set"
)]
pub struct Config {
    /// The CCIDs that this end has. A list that differs from the default holds CCIDs of your own.
    pub ccids: Ccids,
    /// CCIDs for the data that this end sends, preferred first.
    pub tx_ccids: Vec<u8>,
    /// CCIDs for the data that the peer sends, preferred first.
    pub rx_ccids: Vec<u8>,
    /// Service Code (RFC 5595). For listeners: ignored, see `Endpoint::listen`.
    pub service_code: ServiceCode,
    /// First Sequence Window of this end in packets, 32 … 2^46−1; it follows the rate later.
    pub sequence_window: u64,
    /// Keeps `sequence_window` near five times the packets per round trip (4340-7.5.2-2).
    pub adapt_sequence_window: bool,
    /// How the window of CCID 2 grows and shrinks for the data that this end sends: Reno by
    /// default.
    pub law: LawConfig,
    /// The largest congestion window of CCID 2 in packets, at least 1; `None`: no limit.
    pub max_window: Option<u32>,
    /// The most bits of data per second that CCIDs 3 and 4 send before the peer has reported a loss event; `None`: no bound
    /// (4340-12.3-3).
    pub max_rate: Option<u64>,
    /// Caps on the data that this end sends, each shared with other connections; the first is asked first.
    pub rate_caps: Vec<RateCap>,
    /// The settings of CCID 248 for the data that this end sends.
    pub safe_udp: SafeUdpConfig,
    /// A fixed Ack Ratio for the data that this end sends; `None`: CCID 2 chooses.
    pub ack_ratio: Option<u16>,
    /// Send 24-bit sequence numbers where the peer allows it (RFC 4340 §7.6).
    pub short_seqnos: bool,
    /// Checksum Coverage of sent data packets, 0–15 (4340-9.2-2: the application chooses, 0 by default).
    pub send_cscov: u8,
    /// Minimum Checksum Coverage that this end accepts, 0–15 (RFC 4340 §9.2.1).
    pub min_cscov: u8,
    /// Put Data Checksum on sent data and ask the peer to check it (RFC 4340 §9.3).
    pub data_checksum: bool,
    /// Deliver data whose Data Checksum fails, marked as corrupt (4340-9.3-2).
    pub deliver_corrupt: bool,
    /// Ask the peer for NDP Counts, and send them (RFC 4340 §7.7).
    pub ndp_count: bool,
    /// Ask the peer for Ack Vectors whatever the CCID (RFC 4342 §8): they report for each datagram whether it arrived.
    pub ack_vectors: bool,
    /// Tell the application what the network takes when that changes by an eighth, ten times a second at most.
    pub rate_hints: bool,
    /// Set and read ECN; `false` where the I/O cannot (4340-12.1-3).
    pub ecn: bool,
    /// Spread packets over the round trip.
    pub pacing: bool,
    /// Keep to the letter of the RFCs where our defaults depart from it (`docs/design.md`, decision 8c; AMB-11).
    pub strict: bool,
    /// Test with withheld sequence numbers whether the peer hides losses (CCID 2; 4340-12.3-2). `strict` turns it off.
    pub audit: bool,
    /// Put a Timestamp on acknowledgements, and measure the round trip with its echo.
    pub timestamps: bool,
    /// Maximum segment lifetime (4340-3.4-2).
    pub msl: Duration,
    /// The lowest RTO of CCID 2.
    pub rto_min: Duration,
    /// The longest delay of an acknowledgement (4340-11.3-3).
    pub delayed_ack: Duration,
    /// Granularity of the caller's timers.
    pub granularity: Duration,
    /// Give up connecting after this time (4340-8.1.1-3).
    pub connect_timeout: Duration,
    /// A Sync after this much silence keeps NAT mappings alive (6773-L-1).
    pub keepalive: Option<Duration>,
    /// Ends the connection with `TimedOut` when the peer has been silent for this time although it must answer data or
    /// a Sync; at least 1 s. Meanwhile Syncs ask for a sign of life. `None`: never.
    pub dead_after: Option<Duration>,
    /// Ends the connection with `TimedOut` when nothing has arrived for this time, even if no answer was due.
    pub idle_timeout: Option<Duration>,
    /// MTU of the interface in bytes, IP header included.
    pub mtu: usize,
    /// Search for a larger path MTU with padded Syncs, and detect black holes (RFC 8899).
    pub probe_pmtu: bool,
    /// A listener with more half-open connections than this answers with Init Cookies.
    pub cookie_threshold: usize,
    /// A listener of a known peer that opens first with DCCP-Listen (RFC 5596).
    pub simultaneous_open: bool,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            ccids: Ccids::default(),
            tx_ccids: vec![2, 3],
            rx_ccids: vec![2, 3],
            service_code: ServiceCode::NONE,
            sequence_window: 100,
            adapt_sequence_window: true,
            law: LawConfig::default(),
            max_window: None,
            max_rate: None,
            rate_caps: Vec::new(),
            safe_udp: SafeUdpConfig::default(),
            ack_ratio: None,
            short_seqnos: false,
            send_cscov: 0,
            min_cscov: 0,
            data_checksum: false,
            deliver_corrupt: false,
            ndp_count: false,
            ack_vectors: false,
            rate_hints: false,
            ecn: true,
            pacing: true,
            strict: false,
            audit: true,
            timestamps: false,
            msl: Duration::from_mins(2),
            rto_min: Duration::from_millis(200),
            delayed_ack: Duration::from_millis(200),
            granularity: Duration::from_micros(50),
            connect_timeout: Duration::from_mins(3),
            keepalive: None,
            dead_after: Some(Duration::from_secs(90)),
            idle_timeout: None,
            mtu: 1500,
            probe_pmtu: true,
            cookie_threshold: 256,
            simultaneous_open: false,
        }
    }
}

/// The least `dead_after`: Syncs to a silent peer leave at most eight times a second.
const DEAD_AFTER_MIN: Duration = Duration::from_secs(1);

impl Config {
    /// `max_rate` in bytes.
    pub(crate) fn max_rate(&self) -> Option<Rate> {
        let bytes = |bits| Rate::from_bytes_per_s(to_f64(bits) / 8.0);
        self.max_rate.map(bytes)
    }

    /// Says what contradicts itself.
    ///
    /// # Errors
    /// A sentence that describes the problem to the caller.
    pub fn check(&self) -> Result<(), &'static str> {
        let is_known = |ccids: &[u8]| {
            !ccids.is_empty() && ccids.iter().all(|&ccid| self.ccids.find(ccid).is_some())
        };
        if !is_known(&self.tx_ccids) || !is_known(&self.rx_ccids) {
            return Err("a list of CCIDs is empty or has one that this end does not have");
        }
        // 4340-7.5.2-1
        if !(32..1 << 46).contains(&self.sequence_window) {
            return Err("the sequence window must be from 32 to 2^46 - 1 packets");
        }
        if self.law.check().is_err() {
            return Err("an option of the law is out of its range");
        }
        if self.max_window == Some(0) {
            return Err("the largest window must be at least 1 packet");
        }
        if self.max_rate == Some(0) {
            return Err("the largest rate must be at least 1 bit/s");
        }
        if self.safe_udp.declared_rate == Some(0) {
            return Err("the declared rate must be at least 1 bit/s");
        }
        if self
            .safe_udp
            .loss_limit
            .is_some_and(|ppm| !(1..=1_000_000).contains(&ppm))
        {
            return Err("the loss limit must be from 1 to 1000000 packets per million");
        }
        if self.send_cscov > 15 || self.min_cscov > 15 {
            return Err("checksum coverage must be from 0 to 15");
        }
        if self.service_code == ServiceCode::INVALID {
            return Err("4294967295 is not a service code");
        }
        if !(bounds::MTU_LEAST..=65_535).contains(&self.mtu) {
            return Err("the MTU must be from 296 to 65535 bytes");
        }
        // Multiples of these are added to the time.
        let times = [self.msl, self.rto_min, self.delayed_ack, self.granularity];
        if times.iter().any(|time| *time > Duration::from_hours(1)) {
            return Err("MSL, least RTO, ack delay and granularity must be at most an hour");
        }
        // A timer with one of these intervals must not expire at once.
        let waits = [
            Some(self.msl),
            Some(self.connect_timeout),
            self.keepalive,
            self.idle_timeout,
        ];
        if waits.into_iter().flatten().any(|wait| wait.is_zero()) {
            return Err("MSL, connect timeout, keep-alive and idle timeout must not be zero");
        }
        if self.dead_after.is_some_and(|time| time < DEAD_AFTER_MIN) {
            return Err("dead_after must be at least 1 s");
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_largest_window_has_room_for_a_packet() {
        let mut config = Config {
            max_window: Some(1),
            max_rate: Some(1),
            ..Config::default()
        };
        assert_eq!(config.check(), Ok(()));
        config.max_rate = Some(0);
        assert!(config.check().is_err());
        config.max_rate = None;
        config.max_window = Some(0);
        assert!(config.check().is_err());
    }

    #[test]
    fn message_about_the_mtu_names_its_bound() {
        let config = Config {
            mtu: bounds::MTU_LEAST - 1,
            ..Config::default()
        };
        let message = config.check().unwrap_err();
        let bound = format!("from {} to", bounds::MTU_LEAST);
        assert!(message.contains(&bound), "{message}");
    }

    #[test]
    fn times_are_bounded() {
        const HOUR: Duration = Duration::from_hours(1);
        let sets: [fn(&mut Config, Duration); 4] = [
            |c, t| c.msl = t,
            |c, t| c.rto_min = t,
            |c, t| c.delayed_ack = t,
            |c, t| c.granularity = t,
        ];
        for (i, set) in sets.into_iter().enumerate() {
            let mut config = Config::default();
            set(&mut config, HOUR);
            assert_eq!(config.check(), Ok(()));
            set(&mut config, HOUR + Duration::from_nanos(1));
            assert!(config.check().is_err());
            set(&mut config, Duration::ZERO);
            assert_eq!(config.check().is_ok(), i > 0);
        }
        let sets: [fn(&mut Config, Duration); 3] = [
            |c, t| c.keepalive = Some(t),
            |c, t| c.connect_timeout = t,
            |c, t| c.msl = t.min(HOUR),
        ];
        for set in sets {
            for (time, is_good) in [
                (Duration::ZERO, false),
                (Duration::from_nanos(1), true),
                (Duration::MAX, true),
            ] {
                let mut config = Config::default();
                set(&mut config, time);
                assert_eq!(config.check().is_ok(), is_good, "{time:?}");
            }
        }
    }
}

//! Tests whether the peer reports packets as received that never left (4340-12.3-2).
//!
//! Now and then one sequence number is withheld: it has a record without data, and no packet carries it. An honest peer
//! reports it as not received. A peer that hides losses cannot tell it from a lost packet:
//!
//! ```text
//!   sent         100  101  102   -   104  105
//!   honest        R    R    R    N    R    R     the audit is passed
//!   hides losses  R    R    R    R    R    R     a misreport
//! ```
//!
//! A misreport counts as a congestion event, as a mark does. Failed audits are counted, passed ones are subtracted;
//! the third ends the connection with Reset code 11, "Aggression Penalty". Audits are a round trip apart or more.
//!
//! Only CCID 2 has audits. A receiver of CCID 3 reports loss events, and a number without data is none.

use super::in_flight::{SentPacket, WithheldReport};
use super::{App, Connection, RTT_LEAST, Reset, State};
use crate::event::Event;
use crate::seq::Seq;
use crate::time::Instant;
use crate::wire::ResetCode;
use core::time::Duration;

/// Failed audits, less passed ones, that end the connection.
const FAILURES_MAX: u8 = 3;
/// After this many passed audits without a misreport between them, audits become rare.
const PASSED_FOR_TRUST: u8 = 4;
/// Round trips between audits of a peer that is not trusted yet.
const ROUND_TRIPS_AT_FIRST: u32 = 2;
/// Round trips between rare audits.
const ROUND_TRIPS: u32 = 8;
/// Time between rare audits, where eight round trips are shorter.
const INTERVAL_MIN: Duration = Duration::from_millis(200);
/// Audits are this much rarer while the peer sends data: to its Ack Ratio each looks like a lost acknowledgement.
const FACTOR_BOTH_WAYS: u32 = 4;
/// An audit needs a window of at least this many packets, and half as many in flight.
const WINDOW_MIN: f64 = 8.0;
const PIPE_MIN: u32 = 4;
/// An audit ends after this many quarters of a round trip without a report.
const PATIENCE: u8 = 32;

/// The audits of one connection.
#[derive(Debug)]
pub(super) struct Audit {
    /// State of the random numbers. The peer must not know it, or it would know which numbers are withheld.
    random: u64,
    /// When there is something to do: withhold a number, or read the report on it.
    next_at: Instant,
    /// The newest withheld number.
    withheld: Seq,
    /// How often the report on it may still be missing; 0 if none is awaited.
    patience: u8,
    /// Audits that were passed since the last misreport.
    passed: u8,
    /// Audits that failed, less those that were passed.
    failures: u8,
    /// Datagrams that had arrived when the last audit began, modulo 2^32.
    data_received: u32,
}

impl Audit {
    /// Begins at once, or never.
    pub(super) fn new(seed: u64, now: Instant, is_on: bool) -> Self {
        Self {
            random: seed,
            next_at: if is_on { now } else { Instant::FAR_FUTURE },
            withheld: Seq::ZERO,
            patience: 0,
            passed: 0,
            failures: 0,
            data_received: 0,
        }
    }

    /// Whether an acknowledgement that arrives now gives [`Connection::audit`] something to do.
    #[inline]
    pub(super) fn is_due(&self, now: Instant) -> bool {
        self.next_at <= now
    }

    /// A random number (`SplitMix64`).
    fn random(&mut self) -> u64 {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.random ^ self.random >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    /// Time until the next audit: once to twice the least, so that its place cannot be guessed.
    fn interval(&mut self, rtt: Duration, is_peer_sending: bool) -> Duration {
        let least = if self.passed < PASSED_FOR_TRUST {
            ROUND_TRIPS_AT_FIRST * rtt
        } else {
            (ROUND_TRIPS * rtt).max(INTERVAL_MIN)
        };
        let factor = if is_peer_sending { FACTOR_BOTH_WAYS } else { 1 };
        let least = factor * least;
        least + least.mul_f64(unit(self.random()))
    }
}

/// A number from 0 to 1.
fn unit(random: u64) -> f64 {
    f64::from((random >> 32) as u32) / f64::from(u32::MAX)
}

impl Connection {
    /// Reads the report on the withheld number, or withholds the next. Called with an acknowledgement once
    /// [`Audit::is_due`].
    #[cold]
    pub(super) fn audit(&mut self, now: Instant, app: &mut App<'_>) {
        let rtt = self.rtt_or_default().max(RTT_LEAST);
        if self.audit.patience == 0 {
            return self.begin_audit(now, rtt, app);
        }
        self.audit.patience -= 1;
        match self.in_flight.report_on_withheld(self.audit.withheld) {
            WithheldReport::None if self.audit.patience > 0 => {
                self.audit.next_at = now + rtt / 4;
                return;
            }
            WithheldReport::None => {}
            WithheldReport::NotReceived => self.on_audit_passed(),
            WithheldReport::Received => self.on_misreport(),
        }
        self.audit.patience = 0;
        let is_peer_sending = self.audit.data_received != self.data_received();
        self.audit.next_at = now + self.audit.interval(rtt, is_peer_sending);
    }

    /// Withholds a number, if enough packets are in flight around it.
    fn begin_audit(&mut self, now: Instant, rtt: Duration, app: &mut App<'_>) {
        let has_window = self
            .tx
            .cc
            .packets_per_rtt()
            .is_some_and(|n| n >= WINDOW_MIN);
        let is_possible = self.tx.ccid == 2
            && self.state == State::Open
            && self.in_flight.expects_vectors()
            && has_window
            && self.in_flight.pipe() >= PIPE_MIN
            && self.room_in_peers_window() > 1;
        if !is_possible {
            self.audit.next_at = now + rtt;
            return;
        }
        let seq = self.seqs.next_to_send();
        let packet = SentPacket {
            now,
            seq,
            ccval: 0,
            has_vector: false,
            data: None,
        };
        let record = self.in_flight.record(&packet).withheld();
        self.push_record(now, record, app);
        // To a peer that reads NDP Counts, this number had no data, so no data was lost.
        self.ndp.on_sent(false);
        self.stats.counters.audits += 1;
        self.audit.data_received = self.data_received();
        (self.audit.withheld, self.audit.patience) = (seq, PATIENCE);
        self.audit.next_at = now + rtt;
    }

    /// Datagrams that have arrived, modulo 2^32.
    #[expect(
        clippy::cast_possible_truncation,
        reason = "compared for equality only"
    )]
    fn data_received(&self) -> u32 {
        self.stats.counters.data_received as u32
    }

    fn on_audit_passed(&mut self) {
        self.audit.passed = self.audit.passed.saturating_add(1);
        self.audit.failures = self.audit.failures.saturating_sub(1);
    }

    /// 4340-12.3-1: the acknowledgement has counted as a mark; a Reset is the last resort.
    fn on_misreport(&mut self) {
        self.stats.counters.misreports += 1;
        self.audit.passed = 0;
        self.audit.failures += 1;
        self.tell(Event::Misreport);
        if self.audit.failures >= FAILURES_MAX {
            self.controller_reset = Some(Reset::new(ResetCode::AGGRESSION_PENALTY));
        }
    }
}

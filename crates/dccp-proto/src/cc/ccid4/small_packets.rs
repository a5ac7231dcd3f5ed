//! In what TFRC for small packets differs (RFC 5622 §5, §6.1; RFC 4828 §3).

use crate::cc::ccid3::{Counted, Path, Variant};
use crate::seq::Seq;
use crate::time::Instant;
use core::time::Duration;
use std::collections::VecDeque;

/// The packet size in the equation (5622-5-1).
const SEGMENT: f64 = 1460.0;
/// A TCP segment on the same path has this many bytes more than an application datagram. Our maximum packet
/// size leaves 36 bytes for DCCP's header and options, and 8 for UDP; TCP's header has 20.
const SEGMENT_ROOM: f64 = 24.0;
/// IPv4 and Data headers: with long sequence numbers, and with short ones (5622-5-1).
const HEADERS: f64 = 36.0;
const HEADERS_SHORT: f64 = 32.0;
/// Departures that are remembered: 10 s of them at least.
const DEPARTURES: usize = 1024;

/// TFRC-SP.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct SmallPackets {
    /// Size of a TCP's packets.
    segment: f64,
    headers: f64,
    /// The last data packets of the latest runs, with their departure times; oldest first.
    departures: VecDeque<(Seq, Instant)>,
}

impl Default for SmallPackets {
    fn default() -> Self {
        Self {
            segment: SEGMENT,
            headers: HEADERS,
            departures: VecDeque::new(),
        }
    }
}

impl SmallPackets {
    /// The share of packets of `s` bytes that is application data.
    fn data_share(&self, s: f64) -> f64 {
        s / (s + self.headers)
    }

    /// When the first data packet from `seq` on left, or the last one if there is none so late.
    fn departure(&self, seq: Seq) -> Option<Instant> {
        let at = self.departures.partition_point(|(s, _)| s.is_before(seq));
        let found = self.departures.get(at).or(self.departures.back());
        found.map(|&(_, now)| now)
    }
}

impl Variant for SmallPackets {
    type Meter = ();
    const CCID: u8 = 4;
    // 5622-5-2, 4828-3-2: an application with more than one packet per 10 ms uses CCID 3. The permission to
    // send up to three in 30 ms, for coarse timers, is not used.
    const SPACING: Duration = Duration::from_millis(10);
    // 5622-8.7-1
    const TELLS_DROPS: bool = true;

    // 5622-5-1
    fn rate(&self, s: f64, r: f64, p: f64) -> f64 {
        Path::new(self.segment, r).rate(p) * self.data_share(s)
    }

    fn loss_event_rate(&self, s: f64, r: f64, x: f64) -> f64 {
        Path::new(self.segment, r).loss_event_rate(x / self.data_share(s))
    }

    fn length(interval: &Counted) -> f64 {
        if !interval.is_short {
            interval.data
        } else if interval.is_open {
            // 4828-3-1: an open interval of no length is never the better choice for the mean.
            0.0
        } else {
            // 5622-6.1-1
            (interval.data / interval.drops.max(1.0)).max(1.0)
        }
    }

    #[expect(clippy::cast_precision_loss, reason = "a packet has few bytes")]
    fn on_mps(&mut self, mps: usize) {
        // Where a TCP's segment is smaller, so is the nominal one (RFC 4828 §4).
        self.segment = SEGMENT.min(mps as f64 + SEGMENT_ROOM);
    }

    fn on_header(&mut self, is_short: bool) {
        self.headers = if is_short { HEADERS_SHORT } else { HEADERS };
    }

    fn on_sent(&mut self, last: Seq, now: Instant) {
        if self.departures.len() == DEPARTURES {
            self.departures.pop_front();
        }
        self.departures.push_back((last, now));
    }

    fn is_short(&self, from: Seq, to: Seq, rtt: Duration) -> Option<bool> {
        let time = self.departure(to)? - self.departure(from)?;
        let is_known = self
            .departures
            .front()
            .is_some_and(|(oldest, _)| !oldest.is_after(from));
        // An interval that began before the oldest departure lasted longer than it seems.
        if time > 2 * rtt {
            Some(false)
        } else {
            is_known.then_some(true)
        }
    }
}

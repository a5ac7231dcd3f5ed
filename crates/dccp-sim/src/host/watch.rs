//! Promises of a connection, watched from outside by its snapshots and counters.

use dccp_proto::config::bounds;
use dccp_proto::conn::ConnSnapshot;
use dccp_proto::conn::stats::Stats;
use dccp_proto::{Connection, Instant};

/// What is remembered of a connection to tell whether it keeps its promises.
#[derive(Debug, Default)]
pub(super) struct Watch {
    stats: Stats,
    has_closed: bool,
    broken: Option<String>,
    /// Since when every event was looked at.
    seen_at: Option<Instant>,
    /// The rate that was allowed then.
    rate: f64,
    /// Bytes that the allowed rate has let through and that were not sent.
    credit: f64,
}

impl Watch {
    /// Counters as they were last.
    pub(super) fn stats(&self) -> Stats {
        self.stats
    }

    /// Returns `true` the first time.
    pub(super) fn closes_once(&mut self) -> bool {
        !core::mem::replace(&mut self.has_closed, true)
    }

    /// Looks at a connection after something happened to it and it was drained; if promises are not checked
    /// now, at its counters only.
    pub(super) fn look(&mut self, conn: Option<&Connection>, now: Instant, is_checked: bool) {
        let Some(conn) = conn else { return };
        let stats = conn.stats();
        let sent = stats.counters.data_sent - self.stats.counters.data_sent;
        let bytes = stats.counters.data_bytes_out - self.stats.counters.data_bytes_out;
        self.stats = stats;
        if !is_checked {
            self.seen_at = None;
            return;
        }
        let snapshot = conn.snapshot();
        let result = bounded(&snapshot).and_then(|()| match snapshot.tx_ccid {
            2 => within_window(&snapshot, sent),
            3 | 4 => self.within_rate(&snapshot, now, bytes),
            _ => Ok(()),
        });
        self.seen_at = Some(now);
        if let Err(what) = result {
            self.broken.get_or_insert(format!("{what}: {snapshot:?}"));
        }
    }

    /// # Errors
    /// The first promise that was broken.
    pub(super) fn verdict(&self) -> Result<(), String> {
        self.broken.clone().map_or(Ok(()), Err)
    }

    /// CCID 3 and 4 send no faster than they allow themselves, but for what a round trip without sending lets
    /// them make up for (RFC 5348 §4.6), and a few packets.
    fn within_rate(&mut self, s: &ConnSnapshot, now: Instant, bytes: u64) -> Result<(), String> {
        let Some(rate) = s.tx.rate else { return Ok(()) };
        // RFC 5348 §4.5: a sender that dampens oscillations departs from its rate for a while.
        let momentary = s.tx.inner.iter().find(|(name, _)| *name == "x_inst");
        let rate = momentary.map_or(0.0, |(_, x)| *x).max(rate.bytes_per_s());
        let rtt = s.rtt.map_or(0.2, |rtt| rtt.as_secs_f64());
        let most = rate.max(self.rate) * rtt + 8.0 * to_f64(s.mps as u64);
        // What it had earned before is not known after an event that was not looked at.
        let credit = self.seen_at.map_or(most, |seen_at| {
            self.credit + rate.max(self.rate) * (now - seen_at).as_secs_f64()
        });
        self.rate = rate;
        self.credit = credit.min(most) - to_f64(bytes);
        if self.credit < -most {
            return Err(format!(
                "sent {:.0} bytes more than its rate allows",
                -self.credit
            ));
        }
        Ok(())
    }
}

/// Nothing is sent without a permit: after sending, what is in flight is within the window.
fn within_window(s: &ConnSnapshot, sent: u64) -> Result<(), String> {
    let cwnd = s.tx.cwnd_packets.unwrap_or(f64::INFINITY).max(1.0);
    if sent > 0 && f64::from(s.pipe_packets) > cwnd {
        return Err(format!(
            "{} packets in flight, window {cwnd}",
            s.pipe_packets
        ));
    }
    Ok(())
}

/// What a peer can make us store has a bound.
fn bounded(s: &ConnSnapshot) -> Result<(), String> {
    if s.ack_vector_cells > bounds::ACK_VECTOR_CELLS {
        return Err(format!("{} cells of Ack Vector", s.ack_vector_cells));
    }
    if s.pipe_packets as usize > bounds::IN_FLIGHT_PACKETS {
        return Err(format!("{} packets in flight", s.pipe_packets));
    }
    Ok(())
}

#[expect(
    clippy::cast_precision_loss,
    reason = "byte counts stay far below 2^53"
)]
const fn to_f64(n: u64) -> f64 {
    n as f64
}

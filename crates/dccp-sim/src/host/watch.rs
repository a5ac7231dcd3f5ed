//! Invariants of a connection, checked from outside by its snapshots.

use dccp_proto::config::bounds;
use dccp_proto::conn::ConnSnapshot;
use dccp_proto::number::to_f64;
use dccp_proto::{Connection, Instant};

/// The history of a connection that its invariants need.
#[derive(Debug, Default)]
pub(super) struct Watch {
    /// Totals at the last event.
    sent: Sent,
    has_closed: bool,
    broken: Option<String>,
    /// When the connection was checked last, if each event since then was checked.
    seen_at: Option<Instant>,
    /// The allowed rate at that time.
    rate: f64,
    /// Unused bytes of the allowed rate.
    credit: f64,
}

/// Totals of a connection since it began.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sent {
    pub(super) datagrams: u64,
    pub(super) bytes: u64,
}

impl Watch {
    /// Returns `true` the first time.
    pub(super) fn closes_once(&mut self) -> bool {
        !core::mem::replace(&mut self.has_closed, true)
    }

    /// Updates the totals after an event without a check.
    pub(super) fn skip(&mut self, sent: Sent) {
        self.sent = sent;
        self.seen_at = None;
    }

    /// Checks a connection after an event, once the endpoint has been drained.
    pub(super) fn look(&mut self, conn: Option<&Connection>, now: Instant, sent: Sent) {
        let before = core::mem::replace(&mut self.sent, sent);
        let Some(conn) = conn else { return };
        let datagrams = sent.datagrams - before.datagrams;
        let bytes = sent.bytes - before.bytes;
        let snapshot = conn.snapshot();
        let result = bounded(&snapshot).and_then(|()| match snapshot.tx_ccid {
            2 => within_window(&snapshot, datagrams),
            3 | 4 => self.within_rate(&snapshot, now, bytes),
            _ => Ok(()),
        });
        self.seen_at = Some(now);
        if let Err(what) = result {
            self.broken.get_or_insert(format!("{what}: {snapshot:?}"));
        }
    }

    /// # Errors
    /// The first broken invariant.
    pub(super) fn verdict(&self) -> Result<(), String> {
        self.broken.clone().map_or(Ok(()), Err)
    }

    /// CCIDs 3 and 4 send no faster than their rate, apart from the unused rate of one round trip
    /// (RFC 5348 §4.6) and a few packets.
    fn within_rate(&mut self, s: &ConnSnapshot, now: Instant, bytes: u64) -> Result<(), String> {
        let Some(rate) = s.tx.rate else { return Ok(()) };
        // RFC 5348 §4.5: a sender that dampens oscillations departs from its rate for a while.
        let momentary = s.tx.inner.iter().find(|(name, _)| *name == "x_inst");
        let rate = momentary.map_or(0.0, |(_, x)| *x).max(rate.bytes_per_s());
        let rtt = s.rtt.map_or(0.2, |rtt| rtt.as_secs_f64());
        let most = rate.max(self.rate) * rtt + 8.0 * to_f64(s.mps as u64);
        // After an unchecked event the unused bytes are unknown.
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

/// Packets leave only with a permit: after sending, the packets in flight are within the window.
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

/// The memory that a peer can make us use has a bound.
fn bounded(s: &ConnSnapshot) -> Result<(), String> {
    if s.ack_vector_cells > bounds::ACK_VECTOR_CELLS {
        return Err(format!("{} cells of Ack Vector", s.ack_vector_cells));
    }
    if s.pipe_packets as usize > bounds::IN_FLIGHT_PACKETS {
        return Err(format!("{} packets in flight", s.pipe_packets));
    }
    Ok(())
}

//! Fillers: datagrams that test whether the path carries more than the application sends now.
//!
//! Congestion control learns the path's rate only from the data it carries. While an application sends less than its
//! target, fillers make up the difference. They obey congestion control as all data do, leave only when nothing else
//! waits, and never raise the sum above the target.

use core::num::NonZeroU64;
use core::time::Duration;
use dccp_proto::Instant;
use dccp_proto::number::to_f64;

/// Credit is kept for at most this time: fillers leave in small bursts.
const BURST: Duration = Duration::from_millis(20);
/// The application's excess over the target is kept for at most this time.
const EXCESS: Duration = Duration::from_secs(1);

/// The fillers of one connection.
#[derive(Debug)]
pub(crate) struct Filler {
    bytes_per_s: f64,
    datagram: Vec<u8>,
    /// Bytes that may leave as fillers; negative after the application exceeded the target.
    credit: f64,
    updated: Option<Instant>,
    sent_bytes: u64,
}

impl Filler {
    /// Fills up to this rate, in bits per second, with copies of this datagram. It is not 0, so the next filler always has
    /// a time.
    pub(crate) fn new(bits_per_s: NonZeroU64, datagram: &[u8]) -> Self {
        Self {
            bytes_per_s: to_f64(bits_per_s.get()) / 8.0,
            datagram: datagram.to_vec(),
            credit: 0.0,
            updated: None,
            sent_bytes: 0,
        }
    }

    /// Begins when the connection has sent this many bytes, with the credit of the fillers that it replaces.
    pub(crate) fn begin(&mut self, now: Instant, sent_bytes: u64, replaced: Option<&mut Self>) {
        self.updated = Some(now);
        self.sent_bytes = sent_bytes;
        if let Some(replaced) = replaced {
            replaced.update(now, sent_bytes);
            self.credit = replaced.credit;
        }
    }

    /// The length of a filler in bytes.
    pub(crate) fn len(&self) -> usize {
        self.datagram.len()
    }

    /// The next filler, if one may leave. The connection has sent this many bytes so far.
    pub(crate) fn take(&mut self, now: Instant, sent_bytes: u64) -> Option<&[u8]> {
        self.is_due(now, sent_bytes).then_some(&*self.datagram)
    }

    /// Whether a filler may leave.
    pub(crate) fn is_due(&mut self, now: Instant, sent_bytes: u64) -> bool {
        self.update(now, sent_bytes);
        self.credit >= self.needed()
    }

    /// When the next filler may leave. `None` if one may leave already.
    pub(crate) fn due_at(&mut self, now: Instant, sent_bytes: u64) -> Option<Instant> {
        self.update(now, sent_bytes);
        let missing = self.needed() - self.credit;
        let wait = Duration::try_from_secs_f64(missing / self.bytes_per_s).ok()?;
        // Rounded up, so that the credit is enough then.
        (missing > 0.0).then(|| now + wait + Duration::from_micros(1))
    }

    fn needed(&self) -> f64 {
        to_f64(self.datagram.len() as u64)
    }

    fn update(&mut self, now: Instant, sent_bytes: u64) {
        let elapsed = self.updated.map_or(Duration::ZERO, |at| now - at);
        let sent = to_f64(sent_bytes - self.sent_bytes);
        let most = (self.bytes_per_s * BURST.as_secs_f64()).max(self.needed());
        let least = -self.bytes_per_s * EXCESS.as_secs_f64();
        let credit = self.credit + self.bytes_per_s * elapsed.as_secs_f64() - sent;
        self.credit = credit.clamp(least, most);
        self.updated = Some(now);
        self.sent_bytes = sent_bytes;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: Instant = Instant::from_nanos(1_000_000_000);
    /// 10,000 bytes a second.
    const RATE: NonZeroU64 = NonZeroU64::new(80_000).unwrap();

    /// Bytes of fillers within a second at 80 kbit/s, beside an application that sends `app` bytes every 10 ms.
    fn filled(app: u64) -> u64 {
        let mut filler = Filler::new(RATE, &[0; 100]);
        let (mut sent, mut fillers) = (0, 0);
        for tick in 0..100 {
            let now = START + tick * Duration::from_millis(10);
            sent += app;
            while let Some(datagram) = filler.take(now, sent) {
                sent += datagram.len() as u64;
                fillers += datagram.len() as u64;
            }
        }
        fillers
    }

    #[test]
    fn fillers_make_up_the_difference_to_the_target() {
        assert!((9_700..=10_000).contains(&filled(0)), "{}", filled(0));
        assert!((5_700..=6_000).contains(&filled(40)), "{}", filled(40));
        assert_eq!(filled(100), 0);
        assert_eq!(filled(200), 0);
    }

    #[test]
    fn idle_connection_gets_no_burst() {
        let mut filler = Filler::new(RATE, &[0; 100]);
        assert!(!filler.is_due(START, 0));
        let later = START + Duration::from_mins(1);
        let mut sent = 0;
        while filler.take(later, sent).is_some() {
            sent += 100;
        }
        assert_eq!(sent, 200, "20 ms at the target");
    }

    #[test]
    fn filler_is_due_when_the_credit_is_enough() {
        let mut filler = Filler::new(RATE, &[0; 100]);
        let due = filler.due_at(START, 0).unwrap();
        assert!(due - START >= Duration::from_millis(10));
        assert!(due - START <= Duration::from_millis(11));
        assert!(filler.is_due(due, 0));
        assert_eq!(filler.due_at(due, 0), None);
    }

    #[test]
    fn new_fillers_continue_with_the_credit_of_the_old_ones() {
        let mut filler = Filler::new(RATE, &[0; 100]);
        filler.begin(START, 1_000_000, None);
        let (mut sent, mut fillers) = (1_000_000, 0);
        for tick in 1..=200 {
            let now = START + tick * Duration::from_millis(5);
            let mut next = Filler::new(RATE, &[0; 100]);
            next.begin(now, sent, Some(&mut filler));
            filler = next;
            while let Some(datagram) = filler.take(now, sent) {
                sent += datagram.len() as u64;
                fillers += 1;
            }
        }
        assert!((99..=100).contains(&fillers), "{fillers}");
    }
}

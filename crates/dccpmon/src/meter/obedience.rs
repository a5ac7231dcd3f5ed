//! A sender that follows the advice of CCID 248.

use crate::transport::safeudp::SafeUdpSample;
use core::time::Duration;
use dccp::proto::number::to_f64;
use dccp::safeudp::{Info, SendCode};

/// The rate rises by this factor …
const RISE: f64 = 1.25;
/// … after each of these times without congestion.
const STEP: Duration = Duration::from_secs(1);

/// The rate of an obedient sender. It falls to the advised rate or the cap, and returns to the sender's own in steps once
/// the CCID says that the congestion is over.
pub(super) struct Obedience {
    /// The rate that the sender has by itself, in bits per second.
    own_bps: f64,
    /// The lowered rate; `None`: its own.
    allowed_bps: Option<f64>,
    /// When it rises next; `None` while there is congestion.
    rises_at: Option<Duration>,
}

impl Obedience {
    pub(super) const fn new(own_bps: f64) -> Self {
        Self {
            own_bps,
            allowed_bps: None,
            rises_at: None,
        }
    }

    /// Takes the conclusions since the last look. Returns the lowered rate.
    pub(super) fn look(
        &mut self,
        elapsed: Duration,
        seen: &SafeUdpSample,
        codes: &[SendCode],
    ) -> Option<f64> {
        for code in codes {
            match code {
                SendCode::Congestion {
                    advised_bits_per_s, ..
                } => self.lower(to_f64(*advised_bits_per_s)),
                SendCode::Info(Info::Cleared | Info::Transient) => {
                    self.rises_at.get_or_insert(elapsed + STEP);
                }
                _ => {}
            }
        }
        // Each look finds the cap, although the CCID reports it once.
        if let Some(cap) = seen.cap_bps {
            self.lower(cap);
        }
        let allowed = self.allowed_bps?;
        if self.rises_at.is_some_and(|at| elapsed >= at) {
            self.rises_at = Some(elapsed + STEP);
            let risen = allowed * RISE;
            self.allowed_bps = (risen < self.own_bps).then_some(risen);
        }
        self.allowed_bps
    }

    fn lower(&mut self, bps: f64) {
        let now = self.allowed_bps.unwrap_or(self.own_bps);
        self.allowed_bps = Some(now.min(bps));
        self.rises_at = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dccp::Instant;

    fn advice(bits_per_s: u64) -> SendCode {
        SendCode::Congestion {
            advised_bits_per_s: bits_per_s,
            tfrc_bits_per_s: 0,
            loss_per_billion: 0,
            deadline: Instant::from_nanos(0),
        }
    }

    #[test]
    fn sender_slows_down_at_once_and_returns_in_steps() {
        let mut sender = Obedience::new(10e6);
        let clear = SafeUdpSample::default();
        let mut look =
            |s: u64, codes: &[SendCode]| sender.look(Duration::from_secs(s), &clear, codes);
        assert_eq!(look(1, &[]), None);
        assert_eq!(look(2, &[advice(4_000_000)]), Some(4e6));
        assert_eq!(look(3, &[advice(6_000_000)]), Some(4e6));
        // The CCID goes on to watch: the sender waits.
        assert_eq!(look(8, &[SendCode::Info(Info::Complied)]), Some(4e6));
        assert_eq!(look(9, &[SendCode::Info(Info::Cleared)]), Some(4e6));
        assert_eq!(look(10, &[]), Some(5e6));
        assert_eq!(look(11, &[]), Some(6.25e6));
        assert_eq!(look(12, &[advice(5_000_000)]), Some(5e6));
        assert_eq!(look(20, &[]), Some(5e6));
        look(21, &[SendCode::Info(Info::Transient)]);
        let rates: Vec<_> = (22..27).map(|s| look(s, &[])).collect();
        assert_eq!(rates[0], Some(6.25e6));
        assert_eq!(rates[3..], [None, None]);
    }

    #[test]
    fn sender_stays_below_the_cap() {
        let mut sender = Obedience::new(10e6);
        let capped = SafeUdpSample {
            cap_bps: Some(2e6),
            ..SafeUdpSample::default()
        };
        assert_eq!(sender.look(Duration::from_secs(1), &capped, &[]), Some(2e6));
    }
}

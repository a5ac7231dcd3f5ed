//! The sender of CCID 248 at one moment.

use crate::schema::Missing;
use ::dccp::proto::cc::Snapshot;
use ::dccp::safeudp::Cause;

/// A sender with CCID 248 at one moment. Rates are in bits of application data per second.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub(crate) struct SafeUdpSample {
    /// The name of the state.
    pub(crate) state: &'static str,
    /// The rate that was advised last; `None` before.
    pub(crate) advised_bps: Option<f64>,
    /// The cap; `None` in states that have none. The limit of the start-up is not one.
    pub(crate) cap_bps: Option<f64>,
    /// `X_tfrc`; `None` before the first loss.
    pub(crate) tfrc_bps: Option<f64>,
    /// Packets that went missing since the connection was opened.
    pub(crate) missing: Missing,
    /// Trips of each breaker since the connection was opened, in the order of [`Cause::ALL`].
    pub(crate) trips: [u64; Cause::ALL.len()],
}

/// The state before the sender knows the path.
const START_UP: &str = "start_up";
/// The states with a cap.
const CAPPED: [&str; 2] = ["enforce", "throttled"];

impl SafeUdpSample {
    /// Reads the snapshot of a sender with CCID 248.
    pub(crate) fn of(tx: &Snapshot) -> Self {
        let inner = |name| {
            let mut values = tx.inner.iter();
            values.find(|(known, _)| *known == name).map(|(_, n)| *n)
        };
        let bits = |name| inner(name).map(|bytes: f64| bytes * 8.0);
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "counts are not negative and below 2^53"
        )]
        let count = |name| inner(name).unwrap_or(0.0) as u64;
        let state = tx.phase.unwrap_or(START_UP);
        Self {
            state,
            advised_bps: bits("advised_bytes_per_s"),
            cap_bps: (tx.rate.filter(|_| CAPPED.contains(&state))).map(::dccp::Rate::bits_per_s),
            tfrc_bps: bits("tfrc_bytes_per_s"),
            missing: Missing {
                network_packets: count("lost_network"),
                sending_host_packets: count("lost_sending_host"),
                receiving_host_packets: count("lost_receiving_host"),
                unknown_host_packets: count("lost_host?"),
            },
            trips: Cause::ALL.map(|cause| count(cause.trips_name())),
        }
    }
}

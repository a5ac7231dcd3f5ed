//! CCID 248, SafeUDP: its states, its advice and its trips, as the sender of a flow sees them. `docs/safeudp.md` defines
//! the states, the attribution and the circuit breakers.

use core::fmt;
use dccp_cli::quantity::show as units;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// CCID 248 in one interval of a flow.
#[derive(Serialize, Deserialize, JsonSchema, Clone, PartialEq, Debug, Default)]
#[schemars(deny_unknown_fields)]
pub struct SafeUdpInterval {
    /// The state at the end: `start_up`, `clear`, `host`, `eval`, `advisory`, `enforce`, `throttled`, `open` or
    /// `peer_gone`.
    pub state: String,
    /// The rate of application data that the CCID advises; null unless the state is `advisory`.
    pub advised_bps: Option<f64>,
    /// The cap on application data: the CCID drops what exceeds it. Null without one.
    pub cap_bps: Option<f64>,
    /// The rate that TCP would have at the same loss event rate, `X_tfrc`; null before the first loss.
    pub tfrc_bps: Option<f64>,
    /// Datagrams that the CCID dropped: their fate is `limited`.
    pub dropped_packets: u64,
    /// Packets that left and are missing, according to the acknowledgements.
    pub lost_packets: u64,
    /// The places of missing and marked packets.
    pub missing: Missing,
    /// Trips of circuit breakers.
    pub trips_n: u64,
}

/// The places where the CCID saw packets go missing, or being marked. It decides at the end of each of its intervals.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Copy, PartialEq, Eq, Debug, Default)]
#[schemars(deny_unknown_fields)]
pub struct Missing {
    /// Lost, marked or corrupt in the network.
    pub network_packets: u64,
    /// Lost in the sending host.
    pub sending_host_packets: u64,
    /// Lost in the receiving host, or dropped there for lack of buffers.
    pub receiving_host_packets: u64,
    /// Perhaps lost in the receiving host: its counter counts other flows too. The control counts them as the network's.
    pub unknown_host_packets: u64,
}

impl Missing {
    /// The packets that went missing since the totals were those of `before`.
    pub(crate) const fn since(self, before: Self) -> Self {
        Self {
            network_packets: self.network_packets.saturating_sub(before.network_packets),
            sending_host_packets: self
                .sending_host_packets
                .saturating_sub(before.sending_host_packets),
            receiving_host_packets: self
                .receiving_host_packets
                .saturating_sub(before.receiving_host_packets),
            unknown_host_packets: self
                .unknown_host_packets
                .saturating_sub(before.unknown_host_packets),
        }
    }

    /// The packets of both.
    pub(crate) const fn plus(self, other: Self) -> Self {
        Self {
            network_packets: self.network_packets.saturating_add(other.network_packets),
            sending_host_packets: self
                .sending_host_packets
                .saturating_add(other.sending_host_packets),
            receiving_host_packets: self
                .receiving_host_packets
                .saturating_add(other.receiving_host_packets),
            unknown_host_packets: self
                .unknown_host_packets
                .saturating_add(other.unknown_host_packets),
        }
    }

    /// Those of the two hosts, without the doubtful ones.
    pub(crate) const fn hosts_packets(self) -> u64 {
        self.sending_host_packets
            .saturating_add(self.receiving_host_packets)
    }
}

/// CCID 248 in the whole test. Times count from the begin of the test.
#[derive(Serialize, Deserialize, JsonSchema, Clone, PartialEq, Debug, Default)]
#[schemars(deny_unknown_fields)]
pub struct SafeUdp {
    /// The time in each state.
    pub time_ns: BTreeMap<String, u64>,
    /// The changes of the state, the first ones. The first entry is the state at the begin.
    pub states: Vec<StateChange>,
    /// The least rate of application data that the CCID advised; null if it gave no advice.
    pub advised_min_bps: Option<f64>,
    /// The least cap on application data; null without one.
    pub cap_min_bps: Option<f64>,
    /// The least rate to which the sender slowed down by `--obey`; null if it did not.
    pub obeyed_min_bps: Option<f64>,
    /// Datagrams that the CCID dropped: their fate is `limited`.
    pub dropped_packets: u64,
    /// The places of missing and marked packets.
    pub missing: Missing,
    /// The trips of circuit breakers, the first ones.
    pub trips: Vec<Trip>,
    /// The conclusions of the CCID, the first ones. Equal ones in a row are one entry.
    pub conclusions: Vec<Conclusion>,
    /// Changes, trips and conclusions that are left out, because there were too many.
    pub left_out_n: u64,
    /// The circuit breaker that ended the connection; null if none did.
    pub ended: Option<Ended>,
}

impl SafeUdp {
    /// The most changes of the state that are kept.
    pub(crate) const STATES_MAX: usize = 400;
    /// The most trips that are kept.
    pub(crate) const TRIPS_MAX: usize = 50;
    /// The most conclusions that are kept.
    pub(crate) const CONCLUSIONS_MAX: usize = 100;
    /// The most states.
    pub(crate) const NAMES_MAX: usize = 16;

    /// Whether a peer can have made it.
    pub(crate) fn is_bounded(&self) -> bool {
        self.time_ns.len() <= Self::NAMES_MAX
            && self.states.len() <= Self::STATES_MAX
            && self.trips.len() <= Self::TRIPS_MAX
            && self.conclusions.len() <= Self::CONCLUSIONS_MAX
    }
}

/// A change of the state.
#[derive(Serialize, Deserialize, JsonSchema, Clone, PartialEq, Eq, Debug)]
#[schemars(deny_unknown_fields)]
pub struct StateChange {
    /// Its time, to 10 ms.
    pub at_ns: u64,
    /// The new state.
    pub state: String,
}

/// A trip of a circuit breaker.
#[derive(Serialize, Deserialize, JsonSchema, Clone, PartialEq, Eq, Debug)]
#[schemars(deny_unknown_fields)]
pub struct Trip {
    /// Its time, to 10 ms.
    pub at_ns: u64,
    /// The breaker: `loss`, `unfair`, `feedback`, `stalled` or `unusable`.
    pub cause: String,
}

/// A conclusion of the CCID.
#[derive(Serialize, Deserialize, JsonSchema, Clone, PartialEq, Debug, Default)]
#[schemars(deny_unknown_fields)]
pub struct Conclusion {
    /// The time of the first, to 10 ms.
    pub at_ns: u64,
    /// The time of the last.
    pub last_ns: u64,
    /// The number of equal conclusions in a row.
    pub times_n: u64,
    /// Its name: `transient`, `within_share`, `complied`, `cleared`, `host_tx`, `host_rx`, `congestion`, `limited`,
    /// `dropped`, `refused`, `not_listening` or `blocked`.
    pub code: String,
    /// The rate of the last: what a host can take, the advised rate or the cap. Null for others.
    pub rate_bps: Option<f64>,
    /// `X_tfrc` of the last advice.
    pub tfrc_bps: Option<f64>,
    /// The share of packets lost or marked in the network, of the last advice.
    pub loss_ratio: Option<f64>,
}

/// The end of a connection by a circuit breaker.
#[derive(Serialize, Deserialize, JsonSchema, Clone, PartialEq, Eq, Debug)]
#[schemars(deny_unknown_fields)]
pub struct Ended {
    /// The breaker.
    pub cause: String,
    /// The hold: no new connection to the peer with CCID 248 begins for this time after the end.
    pub hold_ns: u64,
}

impl fmt::Display for Ended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "the circuit breaker of CCID 248 ended the connection ({}): no new one to this peer for {} s",
            self.cause,
            units::seconds(self.hold_ns)
        )
    }
}

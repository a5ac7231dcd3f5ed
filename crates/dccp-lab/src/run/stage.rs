//! The network that a run is played in, as its recorder sees it: the simulator's, or a real one.

use super::outcome::{Datagram, RoundTrip, Totals};
use crate::scenario::plan::{Flow, Machine};
use core::time::Duration;
use dccp_sim::link::LinkStats;
use dccp_sim::machine::HostLosses;

/// The state of a flow's streams at one time.
#[derive(Clone, Debug, Default)]
pub(crate) struct State {
    pub(crate) cwnd_packets: Option<f64>,
    pub(crate) ssthresh_packets: Option<f64>,
    pub(crate) rate_bps: Option<f64>,
    pub(crate) rtt: Option<Duration>,
}

/// A network with the flows of a run. Flows are named by their number in the plan. Directions of links are numbered in
/// the order of the plan: there and back of the first link, then of the second.
pub(crate) trait Stage {
    /// Begins the next stream of a flow.
    fn start(&mut self, number: usize, flow: &Flow);
    /// Ends a flow.
    fn stop(&mut self, number: usize, flow: &Flow);
    /// Finds the streams of accepted connections.
    fn meet(&mut self);
    /// Bytes that the applications of each stream have received.
    fn goodput_of_streams(&self, number: usize, flow: &Flow) -> Vec<u64>;
    /// Sums of a flow.
    fn totals(&self, number: usize, flow: &Flow) -> Totals;
    /// The state of a flow's streams. Windows and rates are sums.
    fn state(&self, number: usize, flow: &Flow) -> State;
    /// Round trips since the last call: those of the transport, or those of pings over UDP.
    fn round_trips(&mut self, number: usize, flow: &Flow) -> Vec<RoundTrip>;
    /// Round trips of a flow's datagrams, measured from their stamps by the clock of their sender. Only DCCP carries
    /// stamps.
    fn stamps(&self, number: usize, flow: &Flow) -> Vec<RoundTrip>;
    /// The datagrams of a flow's streams, if the flow records them.
    fn datagrams(&self, number: usize, flow: &Flow) -> Vec<Vec<Datagram>>;
    /// The reason why a stream of a flow ended before its stop.
    fn broken(&self, number: usize, flow: &Flow) -> Option<String>;
    /// The packets in the queue of a direction.
    fn queue_packets(&mut self, direction: usize) -> u64;
    /// The counters of a direction. The busy time is that until now.
    fn link(&self, direction: usize) -> LinkStats;
    /// The busy time of a machine's processor; `None` if it is not known.
    fn processor(&self, machine: &Machine) -> Option<Duration>;
    /// The received packets that a machine lost before its transports; `None` if they are not known.
    fn host_losses(&self, machine: &Machine) -> Option<HostLosses>;
    /// Events that were simulated; `None` in real time.
    fn events(&self) -> Option<u64>;

    /// Bytes that the applications of a flow have received.
    fn goodput_bytes(&self, number: usize, flow: &Flow) -> u64 {
        self.goodput_of_streams(number, flow).iter().sum()
    }
}

/// Adds to a sum. It becomes unknown with the first unknown part.
pub(crate) fn add_known(sum: &mut Option<u64>, part: Option<u64>) {
    *sum = sum.zip(part).map(|(sum, part)| sum + part);
}

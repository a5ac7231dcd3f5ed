//! What a host tells of its flows, whatever their transport.

use super::Host;
use crate::flow::{FlowId, FlowSample};
use core::net::SocketAddr;
use dccp_proto::Connection;

impl Host {
    /// The flows that others began with this host, in the order of their begin, and who.
    pub fn accepted(&self) -> &[(FlowId, SocketAddr)] {
        &self.accepted
    }

    /// The account of one end of a flow.
    pub fn sample(&self, flow: FlowId) -> FlowSample {
        match flow {
            FlowId::Dccp(number) => self.sample_dccp(number),
            FlowId::Tcp(_) | FlowId::Udp(_) => FlowSample::default(),
        }
    }

    fn sample_dccp(&self, number: usize) -> FlowSample {
        let c = self.stats(number).counters;
        let report = self.report(number);
        let now = self.connection(number).map(Connection::snapshot);
        let rtt = now.as_ref().and_then(|s| s.rtt_sample);
        let cc = now.map(|s| s.tx).unwrap_or_default();
        FlowSample {
            sent: c.data_sent,
            sent_bytes: c.data_bytes_out,
            delivered: c.data_acked + c.data_marked,
            lost: c.data_lost,
            marked: c.data_marked,
            loss_events: cc.loss_events.unwrap_or(0),
            timeouts: c.cc_timeouts,
            received: report.received,
            received_bytes: report.received_bytes,
            received_marked: c.ce_received,
            rtt: rtt.map(|(_, rtt)| rtt),
            cc,
            ..FlowSample::default()
        }
    }
}

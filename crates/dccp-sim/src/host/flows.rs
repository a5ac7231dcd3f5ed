//! The flows of a host, whatever their transport.

use super::Host;
use crate::flow::{FlowId, FlowSample};
use crate::frame::segment::Segment;
use crate::frame::{FrameId, UdpDatagram};
use crate::loss::Loss;
use crate::net::Context;
use crate::source::{App, Arrival, Log, Offered};
use crate::tcp::{self, Target};
use core::net::SocketAddr;
use dccp_proto::Connection;
use dccp_proto::path::Path;

impl Host {
    /// The flows that peers began with this host, with the address of the peer, in the order of their begin.
    pub fn accepted(&self) -> &[(FlowId, SocketAddr)] {
        &self.accepted
    }

    /// The totals of one end of a flow.
    pub fn sample(&self, flow: FlowId) -> FlowSample {
        match flow {
            FlowId::Dccp(number) => self.sample_dccp(number),
            FlowId::Tcp(number) => self.tcp.sample(number),
            FlowId::Udp(number) => self.udp.sample(number),
        }
    }

    /// The datagrams that the source of a flow's application has offered, if it [logs](App::logs).
    pub fn offered(&self, flow: FlowId) -> &[Offered] {
        self.log(flow).offered()
    }

    /// The arrivals at a flow's application, if it [logs](App::logs).
    pub fn arrivals(&self, flow: FlowId) -> &[Arrival] {
        match flow {
            FlowId::Dccp(number) => self.apps.running[number].1.receive.log.arrivals(),
            FlowId::Tcp(_) | FlowId::Udp(_) => self.log(flow).arrivals(),
        }
    }

    /// The record of the application; in DCCP, of its sending half.
    fn log(&self, flow: FlowId) -> &Log {
        match flow {
            FlowId::Dccp(number) => &self.apps.running[number].1.send.log,
            FlowId::Tcp(number) => self.tcp.log(number),
            FlowId::Udp(number) => self.udp.log(number),
        }
    }

    /// Whether a flow has ended: nothing of it will be sent any more.
    pub fn is_over(&self, flow: FlowId) -> bool {
        match flow {
            FlowId::Dccp(number) => self.report(number).is_over,
            FlowId::Tcp(number) => self.tcp.is_over(number),
            FlowId::Udp(number) => self.udp.is_over(number),
        }
    }

    /// Ends a flow without its peer: the host sends nothing more and waits for no answer. A DCCP connection is
    /// reset.
    pub fn abandon(&mut self, context: &mut Context<'_>, flow: FlowId) {
        match flow {
            FlowId::Dccp(number) => self.abort(context, number),
            FlowId::Tcp(number) => self.tcp.abandon(number),
            FlowId::Udp(number) => self.udp.abandon(number),
        }
    }

    /// Listens for TCP on a port; every connection gets such an application.
    pub fn tcp_listen(&mut self, port: u16, config: tcp::Config, app: App) {
        self.tcp.listen(port, config, app);
    }

    /// Connects by TCP.
    pub fn tcp_connect(
        &mut self,
        context: &mut Context<'_>,
        local: SocketAddr,
        remote: SocketAddr,
        config: tcp::Config,
        app: App,
    ) -> FlowId {
        let number = self.tcp.connect(context, local, remote, config, app);
        self.arrange(context);
        FlowId::Tcp(number)
    }

    /// A TCP segment arrived.
    pub(super) fn on_segment(&mut self, context: &mut Context<'_>, id: FrameId, segment: &Segment) {
        let frame = context.frame(id);
        let ecn = frame.ecn;
        match self.tcp.target(&frame.path, segment) {
            // Delivered before the answer leaves, or a capture would show that first.
            Some(Target::Known(number)) => {
                context.deliver(id);
                let work = self.tcp.work_of_ack(context, number);
                self.tcp.on_segment(context, number, segment, ecn);
                context.work(work);
            }
            Some(Target::Listener) => {
                let path = frame.path_of_receiver();
                context.deliver(id);
                if let Some((number, peer)) = self.tcp.accept(context, path, segment) {
                    self.accepted.push((FlowId::Tcp(number), peer));
                }
            }
            None => return context.lose(id, Loss::Stranger),
        }
        self.apps.drained.clear();
        if self.tcp.has_new_timer() {
            self.arrange(context);
        }
    }

    /// Listens for UDP on a port; every peer gets such an application.
    ///
    /// # Panics
    /// When the first peer comes, if the source is a bulk source: nothing would limit it.
    pub fn udp_listen(&mut self, port: u16, app: App) {
        self.udp.listen(port, app);
    }

    /// Begins a flow of UDP.
    ///
    /// # Panics
    /// If the source is a bulk source: nothing would limit it.
    pub fn udp_open(
        &mut self,
        context: &mut Context<'_>,
        local: SocketAddr,
        remote: SocketAddr,
        app: App,
    ) -> FlowId {
        let number = self.udp.open(context, local, remote, app);
        self.arrange(context);
        FlowId::Udp(number)
    }

    /// A datagram of UDP arrived.
    pub(super) fn on_datagram(
        &mut self,
        context: &mut Context<'_>,
        frame: FrameId,
        path: Path,
        datagram: &UdpDatagram,
    ) {
        let ecn = context.frame(frame).ecn;
        if !self.udp.knows(path, datagram) {
            return context.lose(frame, Loss::Stranger);
        }
        context.deliver(frame);
        if let Some(number) = self.udp.on_datagram(context, path, datagram, ecn) {
            let peer = SocketAddr::new(path.remote, datagram.source_port);
            self.accepted.push((FlowId::Udp(number), peer));
        }
        self.apps.drained.clear();
        self.arrange(context);
    }

    fn sample_dccp(&self, number: usize) -> FlowSample {
        let c = self.stats(number).counters;
        let report = self.report(number);
        let fates = report.fates;
        let now = self.connection(number).map(Connection::snapshot);
        let rtt = now.as_ref().and_then(|s| s.rtt_sample);
        let missing = now.as_ref().and_then(|s| s.rx.missing);
        let cc = now.map(|s| s.tx).unwrap_or_default();
        FlowSample {
            sent: c.data_sent,
            sent_bytes: c.data_bytes_out,
            dropped: report.overflowed
                + fates.overflowed
                + fates.expired
                + fates.limited
                + fates.too_big,
            delivered: c.data_acked + c.data_marked,
            lost: c.data_lost,
            missing,
            marked: c.data_marked,
            loss_events: cc.loss_events,
            timeouts: c.cc_timeouts,
            received: report.received,
            received_bytes: report.received_bytes,
            received_corrupt: report.corrupt,
            received_marked: c.ce_received,
            rtt: rtt.map(|(_, rtt)| rtt),
            cc,
            ..FlowSample::default()
        }
    }
}

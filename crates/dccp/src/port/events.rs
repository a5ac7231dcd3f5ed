//! The events of connections: they open, end, and have news for their applications.

use super::Port;
use crate::clock;
use crate::incoming::Accepted;
use crate::shared::Phase;
use dccp_proto::conn::State;
use dccp_proto::wire::ServiceCode;
use dccp_proto::{CloseReason, ConnId, Connection, Event};

impl Port {
    pub(super) fn take_events(&mut self) {
        while let Some((id, event)) = self.endpoint.poll_event() {
            self.on_event(id, event);
        }
    }

    fn on_event(&mut self, id: ConnId, event: Event) {
        match &event {
            Event::Accepted { port, service } => return self.accept(id, *port, *service),
            Event::Closed(reason) => return self.end(id, reason.clone()),
            Event::Connected => {
                let connection = self.endpoint.connection(id);
                let mps = connection.map(Connection::mps);
                if connection.is_some_and(|c| c.send_code(clock::now()).is_some()) {
                    self.links.report_codes(id);
                }
                let mut state = self.links.shared(id).lock();
                state.phase = Phase::Open;
                state.mps = mps;
            }
            Event::Mps(bytes) => self.links.shared(id).lock().mps = Some(*bytes),
            // It is the last one if it ends the connection.
            Event::SafeUdp(code) => self.links.shared(id).lock().send_code = Some(*code),
            Event::PeerNotListening => self.links.shared(id).lock().is_peer_listening = false,
            _ => {}
        }
        let is_complete = event == Event::Connected;
        self.links.shared(id).lock().push_event(event);
        if is_complete {
            self.hand_over(id);
        }
    }

    /// A Request has arrived. Its listener gets the connection when the handshake is complete, so that forged addresses get
    /// no further. A listener without room refuses it at once.
    fn accept(&mut self, id: ConnId, dccp_port: u16, service: ServiceCode) {
        let flow = self.endpoint.connection(id).map(|c| *c.flow());
        let served = self.served.iter().find(|s| {
            s.dccp_port == dccp_port
                && s.services.contains(&service)
                && flow.is_some_and(|f| s.local.is_unspecified() || s.local == f.path.local)
        });
        if let (Some(served), Some(flow)) = (served, flow)
            && served.incoming.admits()
        {
            let accepted = Accepted {
                thread: served.thread,
                opened: self.opened(id, flow),
                service,
                shared: self.links.keep(id, &served.claim).clone(),
            };
            let incoming = served.incoming.clone();
            let mut state = accepted.shared.lock();
            state.adopt(incoming.buffers, incoming.waiting);
            state.rx.account.join(incoming.budget.clone());
            drop(state);
            self.half_open.insert(id, (accepted, incoming));
        } else {
            self.turn_away(id);
        }
    }

    /// Its handshake is complete: if it came in, its listener gets it, if that has still room and its address not too
    /// many connections. They count from here on, because Requests with a forged address get no further.
    fn hand_over(&mut self, id: ConnId) {
        let Some((accepted, incoming)) = self.half_open.remove(&id) else {
            return;
        };
        let from = accepted.opened.flow.path.remote;
        let seat = incoming.seat(self.links.engine(), from);
        let is_taken = seat.is_some_and(|seat| {
            accepted.shared.lock().rx.account.take_seat(seat);
            incoming.push(accepted)
        });
        if !is_taken {
            self.turn_away(id);
        }
    }

    pub(super) fn turn_away(&mut self, id: ConnId) {
        self.endpoint.turn_away(clock::now(), id, &mut self.links);
    }

    pub(super) fn end(&mut self, id: ConnId, reason: CloseReason) {
        let now = clock::now();
        self.half_open.remove(&id);
        let last = self.inspect(id);
        if last
            .as_ref()
            .is_some_and(|l| l.snapshot.state == State::TimeWait)
        {
            self.rests_until = Some(now + 2 * self.msl);
        }
        if let Some(shared) = self.links.remove(id) {
            let source = shared.lock().end(now, reason, last);
            if let Some(source) = source {
                source.dismiss();
            }
            shared.wake();
        }
    }
}

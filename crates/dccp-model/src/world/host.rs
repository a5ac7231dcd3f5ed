//! One end: an endpoint with its application, its clock and its connections.

use super::{SERVER_PORT, Sabotage, Settings};
use crate::app::{Application, SERVICE};
use crate::end::End;
use core::time::Duration;
use dccp_proto::conn::{Connection, State};
use dccp_proto::path::Flow;
use dccp_proto::{Config, ConnId, Endpoint, Event, Instant, KeyedHash, Seq};

/// The first time of a clock.
const BEGIN: Instant = Instant::from_nanos(1_000_000_000);

/// A keyed hash. The attacker of the models does not compute it, so it need not be strong.
struct Mix(u64);

impl KeyedHash for Mix {
    fn hash(&self, data: &[u8]) -> u128 {
        const PRIME: u128 = (1 << 88) + 0x13b;
        let hash = data.iter().fold(u128::from(self.0) + PRIME, |h, &byte| {
            (h ^ u128::from(byte)).wrapping_mul(PRIME)
        });
        hash ^ (hash >> 64).wrapping_mul(PRIME)
    }
}

/// One end.
pub(super) struct Host {
    end: End,
    pub(super) endpoint: Endpoint,
    pub(super) app: Application,
    pub(super) now: Instant,
    pub(super) flow: Flow,
    /// All connections so far, oldest first.
    pub(super) ids: Vec<ConnId>,
    /// The number of its settings, once it has started.
    pub(super) settings: Option<u8>,
    /// The application has closed or aborted.
    pub(super) has_closed: bool,
    /// The last sequence number that it sent.
    pub(super) last_sent: Option<Seq>,
    has_timers: bool,
}

impl Host {
    pub(super) fn new(end: End, flow: Flow, sabotage: Option<Sabotage>) -> Self {
        let mut app = Application::new(end as u8, sabotage == Some(Sabotage::DoublesFates));
        app.receiving.panics = end == End::Server && sabotage == Some(Sabotage::Panics);
        Self {
            end,
            endpoint: Endpoint::new(Box::new(Mix(0x5eed + end as u64))),
            app,
            now: BEGIN,
            flow,
            ids: Vec::new(),
            settings: None,
            has_closed: false,
            last_sent: None,
            has_timers: end == End::Server || sabotage != Some(Sabotage::StopsTimers),
        }
    }

    pub(super) fn has_started(&self) -> bool {
        self.settings.is_some()
    }

    /// Connects or listens.
    pub(super) fn start(&mut self, n: u8, settings: &Settings) {
        self.settings = Some(n);
        let config = Config {
            service_code: SERVICE,
            ..settings.config.clone()
        };
        let (now, flow) = (self.now, self.flow);
        let id = match self.end {
            End::Client => Some(self.endpoint.connect(now, flow, config).ok()),
            End::Server if settings.invites => {
                Some(self.endpoint.open_simultaneously(now, flow, config).ok())
            }
            End::Server => {
                let listening = self.endpoint.listen(SERVER_PORT, &[SERVICE], config);
                listening.expect("the settings are valid");
                None
            }
        };
        if let Some(id) = id {
            self.ids.push(id.expect("the settings are valid"));
        }
    }

    pub(super) fn send(&mut self) {
        self.app.sending.push();
        if let Some(&id) = self.ids.last() {
            self.endpoint.on_data_ready(id);
        }
    }

    pub(super) fn close(&mut self) {
        self.has_closed = true;
        if let Some(&id) = self.ids.last() {
            self.endpoint.close(self.now, id, &mut self.app);
        }
    }

    pub(super) fn abort(&mut self) {
        self.has_closed = true;
        if let Some(&id) = self.ids.last() {
            self.endpoint.abort(self.now, id, &mut self.app);
        }
    }

    /// The connection that is alive.
    pub(super) fn connection(&self) -> Option<&Connection> {
        let connection = self.endpoint.connection(*self.ids.last()?);
        connection.filter(|connection| connection.state().is_alive())
    }

    /// Whether there was a connection, and it is over.
    pub(super) fn has_ended(&self) -> bool {
        !self.ids.is_empty() && self.connection().is_none()
    }

    /// Whether the connection is open, and nothing waits for anything.
    pub(super) fn is_idle(&self) -> bool {
        self.connection().is_some_and(|connection| {
            connection.state() == State::Open
                && self.app.sending.waiting.is_empty()
                && connection.has_settled_features()
                && connection.snapshot().pipe_packets == 0
        })
    }

    /// When the next timer expires.
    pub(super) fn deadline(&self) -> Option<Instant> {
        let connection = self.connection().filter(|_| self.has_timers)?;
        connection.poll_timeout().map(|(at, _)| at)
    }

    /// The time until the next timer expires.
    pub(super) fn time_left(&self) -> Option<Duration> {
        self.deadline().map(|at| at - self.now)
    }

    /// Takes all events. The clock moves on by `pause` when a connection has ended.
    pub(super) fn poll_events(&mut self, pause: Duration) {
        while let Some((id, event)) = self.endpoint.poll_event() {
            match event {
                Event::Accepted { .. } => self.ids.push(id),
                Event::Closed(_) => self.now += pause,
                _ => {}
            }
        }
    }
}

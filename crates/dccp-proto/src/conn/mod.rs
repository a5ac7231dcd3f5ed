//! A connection (RFC 4340 §8): its fields and public calls. The logic is in the other files:
//!
//! - `recv.rs`, `options.rs`: steps 4 to 16 of RFC 4340 §8.5 for an arriving packet
//! - `send.rs`, `send/`: control packets, runs of data packets, acknowledgements
//! - `handshake.rs`, `close.rs`, `state.rs`: opening, closing, and the legal changes of state
//! - `seqno.rs`, `sequence_window.rs`, `reverse_path.rs`, `ndp.rs`: sequence numbers and gaps in them
//! - `replay.rs`, `rollback.rs`: repeated packets; recovery from forged ones
//! - `ack_vector.rs`, `ack_records.rs`, `data_dropped.rs`: reports on arrived packets
//! - `in_flight.rs`, `in_flight/`: sent packets until their fate is known
//! - `audit.rs`: tests of the peer's reports
//! - `features/`, `feature_use.rs`: negotiation of features, and what follows from their values
//! - `cookie_echo.rs`: Init Cookies at a client
//! - `pmtu.rs`, `icmp.rs`: path MTU discovery, ICMP errors
//! - `timers.rs`, `timeout.rs`: named timers, and what happens when one expires
//! - `accounting.rs`, `stats.rs`, `snapshot.rs`, `rate_hint.rs`: what others can see
//! - `fingerprint.rs`: what a model checker compares

mod accounting;
mod ack_records;
mod ack_vector;
mod audit;
mod close;
mod cookie_echo;
mod data_dropped;
mod feature_use;
mod features;
mod fingerprint;
mod handshake;
mod icmp;
mod in_flight;
mod ndp;
mod options;
mod pmtu;
mod rate_hint;
mod recv;
mod replay;
mod reverse_path;
mod rollback;
mod send;
mod seqno;
mod sequence_window;
mod silence;
mod snapshot;
mod state;
pub mod stats;
#[cfg(test)]
mod tests;
mod timeout;
mod timers;

pub use snapshot::ConnSnapshot;
pub use state::{Role, State};
pub use timers::Timer;

use crate::cc::config::{CcConfig, DEFAULT_RTT};
use crate::cc::safeudp::SendCode;
use crate::cc::{HcReceiver, HcSender, HostDrops, HostLossWish};
use crate::config::{Config, bounds};
use crate::event::{CloseReason, Event};
use crate::limiter::Limiter;
use crate::path::Flow;
use crate::queue::{Accepted, Delivery, Fate, Inbox, Offer, Outbox, Slot};
use crate::rate_cap::Departure;
use crate::seq::Seq;
use crate::time::Instant;
use crate::wire::features::Feature;
use crate::wire::{Payload, Place, ResetCode, ServiceCode};
use accounting::ResetLog;
use ack_vector::AckVector;
use close::Closing;
use cookie_echo::Cookies;
use core::time::Duration;
use data_dropped::DataDropped;
use features::Features;
use handshake::Handshake;
use in_flight::InFlight;
use pmtu::Pmtu;
use reverse_path::ReversePath;
use seqno::SeqNos;
use sequence_window::SentPerRtt;
use stats::Stats;
use std::collections::VecDeque;
use std::sync::Arc;
use timers::{Backoff, Timers};

/// No round trip is shorter than this, whatever the peer says: rates are divided by it.
const RTT_LEAST: Duration = Duration::from_micros(1);
/// Sequence Window before it is negotiated (RFC 4340 §7.5.2).
const INITIAL_WINDOW: u64 = Feature::SequenceWindow.info().initial;

/// One end of a DCCP connection, without I/O.
///
/// Its [`Endpoint`](crate::Endpoint) passes it packets, deadlines and the application's requests.
/// Other callers can only read it.
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent facts, each with its own rule"
)]
pub struct Connection {
    flow: Flow,
    role: Role,
    state: State,
    service: ServiceCode,
    config: Arc<Config>,
    seqs: SeqNos,
    features: Features,
    tx: Half<dyn HcSender>,
    rx: Half<dyn HcReceiver>,
    in_flight: InFlight,
    audit: audit::Audit,
    sent_per_rtt: SentPerRtt,
    /// How long to wait for acknowledgements before the next Sync, while data waits for the window.
    resync: Option<Backoff>,
    ack_vector: AckVector,
    data_dropped: DataDropped,
    reverse_path: ReversePath,
    ndp: ndp::NdpCounter,
    pmtu: Pmtu,
    timers: Timers,
    stats: Stats,
    resets: ResetLog,
    sync_limit: Limiter<{ bounds::SYNCS_PER_S }>,
    late_sync_limit: Limiter<{ bounds::SYNCS_PER_S }>,
    reset_limit: Limiter<{ bounds::SYNCS_PER_S }>,
    slow_event_limit: Limiter<1>,
    challenge: Option<rollback::Challenge>,
    due: Due,
    handshake: Handshake,
    closing: Closing,
    /// Smoothed round-trip time of this end.
    rtt: Option<Duration>,
    /// The newest sample, as measured, and when.
    rtt_sample: Option<(Instant, Duration)>,
    /// When a valid packet last arrived, and when any packet last left.
    last_valid: Instant,
    last_sent: Instant,
    /// When the packet that GSR names arrived: Elapsed Time counts from here.
    gsr_arrived: Instant,
    /// A Timestamp that waits for its echo.
    timestamp: Option<Echo>,
    /// Init Cookies of the peer (4340-8.1.4-2).
    cookies: Cookies,
    /// Our Init Cookie, which the Response carries (RFC 4340 §8.1.4).
    init_cookie: Option<Box<[u8]>>,
    /// The data of a Request or Response was taken: of each at most one (4340-8.1.3-4).
    has_handshake_data: bool,
    /// The features that the sending CCID needs have their values.
    has_needs_met: bool,
    /// The peer allowed short sequence numbers and cannot read them.
    is_short_refused: bool,
    is_app_slow: bool,
    /// The peer sent Slow Receiver, and the controller does not know yet.
    is_peer_slow: bool,
    is_peer_listening: bool,
    was_established: bool,
    /// When a CCID changed since then.
    ccid_changed_at: Option<Instant>,
    /// No data leaves before this time (Drop Code 0).
    data_hold: Option<Instant>,
    /// The departure time at the caps that other connections share, if there are any.
    departure: Option<Box<Departure>>,
    /// Scheduled departure of the pending datagram; reported as pacing lateness.
    scheduled: Option<Instant>,
    /// Everything that may leave before the next input has left. `false` if unknown.
    is_drained: bool,
    /// Time of the last `handle_timeout`.
    timed: Instant,
    /// The Reset that a controller requested.
    controller_reset: Option<Reset>,
    /// Events for the application, oldest first.
    events: VecDeque<Event>,
    silence: silence::Silence,
    rate_meter: rate_hint::RateMeter,
}

/// One half-connection's controller.
struct Half<T: ?Sized> {
    ccid: u8,
    cc: Box<T>,
}

/// A Timestamp of the peer (RFC 4340 §13.1).
#[derive(Clone, Copy, Debug)]
struct Echo {
    value: u32,
    /// Of the packet that it came with.
    seq: Seq,
    arrived: Instant,
}

/// Packets that must leave, independent of the application.
#[derive(Clone, Debug, Default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "packets of different types can be due at once"
)]
struct Due {
    listen: bool,
    request: bool,
    response: bool,
    ack: bool,
    /// The next acknowledgement of the peer's acknowledgements (4341-6.2-1).
    ack_of_ack: bool,
    /// A Sync with this Acknowledgement Number.
    sync: Option<Seq>,
    /// The answer to a Sync with this sequence number.
    sync_ack: Option<Seq>,
    close_req: bool,
    close: bool,
    reset: Option<DueReset>,
}

/// The content of a Reset.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Reset {
    pub(crate) code: ResetCode,
    pub(crate) data: [u8; 3],
}

/// A Reset that waits to leave, with its Acknowledgement Number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct DueReset {
    reset: Reset,
    ack: Seq,
    /// Its sequence number, if it is not our next one.
    seq: Option<Seq>,
}

impl DueReset {
    /// One with our next sequence number.
    const fn in_sequence(reset: Reset, ack: Seq) -> Self {
        let seq = None;
        Self { reset, ack, seq }
    }
}

impl Reset {
    /// 4340-5.6-1: of most codes the data are zeros.
    pub(crate) const fn new(code: ResetCode) -> Self {
        Self { code, data: [0; 3] }
    }
}

/// The application's queues during one call.
pub struct App<'a> {
    /// Where data comes from, and where fates go.
    pub outbox: &'a mut dyn Outbox,
    /// Where data goes.
    pub inbox: &'a mut dyn Inbox,
}

/// An application that sends nothing and takes nothing.
pub(crate) struct NoApp;

impl Outbox for NoApp {
    fn peek(&mut self, _now: Instant) -> Option<Offer> {
        None
    }

    fn claim_into(&mut self, _now: Instant, _slot: Slot, _place: &mut Place<'_>) -> bool {
        false
    }

    fn refuse(&mut self, _now: Instant, _slot: Slot, _fate: Fate) {}

    fn on_fate(&mut self, _now: Instant, _slot: Slot, _fate: Fate) {}
}

impl Inbox for NoApp {
    fn deliver(&mut self, _datagram: Payload<'_>, _meta: Delivery) -> Accepted {
        Accepted::NotListening
    }
}

/// Arguments of a new connection.
pub(crate) struct Birth {
    pub(crate) now: Instant,
    pub(crate) flow: Flow,
    pub(crate) role: Role,
    pub(crate) config: Arc<Config>,
    pub(crate) service: ServiceCode,
    pub(crate) iss: Seq,
    /// Seed of the audits, which the peer must not be able to guess.
    pub(crate) audit_seed: u64,
}

impl Connection {
    /// A client in REQUEST: its first [`poll_transmit`](Self::poll_transmit) gives the Request.
    pub(crate) fn client(birth: Birth) -> Self {
        let now = birth.now;
        let mut conn = Self::new(birth, State::Request);
        conn.stats.on_open(conn.role);
        conn.wish_for_features();
        conn.start_request(now);
        conn
    }

    /// A server in RESPOND that is about to be given the Request (step 3 of §8.5).
    pub(crate) fn server(birth: Birth) -> Self {
        let now = birth.now;
        let mut conn = Self::new(birth, State::Respond);
        conn.stats.on_open(conn.role);
        conn.wish_for_features();
        conn.start_respond(now);
        conn
    }

    /// A server that opens first with DCCP-Listen (RFC 5596 §2.2.2).
    pub(crate) fn inviting_server(birth: Birth) -> Self {
        let now = birth.now;
        let mut conn = Self::new(birth, State::Invited);
        conn.start_listen(now);
        conn
    }

    fn new(birth: Birth, state: State) -> Self {
        let Birth {
            now,
            flow,
            role,
            config,
            service,
            iss,
            audit_seed,
        } = birth;
        let mut features = Features::new(role == Role::Server, iss, config.ccids.clone());
        Self::prefer_features(&mut features, &config);
        let pmtu = Pmtu::new(&flow.path, &config);
        let mut in_flight = InFlight::new(iss);
        in_flight.set_large_len(pmtu.large_len());
        let (tx, rx) = (
            config.ccids.first_of(&config.tx_ccids),
            config.ccids.first_of(&config.rx_ccids),
        );
        let cc = CcConfig {
            now,
            mps: pmtu.mps(),
            law: config.law.clone(),
            initial_window: None,
            max_window: config.max_window.unwrap_or(u32::MAX),
            max_rate: config.max_rate(),
            safe_udp: config.safe_udp,
            is_paced: config.pacing,
            ack_ratio: config.ack_ratio,
            is_strict: config.strict,
            rto_min: config.rto_min,
            granularity: config.granularity,
            delayed_ack: config.delayed_ack,
            rtt: None,
        };
        Self {
            flow,
            role,
            state,
            service,
            seqs: SeqNos::new(iss, INITIAL_WINDOW, INITIAL_WINDOW),
            features,
            tx: Half {
                ccid: tx.number(),
                cc: tx.sender(&cc),
            },
            rx: Half {
                ccid: rx.number(),
                cc: rx.receiver(&cc),
            },
            in_flight,
            audit: audit::Audit::new(audit_seed, now, config.audit && !config.strict),
            sent_per_rtt: SentPerRtt::new(now, iss),
            resync: None,
            ack_vector: AckVector::default(),
            data_dropped: DataDropped::default(),
            reverse_path: ReversePath::default(),
            ndp: ndp::NdpCounter::default(),
            pmtu,
            timers: Timers::default(),
            stats: Stats::default(),
            resets: ResetLog::default(),
            sync_limit: Limiter::default(),
            late_sync_limit: Limiter::default(),
            reset_limit: Limiter::default(),
            slow_event_limit: Limiter::default(),
            challenge: None,
            due: Due::default(),
            handshake: Handshake::new(),
            closing: Closing::default(),
            rtt: None,
            rtt_sample: None,
            last_valid: now,
            last_sent: now,
            gsr_arrived: now,
            timestamp: None,
            cookies: Cookies::default(),
            init_cookie: None,
            has_handshake_data: false,
            has_needs_met: false,
            is_short_refused: false,
            is_app_slow: false,
            is_peer_slow: false,
            is_peer_listening: true,
            was_established: false,
            ccid_changed_at: None,
            data_hold: None,
            departure: (!config.rate_caps.is_empty()).then(Box::default),
            scheduled: None,
            is_drained: false,
            timed: Instant::ZERO,
            controller_reset: None,
            events: VecDeque::new(),
            silence: silence::Silence::default(),
            rate_meter: rate_hint::RateMeter::default(),
            config,
        }
    }

    /// The flow that this is.
    pub fn flow(&self) -> &Flow {
        &self.flow
    }

    /// Client or server.
    pub fn role(&self) -> Role {
        self.role
    }

    /// The state (RFC 4340 §8.4).
    pub fn state(&self) -> State {
        self.state
    }

    /// The Service Code of the connection: there is exactly one (4340-8.1.2-1).
    pub fn service(&self) -> ServiceCode {
        self.service
    }

    /// The maximum packet size now, in bytes of application data (4340-14-1).
    pub fn mps(&self) -> usize {
        self.pmtu.mps()
    }

    /// Restarts path MTU discovery from the interface's MTU. Returns `false` if the last start was less
    /// than two seconds ago (RFC 4340 §14.1).
    pub(crate) fn rediscover_pmtu(&mut self, now: Instant, app: &mut App<'_>) -> bool {
        let has_begun = self.pmtu.rediscover(now);
        self.after_input(now, app);
        has_begun
    }

    /// Sets whether this end's application is slow to read. Acknowledgements then carry Slow Receiver
    /// (4340-11.6-2).
    pub fn set_slow_receiver(&mut self, is_slow: bool) {
        self.is_app_slow = is_slow;
    }

    /// Returns the result that a send has now under CCID 248; `None` under others.
    pub fn send_code(&self, now: Instant) -> Option<SendCode> {
        self.tx.cc.send_code(now)
    }

    /// This host failed to send a packet that has a sequence number.
    pub(crate) fn on_send_failed(&mut self) {
        self.tx.cc.on_send_failed(1);
    }

    /// This host has dropped `total` below DCCP.
    pub(crate) fn on_host_losses(&mut self, total: HostDrops) {
        self.rx.cc.on_host_losses(total);
    }

    /// Whether and when the total of dropped packets is wanted again.
    pub(crate) fn host_loss_wish(&self) -> HostLossWish {
        self.rx.cc.host_loss_wish()
    }

    /// The time before which no new connection to this peer may begin, if a circuit breaker ended this one.
    pub(crate) fn hold_off(&self) -> Option<Instant> {
        self.tx.cc.hold_off()
    }

    /// Returns the next event for the application. [`Event::Closed`] comes after the Reset has left.
    pub(crate) fn poll_event(&mut self) -> Option<Event> {
        let has_reset_due = self.due.reset.is_some();
        self.events
            .pop_front_if(|event| !has_reset_due || !matches!(event, Event::Closed(_)))
    }

    /// The maximum segment lifetime of this connection.
    pub(crate) fn msl(&self) -> Duration {
        self.config.msl
    }

    /// The Response of this connection carries an Init Cookie.
    pub(crate) fn set_init_cookie(&mut self, cookie: Vec<u8>) {
        self.init_cookie = Some(cookie.into());
    }

    /// The cookie has been redeemed, so no further Response carries it.
    pub(crate) fn forget_init_cookie(&mut self) {
        self.init_cookie = None;
    }

    /// Whether no packet and no event is left: the endpoint may remove the connection.
    pub(crate) fn is_finished(&self) -> bool {
        !self.state.is_alive() && self.due.reset.is_none() && self.events.is_empty()
    }

    pub(crate) fn rtt_or_default(&self) -> Duration {
        self.rtt.unwrap_or(DEFAULT_RTT)
    }

    fn set_state(&mut self, next: State) {
        assert!(self.state.may_become(next), "{:?} -> {next:?}", self.state);
        self.state = next;
    }

    /// Queues an event. Beyond the bound it replaces the newest one, so that the end of a connection is
    /// always reported. [`Event::Connected`] is never replaced.
    fn tell(&mut self, event: Event) {
        let events = &mut self.events;
        if events.len() >= bounds::EVENTS {
            let newest = events.iter().rposition(|e| *e != Event::Connected);
            newest.map(|index| events.remove(index));
        }
        events.push_back(event);
    }

    fn tell_closed(&mut self, reason: CloseReason) {
        self.tell(Event::Closed(reason));
    }
}

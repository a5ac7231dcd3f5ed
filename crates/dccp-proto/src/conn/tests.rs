//! Connections for the tests of their parts.

use super::features::Features;
use super::in_flight::{Ack, SentPacket};
use super::{App, Birth, Connection, Due, NoApp, Role, State};
use crate::cc::registry::Ccids;
use crate::cc::{
    AckDue, Arrival, Feedback, HcReceiver, HcSender, OutgoingAck, Permit, Run, Signal, Snapshot,
};
use crate::config::{Config, bounds};
use crate::event::Event;
use crate::path::{Encap, Flow, Path};
use crate::queue::{Fate, Offer, Outbox, Slot};
use crate::seq::Seq;
use crate::time::Instant;
use crate::wire::options::Opt;
use crate::wire::{Kind, OptionWriter, Options, Packet, Payload, Place, ResetCode, ServiceCode};
use core::time::Duration;
use std::collections::VecDeque;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

pub(super) const START: Instant = Instant::from_nanos(5_000_000_000);
pub(super) const ISS: Seq = Seq::new(1000);

/// A client in REQUEST that has sent nothing yet.
pub(super) fn client(config: Config) -> Connection {
    let ip = IpAddr::V4(Ipv4Addr::LOCALHOST);
    let path = Path {
        local: ip,
        remote: ip,
        encap: Encap::Ip,
    };
    Connection::client(Birth {
        now: START,
        flow: Flow {
            path,
            local_port: 1,
            remote_port: 2,
        },
        role: Role::Client,
        config: Arc::new(config),
        service: ServiceCode::NONE,
        iss: ISS,
        audit_seed: 1,
    })
}

/// Settings that leave nothing to negotiate.
pub(super) fn config() -> Config {
    Config {
        tx_ccids: vec![2],
        rx_ccids: vec![2],
        ..Config::default()
    }
}

/// A client in OPEN whose Request was acknowledged, without anything to negotiate. Its controllers
/// request nothing.
pub(super) fn open(config: Config) -> Connection {
    let mut conn = client(config);
    conn.state = State::Open;
    conn.due = Due::default();
    conn.features = Features::new(false, ISS, Ccids::default());
    conn.has_needs_met = true;
    conn.seqs.start_receiving(Seq::new(7));
    let request = SentPacket {
        now: START,
        seq: conn.seqs.next_to_send(),
        ccval: 0,
        has_vector: false,
        data: None,
    };
    let record = conn.in_flight.record(&request);
    conn.in_flight.push(record, &mut |_, _| ());
    conn.tx.cc = Box::new(TestSender::default());
    conn.rx.cc = Box::new(TestReceiver(AckDue::No));
    conn
}

/// A sending controller with a fixed permit and an option of `options_len` bytes on all data.
pub(super) struct TestSender {
    pub(super) permit: Permit,
    pub(super) options_len: usize,
    pub(super) timeout: Option<Instant>,
    pub(super) snapshot: Snapshot,
}

impl Default for TestSender {
    fn default() -> Self {
        Self {
            permit: Permit::Now { packets: 100 },
            options_len: 0,
            timeout: None,
            snapshot: Snapshot::default(),
        }
    }
}

impl HcSender for TestSender {
    fn permit(&self, _now: Instant, _pipe: u32) -> Permit {
        self.permit
    }

    fn data_options_len(&self) -> usize {
        self.options_len
    }

    fn packets_per_rtt(&self) -> Option<f64> {
        None
    }

    fn prepare(&mut self, _now: Instant, options: &mut OptionWriter) -> u8 {
        if let Some(len) = self.options_len.checked_sub(2) {
            let option = Opt::CcidSpecific {
                kind: 192,
                data: &[0; 16][..len],
            };
            assert!(options.push(&option).is_ok());
        }
        0
    }

    fn on_sent(&mut self, _run: &Run) {}

    fn on_feedback(&mut self, _now: Instant, _fb: &Feedback<'_>) {}

    fn poll_timeout(&self) -> Option<Instant> {
        self.timeout
    }

    fn on_timeout(&mut self, _now: Instant) -> bool {
        false
    }

    fn poll_signal(&mut self) -> Option<Signal> {
        None
    }

    fn on_rtt_hint(&mut self, _now: Instant, _rtt: Duration) {}

    fn on_mps(&mut self, _mps: usize) {}

    fn snapshot(&self) -> Snapshot {
        self.snapshot.clone()
    }
}

/// A receiving controller that wants its acknowledgements then. They have option 128, which says
/// whether they came with data.
pub(super) struct TestReceiver(pub(super) AckDue);

impl HcReceiver for TestReceiver {
    fn on_packet(&mut self, _p: &Arrival<'_>) {}

    fn ack_due(&self, _now: Instant) -> AckDue {
        self.0
    }

    fn ack_options_len(&self, _now: Instant) -> usize {
        3
    }

    fn on_ack(&mut self, ack: &mut OutgoingAck<'_>) -> bool {
        let option = Opt::CcidSpecific {
            kind: 128,
            data: &[u8::from(ack.has_data)],
        };
        ack.options.push(&option).is_ok()
    }

    fn snapshot(&self) -> Snapshot {
        Snapshot::default()
    }
}

/// Datagrams of these lengths wait. The second field stores the arguments of `prepare`.
pub(super) struct Waiting(VecDeque<usize>, pub(super) Vec<usize>);

impl Waiting {
    pub(super) fn new(lens: &[usize]) -> Self {
        Self(lens.iter().copied().collect(), Vec::new())
    }
}

impl Outbox for Waiting {
    fn peek(&mut self, _now: Instant) -> Option<Offer> {
        self.0.front().map(|&len| offer(len))
    }

    fn prepare(&mut self, datagrams: usize) {
        self.1.push(datagrams);
    }

    fn claim_into(&mut self, _now: Instant, _slot: Slot, _place: &mut Place<'_>) -> bool {
        self.0.pop_front().is_some()
    }

    fn refuse(&mut self, _now: Instant, _slot: Slot, _fate: Fate) {
        self.0.pop_front();
    }

    fn on_fate(&mut self, _now: Instant, _slot: Slot, _fate: Fate) {}
}

pub(super) fn offer(len: usize) -> Offer {
    Offer {
        slot: Slot(0),
        len,
        is_zeros: false,
    }
}

/// An Ack of the last packet, without options.
pub(super) fn ack_of_last(conn: &Connection) -> Ack<'static> {
    Ack {
        seq: Seq::new(9),
        names: conn.seqs.gss,
        elapsed: None,
        is_prompt: false,
        slow_receiver: false,
        acks_lost: 0,
        options: Options::EMPTY,
    }
}

/// An Ack of the peer with these options.
pub(super) fn ack(options: &OptionWriter) -> Packet<'_> {
    Packet {
        source_port: 2,
        dest_port: 1,
        ccval: 0,
        cscov: 0,
        is_short: false,
        seq: Seq::new(7),
        kind: Kind::Ack { ack: ISS },
        options: Options(options.as_slice()),
        payload: Payload::EMPTY,
    }
}

#[test]
fn options_from_128_on_belong_to_the_ccid_of_one_half_connection() {
    // 4340-10.3-1: below 192 to that of our receiver, from there on to that of our sender. CCID 3 knows
    // 128 (RTT Estimate) and 192 (Loss Event Rate), CCID 2 neither, and what is Mandatory must be known.
    for (tx, rx, kind, is_known) in [
        (3, 2, 192, true),
        (3, 2, 128, false),
        (2, 3, 192, false),
        (2, 3, 128, true),
    ] {
        let mut conn = client(Config {
            tx_ccids: vec![tx],
            rx_ccids: vec![rx],
            ..Config::default()
        });
        let mut w = OptionWriter::new(100);
        let option = Opt::CcidSpecific {
            kind,
            data: if kind == 192 { &[0; 4] } else { &[0; 3] },
        };
        assert!(w.push_mandatory(&option).is_ok());
        let refused = conn.process_options(START, &ack(&w)).err();
        let code = (!is_known).then_some(ResetCode::MANDATORY_ERROR);
        assert_eq!(refused.map(|r| r.code), code, "{tx} {rx} {kind}");
    }
}

#[test]
fn closed_event_comes_after_the_reset_has_left() {
    let mut conn = open(config());
    let (mut outbox, mut inbox) = (NoApp, NoApp);
    let mut app = App {
        outbox: &mut outbox,
        inbox: &mut inbox,
    };
    conn.tell(Event::Connected);
    conn.abort(START, &mut app);
    assert_eq!(conn.poll_event(), Some(Event::Connected));
    assert_eq!(conn.poll_event(), None);
    conn.due.reset = None;
    assert!(matches!(conn.poll_event(), Some(Event::Closed(_))));
}

#[test]
fn connection_struct_takes_at_most_2896_bytes() {
    // `tests/memory.rs` bounds what an idle connection keeps in all.
    assert!(
        size_of::<Connection>() <= 2896,
        "{}",
        size_of::<Connection>()
    );
    assert_eq!(size_of::<Option<Instant>>(), size_of::<Instant>());
    assert_eq!(size_of::<Option<Seq>>(), size_of::<Seq>());
}

#[test]
fn connected_event_survives_a_full_queue() {
    let mut conn = open(Config::default());
    while conn.poll_event().is_some() {}
    for _ in 0..bounds::EVENTS {
        conn.tell(Event::SlowReceiver);
    }
    conn.tell(Event::Connected);
    for _ in 0..2 {
        conn.tell(Event::SlowReceiver);
    }
    let told: Vec<_> = core::iter::from_fn(|| conn.poll_event()).collect();
    assert_eq!(told.len(), bounds::EVENTS);
    assert!(told.contains(&Event::Connected));
    assert_eq!(told.last(), Some(&Event::SlowReceiver));
}

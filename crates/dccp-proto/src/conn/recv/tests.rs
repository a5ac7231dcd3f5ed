//! Plain data, which takes a short way, has the effects that the steps have.

use super::super::tests::{ISS, START, Waiting, config, open};
use super::*;
use crate::batch::Batch;
use crate::cc::registry::Ccids;
use crate::conn::Reset;
use crate::queue::Inbox;
use crate::wire::options::FeatureOpt;
use crate::wire::{Opt, OptionWriter, Options};
use core::time::Duration;
use proptest::prelude::*;

/// Says no now and then; keeps what it took.
#[derive(Default, Debug)]
struct Taker(Vec<(usize, Delivery, Accepted)>);

impl Inbox for Taker {
    fn deliver(&mut self, datagram: Payload<'_>, meta: Delivery) -> Accepted {
        let answer = match self.0.len() % 7 {
            3 => Accepted::Full,
            5 => Accepted::NotListening,
            _ => Accepted::Yes,
        };
        self.0.push((datagram.len(), meta, answer));
        answer
    }
}

/// A connection in OPEN with its application.
struct End {
    conn: Connection,
    outbox: Waiting,
    inbox: Taker,
    left: Vec<u8>,
}

impl End {
    fn new(ccid: u8, waiting: usize) -> Self {
        let mut conn = open(config());
        let ccids = Ccids::default();
        let entry = ccids.find(ccid).expect("one of ours");
        conn.rx.cc = entry.receiver(&conn.cc_config(START));
        conn.rx.ccid = ccid;
        Self {
            conn,
            outbox: Waiting::new(&vec![100; waiting]),
            inbox: Taker::default(),
            left: Vec::new(),
        }
    }

    fn with<T>(&mut self, act: impl FnOnce(&mut Connection, &mut App<'_>) -> T) -> T {
        let mut app = App {
            outbox: &mut self.outbox,
            inbox: &mut self.inbox,
        };
        act(&mut self.conn, &mut app)
    }

    fn send(&mut self, now: Instant) {
        let mut batch = Batch::new(8);
        if self.with(|conn, app| conn.poll_transmit(now, app, &mut batch)) {
            self.left.extend_from_slice(batch.bytes());
        }
    }

    /// All that later inputs and outputs depend on, and what has been told.
    fn state(&self) -> String {
        let c = &self.conn;
        let parts = (&c.seqs, &c.ack_vector, &c.reverse_path, &c.data_dropped);
        let others = (&c.features, &c.due, &c.events, &c.timestamp, &c.closing);
        let times = (c.gsr_arrived, c.last_valid, c.poll_timeout());
        let flags = (c.has_needs_met, c.has_handshake_data, c.is_peer_slow);
        let seen = (c.snapshot(), c.stats(), &self.inbox, &self.left);
        format!("{parts:?} {others:?} {times:?} {flags:?} {seen:?}")
    }
}

#[derive(Clone, Debug)]
struct Arriving {
    kind: Kind,
    /// So far from GSR.
    ahead: i64,
    ecn: Ecn,
    cscov: u8,
    ccval: u8,
    is_short: bool,
    options: Vec<u8>,
    len: usize,
}

#[derive(Clone, Debug)]
enum Input {
    Packet(Arriving),
    Send,
    Close,
    /// The application takes back what waits.
    Withdraw,
    /// The features that the controller needs have other values again.
    Need,
    /// A controller asks for a Reset.
    Reset,
    Pass(Duration),
}

fn options() -> impl Strategy<Value = Vec<u8>> {
    let option = |option: Opt<'_>| {
        let mut w = OptionWriter::new(100);
        w.push(&option).expect("there is room");
        w.as_slice().to_vec()
    };
    let window = FeatureOpt {
        feature: Feature::SequenceWindow.number(),
        values: &[0, 0, 0, 0, 1, 0],
    };
    prop_oneof![
        20 => Just(Vec::new()),
        1 => Just(vec![0; 4]),
        1 => Just(option(Opt::ndp_count(3))),
        1 => Just(option(Opt::Timestamp(5))),
        1 => Just(option(Opt::DataChecksum(6))),
        1 => Just(option(Opt::SlowReceiver)),
        1 => Just(option(Opt::ChangeL(window))),
    ]
}

fn arriving() -> impl Strategy<Value = Arriving> {
    let kind = prop_oneof![
        20 => Just(Kind::Data),
        2 => Just(Kind::DataAck { ack: ISS }),
        2 => Just(Kind::Ack { ack: ISS }),
        1 => Just(Kind::Sync { ack: ISS }),
    ];
    let ahead = prop_oneof![12 => Just(1_i64), 2 => 2..5_i64, 2 => -4..1_i64, 1 => -60..120_i64];
    let ecn = prop_oneof![4 => Just(Ecn::Ect0), 1 => Just(Ecn::Ect1), 1 => Just(Ecn::Ce)];
    let fields = (prop_oneof![9 => Just(0_u8), 1 => 1..3_u8], 0..16_u8);
    let is_short = prop_oneof![9 => Just(false), 1 => Just(true)];
    (kind, ahead, ecn, fields, is_short, options(), 0..1400_usize).prop_map(
        |(kind, ahead, ecn, (cscov, ccval), is_short, options, len)| Arriving {
            kind,
            ahead,
            ecn,
            cscov,
            ccval,
            is_short: is_short && kind.packet_type().may_be_short(),
            options,
            len,
        },
    )
}

fn input() -> impl Strategy<Value = Input> {
    prop_oneof![
        60 => arriving().prop_map(Input::Packet),
        8 => Just(Input::Send),
        8 => (0..30_000_000_u64).prop_map(|ns| Input::Pass(Duration::from_nanos(ns))),
        2 => Just(Input::Close),
        1 => Just(Input::Withdraw),
        1 => Just(Input::Need),
        1 => Just(Input::Reset),
    ]
}

fn packet(arriving: &Arriving, gsr: Seq) -> Packet<'_> {
    let far = arriving.ahead.unsigned_abs();
    Packet {
        source_port: 2,
        dest_port: 1,
        ccval: arriving.ccval,
        cscov: arriving.cscov,
        is_short: arriving.is_short,
        seq: if arriving.ahead < 0 {
            gsr.minus(far)
        } else {
            gsr.plus(far)
        },
        kind: arriving.kind,
        options: Options(&arriving.options),
        payload: Payload::Zeros(arriving.len),
    }
}

proptest! {
    #[test]
    fn the_short_way_of_plain_data_does_what_the_steps_do(
        ccid in prop_oneof![Just(2_u8), Just(3), Just(4)],
        waiting in 0..150_usize,
        inputs in prop::collection::vec(input(), 1..120),
    ) {
        let mut now = START;
        let (mut short, mut long) = (End::new(ccid, waiting), End::new(ccid, waiting));
        for input in inputs {
            if !short.conn.state().is_alive() {
                break; // An endpoint gives it nothing any more.
            }
            match &input {
                Input::Packet(arriving) => {
                    let p = packet(arriving, short.conn.seqs.gsr);
                    let ecn = arriving.ecn;
                    short.with(|conn, app| conn.handle_packet(now, &p, ecn, app));
                    long.with(|conn, app| conn.handle(now, &p, ecn, false, app));
                }
                Input::Pass(time) => {
                    now += *time;
                    for end in [&mut short, &mut long] {
                        end.with(|conn, app| conn.handle_timeout(now, app));
                    }
                }
                Input::Send => [&mut short, &mut long].into_iter().for_each(|end| end.send(now)),
                Input::Close => for end in [&mut short, &mut long] {
                    end.with(|conn, app| conn.close(now, app));
                },
                Input::Withdraw => {
                    for end in [&mut short, &mut long] {
                        end.outbox = Waiting::new(&[]);
                    }
                }
                Input::Need => for end in [&mut short, &mut long] {
                    end.conn.has_needs_met = false;
                },
                Input::Reset => for end in [&mut short, &mut long] {
                    end.conn.controller_reset = Some(Reset::new(ResetCode::AGGRESSION_PENALTY));
                },
            }
            prop_assert_eq!(short.state(), long.state(), "{:?}", input);
        }
    }
}

#[test]
fn only_data_and_nothing_else_to_do_is_plain() {
    let data = Arriving {
        kind: Kind::Data,
        ahead: 1,
        ecn: Ecn::Ect0,
        cscov: 0,
        ccval: 0,
        is_short: false,
        options: Vec::new(),
        len: 5,
    };
    let is_plain = |change: fn(&mut Arriving, &mut Connection)| {
        let mut end = End::new(2, 0);
        let mut arriving = data.clone();
        change(&mut arriving, &mut end.conn);
        let gsr = end.conn.seqs.gsr;
        end.conn.is_plain(&packet(&arriving, gsr))
    };
    assert!(is_plain(|_, _| ()));
    assert!(is_plain(|p, _| p.ahead = 1 << 40), "step 6 is not left out");
    assert!(!is_plain(|p, _| p.kind = Kind::DataAck { ack: ISS }));
    assert!(!is_plain(|p, _| p.options = vec![0; 4]));
    assert!(!is_plain(|p, _| p.is_short = true));
    assert!(!is_plain(|_, conn| conn.state = State::PartOpen));
    assert!(!is_plain(|_, conn| conn.closing.is_wanted = true));
    assert!(!is_plain(|_, conn| conn.has_needs_met = false));
    assert!(!is_plain(|_, conn| {
        conn.controller_reset = Some(Reset::new(ResetCode::ABORTED));
    }));
}

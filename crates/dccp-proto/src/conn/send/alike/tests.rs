use super::super::super::NoApp;
use super::super::super::in_flight::{InFlight, SentPacket};
use super::super::super::tests::{START, Waiting, ack, open};
use super::*;
use crate::cc::config::{CcConfig, WindowConfig};
use crate::cc::registry::Ccids;
use crate::cc::{Feedback, HcSender, Outgoing, Permit, Signal, Snapshot};
use crate::config::Config;
use crate::conn::features::Side;
use crate::path::Encap;
use crate::queue::{Fate, Outbox, Slot};
use crate::seq::Seq;
use crate::wire::features::Feature;
use crate::wire::options::Opt;
use crate::wire::{Ecn, Kind, OptionWriter};
use core::time::Duration;
use proptest::prelude::*;
use std::collections::VecDeque;

/// A sender that may want to be told of each packet by itself.
struct Told {
    cc: Box<dyn HcSender>,
    each: bool,
}

impl HcSender for Told {
    fn permit(&self, now: Instant, pipe: u32) -> Permit {
        self.cc.permit(now, pipe)
    }

    fn permit_alike(&self, now: Instant, pipe: u32) -> u32 {
        if self.each {
            0
        } else {
            self.cc.permit_alike(now, pipe)
        }
    }

    fn on_send_alike(&mut self, alike: &Alike) {
        assert!(!self.each, "none was permitted");
        self.cc.on_send_alike(alike);
    }

    fn data_options_len(&self) -> usize {
        self.cc.data_options_len()
    }

    fn packets_per_rtt(&self) -> Option<f64> {
        self.cc.packets_per_rtt()
    }

    fn on_send(&mut self, out: &mut Outgoing<'_>) {
        self.cc.on_send(out);
    }

    fn on_feedback(&mut self, now: Instant, fb: &Feedback<'_>) {
        self.cc.on_feedback(now, fb);
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.cc.poll_timeout()
    }

    fn on_timeout(&mut self, now: Instant) -> bool {
        self.cc.on_timeout(now)
    }

    fn poll_signal(&mut self) -> Option<Signal> {
        self.cc.poll_signal()
    }

    fn on_rtt_hint(&mut self, now: Instant, rtt: Duration) {
        self.cc.on_rtt_hint(now, rtt);
    }

    fn on_mps(&mut self, mps: usize) {
        self.cc.on_mps(mps);
    }

    fn on_feature(&mut self, feature: u8, value: u64) {
        self.cc.on_feature(feature, value);
    }

    fn snapshot(&self) -> Snapshot {
        self.cc.snapshot()
    }
}

/// What the application has to send.
#[derive(Clone, Debug)]
struct Data {
    len: usize,
    is_zeros: bool,
    /// When it is claimed, the application takes it back.
    is_taken_back: bool,
    /// It is copied to its place without being summed.
    is_by_hand: bool,
}

/// An application, and what it was told.
#[derive(Default)]
struct Application {
    waiting: VecDeque<(u32, Data)>,
    log: Vec<String>,
}

impl Outbox for Application {
    fn peek(&mut self, _now: Instant) -> Option<Offer> {
        let (n, data) = self.waiting.front()?;
        Some(Offer {
            slot: Slot(*n),
            len: data.len,
            is_zeros: data.is_zeros,
        })
    }

    fn claim_into(&mut self, _now: Instant, slot: Slot, place: &mut Place<'_>) -> bool {
        let (n, data) = self.waiting.pop_front().unwrap();
        assert_eq!(Slot(n), slot);
        if data.is_taken_back {
            place.bytes_mut().fill(0xAA);
            self.log.push(format!("{n} taken back"));
        } else if !data.is_zeros {
            let others = (0..=u8::MAX).cycle().skip(n as usize % 256);
            let bytes: Vec<_> = others.take(data.len).collect();
            if data.is_by_hand {
                place.bytes_mut().copy_from_slice(&bytes);
            } else {
                place.fill(&bytes);
            }
        }
        !data.is_taken_back
    }

    fn refuse(&mut self, now: Instant, slot: Slot, fate: Fate) {
        self.waiting.pop_front();
        self.on_fate(now, slot, fate);
    }

    fn on_fate(&mut self, _now: Instant, slot: Slot, fate: Fate) {
        self.log.push(format!("{slot:?} {fate:?}"));
    }
}

/// A connection of one sort or another.
#[derive(Clone, Debug)]
struct Setup {
    ccid: u8,
    is_paced: bool,
    rtt_us: u64,
    window: u32,
    sequence_window: u64,
    /// So many numbers before the greatest.
    iss_back: u64,
    encap: Encap,
    config: Config,
    sends_rtt: bool,
    counts_zeros: bool,
}

fn setup() -> impl Strategy<Value = Setup> {
    (
        (2..=4_u8, any::<bool>(), 0..2000_u64, 1..200_u32),
        (prop_oneof![32..500_u64, Just(1 << 30)], 1..400_u64),
        (any::<bool>(), 0..16_u8, any::<bool>(), any::<bool>()),
        (
            any::<bool>(),
            prop::bool::weighted(0.2),
            any::<bool>(),
            any::<bool>(),
        ),
    )
        .prop_map(
            |(
                (ccid, is_paced, rtt_us, window),
                (sequence_window, iss_back),
                (is_over_ip, cscov, sends_rtt, counts_zeros),
                (short_seqnos, data_checksum, ndp_count, ecn),
            )| Setup {
                ccid,
                is_paced,
                rtt_us,
                window,
                sequence_window,
                iss_back,
                encap: if is_over_ip {
                    Encap::Ip
                } else {
                    Encap::Udp {
                        local_port: 1,
                        remote_port: 2,
                    }
                },
                config: Config {
                    // Each packet by itself sees sooner that it should grow.
                    adapt_sequence_window: false,
                    send_cscov: cscov,
                    short_seqnos,
                    data_checksum,
                    ndp_count,
                    ecn,
                    ..Config::default()
                },
                sends_rtt,
                counts_zeros,
            },
        )
}

impl Setup {
    fn connection(&self, each: bool) -> Connection {
        let mut conn = open(self.config.clone());
        conn.flow.path.encap = self.encap;
        let iss = Seq::new((1 << 48) - self.iss_back);
        (conn.seqs.iss, conn.seqs.gss, conn.seqs.gar) = (iss, iss, iss);
        conn.seqs.local_window = self.sequence_window;
        conn.in_flight = InFlight::new(iss);
        conn.in_flight.expect_vectors(true);
        let request = SentPacket {
            now: START,
            seq: iss,
            ccval: 0,
            has_vector: false,
            data: None,
        };
        conn.in_flight.on_send(&request, &mut |_, _| ());
        for (side, feature, value) in [
            (
                Side::Local,
                Feature::AllowShortSeqnos,
                self.config.short_seqnos,
            ),
            (
                Side::Remote,
                Feature::MinChecksumCoverage,
                self.config.send_cscov > 0,
            ),
            (Side::Local, Feature::SendNdpCount, self.config.ndp_count),
        ] {
            conn.features.force(side, feature, u64::from(value));
        }
        let mut cc = Ccids::default().find(self.ccid).unwrap().sender(&CcConfig {
            is_paced: self.is_paced,
            rtt: (self.rtt_us > 0).then(|| Duration::from_micros(self.rtt_us)),
            now: START,
            window: WindowConfig {
                initial: Some(self.window),
                ..WindowConfig::CCID_2
            },
            ..crate::cc::fixtures::config()
        });
        if self.sends_rtt {
            // 6323-3.3-1
            cc.on_feature(128, 1);
        }
        conn.tx.ccid = self.ccid;
        conn.tx.cc = Box::new(Told { cc, each });
        conn
    }
}

/// What happens to a connection.
#[derive(Clone, Debug)]
enum Step {
    Wait(u64),
    Push(Data, usize),
    Poll(usize),
    /// All but so many of the packets are acknowledged.
    Ack(u64),
    /// The next packet is to acknowledge something.
    Owe,
    Close,
}

fn step() -> impl Strategy<Value = Step> {
    let data = (
        prop_oneof![Just(100_usize), Just(0), 1..1400_usize],
        prop::bool::weighted(0.3),
        prop::bool::weighted(0.1),
        any::<bool>(),
    )
        .prop_map(|(len, is_zeros, is_taken_back, is_by_hand)| Data {
            len,
            is_zeros,
            is_taken_back,
            is_by_hand,
        });
    prop_oneof![
        5 => (1..5000_u64).prop_map(Step::Wait),
        6 => (data, 1..90_usize).prop_map(|(data, n)| Step::Push(data, n)),
        6 => (1..64_usize).prop_map(Step::Poll),
        5 => (0..20_u64).prop_map(Step::Ack),
        1 => Just(Step::Owe),
        1 => Just(Step::Close),
    ]
}

/// The cells of a vector that says so of this many packets, or of the newest 512.
fn all_received(packets: u64) -> Vec<u8> {
    let packets = packets.min(512);
    let last = u8::try_from((packets - 1) % 64).unwrap();
    (0..(packets - 1) / 64).map(|_| 63).chain([last]).collect()
}

/// What leaves, and what is known after each step.
fn play(setup: &Setup, steps: &[Step], each: bool) -> (Vec<(Vec<u8>, usize)>, Vec<String>) {
    let mut conn = setup.connection(each);
    let mut application = Application::default();
    let (mut now, mut pushed, mut acks) = (START, 0, 0);
    let (mut sent, mut known) = (Vec::new(), Vec::new());
    for step in steps {
        if !conn.state().is_alive() {
            break;
        }
        if let Step::Push(data, n) = step {
            for i in 0..*n {
                pushed += 1;
                let mut data = data.clone();
                data.is_taken_back &= i % 5 == 3;
                application.waiting.push_back((pushed, data));
            }
        }
        let mut app = App {
            outbox: &mut application,
            inbox: &mut NoApp,
        };
        match *step {
            Step::Push(..) => {}
            Step::Wait(us) => {
                now += Duration::from_micros(us);
                conn.handle_timeout(now, &mut app);
            }
            Step::Poll(segments) => {
                let mut batch = if setup.counts_zeros {
                    Batch::for_simulation(segments)
                } else {
                    Batch::new(segments)
                };
                while conn.poll_transmit(now, &mut app, &mut batch) {
                    for datagram in batch.datagrams() {
                        let rule = conn.flow.path.checksum_rule();
                        assert!(wire::parse(&datagram, rule).is_ok());
                        sent.push((datagram.bytes.to_vec(), datagram.zeros));
                    }
                    batch.clear();
                }
            }
            Step::Ack(but) => {
                let named = conn.seqs.gss.minus(but);
                if named.is_before(conn.seqs.gar) {
                    continue;
                }
                acks += 1;
                let mut options = OptionWriter::new(100);
                let cells = &all_received(named.steps_from(conn.seqs.iss) + 1);
                let vector = Opt::AckVector {
                    nonce: false,
                    cells,
                };
                assert!(options.push(&vector).is_ok());
                let mut packet = ack(&options);
                packet.seq = Seq::new(7 + acks);
                packet.kind = Kind::Ack { ack: named };
                conn.handle_packet(now, &packet, Ecn::NotEct, &mut app);
            }
            Step::Owe => conn.due.ack = true,
            Step::Close => conn.close(now, &mut app),
        }
        known.push(format!(
            "{:?} {:?} {:?} {:?} {:?} {:?} {:?} {:?}",
            conn.stats(),
            conn.tx.cc.snapshot(),
            conn.in_flight.last(),
            conn.in_flight.mean_size(),
            conn.timers,
            conn.seqs,
            conn.due,
            conn.state(),
        ));
    }
    known.append(&mut application.log);
    (sent, known)
}

proptest! {
    #[test]
    fn packets_built_together_are_as_if_each_were_built(
        setup in setup(),
        steps in prop::collection::vec(step(), 1..60),
    ) {
        let each = play(&setup, &steps, true);
        let together = play(&setup, &steps, false);
        prop_assert_eq!(each, together);
    }
}

#[test]
fn data_of_one_length_are_appended_together() {
    let mut conn = open(Config::default());
    let mut waiting = Waiting::new(&[100, 100, 100, 80]);
    let mut batch = Batch::new(8);
    let mut app = App {
        outbox: &mut waiting,
        inbox: &mut NoApp,
    };
    assert!(conn.send_data(START, &mut app, &mut batch));
    assert_eq!(batch.len(), 3);
    // A shorter one may be the last.
    assert!(conn.send_data(START, &mut app, &mut batch) || batch.len() == 4);
    assert_eq!(batch.len(), 4);
}

#[test]
fn a_change_does_not_wait_for_the_end_of_the_data() {
    let mut conn = open(Config::default());
    let mut waiting = Waiting::new(&[100; 2]);
    let mut batch = Batch::new(8);
    let mut app = App {
        outbox: &mut waiting,
        inbox: &mut NoApp,
    };
    while conn.send_data(START, &mut app, &mut batch) {}
    assert_eq!(batch.len(), 2);

    conn.features
        .change_number(Feature::SequenceWindow, 1 << 20);
    let mut waiting = Waiting::new(&[100; 2]);
    let mut app = App {
        outbox: &mut waiting,
        inbox: &mut NoApp,
    };
    assert!(!conn.send_data(START, &mut app, &mut batch));
    assert_eq!(batch.len(), 2, "it opens a batch of its own");
}

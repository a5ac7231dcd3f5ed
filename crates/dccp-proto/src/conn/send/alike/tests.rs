use super::super::super::NoApp;
use super::super::super::tests::{ISS, START, Waiting, ack, open};
use super::*;
use crate::cc::config::{CcConfig, WindowConfig};
use crate::cc::registry::find;
use crate::cc::{Feedback, HcSender, Outgoing, Permit, Signal, Snapshot};
use crate::config::Config;
use crate::path::Encap;
use crate::seq::Seq;
use crate::wire::features::Feature;
use crate::wire::options::Opt;
use crate::wire::{Ecn, Kind, OptionWriter};
use core::time::Duration;
use proptest::prelude::*;

/// A sender that wants to be told of each packet by itself.
struct OneByOne(Box<dyn HcSender>);

impl HcSender for OneByOne {
    fn permit(&self, now: Instant, pipe: u32) -> Permit {
        self.0.permit(now, pipe)
    }

    fn permit_alike(&self, _now: Instant, _pipe: u32) -> u32 {
        0
    }

    fn on_send_alike(&mut self, _alike: &Alike) {
        panic!("none was permitted");
    }

    fn packets_per_rtt(&self) -> Option<f64> {
        self.0.packets_per_rtt()
    }

    fn on_send(&mut self, out: &mut Outgoing<'_>) {
        self.0.on_send(out);
    }

    fn on_feedback(&mut self, now: Instant, fb: &Feedback<'_>) {
        self.0.on_feedback(now, fb);
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.0.poll_timeout()
    }

    fn on_timeout(&mut self, now: Instant) -> bool {
        self.0.on_timeout(now)
    }

    fn poll_signal(&mut self) -> Option<Signal> {
        self.0.poll_signal()
    }

    fn on_rtt_hint(&mut self, now: Instant, rtt: Duration) {
        self.0.on_rtt_hint(now, rtt);
    }

    fn on_mps(&mut self, mps: usize) {
        self.0.on_mps(mps);
    }

    fn snapshot(&self) -> Snapshot {
        self.0.snapshot()
    }
}

/// A connection with CCID 2 that paces.
fn connection(encap: Encap, is_one_by_one: bool) -> Connection {
    let mut conn = open(Config {
        adapt_sequence_window: false,
        ..Config::default()
    });
    conn.flow.path.encap = encap;
    conn.in_flight.expect_vectors(true);
    conn.seqs.local_window = 400;
    let cc = find(2).map(|entry| {
        (entry.sender)(&CcConfig {
            is_paced: true,
            rtt: Some(Duration::from_millis(1)),
            now: START,
            window: WindowConfig {
                initial: Some(60),
                ..WindowConfig::CCID_2
            },
            ..crate::cc::fixtures::config()
        })
    });
    let cc = cc.expect("CCID 2");
    conn.tx.cc = if is_one_by_one {
        Box::new(OneByOne(cc))
    } else {
        cc
    };
    conn
}

/// What happens to a connection.
#[derive(Clone, Debug)]
enum Step {
    Wait(u64),
    Push(usize, usize),
    Poll(usize),
    /// All but so many of the packets are acknowledged.
    Ack(u64),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        (1..2000_u64).prop_map(Step::Wait),
        (
            prop_oneof![Just(100_usize), Just(0), 1..200_usize],
            1..80_usize
        )
            .prop_map(|(len, n)| Step::Push(len, n)),
        (8..64_usize).prop_map(Step::Poll),
        (0..20_u64).prop_map(Step::Ack),
    ]
}

/// The cells of a vector that says so of this many packets, or of the newest 512.
fn all_received(packets: u64) -> Vec<u8> {
    let packets = packets.min(512);
    let last = u8::try_from((packets - 1) % 64).unwrap();
    (0..(packets - 1) / 64).map(|_| 63).chain([last]).collect()
}

/// What leaves, and what is known at the end.
fn play(mut conn: Connection, steps: &[Step]) -> (Vec<Vec<u8>>, String) {
    let mut waiting = Waiting::new(&[]);
    let mut now = START;
    let mut acks = 0;
    let mut sent = Vec::new();
    for step in steps {
        let mut app = App {
            outbox: &mut waiting,
            inbox: &mut NoApp,
        };
        match *step {
            Step::Wait(us) => now += Duration::from_micros(us),
            Step::Push(len, n) => waiting.extend(len, n),
            Step::Poll(segments) => {
                let mut batch = Batch::new(segments);
                while conn.poll_transmit(now, &mut app, &mut batch) {
                    sent.extend(batch.datagrams().map(|d| d.bytes.to_vec()));
                    batch.clear();
                }
            }
            Step::Ack(but) => {
                let named = Seq::new(conn.seqs.gss.value() - but);
                if named.is_before(conn.seqs.gar) {
                    continue;
                }
                acks += 1;
                let mut options = OptionWriter::new(100);
                let cells = all_received(named.steps_from(ISS) + 1);
                let vector = Opt::AckVector {
                    nonce: false,
                    cells: &cells,
                };
                assert!(options.push(&vector).is_ok());
                let mut packet = ack(&options);
                packet.seq = Seq::new(7 + acks);
                packet.kind = Kind::Ack { ack: named };
                conn.handle_packet(now, &packet, Ecn::NotEct, &mut app);
            }
        }
    }
    let known = format!(
        "{:?} {:?} {:?} {:?} {:?}",
        conn.stats(),
        conn.tx.cc.snapshot(),
        conn.in_flight.pipe_bytes(),
        conn.in_flight.mean_size(),
        conn.timers,
    );
    (sent, known)
}

proptest! {
    #[test]
    fn packets_built_together_are_as_if_each_were_built(
        steps in prop::collection::vec(step(), 1..60),
        is_over_ip in any::<bool>(),
    ) {
        let encap = if is_over_ip {
            Encap::Ip
        } else {
            Encap::Udp { local_port: 1, remote_port: 2 }
        };
        let each = play(connection(encap, true), &steps);
        let together = play(connection(encap, false), &steps);
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

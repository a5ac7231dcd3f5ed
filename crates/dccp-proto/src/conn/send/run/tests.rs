use super::super::super::NoApp;
use super::super::super::features::Side;
use super::super::super::in_flight::InFlight;
use super::super::super::tests::{START, Waiting, open};
use super::*;
use crate::cc::Snapshot;
use crate::cc::config::CcConfig;
use crate::cc::fixtures;
use crate::cc::registry::Ccids;
use crate::config::Config;
use crate::conn::stats::Stats;
use crate::path::Encap;
use crate::queue::{Fate, Outbox, Slot};
use crate::wire::features::Feature;
use core::time::Duration;
use proptest::prelude::*;
use std::collections::VecDeque;

/// Datagrams of an application.
#[derive(Clone, Debug)]
struct Data {
    len: usize,
    is_zeros: bool,
    /// The application withdraws it while it is claimed.
    is_withdrawn: bool,
}

#[derive(Default)]
struct Application {
    waiting: VecDeque<(u32, Data)>,
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
        if data.is_withdrawn {
            place.bytes_mut().fill(0xAA);
        } else if !data.is_zeros {
            let bytes: Vec<_> = (0..=u8::MAX)
                .cycle()
                .skip(n as usize % 256)
                .take(data.len)
                .collect();
            place.fill(&bytes);
        }
        !data.is_withdrawn
    }

    fn refuse(&mut self, _now: Instant, _slot: Slot, _fate: Fate) {
        self.waiting.pop_front();
    }

    fn on_fate(&mut self, _now: Instant, _slot: Slot, _fate: Fate) {}
}

/// A connection that only sends data.
#[derive(Clone, Debug)]
struct Setup {
    ccid: u8,
    is_paced: bool,
    window: u32,
    sequence_window: u64,
    encap: Encap,
    config: Config,
    sends_rtt: bool,
    keeps_zeros: bool,
}

fn setup() -> impl Strategy<Value = Setup> {
    let flags = || prop::array::uniform6(any::<bool>());
    let sizes = (1..200_u32, prop_oneof![32..500_u64, Just(1 << 30)]);
    (2..=4_u8, 0..16_u8, sizes, flags(), any::<bool>()).prop_map(
        |(ccid, send_cscov, (window, sequence_window), flags, is_over_ip)| {
            let [
                is_paced,
                short_seqnos,
                data_checksum,
                ecn,
                sends_rtt,
                keeps_zeros,
            ] = flags;
            let udp = Encap::Udp {
                local_port: 1,
                remote_port: 2,
            };
            Setup {
                ccid,
                is_paced,
                window,
                sequence_window,
                encap: if is_over_ip { Encap::Ip } else { udp },
                config: Config {
                    // A single packet would see sooner that the window should grow.
                    adapt_sequence_window: false,
                    send_cscov,
                    short_seqnos,
                    data_checksum,
                    ecn,
                    ..Config::default()
                },
                sends_rtt,
                keeps_zeros,
            }
        },
    )
}

impl Setup {
    fn connection(&self) -> Connection {
        let mut conn = open(self.config.clone());
        conn.flow.path.encap = self.encap;
        // The numbers wrap soon.
        let iss = Seq::new((1 << 48) - 40);
        (conn.seqs.iss, conn.seqs.gss, conn.seqs.gar) = (iss, iss, iss);
        conn.seqs.local_window = self.sequence_window;
        conn.in_flight = InFlight::new(iss);
        let request = conn.in_flight.record(&SentPacket {
            now: START,
            seq: iss,
            ccval: 0,
            has_vector: false,
            data: None,
        });
        conn.in_flight.push(request, &mut |_, _| ());
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
        ] {
            conn.features.force(side, feature, u64::from(value));
        }
        conn.tx.ccid = self.ccid;
        conn.tx.cc = Ccids::default().find(self.ccid).unwrap().sender(&CcConfig {
            is_paced: self.is_paced,
            rtt: Some(Duration::from_millis(1)),
            now: START,
            initial_window: Some(self.window),
            ..fixtures::config()
        });
        if self.sends_rtt {
            // 6323-3.3-1: RTT Estimate on every data packet.
            conn.tx.cc.on_feature(128, 1);
        }
        conn
    }
}

/// Datagrams that the application pushes at a time.
type Step = (u64, Data, usize);

fn step() -> impl Strategy<Value = Step> {
    let data = (
        prop_oneof![Just(100_usize), Just(0), 1..1400_usize],
        prop::bool::weighted(0.3),
        prop::bool::weighted(0.1),
    )
        .prop_map(|(len, is_zeros, is_withdrawn)| Data {
            len,
            is_zeros,
            is_withdrawn,
        });
    (0..5000_u64, data, 1..90_usize)
}

/// The datagrams that leave, and the state of the connection, when batches hold `segments` datagrams.
fn play(
    setup: &Setup,
    steps: &[Step],
    segments: usize,
) -> (Vec<(Vec<u8>, usize)>, Stats, Snapshot) {
    let mut conn = setup.connection();
    let mut application = Application::default();
    let (mut now, mut pushed) = (START, 0);
    let mut batch = if setup.keeps_zeros {
        Batch::for_simulation(segments)
    } else {
        Batch::new(segments)
    };
    let mut sent = Vec::new();
    for (wait_us, data, n) in steps {
        now += Duration::from_micros(*wait_us);
        for i in 0..*n {
            pushed += 1;
            let mut data = data.clone();
            data.is_withdrawn &= i % 5 == 3;
            application.waiting.push_back((pushed, data));
        }
        let mut app = App {
            outbox: &mut application,
            inbox: &mut NoApp,
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
    (sent, conn.stats(), conn.tx.cc.snapshot())
}

proptest! {
    #[test]
    fn run_sends_the_bytes_of_its_single_packets(
        setup in setup(),
        steps in prop::collection::vec(step(), 1..30),
    ) {
        let singly = play(&setup, &steps, 1);
        let in_runs = play(&setup, &steps, 64);
        prop_assert_eq!(singly, in_runs);
    }
}

#[test]
fn datagrams_of_one_length_leave_in_one_run() {
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
    assert!(conn.send_data(START, &mut app, &mut batch));
    assert_eq!(batch.len(), 4);
}

#[test]
fn datagrams_with_data_checksums_share_a_batch() {
    let mut conn = open(Config {
        data_checksum: true,
        ..Config::default()
    });
    let mut batch = Batch::new(8);
    let mut app = App {
        outbox: &mut Waiting::new(&[100, 100]),
        inbox: &mut NoApp,
    };
    assert!(conn.poll_transmit(START, &mut app, &mut batch));
    assert_eq!(batch.len(), 2);
}

#[test]
fn feature_change_opens_a_batch_of_its_own() {
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
    assert_eq!(batch.len(), 2);
}

use super::super::in_flight::{SentData, SentPacket};
use super::super::tests::{ISS, START, ack_of_last, client, config, open};
use super::*;
use crate::queue::Slot;
use crate::seq::Seq;
use crate::wire::options::FeatureOpt;
use crate::wire::{OptionWriter, Options, PacketType};

/// The peer asks for the value 1 of its feature (`Remote`) or of ours, and learns that it has it.
fn settle(conn: &mut Connection, side: Side, feature: Feature) {
    let change = FeatureOpt {
        feature: feature.number(),
        values: &[1],
    };
    let option = match side {
        Side::Remote => Opt::ChangeL(change),
        Side::Local => Opt::ChangeR(change),
    };
    let asked_by = Seq::new(8);
    let taken = conn.features.on_option(&option, false, asked_by, None);
    assert_eq!(taken, Ok(()));
    let mut w = OptionWriter::new(100);
    let own = conn.seqs.gss.next();
    conn.features
        .write(START, PacketType::Ack, own, Some(asked_by), &mut w);
    assert_eq!(conn.features.value(side, feature), 1);
    conn.take_feature_changes(START);
}

#[test]
fn a_coverage_to_send_is_requested_from_the_largest_to_the_smallest() {
    // 4340-9.2.1-1: the peer's minimum must not exceed what we cover.
    for (send_cscov, asked) in [(0, None), (3, Some(&[3, 2, 1][..]))] {
        let mut conn = client(Config {
            send_cscov,
            ..config()
        });
        let mut w = OptionWriter::new(200);
        conn.features
            .write(START, PacketType::Request, ISS, None, &mut w);
        let number = Feature::MinChecksumCoverage.number();
        let options: Vec<_> = Options(w.as_slice()).iter().collect();
        let found = options.iter().find_map(|option| match option {
            Opt::ChangeR(change) if change.feature == number => Some(change.values),
            _ => None,
        });
        assert_eq!(found, asked);
    }
}

#[test]
fn every_value_that_changes_is_counted() {
    let mut conn = open(config());
    assert_eq!(conn.stats().counters.feature_changes, 0);
    settle(&mut conn, Side::Remote, Feature::SendNdpCount);
    assert_eq!(conn.stats().counters.feature_changes, 1);
    settle(&mut conn, Side::Local, Feature::SendNdpCount);
    assert_eq!(conn.stats().counters.feature_changes, 2);
}

#[test]
fn with_ndp_counts_of_the_peer_a_hole_may_have_had_data() {
    // 4340-7.7-4, 4341-6.1.1-1: packet 8 is missing, and no NDP Count says that it had no data.
    for has_counts in [false, true] {
        let mut conn = open(config());
        if has_counts {
            settle(&mut conn, Side::Remote, Feature::SendNdpCount);
        }
        for seq in [7, 9, 10, 11] {
            let seq = Seq::new(seq);
            conn.reverse_path.on_packet(seq, false, None, Ecn::NotEct);
        }
        assert_eq!(conn.reverse_path.take(), u32::from(!has_counts));
    }
}

#[test]
fn acknowledgement_without_an_agreed_vector_reports_one_packet() {
    // 4340-11.5-1
    for has_vectors in [false, true] {
        let mut conn = open(config());
        if has_vectors {
            settle(&mut conn, Side::Remote, Feature::SendAckVector);
        }
        for slot in 0..2 {
            let packet = SentPacket {
                now: START,
                seq: conn.seqs.next_to_send(),
                ccval: 0,
                has_vector: false,
                data: Some(SentData {
                    slot: Slot(slot),
                    len: 10,
                }),
            };
            let record = conn.in_flight.record(&packet);
            conn.in_flight.push(record, &mut |_, _| ());
        }
        let ack = ack_of_last(&conn);
        let mut told = Vec::new();
        conn.in_flight
            .on_ack(START, &ack, &mut |slot, _| told.push(slot));
        let expected: &[Slot] = if has_vectors {
            &[Slot(1)]
        } else {
            &[Slot(1), Slot(0)]
        };
        assert_eq!(told, expected);
    }
}

#[test]
fn without_ecn_no_mark_is_read() {
    // 4340-12.2-1: neither if we cannot, nor if the peer has made us ECN-incapable.
    let capable = open(config());
    assert_eq!(capable.readable(Ecn::Ce), Ecn::Ce);
    let unable = open(Config {
        ecn: false,
        ..config()
    });
    assert_eq!(unable.readable(Ecn::Ce), Ecn::NotEct);
    let mut told_so = open(config());
    settle(&mut told_so, Side::Local, Feature::EcnIncapable);
    assert_eq!(told_so.readable(Ecn::Ce), Ecn::NotEct);
}

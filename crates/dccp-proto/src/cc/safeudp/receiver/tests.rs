use super::*;
use crate::cc::fixtures::{self, START, config, ms};
use crate::wire::{Ecn, OptionWriter, Options};

/// A data packet at a round trip of 20 ms.
fn arrival(now: Instant, seq: u64) -> Arrival<'static> {
    Arrival {
        rtt: Some(ms(20)),
        ..fixtures::arrival(now, seq)
    }
}

/// The options of an acknowledgement of `ack` at that time.
fn acknowledge(receiver: &mut Receiver, now: Instant, ack: u64) -> AckOptions {
    let mut options = OptionWriter::new(100);
    let fits = receiver.on_ack(&mut OutgoingAck {
        now,
        seq: Seq::new(1),
        ack: Seq::new(ack),
        has_data: false,
        options: &mut options,
    });
    assert!(fits && options.len() <= ACK_LEN);
    AckOptions::read(Options(options.as_slice()))
}

#[test]
fn acknowledgement_follows_the_ack_ratio_or_a_quarter_of_a_round_trip() {
    let mut r = Receiver::new(&config());
    r.on_feature(Feature::AckRatio.number(), 3);
    assert_eq!(r.ack_due(START), AckDue::No);
    r.on_packet(&arrival(START, 1));
    assert_eq!(r.ack_due(START), AckDue::At(START + ms(5)));
    r.on_packet(&arrival(START, 2));
    r.on_packet(&arrival(START, 3));
    assert_eq!(r.ack_due(START), AckDue::Now);
    acknowledge(&mut r, START, 3);
    assert_eq!(r.ack_due(START), AckDue::No);
}

#[test]
fn gap_and_mark_are_reported_at_once() {
    let mut r = Receiver::new(&config());
    r.on_feature(Feature::AckRatio.number(), 20);
    r.on_packet(&arrival(START, 1));
    r.on_packet(&arrival(START, 3));
    assert_eq!(r.ack_due(START), AckDue::Now);
    acknowledge(&mut r, START, 3);
    let marked = Arrival {
        ecn: Ecn::Ce,
        ..arrival(START, 4)
    };
    r.on_packet(&marked);
    assert_eq!(r.ack_due(START), AckDue::Now);
    acknowledge(&mut r, START, 4);
    let soon = Arrival {
        ecn: Ecn::Ce,
        ..arrival(START + ms(1), 5)
    };
    r.on_packet(&soon);
    assert_ne!(r.ack_due(START + ms(1)), AckDue::Now);
}

#[test]
fn acknowledgement_reports_rate_and_arrival() {
    let mut r = Receiver::new(&config());
    for n in 0..=20 {
        r.on_packet(&arrival(START + ms(n), n + 1));
    }
    let options = acknowledge(&mut r, START + ms(20), 21);
    // 21 packets of 1000 bytes in 20 ms.
    assert_eq!(options.receive_rate, Some(1_050_000));
    let [_, low @ ..] = (START + ms(20)).timestamp().to_be_bytes();
    let [a, b, c] = low;
    assert_eq!(options.arrival_time, Some(u32::from_be_bytes([0, a, b, c])));
    assert_eq!(options.host_loss_count, None);
}

#[test]
fn host_loss_count_begins_with_the_connection() {
    let mut r = Receiver::new(&config());
    r.on_host_losses(HostDrops {
        in_socket: 0,
        below: 1000,
    });
    r.on_packet(&arrival(START, 1));
    assert_eq!(acknowledge(&mut r, START, 1).host_loss_count, None);
    r.on_host_losses(HostDrops {
        in_socket: 0,
        below: 1007,
    });
    assert_eq!(acknowledge(&mut r, START, 1).host_loss_count, Some(7));
}

#[test]
fn declared_rate_is_kept() {
    let mut options = OptionWriter::new(10);
    super::super::options::write_declared_rate(125_000, &mut options);
    let mut r = Receiver::new(&config());
    r.on_packet(&Arrival {
        options: Options(options.as_slice()),
        ..arrival(START, 1)
    });
    r.on_packet(&arrival(START, 2));
    let inner = r.snapshot().inner;
    assert!(inner.contains(&("declared_bytes_per_s", 125_000.0)));
}

//! Step 1 of RFC 4340 §8.5: what is no packet. And what a header may carry without meaning.

use crate::bench::{Bench, Pkt, SERVICE, reset};
use dccp_proto::conn::State;
use dccp_proto::conn::stats::DropReason;
use dccp_proto::wire::{self, Ecn, Kind, Opt, PacketType, ResetCode};

/// All packet types that an open connection can get, with valid numbers.
fn all_kinds(bench: &Bench) -> Vec<Kind> {
    let ack = bench.gss;
    vec![
        Kind::Request { service: SERVICE },
        Kind::Response {
            ack,
            service: SERVICE,
        },
        Kind::Data,
        Kind::Ack { ack },
        Kind::DataAck { ack },
        Kind::CloseReq { ack },
        Kind::Close { ack },
        reset(ack, ResetCode::ABORTED),
        Kind::Sync { ack },
        Kind::SyncAck { ack },
        Kind::Listen { service: SERVICE },
    ]
}

/// Computes the checksum again after a change.
fn sealed(mut bytes: Vec<u8>) -> Vec<u8> {
    let rule = Bench::path().reversed().checksum_rule();
    wire::seal(&mut bytes, 0, rule).unwrap();
    bytes
}

/// Asserts that these bytes are dropped silently for this reason.
fn assert_dropped(bench: &mut Bench, bytes: &[u8], reason: DropReason) {
    let (count, errors) = (bench.dropped(reason), bench.stats().mib.in_errs);
    bench.give_bytes(bytes, Ecn::Ect0);
    assert_eq!(bench.take(), []);
    assert_eq!(bench.dropped(reason), count + 1, "{bytes:x?}");
    assert_eq!(bench.stats().mib.in_errs, errors + 1);
}

#[test]
fn malformed_packets_are_dropped_silently() {
    // 4340-8.5-1, 4340-5.1-1, 4340-5.1-4, 4340-5.1-5, 4340-9.1-3, 4340-9.2-1
    let flow = Bench::flow();
    for listening in [false, true] {
        let mut bench = if listening {
            Bench::listening(Bench::config())
        } else {
            Bench::open_server(Bench::config())
        };
        let good = |kind, seq| Bench::encode(&flow, &Pkt::new(kind, seq).with_payload(b"12345678"));
        let seq = bench.peer_gss.next();
        for kind in all_kinds(&bench) {
            let bytes = good(kind, seq);
            for len in 0..12 {
                assert_dropped(&mut bench, &bytes[..len], DropReason::TooShort);
            }
            let header = usize::from(bytes[4]) * 4;
            let mut changed = bytes.clone();
            changed[4] -= 1;
            assert_dropped(&mut bench, &changed, DropReason::DataOffsetTooSmall);
            assert_dropped(
                &mut bench,
                &bytes[..header - 1],
                DropReason::DataOffsetTooLarge,
            );
            let mut changed = bytes.clone();
            changed[5] = 4; // (4 - 1) * 4 bytes are more than 8.
            assert_dropped(&mut bench, &changed, DropReason::CscovTooLarge);
            let mut changed = bytes.clone();
            changed[6] ^= 1;
            assert_dropped(&mut bench, &changed, DropReason::BadChecksum);
            let mut changed = bytes.clone();
            *changed.last_mut().unwrap() ^= 0x80;
            assert_dropped(&mut bench, &changed, DropReason::BadChecksum);
            let needs_long = !matches!(kind, Kind::Data | Kind::Ack { .. } | Kind::DataAck { .. });
            if needs_long {
                let mut changed = bytes.clone();
                changed[8] &= !1;
                assert_dropped(&mut bench, &sealed(changed), DropReason::ShortSeqno);
            }
        }
        for number in 11..16 {
            let mut changed = good(Kind::Data, seq);
            changed[8] = number << 1 | 1;
            assert_dropped(&mut bench, &sealed(changed), DropReason::UnknownType);
        }
        assert!(bench.got().is_empty());
        let connections = usize::from(!listening);
        assert_eq!(bench.endpoint.connections(), connections);
    }
}

#[test]
fn reserved_bits_mean_nothing() {
    // 4340-3.1-3, 4340-5.1-8, 4340-15-1: the same answers with every reserved bit flipped.
    let bits_of = |kind: Kind| {
        // Three bits before the type, a byte after it, two bytes before the ackno.
        let mut bits: Vec<_> = [(8, 0xE0), (9, 0xFF)].into();
        if kind.ack().is_some() {
            bits.extend([(16, 0xFF), (17, 0xFF)]);
        }
        bits
    };
    for n in 0..11 {
        let answers = |flips: &[(usize, u8)]| {
            let mut bench = Bench::open_client(Bench::config());
            let kind = all_kinds(&bench)[n];
            let packet = bench.next(kind).with_payload(b"data");
            let mut bytes = Bench::encode(&Bench::flow(), &packet);
            for (at, mask) in flips {
                bytes[*at] ^= mask;
            }
            bench.give_bytes(&sealed(bytes), Ecn::Ect0);
            let sent = bench.take();
            let got = bench.got().len();
            (sent, got, bench.state(), bench.stats().drops.total())
        };
        let kind = all_kinds(&Bench::open_client(Bench::config()))[n];
        let plain = answers(&[]);
        for (at, mask) in bits_of(kind) {
            for bit in (0..8).map(|b| 1 << b).filter(|b| mask & b != 0) {
                assert_eq!(answers(&[(at, bit)]), plain, "{kind:?} {at} {bit}");
            }
        }
        assert_eq!(answers(&bits_of(kind)), plain);
    }
}

#[test]
fn reserved_fields_and_ccval_are_sent_as_zero() {
    // 4340-3.1-3, 4340-5.1-3, 4340-5.1-8, 4340-5.6-1
    for mut bench in Bench::open_both(&Bench::config()) {
        bench.send(b"data");
        bench.give_next(Kind::Data);
        bench.give_next(Kind::Data);
        let mut batch = dccp_proto::batch::Batch::new(1);
        bench.abort();
        let mut count = 0;
        while bench
            .endpoint
            .poll_transmit(bench.now, &mut bench.app, &mut batch)
        {
            for d in batch.datagrams() {
                count += 1;
                assert_eq!((d.bytes[5], d.bytes[8] & 0xE0, d.bytes[9]), (0, 0, 0));
                let packet_type = d.bytes[8] >> 1;
                if packet_type != PacketType::Data as u8 {
                    assert_eq!(d.bytes[16..18], [0, 0]);
                }
            }
            batch.clear();
        }
        assert!(count > 0);
    }
}

#[test]
fn a_ccval_that_the_ccid_does_not_use_is_ignored() {
    // 4340-5.1-3
    for mut bench in Bench::open_both(&Bench::config()) {
        let mut data = bench.next(Kind::Data).with_payload(b"data");
        data.ccval = 11;
        assert_eq!(bench.answers(&data), []);
        assert_eq!(bench.got(), [b"data"]);
    }
}

#[test]
fn padding_in_the_application_area_is_never_delivered() {
    // 4340-5.4-2
    for n in [3, 5, 6, 8, 9] {
        for mut bench in Bench::open_both(&Bench::config()) {
            let kind = all_kinds(&bench)[n];
            let packet = bench.next(kind).with_payload(&[0xAB; 100]);
            bench.answers(&packet);
            assert!(bench.got().is_empty(), "{kind:?}");
            assert_eq!(bench.stats().counters.data_received, 0);
        }
    }
}

#[test]
fn data_of_data_packets_are_delivered_with_what_is_known_of_them() {
    // 4340-5.4-1, 4340-8.5-16
    for mut bench in Bench::open_both(&Bench::config()) {
        for (kind, ecn) in [
            (Kind::Data, Ecn::Ect0),
            (Kind::DataAck { ack: bench.gss }, Ecn::Ce),
            (Kind::Data, Ecn::NotEct),
        ] {
            bench.now += std::time::Duration::from_millis(1);
            let packet = bench.next(kind).with_payload(b"abc").with_ecn(ecn);
            bench.give(&packet);
            let meta = *bench.deliveries().last().unwrap();
            let known = (meta.arrived, meta.seq, meta.ecn, meta.is_corrupt);
            assert_eq!(known, (bench.now, packet.seq, ecn, false));
        }
        let counters = bench.stats().counters;
        assert_eq!((counters.data_received, counters.data_delivered), (3, 3));
        assert_eq!((counters.data_bytes_in, counters.ce_received), (9, 1));
    }
}

#[test]
fn packets_and_bytes_are_counted() {
    for mut bench in Bench::open_both(&Bench::config()) {
        let before = bench.stats();
        let data = bench
            .next(Kind::Data)
            .with_payload(&[0; 100])
            .with(&[Opt::Timestamp(1)]);
        bench.give(&data);
        bench.send(&[0; 50]);
        let sent = bench.take();
        let after = bench.stats();
        let of = |t| after.packets_in.of(t) - before.packets_in.of(t);
        assert_eq!(of(PacketType::Data), 1);
        // 16 bytes of header, 8 of options.
        assert_eq!(after.counters.bytes_in - before.counters.bytes_in, 124);
        let bytes: usize = sent.iter().map(wire_len).sum();
        let out = after.counters.bytes_out - before.counters.bytes_out;
        assert_eq!(out, bytes as u64);
        assert_eq!(after.mib.out_segs - before.mib.out_segs, sent.len() as u64);
        assert_eq!(after.counters.data_sent, 1);
        assert_eq!(
            (after.counters.data_bytes_out, after.mib.out_datagrams),
            (50, 1)
        );
    }
}

fn wire_len(p: &Pkt) -> usize {
    wire::header_len(p.packet_type(), p.is_short, p.options.len()) + p.payload.len()
}

#[test]
fn another_connection_is_not_touched() {
    // 4340-8.5-2: the flow decides.
    let mut bench = Bench::open_client(Bench::config());
    let mut other = Bench::flow();
    other.remote_port += 1;
    bench.give_on(
        &other,
        &Pkt::new(Kind::Data, bench.peer_gss.next()).with_payload(b"x"),
    );
    assert!(bench.take_one().is_reset(ResetCode::NO_CONNECTION));
    assert!(bench.got().is_empty());
    assert_eq!(bench.state(), State::Open);
}

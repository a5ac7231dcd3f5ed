use super::*;
use crate::wire::{ChecksumRule, PseudoHeader};
use core::net::Ipv4Addr;
use proptest::prelude::*;

/// A header of `len` bytes with this type number, whose lowest bit is X, and Data Offset in words.
fn datagram(type_and_x: u8, data_offset: u8, len: usize) -> Vec<u8> {
    let mut bytes = vec![0; len];
    for (to, from) in bytes
        .iter_mut()
        .zip([0, 1, 0, 2, data_offset, 0, 0, 0, type_and_x])
    {
        *to = from;
    }
    bytes
}

fn parse_udp(bytes: &[u8]) -> Result<Packet<'_>, ParseError> {
    parse(&Datagram::new(bytes), ChecksumRule::Udp)
}

fn v4() -> ChecksumRule {
    let host = |n| Ipv4Addr::new(192, 0, 2, n).into();
    ChecksumRule::Ip(PseudoHeader::new(host(1), host(2)))
}

#[test]
fn fewer_than_12_bytes_are_dropped() {
    // 4340-8.5-1, 6773-3.3-3
    for len in 0..12 {
        assert_eq!(parse_udp(&datagram(4, 3, len)), Err(ParseError::TooShort));
        let d = Datagram {
            bytes: &[],
            zeros: len,
        };
        assert_eq!(parse(&d, ChecksumRule::Udp), Err(ParseError::TooShort));
    }
    assert!(parse_udp(&datagram(4, 3, 12)).is_ok());
}

#[test]
fn unassigned_types_are_dropped() {
    // 4340-5.1-4, 4340-8.5-1
    for number in 11..16 {
        for x in [0, 1] {
            let bytes = datagram(number << 1 | x, 10, 40);
            assert_eq!(parse_udp(&bytes), Err(ParseError::UnknownType));
        }
    }
}

#[test]
fn types_that_need_long_numbers_are_dropped_without() {
    // 4340-5.1-5, 4340-8.5-1
    for packet_type in PacketType::ALL {
        let bytes = datagram((packet_type as u8) << 1, 10, 40);
        let expected = match packet_type {
            PacketType::Data | PacketType::Ack | PacketType::DataAck => None,
            _ => Some(ParseError::ShortSeqno),
        };
        assert_eq!(parse_udp(&bytes).err(), expected);
    }
}

#[test]
fn data_offset_is_at_least_the_header_and_at_most_the_packet() {
    // 4340-5.1-1, 4340-8.5-1, 6773-3.3-3
    for packet_type in PacketType::ALL {
        for is_short in [false, true] {
            if is_short && !packet_type.may_be_short() {
                continue;
            }
            let type_and_x = (packet_type as u8) << 1 | u8::from(!is_short);
            let least = u8::try_from(packet_type.header_len(is_short) / 4).unwrap();
            let result = |data_offset| {
                let bytes = datagram(type_and_x, data_offset, 43);
                parse_udp(&bytes).map(|p| (p.options.0.len(), p.payload.len()))
            };
            assert_eq!(result(least - 1), Err(ParseError::DataOffsetTooSmall));
            assert_eq!(result(least), Ok((0, 43 - usize::from(least) * 4)));
            assert_eq!(result(10), Ok((40 - usize::from(least) * 4, 3)));
            assert_eq!(result(11), Err(ParseError::DataOffsetTooLarge));
            assert_eq!(result(255), Err(ParseError::DataOffsetTooLarge));
        }
    }
}

#[test]
fn coverage_beyond_the_data_is_dropped_on_any_path() {
    // 4340-9.2-1, 6773-3.3.1-1; AMB-2: although the checksum is wrong, too.
    for rule in [ChecksumRule::Udp, v4()] {
        let mut bytes = datagram(5, 4, 16 + 7);
        bytes[5] = 3;
        assert_eq!(
            parse(&Datagram::new(&bytes), rule),
            Err(ParseError::CscovTooLarge)
        );
        bytes.push(0);
        assert_ne!(
            parse(&Datagram::new(&bytes), rule),
            Err(ParseError::CscovTooLarge)
        );
    }
}

#[test]
fn a_bad_checksum_counts_over_ip_and_not_over_udp() {
    // 4340-9.1-3, 4340-8.5-1, 6773-3.3-2
    let mut bytes = datagram(5, 4, 20);
    bytes[6..8].copy_from_slice(&[0xAB, 0xCD]);
    assert!(parse_udp(&bytes).is_ok());
    assert_eq!(
        parse(&Datagram::new(&bytes), v4()),
        Err(ParseError::BadChecksum)
    );
    crate::wire::seal(&mut bytes, 0, v4()).unwrap();
    assert_eq!(parse(&Datagram::new(&bytes), v4()), parse_udp(&bytes));
    bytes[19] ^= 1;
    assert_eq!(
        parse(&Datagram::new(&bytes), v4()),
        Err(ParseError::BadChecksum)
    );
}

#[test]
fn bytes_outside_the_coverage_may_change() {
    // 4340-9.2-1
    let mut bytes = datagram(5, 4, 26);
    bytes[5] = 2;
    crate::wire::seal(&mut bytes, 0, v4()).unwrap();
    bytes[20] = 99;
    assert_eq!(
        parse(&Datagram::new(&bytes), v4()).unwrap().payload.len(),
        10
    );
    bytes[20] = 0;
    bytes[19] = 99;
    assert_eq!(
        parse(&Datagram::new(&bytes), v4()),
        Err(ParseError::BadChecksum)
    );
}

#[test]
fn a_request_is_read_field_by_field() {
    // 4340-3.1-1; the packet of appendix A.1 of the requirements, with CCVal 9 and an option
    let bytes = [
        0xC0, 0x00, 0x13, 0x89, 0x06, 0x90, 0xFF, 0xFF, 0x01, 0x00, 0x12, 0x34, 0x56, 0x78, 0x9A,
        0xBC, 0x66, 0x64, 0x70, 0x7A, 0x02, 0x00, 0x00, 0x00, b'h', b'i',
    ];
    let expected = Packet {
        source_port: 49152,
        dest_port: 5001,
        ccval: 9,
        cscov: 0,
        is_short: false,
        seq: Seq::new(0x1234_5678_9ABC),
        kind: Kind::Request {
            service: ServiceCode(0x6664_707A),
        },
        options: Options(&[2, 0, 0, 0]),
        payload: Payload::Bytes(b"hi"),
    };
    assert_eq!(parse_udp(&bytes), Ok(expected));
}

#[test]
fn short_headers_hold_24_bits_of_both_numbers() {
    // 4340-7.6-1
    let mut bytes = datagram(8, 4, 16);
    bytes[8..].copy_from_slice(&[8, 1, 2, 3, 0xEE, 4, 5, 6]);
    let p = parse_udp(&bytes).unwrap();
    assert!(p.is_short);
    assert_eq!(p.seq, Seq::new(0x01_0203));
    assert_eq!(
        p.kind,
        Kind::DataAck {
            ack: Seq::new(0x04_0506)
        }
    );
}

#[test]
fn a_reset_is_read_field_by_field() {
    // 4340-3.1-1
    let mut bytes = datagram(15, 7, 28);
    bytes[16..].copy_from_slice(&[0xEE, 0xEE, 1, 2, 3, 4, 5, 6, 11, 7, 8, 9]);
    let reset = Kind::Reset {
        ack: Seq::new(0x0102_0304_0506),
        code: ResetCode(11),
        data: [7, 8, 9],
    };
    assert_eq!(parse_udp(&bytes).unwrap().kind, reset);
}

#[test]
fn a_header_may_lie_in_the_counted_zeros() {
    // Only 9 bytes are stored of a Data packet with 48-bit numbers.
    let bytes = datagram(5, 6, 9);
    let d = Datagram {
        bytes: &bytes,
        zeros: 20,
    };
    let p = parse(&d, ChecksumRule::Udp).unwrap();
    assert_eq!(
        (p.seq, p.options, p.payload),
        (Seq::ZERO, Options::EMPTY, Payload::Zeros(5))
    );
}

#[test]
fn what_the_end_of_the_stored_bytes_divides_is_dropped() {
    let rule = ChecksumRule::Udp;
    let with =
        |bytes: &[u8], zeros| parse(&Datagram { bytes, zeros }, rule).map(|p| p.payload.len());
    // Application data: 16 bytes of header, 1 stored byte.
    assert_eq!(with(&datagram(5, 4, 17), 3), Err(ParseError::Divided));
    assert_eq!(with(&datagram(5, 4, 17), 0), Ok(1));
    assert_eq!(with(&datagram(5, 4, 16), 3), Ok(3));
    // Options: 2 or 3 stored bytes of a Timestamp, in an area of 8 bytes.
    let mut bytes = datagram(5, 6, 16);
    bytes.extend([0, 41, 6]);
    assert_eq!(with(&bytes, 5), Err(ParseError::Divided));
    // The type is stored, the length is not and so it is 0, which ends the options.
    bytes.truncate(18);
    assert_eq!(with(&bytes, 6), Ok(0));
    // One that leads behind the area, or has no length, is bad wherever the zeros begin.
    for (length, expected) in [
        (0, Ok(0)),
        (1, Ok(0)),
        (7, Err(ParseError::Divided)),
        (8, Ok(0)),
        (255, Ok(0)),
    ] {
        bytes.truncate(18);
        bytes.push(length);
        assert_eq!(with(&bytes, 5), expected, "{length}");
    }
    // Behind six bytes of padding, 6 more fill an area of 12.
    for (length, expected) in [(6, Err(ParseError::Divided)), (7, Ok(0)), (8, Ok(0))] {
        let mut bytes = datagram(5, 7, 16);
        bytes.extend([0, 0, 0, 0, 0, 0, 41, length, 0]);
        assert_eq!(with(&bytes, 3), expected, "{length}");
    }
}

#[test]
fn reasons_have_names_of_their_own() {
    for (i, a) in ParseError::ALL.iter().enumerate() {
        assert_eq!(*a as usize, i);
        assert_eq!(a.to_string(), a.name());
        assert!(
            a.name()
                .bytes()
                .all(|b| b.is_ascii_lowercase() || matches!(b, b'_' | b'0'..=b'9'))
        );
        assert!(ParseError::ALL[..i].iter().all(|b| a.name() != b.name()));
    }
}

proptest! {
    #[test]
    fn no_bytes_make_it_panic(
        bytes in prop::collection::vec(any::<u8>(), 0..80),
        zeros in 0_usize..80,
        data_offset in 0_u8..30,
        is_ip in any::<bool>(),
    ) {
        // 4340-8.5-1
        let mut bytes = bytes;
        if let Some(field) = bytes.get_mut(4) {
            *field = data_offset;
        }
        let d = Datagram { bytes: &bytes, zeros };
        let rule = if is_ip { v4() } else { ChecksumRule::Udp };
        if let Ok(p) = parse(&d, rule) {
            let header = p.packet_type().header_len(p.is_short) + p.options.0.len();
            prop_assert!(header + p.payload.len() <= d.len());
            prop_assert!(p.options.iter().count() <= p.options.0.len());
        }
    }

    #[test]
    fn counted_zeros_mean_the_same_as_stored_ones(
        bytes in prop::collection::vec(any::<u8>(), 0..80),
        zeros in 1_usize..80,
        type_and_x in 0_u8..24,
        data_offset in 2_u8..30,
        cscov in 0_u8..8,
    ) {
        let mut bytes = bytes;
        for (at, value) in [(4, data_offset), (5, cscov), (8, type_and_x)] {
            if let Some(field) = bytes.get_mut(at) {
                *field = value;
            }
        }
        let stored = [&bytes[..], &vec![0; zeros]].concat();
        let counted = Datagram { bytes: &bytes, zeros };
        match (parse(&counted, ChecksumRule::Udp), parse_udp(&stored)) {
            (Ok(a), Ok(b)) => {
                let unpadded = |o: Options<'_>| {
                    let mut list: Vec<_> = o.iter().map(|o| format!("{o:?}")).collect();
                    while list.last().is_some_and(|o| o == "Padding") {
                        list.pop();
                    }
                    list
                };
                prop_assert_eq!(unpadded(a.options), unpadded(b.options));
                prop_assert_eq!(Packet { options: b.options, ..a }, b);
            }
            (Err(ParseError::Divided), b) => prop_assert!(b.is_ok()),
            (a, b) => prop_assert_eq!(a, b),
        }
    }
}

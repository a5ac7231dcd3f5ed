use super::*;
use crate::wire::{Datagram, OptionWriter, Options, PseudoHeader, ResetCode, ServiceCode, parse};
use core::net::Ipv4Addr;

fn v4() -> ChecksumRule {
    let host = |n| Ipv4Addr::new(192, 0, 2, n).into();
    ChecksumRule::Ip(PseudoHeader::new(host(1), host(2)))
}

/// The Request of appendix A.1 of the requirements.
const REQUEST: Packet<'_> = Packet {
    source_port: 49152,
    dest_port: 5001,
    ccval: 0,
    cscov: 0,
    is_short: false,
    seq: Seq::new(0x1234_5678_9ABC),
    kind: Kind::Request {
        service: ServiceCode::from_ascii(*b"fdpz"),
    },
    options: Options::EMPTY,
    payload: Payload::EMPTY,
};

fn built(packet: &Packet<'_>, rule: ChecksumRule) -> Result<Vec<u8>, BuildError> {
    let mut buf = Vec::new();
    build(&mut buf, packet, rule).map(|()| buf)
}

#[test]
fn a_request_has_the_bytes_of_the_vector() {
    // 4340-3.1-1, 4340-9.1-1; appendix A.1 of the requirements
    let expected = [
        0xC0, 0x00, 0x13, 0x89, 0x05, 0x00, 0xC7, 0xF4, 0x01, 0x00, 0x12, 0x34, 0x56, 0x78, 0x9A,
        0xBC, 0x66, 0x64, 0x70, 0x7A,
    ];
    assert_eq!(built(&REQUEST, v4()).unwrap(), expected);
    for (cscov, checksum) in [(0, 0x841D_u16), (1, 0xC7EE), (2, 0xF31B)] {
        let payload = Payload::Bytes(b"hello");
        let p = Packet {
            cscov,
            payload,
            ..REQUEST
        };
        assert_eq!(built(&p, v4()).unwrap()[6..8], checksum.to_be_bytes());
        // 6773-3.3-2
        assert_eq!(built(&p, ChecksumRule::Udp).unwrap()[6..8], [0, 0]);
    }
}

#[test]
fn a_short_packet_has_the_low_24_bits_of_both_numbers() {
    let p = Packet {
        ccval: 0xA,
        is_short: true,
        kind: Kind::DataAck {
            ack: Seq::new(0xF0E0_D0C0_B0A0),
        },
        ..REQUEST
    };
    let expected = [
        0xC0, 0x00, 0x13, 0x89, 0x04, 0xA0, 0x00, 0x00, 0x08, 0x78, 0x9A, 0xBC, 0x00, 0xC0, 0xB0,
        0xA0,
    ];
    assert_eq!(built(&p, ChecksumRule::Udp).unwrap(), expected);
}

#[test]
fn a_reset_carries_code_and_data() {
    let p = Packet {
        kind: Kind::Reset {
            ack: Seq::new(0xF0E0_D0C0_B0A0),
            code: ResetCode::OPTION_ERROR,
            data: [1, 2, 3],
        },
        ..REQUEST
    };
    let expected = [
        0x07, 0x00, 0x00, 0x00, 0x0F, 0x00, 0x12, 0x34, 0x56, 0x78, 0x9A, 0xBC, 0x00, 0x00, 0xF0,
        0xE0, 0xD0, 0xC0, 0xB0, 0xA0, 5, 1, 2, 3,
    ];
    assert_eq!(built(&p, ChecksumRule::Udp).unwrap()[4..], expected);
}

#[test]
fn options_are_padded_to_whole_words() {
    // 4340-5.8-1
    for (len, padded) in [(0, 0), (1, 4), (3, 4), (4, 4), (5, 8)] {
        let area = [2; 5];
        let p = Packet {
            options: Options(&area[..len]),
            payload: Payload::Bytes(b"x"),
            ..REQUEST
        };
        let bytes = built(&p, ChecksumRule::Udp).unwrap();
        assert_eq!(header_len(PacketType::Request, false, len), 20 + padded);
        assert_eq!(usize::from(bytes[4]) * 4, 20 + padded);
        assert_eq!(bytes[20..20 + len], area[..len]);
        assert!(bytes[20 + len..20 + padded].iter().all(|&b| b == 0));
        assert_eq!(bytes[20 + padded..], *b"x");
    }
}

#[test]
fn headers_end_at_1020_bytes() {
    // 4340-5-1: 1008 bytes of options on the smallest header, 992 on the largest
    let area = [0; 1009];
    let data = Packet {
        is_short: true,
        kind: Kind::Data,
        ..REQUEST
    };
    let response = Packet {
        kind: Kind::Response {
            ack: Seq::ZERO,
            service: ServiceCode::NONE,
        },
        ..REQUEST
    };
    for (packet, most) in [(data, 1008), (response, 992)] {
        let with = |len| {
            let p = Packet {
                options: Options(&area[..len]),
                ..packet
            };
            built(&p, ChecksumRule::Udp).map(|b| b.len())
        };
        assert_eq!(with(most), Ok(HEADER_MAX));
        assert_eq!(with(most - 3), Ok(HEADER_MAX));
        assert_eq!(with(most + 1), Err(BuildError::OptionsTooLong));
    }
}

#[test]
fn mistakes_leave_the_buffer_as_it_was() {
    // 4340-5.1-5, 4340-9.2-1
    let hello = Payload::Bytes(b"hello");
    for (packet, error) in [
        (
            Packet {
                is_short: true,
                ..REQUEST
            },
            BuildError::ShortSeqno,
        ),
        (
            Packet {
                ccval: 16,
                ..REQUEST
            },
            BuildError::FieldTooLarge,
        ),
        (
            Packet {
                cscov: 16,
                ..REQUEST
            },
            BuildError::FieldTooLarge,
        ),
        (
            Packet {
                cscov: 2,
                ..REQUEST
            },
            BuildError::CscovTooLarge,
        ),
        (
            Packet {
                cscov: 3,
                payload: hello,
                ..REQUEST
            },
            BuildError::CscovTooLarge,
        ),
        (
            Packet {
                cscov: 3,
                payload: Payload::Zeros(7),
                ..REQUEST
            },
            BuildError::CscovTooLarge,
        ),
    ] {
        for rule in [ChecksumRule::Udp, v4()] {
            let mut buf = b"before".to_vec();
            assert_eq!(build(&mut buf, &packet, rule), Err(error));
            assert_eq!(buf, b"before");
        }
    }
    assert!(
        built(
            &Packet {
                ccval: 15,
                ..REQUEST
            },
            v4()
        )
        .is_ok()
    );
    assert!(
        built(
            &Packet {
                cscov: 3,
                payload: Payload::Zeros(8),
                ..REQUEST
            },
            v4()
        )
        .is_ok()
    );
}

#[test]
fn packets_stand_one_after_the_other_in_a_buffer() {
    let hello = Packet {
        payload: Payload::Bytes(b"hello"),
        ..REQUEST
    };
    let mut buf = Vec::new();
    build(&mut buf, &REQUEST, v4()).unwrap();
    build(&mut buf, &hello, v4()).unwrap();
    assert_eq!(buf[..20], built(&REQUEST, v4()).unwrap());
    assert_eq!(buf[20..], built(&hello, v4()).unwrap());
}

#[test]
fn a_packet_in_steps_is_the_packet_in_one() {
    for cscov in [0, 1, 2] {
        let payload = Payload::Bytes(b"hello");
        let p = Packet {
            cscov,
            payload,
            ..REQUEST
        };
        let mut buf = b"another".to_vec();
        write_header(
            &mut buf,
            &Packet {
                payload: Payload::EMPTY,
                ..p
            },
        )
        .unwrap();
        buf.extend_from_slice(b"hello");
        seal(&mut buf[7..], 0, v4()).unwrap();
        assert_eq!(buf[7..], built(&p, v4()).unwrap());
    }
}

#[test]
fn a_header_fills_its_place_exactly() {
    // 4340-5.8-1
    let p = Packet {
        options: Options(&[2, 2, 2, 2, 2]),
        ..REQUEST
    };
    let mut place = [0xEE; 28];
    assert_eq!(write_header_at(&mut place, &p), Ok(()));
    assert_eq!(place[..], built(&p, ChecksumRule::Udp).unwrap());
    for len in [0, 24, 27, 29, 32] {
        let mut place = vec![0xEE; len];
        assert_eq!(write_header_at(&mut place, &p), Err(BuildError::WrongPlace));
        assert!(place.iter().all(|&b| b == 0xEE));
    }
}

#[test]
fn sealing_again_gives_the_same_checksum() {
    // 4340-9.1-1: the field itself counts as 0.
    let mut bytes = built(&REQUEST, v4()).unwrap();
    seal(&mut bytes, 0, v4()).unwrap();
    assert_eq!(bytes, built(&REQUEST, v4()).unwrap());
    seal(&mut bytes, 0, ChecksumRule::Udp).unwrap();
    assert_eq!(bytes[6..8], [0, 0]);
}

#[test]
fn what_has_no_header_cannot_be_sealed() {
    let header = built(&REQUEST, v4()).unwrap();
    for len in [0, 11, 19] {
        let mut bytes = header[..len].to_vec();
        assert_eq!(seal(&mut bytes, 0, v4()), Err(BuildError::NoHeader));
        assert_eq!(seal(&mut bytes, 9, v4()), Err(BuildError::NoHeader));
        assert_eq!(bytes, header[..len]);
    }
}

#[test]
fn counted_zeros_are_checksummed_as_stored_ones() {
    // 4340-9.1-1, 4340-9.2-1
    for cscov in 0..=15 {
        let zeros = [0; 77];
        let with = |payload| {
            built(
                &Packet {
                    cscov,
                    payload,
                    ..REQUEST
                },
                v4(),
            )
            .unwrap()
        };
        let counted = with(Payload::Zeros(77));
        assert_eq!(counted, with(Payload::Bytes(&zeros))[..20], "{cscov}");
        let d = Datagram {
            bytes: &counted,
            zeros: 77,
        };
        assert_eq!(parse(&d, v4()).unwrap().payload, Payload::Bytes(&zeros));
    }
}

#[test]
fn a_data_checksum_is_filled_in_before_the_header_checksum() {
    // 4340-9.3-1; appendix A.2 of the requirements
    for (is_short, kind) in [
        (false, Kind::Data),
        (true, Kind::DataAck { ack: Seq::ZERO }),
    ] {
        let mut options = OptionWriter::new(100);
        options.push(&crate::wire::Opt::SlowReceiver).unwrap();
        let slot = options.push_data_checksum().unwrap();
        let p = Packet {
            is_short,
            kind,
            options: options.options(),
            ..REQUEST
        };
        let mut buf = Vec::new();
        write_header(&mut buf, &p).unwrap();
        let header_len = buf.len();
        buf.extend_from_slice(b"123456789");
        fill_data_checksum(&mut buf, 0, slot).unwrap();
        seal(&mut buf, 0, v4()).unwrap();
        let parsed = parse(&Datagram::new(&buf), v4()).unwrap();
        assert_eq!(parsed.options.0, [2, 44, 6, 0xE3, 0x06, 0x92, 0x83, 0]);

        buf.truncate(header_len);
        fill_data_checksum(&mut buf, 32, slot).unwrap();
        let parsed = parse(
            &Datagram {
                bytes: &buf,
                zeros: 32,
            },
            ChecksumRule::Udp,
        )
        .unwrap();
        assert_eq!(parsed.options.0, [2, 44, 6, 0x8A, 0x91, 0x36, 0xAA, 0]);
    }
}

#[test]
fn a_data_checksum_needs_its_option() {
    let mut options = OptionWriter::new(100);
    let slot = options.push_data_checksum().unwrap();
    let mut bytes = built(
        &Packet {
            payload: Payload::Zeros(40),
            ..REQUEST
        },
        v4(),
    )
    .unwrap();
    assert_eq!(
        fill_data_checksum(&mut bytes, 0, slot),
        Err(BuildError::NoHeader)
    );
    assert_eq!(
        fill_data_checksum(&mut [0; 11], 0, slot),
        Err(BuildError::NoHeader)
    );
    bytes[4] = 6;
    assert_eq!(
        fill_data_checksum(&mut bytes, 0, slot),
        Err(BuildError::NoHeader)
    );
    bytes[4] = 5;
    bytes[8] = 11 << 1;
    assert_eq!(
        fill_data_checksum(&mut bytes, 0, slot),
        Err(BuildError::NoHeader)
    );
}

#[test]
fn errors_say_what_is_wrong() {
    let errors = [
        BuildError::OptionsTooLong,
        BuildError::ShortSeqno,
        BuildError::FieldTooLarge,
        BuildError::CscovTooLarge,
        BuildError::WrongPlace,
        BuildError::NoHeader,
    ];
    let texts: Vec<_> = errors.iter().map(ToString::to_string).collect();
    for (i, text) in texts.iter().enumerate() {
        assert!(!text.is_empty() && !texts[..i].contains(text));
    }
}

//! Parse and build against each other, over all kinds of packets.

use super::*;
use crate::seq::Seq;
use core::net::IpAddr;
use proptest::collection::vec;
use proptest::prelude::*;

/// A packet with storage of its own.
#[derive(Clone, Debug)]
struct Owned {
    ports: (u16, u16),
    ccval: u8,
    cscov: u8,
    is_short: bool,
    seq: u64,
    kind: Kind,
    options: OptionWriter,
    payload: Vec<u8>,
}

impl Owned {
    fn packet(&self) -> Packet<'_> {
        Packet {
            source_port: self.ports.0,
            dest_port: self.ports.1,
            ccval: self.ccval,
            cscov: self.cscov,
            is_short: self.is_short,
            seq: Seq::new(self.seq),
            kind: self.kind,
            options: self.options.options(),
            payload: Payload::Bytes(&self.payload),
        }
    }
}

fn any_kind() -> impl Strategy<Value = Kind> {
    let numbers = (
        0..PacketType::ALL.len(),
        0..1_u64 << 48,
        any::<u32>(),
        any::<[u8; 4]>(),
    );
    numbers.prop_map(|(packet_type, ack, service, [code, data @ ..])| {
        let ack = Seq::new(ack);
        let service = ServiceCode(service);
        let packet_type = PacketType::ALL[packet_type];
        let mut kind = Kind::new(packet_type, ack, service, ResetCode(code));
        if let Kind::Reset { data: place, .. } = &mut kind {
            *place = data;
        }
        kind
    })
}

/// Options of any type with any data, as many as fit, padded to whole words.
fn any_options() -> impl Strategy<Value = OptionWriter> {
    vec((any::<u8>(), vec(any::<u8>(), 0..20)), 0..8).prop_map(|options| {
        let mut writer = OptionWriter::new(992);
        for (kind, data) in options {
            let data = if kind < 32 { &[][..] } else { &data[..] };
            writer.push_raw(kind, data).unwrap();
        }
        while !writer.len().is_multiple_of(4) {
            writer.push(&Opt::Padding).unwrap();
        }
        writer
    })
}

fn any_packet() -> impl Strategy<Value = Owned> {
    let fields = (
        any::<(u16, u16)>(),
        0_u8..16,
        0_u8..16,
        any::<bool>(),
        0..1_u64 << 48,
    );
    (fields, any_kind(), any_options(), vec(any::<u8>(), 0..100)).prop_map(
        |((ports, ccval, cscov, wants_short, seq), kind, options, payload)| {
            let is_short = wants_short && kind.packet_type().may_be_short();
            let short = |n: Seq| Seq::new(u64::from(n.low_24()));
            let kind = match kind.ack() {
                Some(ack) if is_short => kind.with_ack(short(ack)),
                _ => kind,
            };
            Owned {
                ports,
                ccval,
                // As much of the coverage as there is data for.
                cscov: cscov.min(u8::try_from(payload.len() / 4 + 1).unwrap()),
                is_short,
                seq: if is_short { seq & 0xFF_FFFF } else { seq },
                kind,
                options,
                payload,
            }
        },
    )
}

fn any_rule() -> impl Strategy<Value = ChecksumRule> {
    let ip = |a: IpAddr, b: IpAddr| ChecksumRule::Ip(PseudoHeader::new(a, b));
    prop_oneof![
        Just(ChecksumRule::Udp),
        any::<[[u8; 4]; 2]>().prop_map(move |[a, b]| ip(a.into(), b.into())),
        any::<[[u8; 16]; 2]>().prop_map(move |[a, b]| ip(a.into(), b.into())),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn parsing_undoes_building(owned in any_packet(), rule in any_rule()) {
        // 4340-3.1-1, 4340-5.8-1, 4340-9.1-1, 4340-9.2-1, 6773-3.3-2
        let packet = owned.packet();
        let mut bytes = Vec::new();
        build(&mut bytes, &packet, rule).unwrap();
        let header = header_len(packet.packet_type(), packet.is_short, packet.options.0.len());
        prop_assert_eq!(bytes.len(), header + packet.payload.len());
        prop_assert_eq!(parse(&Datagram::new(&bytes), rule), Ok(packet));

        let mut again = Vec::new();
        build(&mut again, &parse(&Datagram::new(&bytes), rule).unwrap(), rule).unwrap();
        prop_assert_eq!(again, bytes);
    }

    #[test]
    fn zeros_are_that_many_zero_bytes(owned in any_packet(), rule in any_rule()) {
        let mut owned = owned;
        owned.payload.fill(0);
        let zeros = owned.payload.len();
        let packet = owned.packet();
        let mut stored = Vec::new();
        build(&mut stored, &packet, rule).unwrap();
        let mut counted = Vec::new();
        let payload = Payload::Zeros(zeros);
        build(&mut counted, &Packet { payload, ..packet }, rule).unwrap();
        prop_assert_eq!(&counted[..], &stored[..stored.len() - zeros]);
        let counted = Datagram { bytes: &counted, zeros };
        prop_assert_eq!(parse(&counted, rule), parse(&Datagram::new(&stored), rule));
        prop_assert_eq!(parse(&counted, rule), Ok(packet));
    }

    #[test]
    fn reserved_bits_are_sent_as_0_and_ignored(owned in any_packet(), rule in any_rule()) {
        // 4340-3.1-3, 4340-5.1-8
        let packet = owned.packet();
        let mut bytes = Vec::new();
        build(&mut bytes, &packet, rule).unwrap();
        // Three bits beside the type; behind it with X = 1; before the acknowledgement number.
        let reserved: &[(usize, u8)] = match (packet.is_short, packet.ack().is_some()) {
            (true, false) => &[(8, 0xE0)],
            (true, true) => &[(8, 0xE0), (12, 0xFF)],
            (false, false) => &[(8, 0xE0), (9, 0xFF)],
            (false, true) => &[(8, 0xE0), (9, 0xFF), (16, 0xFF), (17, 0xFF)],
        };
        for &(at, mask) in reserved {
            prop_assert_eq!(bytes[at] & mask, 0);
            for bit in (0..8).map(|n| 1 << n).filter(|bit| bit & mask != 0) {
                bytes[at] ^= bit;
                seal(&mut bytes, 0, rule).unwrap();
                prop_assert_eq!(parse(&Datagram::new(&bytes), rule), Ok(packet));
                bytes[at] ^= bit;
            }
        }
    }

    #[test]
    fn a_flipped_bit_is_noticed_where_it_is_covered(
        owned in any_packet(),
        address in any::<[[u8; 4]; 2]>(),
        position in any::<prop::sample::Index>(),
    ) {
        // 4340-9.1-1, 4340-9.1-3, 4340-9.2-1
        let [a, b] = address.map(IpAddr::from);
        let rule = ChecksumRule::Ip(PseudoHeader::new(a, b));
        let packet = owned.packet();
        let mut bytes = Vec::new();
        build(&mut bytes, &packet, rule).unwrap();
        let bit = position.index(bytes.len() * 8);
        // Data Offset and CsCov are left alone: they say themselves what is covered.
        prop_assume!(!matches!(bit / 8, 4 | 5));
        bytes[bit / 8] ^= 1 << (bit % 8);
        let header = bytes.len() - packet.payload.len();
        let covered = match packet.cscov {
            0 => bytes.len(),
            n => header + (usize::from(n) - 1) * 4,
        };
        prop_assert_eq!(parse(&Datagram::new(&bytes), rule).is_ok(), bit / 8 >= covered);
    }
}

#[test]
fn payloads_are_equal_if_their_bytes_are() {
    assert_eq!(Payload::Bytes(&[0, 0]), Payload::Zeros(2));
    assert_eq!(Payload::Zeros(2), Payload::Bytes(&[0, 0]));
    assert_eq!(Payload::Zeros(0), Payload::EMPTY);
    assert_ne!(Payload::Bytes(&[0, 1]), Payload::Zeros(2));
    assert_ne!(Payload::Bytes(&[0]), Payload::Zeros(2));
    assert_ne!(Payload::Zeros(1), Payload::Zeros(2));
    assert_ne!(Payload::Bytes(&[1]), Payload::Bytes(&[2]));
}

#[test]
fn lengths_count_the_zeros() {
    let d = Datagram {
        bytes: &[1, 2],
        zeros: 3,
    };
    assert_eq!(d.len(), 5);
    assert!(!d.is_empty());
    assert!(Datagram::new(&[]).is_empty());
    assert_eq!(Payload::Zeros(4).len(), 4);
    assert_eq!(Payload::Bytes(&[1]).len(), 1);
    assert!(Payload::EMPTY.is_empty());
    assert!(!Payload::Zeros(1).is_empty());
}

#[test]
fn payloads_have_the_crc_of_their_bytes() {
    // 4340-9.3-1; appendix A.2 of the requirements
    assert_eq!(Payload::Bytes(b"123456789").crc_32c(), 0xE306_9283);
    assert_eq!(Payload::Zeros(32).crc_32c(), 0x8A91_36AA);
}

#[test]
fn ecn_bits_follow_rfc_3168() {
    // AMB-10: the two low bits, whatever the DSCP says.
    for (bits, ecn) in [
        (0, Ecn::NotEct),
        (1, Ecn::Ect1),
        (2, Ecn::Ect0),
        (3, Ecn::Ce),
    ] {
        assert_eq!(Ecn::from_bits(bits), ecn);
        assert_eq!(Ecn::from_bits(0xFC | bits), ecn);
        assert_eq!(ecn as u8, bits);
    }
}

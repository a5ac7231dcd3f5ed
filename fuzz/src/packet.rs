//! Arbitrary bytes as a datagram.

use dccp_proto::wire::{
    ChecksumRule, Datagram, Opt, Options, Packet, ParseError, PseudoHeader, build, parse, seal,
};
use std::net::{Ipv4Addr, Ipv6Addr};

/// `data` is one byte, the number of zeros that follow the datagram, and the datagram. Parses it under every
/// checksum rule and rebuilds it.
///
/// # Panics
/// If the rebuilt packet differs.
pub fn run(data: &[u8]) {
    let Some((&zeros, bytes)) = data.split_first() else {
        return;
    };
    let zeros = usize::from(zeros);
    let stored = [bytes, &vec![0; zeros]].concat();
    let packet = parse(&Datagram::new(&stored), ChecksumRule::Udp);
    compare_with_counted_zeros(packet, parse(&Datagram { bytes, zeros }, ChecksumRule::Udp));
    for rule in ip_rules() {
        // The checksum is nearly always wrong; the other checks must not depend on it.
        match parse(&Datagram::new(&stored), rule) {
            Err(ParseError::BadChecksum) => assert!(packet.is_ok()),
            over_ip => assert_eq!(over_ip, packet),
        }
    }
    if let Ok(packet) = packet {
        rebuild(&packet, &stored);
    }
}

fn ip_rules() -> [ChecksumRule; 2] {
    let v4 = |n| Ipv4Addr::new(192, 0, 2, n).into();
    let v6 = |n| Ipv6Addr::new(0x2001, 0xDB8, 0, 0, 0, 0, 0, n).into();
    [
        PseudoHeader::new(v4(1), v4(2)),
        PseudoHeader::new(v6(1), v6(2)),
    ]
    .map(ChecksumRule::Ip)
}

/// Counted zeros parse like stored zeros, except that options of mere Padding are left out, and an option
/// that the zeros cut cannot be borrowed.
fn compare_with_counted_zeros(
    stored: Result<Packet<'_>, ParseError>,
    counted: Result<Packet<'_>, ParseError>,
) {
    match (stored, counted) {
        (Ok(stored), Ok(counted)) => {
            assert!(unpadded(stored.options).eq(unpadded(counted.options)));
            let options = stored.options;
            assert_eq!(stored, Packet { options, ..counted });
        }
        (stored, Err(ParseError::Divided)) => assert!(stored.is_ok()),
        (stored, counted) => assert_eq!(stored, counted),
    }
}

fn unpadded(options: Options<'_>) -> impl Iterator<Item = Opt<'_>> {
    options.iter().filter(|option| *option != Opt::Padding)
}

/// Builds the packet again, over UDP and sealed over IP.
fn rebuild(packet: &Packet<'_>, bytes: &[u8]) {
    let mut expected = bytes.to_vec();
    clear_reserved(&mut expected, packet);
    let mut built = Vec::new();
    build(&mut built, packet, ChecksumRule::Udp).expect("what has been parsed can be built");
    assert_eq!(built, expected);
    for rule in ip_rules() {
        let mut built = Vec::new();
        build(&mut built, packet, rule).expect("what has been parsed can be built");
        assert_eq!(parse(&Datagram::new(&built), rule), Ok(*packet));
        seal(&mut expected, 0, rule).expect("what has been built can be sealed");
        assert_eq!(built, expected);
    }
}

/// Clears the checksum and the fields that are sent as 0 and ignored on receipt.
fn clear_reserved(bytes: &mut [u8], packet: &Packet<'_>) {
    bytes[6..8].fill(0);
    bytes[8] &= 0x1F;
    let has_ack = packet.ack().is_some();
    match packet.is_short {
        true if has_ack => bytes[12] = 0,
        true => {}
        false => {
            bytes[9] = 0;
            if has_ack {
                bytes[16..18].fill(0);
            }
        }
    }
}

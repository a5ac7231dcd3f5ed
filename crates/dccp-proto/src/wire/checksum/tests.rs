use super::*;
use core::net::{Ipv4Addr, Ipv6Addr};
use proptest::prelude::*;

/// The Request of appendix A.1 of the requirements, checksum 0, `CsCov` in the sixth byte.
fn request(cscov: u8, data: &[u8]) -> Vec<u8> {
    let header = [
        0xC0, 0x00, 0x13, 0x89, 0x05, cscov, 0x00, 0x00, 0x01, 0x00, 0x12, 0x34, 0x56, 0x78, 0x9A,
        0xBC, 0x66, 0x64, 0x70, 0x7A,
    ];
    [&header, data].concat()
}

fn v4() -> PseudoHeader {
    let host = |n| Ipv4Addr::new(192, 0, 2, n).into();
    PseudoHeader::new(host(1), host(2))
}

fn v6() -> PseudoHeader {
    let host = |n| Ipv6Addr::new(0x2001, 0xDB8, 0, 0, 0, 0, 0, n).into();
    PseudoHeader::new(host(1), host(2))
}

/// The checksum as RFC 1071 describes it, word by word, over a pseudo-header that is written out.
fn by_the_book(pseudo: &[u8], covered: &[u8]) -> u16 {
    let sum = u32::from(word_by_word(pseudo)) + u32::from(word_by_word(covered));
    !fold(sum.into())
}

fn word_by_word(bytes: &[u8]) -> u16 {
    let mut sum = 0_u32;
    for word in bytes.chunks(2) {
        sum += u32::from(word[0]) << 8 | word.get(1).map_or(0, |&b| u32::from(b));
        sum = (sum & 0xFFFF) + (sum >> 16);
    }
    u16::try_from(sum).unwrap()
}

#[test]
fn header_checksums_match_the_vectors() {
    // 4340-9.1-1, 4340-9.1-2, 4340-9.2-1; appendix A.1 of the requirements
    for (pseudo, cscov, data, expected) in [
        (v4(), 0, &b""[..], 0xC7F4),
        (v4(), 0, b"hello", 0x841D),
        (v4(), 1, b"hello", 0xC7EE),
        (v4(), 2, b"hello", 0xF31B),
        (v6(), 0, b"hello", 0xACAC),
    ] {
        let mut packet = request(cscov, data);
        let len = packet.len();
        let covered = covered_len(20, len, cscov).unwrap();
        assert_eq!(pseudo.compute(&packet[..covered], len), expected);
        packet[6..8].copy_from_slice(&expected.to_be_bytes());
        assert!(pseudo.matches(&packet[..covered], len));
        packet[6] ^= 1;
        assert!(!pseudo.matches(&packet[..covered], len));
    }
}

#[test]
fn coverage_ends_with_the_data() {
    // 4340-9.2-1: `hello` has 5 bytes; CsCov 3 would cover 8.
    assert_eq!(covered_len(20, 25, 0), Some(25));
    assert_eq!(covered_len(20, 25, 1), Some(20));
    assert_eq!(covered_len(20, 25, 2), Some(24));
    assert_eq!(covered_len(20, 25, 3), None);
    assert_eq!(covered_len(20, 28, 3), Some(28));
    assert_eq!(covered_len(20, 75, 15), None);
    assert_eq!(covered_len(20, 76, 15), Some(76));
}

#[test]
fn the_pseudo_header_does_not_mind_the_direction() {
    // 4340-9.1-2
    let (a, b) = (
        Ipv4Addr::new(10, 1, 2, 3).into(),
        Ipv4Addr::new(192, 168, 255, 254).into(),
    );
    assert_eq!(PseudoHeader::new(a, b), PseudoHeader::new(b, a));
}

#[test]
fn a_sum_is_folded_until_no_carry_is_left() {
    // 4340-9.1-1: 1 + 0 + 0xFFFF + 0xFFFF.
    assert_eq!(fold(0x0001_0000_FFFF_FFFF), 1);
    for (sum, folded) in [(0, 0), (0xFFFF, 0xFFFF), (0x1_0000, 1), (u64::MAX, 0xFFFF)] {
        assert_eq!(fold(sum), folded);
    }
}

#[test]
fn crcs_match_the_vectors() {
    // 4340-9.3-1; appendix A.2 of the requirements
    assert_eq!(crc_32c(b"", 0), 0);
    assert_eq!(crc_32c(b"123456789", 0), 0xE306_9283);
    assert_eq!(crc_32c(&[0; 32], 0), 0x8A91_36AA);
    assert_eq!(crc_32c(&[], 32), 0x8A91_36AA);
    assert_eq!(crc_32c(&[0xFF; 32], 0), 0x62A8_AB43);
}

#[test]
fn crcs_are_big_endian_on_the_wire() {
    // AMB-9
    assert_eq!(
        crc_to_wire(crc_32c(b"123456789", 0)),
        [0xE3, 0x06, 0x92, 0x83]
    );
    assert_eq!(crc_from_wire([0xE3, 0x06, 0x92, 0x83]), 0xE306_9283);
}

proptest! {
    #[test]
    fn sums_are_those_of_the_book(
        bytes in prop::collection::vec(any::<u8>(), 0..200),
        a in any::<[u8; 4]>(),
        b in any::<[u8; 16]>(),
        rest in 0_usize..70_000,
    ) {
        // 4340-9.1-1, 4340-9.1-2
        let len = bytes.len() + rest;
        let pseudo = PseudoHeader::new(Ipv6Addr::from(b).into(), Ipv6Addr::LOCALHOST.into());
        let len_bytes = u32::try_from(len).unwrap().to_be_bytes();
        let written = [&b[..], &Ipv6Addr::LOCALHOST.octets(), &len_bytes, &[0, 0, 0, 33]].concat();
        prop_assert_eq!(pseudo.compute(&bytes, len), by_the_book(&written, &bytes));

        let Ok(len_16) = u16::try_from(len) else { return Ok(()) };
        let pseudo = PseudoHeader::new(Ipv4Addr::from(a).into(), Ipv4Addr::LOCALHOST.into());
        let [hi, lo] = len_16.to_be_bytes();
        let written = [&a[..], &Ipv4Addr::LOCALHOST.octets(), &[0, 33, hi, lo]].concat();
        prop_assert_eq!(pseudo.compute(&bytes, len), by_the_book(&written, &bytes));
    }

    #[test]
    fn counted_zeros_have_the_crc_of_stored_ones(
        bytes in prop::collection::vec(any::<u8>(), 0..40),
        zeros in 0_usize..5000,
    ) {
        // 4340-9.3-1
        let mut stored = bytes.clone();
        stored.resize(bytes.len() + zeros, 0);
        prop_assert_eq!(crc_32c(&bytes, zeros), crc_32c(&stored, 0));
    }
}

/// The ways of summing that this processor has, with a copy of what each is shown.
fn ways(bytes: &[u8]) -> Vec<(u64, Vec<u8>)> {
    let mut ways = vec![(add_words(bytes), bytes.to_vec())];
    #[cfg(target_arch = "x86_64")]
    {
        let mut shown = vec![];
        if let Some((total, rest)) = simd::avx2(bytes, |piece| shown.extend_from_slice(piece)) {
            shown.extend_from_slice(rest);
            ways.push((total + add_words(rest), shown));
        }
    }
    ways
}

proptest! {
    /// Lengths below and above the first that wide registers sum, and starts of every alignment.
    #[test]
    fn all_processors_sum_alike(bytes in prop::collection::vec(any::<u8>(), 0..4000), start in 0..32_usize) {
        let bytes = &bytes[start.min(bytes.len())..];
        prop_assert_eq!(u16::try_from(sum(bytes)).unwrap(), word_by_word(bytes));
        for (total, shown) in ways(bytes) {
            prop_assert_eq!(fold(total), fold(add_words(bytes)));
            prop_assert!(shown == bytes, "all of it, and in order");
        }
        let mut copy = vec![0; bytes.len()];
        prop_assert_eq!(copy_and_sum(bytes, &mut copy), sum(bytes));
        prop_assert!(copy == bytes);
    }
}

#[test]
fn sums_of_extremes_do_not_overflow() {
    for byte in [0, 0x7F, 0x80, 0xFF] {
        let bytes = vec![byte; 1 << 20];
        assert_eq!(
            u16::try_from(sum(&bytes)).unwrap(),
            word_by_word(&bytes),
            "{byte}"
        );
        for (total, _) in ways(&bytes) {
            assert_eq!(fold(total), fold(add_words(&bytes)), "{byte}");
        }
    }
}

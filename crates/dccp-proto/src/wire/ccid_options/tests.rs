use super::*;
use proptest::prelude::*;

/// The Loss Intervals of RFC 4342 §8.6, with the padding of a whole header.
const EXAMPLE: [u8; 40] = [
    193, 39, 2, 0, 0, 10, 128, 0, 1, 0, 0, 10, 0, 0, 8, 0, 0, 5, 0, 0, 10, 0, 0, 8, 0, 0, 1, 0, 0,
    8, 0, 0, 10, 128, 0, 0, 0, 0, 15, 0,
];

const fn interval(lossless: u32, nonce: bool, loss: u32, data: u32) -> LossInterval {
    LossInterval {
        lossless,
        nonce,
        loss,
        data,
    }
}

const INTERVALS: [LossInterval; 4] = [
    interval(10, true, 1, 10),
    interval(8, false, 5, 10),
    interval(8, false, 1, 8),
    interval(10, true, 0, 15),
];

#[test]
fn loss_intervals_match_the_example() {
    // 4342-8.6-1, 4342-8.6-2, 4342-8.6-3
    let report = LossIntervals::of(Options(&EXAMPLE)).unwrap();
    assert_eq!(report.skip, 2);
    assert_eq!(report.iter().collect::<Vec<_>>(), INTERVALS);
    let mut writer = OptionWriter::new(39);
    push_loss_intervals(&mut writer, 2, &INTERVALS).unwrap();
    assert_eq!(writer.as_slice(), &EXAMPLE[..39]);
}

#[test]
fn dropped_packets_match_the_example() {
    // 5622-8.7-1, 5622-8.7-2
    let bytes = [195, 14, 0, 0, 1, 0, 0, 4, 0, 0, 1, 0, 0, 0];
    let counts = [1, 4, 1, 0];
    let mut writer = OptionWriter::new(14);
    push_dropped_packets(&mut writer, &counts).unwrap();
    assert_eq!(writer.as_slice(), bytes);
    let area = [&EXAMPLE, &bytes[..]].concat();
    let with_drops = LossIntervals::of(Options(&area)).unwrap().iter_with_drops();
    let expected: Vec<_> = INTERVALS.into_iter().zip(counts).collect();
    assert_eq!(with_drops.collect::<Vec<_>>(), expected);
}

#[test]
fn drop_counts_are_at_most_the_loss_length_which_replaces_missing_ones() {
    // 5622-8.7-2
    for (dropped_packets, drops) in [
        (&[][..], [1, 5, 1, 0]),
        (&[195, 5, 0, 0, 2], [1, 5, 1, 0]),
        (&[195, 8, 0, 0, 0, 0, 0, 3], [0, 3, 1, 0]),
        (&[195, 5, 0, 0, 0, 195, 8, 0, 0, 4, 0, 0, 0], [0, 4, 0, 0]),
        (
            &[195, 17, 0, 0, 1, 0, 0, 6, 0, 0, 1, 0, 0, 1, 0, 0, 9],
            [1, 5, 1, 0],
        ),
    ] {
        let area = [&EXAMPLE, dropped_packets].concat();
        let with_drops = LossIntervals::of(Options(&area)).unwrap().iter_with_drops();
        let found: Vec<_> = with_drops.map(|(_, drops)| drops).collect();
        assert_eq!(found, drops, "{dropped_packets:?}");
    }
}

#[test]
fn an_option_holds_28_intervals_and_the_rest_follows_in_more() {
    // 4342-8.6-1, 4342-8.6-2
    let intervals: Vec<_> = (0..60)
        .map(|n| interval(n, n % 2 == 0, n + 1, n + 2))
        .collect();
    let mut writer = OptionWriter::new(1000);
    push_loss_intervals(&mut writer, 3, &intervals).unwrap();
    let options: Vec<_> = ccid_4_options(writer.options(), LOSS_INTERVALS).collect();
    let shapes: Vec<_> = options
        .iter()
        .map(|option| match option {
            CcidOpt::LossIntervals { skip, intervals } => (*skip, intervals.len()),
            _ => unreachable!("only loss intervals were written"),
        })
        .collect();
    assert_eq!(shapes, [(3, 28), (0, 28), (0, 4)]);
    assert_eq!(writer.len(), 2 * 255 + 3 + 4 * 9);
    let report = LossIntervals::of(writer.options()).unwrap();
    assert_eq!(report.skip, 3);
    assert_eq!(report.iter().collect::<Vec<_>>(), intervals);
}

#[test]
fn an_option_holds_84_drop_counts_and_the_rest_follows_in_more() {
    // 5622-8.7-1
    let counts: Vec<u32> = (0..200).collect();
    let mut writer = OptionWriter::new(1000);
    push_dropped_packets(&mut writer, &counts).unwrap();
    assert_eq!(writer.len(), 254 + 254 + 2 + 3 * 32);
    let found: Vec<_> = ccid_4_options(writer.options(), DROPPED_PACKETS)
        .flat_map(|option| match option {
            CcidOpt::DroppedPackets(counts) => counts.iter().map(|&n| from_24_bits(n)),
            _ => unreachable!("only dropped packets were written"),
        })
        .collect();
    assert_eq!(found, counts);
}

#[test]
fn a_later_option_with_a_skip_length_is_ignored() {
    // 4342-8.6-2
    let first = [193, 12, 1, 0, 0, 1, 0, 0, 0, 0, 0, 1];
    let later = [193, 12, 1, 0, 0, 2, 0, 0, 0, 0, 0, 2];
    let last = [193, 12, 0, 0, 0, 3, 0, 0, 0, 0, 0, 3];
    let bytes = [first, later, last].concat();
    let lossless: Vec<_> = LossIntervals::of(Options(&bytes))
        .unwrap()
        .iter()
        .map(|i| i.lossless)
        .collect();
    assert_eq!(lossless, [1, 3]);
}

#[test]
fn a_skip_length_above_3_is_malformed() {
    // 4342-8.6-2
    for (skip, expected) in [(3, Some(3)), (4, None)] {
        let report = LossIntervals::of(Options(&[193, 3, skip, 0, 193, 3, 0, 0])).map(|r| r.skip);
        assert_eq!(report, expected);
    }
    let mut writer = OptionWriter::new(100);
    assert_eq!(
        push_loss_intervals(&mut writer, 4, &INTERVALS),
        Err(NoSpace)
    );
    assert_eq!(LossIntervals::of(Options(&[194, 6, 0, 0, 0, 1])), None);
}

#[test]
fn what_does_not_fit_leaves_nothing_behind() {
    let mut writer = OptionWriter::new(300);
    writer.push_raw(200, &[1]).unwrap();
    let many = [interval(1, false, 1, 1); 33];
    assert_eq!(push_loss_intervals(&mut writer, 0, &many), Err(NoSpace));
    assert_eq!(push_dropped_packets(&mut writer, &[7; 100]), Err(NoSpace));
    assert_eq!(writer.as_slice(), [200, 3, 1]);
    assert_eq!(push_loss_intervals(&mut writer, 0, &many[..32]), Ok(()));
}

#[test]
fn large_numbers_become_the_largest() {
    let bytes = interval(1 << 24, true, 1 << 23, u32::MAX).to_bytes();
    assert_eq!(bytes, [0xFF; 9]);
    let bytes = interval(0xFF_FFFF, false, 0x7F_FFFF, 0xFF_FFFF).to_bytes();
    assert_eq!(
        LossInterval::from_bytes(bytes),
        interval(0xFF_FFFF, false, 0x7F_FFFF, 0xFF_FFFF)
    );
    let mut writer = OptionWriter::new(100);
    push_dropped_packets(&mut writer, &[u32::MAX, 0xFF_FFFE]).unwrap();
    assert_eq!(
        writer.as_slice(),
        [195, 8, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFE]
    );
}

#[test]
fn rates_are_32_bit_numbers() {
    // 4342-8.3-1, 4342-8.4-1
    for (kind, decoded) in [
        (192, CcidOpt::LossEventRate(0x0102_0304)),
        (194, CcidOpt::ReceiveRate(0x0102_0304)),
    ] {
        assert_eq!(CcidOpt::decode(3, kind, &[1, 2, 3, 4]), decoded);
        assert_eq!(CcidOpt::decode(4, kind, &[1, 2, 3, 4]), decoded);
        assert_eq!(CcidOpt::decode(3, kind, &[1, 2, 3]), CcidOpt::Malformed);
        assert_eq!(
            CcidOpt::decode(3, kind, &[1, 2, 3, 4, 5]),
            CcidOpt::Malformed
        );
        let mut writer = OptionWriter::new(6);
        decoded.push(&mut writer).unwrap();
        assert_eq!(writer.as_slice(), [kind, 6, 1, 2, 3, 4]);
    }
}

#[test]
fn each_ccid_has_its_own_options() {
    // 4340-10.3-1, 5622-8.7-1
    assert_eq!(CcidOpt::decode(2, 192, &[0; 4]), CcidOpt::Unknown);
    assert_eq!(CcidOpt::decode(3, 195, &[0; 3]), CcidOpt::Unknown);
    assert_eq!(
        CcidOpt::decode(4, 195, &[0; 3]),
        CcidOpt::DroppedPackets(&[[0; 3]])
    );
    assert_eq!(CcidOpt::decode(4, 195, &[0; 4]), CcidOpt::Malformed);
    assert_eq!(CcidOpt::decode(4, 196, &[0; 4]), CcidOpt::Unknown);
    assert_eq!(CcidOpt::decode(3, 193, &[]), CcidOpt::Malformed);
    assert_eq!(CcidOpt::decode(3, 193, &[0; 11]), CcidOpt::Malformed);
    assert_eq!(CcidOpt::decode(3, 191, &[]), CcidOpt::Unknown);
    let mut writer = OptionWriter::new(100);
    assert_eq!(CcidOpt::Unknown.push(&mut writer), Err(NoSpace));
    assert_eq!(CcidOpt::Malformed.push(&mut writer), Err(NoSpace));
}

#[test]
fn option_numbers_tell_their_direction() {
    // 4340-10.3-1
    assert!(CcidOpt::is_from_hc_sender(128));
    assert!(CcidOpt::is_from_hc_sender(191));
    assert!(!CcidOpt::is_from_hc_sender(192));
    assert!(!CcidOpt::is_from_hc_sender(255));
}

#[test]
fn rtt_estimates_take_the_shortest_form() {
    // 6323-3.2.1-1
    let us = Duration::from_micros;
    for (rtt, bytes) in [
        (None, &[128, 3, 0][..]),
        (Some(Duration::ZERO), &[128, 3, 1]),
        (Some(Duration::from_nanos(900)), &[128, 3, 1]),
        (Some(us(255)), &[128, 3, 255]),
        (Some(us(256)), &[128, 4, 1, 0]),
        (Some(us(65_535)), &[128, 4, 255, 255]),
        (Some(us(65_536)), &[128, 5, 1, 0, 0]),
        (Some(us(0xFF_FFFE)), &[128, 5, 255, 255, 254]),
        (Some(us(0xFF_FFFF)), &[128, 5, 255, 255, 255]),
        (Some(us(0x100_0000)), &[128, 5, 255, 255, 255]),
        (Some(Duration::MAX), &[128, 5, 255, 255, 255]),
    ] {
        let mut writer = OptionWriter::new(5);
        let estimate = RttEstimate::new(rtt);
        CcidOpt::RttEstimate(estimate).push(&mut writer).unwrap();
        assert_eq!(writer.as_slice(), bytes, "{rtt:?}");
        assert_eq!(estimate.wire_len(), bytes.len());
    }
}

#[test]
fn rtt_estimates_are_read_in_each_form() {
    // 6323-3.2.1-1, 6323-3.3-2
    for (data, rtt_us) in [
        (&[0][..], None),
        (&[0, 0, 0], None),
        (&[1], Some(1)),
        (&[0, 0, 1], Some(1)),
        (&[1, 2], Some(0x102)),
        (&[255, 255, 255], Some(0xFF_FFFF)),
    ] {
        let CcidOpt::RttEstimate(estimate) = CcidOpt::decode(3, 128, data) else {
            panic!("{data:?} is an RTT Estimate");
        };
        assert_eq!(estimate.rtt(), rtt_us.map(Duration::from_micros));
    }
    assert_eq!(CcidOpt::decode(3, 128, &[]), CcidOpt::Malformed);
    assert_eq!(CcidOpt::decode(4, 128, &[0; 4]), CcidOpt::Malformed);
    assert_eq!(CcidOpt::decode(2, 128, &[1]), CcidOpt::Unknown);
}

proptest! {
    #[test]
    fn encoding_undoes_decoding(
        ccid in 2_u8..5,
        kind in prop_oneof![any::<u8>(), 192_u8..196, Just(128_u8)],
        data in prop::collection::vec(any::<u8>(), 0..253),
    ) {
        let option = CcidOpt::decode(ccid, kind, &data);
        let mut writer = OptionWriter::new(255);
        match option.push(&mut writer) {
            Ok(()) => {
                let len = u8::try_from(data.len() + 2).unwrap();
                prop_assert_eq!(writer.as_slice(), [&[kind, len], &data[..]].concat());
            }
            Err(NoSpace) => prop_assert!(matches!(option, CcidOpt::Unknown | CcidOpt::Malformed)),
        }
    }

    #[test]
    fn intervals_survive(bytes in any::<[u8; 9]>()) {
        // 4342-8.6-3
        prop_assert_eq!(LossInterval::from_bytes(bytes).to_bytes(), bytes);
    }
}

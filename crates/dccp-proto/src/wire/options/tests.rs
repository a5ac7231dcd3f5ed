use super::*;

fn decoded(area: &[u8]) -> Vec<Opt<'_>> {
    Options(area).iter().collect()
}

fn feature(feature: u8, values: &[u8]) -> FeatureOpt<'_> {
    FeatureOpt { feature, values }
}

#[test]
fn feature_options_match_the_examples() {
    // 4340-6.1-1, 4340-6.2-2, 4340-6.3.1-3; byte-level examples of the requirements, part 3
    let window = [0, 0, 0, 0, 4, 0];
    for (bytes, option) in [
        (&[32, 5, 1, 2, 3][..], Opt::ChangeL(feature(1, &[2, 3]))),
        (
            &[32, 9, 3, 0, 0, 0, 0, 4, 0],
            Opt::ChangeL(feature(3, &window)),
        ),
        (&[33, 6, 1, 2, 2, 3], Opt::ConfirmL(feature(1, &[2, 2, 3]))),
        (&[33, 3, 126], Opt::ConfirmL(feature(126, &[]))),
        (&[34, 5, 1, 3, 2], Opt::ChangeR(feature(1, &[3, 2]))),
        (&[35, 6, 1, 2, 3, 2], Opt::ConfirmR(feature(1, &[2, 3, 2]))),
        (
            &[35, 9, 3, 0, 0, 0, 0, 4, 0],
            Opt::ConfirmR(feature(3, &window)),
        ),
        (&[35, 3, 126], Opt::ConfirmR(feature(126, &[]))),
    ] {
        assert_eq!(decoded(bytes), [option]);
    }
}

#[test]
fn options_are_decoded_in_order_of_appearance() {
    // 4340-3.1-1, 4340-5.8-2, 4340-5.8-3, 4340-5.8.1-1: unaligned, with Padding in between
    // 4340-13.1-1
    let area = [
        1, 34, 4, 6, 1, 0, 2, 37, 5, 1, 2, 3, 41, 6, 1, 2, 3, 4, 0, 0, 44, 6, 9, 8, 7, 6, 0,
    ];
    let expected = [
        Opt::Mandatory,
        Opt::ChangeR(feature(6, &[1])),
        Opt::Padding,
        Opt::SlowReceiver,
        Opt::NdpCount {
            count: 0x10203,
            width: 3,
        },
        Opt::Timestamp(0x0102_0304),
        Opt::Padding,
        Opt::Padding,
        Opt::DataChecksum(0x0908_0706),
        Opt::Padding,
    ];
    assert_eq!(decoded(&area), expected);
}

#[test]
fn elapsed_times_have_two_or_four_bytes_and_echoes_may_lack_them() {
    // 4340-13.2-1, 4340-13.3-1
    let echo = |elapsed| Opt::TimestampEcho {
        echo: 0x0102_0304,
        elapsed,
    };
    let long = Elapsed::Long(0x0102_0304);
    for (bytes, option) in [
        (&[43, 4, 1, 2][..], Opt::ElapsedTime(Elapsed::Short(0x102))),
        (&[43, 6, 1, 2, 3, 4], Opt::ElapsedTime(long)),
        (&[42, 6, 1, 2, 3, 4], echo(Elapsed::None)),
        (&[42, 8, 1, 2, 3, 4, 5, 6], echo(Elapsed::Short(0x506))),
        (&[42, 10, 1, 2, 3, 4, 1, 2, 3, 4], echo(long)),
    ] {
        assert_eq!(decoded(bytes), [option]);
    }
}

#[test]
fn durations_become_units_of_10_us_rounded_down() {
    // 4340-13.2-1, 4340-13.2-2, 4340-13.3-1
    let us = Duration::from_micros;
    for (time, elapsed, smallest) in [
        (us(0), Elapsed::Short(0), Elapsed::None),
        (us(9), Elapsed::Short(0), Elapsed::None),
        (us(10), Elapsed::Short(1), Elapsed::Short(1)),
        (us(19), Elapsed::Short(1), Elapsed::Short(1)),
        (us(655_359), Elapsed::Short(65_535), Elapsed::Short(65_535)),
        (us(655_360), Elapsed::Long(65_536), Elapsed::Long(65_536)),
        (
            us(42_949_672_940),
            Elapsed::Long(u32::MAX - 1),
            Elapsed::Long(u32::MAX - 1),
        ),
        (
            us(42_949_672_950),
            Elapsed::Long(u32::MAX),
            Elapsed::Long(u32::MAX),
        ),
        (
            Duration::MAX,
            Elapsed::Long(u32::MAX),
            Elapsed::Long(u32::MAX),
        ),
    ] {
        assert_eq!(Elapsed::from_duration(time), elapsed);
        assert_eq!(Elapsed::smallest(time), smallest);
    }
    assert_eq!(Elapsed::None.duration(), us(0));
    assert_eq!(Elapsed::Short(65_535).duration(), us(655_350));
    assert_eq!(Elapsed::Long(65_536).duration(), us(655_360));
}

#[test]
fn other_options_are_decoded_to_their_types() {
    for (bytes, option) in [
        (&[36, 2][..], Opt::InitCookie(&[])),
        (&[36, 4, 1, 2], Opt::InitCookie(&[1, 2])),
        (
            &[38, 3, 5],
            Opt::AckVector {
                nonce: false,
                cells: &[5],
            },
        ),
        (
            &[39, 2],
            Opt::AckVector {
                nonce: true,
                cells: &[],
            },
        ),
        (&[40, 3, 5], Opt::DataDropped(&[5])),
        (&[46, 3, 5], Opt::Multipath(&[5])),
        (
            &[128, 2],
            Opt::CcidSpecific {
                kind: 128,
                data: &[],
            },
        ),
        (
            &[255, 3, 5],
            Opt::CcidSpecific {
                kind: 255,
                data: &[5],
            },
        ),
    ] {
        assert_eq!(decoded(bytes), [option]);
    }
}

#[test]
fn quick_start_responses_ignore_reserved_bits() {
    // 4340-3.1-3; RFC 5634 §2.2.1
    let response = Opt::QuickStartResponse {
        rate: 7,
        ttl_diff: 9,
        nonce: 0x3FFF_FFFE,
    };
    assert_eq!(
        decoded(&[45, 8, 0xF7, 9, 0xFF, 0xFF, 0xFF, 0xFB]),
        [response]
    );
    assert_eq!(
        decoded(&[45, 8, 0x07, 9, 0xFF, 0xFF, 0xFF, 0xF8]),
        [response]
    );
}

#[test]
fn unassigned_types_are_unknown_whatever_they_carry() {
    // 4340-5.8-2, 4340-5.8-4
    for kind in 3..32 {
        assert_eq!(decoded(&[kind]), [Opt::Unknown { kind, data: &[] }]);
    }
    for kind in 47..128 {
        for data in [&[][..], &[0], &[1, 2, 3, 4, 5, 6, 7]] {
            let area = [&[kind, u8::try_from(data.len()).unwrap() + 2], data].concat();
            assert_eq!(decoded(&area), [Opt::Unknown { kind, data }]);
        }
    }
}

#[test]
fn known_options_of_an_impossible_length_are_malformed() {
    // 4340-5.8-8
    let possible: [(u8, &[usize]); 11] = [
        (32, &[2, 3, 4, 5, 6, 7, 8, 9, 10, 11]),
        (33, &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]),
        (34, &[2, 3, 4, 5, 6, 7, 8, 9, 10, 11]),
        (35, &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]),
        (37, &[1, 2, 3, 4, 5, 6]),
        (41, &[4]),
        (42, &[4, 6, 8]),
        (43, &[2, 4]),
        (44, &[4]),
        (45, &[6]),
        (46, &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]),
    ];
    let data = [0; 11];
    for (kind, lengths) in possible {
        for len in 0..=11 {
            let data = &data[..len];
            let is_malformed = Opt::decode(kind, data) == Opt::Malformed { kind, data };
            assert_eq!(
                is_malformed,
                !lengths.contains(&len),
                "type {kind}, {len} bytes"
            );
        }
    }
}

#[test]
fn a_bad_length_hides_all_that_follows() {
    // 4340-5.8-5
    for bad in [
        &[41, 0, 2, 2][..],
        &[41, 1, 2, 2],
        &[41, 5, 2, 2],
        &[41, 255, 2, 2],
        &[41],
    ] {
        let area = [&[2, 0], bad].concat();
        let mut options = Options(&area).iter();
        assert_eq!(options.next(), Some(Opt::SlowReceiver));
        assert_eq!(options.next(), Some(Opt::Padding));
        assert_eq!(options.next(), None);
        assert_eq!(options.next(), None);
        assert_eq!(options.rest(), bad);
    }
}

#[test]
fn options_are_allowed_where_the_table_says() {
    // 4340-5.8-7, 4340-5.8.2-2, 4340-6-1, 4340-6.6.1-1, 4340-8.1.4-1, 4340-11.7-4, 4340-13.2-3
    use PacketType::{Data, Listen, Request};
    let everywhere: &[PacketType] = &[];
    let not_on_data = &[Data];
    let needs_ack = &[Request, Data, Listen];
    for (kind, forbidden) in [
        (0, everywhere),
        (1, not_on_data),
        (2, everywhere),
        (3, everywhere),
        (32, not_on_data),
        (33, needs_ack),
        (34, not_on_data),
        (35, needs_ack),
        (36, needs_ack),
        (37, everywhere),
        (38, needs_ack),
        (39, needs_ack),
        (40, needs_ack),
        (41, everywhere),
        (42, everywhere),
        (43, needs_ack),
        (44, everywhere),
        (45, everywhere),
        (46, everywhere),
        (47, everywhere),
        (128, everywhere),
        (192, everywhere),
    ] {
        // Whether such an option is decoded well or malformed makes no difference.
        for data in [&[][..], &[1], &[0, 2], &[1, 2, 3, 4]] {
            let option = Opt::decode(kind, data);
            assert_eq!(option.kind(), kind);
            for packet_type in PacketType::ALL {
                let expected = !forbidden.contains(&packet_type);
                assert_eq!(
                    option.is_allowed_on(packet_type),
                    expected,
                    "{kind} {packet_type:?}"
                );
            }
        }
    }
}

#[test]
fn ndp_counts_take_the_smallest_width() {
    // 4340-7.7-3
    for (count, expected) in [
        (0, 1),
        (1, 1),
        (0xFF, 1),
        (0x100, 2),
        (0xFFFF, 2),
        (0x1_0000, 3),
        (0x100_0000, 4),
        (0x1_0000_0000, 5),
        (0xFF_FFFF_FFFF, 5),
        (0x100_0000_0000, 6),
        (0xFFFF_FFFF_FFFF, 6),
        (0x1_0000_0000_0000, 7),
        (u64::MAX, 8),
    ] {
        let expected = Opt::NdpCount {
            count,
            width: expected,
        };
        assert_eq!(Opt::ndp_count(count), expected);
    }
}

#[test]
fn resets_name_an_option_and_the_first_bytes_of_its_data() {
    // 4340-5.6-4
    for (bytes, expected) in [
        (&[34, 5, 1, 3, 2][..], [34, 1, 3]),
        (&[33, 3, 126], [33, 126, 0]),
        (&[36, 2], [36, 0, 0]),
        (&[30], [30, 0, 0]),
        (&[41, 5, 7, 8, 9], [41, 7, 8]),
        (&[200, 4, 7, 8], [200, 7, 8]),
    ] {
        let option = Options(bytes).iter().next().unwrap();
        assert_eq!(option.reset_data(), expected);
    }
}

#[test]
fn options_are_shown_as_a_list() {
    assert_eq!(
        format!("{:?}", Options(&[1, 0, 2])),
        "[Mandatory, Padding, SlowReceiver]"
    );
}

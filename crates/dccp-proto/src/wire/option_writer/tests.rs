use super::*;
use proptest::prelude::*;

const FEATURE: FeatureOpt<'_> = FeatureOpt {
    feature: 1,
    values: &[2, 3],
};

#[test]
fn options_are_written_one_after_the_other() {
    // 4340-5.8-2, 4340-5.8.1-1, 4340-6.1-1
    let mut writer = OptionWriter::new(100);
    writer.push(&Opt::SlowReceiver).unwrap();
    writer.push(&Opt::ChangeL(FEATURE)).unwrap();
    writer.push(&Opt::Padding).unwrap();
    writer.push_mandatory(&Opt::ChangeR(FEATURE)).unwrap();
    let expected = [2, 32, 5, 1, 2, 3, 0, 1, 34, 5, 1, 2, 3];
    assert_eq!(writer.as_slice(), expected);
    assert_eq!(writer.options(), Options(&expected));
    assert_eq!((writer.len(), writer.remaining()), (13, 87));
    assert_eq!(format!("{writer:?}"), format!("{:?}", Options(&expected)));
}

#[test]
fn what_does_not_fit_leaves_nothing_behind() {
    let mut writer = OptionWriter::new(6);
    assert_eq!(writer.push(&Opt::ChangeL(FEATURE)), Ok(()));
    assert_eq!(writer.push(&Opt::Timestamp(1)), Err(NoSpace));
    assert_eq!(writer.push_mandatory(&Opt::SlowReceiver), Err(NoSpace));
    assert_eq!(writer.push_data_checksum(), Err(NoSpace));
    assert_eq!(writer.as_slice(), [32, 5, 1, 2, 3]);
    assert_eq!(writer.push(&Opt::SlowReceiver), Ok(()));
    assert_eq!(writer.push(&Opt::Padding), Err(NoSpace));
    assert_eq!(writer.remaining(), 0);
    assert_eq!(NoSpace.to_string(), "the option does not fit");
}

#[test]
fn a_writer_can_be_emptied_and_cut() {
    let mut writer = OptionWriter::new(4);
    assert!(writer.is_empty());
    writer.push(&Opt::SlowReceiver).unwrap();
    writer.push(&Opt::Mandatory).unwrap();
    assert!(!writer.is_empty());
    writer.truncate(5);
    assert_eq!(writer.as_slice(), [2, 1]);
    writer.truncate(1);
    assert_eq!(writer.as_slice(), [2]);
    writer.reset(7);
    assert!(writer.is_empty());
    assert_eq!(writer.remaining(), 7);
    writer.reset(5000);
    assert_eq!(writer.remaining(), OPTIONS_MAX);
    assert_eq!(OptionWriter::new(5000).remaining(), 1008);
    assert_eq!(OptionWriter::new(1007).remaining(), 1007);
}

#[test]
fn room_can_be_added_up_to_the_most_that_options_take() {
    let mut writer = OptionWriter::new(4);
    writer.add_room(3);
    assert_eq!(writer.remaining(), 7);
    writer.add_room(OPTIONS_MAX);
    assert_eq!(writer.remaining(), OPTIONS_MAX);
}

#[test]
fn an_option_has_at_most_253_bytes_of_data() {
    // 4340-5.8-2
    let mut writer = OptionWriter::new(1000);
    assert_eq!(writer.push(&Opt::InitCookie(&[7; 254])), Err(NoSpace));
    assert_eq!(writer.push_raw(200, &[7; 254]), Err(NoSpace));
    assert!(writer.is_empty());
    assert_eq!(writer.push(&Opt::InitCookie(&[7; 253])), Ok(()));
    assert_eq!(writer.as_slice()[..3], [36, 255, 7]);
    assert_eq!(writer.len(), 255);
}

#[test]
fn single_byte_options_take_no_data() {
    // 4340-5.8-2
    let mut writer = OptionWriter::new(100);
    assert_eq!(writer.push_raw(31, &[1]), Err(NoSpace));
    assert_eq!(writer.push_raw(31, &[]), Ok(()));
    assert_eq!(writer.push_raw(32, &[]), Ok(()));
    assert_eq!(writer.as_slice(), [31, 32, 2]);
}

#[test]
fn numbers_that_exceed_their_field_do_not_fit() {
    let mut writer = OptionWriter::new(100);
    let ndp = |count, width| Opt::NdpCount { count, width };
    for option in [
        ndp(256, 1),
        ndp(0, 0),
        ndp(0, 7),
        ndp(0, 9),
        ndp(1 << 48, 6),
    ] {
        assert_eq!(writer.push(&option), Err(NoSpace), "{option:?}");
    }
    let response = |rate, nonce| Opt::QuickStartResponse {
        rate,
        ttl_diff: 0,
        nonce,
    };
    assert_eq!(writer.push(&response(16, 0)), Err(NoSpace));
    assert_eq!(writer.push(&response(0, 1 << 30)), Err(NoSpace));
    assert!(writer.is_empty());
    writer.push(&ndp(255, 1)).unwrap();
    writer.push(&ndp(1, 6)).unwrap();
    writer.push(&response(15, (1 << 30) - 1)).unwrap();
    let expected = [
        37, 3, 255, 37, 8, 0, 0, 0, 0, 0, 1, 45, 8, 15, 0, 255, 255, 255, 252,
    ];
    assert_eq!(writer.as_slice(), expected);
}

#[test]
fn elapsed_time_always_has_a_value() {
    // 4340-13.2-1, 4340-13.3-1
    let mut writer = OptionWriter::new(100);
    writer.push(&Opt::ElapsedTime(Elapsed::None)).unwrap();
    let echo = Opt::TimestampEcho {
        echo: 5,
        elapsed: Elapsed::None,
    };
    writer.push(&echo).unwrap();
    assert_eq!(writer.as_slice(), [43, 4, 0, 0, 42, 6, 0, 0, 0, 5]);
}

#[test]
fn encoded_options_are_appended_whole_or_not_at_all() {
    let mut writer = OptionWriter::new(7);
    writer.push(&Opt::SlowReceiver).unwrap();
    assert_eq!(writer.push_all(Options(&[34, 5, 1, 3, 2])), Ok(()));
    assert_eq!(writer.push_all(Options(&[2, 2])), Err(NoSpace));
    assert_eq!(writer.push_all(Options(&[0])), Ok(()));
    assert_eq!(writer.push_all(Options::EMPTY), Ok(()));
    assert_eq!(writer.as_slice(), [2, 34, 5, 1, 3, 2, 0]);
}

#[test]
fn a_data_checksum_slot_knows_its_place() {
    let mut writer = OptionWriter::new(100);
    writer.push(&Opt::SlowReceiver).unwrap();
    let slot = writer.push_data_checksum().unwrap();
    assert_eq!(slot.offset(), 3);
    assert_eq!(writer.as_slice(), [2, 44, 6, 0, 0, 0, 0]);
}

proptest! {
    #[test]
    fn encoding_undoes_decoding(
        kind in any::<u8>(),
        data in prop_oneof![
            prop::collection::vec(any::<u8>(), 0..12),
            prop::collection::vec(any::<u8>(), 0..=253),
        ],
    ) {
        // 4340-3.1-1, 4340-5.8-2
        let data = if kind < 32 { &[][..] } else { &data[..] };
        let option = Opt::decode(kind, data);
        let mut expected = if kind < 32 {
            vec![kind]
        } else {
            [&[kind, u8::try_from(data.len() + 2).unwrap()], data].concat()
        };
        if matches!(option, Opt::QuickStartResponse { .. }) {
            // 4340-3.1-3: reserved bits are sent as 0.
            expected[2] &= 0x0F;
            expected[7] &= 0xFC;
        }
        let mut writer = OptionWriter::new(expected.len());
        prop_assert_eq!(writer.push(&option), Ok(()));
        prop_assert_eq!(writer.as_slice(), &expected[..]);
        prop_assert_eq!(writer.options().iter().next(), Some(option));
    }
}

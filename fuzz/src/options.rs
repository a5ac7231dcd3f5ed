//! Arbitrary bytes as the options of a packet.

use dccp_proto::Seq;
use dccp_proto::wire::ack_cells::Run;
use dccp_proto::wire::ccid_options::LossIntervals;
use dccp_proto::wire::options::OPTIONS_MAX;
use dccp_proto::wire::{
    AckCell, CcidOpt, DropBlock, Feature, FeatureOpt, NoSpace, Opt, OptionWriter, Options,
    PacketType,
};

/// Decodes all options to their types, for every CCID and packet type, and encodes them again.
///
/// # Panics
/// If an option changes.
pub fn run(data: &[u8]) {
    let area = data.get(..OPTIONS_MAX).unwrap_or(data);
    let mut writer = OptionWriter::new(OPTIONS_MAX);
    let mut options = Options(area).iter();
    for option in options.by_ref() {
        let start = writer.len();
        assert_eq!(writer.push(&option), Ok(()), "{option:?}");
        let written = writer.as_slice().get(start..).unwrap_or_default();
        assert!(Options(written).iter().eq([option]));
        decode_inside(&option, written);
        for packet_type in PacketType::ALL {
            // 4340-5.8-7: packets with acknowledgements keep every option.
            assert!(option.is_allowed_on(packet_type) || !packet_type.has_ack());
        }
    }
    // 4340-5.8-5: only options behind a bad length are skipped.
    assert_eq!(writer.len() + options.rest().len(), area.len());
    if !writer
        .options()
        .iter()
        .any(|o| matches!(o, Opt::QuickStartResponse { .. }))
    {
        assert_eq!(
            writer.as_slice(),
            area.get(..writer.len()).unwrap_or_default()
        );
    }
    read_across(Options(area));
}

/// Decodes the contents of one option, whose bytes are `written`.
fn decode_inside(option: &Opt<'_>, written: &[u8]) {
    match *option {
        Opt::AckVector { cells, .. } => {
            assert!(
                cells
                    .iter()
                    .all(|&byte| AckCell::from_byte(byte).to_byte() == byte)
            );
        }
        Opt::DataDropped(blocks) => {
            assert!(
                blocks
                    .iter()
                    .all(|&byte| DropBlock::from_byte(byte).to_byte() == byte)
            );
        }
        Opt::ChangeL(feature)
        | Opt::ChangeR(feature)
        | Opt::ConfirmL(feature)
        | Opt::ConfirmR(feature) => decode_number(feature),
        Opt::CcidSpecific { kind, data } => {
            for ccid in 2..=4 {
                let option = CcidOpt::decode(ccid, kind, data);
                let mut writer = OptionWriter::new(OPTIONS_MAX);
                match option.push(&mut writer) {
                    Ok(()) => assert_eq!(writer.as_slice(), written),
                    Err(NoSpace) => {
                        assert!(matches!(option, CcidOpt::Unknown | CcidOpt::Malformed));
                    }
                }
            }
        }
        _ => {}
    }
}

fn decode_number(FeatureOpt { feature, values }: FeatureOpt<'_>) {
    let Some(feature) = Feature::from_number(feature) else {
        return;
    };
    if let Some(value) = feature.decode_number(values) {
        assert!(feature.is_valid(value));
        assert_eq!(feature.encode_number(value).as_slice(), values);
    }
}

/// Reads values that span several options.
fn read_across(options: Options<'_>) {
    let ack = Seq::new(1000);
    check_runs(ack, options.ack_runs(ack), u64::from(AckCell::LEN_MAX));
    check_runs(
        ack,
        options.drop_runs(ack),
        u64::from(DropBlock::NORMAL_LEN_MAX),
    );
    if let Some(intervals) = LossIntervals::of(options) {
        assert!(intervals.skip <= 3);
        assert!(intervals.iter().count() <= 110);
        assert!(
            intervals
                .iter_with_drops()
                .all(|(interval, drops)| drops <= interval.loss)
        );
    }
}

/// Runs follow each other without a gap, the first from the Acknowledgement Number.
fn check_runs<T>(ack: Seq, runs: impl Iterator<Item = Run<T>>, len_max: u64) {
    let mut next = ack;
    let mut count = 0;
    for run in runs {
        assert_eq!(run.newest, next);
        assert!(run.newest.steps_from(run.oldest) < len_max);
        next = run.oldest.minus(1);
        count += 1;
    }
    assert!(count <= 1000);
}

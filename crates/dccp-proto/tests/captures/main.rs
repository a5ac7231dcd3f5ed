//! The Linux kernel's packets (see README.md beside this file): each is parsed with its checksum
//! verified, each option decoded to its type, and the packet rebuilt from that, byte for byte.

mod pcap;

use PacketType::{Ack, Close, CloseReq, Data, DataAck, Request, Reset, Response, Sync, SyncAck};
use dccp_proto::wire::{
    AckCell, CcidOpt, ChecksumRule, Datagram, Feature, FeatureOpt, Opt, OptionWriter, Packet,
    PacketType, Payload, PseudoHeader, build, parse,
};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// What a capture is made of.
#[derive(Default)]
struct Contents {
    types: BTreeMap<u8, usize>,
    option_types: BTreeSet<u8>,
    cscovs: BTreeSet<u8>,
}

/// Reads a capture and checks every packet of it.
fn contents(name: &str) -> Contents {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/captures");
    let mut contents = Contents::default();
    for captured in pcap::read(&folder.join(name)) {
        let pseudo = PseudoHeader::new(captured.source, captured.destination);
        let rule = ChecksumRule::Ip(pseudo);
        let packet =
            parse(&Datagram::new(&captured.dccp), rule).expect("Linux's packets are valid");
        *contents
            .types
            .entry(packet.packet_type() as u8)
            .or_default() += 1;
        contents
            .option_types
            .extend(packet.options.iter().map(|option| option.kind()));
        contents.cscovs.insert(packet.cscov);
        let options = rewrite_options(&packet);
        let options = options.options();
        let mut rebuilt = Vec::new();
        build(&mut rebuilt, &Packet { options, ..packet }, rule).expect("it has been built before");
        assert_eq!(rebuilt, captured.dccp);
        let has_text = packet.packet_type() == Reset;
        let is_filled = packet.payload != Payload::EMPTY;
        assert!(packet.packet_type().is_data() || has_text || !is_filled);
    }
    contents
}

/// Decodes all options down to the numbers in them, and encodes them again.
fn rewrite_options(packet: &Packet<'_>) -> OptionWriter {
    let mut writer = OptionWriter::new(1000);
    let mut options = packet.options.iter();
    for option in options.by_ref() {
        assert!(option.is_allowed_on(packet.packet_type()), "{option:?}");
        let written = match option {
            Opt::Unknown { .. } | Opt::Malformed { .. } => panic!("{option:?}"),
            Opt::CcidSpecific { kind, data } => {
                // 4342-8-1: what an HC-Receiver reports is not on Data packets.
                let is_report = (192..=195).contains(&kind);
                assert!(!is_report || packet.packet_type() != Data);
                CcidOpt::decode(3, kind, data).push(&mut writer)
            }
            Opt::AckVector { nonce, cells } => {
                let cells: Vec<_> = cells
                    .iter()
                    .map(|&byte| AckCell::from_byte(byte).to_byte())
                    .collect();
                let cells = &cells[..];
                writer.push(&Opt::AckVector { nonce, cells })
            }
            Opt::ChangeL(FeatureOpt { feature, values }) if feature == 3 || feature == 5 => {
                let feature = Feature::from_number(feature).expect("3 and 5 are numbers");
                let value = feature
                    .decode_number(values)
                    .expect("Linux sends valid numbers");
                let value = feature.encode_number(value);
                writer.push(&Opt::ChangeL(FeatureOpt {
                    feature: feature.number(),
                    values: value.as_slice(),
                }))
            }
            option => writer.push(&option),
        };
        assert_eq!(written, Ok(()), "{option:?}");
    }
    assert!(
        options.rest().is_empty(),
        "a bad length in {:?}",
        packet.options.0
    );
    writer
}

/// Checks how many packets of each type a capture has, and which types of options.
fn check(name: &str, types: &[(PacketType, usize)], option_types: &[u8]) {
    let contents = contents(name);
    let types = types
        .iter()
        .map(|&(packet_type, count)| (packet_type as u8, count))
        .collect();
    assert_eq!(contents.types, types, "{name}");
    assert_eq!(
        contents.option_types,
        option_types.iter().copied().collect(),
        "{name}"
    );
}

/// Padding, Mandatory, Change and Confirm, Ack Vector, Timestamp and its echo.
const CCID_2_OPTIONS: &[u8] = &[0, 1, 32, 33, 34, 35, 38, 41, 42];
/// The same with NDP Count, Loss Event Rate and Receive Rate in place of Ack Vector.
const CCID_3_OPTIONS: &[u8] = &[0, 1, 32, 33, 34, 35, 37, 41, 42, 192, 194];

#[test]
fn ccid_2_rebuilds_byte_for_byte() {
    // 4340-9.1-1, 4340-9.1-2
    let with = |acks, data_acks| {
        [
            (Request, 1),
            (Response, 1),
            (Ack, acks),
            (DataAck, data_acks),
            (Close, 1),
            (Reset, 1),
        ]
    };
    check("ccid2-v4.pcap", &with(327, 400), CCID_2_OPTIONS);
    check("ccid2-v6.pcap", &with(324, 400), CCID_2_OPTIONS);
    check("ccid2-v4-loss1.pcap", &with(778, 784), CCID_2_OPTIONS);
}

#[test]
fn ccid_3_rebuilds_byte_for_byte() {
    // 4342-8.3-1, 4342-8.4-1, 4340-7.7-3
    let with = |data, acks, data_acks| {
        let numbers = [(Data, data), (Ack, acks), (DataAck, data_acks)];
        [
            &[(Request, 1), (Response, 1)],
            &numbers[..],
            &[(Close, 1), (Reset, 1)],
        ]
        .concat()
    };
    check("ccid3-v4.pcap", &with(395, 64, 5), CCID_3_OPTIONS);
    check("ccid3-v6.pcap", &with(395, 65, 5), CCID_3_OPTIONS);
    check("ccid3-v4-loss1.pcap", &with(785, 31, 4), CCID_3_OPTIONS);
    let syncs = [(Sync, 1), (SyncAck, 1)];
    let types = [with(781, 15, 4), syncs.to_vec()].concat();
    check("ccid3-v4-seqwin100.pcap", &types, CCID_3_OPTIONS);
    let options = [CCID_2_OPTIONS, CCID_3_OPTIONS].concat();
    check("mixed-ccid-v4.pcap", &with(95, 117, 105), &options);
}

#[test]
fn partial_coverage_rebuilds_byte_for_byte() {
    // 4340-9.2-1
    let types = [
        (Request, 1),
        (Response, 1),
        (Ack, 48),
        (DataAck, 50),
        (Close, 1),
        (Reset, 1),
    ];
    check("cscov3-v4.pcap", &types, CCID_2_OPTIONS);
    assert_eq!(contents("cscov3-v4.pcap").cscovs, BTreeSet::from([0, 3]));
}

#[test]
fn closings_and_refusals_rebuild_byte_for_byte() {
    let types = [
        (Request, 3),
        (Response, 3),
        (Data, 8),
        (Ack, 76),
        (DataAck, 72),
        (CloseReq, 1),
        (Close, 2),
        (Reset, 6),
    ];
    check("closing-v4.pcap", &types, CCID_2_OPTIONS);
    check(
        "refused-v4.pcap",
        &[(Request, 7), (Reset, 3)],
        &[0, 1, 32, 34, 41],
    );
}

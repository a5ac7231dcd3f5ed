use super::*;
use crate::testing;
use dccp_proto::wire::{Elapsed, FeatureOpt, Kind, Opt, OptionWriter, PacketType, Payload, build};
use dccp_proto::wire::{ResetCode, ServiceCode};

fn frame_of(kind: Kind, seq: u64, options: &[Opt<'_>], payload: Payload<'_>) -> Frame {
    let mut writer = OptionWriter::new(500);
    for option in options {
        writer.push(option).unwrap();
    }
    let packet = Packet {
        source_port: 1,
        dest_port: 2,
        ccval: 3,
        cscov: 1,
        is_short: false,
        seq: Seq::new(seq),
        kind,
        options: writer.options(),
        payload,
    };
    let mut frame = testing::frame(PacketType::Data);
    frame.bytes.clear();
    build(&mut frame.bytes, &packet, ChecksumRule::Udp).unwrap();
    frame.zeros = match payload {
        Payload::Zeros(n) => n,
        Payload::Bytes(_) => 0,
    };
    frame
}

fn line_of(trace: &mut Trace, frame: &mut Frame) -> String {
    trace.sent(frame, "a", "b");
    trace.text().lines().last().unwrap().to_owned()
}

#[test]
fn numbers_count_from_the_first_of_each_direction() {
    let mut trace = Trace::default();
    let service = ServiceCode(42);
    let mut request = frame_of(Kind::Request { service }, 1000, &[], Payload::EMPTY);
    assert_eq!(
        line_of(&mut trace, &mut request),
        "     0.000 a>b Request 0 service 42 cscov 1 ccval 3  (on the way)"
    );
    let ack = Seq::new(7);
    let mut data = frame_of(Kind::DataAck { ack }, 1003, &[], Payload::Zeros(100));
    assert_eq!(
        line_of(&mut trace, &mut data),
        "     0.000 a>b DataAck 3 ack 7 cscov 1 ccval 3 100 zeros  (on the way)"
    );
    let mut reset = frame_of(
        Kind::Reset {
            ack,
            code: ResetCode::OPTION_ERROR,
            data: [34, 6, 0],
        },
        1 << 47,
        &[],
        Payload::Bytes(b"why"),
    );
    assert_eq!(
        line_of(&mut trace, &mut reset),
        "     0.000 a>b Reset =140737488355328 ack 7 code 5 Option Error [34, 6, 0] cscov 1 ccval 3 3 bytes  (on the way)"
    );
}

#[test]
fn options_are_described_in_words() {
    let mut trace = Trace::default();
    let options = [
        Opt::Mandatory,
        Opt::ChangeL(FeatureOpt {
            feature: 1,
            values: &[2, 3],
        }),
        Opt::ConfirmR(FeatureOpt {
            feature: 3,
            values: &[0, 0, 0, 0, 4, 0],
        }),
        Opt::ConfirmL(FeatureOpt {
            feature: 126,
            values: &[],
        }),
        Opt::AckVector {
            nonce: false,
            cells: &[0x05, 0xc0, 0x7f],
        },
        Opt::ElapsedTime(Elapsed::Short(12)),
        Opt::CcidSpecific {
            kind: 194,
            data: &[0, 0, 1, 0],
        },
    ];
    let ack = Seq::ZERO;
    let mut frame = frame_of(Kind::Ack { ack }, 5, &options, Payload::EMPTY);
    assert_eq!(
        line_of(&mut trace, &mut frame),
        "     0.000 a>b Ack 0 ack 0 cscov 1 ccval 3 [Mandatory, Change L(Congestion Control ID 2 3), \
         Confirm R(Sequence Window 1024), Confirm L(126), Ack Vector +6-1*64, Elapsed 12, \
         Receive Rate 256]  (on the way)"
    );
}

#[test]
fn a_line_tells_the_end_of_its_packet() {
    let mut trace = Trace::default();
    let mut frames: Vec<Frame> = (0..3).map(|_| testing::frame(PacketType::Data)).collect();
    for frame in &mut frames {
        trace.sent(frame, "a", "b");
    }
    trace.duplicated(&mut frames[2]);
    trace.delivered(Instant::from_nanos(1_234_567), &frames[0]);
    trace.lost(&frames[1], Loss::Queue);
    let ends: Vec<String> = trace
        .text()
        .lines()
        .map(|l| l.rsplit("Data ").next().unwrap().to_owned())
        .collect();
    assert_eq!(
        ends,
        [
            "0 100 zeros  (1.234)",
            "0 100 zeros  (lost: queue full)",
            "0 100 zeros  (on the way)",
            "0 100 zeros  (on the way)"
        ]
    );
    assert!(
        trace
            .text()
            .lines()
            .last()
            .unwrap()
            .contains("(again) Data")
    );
}

#[test]
fn malformed_packets_and_icmp_errors_are_described() {
    let mut trace = Trace::default();
    let mut broken = testing::frame(PacketType::Data);
    broken.bytes[4] = 0;
    broken.ecn = dccp_proto::wire::Ecn::Ect0;
    assert_eq!(
        line_of(&mut trace, &mut broken),
        "     0.000 a>b malformed: data_offset_too_small, 124 bytes ect0  (on the way)"
    );
    let mut error = testing::frame(PacketType::Data);
    error.content = Content::Icmp {
        error: IcmpError::TooBig { mtu: 1280 },
        about: crate::frame::About {
            len: 124,
            ecn: dccp_proto::wire::Ecn::NotEct,
        },
    };
    assert_eq!(
        line_of(&mut trace, &mut error),
        "     0.000 a>b ICMP too big, mtu 1280  (on the way)"
    );
}

#[test]
fn trace_of_one_type_leaves_out_all_other_packets() {
    let mut trace = Trace::only(PacketType::Reset);
    let ack = Seq::new(7);
    let reset = Kind::Reset {
        ack,
        code: ResetCode::CLOSED,
        data: [0; 3],
    };
    let mut lines = 0;
    for (n, kind) in [Kind::Data, Kind::Ack { ack }, reset, Kind::Data, reset]
        .into_iter()
        .enumerate()
    {
        let mut frame = frame_of(kind, n as u64, &[], Payload::EMPTY);
        // The line of an earlier frame in the same place.
        frame.line = Some(0);
        trace.sent(&mut frame, "a", "b");
        let is_reset = kind == reset;
        assert_eq!(frame.line, is_reset.then_some(lines));
        lines += usize::from(is_reset);
        trace.lost(&frame, Loss::Random);
    }
    let text = trace.text();
    assert_eq!(text.lines().count(), 2);
    assert!(
        text.lines()
            .all(|line| line.contains(" Reset ") && line.contains("lost"))
    );
}

//! A packet in words.

use crate::frame::segment::{Flags, Segment};
use core::fmt::Write as _;
use dccp_proto::Seq;
use dccp_proto::wire::{
    AckCell, CcidOpt, Feature, FeatureOpt, Kind, Opt, Packet, Payload, multipath_name,
};

/// Describes a packet, its numbers counted from `first` and `first_back`.
pub(super) fn packet(packet: &Packet<'_>, first: Seq, first_back: Seq) -> String {
    let mut text = format!(
        "{:?} {}",
        packet.packet_type(),
        count(packet, packet.seq, first)
    );
    // Writing to a String cannot fail.
    if let Some(ack) = packet.ack() {
        let _ = write!(text, " ack {}", count(packet, ack, first_back));
    }
    match packet.kind {
        Kind::Request { service } | Kind::Response { service, .. } | Kind::Listen { service } => {
            let _ = write!(text, " service {}", service.0);
        }
        Kind::Reset { code, data, .. } => {
            let _ = write!(text, " code {} {}", code.0, code.name());
            if data != [0; 3] {
                let _ = write!(text, " {data:?}");
            }
        }
        _ => {}
    }
    if packet.cscov != 0 {
        let _ = write!(text, " cscov {}", packet.cscov);
    }
    if packet.ccval != 0 {
        let _ = write!(text, " ccval {}", packet.ccval);
    }
    match packet.payload {
        Payload::Bytes([]) | Payload::Zeros(0) => {}
        Payload::Bytes(bytes) => {
            let _ = write!(text, " {} bytes", bytes.len());
        }
        Payload::Zeros(n) => {
            let _ = write!(text, " {n} zeros");
        }
    }
    let options: Vec<String> = packet.options.iter().filter_map(option).collect();
    if !options.is_empty() {
        let _ = write!(text, " [{}]", options.join(", "));
    }
    text
}

/// Describes a TCP segment.
pub(super) fn segment(s: &Segment) -> String {
    let mut text = format!("TCP {}", s.seq);
    if s.len > 0 {
        // Writing to a String cannot fail.
        let _ = write!(text, "..{}", s.seq.wrapping_add(u32::from(s.len)));
    }
    if s.flags.has(Flags::ACK) {
        let _ = write!(text, " ack {}", s.ack);
    }
    for (flag, name) in [
        (Flags::SYN, " SYN"),
        (Flags::FIN, " FIN"),
        (Flags::RST, " RST"),
        (Flags::ECE, " ECE"),
        (Flags::CWR, " CWR"),
    ] {
        if s.flags.has(flag) {
            text.push_str(name);
        }
    }
    let blocks: Vec<String> = s
        .sack
        .blocks()
        .iter()
        .map(|(from, to)| format!("{from}..{to}"))
        .collect();
    if !blocks.is_empty() {
        let _ = write!(text, " [SACK {}]", blocks.join(", "));
    }
    text
}

/// A number counted from the first; as it is if it lies elsewhere, as in stateless Resets.
fn count(packet: &Packet<'_>, seq: Seq, first: Seq) -> String {
    if packet.is_short {
        return format!(
            "short {}",
            Seq::extend_24(seq.low_24(), first).distance(first)
        );
    }
    match seq.distance(first) {
        near if near.unsigned_abs() < 1 << 32 => near.to_string(),
        _ => format!("={seq}"),
    }
}

fn option(option: Opt<'_>) -> Option<String> {
    Some(match option {
        Opt::Padding => return None,
        Opt::Mandatory => "Mandatory".to_owned(),
        Opt::SlowReceiver => "Slow Receiver".to_owned(),
        Opt::ChangeL(f) => format!("Change L({})", feature(f)),
        Opt::ConfirmL(f) => format!("Confirm L({})", feature(f)),
        Opt::ChangeR(f) => format!("Change R({})", feature(f)),
        Opt::ConfirmR(f) => format!("Confirm R({})", feature(f)),
        Opt::InitCookie(data) => format!("Init Cookie {} bytes", data.len()),
        Opt::NdpCount { count, .. } => format!("NDP {count}"),
        Opt::AckVector { nonce, cells } => {
            let name = if nonce { "Ack Vector 1" } else { "Ack Vector" };
            format!("{name} {}", ack_cells(cells))
        }
        Opt::DataDropped(blocks) => format!("Data Dropped {blocks:02x?}"),
        // Its value is a clock's; snapshots need only know that it is there.
        Opt::Timestamp(_) => "Timestamp".to_owned(),
        Opt::TimestampEcho { elapsed, .. } => format!("Timestamp Echo +{}", elapsed.units()),
        Opt::ElapsedTime(elapsed) => format!("Elapsed {}", elapsed.units()),
        Opt::DataChecksum(_) => "Data Checksum".to_owned(),
        Opt::Multipath(&[mp_opt, ..]) => multipath_name(mp_opt).to_owned(),
        Opt::CcidSpecific { kind, data } => ccid_option(kind, data),
        other => format!("{other:?}"),
    })
}

fn feature(option: FeatureOpt<'_>) -> String {
    let known = Feature::from_number(option.feature);
    let known = known.filter(|f| !matches!(f, Feature::OfCcid(_)));
    let name = known.map_or_else(|| option.feature.to_string(), |f| f.name().to_owned());
    let values = known
        .and_then(|f| f.decode_number(option.values))
        .map_or_else(
            || {
                let values: Vec<String> = option.values.iter().map(u8::to_string).collect();
                values.join(" ")
            },
            |n| n.to_string(),
        );
    if values.is_empty() {
        name
    } else {
        format!("{name} {values}")
    }
}

/// Runs of packets, newest first: `+` received, `*` marked, `-` not received, `?` reserved.
fn ack_cells(cells: &[u8]) -> String {
    let runs: Vec<String> = cells
        .iter()
        .map(|&byte| {
            let sign = ['+', '*', '?', '-'][usize::from(byte >> 6)];
            format!("{sign}{}", AckCell::from_byte(byte).len)
        })
        .collect();
    runs.concat()
}

/// The options of CCID 3 and 4: one number means the same in both.
fn ccid_option(kind: u8, data: &[u8]) -> String {
    match CcidOpt::decode(4, kind, data) {
        CcidOpt::LossEventRate(rate) => format!("Loss Event Rate 1/{rate}"),
        CcidOpt::ReceiveRate(rate) => format!("Receive Rate {rate}"),
        other => format!("{other:?}"),
    }
}

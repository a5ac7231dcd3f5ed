//! Deliberate faults in the harness. Each shows that a property can fail.

use crate::end::End;
use dccp_proto::wire::features::Feature;
use dccp_proto::wire::options::{FeatureOpt, OPTIONS_MAX};
use dccp_proto::wire::{
    self, ChecksumRule, Datagram, Opt, OptionWriter, Packet, PacketType, Payload,
};

/// A deliberate fault.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sabotage {
    /// The server's application panics when a datagram arrives.
    Panics,
    /// The network sends each data packet of the client twice, the second time with the next number.
    RenumbersCopies,
    /// The network alters the content of datagrams.
    AltersData,
    /// The network alters the Sequence Window that the client announces, and the answer to it.
    AltersFeatures,
    /// Fates are reported twice.
    DoublesFates,
    /// The client's timers never expire.
    StopsTimers,
    /// The server sends data after its end.
    SendsAfterEnd,
    /// The attacker's packets count as blind, and have the right numbers.
    SeesNumbers,
}

impl Sabotage {
    /// Alters a packet on its way. Returns a second packet that follows it.
    pub(super) fn tamper(
        self,
        to: End,
        bytes: &mut Vec<u8>,
        rule: ChecksumRule,
    ) -> Option<Vec<u8>> {
        let original = bytes.clone();
        let packet = wire::parse(&Datagram::new(&original), rule).ok()?;
        let has_data = matches!(packet.packet_type(), PacketType::Data | PacketType::DataAck);
        let build = |packet: &Packet<'_>| {
            let mut bytes = Vec::new();
            wire::build(&mut bytes, packet, rule).expect("an altered packet is valid");
            bytes
        };
        match self {
            Self::RenumbersCopies if has_data && to == End::Server => {
                let seq = packet.seq.next();
                return Some(build(&Packet { seq, ..packet }));
            }
            Self::AltersData if has_data => {
                let payload = Payload::Bytes(b"altered");
                *bytes = build(&Packet { payload, ..packet });
            }
            Self::AltersFeatures => {
                let options = alter_windows(&packet, to);
                let options = options.options();
                *bytes = build(&Packet { options, ..packet });
            }
            _ => {}
        }
        None
    }
}

/// Copies options. The Sequence Window that the client announces grows by one on its way, and shrinks on its way back,
/// so neither end sees a contradiction.
fn alter_windows(packet: &Packet<'_>, to: End) -> OptionWriter {
    let mut writer = OptionWriter::new(OPTIONS_MAX);
    for option in packet.options {
        let altered = |option: &FeatureOpt<'_>| {
            let window = Feature::SequenceWindow.decode_number(option.values)?;
            let window = match to {
                End::Server => window + 1,
                End::Client => window - 1,
            };
            let is_window = option.feature == Feature::SequenceWindow.number();
            is_window.then(|| Feature::SequenceWindow.encode_number(window))
        };
        let window = match (&option, to) {
            (Opt::ChangeL(change), End::Server) => altered(change),
            (Opt::ConfirmR(confirm), End::Client) => altered(confirm),
            _ => None,
        };
        let feature = Feature::SequenceWindow.number();
        let written = match &window {
            Some(value) => {
                let values = value.as_slice();
                let option = FeatureOpt { feature, values };
                writer.push(&match to {
                    End::Server => Opt::ChangeL(option),
                    End::Client => Opt::ConfirmR(option),
                })
            }
            None => writer.push(&option),
        };
        written.expect("the options fit as before");
    }
    writer
}

//! Packets as the tests write them.

use super::SERVICE;
use dccp_proto::Seq;
use dccp_proto::wire::{Ecn, Kind, Opt, OptionWriter, Options, PacketType, ResetCode};

/// A packet, owned: what the endpoint sent, or what the peer sends.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Pkt {
    pub(crate) kind: Kind,
    pub(crate) seq: Seq,
    pub(crate) options: Vec<u8>,
    pub(crate) payload: Vec<u8>,
    pub(crate) ccval: u8,
    pub(crate) cscov: u8,
    pub(crate) is_short: bool,
    pub(crate) ecn: Ecn,
}

impl Pkt {
    pub(crate) fn new(kind: Kind, seq: Seq) -> Self {
        Self {
            kind,
            seq,
            options: Vec::new(),
            payload: Vec::new(),
            ccval: 0,
            cscov: 0,
            is_short: false,
            ecn: Ecn::Ect0,
        }
    }

    /// With these options behind those that it has.
    pub(crate) fn with(mut self, options: &[Opt<'_>]) -> Self {
        let mut writer = OptionWriter::new(1000);
        for option in options {
            writer.push(option).unwrap();
        }
        self.options.extend_from_slice(writer.as_slice());
        self
    }

    /// With these bytes as options.
    pub(crate) fn with_raw_options(mut self, options: &[u8]) -> Self {
        self.options.extend_from_slice(options);
        self
    }

    pub(crate) fn with_payload(mut self, payload: &[u8]) -> Self {
        self.payload = payload.to_vec();
        self
    }

    pub(crate) fn with_ecn(mut self, ecn: Ecn) -> Self {
        self.ecn = ecn;
        self
    }

    pub(crate) fn packet_type(&self) -> PacketType {
        self.kind.packet_type()
    }

    /// Whether this is a Reset with this code.
    pub(crate) fn is_reset(&self, code: ResetCode) -> bool {
        self.reset_code() == Some(code)
    }

    pub(crate) fn ack(&self) -> Option<Seq> {
        self.kind.ack()
    }

    pub(crate) fn opts(&self) -> Vec<Opt<'_>> {
        Options(&self.options)
            .iter()
            .filter(|o| *o != Opt::Padding)
            .collect()
    }

    /// The Reset code, of a Reset.
    pub(crate) fn reset_code(&self) -> Option<ResetCode> {
        match self.kind {
            Kind::Reset { code, .. } => Some(code),
            _ => None,
        }
    }
}

/// A Response to the Request with this number.
pub(crate) fn response(ack: Seq) -> Kind {
    Kind::Response {
        ack,
        service: SERVICE,
    }
}

/// A Reset with this code and no data.
pub(crate) const fn reset(ack: Seq, code: ResetCode) -> Kind {
    Kind::Reset {
        ack,
        code,
        data: [0; 3],
    }
}

/// An Ack Vector that reports one packet as received.
pub(crate) const RECEIVED: Opt<'static> = Opt::AckVector {
    nonce: false,
    cells: &[0],
};

/// The Confirms that a willing peer answers to the Changes of a packet: the first preference.
pub(crate) fn confirms_for(packet: &Pkt) -> Vec<u8> {
    let mut writer = OptionWriter::new(1000);
    for option in packet.opts() {
        let (kind, change, chosen) = match option {
            Opt::ChangeL(change) => (35, change, change.values),
            Opt::ChangeR(change) => (33, change, change.values),
            _ => continue,
        };
        let is_number = matches!(change.feature, 3 | 5);
        let mut data = vec![change.feature];
        if !is_number {
            data.push(chosen[0]);
        }
        data.extend_from_slice(chosen);
        writer.push_raw(kind, &data).unwrap();
    }
    writer.as_slice().to_vec()
}

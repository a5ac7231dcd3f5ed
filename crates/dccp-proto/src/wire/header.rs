//! The generic header and the packet types (RFC 4340 §5.1–5.7, RFC 5596 §2.2.1).

use super::{Options, Payload, ServiceCode};
use crate::seq::Seq;
use core::fmt;

/// Length in bytes of the longest header without options: a Response or Reset.
pub(super) const FIXED_MAX: usize = 28;

/// The packet types (RFC 4340 §5.1, table 1; RFC 5596).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(u8)]
#[expect(missing_docs, reason = "the names are the RFC's")]
pub enum PacketType {
    Request = 0,
    Response = 1,
    Data = 2,
    Ack = 3,
    DataAck = 4,
    CloseReq = 5,
    Close = 6,
    Reset = 7,
    Sync = 8,
    SyncAck = 9,
    Listen = 10,
}

impl PacketType {
    /// All types, in the order of their numbers.
    pub const ALL: [Self; 11] = [
        Self::Request,
        Self::Response,
        Self::Data,
        Self::Ack,
        Self::DataAck,
        Self::CloseReq,
        Self::Close,
        Self::Reset,
        Self::Sync,
        Self::SyncAck,
        Self::Listen,
    ];

    /// The type with this number, if it is assigned.
    pub const fn from_number(n: u8) -> Option<Self> {
        Some(match n {
            0 => Self::Request,
            1 => Self::Response,
            2 => Self::Data,
            3 => Self::Ack,
            4 => Self::DataAck,
            5 => Self::CloseReq,
            6 => Self::Close,
            7 => Self::Reset,
            8 => Self::Sync,
            9 => Self::SyncAck,
            10 => Self::Listen,
            _ => return None,
        })
    }

    /// Whether packets of this type carry an Acknowledgement Number.
    pub const fn has_ack(self) -> bool {
        !matches!(self, Self::Request | Self::Data | Self::Listen)
    }

    /// Whether this is a data packet for NDP Count (4340-7.7-2).
    pub const fn is_data(self) -> bool {
        matches!(
            self,
            Self::Request | Self::Response | Self::Data | Self::DataAck
        )
    }

    /// Whether the type exists with 24-bit sequence numbers (4340-5.1-5).
    pub const fn may_be_short(self) -> bool {
        matches!(self, Self::Data | Self::Ack | Self::DataAck)
    }

    /// Length in bytes of the header without options (RFC 4340 §5.1–5.6): the generic header, the
    /// Acknowledgement Number and the fields of the type. `is_short`: with 24-bit sequence numbers.
    pub const fn header_len(self, is_short: bool) -> usize {
        // Asked several times for each packet, so the sums are written out.
        let (long, short) = match self {
            Self::Data => (16, 12),
            Self::Request | Self::Listen => (20, 16),
            Self::Response | Self::Reset => (28, 20),
            Self::Ack
            | Self::DataAck
            | Self::CloseReq
            | Self::Close
            | Self::Sync
            | Self::SyncAck => (24, 16),
        };
        if is_short { short } else { long }
    }
}

/// A packet's type with the fields that only this type has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[expect(missing_docs, reason = "the names are the RFC's")]
pub enum Kind {
    Request {
        service: ServiceCode,
    },
    Response {
        ack: Seq,
        service: ServiceCode,
    },
    Data,
    Ack {
        ack: Seq,
    },
    DataAck {
        ack: Seq,
    },
    CloseReq {
        ack: Seq,
    },
    Close {
        ack: Seq,
    },
    Reset {
        ack: Seq,
        code: ResetCode,
        data: [u8; 3],
    },
    Sync {
        ack: Seq,
    },
    SyncAck {
        ack: Seq,
    },
    Listen {
        service: ServiceCode,
    },
}

impl Kind {
    /// The kind of this type, with those of the values that the type has. The data of a Reset are 0.
    pub const fn new(
        packet_type: PacketType,
        ack: Seq,
        service: ServiceCode,
        code: ResetCode,
    ) -> Self {
        match packet_type {
            PacketType::Request => Self::Request { service },
            PacketType::Response => Self::Response { ack, service },
            PacketType::Data => Self::Data,
            PacketType::Ack => Self::Ack { ack },
            PacketType::DataAck => Self::DataAck { ack },
            PacketType::CloseReq => Self::CloseReq { ack },
            PacketType::Close => Self::Close { ack },
            PacketType::Reset => Self::Reset {
                ack,
                code,
                data: [0; 3],
            },
            PacketType::Sync => Self::Sync { ack },
            PacketType::SyncAck => Self::SyncAck { ack },
            PacketType::Listen => Self::Listen { service },
        }
    }

    /// The packet type.
    pub const fn packet_type(&self) -> PacketType {
        match self {
            Self::Request { .. } => PacketType::Request,
            Self::Response { .. } => PacketType::Response,
            Self::Data => PacketType::Data,
            Self::Ack { .. } => PacketType::Ack,
            Self::DataAck { .. } => PacketType::DataAck,
            Self::CloseReq { .. } => PacketType::CloseReq,
            Self::Close { .. } => PacketType::Close,
            Self::Reset { .. } => PacketType::Reset,
            Self::Sync { .. } => PacketType::Sync,
            Self::SyncAck { .. } => PacketType::SyncAck,
            Self::Listen { .. } => PacketType::Listen,
        }
    }

    /// The Acknowledgement Number, where the type has one.
    pub const fn ack(&self) -> Option<Seq> {
        match *self {
            Self::Request { .. } | Self::Data | Self::Listen { .. } => None,
            Self::Response { ack, .. }
            | Self::Ack { ack }
            | Self::DataAck { ack }
            | Self::CloseReq { ack }
            | Self::Close { ack }
            | Self::Reset { ack, .. }
            | Self::Sync { ack }
            | Self::SyncAck { ack } => Some(ack),
        }
    }

    /// The same with another Acknowledgement Number; unchanged where the type has none.
    #[must_use]
    pub const fn with_ack(mut self, new: Seq) -> Self {
        match &mut self {
            Self::Request { .. } | Self::Data | Self::Listen { .. } => {}
            Self::Response { ack, .. }
            | Self::Ack { ack }
            | Self::DataAck { ack }
            | Self::CloseReq { ack }
            | Self::Close { ack }
            | Self::Reset { ack, .. }
            | Self::Sync { ack }
            | Self::SyncAck { ack } => *ack = new,
        }
        self
    }
}

/// One packet, decoded. Borrowed from the datagram that it came in, or about to be built.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Packet<'a> {
    /// Source port.
    pub source_port: u16,
    /// Destination port.
    pub dest_port: u16,
    /// CCVal, 4 bits: the sender's CCID sets it.
    pub ccval: u8,
    /// Checksum Coverage, 4 bits (RFC 4340 §9.2).
    pub cscov: u8,
    /// X = 0: `seq` and the acknowledgement number hold 24 bits until step 6 extends them; built
    /// packets carry the low 24 bits of both.
    pub is_short: bool,
    /// Sequence number.
    pub seq: Seq,
    /// Type and the fields of the type.
    pub kind: Kind,
    /// The options, not yet interpreted.
    pub options: Options<'a>,
    /// The application data area.
    pub payload: Payload<'a>,
}

impl Packet<'_> {
    /// The packet type.
    pub const fn packet_type(&self) -> PacketType {
        self.kind.packet_type()
    }

    /// The Acknowledgement Number, where the type has one.
    pub const fn ack(&self) -> Option<Seq> {
        self.kind.ack()
    }
}

/// Reset codes (RFC 4340 §5.6, table 2; RFC 6773 §3.8.3; RFC 9897).
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct ResetCode(pub u8);

#[expect(missing_docs, reason = "the names are the RFC's")]
impl ResetCode {
    // 4340-5.6-2: never sent, because every Reset has a reason.
    pub const UNSPECIFIED: Self = Self(0);
    pub const CLOSED: Self = Self(1);
    pub const ABORTED: Self = Self(2);
    pub const NO_CONNECTION: Self = Self(3);
    pub const PACKET_ERROR: Self = Self(4);
    pub const OPTION_ERROR: Self = Self(5);
    pub const MANDATORY_ERROR: Self = Self(6);
    pub const CONNECTION_REFUSED: Self = Self(7);
    pub const BAD_SERVICE_CODE: Self = Self(8);
    pub const TOO_BUSY: Self = Self(9);
    pub const BAD_INIT_COOKIE: Self = Self(10);
    pub const AGGRESSION_PENALTY: Self = Self(11);
    pub const ENCAPSULATED_PORT_REUSE: Self = Self(12);
    pub const ABRUPT_MP_TERMINATION: Self = Self(13);

    /// The RFC's name of the code.
    pub const fn name(self) -> &'static str {
        match self.0 {
            0 => "Unspecified",
            1 => "Closed",
            2 => "Aborted",
            3 => "No Connection",
            4 => "Packet Error",
            5 => "Option Error",
            6 => "Mandatory Error",
            7 => "Connection Refused",
            8 => "Bad Service Code",
            9 => "Too Busy",
            10 => "Bad Init Cookie",
            11 => "Aggression Penalty",
            12 => "Encapsulated Port Reuse",
            13 => "Abrupt MP Termination",
            128..=255 => "CCID-specific",
            _ => "unassigned",
        }
    }
}

impl fmt::Debug for ResetCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.name(), self.0)
    }
}

impl fmt::Display for ResetCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.name(), self.0)
    }
}

#[cfg(test)]
mod tests;

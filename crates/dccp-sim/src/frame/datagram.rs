//! UDP datagrams that do not carry DCCP, as values.

use dccp_proto::Instant;

/// A UDP datagram (RFC 768) without its bytes. A real program would write `number`, `sent` and `answers` into the
/// first bytes of its data.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct UdpDatagram {
    /// Port of the sender.
    pub source_port: u16,
    /// Port of the receiver.
    pub dest_port: u16,
    /// Bytes of data; all are zeros.
    pub len: u16,
    /// Datagrams of the flow sent before this one.
    pub number: u64,
    /// When it left, by its sender's clock.
    pub sent: Instant,
    /// In an answer: when the datagram left that it answers.
    pub answers: Option<Instant>,
}

/// Bytes of the header.
const HEADER: usize = 8;

impl UdpDatagram {
    /// Bytes of the datagram, without the IP header.
    pub const fn wire_len(&self) -> usize {
        HEADER + self.len as usize
    }
}

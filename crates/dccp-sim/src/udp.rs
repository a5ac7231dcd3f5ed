//! UDP: datagrams leave as they come, and nobody repeats or limits them.

use dccp_proto::Instant;

/// A datagram of UDP (RFC 768), as a value. What a real program would write into its first bytes for
/// the receiver's statistics is told beside it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Datagram {
    /// Port of the sender.
    pub source_port: u16,
    /// Port of the receiver.
    pub dest_port: u16,
    /// Bytes of data; all are zeros.
    pub len: u16,
    /// How many datagrams of the flow were sent before.
    pub number: u64,
    /// When it left, by its sender's clock.
    pub sent: Instant,
    /// Of an answer: when the datagram left that it answers.
    pub answers: Option<Instant>,
}

/// Bytes of the header.
const HEADER: usize = 8;

impl Datagram {
    /// Bytes of the datagram, without the IP header.
    pub const fn wire_len(&self) -> usize {
        HEADER + self.len as usize
    }
}

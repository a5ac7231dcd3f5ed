//! The head of each test packet: which test and flow, which number, and when it was sent.
//!
//! ```text
//!  0    2       3    4        12     14      16       24        32
//!  +----+-------+----+--------+------+-------+--------+---------+---- …
//!  | DM |version|kind| token  | flow | flags | number | sent_ns | zeros
//!  +----+-------+----+--------+------+-------+--------+---------+---- …
//! ```
//!
//! All numbers are big-endian. `sent_ns` is the time of the sender's monotonic clock when the packet was handed to the
//! transport. Flag 1 of a data packet asks its receiver for an echo. Other flags are sent as 0 and not read.
//!
//! An echo has 16 bytes more: `sent_ns` of the data packet, then the time when it arrived, of the clock of the host that
//! echoes. Its head has the number of the data packet, and as `sent_ns` the time when the echo was sent.

/// Bytes of the head: the shortest datagram.
pub(crate) const LEN_MIN: usize = 32;
/// The longest datagram that a test can ask for.
pub(crate) const LEN_MAX: usize = 65_000;

/// The greatest number that a packet can have: 89 years at 100,000 packets a second.
pub(crate) const NUMBER_MAX: u64 = 1 << 48;

/// Bytes of an echo.
pub(crate) const ECHO_LEN: usize = LEN_MIN + 16;

const ECHO_WANTED: u16 = 1;
const MAGIC: [u8; 2] = *b"DM";
const VERSION: u8 = 2;

/// The purpose of a datagram.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    /// To be counted.
    Data,
    /// Names the test and the flow that the connection carries. It is not counted.
    Join,
    /// Asks for a response.
    Ask,
    /// A part of a response.
    Answer,
    /// The receiver's echo of a data packet.
    Echo,
}

/// The head of a test packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Head {
    pub(crate) kind: Kind,
    /// Names the test; known to both ends only.
    pub(crate) token: u64,
    pub(crate) flow: u16,
    /// The receiver is to answer with an echo.
    pub(crate) wants_echo: bool,
    /// Counts the data packets of a flow from 0. In a join: the bytes of a block of TCP.
    pub(crate) number: u64,
    /// When it was sent, in nanoseconds of the sender's clock.
    pub(crate) sent_ns: u64,
}

impl Head {
    /// Writes the head to the beginning of a datagram of at least [`LEN_MIN`] bytes.
    pub(crate) fn write(&self, datagram: &mut [u8]) {
        let mut head = [0; LEN_MIN];
        head[..2].copy_from_slice(&MAGIC);
        head[2] = VERSION;
        head[3] = self.kind as u8;
        head[4..12].copy_from_slice(&self.token.to_be_bytes());
        head[12..14].copy_from_slice(&self.flow.to_be_bytes());
        let flags = if self.wants_echo { ECHO_WANTED } else { 0 };
        head[14..16].copy_from_slice(&flags.to_be_bytes());
        head[16..24].copy_from_slice(&self.number.to_be_bytes());
        head[24..].copy_from_slice(&self.sent_ns.to_be_bytes());
        datagram[..LEN_MIN].copy_from_slice(&head);
    }

    /// Reads the head; `None` if the datagram is not one of ours.
    pub(crate) fn read(datagram: &[u8]) -> Option<Self> {
        let (magic, rest) = datagram.split_first_chunk::<2>()?;
        let (&[version, kind], rest) = rest.split_first_chunk::<2>()?;
        let (token, rest) = rest.split_first_chunk()?;
        let (flow, rest) = rest.split_first_chunk()?;
        let (flags, rest) = rest.split_first_chunk()?;
        let (number, rest) = rest.split_first_chunk()?;
        let (sent_ns, _) = rest.split_first_chunk()?;
        let kind = match kind {
            0 => Kind::Data,
            1 => Kind::Join,
            2 => Kind::Ask,
            3 => Kind::Answer,
            4 => Kind::Echo,
            _ => return None,
        };
        let number = u64::from_be_bytes(*number);
        if number > NUMBER_MAX {
            return None;
        }
        (*magic == MAGIC && version == VERSION).then_some(Self {
            kind,
            token: u64::from_be_bytes(*token),
            flow: u16::from_be_bytes(*flow),
            wants_echo: u16::from_be_bytes(*flags) & ECHO_WANTED != 0,
            number,
            sent_ns: u64::from_be_bytes(*sent_ns),
        })
    }
}

/// An answer to a data packet. Its times stand in the order of their events: the first and the last are of the sender's
/// clock, the two between of the receiver's.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Echo {
    pub(crate) token: u64,
    pub(crate) flow: u16,
    /// Of the data packet.
    pub(crate) number: u64,
    /// When the data packet was sent.
    pub(crate) sent_ns: u64,
    /// When it arrived.
    pub(crate) arrived_ns: u64,
    /// When the echo was sent.
    pub(crate) echoed_ns: u64,
}

impl Echo {
    /// The datagram of the echo.
    pub(crate) fn datagram(&self) -> [u8; ECHO_LEN] {
        let mut datagram = [0; ECHO_LEN];
        let head = Head {
            kind: Kind::Echo,
            token: self.token,
            flow: self.flow,
            wants_echo: false,
            number: self.number,
            sent_ns: self.echoed_ns,
        };
        head.write(&mut datagram);
        datagram[LEN_MIN..LEN_MIN + 8].copy_from_slice(&self.sent_ns.to_be_bytes());
        datagram[LEN_MIN + 8..].copy_from_slice(&self.arrived_ns.to_be_bytes());
        datagram
    }

    /// Reads an echo; `None` if the datagram is none.
    pub(crate) fn read(datagram: &[u8]) -> Option<Self> {
        let head = Head::read(datagram).filter(|head| head.kind == Kind::Echo)?;
        let (sent_ns, rest) = datagram.get(LEN_MIN..)?.split_first_chunk()?;
        let (arrived_ns, _) = rest.split_first_chunk()?;
        Some(Self {
            token: head.token,
            flow: head.flow,
            number: head.number,
            sent_ns: u64::from_be_bytes(*sent_ns),
            arrived_ns: u64::from_be_bytes(*arrived_ns),
            echoed_ns: head.sent_ns,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn written_head_is_read_back() {
        let head = Head {
            kind: Kind::Join,
            token: u64::MAX - 1,
            flow: 7,
            wants_echo: true,
            number: 1 << 40,
            sent_ns: 1 << 50,
        };
        let mut datagram = [0xEE; 48];
        head.write(&mut datagram);
        assert_eq!(Head::read(&datagram), Some(head));
        assert_eq!(datagram[LEN_MIN..], [0xEE; 16]);
    }

    #[test]
    fn other_datagrams_are_not_read() {
        let mut datagram = [0; LEN_MIN];
        assert_eq!(Head::read(&datagram), None);
        let head = Head {
            kind: Kind::Data,
            token: 1,
            flow: 0,
            wants_echo: false,
            number: 0,
            sent_ns: 0,
        };
        head.write(&mut datagram);
        assert_eq!(Head::read(&datagram[..LEN_MIN - 1]), None);
        for version in [VERSION - 1, VERSION + 1] {
            datagram[2] = version;
            assert_eq!(Head::read(&datagram), None);
        }
        datagram[2] = VERSION;
        for (number, is_read) in [
            (NUMBER_MAX, true),
            (NUMBER_MAX + 1, false),
            (u64::MAX, false),
        ] {
            Head { number, ..head }.write(&mut datagram);
            assert_eq!(Head::read(&datagram).is_some(), is_read, "{number}");
        }
        datagram[3] = 5;
        assert_eq!(Head::read(&datagram), None);
    }

    #[test]
    fn written_echo_is_read_back() {
        let echo = Echo {
            token: 9,
            flow: 3,
            number: 1 << 33,
            sent_ns: 1,
            arrived_ns: u64::MAX,
            echoed_ns: 5,
        };
        let datagram = echo.datagram();
        assert_eq!(Echo::read(&datagram), Some(echo));
        assert_eq!(Echo::read(&datagram[..ECHO_LEN - 1]), None);
        let mut data = datagram;
        data[3] = 0;
        assert_eq!(Echo::read(&data), None);
    }
}

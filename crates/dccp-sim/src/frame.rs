//! Packets of the simulated network, kept in one place and passed around by number.

mod datagram;
pub mod segment;

pub use datagram::UdpDatagram;

use crate::ids::NodeId;
use crate::random::mix;
use core::net::{IpAddr, Ipv4Addr, SocketAddr};
use dccp_proto::Instant;
use dccp_proto::path::{Encap, Path};
use dccp_proto::wire::{Datagram, Ecn};
use segment::Segment;

/// Names a frame while it exists.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct FrameId(u32);

/// The content of an IP packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Content {
    /// A DCCP datagram, in UDP or not.
    Dccp,
    /// An ICMP error about a datagram; `bytes` are what it quotes of the datagram's DCCP part.
    Icmp {
        /// The error.
        error: IcmpError,
        /// Header fields of the quoted datagram.
        about: About,
    },
    /// A TCP segment. The frame has no bytes.
    Tcp(Segment),
    /// A datagram of UDP that does not carry DCCP. The frame has no bytes.
    Udp(UdpDatagram),
}

/// Fields of the IP header that an ICMP error quotes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct About {
    /// Length of the DCCP datagram in bytes.
    pub len: usize,
    /// The ECN field.
    pub ecn: Ecn,
}

/// The ICMP errors that routers and hosts send.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum IcmpError {
    /// The packet did not fit (ICMPv4 type 3 code 4, ICMPv6 type 2).
    TooBig {
        /// The MTU of the link that it did not fit.
        mtu: usize,
    },
    /// The destination cannot be reached.
    Unreachable {
        /// ICMP type.
        kind: u8,
        /// ICMP code.
        code: u8,
    },
}

/// Names a flow: one direction of a connection.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct FlowKey {
    /// Address and port that packets come from.
    pub source: SocketAddr,
    /// Address and port that they go to.
    pub destination: SocketAddr,
}

impl FlowKey {
    /// The flow of the other direction.
    #[must_use]
    pub const fn reversed(self) -> Self {
        Self {
            source: self.destination,
            destination: self.source,
        }
    }
}

/// An IP packet on its way.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Frame {
    /// Where a datagram comes from (`local`) and goes to (`remote`). For an ICMP error: the same of
    /// the datagram that it is about.
    pub path: Path,
    /// Its content.
    pub content: Content,
    /// The ECN field.
    pub ecn: Ecn,
    /// Whether routers may fragment it.
    pub may_fragment: bool,
    /// The DCCP datagram, less trailing zeros that are only counted.
    pub bytes: Vec<u8>,
    /// How many zero bytes follow.
    pub zeros: usize,
    /// When it left its first host.
    pub sent: Instant,
    /// The node that it goes to, if there is one.
    pub(crate) to: Option<NodeId>,
    /// The line of the trace that describes it.
    pub(crate) line: Option<usize>,
}

/// A packet that is about to leave.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Header<'a> {
    pub(crate) path: Path,
    pub(crate) content: Content,
    pub(crate) ecn: Ecn,
    pub(crate) may_fragment: bool,
    pub(crate) bytes: &'a [u8],
    pub(crate) zeros: usize,
}

impl Header<'_> {
    /// The address that it is sent to.
    pub(crate) const fn destination(&self) -> IpAddr {
        destination(&self.content, &self.path)
    }
}

/// An ICMP error goes back to where the datagram came from that it is about.
const fn destination(content: &Content, path: &Path) -> IpAddr {
    match content {
        Content::Icmp { .. } => path.local,
        Content::Dccp | Content::Tcp(_) | Content::Udp(_) => path.remote,
    }
}

impl Frame {
    /// In place of one that does not exist yet.
    const EMPTY: Self = Self {
        path: Path {
            local: IpAddr::V4(Ipv4Addr::UNSPECIFIED),
            remote: IpAddr::V4(Ipv4Addr::UNSPECIFIED),
            encap: Encap::Ip,
        },
        content: Content::Dccp,
        ecn: Ecn::NotEct,
        may_fragment: false,
        bytes: Vec::new(),
        zeros: 0,
        sent: Instant::ZERO,
        to: None,
        line: None,
    };

    /// The DCCP datagram; empty where the frame carries something else.
    pub fn datagram(&self) -> Datagram<'_> {
        Datagram {
            bytes: &self.bytes,
            zeros: self.zeros,
        }
    }

    /// The address that it is sent to.
    pub const fn destination(&self) -> IpAddr {
        destination(&self.content, &self.path)
    }

    /// The path as its receiver sees it: its own address and ports are the local ones.
    pub const fn path_of_receiver(&self) -> Path {
        match self.content {
            Content::Icmp { .. } => self.path,
            Content::Dccp | Content::Tcp(_) | Content::Udp(_) => self.path.reversed(),
        }
    }

    /// Length of the IP packet in bytes.
    pub fn ip_len(&self) -> usize {
        let below = self.path.overhead();
        let datagram = below + self.bytes.len() + self.zeros;
        match &self.content {
            Content::Dccp => datagram,
            Content::Icmp { .. } => Encap::Ip.overhead(self.path.local.is_ipv6()) + 8 + datagram,
            Content::Tcp(segment) => below + segment.wire_len(),
            Content::Udp(datagram) => below + datagram.wire_len(),
        }
    }

    /// The flow that it belongs to: addresses and the ports of DCCP, TCP or UDP. (For an ICMP error:
    /// the datagram's that it is about, turned round.)
    pub fn flow_key(&self) -> FlowKey {
        let port = |place: usize| match self.bytes.get(place..place + 2) {
            Some(&[high, low]) => u16::from_be_bytes([high, low]),
            _ => 0,
        };
        let (source, destination) = match &self.content {
            Content::Dccp | Content::Icmp { .. } => (port(0), port(2)),
            Content::Tcp(segment) => (segment.source_port, segment.dest_port),
            Content::Udp(datagram) => (datagram.source_port, datagram.dest_port),
        };
        let key = FlowKey {
            source: SocketAddr::new(self.path.local, source),
            destination: SocketAddr::new(self.path.remote, destination),
        };
        match self.content {
            Content::Icmp { .. } => key.reversed(),
            _ => key,
        }
    }

    /// A hash of the flow as a router sees it: of DCCP in UDP only the ports of UDP.
    pub(crate) fn flow_hash(&self) -> u64 {
        let FlowKey {
            mut source,
            mut destination,
        } = self.flow_key();
        if let Encap::Udp {
            local_port,
            remote_port,
        } = self.path.encap
        {
            source.set_port(local_port);
            destination.set_port(remote_port);
        }
        let words = |address: IpAddr| {
            let v6 = match address {
                IpAddr::V4(v4) => v4.to_ipv6_mapped(),
                IpAddr::V6(v6) => v6,
            };
            let bits = v6.to_bits();
            [(bits >> 64) as u64, ((bits << 64) >> 64) as u64]
        };
        let ports = u64::from(source.port()) << 16 | u64::from(destination.port());
        let addresses = [words(source.ip()), words(destination.ip())];
        let words = addresses.into_iter().flatten();
        words.fold(mix(ports), |hash, word| mix(hash ^ word))
    }

    /// Flips a bit of the IP packet, counted from the start of its header. Returns `false` if the
    /// receiving system will notice before DCCP does: the bit is of a header below DCCP, or a UDP
    /// checksum covers it.
    #[must_use]
    pub fn flip(&mut self, bit: usize) -> bool {
        if self.path.encap != Encap::Ip || self.content != Content::Dccp {
            return false;
        }
        let Some(place) = (bit / 8).checked_sub(self.path.overhead()) else {
            return false;
        };
        if place >= self.bytes.len() {
            // The zeros are not zeros any more.
            self.bytes.resize(self.bytes.len() + self.zeros, 0);
            self.zeros = 0;
        }
        let Some(byte) = self.bytes.get_mut(place) else {
            return false;
        };
        *byte ^= 0x80 >> (bit % 8);
        true
    }
}

/// All frames that exist. Buffers of frames that are gone serve again: no allocation per packet.
#[derive(Debug, Default)]
pub(crate) struct Frames {
    slots: Vec<Frame>,
    notes: Vec<Note>,
    free: Vec<u32>,
}

/// The fields of a frame that routers and links need. The notes of all frames in flight fit into the L1 cache,
/// which the frames themselves would not. Notes are written and read field by field: a copy of the whole would
/// wait for the stores of its parts (store forwarding).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Note {
    /// Length of the IP packet in bytes.
    pub(crate) len: u32,
    /// The node that it goes to, if there is one.
    pub(crate) to: Option<NodeId>,
    /// The ECN field.
    pub(crate) ecn: Ecn,
    /// How many nodes have passed it on, or `GONE`.
    hops: u8,
    /// Whether routers may fragment it.
    pub(crate) may_fragment: bool,
}

impl Note {
    /// In place of a frame that does not exist yet.
    const EMPTY: Self = Self {
        len: 0,
        to: None,
        ecn: Ecn::NotEct,
        may_fragment: false,
        hops: 0,
    };

    /// Copies the fields of a frame that may change.
    #[inline]
    fn take(&mut self, frame: &Frame) {
        self.len = u32::try_from(frame.ip_len()).unwrap_or(u32::MAX);
        self.ecn = frame.ecn;
        self.may_fragment = frame.may_fragment;
    }
}

/// In place of the hops of a frame that does not exist.
const GONE: u8 = u8::MAX;

impl Frames {
    /// A frame to be filled in. Its buffer is empty; all else is left of one that is gone.
    #[expect(
        clippy::cast_possible_truncation,
        reason = "memory ends before 2^32 frames"
    )]
    fn take_slot(&mut self) -> FrameId {
        if let Some(id) = self.free.pop() {
            self.slots[id as usize].bytes.clear();
            return FrameId(id);
        }
        self.slots.push(Frame::EMPTY);
        self.notes.push(Note::EMPTY);
        FrameId(self.slots.len() as u32 - 1)
    }

    /// A new frame.
    pub(crate) fn insert(
        &mut self,
        header: &Header<'_>,
        sent: Instant,
        to: Option<NodeId>,
    ) -> FrameId {
        let id = self.take_slot();
        // Field by field: the compiler would make a frame elsewhere and copy it.
        let frame = &mut self.slots[id.0 as usize];
        frame.path = header.path;
        frame.content = header.content;
        frame.ecn = header.ecn;
        frame.may_fragment = header.may_fragment;
        frame.bytes.extend_from_slice(header.bytes);
        frame.zeros = header.zeros;
        frame.sent = sent;
        frame.to = to;
        frame.line = None;
        let note = &mut self.notes[id.0 as usize];
        note.take(frame);
        (note.to, note.hops) = (to, 0);
        id
    }

    /// Updates the note of a frame that may have changed.
    pub(crate) fn note_again(&mut self, id: FrameId) {
        let place = id.0 as usize;
        self.notes[place].take(&self.slots[place]);
    }

    /// The note of a frame.
    #[inline]
    pub(crate) fn note(&self, id: FrameId) -> &Note {
        &self.notes[id.0 as usize]
    }

    /// Writes the ECN field of a frame, which a queue may have marked.
    #[inline]
    pub(crate) fn set_ecn(&mut self, id: FrameId, ecn: Ecn) {
        let place = id.0 as usize;
        if self.notes[place].ecn != ecn {
            self.notes[place].ecn = ecn;
            self.slots[place].ecn = ecn;
        }
    }

    /// A copy of a frame.
    pub(crate) fn duplicate(&mut self, id: FrameId) -> FrameId {
        let copy = self.take_slot();
        let original = self.get(id).clone();
        self.slots[copy.0 as usize] = original;
        self.notes[copy.0 as usize] = self.notes[id.0 as usize];
        copy
    }

    /// Counts a node that passes the frame on, and returns how many have.
    #[inline]
    pub(crate) fn count_hop(&mut self, id: FrameId) -> u8 {
        let hops = &mut self.notes[id.0 as usize].hops;
        *hops += 1;
        *hops
    }

    pub(crate) fn get(&self, id: FrameId) -> &Frame {
        &self.slots[id.0 as usize]
    }

    pub(crate) fn get_mut(&mut self, id: FrameId) -> &mut Frame {
        &mut self.slots[id.0 as usize]
    }

    /// Ends a frame. Its number must not be used again.
    pub(crate) fn remove(&mut self, id: FrameId) {
        let hops = &mut self.notes[id.0 as usize].hops;
        debug_assert!(*hops != GONE, "a frame ended twice");
        *hops = GONE;
        self.free.push(id.0);
    }

    /// How many frames exist.
    pub(crate) fn live(&self) -> u64 {
        (self.slots.len() - self.free.len()) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(encap: Encap) -> Frame {
        Frame {
            path: Path {
                local: Ipv4Addr::new(10, 0, 0, 1).into(),
                remote: Ipv4Addr::new(10, 0, 0, 2).into(),
                encap,
            },
            content: Content::Dccp,
            ecn: Ecn::Ect0,
            may_fragment: false,
            bytes: vec![0; 12],
            zeros: 100,
            sent: Instant::ZERO,
            to: None,
            line: None,
        }
    }

    const UDP: Encap = Encap::Udp {
        local_port: 1,
        remote_port: 2,
    };

    #[test]
    fn an_error_travels_back_and_is_longer_by_its_own_headers() {
        let datagram = frame(UDP);
        assert_eq!(datagram.ip_len(), 20 + 8 + 112);
        assert_eq!(datagram.destination(), datagram.path.remote);
        assert_eq!(datagram.path_of_receiver().local, datagram.path.remote);
        let error = Frame {
            content: Content::Icmp {
                error: IcmpError::TooBig { mtu: 100 },
                about: About {
                    len: 112,
                    ecn: Ecn::Ect0,
                },
            },
            ..datagram.clone()
        };
        assert_eq!(error.ip_len(), 20 + 8 + 140);
        assert_eq!(error.destination(), datagram.path.local);
        assert_eq!(error.path_of_receiver(), datagram.path);
    }

    #[test]
    fn the_flow_is_of_the_transport_and_routers_see_the_outer_ports() {
        let mut f = frame(UDP);
        f.bytes[..4].copy_from_slice(&[0x13, 0x89, 0x17, 0x71]);
        let key = FlowKey {
            source: "10.0.0.1:5001".parse().unwrap(),
            destination: "10.0.0.2:6001".parse().unwrap(),
        };
        assert_eq!(f.flow_key(), key);
        let segment = Frame {
            content: Content::Tcp(crate::testing::segment()),
            ..frame(Encap::Ip)
        };
        assert_eq!(segment.flow_key(), key);
        let outer = f.flow_hash();
        f.bytes[1] ^= 1;
        assert_eq!(f.flow_hash(), outer, "what is inside of UDP is not seen");
        f.path.encap = Encap::Ip;
        let inner = f.flow_hash();
        f.bytes[1] ^= 1;
        assert_ne!(f.flow_hash(), inner);
        assert_ne!(f.flow_hash(), segment.flow_hash() ^ 1);
    }

    #[test]
    fn values_have_the_length_of_what_they_stand_for() {
        let with = |content| Frame {
            content,
            bytes: Vec::new(),
            zeros: 0,
            ..frame(Encap::Ip)
        };
        let mut segment = with(Content::Tcp(crate::testing::segment()));
        assert_eq!(segment.ip_len(), 20 + 20 + 1000);
        assert!(!segment.flip(8 * 30), "its checksum notices");
        let datagram = with(Content::Udp(crate::testing::udp()));
        assert_eq!(datagram.ip_len(), 20 + 8 + 100);
        assert_eq!(datagram.destination(), datagram.path.remote);
        assert_eq!(datagram.path_of_receiver().local, datagram.path.remote);
    }

    #[test]
    fn over_ip_a_flipped_bit_reaches_dccp_wherever_dccp_begins() {
        let mut f = frame(Encap::Ip);
        assert!(
            !f.flip(8 * 20 - 1),
            "the IP header has a checksum of its own"
        );
        assert!(f.flip(8 * 20));
        assert_eq!((f.bytes[0], f.zeros), (0x80, 100));
        assert!(f.flip(8 * 20 + 8 * 12 + 7));
        assert_eq!((f.bytes.len(), f.bytes[12], f.zeros), (112, 1, 0));
        assert_eq!(f.ip_len(), 132);
        assert!(!f.flip(8 * 132), "there is no such bit");
    }

    #[test]
    fn over_udp_no_flipped_bit_reaches_dccp() {
        let mut f = frame(UDP);
        for bit in 0..8 * f.ip_len() {
            assert!(!f.flip(bit));
        }
        assert_eq!(f, frame(UDP));
    }

    #[test]
    fn a_number_serves_again_once_its_frame_is_gone() {
        let mut frames = Frames::default();
        let insert = |frames: &mut Frames, bytes: &[u8]| {
            let Frame {
                path,
                content,
                ecn,
                may_fragment,
                zeros,
                ..
            } = frame(Encap::Ip);
            let header = Header {
                path,
                content,
                ecn,
                may_fragment,
                bytes,
                zeros,
            };
            frames.insert(&header, Instant::ZERO, None)
        };
        let a = insert(&mut frames, &[1, 2]);
        let b = frames.duplicate(a);
        assert_eq!(frames.get(b), frames.get(a));
        assert_eq!(frames.live(), 2);
        frames.remove(a);
        assert_eq!(frames.live(), 1);
        let c = insert(&mut frames, &[3]);
        assert_eq!(c, a);
        assert_eq!(frames.get(c).bytes, [3]);
        assert_eq!(frames.get(b).bytes, [1, 2]);
    }
}

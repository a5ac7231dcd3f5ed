//! Control messages: what stands beside a datagram in `sendmsg` and `recvmsg`.
//!
//! ```text
//! | length (usize) | level (i32) | type (i32) | data … | padding to a usize | next message …
//! ```
//! The length is that of header and data. Read and written as bytes, without pointers.

use core::mem::size_of;
use core::net::{Ipv4Addr, Ipv6Addr};
use core::time::Duration;
use std::net::IpAddr;

use libc::c_int;

const HEADER: usize = size_of::<libc::cmsghdr>();
const WORD: usize = size_of::<usize>();

/// Bytes that hold all control messages that we ask for, whichever come.
pub(crate) const SPACE: usize = 256;

/// A buffer for control messages, aligned as the kernel's headers are.
#[derive(Clone, Copy)]
#[repr(C, align(8))]
pub(crate) struct Control(pub(crate) [u8; SPACE]);

impl Control {
    /// No message.
    pub(crate) const EMPTY: Self = Self([0; SPACE]);

    /// Offers all of the space to a receive call, which must happen while `self` stays in place.
    pub(crate) fn attach_to(&mut self, header: &mut libc::msghdr) {
        header.msg_control = self.0.as_mut_ptr().cast();
        header.msg_controllen = SPACE as _;
    }

    /// The bytes that a receive call has written.
    #[cfg_attr(
        all(target_env = "gnu", target_pointer_width = "64"),
        expect(clippy::unnecessary_cast, reason = "narrower in other C libraries")
    )]
    pub(crate) fn used(&self, header: &libc::msghdr) -> &[u8] {
        let len = header.msg_controllen as usize;
        self.0.get(..len).unwrap_or_default()
    }
}

/// Contents of the control messages of a received message.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Received {
    /// TOS or Traffic Class byte.
    pub(crate) tos: u8,
    /// The address that the packet was sent to.
    pub(crate) local: Option<IpAddr>,
    /// When the kernel got it, since the Unix epoch.
    pub(crate) timestamp: Option<Duration>,
    /// An error of the error queue.
    pub(crate) error: Option<Extended>,
}

/// The kernel's `sock_extended_err`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Extended {
    /// Its origin: local, ICMP, `ICMPv6`.
    pub(crate) origin: u8,
    /// ICMP type.
    pub(crate) kind: u8,
    /// ICMP code.
    pub(crate) code: u8,
    /// For "too big": the MTU.
    pub(crate) info: u32,
}

impl Received {
    /// Reads all control messages in `bytes`.
    pub(crate) fn parse(bytes: &[u8]) -> Self {
        let mut received = Self::default();
        for (level, kind, data) in Messages(bytes) {
            received.take(level, kind, data);
        }
        received
    }

    fn take(&mut self, level: c_int, kind: c_int, data: &[u8]) {
        match (level, kind) {
            (libc::IPPROTO_IP, libc::IP_TOS) | (libc::IPPROTO_IPV6, libc::IPV6_TCLASS) => {
                self.tos = traffic_class(data);
            }
            // in_pktinfo: interface index, our address of the route, destination in the header.
            (libc::IPPROTO_IP, libc::IP_PKTINFO) => {
                self.local = array(data, 8).map(|a: [u8; 4]| Ipv4Addr::from(a).into());
            }
            (libc::IPPROTO_IPV6, libc::IPV6_PKTINFO) => {
                self.local = array(data, 0).map(|a: [u8; 16]| Ipv6Addr::from(a).into());
            }
            (libc::SOL_SOCKET, libc::SCM_TIMESTAMPNS) => self.timestamp = timespec(data),
            (libc::IPPROTO_IP, libc::IP_RECVERR) | (libc::IPPROTO_IPV6, libc::IPV6_RECVERR) => {
                self.error = extended(data);
            }
            _ => {}
        }
    }
}

/// The control messages in a buffer.
struct Messages<'a>(&'a [u8]);

impl<'a> Iterator for Messages<'a> {
    type Item = (c_int, c_int, &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        let len = usize::from_ne_bytes(array(self.0, 0)?);
        let level = c_int::from_ne_bytes(array(self.0, WORD)?);
        let kind = c_int::from_ne_bytes(array(self.0, WORD + 4)?);
        let data = self.0.get(HEADER..len)?;
        self.0 = self.0.get(len.next_multiple_of(WORD)..).unwrap_or_default();
        Some((level, kind, data))
    }
}

/// Writes control messages one after the other.
pub(crate) struct Writer<'a> {
    control: &'a mut Control,
    len: usize,
}

impl<'a> Writer<'a> {
    /// Starts at the front of `control`.
    pub(crate) fn new(control: &'a mut Control) -> Self {
        Self { control, len: 0 }
    }

    /// Appends a message.
    ///
    /// # Panics
    /// When the buffer is full: its size is a constant that holds all that we write.
    pub(crate) fn push(&mut self, level: c_int, kind: c_int, data: &[u8]) {
        let start = self.len;
        let end = start + HEADER + data.len();
        self.len = end.next_multiple_of(WORD);
        assert!(self.len <= SPACE, "control messages do not fit");
        let bytes = &mut self.control.0;
        bytes[start..start + WORD].copy_from_slice(&(end - start).to_ne_bytes());
        bytes[start + WORD..start + WORD + 4].copy_from_slice(&level.to_ne_bytes());
        bytes[start + WORD + 4..start + HEADER].copy_from_slice(&kind.to_ne_bytes());
        bytes[start + HEADER..end].copy_from_slice(data);
    }

    /// The messages in the form for a send call.
    pub(crate) fn finish(self) -> &'a [u8] {
        &self.control.0[..self.len]
    }
}

/// The kernel gives the TOS byte as a byte, the Traffic Class as an `int`.
fn traffic_class(data: &[u8]) -> u8 {
    match array(data, 0) {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "the class is the low byte"
        )]
        Some(int) => c_int::from_ne_bytes(int) as u8,
        None => data.first().copied().unwrap_or(0),
    }
}

fn timespec(data: &[u8]) -> Option<Duration> {
    let half = data.len() / 2;
    let word = |at: usize| match half {
        8 => array(data, at).map(i64::from_ne_bytes),
        _ => array(data, at).map(|b| i64::from(i32::from_ne_bytes(b))),
    };
    let seconds = u64::try_from(word(0)?).ok()?;
    let nanos = u32::try_from(word(half)?).ok()?;
    Some(Duration::new(seconds, nanos))
}

/// `sock_extended_err`: errno, origin, type, code, padding, info, data.
fn extended(data: &[u8]) -> Option<Extended> {
    let [origin, kind, code] = array(data, 4)?;
    Some(Extended {
        origin,
        kind,
        code,
        info: u32::from_ne_bytes(array(data, 8)?),
    })
}

fn array<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..)?.first_chunk().copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn written_control_messages_are_read_back() {
        let mut control = Control::EMPTY;
        let mut writer = Writer::new(&mut control);
        writer.push(libc::IPPROTO_IP, libc::IP_TOS, &[3]);
        let pktinfo = [0, 0, 0, 0, 9, 9, 9, 9, 192, 0, 2, 7];
        writer.push(libc::IPPROTO_IP, libc::IP_PKTINFO, &pktinfo);
        let mut error = [0; 16];
        error[4..7].copy_from_slice(&[libc::SO_EE_ORIGIN_ICMP, 3, 4]);
        error[8..12].copy_from_slice(&1280u32.to_ne_bytes());
        writer.push(libc::IPPROTO_IP, libc::IP_RECVERR, &error);
        let received = Received::parse(writer.finish());
        assert_eq!(received.tos, 3);
        assert_eq!(received.local, Some(Ipv4Addr::new(192, 0, 2, 7).into()));
        assert_eq!(received.timestamp, None);
        let expected = Extended {
            origin: 2,
            kind: 3,
            code: 4,
            info: 1280,
        };
        assert_eq!(received.error, Some(expected));
    }

    #[test]
    fn ipv6_messages_and_timestamps_are_read() {
        let mut control = Control::EMPTY;
        let mut writer = Writer::new(&mut control);
        writer.push(libc::IPPROTO_IPV6, libc::IPV6_TCLASS, &2i32.to_ne_bytes());
        let mut pktinfo = [0; 20];
        pktinfo[..16].copy_from_slice(&Ipv6Addr::LOCALHOST.octets());
        writer.push(libc::IPPROTO_IPV6, libc::IPV6_PKTINFO, &pktinfo);
        let mut time = [0; 16];
        time[..8].copy_from_slice(&5i64.to_ne_bytes());
        time[8..].copy_from_slice(&7i64.to_ne_bytes());
        writer.push(libc::SOL_SOCKET, libc::SCM_TIMESTAMPNS, &time);
        let received = Received::parse(writer.finish());
        assert_eq!(received.tos, 2);
        assert_eq!(received.local, Some(Ipv6Addr::LOCALHOST.into()));
        assert_eq!(received.timestamp, Some(Duration::new(5, 7)));
    }

    #[test]
    fn truncated_message_ends_the_list() {
        let mut control = Control::EMPTY;
        let mut writer = Writer::new(&mut control);
        writer.push(libc::IPPROTO_IP, libc::IP_TOS, &[3]);
        assert_eq!(Received::parse(&control.0[..HEADER]), Received::default());
        assert_eq!(Received::parse(&control.0[..7]), Received::default());
        // A length below the header's cannot move on, so it stops.
        control.0[..WORD].copy_from_slice(&1usize.to_ne_bytes());
        assert_eq!(Received::parse(&control.0), Received::default());
    }
}

//! Questions to the kernel's tables of devices, queues and routes (rtnetlink(7)).
//!
//! ```text
//! request and answer: | length u32 | type u16 | flags u16 | sequence u32 | sender u32 | header | attributes |
//! attribute:          | length u16 | type u16 | data … | padding to 4 bytes |
//! ```

use std::io;
use std::os::fd::OwnedFd;

use rustix::net::netlink::SocketAddrNetlink;
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType};

const HEADER: usize = 16;
/// Room for an answer. Of an interface with many statistics the end is cut off.
const ANSWER_MAX: usize = 8192;

/// The flag of each request.
const REQUEST: u16 = 1;
/// A flag of requests: the answer comes to this socket too. Otherwise the counters of a queue go to listeners only.
pub const ECHO: u16 = 8;

/// The type of a request for a device.
pub const GET_LINK: u16 = 18;
/// The type of the answer.
pub const NEW_LINK: u16 = 16;
/// Bytes of the header of a device.
pub const LINK_HEADER: usize = 16;

/// Flags in the type of an attribute.
const TYPE_MASK: u16 = 0x3fff;

/// A socket to the tables of the calling thread's network namespace.
#[derive(Debug)]
pub struct Tables(OwnedFd);

impl Tables {
    /// Opens a socket.
    ///
    /// # Errors
    /// As socket(2).
    pub fn open() -> io::Result<Self> {
        let kind = SocketType::RAW;
        let flags = SocketFlags::CLOEXEC;
        // The default protocol is that of routes and devices.
        let socket = rustix::net::socket_with(AddressFamily::NETLINK, kind, flags, None)?;
        Ok(Self(socket))
    }

    /// Sends a request of type `kind` with a header and attributes. Returns the kernel's answer without its first header,
    /// or `None` if its type is not `answer`: the kernel refuses. It has answered when the request is sent.
    pub fn ask(&self, kind: u16, flags: u16, body: &[u8], answer: u16) -> Option<Vec<u8>> {
        let len = u32::try_from(HEADER + body.len()).ok()?;
        let mut request = len.to_ne_bytes().to_vec();
        request.extend(kind.to_ne_bytes());
        request.extend((REQUEST | flags).to_ne_bytes());
        request.extend([0; 8]);
        request.extend(body);
        let kernel = SocketAddrNetlink::new(0, 0);
        rustix::net::sendto(&self.0, &request, SendFlags::empty(), &kernel).ok()?;
        let mut bytes = vec![0; ANSWER_MAX];
        let (len, _) = rustix::net::recv(&self.0, &mut bytes[..], RecvFlags::DONTWAIT).ok()?;
        bytes.truncate(len);
        if half(bytes.get(4..)?) != Some(answer) {
            return None;
        }
        bytes.drain(..HEADER.min(len));
        Some(bytes)
    }
}

/// The header of a request about a device, by its number.
pub fn link_header(interface: u32) -> [u8; LINK_HEADER] {
    let mut header = [0; LINK_HEADER];
    header[4..8].copy_from_slice(&interface.to_ne_bytes());
    header
}

/// Appends an attribute.
pub(crate) fn push(body: &mut Vec<u8>, kind: u16, data: &[u8]) {
    let len = u16::try_from(4 + data.len()).unwrap_or(0);
    body.extend(len.to_ne_bytes());
    body.extend(kind.to_ne_bytes());
    body.extend(data);
    body.resize(body.len().next_multiple_of(4), 0);
}

/// The data of the first attribute of a kind, behind a header of `header` bytes.
pub fn find(message: &[u8], header: usize, kind: u16) -> Option<&[u8]> {
    let mut rest = message.get(header..)?;
    loop {
        let len = usize::from(half(rest)?);
        let found = half(rest.get(2..)?)? & TYPE_MASK;
        let data = rest.get(4..len)?;
        if found == kind {
            return Some(data);
        }
        rest = rest.get(len.next_multiple_of(4)..)?;
    }
}

fn half(bytes: &[u8]) -> Option<u16> {
    bytes.first_chunk().copied().map(u16::from_ne_bytes)
}

/// The number in the first 4 bytes.
pub fn word(bytes: &[u8]) -> Option<u32> {
    bytes.first_chunk().copied().map(u32::from_ne_bytes)
}

/// The number in the first 8 bytes.
pub fn long(bytes: &[u8]) -> Option<u64> {
    bytes.first_chunk().copied().map(u64::from_ne_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_are_found_behind_padding_and_up_to_a_cut() {
        const HEADER: usize = 12;
        let mut body = vec![9; HEADER];
        push(&mut body, 7, b"abc");
        push(&mut body, 8 | 0x8000, &[1, 2, 3, 4]);
        assert_eq!(find(&body, HEADER, 7), Some(&b"abc"[..]));
        assert_eq!(find(&body, HEADER, 8), Some(&[1, 2, 3, 4][..]));
        assert_eq!(find(&body, HEADER, 9), None);
        for len in 0..body.len() {
            assert_eq!(find(&body[..len], HEADER, 8), None);
        }
        // A length below the header's ends the list.
        let bad = [0, 0, 7, 0].repeat(4);
        assert_eq!(find(&bad, 0, 7), None);
    }

    #[test]
    fn kernel_knows_no_interface_without_number() {
        let tables = Tables::open().unwrap();
        let ask = |interface| tables.ask(GET_LINK, 0, &link_header(interface), NEW_LINK);
        assert!(ask(0x7fff_fff0).is_none());
        // The loopback's answer follows the refusal.
        assert!(ask(1).is_some());
    }
}

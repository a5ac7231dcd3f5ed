//! DCCP as IP protocol 33 (RFC 4340 §5), by raw sockets. Linux only.
//!
//! The kernel makes IP headers and fragments; DCCP's checksum is the core's, in both directions: a
//! raw IPv6 socket would only see whole checksums if it had a packet filter, so it has none.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::os::fd::AsFd;
use std::sync::Arc;

use dccp_proto::IcmpError;
use dccp_proto::batch::Batch;
use dccp_proto::path::{Encap, Path};
use dccp_proto::wire::Ecn;
use socket2::{Domain, Protocol, Socket, Type};

use crate::buffer::{RecvBuffer, SLOTS};
use crate::counters::{Counters, Wrapping};
use crate::error::OpenError;
use crate::host::Host;
use crate::icmp;
use crate::route;
use crate::send::{after_failure, attempt, drop_reason, is_queue_full};
use crate::sys::cmsg::{Control, Writer};
use crate::sys::mmsg::{self, Message};
use crate::sys::sockopt;
use crate::transport::{BufferSizes, Datagrams, Options, Received, Sent, Source, Transport};
use crate::versions::Versions;

const DCCP: i32 = 33;
const IPV4_HEADER_MIN: usize = 20;
/// After this many packets for ports of others, see whether the host's lock has become free.
const FOREIGN_PER_TRY: u64 = 16;

/// A raw socket of one address family.
#[derive(Debug)]
pub struct Raw {
    socket: Socket,
    local: IpAddr,
    host: Arc<Host>,
    may_fragment: bool,
    reports: icmp::Reports,
    overflow: Wrapping,
    counters: Counters,
}

impl Raw {
    /// Opens a socket on an address of this host, or on all of one family.
    ///
    /// # Errors
    /// [`OpenError::NeedsCapability`] without `CAP_NET_RAW`; others when the system refuses.
    pub fn open(local: IpAddr, host: Arc<Host>, options: &Options) -> Result<Self, OpenError> {
        let address = SocketAddr::new(local, 0);
        let protocol = Some(Protocol::from(DCCP));
        let socket =
            Socket::new(Domain::for_address(address), Type::RAW, protocol).map_err(|e| match e
                .kind()
            {
                io::ErrorKind::PermissionDenied => OpenError::NeedsCapability,
                _ => OpenError::Io(e),
            })?;
        socket.bind(&address.into())?;
        socket.set_nonblocking(true)?;
        sockopt::prepare_raw(socket.as_fd(), Versions::of(local))?;
        sockopt::set_recv_buffer(socket.as_fd(), options.recv_buffer)?;
        if let Some(bytes) = options.send_buffer {
            sockopt::set_send_buffer(socket.as_fd(), bytes)?;
        }
        Ok(Self {
            socket,
            local,
            host,
            may_fragment: false,
            reports: icmp::Reports::new(Versions::of(local)),
            overflow: Wrapping::default(),
            counters: Counters::default(),
        })
    }

    /// 4340-14.2-1: only some packets are fragmentable.
    fn allow_fragments(&mut self, may: bool) {
        if may != self.may_fragment
            && sockopt::set_may_fragment(self.socket.as_fd(), Versions::of(self.local), may).is_ok()
        {
            self.may_fragment = may;
        }
    }

    /// A raw socket also says "no buffers" when its own send buffer is full.
    fn is_blocked(&self, e: &io::Error) -> bool {
        e.kind() == io::ErrorKind::WouldBlock
            || is_queue_full(e) && !sockopt::has_room(self.socket.as_fd()).unwrap_or(true)
    }

    fn on_received(&mut self, message: &Message, bytes: &[u8], sink: &mut dyn FnMut(Received<'_>)) {
        let Some(packet) = unwrap(message, bytes) else {
            self.counters.recv_malformed += 1;
            return;
        };
        if !self.is_ours(packet.payload) {
            self.counters.foreign += 1;
            return;
        }
        self.counters.received += 1;
        sink(Received {
            path: Path {
                local: packet.local,
                remote: packet.remote,
                encap: Encap::Ip,
            },
            ecn: Ecn::from_bits(packet.tos),
            datagrams: Datagrams::one(packet.payload),
            timestamp: message.control.timestamp,
        });
    }

    /// Whether a packet belongs to this program, because every raw socket of the host gets a copy. A packet too short to have
    /// a port is not answered, and every program counts it.
    fn is_ours(&self, payload: &[u8]) -> bool {
        let Some(&[_, _, high, low]) = payload.first_chunk() else {
            return true;
        };
        let port = u16::from_be_bytes([high, low]);
        if self.host.takes(port) {
            return true;
        }
        if self.counters.foreign.is_multiple_of(FOREIGN_PER_TRY) && !self.host.is_owner() {
            // The lock's holder may have ended. If no socket is left to try with, another program will.
            return self.host.try_own().unwrap_or(false) && self.host.takes(port);
        }
        false
    }
}

impl Transport for Raw {
    fn send(&mut self, batch: &Batch, from: usize) -> Sent {
        let mut sent = Sent::from(from);
        let Some((&path, ecn)) = batch.destination() else {
            return sent;
        };
        self.allow_fragments(batch.may_fragment());
        let source = self.local.is_unspecified().then_some(path.local);
        let mut control = Control::EMPTY;
        let control = marks(&mut control, path.remote.is_ipv6(), ecn, source);
        let to = SocketAddr::new(path.remote, 0).into();
        while sent.next < batch.len() {
            let fd = self.socket.as_fd();
            self.counters.send_calls += 1;
            let result = attempt(
                || {
                    let rest = batch.datagrams().skip(sent.next).map(|d| d.bytes);
                    mmsg::send(fd, &to, control, rest)
                },
                |on| self.reports.switch(fd, on, &mut self.counters),
            );
            match result {
                Ok(n) => sent.accept(&mut self.counters, n),
                Err(e) if self.is_blocked(&e) => {
                    self.counters.send_blocked += 1;
                    return sent;
                }
                Err(e) => {
                    let reason = drop_reason(&e, || route::to(path.remote).ok()?.mtu);
                    sent.refuse(&mut self.counters, 1, reason);
                }
            }
        }
        sent
    }

    fn recv(
        &mut self,
        buffer: &mut RecvBuffer,
        sink: &mut dyn FnMut(Received<'_>),
    ) -> io::Result<bool> {
        let mut messages = [Message::default(); SLOTS];
        let (mut slots, controls) = buffer.parts();
        let fd = self.socket.as_fd();
        let result = attempt(
            || mmsg::recv(fd, &mut slots, controls, &mut messages),
            |on| self.reports.switch(fd, on, &mut self.counters),
        );
        let n = match result {
            Ok(n) => n,
            Err(e) => return after_failure(e),
        };
        self.counters.recv_calls += 1;
        for (slot, message) in messages.iter().enumerate().take(n) {
            let bytes = &buffer.slot(slot)[..message.len];
            self.on_received(message, bytes, sink);
        }
        Ok(true)
    }

    fn recv_errors(
        &mut self,
        buffer: &mut RecvBuffer,
        sink: &mut dyn FnMut(IcmpError<'_>),
    ) -> io::Result<usize> {
        let bound = self.local;
        let count = &mut self.counters.icmp;
        icmp::read_queue(self.socket.as_fd(), buffer, |report, quoted| {
            *count += 1;
            sink(IcmpError {
                path: Path {
                    local: report.local.unwrap_or(bound),
                    remote: report.remote.ip(),
                    encap: Encap::Ip,
                },
                quoted,
                kind: report.kind,
            });
        })
    }

    fn reports_icmp(&self) -> bool {
        self.reports.is_on()
    }

    fn report_icmp(&mut self, on: bool) {
        self.reports
            .switch(self.socket.as_fd(), on, &mut self.counters);
    }

    fn counters(&mut self) -> Counters {
        if let Ok(now) = sockopt::recv_drops(self.socket.as_fd()) {
            self.counters.recv_overflowed = Some(self.overflow.advance_to(now));
        }
        self.counters
    }

    fn local_addr(&self) -> SocketAddr {
        SocketAddr::new(self.local, 0)
    }

    fn segments_max(&self) -> usize {
        mmsg::SEND_MAX
    }

    fn buffer_sizes(&self) -> io::Result<BufferSizes> {
        Ok(BufferSizes {
            recv: self.socket.recv_buffer_size()?,
            send: self.socket.send_buffer_size()?,
        })
    }

    fn reads_ecn(&self) -> bool {
        true
    }

    fn source(&mut self) -> Source<'_> {
        self.socket.as_fd()
    }
}

/// The control messages of a send call: ECN mark and, where needed, the source address.
fn marks(control: &mut Control, is_ipv6: bool, ecn: Ecn, source: Option<IpAddr>) -> &[u8] {
    let mut writer = Writer::new(control);
    let mark = i32::from(ecn as u8).to_ne_bytes();
    if is_ipv6 {
        writer.push(libc::IPPROTO_IPV6, libc::IPV6_TCLASS, &mark);
    } else {
        writer.push(libc::IPPROTO_IP, libc::IP_TOS, &mark);
    }
    match source {
        // in_pktinfo: interface 0 for any, source address, nothing.
        Some(IpAddr::V4(a)) => {
            let mut info = [0; 12];
            info[4..8].copy_from_slice(&a.octets());
            writer.push(libc::IPPROTO_IP, libc::IP_PKTINFO, &info);
        }
        // in6_pktinfo: source address, interface 0 for any.
        Some(IpAddr::V6(a)) => {
            let mut info = [0; 20];
            info[..16].copy_from_slice(&a.octets());
            writer.push(libc::IPPROTO_IPV6, libc::IPV6_PKTINFO, &info);
        }
        None => {}
    }
    writer.finish()
}

/// A received packet without its IP header.
struct Packet<'a> {
    local: IpAddr,
    remote: IpAddr,
    tos: u8,
    payload: &'a [u8],
}

/// A raw IPv4 socket gives the IP header too; a raw IPv6 socket tells about it.
fn unwrap<'a>(message: &Message, bytes: &'a [u8]) -> Option<Packet<'a>> {
    match message.remote {
        Some(remote) => Some(Packet {
            local: message.control.local?,
            remote: remote.into(),
            tos: message.control.tos,
            payload: bytes,
        }),
        None => unwrap_ipv4(bytes),
    }
}

fn unwrap_ipv4(bytes: &[u8]) -> Option<Packet<'_>> {
    let header: &[u8; IPV4_HEADER_MIN] = bytes.first_chunk()?;
    let header_len = usize::from(header[0] & 0xf) * 4;
    let total_len = usize::from(u16::from_be_bytes([header[2], header[3]]));
    let address = |at: usize| {
        let octets = header[at..].first_chunk::<4>()?;
        Some(IpAddr::V4(Ipv4Addr::from(*octets)))
    };
    if header[0] >> 4 != 4 || header_len < IPV4_HEADER_MIN {
        return None;
    }
    Some(Packet {
        local: address(16)?,
        remote: address(12)?,
        tos: header[1],
        payload: bytes.get(header_len..total_len)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Version and header length, TOS, total length, …, source, destination, payload.
    fn ipv4(header_len: u8, total_len: u8) -> Vec<u8> {
        let mut bytes = vec![0; 30];
        bytes[0] = 0x40 | (header_len / 4);
        bytes[1] = 0xff;
        bytes[3] = total_len;
        bytes[12..16].copy_from_slice(&[192, 0, 2, 1]);
        bytes[16..20].copy_from_slice(&[192, 0, 2, 2]);
        bytes[24..].copy_from_slice(&[1, 2, 3, 4, 5, 6]);
        bytes
    }

    #[test]
    fn ipv4_header_is_taken_off_with_its_options_and_padding() {
        let bytes = ipv4(24, 28);
        let packet = unwrap_ipv4(&bytes).unwrap();
        assert_eq!(packet.payload, [1, 2, 3, 4]);
        assert_eq!(packet.tos, 0xff);
        assert_eq!(packet.local, IpAddr::from([192, 0, 2, 2]));
        assert_eq!(packet.remote, IpAddr::from([192, 0, 2, 1]));
        assert_eq!(unwrap_ipv4(&ipv4(20, 20)).unwrap().payload, []);
        assert_eq!(unwrap_ipv4(&ipv4(20, 30)).unwrap().payload.len(), 10);
    }

    #[test]
    fn bad_ipv4_header_is_no_packet() {
        assert!(unwrap_ipv4(&ipv4(16, 28)).is_none());
        assert!(unwrap_ipv4(&ipv4(24, 23)).is_none());
        assert!(unwrap_ipv4(&ipv4(20, 31)).is_none());
        assert!(unwrap_ipv4(&ipv4(20, 20)[..19]).is_none());
        let mut ipv6 = ipv4(20, 28);
        ipv6[0] = 0x65;
        assert!(unwrap_ipv4(&ipv6).is_none());
    }
}

//! Features of UDP sockets that only Linux has: choice of fragmentation, the error queue, overflow counts.

use std::io;
use std::net::UdpSocket;
use std::os::fd::AsFd;

use dccp_proto::path::{Encap, Path};
use quinn_udp::UdpSocketState;
use socket2::{SockFilter, SockRef};

use super::Udp;
use crate::buffer::RecvBuffer;
use crate::counters::{Counters, Wrapping};
use crate::icmp;
use crate::sys::sockopt;
use crate::transport::Options;
use crate::versions::Versions;
use dccp_proto::IcmpError;

/// 6773-3.3-1: drops a packet without UDP checksum, which the kernel takes over IPv4 (over IPv6 it
/// does not). The filter sees the UDP header first; a checksum that is not complete yet, as on the
/// loopback, is not 0 either.
///
/// Load the 16 bits at offset 6; if they are 0 go on, else skip one; drop; take all.
const WITHOUT_CHECKSUM: [SockFilter; 4] = [
    SockFilter::new(0x28, 0, 0, 6),
    SockFilter::new(0x15, 0, 1, 0),
    SockFilter::new(0x06, 0, 0, 0),
    SockFilter::new(0x06, 0, 0, u32::MAX),
];

/// Settings and counters of the socket.
#[derive(Debug)]
pub(super) struct State {
    may_fragment: bool,
    reports: icmp::Reports,
    overflow: Wrapping,
}

impl State {
    /// The state of a new socket.
    pub(super) fn new(of: Versions) -> Self {
        Self {
            may_fragment: false,
            reports: icmp::Reports::new(of),
            overflow: Wrapping::default(),
        }
    }

    /// The socket's options were set again: unfragmentable, and with reports of ICMP errors.
    pub(super) fn on_new_state(&mut self, socket: &UdpSocket) {
        self.may_fragment = false;
        self.reports.restore(socket.as_fd());
    }

    pub(super) fn reports_icmp(&self) -> bool {
        self.reports.is_on()
    }

    /// Switches reports of ICMP errors on or off; returns whether they were on.
    pub(super) fn report_icmp(
        &mut self,
        socket: &UdpSocket,
        on: bool,
        counters: &mut Counters,
    ) -> bool {
        self.reports.switch(socket.as_fd(), on, counters)
    }
}

impl Udp {
    /// 4340-14.2-1: only some packets are fragmentable.
    pub(super) fn allow_fragments(&mut self, may: bool) {
        if may != self.linux.may_fragment
            && sockopt::set_may_fragment(self.socket.as_fd(), self.versions, may).is_ok()
        {
            self.linux.may_fragment = may;
        }
    }

    pub(super) fn count_overflows(&mut self) {
        if let Ok(now) = sockopt::recv_drops(self.socket.as_fd()) {
            self.counters.recv_overflowed = Some(self.linux.overflow.advance_to(now));
        }
    }

    /// 6773-3.6-1: ICMP errors about our UDP packets go up to DCCP.
    pub(super) fn read_error_queue(
        &mut self,
        buffer: &mut RecvBuffer,
        sink: &mut dyn FnMut(IcmpError<'_>),
    ) -> io::Result<usize> {
        let bound = self.local;
        let icmp = &mut self.counters.icmp;
        icmp::read_queue(self.socket.as_fd(), buffer, |entry, quoted| {
            let path = Path {
                local: entry.local.unwrap_or(bound.ip()).to_canonical(),
                remote: entry.remote.ip().to_canonical(),
                encap: Encap::Udp {
                    local_port: bound.port(),
                    remote_port: entry.remote.port(),
                },
            };
            *icmp += 1;
            sink(IcmpError {
                path,
                quoted,
                kind: entry.kind,
            });
        })
    }
}

/// Sets what `quinn-udp` leaves to us.
pub(super) fn prepare(socket: &UdpSocket, state: &UdpSocketState) -> io::Result<()> {
    // So that the kernel tells local queue drops and ICMP errors.
    state.enable_transport_errors(socket.into())?;
    if Versions::of_socket(&SockRef::from(socket))?.has_v4() {
        SockRef::from(socket).attach_filter(&WITHOUT_CHECKSUM)?;
    }
    // quinn-udp 0.6.3 has 96 bytes for control messages. Timestamp, segment length and address
    // fill them: the ECN mark of merged datagrams would be cut off.
    sockopt::set_timestamps(socket.as_fd(), false)
}

/// The system may grant less: `buffer_sizes` tells.
pub(super) fn set_buffers(socket: &UdpSocket, options: &Options) -> io::Result<()> {
    sockopt::set_recv_buffer(socket.as_fd(), options.recv_buffer)?;
    match options.send_buffer {
        Some(bytes) => sockopt::set_send_buffer(socket.as_fd(), bytes),
        None => Ok(()),
    }
}

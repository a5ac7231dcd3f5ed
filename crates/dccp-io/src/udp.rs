//! DCCP in UDP (RFC 6773), by `quinn-udp`: segmentation offload both ways, ECN, local addresses.
//!
//! The kernel makes and checks the UDP checksum, and discards packets whose UDP length is wrong
//! (6773-3.3-3); what is too short for DCCP is the parser's. Over IPv4 it lets a sender do without
//! a checksum: on Linux a filter on the socket drops such packets (6773-3.3-1).

use std::io;
use std::net::{SocketAddr, UdpSocket as StdSocket};

use dccp_proto::IcmpError;
use dccp_proto::batch::Batch;
use dccp_proto::path::{Encap, Path};
use dccp_proto::wire::Ecn;
use quinn_udp::{EcnCodepoint, RecvMeta, Transmit, UdpSocketState};
use socket2::{Domain, Protocol, SockRef, Socket, Type};

#[cfg(not(target_os = "linux"))]
use mio::net::UdpSocket;
#[cfg(target_os = "linux")]
use std::net::UdpSocket;

use crate::buffer::{RecvBuffer, SLOTS};
use crate::counters::Counters;
use crate::error::OpenError;
use crate::route;
use crate::send::{after_failure, attempt, drop_reason};
use crate::transport::{BufferSizes, Datagrams, Options, Received, Sent, Source, Transport};
use crate::versions::Versions;

#[cfg(target_os = "linux")]
mod linux;
#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests;

/// A UDP socket of one address family that carries DCCP.
#[derive(Debug)]
pub struct Udp {
    socket: UdpSocket,
    state: UdpSocketState,
    local: SocketAddr,
    versions: Versions,
    /// 1 once the system refused segmentation offload.
    segments_max: usize,
    counters: Counters,
    #[cfg(target_os = "linux")]
    linux: linux::State,
}

impl Udp {
    /// Opens a socket on `local`; port 0 lets the system choose. An IPv6 socket serves IPv6 only:
    /// open one for each family.
    ///
    /// # Errors
    /// When the address is taken or not of this host, or the system refuses an option.
    pub fn bind(local: SocketAddr, options: &Options) -> Result<Self, OpenError> {
        let socket = new_socket(local)?;
        Self::bind_socket(socket, local, options)
    }

    /// As [`bind`](Self::bind), on an address and port that other such sockets of this user may share.
    pub(crate) fn bind_shared(local: SocketAddr, options: &Options) -> Result<Self, OpenError> {
        let socket = new_socket(local)?;
        #[cfg(unix)]
        socket.set_reuse_port(true)?;
        Self::bind_socket(socket, local, options)
    }

    fn bind_socket(
        socket: Socket,
        local: SocketAddr,
        options: &Options,
    ) -> Result<Self, OpenError> {
        if local.is_ipv6() {
            socket.set_only_v6(true)?;
        }
        socket.bind(&local.into())?;
        Self::set_up(socket.into(), options)
    }

    /// Takes over a socket that is bound already, for example by a service manager. Datagrams that wait there are
    /// received. An IPv6 socket may also serve IPv4.
    ///
    /// It becomes non-blocking and gets the options of DCCP. Duplicates of it share these.
    ///
    /// # Errors
    /// [`OpenError::Unfit`] when it is not a UDP socket that is bound to a port and not connected; others when the system
    /// refuses an option.
    pub fn adopt(socket: StdSocket, options: &Options) -> Result<Self, OpenError> {
        check(&SockRef::from(&socket))?;
        Self::set_up(socket, options)
    }

    fn set_up(socket: StdSocket, options: &Options) -> Result<Self, OpenError> {
        let versions = Versions::of_socket(&SockRef::from(&socket))?;
        #[cfg(not(target_os = "linux"))]
        let socket = UdpSocket::from_std(socket);
        let state = prepare(&socket)?;
        #[cfg(target_os = "linux")]
        linux::set_buffers(&socket, options)?;
        #[cfg(not(target_os = "linux"))]
        set_buffers(&socket, &state, options)?;
        Ok(Self {
            local: socket.local_addr()?,
            socket,
            versions,
            segments_max: state.max_gso_segments(),
            state,
            counters: Counters::default(),
            #[cfg(target_os = "linux")]
            linux: linux::State::new(versions),
        })
    }

    /// Hands one datagram, or several of `segment_len`, to the kernel.
    fn transmit(&mut self, to: (&Path, Ecn), segment_len: usize, bytes: &[u8]) -> io::Result<()> {
        let (path, ecn) = to;
        let Encap::Udp { remote_port, .. } = path.encap else {
            return Err(io::ErrorKind::AddrNotAvailable.into());
        };
        let transmit = Transmit {
            destination: SocketAddr::new(self.versions.form(path.remote), remote_port),
            // 6773-3.5-1: the mark is that of the outer IP header.
            ecn: EcnCodepoint::from_bits(ecn as u8),
            contents: bytes,
            segment_size: Some(segment_len),
            src_ip: self.local.ip().is_unspecified().then_some(path.local),
        };
        self.counters.send_calls += 1;
        let result = self.attempt(|socket, state| state.try_send(socket.into(), &transmit));
        if result.as_ref().is_err_and(is_offload_error) {
            self.renew_state();
        }
        result
    }

    /// Runs a call that errors about earlier datagrams may hide.
    fn attempt<T>(
        &mut self,
        mut call: impl FnMut(&UdpSocket, &UdpSocketState) -> io::Result<T>,
    ) -> io::Result<T> {
        let (socket, state) = (&self.socket, &self.state);
        let call = || ready_io(socket, || call(socket, state));
        #[cfg(target_os = "linux")]
        return attempt(call, |on| {
            self.linux.report_icmp(socket, on, &mut self.counters)
        });
        #[cfg(not(target_os = "linux"))]
        return attempt(call, |_| false);
    }

    /// After an offload error quinn-udp sets no ECN marks any more. A new state does, if the system grants one.
    fn renew_state(&mut self) {
        if let Ok(state) = prepare(&self.socket) {
            self.state = state;
            #[cfg(target_os = "linux")]
            self.linux.on_new_state(&self.socket);
        }
    }

    fn on_received(&mut self, meta: &RecvMeta, bytes: &[u8], sink: &mut dyn FnMut(Received<'_>)) {
        let path = Path {
            local: meta.dst_ip.unwrap_or(self.local.ip()).to_canonical(),
            remote: meta.addr.ip().to_canonical(),
            encap: Encap::Udp {
                local_port: self.local.port(),
                remote_port: meta.addr.port(),
            },
        };
        // 6773-3.5-1
        let ecn = Ecn::from_bits(meta.ecn.map_or(0, |e| e as u8));
        let datagrams = Datagrams::merged(&bytes[..meta.len], meta.stride);
        self.counters.received += datagrams.clone().count() as u64;
        self.counters.recv_merged += u64::from(meta.len > meta.stride);
        sink(Received {
            path,
            ecn,
            datagrams,
            timestamp: meta.timestamp,
        });
    }
}

/// Whether a socket of the application can carry DCCP.
fn check(socket: &Socket) -> Result<(), OpenError> {
    let is_udp = socket.r#type()? == Type::DGRAM;
    #[cfg(target_os = "linux")]
    let is_udp = is_udp && socket.protocol()? == Some(Protocol::UDP);
    if !is_udp {
        return Err(OpenError::Unfit("must be a UDP socket"));
    }
    let local = socket.local_addr()?.as_socket();
    if local.is_none_or(|local| local.port() == 0) {
        return Err(OpenError::Unfit("must be bound to a port"));
    }
    if socket.peer_addr().is_ok() {
        return Err(OpenError::Unfit("must not be connected"));
    }
    Ok(())
}

fn new_socket(local: SocketAddr) -> io::Result<Socket> {
    Socket::new(Domain::for_address(local), Type::DGRAM, Some(Protocol::UDP))
}

impl Transport for Udp {
    fn send(&mut self, batch: &Batch, from: usize) -> Sent {
        let mut sent = Sent::from(from);
        let Some((&path, ecn)) = batch.destination() else {
            return sent;
        };
        #[cfg(target_os = "linux")]
        self.allow_fragments(batch.may_fragment());
        let len = batch.segment_len();
        // An empty last datagram would vanish, and the kernel cannot cut and fragment at a time.
        let mut merge = batch.bytes().len() > (batch.len() - 1) * len && !batch.may_fragment();
        let mut suspects_offload = false;
        while sent.next < batch.len() {
            let n = if merge { self.segments_max } else { 1 };
            let n = n.min(batch.len() - sent.next);
            let start = sent.next * len;
            let end = (start + n * len).min(batch.bytes().len());
            match self.transmit((&path, ecn), len, &batch.bytes()[start..end]) {
                Ok(()) => {
                    if suspects_offload {
                        self.segments_max = 1;
                        self.counters.gso_refused = true;
                    }
                    suspects_offload = false;
                    sent.accept(&mut self.counters, n);
                }
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => {
                    self.counters.send_blocked += 1;
                    return sent;
                }
                // Kernels also say so when the datagrams are too big. Sent alone they tell which.
                Err(e) if n > 1 && (is_offload_error(&e) || quinn_udp::is_msg_size_err(&e)) => {
                    merge = false;
                    suspects_offload = is_offload_error(&e);
                }
                Err(e) => {
                    suspects_offload = false;
                    let reason = drop_reason(&e, || route::to(path.remote).ok()?.mtu);
                    sent.refuse(&mut self.counters, n, reason);
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
        let mut metas = [RecvMeta::default(); SLOTS];
        let mut slots = buffer.slices();
        let result =
            self.attempt(|socket, state| state.recv(socket.into(), &mut slots, &mut metas));
        let n = match result {
            Ok(n) => n,
            Err(e) => return after_failure(e),
        };
        self.counters.recv_calls += 1;
        for (slot, meta) in metas.iter().enumerate().take(n) {
            self.on_received(meta, buffer.slot(slot), sink);
        }
        Ok(true)
    }

    #[cfg(target_os = "linux")]
    fn recv_errors(
        &mut self,
        buffer: &mut RecvBuffer,
        sink: &mut dyn FnMut(IcmpError<'_>),
    ) -> io::Result<usize> {
        self.read_error_queue(buffer, sink)
    }

    #[cfg(not(target_os = "linux"))]
    fn recv_errors(
        &mut self,
        _: &mut RecvBuffer,
        _: &mut dyn FnMut(IcmpError<'_>),
    ) -> io::Result<usize> {
        Ok(0)
    }

    #[cfg(target_os = "linux")]
    fn reports_icmp(&self) -> bool {
        self.linux.reports_icmp()
    }

    #[cfg(not(target_os = "linux"))]
    fn reports_icmp(&self) -> bool {
        true
    }

    #[cfg(target_os = "linux")]
    fn report_icmp(&mut self, on: bool) {
        self.linux.report_icmp(&self.socket, on, &mut self.counters);
    }

    #[cfg(not(target_os = "linux"))]
    fn report_icmp(&mut self, _: bool) {}

    fn counters(&mut self) -> Counters {
        #[cfg(target_os = "linux")]
        self.count_overflows();
        self.counters
    }

    fn local_addr(&self) -> SocketAddr {
        self.local
    }

    fn segments_max(&self) -> usize {
        self.segments_max
    }

    fn buffer_sizes(&self) -> io::Result<BufferSizes> {
        let socket = SockRef::from(&self.socket);
        Ok(BufferSizes {
            recv: socket.recv_buffer_size()?,
            send: socket.send_buffer_size()?,
        })
    }

    fn reads_ecn(&self) -> bool {
        // 6773-3.5-1, 4340-12.1-3: the systems for which `quinn-udp` asks for the mark.
        !cfg!(any(
            target_os = "openbsd",
            target_os = "netbsd",
            target_os = "dragonfly",
            target_os = "solaris",
            target_os = "illumos"
        ))
    }

    #[cfg(target_os = "linux")]
    fn source(&mut self) -> Source<'_> {
        std::os::fd::AsFd::as_fd(&self.socket)
    }

    #[cfg(not(target_os = "linux"))]
    fn source(&mut self) -> Source<'_> {
        &mut self.socket
    }
}

/// Sets all options that the socket needs.
fn prepare(socket: &UdpSocket) -> io::Result<UdpSocketState> {
    let state = UdpSocketState::new(socket.into())?;
    #[cfg(target_os = "linux")]
    linux::prepare(socket, &state)?;
    Ok(state)
}

/// Asks for buffers; the system may grant less.
#[cfg(not(target_os = "linux"))]
fn set_buffers(socket: &UdpSocket, state: &UdpSocketState, options: &Options) -> io::Result<()> {
    state.set_recv_buffer_size(socket.into(), options.recv_buffer)?;
    match options.send_buffer {
        Some(bytes) => state.set_send_buffer_size(socket.into(), bytes),
        None => Ok(()),
    }
}

/// How Linux says that a device cannot cut a batch, among other things.
fn is_offload_error(e: &io::Error) -> bool {
    #[cfg(target_os = "linux")]
    return matches!(e.raw_os_error(), Some(libc::EIO | libc::EINVAL));
    #[cfg(not(target_os = "linux"))]
    return e.kind() == io::ErrorKind::InvalidInput;
}

/// Runs a call that can block; some systems' pollers have to know when it would.
#[cfg(target_os = "linux")]
fn ready_io<T>(_: &UdpSocket, call: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
    call()
}

/// Runs a call that can block; some systems' pollers have to know when it would.
#[cfg(not(target_os = "linux"))]
fn ready_io<T>(socket: &UdpSocket, call: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
    socket.try_io(call)
}

//! Plain UDP, the system's own limit. A system call sends one datagram, a batch (sendmmsg), or a batch that the
//! kernel or the card cuts (GSO).

use crate::report::{Meter, Report, say_ready};
use crate::sizes::Sizes;
use anyhow::{Context, Result, ensure};
use clap::{Args, ValueEnum};
use dccp::{Instant, clock};
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::socket::{MsgFlags, MultiHeaders, SockaddrStorage, sendmmsg, setsockopt, sockopt};
use quinn_udp::{BATCH_SIZE, RecvMeta, Transmit, UdpSocketState};
use std::io::{self, IoSlice, IoSliceMut};
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::{AsFd, AsRawFd};
use std::time::Duration;

#[derive(Args)]
pub(crate) struct SinkArgs {
    local: SocketAddr,
}

#[derive(Args)]
pub(crate) struct SendArgs {
    remote: SocketAddr,
    #[arg(long, value_enum)]
    mode: Mode,
    /// Bytes of a datagram, as 1400 or 64-1400
    #[arg(long, default_value = "1400")]
    size: Sizes,
    /// Seconds
    #[arg(long, default_value_t = 3.0)]
    time: f64,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Mode {
    Send,
    Sendmmsg,
    Gso,
}

/// Datagrams of one call.
pub(crate) const BATCH: usize = 64;
/// Most bytes of one GSO call.
const GSO_BYTES_MAX: usize = 65_000;
/// The receive buffer in bytes, the same as our engine's.
const RECV_BUFFER: usize = 4 << 20;
/// The silence after which a sink that has received packets is done.
pub(crate) const SILENCE: Duration = Duration::from_millis(500);
/// The longest wait for a sink's first packet.
pub(crate) const PATIENCE: Duration = Duration::from_mins(1);

pub(crate) fn sink(args: &SinkArgs) -> Result<Report> {
    let socket = UdpSocket::bind(args.local).context("cannot bind")?;
    let state = UdpSocketState::new((&socket).into())?;
    enlarge_recv_buffer(&socket)?;
    say_ready();
    let mut memory = vec![0; BATCH_SIZE * (1 << 16)];
    let mut metas = [RecvMeta::default(); BATCH_SIZE];
    let mut meter = Meter::default();
    loop {
        let mut chunks = memory.chunks_mut(1 << 16);
        let mut slices: [_; BATCH_SIZE] =
            std::array::from_fn(|_| IoSliceMut::new(chunks.next().unwrap_or_default()));
        match state.recv((&socket).into(), &mut slices, &mut metas) {
            Ok(n) => {
                for meta in &metas[..n] {
                    meter.add(
                        meta.len.div_ceil(meta.stride.max(1)) as u64,
                        meta.len as u64,
                    );
                }
            }
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => {
                if !wait(&socket, PollFlags::POLLIN, patience(&meter))? {
                    return meter.report();
                }
            }
            Err(e) => return Err(e.into()),
        }
    }
}

/// How long a sink waits for the next packet.
pub(crate) fn patience(meter: &Meter) -> Duration {
    if meter.has_begun() { SILENCE } else { PATIENCE }
}

/// As much room for what waits to be read as our own engine asks for, whatever the system's limit.
pub(crate) fn enlarge_recv_buffer(socket: &impl AsFd) -> Result<()> {
    setsockopt(socket, sockopt::RcvBufForce, &RECV_BUFFER)
        .or_else(|_| setsockopt(socket, sockopt::RcvBuf, &RECV_BUFFER))
        .context("SO_RCVBUF")
}

/// Waits until the socket is ready; whether it is in time.
pub(crate) fn wait(socket: &impl AsFd, flags: PollFlags, at_most: Duration) -> Result<bool> {
    let timeout = PollTimeout::try_from(at_most)?;
    let mut sockets = [PollFd::new(socket.as_fd(), flags)];
    Ok(poll(&mut sockets, timeout)? > 0)
}

pub(crate) fn send(args: &SendArgs) -> Result<Report> {
    let local: SocketAddr = if args.remote.is_ipv4() {
        "0.0.0.0:0".parse()?
    } else {
        "[::]:0".parse()?
    };
    let socket = UdpSocket::bind(local)?;
    let end = clock::now() + Duration::from_secs_f64(args.time);
    match args.mode {
        Mode::Send => send_each(&socket, args, end),
        Mode::Sendmmsg => {
            socket.connect(args.remote)?;
            blast(&socket, args.size, end)
        }
        Mode::Gso => send_gso(&socket, args, end),
    }
}

fn send_each(socket: &UdpSocket, args: &SendArgs, end: Instant) -> Result<Report> {
    let payload = vec![7; args.size.most];
    let sizes: [usize; BATCH] = args.size.batch();
    let bytes = sizes.iter().sum::<usize>() as u64;
    let mut meter = Meter::default();
    socket.connect(args.remote)?;
    while clock::now() < end {
        for size in sizes {
            socket.send(&payload[..size])?;
        }
        meter.add(BATCH as u64, bytes);
    }
    meter.report()
}

/// Sends on a connected socket in batches by sendmmsg until the end.
pub(crate) fn blast(socket: &impl AsRawFd, size: Sizes, end: Instant) -> Result<Report> {
    let payload = vec![7; size.most];
    let sizes: [usize; BATCH] = size.batch();
    let slices = sizes.map(|size| [IoSlice::new(&payload[..size])]);
    let nowhere = [None::<SockaddrStorage>; BATCH];
    let mut headers = MultiHeaders::preallocate(BATCH, None);
    let mut meter = Meter::default();
    while clock::now() < end {
        let sent = sendmmsg(
            socket.as_raw_fd(),
            &mut headers,
            &slices,
            nowhere,
            [],
            MsgFlags::empty(),
        );
        match sent {
            Ok(sent) => {
                let n = sent.count();
                meter.add(n as u64, sizes[..n].iter().sum::<usize>() as u64);
            }
            // A queue of this host is full: what there is will leave.
            Err(Errno::ENOBUFS) => {}
            Err(e) => return Err(e.into()),
        }
    }
    meter.report()
}

fn send_gso(socket: &UdpSocket, args: &SendArgs, end: Instant) -> Result<Report> {
    ensure!(args.size.is_one(), "GSO cuts into pieces of one size");
    let size = args.size.most;
    let state = UdpSocketState::new(socket.into())?;
    let segments = state
        .max_gso_segments()
        .min(GSO_BYTES_MAX / size.max(1))
        .max(1);
    let contents = vec![7; segments * size];
    let transmit = Transmit {
        destination: args.remote,
        ecn: None,
        contents: &contents,
        segment_size: Some(size),
        src_ip: None,
    };
    let mut meter = Meter::default();
    while clock::now() < end {
        match state.try_send(socket.into(), &transmit) {
            Ok(()) => meter.add(segments as u64, contents.len() as u64),
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => {
                wait(socket, PollFlags::POLLOUT, SILENCE)?;
            }
            Err(e) => return Err(e.into()),
        }
    }
    meter.report()
}

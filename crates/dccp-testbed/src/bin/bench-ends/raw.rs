//! A raw socket's limit: IP packets of a protocol for experiments (RFC 3692), by sendmmsg.

use crate::report::{Meter, Report, say_ready};
use crate::sizes::Sizes;
use crate::udp::{BATCH, blast, enlarge_recv_buffer, patience, wait};
use anyhow::{Context, Result};
use clap::Args;
use dccp::clock;
use nix::errno::Errno;
use nix::poll::PollFlags;
use nix::sys::socket::{MsgFlags, MultiHeaders, SockaddrIn, recvmmsg};
use socket2::{Domain, Protocol, Socket, Type};
use std::io::IoSliceMut;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::os::fd::AsRawFd;
use std::time::Duration;

/// Reserved for experiments (RFC 3692).
const PROTOCOL: i32 = 253;
const IP_HEADER_LEN: usize = 20;

#[derive(Args)]
pub(crate) struct SinkArgs {
    local: Ipv4Addr,
}

#[derive(Args)]
pub(crate) struct SendArgs {
    remote: Ipv4Addr,
    /// Bytes behind the IP header, as 1416 or 80-1416
    #[arg(long, default_value = "1416")]
    size: Sizes,
    /// Seconds
    #[arg(long, default_value_t = 3.0)]
    time: f64,
}

fn open() -> Result<Socket> {
    Socket::new(Domain::IPV4, Type::RAW, Some(Protocol::from(PROTOCOL)))
        .context("a raw socket needs root")
}

pub(crate) fn sink(args: &SinkArgs) -> Result<Report> {
    let socket = open()?;
    socket.bind(&SocketAddrV4::new(args.local, 0).into())?;
    enlarge_recv_buffer(&socket)?;
    say_ready();
    let mut memory = vec![0; BATCH * (1 << 14)];
    let mut headers = MultiHeaders::<SockaddrIn>::preallocate(BATCH, None);
    let mut meter = Meter::default();
    loop {
        let mut slices: Vec<_> = memory
            .chunks_mut(1 << 14)
            .map(|chunk| [IoSliceMut::new(chunk)])
            .collect();
        let flags = MsgFlags::MSG_DONTWAIT;
        match recvmmsg(
            socket.as_raw_fd(),
            &mut headers,
            slices.iter_mut(),
            flags,
            None,
        ) {
            Ok(received) => {
                for packet in received {
                    meter.add(1, packet.bytes.saturating_sub(IP_HEADER_LEN) as u64);
                }
            }
            Err(Errno::EAGAIN) => {
                if !wait(&socket, PollFlags::POLLIN, patience(&meter))? {
                    return meter.report();
                }
            }
            Err(e) => return Err(e.into()),
        }
    }
}

pub(crate) fn send(args: &SendArgs) -> Result<Report> {
    let socket = open()?;
    socket.connect(&SocketAddrV4::new(args.remote, 0).into())?;
    let end = clock::now() + Duration::from_secs_f64(args.time);
    blast(&socket, args.size, end)
}

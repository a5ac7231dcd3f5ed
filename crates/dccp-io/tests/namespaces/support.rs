//! Namespaces, and datagrams to send in them.

use core::time::Duration;
use std::net::{IpAddr, SocketAddr};
use std::process::Command;
use std::sync::Arc;

pub(crate) use dccp_dev::rerun::is_inside;
use dccp_io::{Host, Options, Poller, Raw, Received, RecvBuffer, Token, Transport, Udp};
use dccp_proto::batch::Batch;
use dccp_proto::path::{Encap, Path};
use dccp_proto::wire::Ecn;

pub(crate) const PATIENCE: Duration = Duration::from_secs(10);

/// Runs a shell command in this namespace.
pub(crate) fn sh(command: &str) {
    let status = Command::new("sh").args(["-ec", command]).status();
    assert!(status.expect("sh runs").success(), "{command}");
}

/// A way to `remote` over UDP and over IP, each with a transport on `local`.
pub(crate) fn both(
    local: IpAddr,
    remote: IpAddr,
    options: &Options,
) -> [(Box<dyn Transport>, Path); 2] {
    let udp = Udp::bind(SocketAddr::new(local, 0), options).unwrap();
    let encap = Encap::Udp {
        local_port: udp.local_addr().port(),
        remote_port: 7,
    };
    let raw = raw(local, &Host::join().unwrap(), options);
    let path = |encap| Path {
        local,
        remote,
        encap,
    };
    [(Box::new(udp), path(encap)), (raw, path(Encap::Ip))]
}

/// A raw socket.
pub(crate) fn raw(local: IpAddr, host: &Arc<Host>, options: &Options) -> Box<dyn Transport> {
    Box::new(Raw::open(local, Arc::clone(host), options).unwrap())
}

/// Datagrams of the given lengths to a DCCP port, each of one byte value that tells its place.
pub(crate) fn batch(path: &Path, ecn: Ecn, port: u16, lens: &[usize]) -> Batch {
    fragmentable_batch(path, ecn, port, lens, false)
}

/// The same, fragmentable or not.
pub(crate) fn fragmentable_batch(
    path: &Path,
    ecn: Ecn,
    port: u16,
    lens: &[usize],
    may_fragment: bool,
) -> Batch {
    let mut batch = Batch::new(64);
    for (value, &len) in (1..).zip(lens) {
        assert!(may_fragment || batch.room_for(ecn, len) > 0);
        let datagram = datagram(port, value, len);
        batch.push_built(path, ecn, may_fragment, 0, |b| {
            b.extend(datagram);
            true
        });
    }
    batch
}

/// Source port, destination port, and then one byte value. Where the checksum belongs there is that
/// value too: it is wrong, but only the core checks it.
pub(crate) fn datagram(port: u16, value: u8, len: usize) -> Vec<u8> {
    let mut bytes = vec![value; len];
    bytes[2..4].copy_from_slice(&port.to_be_bytes());
    bytes
}

/// Receives until there are `n` datagrams or no more arrive.
pub(crate) fn receive<T>(
    transport: &mut dyn Transport,
    n: usize,
    mut take: impl FnMut(&Received<'_>, &[u8]) -> T,
) -> Vec<T> {
    let mut poller = Poller::new(Duration::ZERO).unwrap();
    poller.add(transport.source(), Token(0)).unwrap();
    let mut buffer = RecvBuffer::new();
    let (mut got, mut ready) = (Vec::new(), Vec::new());
    while got.len() < n {
        poller.wait(Some(PATIENCE), &mut ready).unwrap();
        if ready.is_empty() {
            break;
        }
        let mut sink = |r: Received<'_>| {
            got.extend(r.datagrams.clone().map(|d| take(&r, d.bytes)));
        };
        while transport.recv(&mut buffer, &mut sink).unwrap() {}
    }
    got
}

/// The Internet checksum (RFC 1071) of bytes whose checksum field is 0.
pub(crate) fn internet_sum(bytes: &[u8]) -> u16 {
    let words = bytes.chunks(2).map(|w| [w[0], *w.get(1).unwrap_or(&0)]);
    let sum: u64 = words.map(|w| u64::from(u16::from_be_bytes(w))).sum();
    let once = (sum & 0xffff) + (sum >> 16);
    !u16::try_from((once & 0xffff) + (once >> 16)).unwrap()
}

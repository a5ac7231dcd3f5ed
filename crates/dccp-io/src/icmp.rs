//! ICMP errors from a socket's error queue.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::BorrowedFd;

use crate::buffer::RecvBuffer;
use crate::counters::Counters;
use crate::sys::error_queue::{self, Entry};
use crate::sys::sockopt;
use crate::versions::Versions;
use dccp_proto::IcmpKind;

/// Entries read at a time: a flood of ICMP must not keep the thread from its work.
const ENTRIES_MAX: usize = 64;

const ICMP_UNREACHABLE: u8 = 3;
const ICMP_FRAGMENTATION_NEEDED: u8 = 4;
const ICMPV6_TOO_BIG: u8 = 2;

/// The switch of a socket's reports of ICMP errors.
#[derive(Debug)]
pub(crate) struct Reports {
    of: Versions,
    is_on: bool,
}

impl Reports {
    /// The switch of a new socket, which reports.
    pub(crate) fn new(of: Versions) -> Self {
        Self { of, is_on: true }
    }

    pub(crate) fn is_on(&self) -> bool {
        self.is_on
    }

    /// Switches reports on or off; returns whether they were on. Where the system refuses they stay as they are.
    pub(crate) fn switch(&mut self, fd: BorrowedFd<'_>, on: bool, counters: &mut Counters) -> bool {
        let was_on = self.is_on;
        if on != was_on && sockopt::set_icmp_reports(fd, self.of, on).is_ok() {
            self.is_on = on;
            counters.icmp_pauses += u64::from(!on);
        }
        was_on
    }

    /// Puts the switch of the socket where it was, after the socket's options were set again.
    pub(crate) fn restore(&self, fd: BorrowedFd<'_>) {
        if !self.is_on {
            // If the system refuses, the next flood switches again.
            let _ = sockopt::set_icmp_reports(fd, self.of, false);
        }
    }
}

/// An ICMP error about one of our packets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Report {
    /// Where the packet went.
    pub(crate) remote: SocketAddr,
    /// Where it came from.
    pub(crate) local: Option<IpAddr>,
    pub(crate) kind: IcmpKind,
}

/// Reads the queue and gives what came by ICMP to `sink`, with the quoted payload. Returns how many
/// entries there were: errors of our own host are among them, which the failed call told already.
pub(crate) fn read_queue(
    fd: BorrowedFd<'_>,
    buffer: &mut RecvBuffer,
    mut sink: impl FnMut(Report, &[u8]),
) -> io::Result<usize> {
    for entries in 0..ENTRIES_MAX {
        let payload = buffer.first_mut();
        let Some(entry) = error_queue::recv(fd, payload)? else {
            return Ok(entries);
        };
        if let Some(report) = report(&entry) {
            sink(report, &payload[..entry.len]);
        }
    }
    Ok(ENTRIES_MAX)
}

fn report(entry: &Entry) -> Option<Report> {
    let error = entry.error?;
    let unreachable = IcmpKind::Unreachable {
        kind: error.kind,
        code: error.code,
    };
    let mtu = usize::try_from(error.info).unwrap_or(usize::MAX);
    let too_big = IcmpKind::TooBig { mtu };
    let kind = match (error.origin, error.kind, error.code) {
        (libc::SO_EE_ORIGIN_ICMP, ICMP_UNREACHABLE, ICMP_FRAGMENTATION_NEEDED)
        | (libc::SO_EE_ORIGIN_ICMP6, ICMPV6_TOO_BIG, _) => too_big,
        (libc::SO_EE_ORIGIN_ICMP | libc::SO_EE_ORIGIN_ICMP6, ..) => unreachable,
        _ => return None,
    };
    Some(Report {
        remote: entry.remote?,
        local: entry.local,
        kind,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::cmsg::Extended;

    fn kind_of(origin: u8, kind: u8, code: u8) -> Option<IcmpKind> {
        let entry = Entry {
            error: Some(Extended {
                origin,
                kind,
                code,
                info: 1280,
            }),
            remote: Some(([192, 0, 2, 1], 9).into()),
            local: None,
            len: 0,
        };
        report(&entry).map(|r| r.kind)
    }

    #[test]
    fn errors_are_sorted_by_type_and_code() {
        let (v4, v6) = (libc::SO_EE_ORIGIN_ICMP, libc::SO_EE_ORIGIN_ICMP6);
        let unreachable = |kind, code| Some(IcmpKind::Unreachable { kind, code });
        // 4340-14.1-2
        assert_eq!(kind_of(v4, 3, 4), Some(IcmpKind::TooBig { mtu: 1280 }));
        assert_eq!(kind_of(v6, 2, 0), Some(IcmpKind::TooBig { mtu: 1280 }));
        assert_eq!(kind_of(v4, 3, 3), unreachable(3, 3));
        assert_eq!(kind_of(v4, 11, 0), unreachable(11, 0));
        assert_eq!(kind_of(v6, 1, 4), unreachable(1, 4));
        assert_eq!(kind_of(v6, 4, 1), unreachable(4, 1));
        assert_eq!(kind_of(libc::SO_EE_ORIGIN_LOCAL, 0, 0), None);
    }
}

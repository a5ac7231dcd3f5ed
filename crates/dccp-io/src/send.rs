//! Handling of the results of send calls, for both transports.

use std::io;

use crate::counters::Counters;
use crate::transport::{LocalDrop, LocalDropReason, Sent};

/// A pending error of the socket hides the next call; this many are passed over at a time.
pub(crate) const PENDING_ERRORS_MAX: usize = 2;

#[cfg(target_os = "linux")]
const NO_BUFFERS: i32 = libc::ENOBUFS;
#[cfg(windows)]
const NO_BUFFERS: i32 = 10055; // WSAENOBUFS
#[cfg(not(any(target_os = "linux", windows)))]
const NO_BUFFERS: i32 = 55; // ENOBUFS of the BSDs and macOS

impl Sent {
    /// Nothing handled yet.
    pub(crate) fn from(next: usize) -> Self {
        Self {
            next,
            dropped: None,
        }
    }

    /// The kernel took `n` datagrams.
    pub(crate) fn accept(&mut self, counters: &mut Counters, n: usize) {
        self.next += n;
        counters.sent += n as u64;
        counters.send_batches += u64::from(n > 1);
    }

    /// The host refused `n` datagrams.
    pub(crate) fn refuse(&mut self, counters: &mut Counters, n: usize, reason: LocalDropReason) {
        match reason {
            LocalDropReason::QueueFull => counters.dropped_queue_full += n as u64,
            LocalDropReason::TooBig { .. } => counters.dropped_too_big += n as u64,
            _ => counters.dropped_other += n as u64,
        }
        let before = self
            .dropped
            .map_or((self.next, 0), |d| (d.first, d.datagrams));
        self.dropped = Some(LocalDrop {
            first: before.0,
            datagrams: before.1 + n,
            reason,
        });
        self.next += n;
    }
}

/// Whether an error can be what ICMP said about an earlier datagram, maybe of another peer: the
/// kernel answers the next call with it, and that call did nothing.
pub(crate) fn can_be_pending(e: &io::Error) -> bool {
    use io::ErrorKind as K;
    quinn_udp::is_msg_size_err(e)
        || matches!(
            e.kind(),
            K::ConnectionRefused
                | K::ConnectionReset
                | K::HostUnreachable
                | K::NetworkUnreachable
                | K::PermissionDenied
        )
        || is_icmp_only(e)
}

/// Errors that only ICMP causes and that have no portable kind.
#[cfg(target_os = "linux")]
fn is_icmp_only(e: &io::Error) -> bool {
    matches!(
        e.raw_os_error(),
        Some(libc::EPROTO | libc::ENOPROTOOPT | libc::EHOSTDOWN | libc::ENONET | libc::EOPNOTSUPP)
    )
}

#[cfg(not(target_os = "linux"))]
fn is_icmp_only(_: &io::Error) -> bool {
    false
}

/// Calls `call` again while it answers with errors about earlier datagrams.
pub(crate) fn past_pending<T>(mut call: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    for _ in 0..PENDING_ERRORS_MAX {
        match call() {
            Err(e) if can_be_pending(&e) || e.kind() == io::ErrorKind::Interrupted => {}
            done => return done,
        }
    }
    call()
}

/// Whether a queue of the host was full.
pub(crate) fn is_queue_full(e: &io::Error) -> bool {
    e.raw_os_error() == Some(NO_BUFFERS)
}

/// Sorts the error of a refused datagram.
pub(crate) fn drop_reason(e: &io::Error, mtu: impl FnOnce() -> Option<u32>) -> LocalDropReason {
    use io::ErrorKind as K;
    if quinn_udp::is_msg_size_err(e) {
        return LocalDropReason::TooBig { mtu: mtu() };
    }
    if is_queue_full(e) {
        return LocalDropReason::QueueFull;
    }
    match e.kind() {
        K::HostUnreachable | K::NetworkUnreachable | K::NetworkDown | K::AddrNotAvailable => {
            LocalDropReason::Unreachable
        }
        K::PermissionDenied => LocalDropReason::NotPermitted,
        _ => LocalDropReason::Other(e.raw_os_error().unwrap_or(0)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drops_of_one_batch_are_summed_and_counted_by_reason() {
        let mut counters = Counters::default();
        let mut sent = Sent::from(2);
        sent.accept(&mut counters, 3);
        sent.refuse(&mut counters, 1, LocalDropReason::QueueFull);
        sent.accept(&mut counters, 1);
        let too_big = LocalDropReason::TooBig { mtu: Some(1400) };
        sent.refuse(&mut counters, 2, too_big);
        let dropped = LocalDrop {
            first: 5,
            datagrams: 3,
            reason: too_big,
        };
        assert_eq!(sent.next, 9);
        assert_eq!(sent.dropped, Some(dropped));
        assert_eq!((counters.sent, counters.send_batches), (4, 1));
        assert_eq!(counters.dropped_queue_full, 1);
        assert_eq!(counters.dropped_too_big, 2);
        assert_eq!(counters.dropped(), 3);
    }

    #[test]
    fn errors_of_earlier_datagrams_are_passed_over() {
        let refused = || io::Error::from(io::ErrorKind::ConnectionRefused);
        let mut answers = vec![Ok(7), Err(refused()), Err(refused())];
        assert_eq!(past_pending(|| answers.pop().unwrap()).unwrap(), 7);
        // One more is taken for the call's own error.
        let mut answers = vec![Ok(7), Err(refused()), Err(refused()), Err(refused())];
        assert!(past_pending(|| answers.pop().unwrap()).is_err());
        assert_eq!(answers.len(), 1);
        let mut answers = vec![Ok(7), Err(io::Error::from_raw_os_error(NO_BUFFERS))];
        assert!(past_pending(|| answers.pop().unwrap()).is_err());
        assert_eq!(answers.len(), 1);
    }

    #[test]
    fn refusals_are_sorted_by_cause() {
        let reason = |e: io::Error| drop_reason(&e, || Some(1500));
        let full = io::Error::from_raw_os_error(NO_BUFFERS);
        assert_eq!(reason(full), LocalDropReason::QueueFull);
        let kind = |k: io::ErrorKind| reason(k.into());
        assert_eq!(
            kind(io::ErrorKind::NetworkUnreachable),
            LocalDropReason::Unreachable
        );
        assert_eq!(
            kind(io::ErrorKind::PermissionDenied),
            LocalDropReason::NotPermitted
        );
        assert_eq!(
            reason(io::Error::from_raw_os_error(9)),
            LocalDropReason::Other(9)
        );
    }
}

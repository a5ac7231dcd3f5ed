//! Handling of the results of send calls, for both transports.

use std::io;

use crate::counters::Counters;
use crate::transport::{LocalDrop, LocalDropReason, Sent};

/// Calls that errors about earlier datagrams may hide before the socket stops reporting such errors.
const HIDDEN_MAX: usize = 4;
/// Calls after that: one error may be left from before.
const LAST_CALLS: usize = 2;

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

/// Whether another receive call may find something, after one that failed.
pub(crate) fn after_failure(e: io::Error) -> io::Result<bool> {
    match e.kind() {
        io::ErrorKind::WouldBlock => Ok(false),
        // On a socket without a peer of its own these are never about the receive call, and hide what waits.
        _ if is_passing(&e) => Ok(true),
        _ => Err(e),
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

/// Whether a call with this error did nothing and can succeed at once.
pub(crate) fn is_passing(e: &io::Error) -> bool {
    e.kind() == io::ErrorKind::Interrupted || can_be_pending(e)
}

/// Calls `call` until no error about an earlier datagram hides its result.
///
/// 4340-18-10: a flood of ICMP messages makes such errors faster than calls can pass them over. Then `report_icmp(false)`
/// makes the socket ignore ICMP; it returns whether the socket reported it until then. An error that remains is the call's
/// own, so reports go on. Otherwise the transport's user switches them on again later.
pub(crate) fn attempt<T>(
    mut call: impl FnMut() -> io::Result<T>,
    mut report_icmp: impl FnMut(bool) -> bool,
) -> io::Result<T> {
    for n in 1..=HIDDEN_MAX {
        match call() {
            // The datagram itself is too large, or messages about others say so each time: then one datagram more is lost.
            Err(e) if n == HIDDEN_MAX && quinn_udp::is_msg_size_err(&e) => return Err(e),
            Err(e) if is_passing(&e) => {}
            done => return done,
        }
    }
    let did_report = report_icmp(false);
    let mut result = call();
    for _ in 1..LAST_CALLS {
        if !result.as_ref().is_err_and(is_passing) {
            break;
        }
        result = call();
    }
    if did_report && result.as_ref().is_err_and(is_passing) {
        report_icmp(true);
    }
    result
}

/// Whether a queue of the host was full.
pub(crate) fn is_queue_full(e: &io::Error) -> bool {
    e.raw_os_error() == Some(NO_BUFFERS)
}

/// Whether a call failed because the host lacks memory. The socket is whole, and works again when there is some.
pub fn is_out_of_memory(e: &io::Error) -> bool {
    e.kind() == io::ErrorKind::OutOfMemory || is_queue_full(e)
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
    fn few_errors_of_earlier_datagrams_are_passed_over() {
        let refused = || io::Error::from(io::ErrorKind::ConnectionRefused);
        let reports_stay = |_| panic!("there is no flood");
        let mut answers = vec![Ok(7), Err(refused()), Err(refused()), Err(refused())];
        assert_eq!(attempt(|| answers.pop().unwrap(), reports_stay).unwrap(), 7);
        let mut answers = vec![Ok(7), Err(io::Error::from_raw_os_error(NO_BUFFERS))];
        assert!(attempt(|| answers.pop().unwrap(), reports_stay).is_err());
        assert_eq!(answers.len(), 1);
    }

    /// Runs a call that fails while the socket reports ICMP, and once more; gives the result and the switch's positions.
    fn flooded(after: io::Result<u32>) -> (io::Result<u32>, Vec<bool>) {
        let is_reporting = core::cell::Cell::new(true);
        let mut positions = Vec::new();
        let mut left = 1;
        let mut after = Some(after);
        let result = attempt(
            || {
                if is_reporting.get() || core::mem::take(&mut left) > 0 {
                    return Err(io::ErrorKind::HostUnreachable.into());
                }
                after.take().unwrap()
            },
            |on| {
                positions.push(on);
                is_reporting.replace(on)
            },
        );
        (result, positions)
    }

    /// 4340-18-10
    #[test]
    fn flood_of_errors_switches_reports_off_and_hides_no_call() {
        let (result, positions) = flooded(Ok(7));
        assert_eq!(result.unwrap(), 7);
        assert_eq!(positions, [false], "the user switches reports on again");
        let (result, positions) = flooded(Err(io::ErrorKind::WouldBlock.into()));
        assert_eq!(result.unwrap_err().kind(), io::ErrorKind::WouldBlock);
        assert_eq!(positions, [false]);
    }

    #[test]
    fn error_that_stays_without_reports_is_the_calls_own() {
        let (result, positions) = flooded(Err(io::ErrorKind::NetworkUnreachable.into()));
        assert_eq!(
            result.unwrap_err().kind(),
            io::ErrorKind::NetworkUnreachable
        );
        assert_eq!(positions, [false, true]);
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

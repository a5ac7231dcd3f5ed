//! Error numbers of the kernel's DCCP: what a program sees of the end of a connection, or of a call that failed.

use dccp::{BindError, CloseReason, ConnectError, OpenError, ResetCode};
use dccp_ring_ipc::{RingConnectError, RingError};
use std::io;

/// The error number of a connection that ended; 0: an ordinary end. As `dccp_reset_code_convert` in Linux 6.1.
pub(super) fn of_end(reason: &CloseReason) -> i32 {
    match reason {
        CloseReason::Local | CloseReason::Peer => 0,
        CloseReason::Reset { code, .. } => of_reset(*code),
        CloseReason::Aborted(_) => libc::ECONNRESET,
        CloseReason::TimedOut => libc::ETIMEDOUT,
        CloseReason::Unreachable { kind, code } => of_icmp(*kind, *code),
    }
}

/// The error number of a handshake that ended; never 0.
pub(super) fn of_handshake(reason: &CloseReason) -> i32 {
    match of_end(reason) {
        // An ordinary end is none of a handshake.
        0 => libc::ECONNRESET,
        error => error,
    }
}

fn of_reset(code: ResetCode) -> i32 {
    match code {
        ResetCode::ABORTED => libc::ECONNRESET,
        ResetCode::NO_CONNECTION | ResetCode::CONNECTION_REFUSED => libc::ECONNREFUSED,
        ResetCode::PACKET_ERROR => libc::ENOMSG,
        ResetCode::OPTION_ERROR => libc::EILSEQ,
        ResetCode::MANDATORY_ERROR => libc::EOPNOTSUPP,
        ResetCode::BAD_SERVICE_CODE => libc::EBADRQC,
        ResetCode::TOO_BUSY => libc::EUSERS,
        ResetCode::BAD_INIT_COOKIE => libc::EBADR,
        ResetCode::AGGRESSION_PENALTY => libc::EDQUOT,
        _ => 0,
    }
}

/// ICMP type 3 of IPv4 and type 1 of IPv6, "destination unreachable". A closed UDP port is a host without DCCP listeners.
fn of_icmp(kind: u8, code: u8) -> i32 {
    match (kind, code) {
        (3, 3) | (1, 4) => libc::ECONNREFUSED,
        (3, 0 | 6) | (1, 0) => libc::ENETUNREACH,
        (3, 2) => libc::ENOPROTOOPT,
        (1, 1) => libc::EACCES,
        _ => libc::EHOSTUNREACH,
    }
}

/// The error number of a handshake that could not begin.
pub(super) fn of_connect(error: ConnectError) -> i32 {
    match error {
        ConnectError::Option(_) | ConnectError::LinkLocal { .. } | ConnectError::Address(_) => {
            libc::EINVAL
        }
        ConnectError::NoAddress | ConnectError::PathTooNarrow { .. } => libc::EHOSTUNREACH,
        ConnectError::NoRoom | ConnectError::HeldOff { .. } => libc::EADDRNOTAVAIL,
        ConnectError::Refused { .. } => libc::ECONNREFUSED,
        ConnectError::BadServiceCode { .. } => libc::EBADRQC,
        ConnectError::TooBusy { .. } => libc::EUSERS,
        ConnectError::NoAnswer { .. } => libc::ETIMEDOUT,
        ConnectError::Unreachable { kind, code, .. } => of_icmp(kind, code),
        ConnectError::Ended { reason, .. } => of_end(&reason),
        ConnectError::Open(error) => of_open(&error),
        ConnectError::Io(error) => of_io(&error),
        _ => libc::ENETDOWN,
    }
}

/// The error number of a listener that could not begin.
pub(super) fn of_bind(error: &BindError) -> i32 {
    match error {
        BindError::Option(_) | BindError::Address(_) => libc::EINVAL,
        BindError::NoAddress => libc::EADDRNOTAVAIL,
        BindError::ReservedUdpPort | BindError::InUse { .. } => libc::EADDRINUSE,
        BindError::Open(error) => of_open(error),
        BindError::Io(error) => of_io(error),
        _ => libc::ENETDOWN,
    }
}

/// The error number of a connection or a listener that the daemon did not open.
pub(super) fn of_ring_connect(error: &RingConnectError) -> i32 {
    match error {
        // Its policy, or an address that another program has: the daemon gives its reason as text.
        RingConnectError::Refused(_) => libc::EACCES,
        RingConnectError::Ended(reason) => of_handshake(reason),
        RingConnectError::NoAnswer | RingConnectError::TimedOut => libc::ETIMEDOUT,
        RingConnectError::Ring(_) => libc::ENOBUFS,
        RingConnectError::System(error) => of_io(error),
        // There is no daemon, or none that this program understands.
        _ => libc::ENETDOWN,
    }
}

/// The end of a daemon's connection: its error number, 0 for an ordinary end. `Ok`: it has not ended.
pub(super) fn of_ring(error: &RingError) -> Result<(), i32> {
    match error {
        RingError::TimedOut => Ok(()),
        RingError::Closed(reason) => Err(of_end(reason)),
        // The daemon has ended, or broken the rules of the ring.
        _ => Err(libc::ECONNRESET),
    }
}

/// The error number of a system call.
pub(super) fn of_io(error: &io::Error) -> i32 {
    error.raw_os_error().unwrap_or(libc::ENETDOWN)
}

fn of_open(error: &OpenError) -> i32 {
    match error {
        OpenError::NeedsCapability => libc::EPERM,
        OpenError::KernelDccp | OpenError::InUse(_) => libc::EADDRINUSE,
        OpenError::IpUnsupported => libc::EPROTONOSUPPORT,
        OpenError::Io(error) => of_io(error),
        _ => libc::EINVAL,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resets_have_the_kernels_error_numbers() {
        let of = |code| {
            of_end(&CloseReason::Reset {
                code,
                data: [0; 3],
                text: String::new(),
            })
        };
        assert_eq!(of(ResetCode::CLOSED), 0);
        assert_eq!(of(ResetCode::BAD_SERVICE_CODE), libc::EBADRQC);
        assert_eq!(of(ResetCode::CONNECTION_REFUSED), libc::ECONNREFUSED);
        assert_eq!(of(ResetCode::NO_CONNECTION), libc::ECONNREFUSED);
        assert_eq!(of(ResetCode::ABORTED), libc::ECONNRESET);
        assert_eq!(of(ResetCode::TOO_BUSY), libc::EUSERS);
    }
}

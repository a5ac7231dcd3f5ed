//! Errors: numbers, texts, faults.

#![expect(unsafe_code, reason = "functions with names that C can call")]

use crate::last;
use core::ffi::{CStr, c_char, c_int};
use dccp::Fault;

/// An argument cannot be used: a null pointer, a length, a number out of its range.
pub const DCCP_ERR_INVALID: c_int = -10001;
/// An option has a value that is not allowed, or that does not go with another option.
pub const DCCP_ERR_OPTION: c_int = -10002;
/// The text is no address, the name is unknown, or it has no address of the wanted family.
pub const DCCP_ERR_ADDRESS: c_int = -10003;
/// The call would have to wait, and the socket or listener is non-blocking.
pub const DCCP_ERR_AGAIN: c_int = -10004;
/// The time limit of the call is over.
pub const DCCP_ERR_TIMED_OUT: c_int = -10005;
/// The datagram is longer than dccp_max_packet_size() allows.
pub const DCCP_ERR_TOO_BIG: c_int = -10006;
/// This end is shut down in that direction.
pub const DCCP_ERR_SHUT_DOWN: c_int = -10007;
/// The connection or the listener has ended. dccp_close_reason() states the reason.
pub const DCCP_ERR_CLOSED: c_int = -10008;
/// The peer's application does not read any more (RFC 4340 §11.7, Drop Code 1).
pub const DCCP_ERR_PEER_NOT_LISTENING: c_int = -10009;
/// The peer's host refused the DCCP port (RFC 4340 §5.6, Reset 7 or 3).
pub const DCCP_ERR_REFUSED: c_int = -10010;
/// A program listens on the port, but not for this Service Code (RFC 4340 §5.6, Reset 8).
pub const DCCP_ERR_BAD_SERVICE_CODE: c_int = -10011;
/// The peer has too many connections (RFC 4340 §5.6, Reset 9).
pub const DCCP_ERR_TOO_BUSY: c_int = -10012;
/// The network cannot reach the peer, or its path carries only very small packets.
pub const DCCP_ERR_UNREACHABLE: c_int = -10013;
/// The peer did not answer the handshake in time.
pub const DCCP_ERR_NO_ANSWER: c_int = -10014;
/// A circuit breaker of CCID 248 delays new connections to this peer.
pub const DCCP_ERR_HELD_OFF: c_int = -10015;
/// The address or the port is taken or reserved.
pub const DCCP_ERR_IN_USE: c_int = -10016;
/// No DCCP port is free, or the connection table is full.
pub const DCCP_ERR_NO_ROOM: c_int = -10017;
/// The engine's thread does not run in this process. After fork(), a child must open new sockets.
pub const DCCP_ERR_ENGINE_GONE: c_int = -10018;
/// A call of the operating system failed.
pub const DCCP_ERR_SYSTEM: c_int = -10019;
/// The library has a defect. Its text is on standard error.
pub const DCCP_ERR_INTERNAL: c_int = -10020;

/// No program lends rings at this path, or this program may not connect to it.
pub const DCCP_ERR_NO_SERVER: c_int = -10021;
/// The program that lends rings does not permit the request.
pub const DCCP_ERR_NOT_PERMITTED: c_int = -10022;
/// The program that lent the ring has ended.
pub const DCCP_ERR_SERVER_GONE: c_int = -10023;
/// The memory of the ring has values that its rules forbid. The connection is lost.
pub const DCCP_ERR_RING_BROKEN: c_int = -10024;

/// Result of dccp_last_fault(): no party has to act, because the call may only be repeated later.
pub const DCCP_FAULT_NONE: c_int = 0;
/// Result of dccp_last_fault(): the program has to change its call.
pub const DCCP_FAULT_CALLER: c_int = 1;
/// Result of dccp_last_fault(): the peer or the network caused the error.
pub const DCCP_FAULT_PEER: c_int = 2;
/// Result of dccp_last_fault(): this computer caused the error.
pub const DCCP_FAULT_SYSTEM: c_int = 3;

/// Errors with their texts.
pub(crate) const TEXTS: [(c_int, &CStr); 24] = [
    (DCCP_ERR_INVALID, c"an argument is not allowed"),
    (DCCP_ERR_OPTION, c"an option is not allowed"),
    (DCCP_ERR_ADDRESS, c"the address cannot be used"),
    (DCCP_ERR_AGAIN, c"the call would have to wait"),
    (DCCP_ERR_TIMED_OUT, c"the time limit is over"),
    (DCCP_ERR_TOO_BIG, c"the datagram does not fit in one packet"),
    (DCCP_ERR_SHUT_DOWN, c"this end is shut down"),
    (DCCP_ERR_CLOSED, c"the connection is over"),
    (
        DCCP_ERR_PEER_NOT_LISTENING,
        c"the peer's application does not read any more",
    ),
    (DCCP_ERR_REFUSED, c"the peer refused the DCCP port"),
    (
        DCCP_ERR_BAD_SERVICE_CODE,
        c"the peer does not serve this Service Code",
    ),
    (DCCP_ERR_TOO_BUSY, c"the peer is too busy"),
    (DCCP_ERR_UNREACHABLE, c"the peer cannot be reached"),
    (DCCP_ERR_NO_ANSWER, c"the peer does not answer"),
    (
        DCCP_ERR_HELD_OFF,
        c"a circuit breaker delays connections to this peer",
    ),
    (DCCP_ERR_IN_USE, c"the address or port is taken"),
    (
        DCCP_ERR_NO_ROOM,
        c"no DCCP port is free, or there are too many connections",
    ),
    (
        DCCP_ERR_ENGINE_GONE,
        c"the engine does not run in this process",
    ),
    (DCCP_ERR_SYSTEM, c"the operating system failed"),
    (DCCP_ERR_INTERNAL, c"the library has a defect"),
    (DCCP_ERR_NO_SERVER, c"no program lends rings at this path"),
    (
        DCCP_ERR_NOT_PERMITTED,
        c"the program that lends rings refused the request",
    ),
    (
        DCCP_ERR_SERVER_GONE,
        c"the program that lent the ring has ended",
    ),
    (DCCP_ERR_RING_BROKEN, c"the memory of the ring is corrupt"),
];

/// Returns the text of an error number, such as "the peer does not answer". The text is static. Never returns NULL:
/// other numbers have a text too.
#[unsafe(no_mangle)]
pub extern "C" fn dccp_strerror(error: c_int) -> *const c_char {
    let found = TEXTS.iter().find(|(code, _)| *code == error);
    let other = if error >= 0 {
        c"no error"
    } else {
        c"unknown error"
    };
    found.map_or(other, |(_, text)| *text).as_ptr()
}

/// Returns what happened in the last failed call of this thread, with values, such as "option mtu: must be from 296 to
/// 65535 bytes". The library owns the text. It is valid until the next failed call of this thread. Empty if no call has
/// failed.
#[unsafe(no_mangle)]
pub extern "C" fn dccp_last_detail() -> *const c_char {
    last::detail()
}

/// Returns the remedy for the last failed call of this thread in one line. The library owns the text. It is valid until
/// the next failed call of this thread. Empty if no call has failed.
#[unsafe(no_mangle)]
pub extern "C" fn dccp_next_step() -> *const c_char {
    last::next_step()
}

/// Returns the party that can mend the last failed call of this thread: one of DCCP_FAULT_NONE, DCCP_FAULT_CALLER,
/// DCCP_FAULT_PEER and DCCP_FAULT_SYSTEM.
#[unsafe(no_mangle)]
pub extern "C" fn dccp_last_fault() -> c_int {
    match last::fault() {
        None => DCCP_FAULT_NONE,
        Some(Fault::Caller) => DCCP_FAULT_CALLER,
        Some(Fault::Peer) => DCCP_FAULT_PEER,
        Some(_) => DCCP_FAULT_SYSTEM,
    }
}

//! Fates of sent datagrams.

#![expect(unsafe_code, reason = "functions with names that C can call")]

use crate::cstring::c_text;
use crate::failure::value;
use crate::memory;
use crate::socket::SocketHandle;
use core::ffi::{CStr, c_char, c_int};
use dccp::{Fate, FateReport};
use std::ffi::CString;
use std::sync::OnceLock;

/// The datagram left, and the connection ended before a report on it came.
pub const DCCP_FATE_SENT: c_int = 0;
/// The peer received it.
pub const DCCP_FATE_ACKED: c_int = 1;
/// The peer received it with a congestion mark (RFC 4340 §12).
pub const DCCP_FATE_ACKED_CE: c_int = 2;
/// The network lost it.
pub const DCCP_FATE_LOST: c_int = 3;
/// The peer's host dropped it. The field `drop_code` is the reason (RFC 4340 §11.7).
pub const DCCP_FATE_RX_DROPPED: c_int = 4;
/// Its deadline came before it could leave.
pub const DCCP_FATE_EXPIRED: c_int = 5;
/// A newer datagram with the same key took its place.
pub const DCCP_FATE_SUPERSEDED: c_int = 6;
/// The program withdrew it, or the connection ended before it could leave.
pub const DCCP_FATE_WITHDRAWN: c_int = 7;
/// The send buffer dropped it to make room.
pub const DCCP_FATE_OVERFLOWED: c_int = 8;
/// The congestion control dropped it (CCID 248).
pub const DCCP_FATE_LIMITED: c_int = 9;
/// It exceeded the maximum packet size when it was due to leave.
pub const DCCP_FATE_TOO_BIG: c_int = 10;

/// The fate of one datagram. Times are those of dccp_now_ns().
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct CFate {
    /// The datagram's number.
    pub id: u64,
    /// The program's tag.
    pub tag: u64,
    /// When the program sent it.
    pub queued_ns: u64,
    /// When it left; 0 if it never did. The engine reads the clock once a turn, so this can be shortly before `queued_ns`.
    pub sent_ns: u64,
    /// When the fate became known.
    pub known_ns: u64,
    /// Its length in bytes.
    pub len: usize,
    /// One of DCCP_FATE_….
    pub fate: c_int,
    /// Drop Code of DCCP_FATE_RX_DROPPED, otherwise 0.
    pub drop_code: c_int,
}

impl CFate {
    fn of(report: &FateReport) -> Self {
        let drop_code = match report.fate {
            Fate::RxDropped(code) => code,
            _ => 0,
        };
        Self {
            id: report.id.0,
            tag: report.tag,
            queued_ns: report.queued.as_nanos(),
            sent_ns: report.sent.map_or(0, dccp::Instant::as_nanos),
            known_ns: report.told.as_nanos(),
            len: report.len,
            fate: report.fate.index().into(),
            drop_code: drop_code.into(),
        }
    }
}

/// Writes up to `count` known fates to `fates` without waiting, and forgets them. Returns their number, or a negative
/// error. Needs dccp_options_fate_buffer() or dccp_store_fates().
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dccp_fates(
    socket: *const SocketHandle,
    fates: *mut CFate,
    count: usize,
) -> i64 {
    value(|| {
        // SAFETY: the program passes null or a live socket.
        let handle = unsafe { memory::shared(socket, "socket") }?;
        // SAFETY: the program passes `count` structs.
        let room = unsafe { memory::elements_mut(fates, count, "fates") }?;
        let mut reports = Vec::new();
        handle.datagrams()?.recv_fates(&mut reports, room.len());
        for (fate, report) in room.iter_mut().zip(&reports) {
            *fate = CFate::of(report);
        }
        Ok(crate::text::count(reports.len()))
    })
}

/// Stores fates from now on, at least `at_least` at a time, as dccp_options_fate_buffer() does for a whole connection. The
/// peer is not asked for Ack Vectors: with CCIDs 3 and 4 most datagrams end as DCCP_FATE_SENT. Returns 0 or a negative
/// error.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dccp_store_fates(socket: *const SocketHandle, at_least: usize) -> c_int {
    value(|| {
        // SAFETY: the program passes null or a live socket.
        let handle = unsafe { memory::shared(socket, "socket") }?;
        handle.datagrams()?.store_fates(at_least);
        Ok(0)
    })
}

/// Returns the name of a fate for reports, such as "acked", or "unknown" for other numbers. The text is static.
#[unsafe(no_mangle)]
pub extern "C" fn dccp_fate_name(fate: c_int) -> *const c_char {
    static NAMES: OnceLock<Vec<CString>> = OnceLock::new();
    let names = NAMES.get_or_init(|| Fate::ALL.map(|fate| c_text(fate.name())).into());
    let name = usize::try_from(fate)
        .ok()
        .and_then(|index| names.get(index));
    name.map_or(c"unknown", |name: &CString| -> &CStr { name })
        .as_ptr()
}

//! Events of a connection.

#![expect(unsafe_code, reason = "functions with names that C can call")]

use crate::failure::{Failure, value};
use crate::memory::{self, Growing};
use crate::safeudp::CSafeUdp;
use crate::socket::SocketHandle;
use core::ffi::c_int;
use core::time::Duration;
use dccp::{CloseReason, Event, ListenerEvent, RateHint};

/// The handshake is done: data may flow.
pub const DCCP_EVENT_CONNECTED: c_int = 1;
/// The maximum packet size changed to `mps_bytes`.
pub const DCCP_EVENT_MPS: c_int = 2;
/// The peer asked to end the connection, or ended it.
pub const DCCP_EVENT_PEER_CLOSED: c_int = 3;
/// The peer's application no longer listens, so no data can be sent (RFC 4340 §11.7, Drop Code 1).
pub const DCCP_EVENT_PEER_NOT_LISTENING: c_int = 4;
/// The peer's application is slow (RFC 4340 §11.6).
pub const DCCP_EVENT_SLOW_RECEIVER: c_int = 5;
/// The network's rate changed: see `rate`. Only with dccp_options_rate_hints().
pub const DCCP_EVENT_RATE: c_int = 6;
/// The peer has been silent for `silent_us` although it must answer.
pub const DCCP_EVENT_SILENT: c_int = 7;
/// The network reports the peer as unreachable, with `icmp_type` and `icmp_code`. The connection goes on.
pub const DCCP_EVENT_UNREACHABLE: c_int = 8;
/// The socket of this host failed with `os_error`. The library opens a new one.
pub const DCCP_EVENT_SOCKET_LOST: c_int = 9;
/// A new socket at the same address carries the connection.
pub const DCCP_EVENT_SOCKET_RESTORED: c_int = 10;
/// The peer reported a packet as received that never left (RFC 4340 §12.3).
pub const DCCP_EVENT_MISREPORT: c_int = 11;
/// A notice of CCID 248: see `safe_udp`.
pub const DCCP_EVENT_SAFE_UDP: c_int = 12;
/// The connection is over, for `close_reason`. dccp_close_reason() has the text.
pub const DCCP_EVENT_CLOSED: c_int = 13;

/// A notice of CCID 248 at the receiver: `received_bits_per_s` arrive, less than 90 % of the `declared_bits_per_s` of the
/// sender. With `is_over` 1 the rate has come back to 95 %.
pub const DCCP_EVENT_SHORTFALL: c_int = 14;

/// This end closed, and the peer agreed.
pub const DCCP_CLOSED_LOCAL: c_int = 1;
/// The peer closed.
pub const DCCP_CLOSED_PEER: c_int = 2;
/// The peer sent a Reset with the code `reset_code` (RFC 4340 §5.6).
pub const DCCP_CLOSED_RESET: c_int = 3;
/// This end sent a Reset with the code `reset_code`.
pub const DCCP_CLOSED_ABORTED: c_int = 4;
/// The peer did not answer in time.
pub const DCCP_CLOSED_TIMED_OUT: c_int = 5;
/// The network cannot reach the peer, with `icmp_type` and `icmp_code`.
pub const DCCP_CLOSED_UNREACHABLE: c_int = 6;

/// The rate of the network, for encoders that adapt to it (docs/timely.md).
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct CRate {
    /// Bits of application data per second that congestion control allows, smoothed over half a second.
    pub bits_per_s: u64,
    /// Bits of application data per second that the peer reports as received; 0 before the first report.
    pub delivered_bits_per_s: u64,
    /// The time in microseconds that a datagram sent now waits before it leaves.
    pub wait_us: u64,
    /// 1 if the program sent less than it was allowed, so that only `delivered_bits_per_s` is proven; otherwise 0.
    pub is_app_limited: c_int,
    /// Always 0.
    pub reserved: c_int,
}

impl From<RateHint> for CRate {
    fn from(hint: RateHint) -> Self {
        Self {
            bits_per_s: hint.bits_per_s,
            delivered_bits_per_s: hint.delivered_bits_per_s.unwrap_or_default(),
            wait_us: us(hint.wait),
            is_app_limited: hint.is_app_limited.into(),
            reserved: 0,
        }
    }
}

/// A time in microseconds.
pub(crate) fn us(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

/// An event. Fields without a meaning for the type are 0. Set `size` to the size of the struct before the call.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct CEvent {
    /// The size of this struct in bytes. The call sets it to the number of bytes written.
    pub size: usize,
    /// The type: one of DCCP_EVENT_….
    pub event: c_int,
    /// One of DCCP_CLOSED_… (DCCP_EVENT_CLOSED).
    pub close_reason: c_int,
    /// Code of a Reset (RFC 4340 §5.6).
    pub reset_code: c_int,
    /// Type of an ICMP message.
    pub icmp_type: c_int,
    /// Code of an ICMP message.
    pub icmp_code: c_int,
    /// The system's error number (errno), 0 if there is none.
    pub os_error: c_int,
    /// Maximum packet size in bytes of application data.
    pub mps_bytes: usize,
    /// Time since the peer's last valid packet in microseconds.
    pub silent_us: u64,
    /// The network's rate.
    pub rate: CRate,
    /// The notice of CCID 248.
    pub safe_udp: CSafeUdp,
    /// The rate that the sender declared, in bits of application data per second (DCCP_EVENT_SHORTFALL).
    pub declared_bits_per_s: u64,
    /// The rate that arrived (DCCP_EVENT_SHORTFALL).
    pub received_bits_per_s: u64,
    /// 1 if the shortfall is over, otherwise 0 (DCCP_EVENT_SHORTFALL).
    pub is_over: c_int,
    /// Always 0.
    pub reserved: c_int,
}

// SAFETY: the struct begins with its size, and zeros are a value of each field.
unsafe impl Growing for CEvent {
    const FIRST_SIZE: usize = 128;
}

impl CEvent {
    /// That of a listener.
    pub(crate) fn of_listener(event: &ListenerEvent) -> Option<Self> {
        let mut out = Self {
            size: size_of::<Self>(),
            ..Self::default()
        };
        out.event = match event {
            ListenerEvent::SocketLost { error, .. } => {
                out.os_error = error.raw_os_error().unwrap_or_default();
                DCCP_EVENT_SOCKET_LOST
            }
            ListenerEvent::SocketRestored { .. } => DCCP_EVENT_SOCKET_RESTORED,
            _ => return None,
        };
        Some(out)
    }

    /// The event, if the header has its type.
    pub(crate) fn of(event: Event) -> Option<Self> {
        let mut out = Self {
            size: size_of::<Self>(),
            ..Self::default()
        };
        out.event = match event {
            Event::Connected => DCCP_EVENT_CONNECTED,
            Event::Mps(bytes) => {
                out.mps_bytes = bytes;
                DCCP_EVENT_MPS
            }
            Event::PeerClosed => DCCP_EVENT_PEER_CLOSED,
            Event::PeerNotListening => DCCP_EVENT_PEER_NOT_LISTENING,
            Event::SlowReceiver => DCCP_EVENT_SLOW_RECEIVER,
            Event::Rate(hint) => {
                out.rate = hint.into();
                DCCP_EVENT_RATE
            }
            Event::Silent { silent_for } => {
                out.silent_us = us(silent_for);
                DCCP_EVENT_SILENT
            }
            Event::Unreachable { kind, code } => {
                out.set_icmp(kind, code);
                DCCP_EVENT_UNREACHABLE
            }
            Event::SocketLost { os_error } => {
                out.os_error = os_error;
                DCCP_EVENT_SOCKET_LOST
            }
            Event::SocketRestored => DCCP_EVENT_SOCKET_RESTORED,
            Event::Misreport => DCCP_EVENT_MISREPORT,
            Event::SafeUdp(code) => {
                out.safe_udp = code.into();
                DCCP_EVENT_SAFE_UDP
            }
            Event::Shortfall(shortfall) => {
                out.declared_bits_per_s = shortfall.declared_bits_per_s;
                out.received_bits_per_s = shortfall.received_bits_per_s;
                out.is_over = shortfall.is_over.into();
                DCCP_EVENT_SHORTFALL
            }
            Event::Closed(reason) => {
                out.set_reason(&reason);
                DCCP_EVENT_CLOSED
            }
            _ => return None,
        };
        Some(out)
    }

    fn set_reason(&mut self, reason: &CloseReason) {
        self.close_reason = match reason {
            CloseReason::Local => DCCP_CLOSED_LOCAL,
            CloseReason::Peer => DCCP_CLOSED_PEER,
            CloseReason::Reset { code, .. } => {
                self.reset_code = code.0.into();
                DCCP_CLOSED_RESET
            }
            CloseReason::Aborted(code) => {
                self.reset_code = code.0.into();
                DCCP_CLOSED_ABORTED
            }
            CloseReason::TimedOut => DCCP_CLOSED_TIMED_OUT,
            CloseReason::Unreachable { kind, code } => {
                self.set_icmp(*kind, *code);
                DCCP_CLOSED_UNREACHABLE
            }
        };
    }

    fn set_icmp(&mut self, kind: u8, code: u8) {
        self.icmp_type = kind.into();
        self.icmp_code = code.into();
    }
}

/// Takes the next event and writes it to `*event`, without waiting. Returns 1, 0 if there is none, or a negative error.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dccp_poll_event(socket: *const SocketHandle, event: *mut CEvent) -> c_int {
    value(|| {
        // SAFETY: the program passes null or a live socket.
        let handle = unsafe { memory::shared(socket, "socket") }?;
        let socket = handle.socket()?;
        // SAFETY: the program passes null or a struct that begins with its size.
        unsafe { put_event(event, || socket.poll_event()) }
    })
}

/// Gives the program the next event whose type the header has. Returns 0 if there is none.
pub(crate) unsafe fn put_event(
    event: *mut CEvent,
    mut poll: impl FnMut() -> Option<Event>,
) -> Result<c_int, Failure> {
    // SAFETY: the caller has the same duty.
    unsafe { put(event, || poll().map(CEvent::of)) }
}

/// As [`put_event`]. `poll` returns `Some(None)` for an event that the header does not have.
pub(crate) unsafe fn put(
    event: *mut CEvent,
    mut poll: impl FnMut() -> Option<Option<CEvent>>,
) -> Result<c_int, Failure> {
    // SAFETY: the program passes null or a struct that begins with its size.
    unsafe { memory::check_growing(event, "event") }?;
    while let Some(found) = poll() {
        if let Some(found) = found {
            // SAFETY: as above.
            unsafe { memory::write_growing(event, &found, "event") }?;
            return Ok(1);
        }
    }
    Ok(0)
}

/// Writes the rate that the network takes now to `*rate`. Returns 1, 0 before the first round-trip time and after the end,
/// or a negative error. Asks the engine and waits for some microseconds.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dccp_rate_hint(socket: *const SocketHandle, rate: *mut CRate) -> c_int {
    value(|| {
        // SAFETY: the program passes null or a live socket.
        let handle = unsafe { memory::shared(socket, "socket") }?;
        let hint = handle.socket()?.rate_hint()?;
        // SAFETY: the program passes room for the struct.
        unsafe { memory::put(rate, hint.map_or_else(CRate::default, CRate::from), "rate") }?;
        Ok(hint.is_some().into())
    })
}

//! Reports of CCID 248 (SafeUDP).

#![expect(unsafe_code, reason = "functions with names that C can call")]

use crate::failure::value;
use crate::memory;
use crate::socket::SocketHandle;
use core::ffi::c_int;
use dccp::safeudp::{Info, SendCode, Side};

/// Nothing limits the sender.
pub const DCCP_SAFE_UDP_SENT: c_int = 0;
/// The congestion was transient. The datagram leaves.
pub const DCCP_SAFE_UDP_TRANSIENT: c_int = 1;
/// There is congestion, but the rate does not exceed what the profile allows. The datagram leaves.
pub const DCCP_SAFE_UDP_WITHIN_SHARE: c_int = 2;
/// The program has followed the advice. The datagram leaves.
pub const DCCP_SAFE_UDP_COMPLIED: c_int = 3;
/// The congestion is over, and nothing is limited any more.
pub const DCCP_SAFE_UDP_CLEARED: c_int = 4;
/// This host is the bottleneck, at the rate `bits_per_s`. The datagram leaves.
pub const DCCP_SAFE_UDP_HOST_SENDER: c_int = 5;
/// The peer's host is the bottleneck, at the rate `bits_per_s`. The datagram leaves.
pub const DCCP_SAFE_UDP_HOST_RECEIVER: c_int = 6;
/// The network is congested. From `time_ns` on, datagrams that exceed the advised rate `bits_per_s` are dropped.
pub const DCCP_SAFE_UDP_CONGESTION: c_int = 7;
/// The datagram leaves. Datagrams that exceed the enforced rate `bits_per_s` are dropped.
pub const DCCP_SAFE_UDP_LIMITED: c_int = 8;
/// The datagram was dropped, because the input exceeds the enforced rate `bits_per_s`.
pub const DCCP_SAFE_UDP_DROPPED: c_int = 9;
/// A circuit breaker is open: the connection ends, and none to this peer begins before `time_ns`.
pub const DCCP_SAFE_UDP_REFUSED: c_int = 10;
/// No application listens at the peer (RFC 4340 §11.7, Drop Code 1).
pub const DCCP_SAFE_UDP_NOT_LISTENING: c_int = 11;
/// The peer's protocol constraints forbid data for a round trip (RFC 4340 §11.7, Drop Code 0).
pub const DCCP_SAFE_UDP_BLOCKED: c_int = 12;

/// The result that a send has under CCID 248 (docs/safeudp.md). Fields without a meaning for the code are 0.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CSafeUdp {
    /// The advised or enforced rate, or that of the host, in bits of application data per second.
    pub bits_per_s: u64,
    /// The rate that TCP would have, in bits per second (DCCP_SAFE_UDP_CONGESTION).
    pub tfrc_bits_per_s: u64,
    /// Start of enforcement, or of new connections, as a time of dccp_now_ns().
    pub time_ns: u64,
    /// Datagrams dropped so far (DCCP_SAFE_UDP_DROPPED).
    pub dropped: u64,
    /// Packets lost or marked in the network per 10^9 packets (DCCP_SAFE_UDP_CONGESTION).
    pub loss_per_billion: u32,
    /// One of the codes from DCCP_SAFE_UDP_SENT to DCCP_SAFE_UDP_BLOCKED.
    pub code: c_int,
    /// The circuit breaker as the code of its Reset, from 128 to 132 (DCCP_SAFE_UDP_REFUSED).
    pub reset_code: c_int,
    /// 1 if a datagram that is sent now leaves, otherwise 0.
    pub is_sent: c_int,
}

impl From<SendCode> for CSafeUdp {
    fn from(code: SendCode) -> Self {
        let mut report = Self {
            is_sent: code.is_sent().into(),
            ..Self::default()
        };
        report.code = match code {
            SendCode::Info(Info::Transient) => DCCP_SAFE_UDP_TRANSIENT,
            SendCode::Info(Info::WithinShare) => DCCP_SAFE_UDP_WITHIN_SHARE,
            SendCode::Info(Info::Complied) => DCCP_SAFE_UDP_COMPLIED,
            SendCode::Info(_) => DCCP_SAFE_UDP_CLEARED,
            SendCode::HostWarning { host, bits_per_s } => {
                report.bits_per_s = bits_per_s;
                match host {
                    Side::Sender => DCCP_SAFE_UDP_HOST_SENDER,
                    Side::Receiver => DCCP_SAFE_UDP_HOST_RECEIVER,
                }
            }
            SendCode::Congestion {
                advised_bits_per_s,
                tfrc_bits_per_s,
                loss_per_billion,
                deadline,
            } => {
                report.bits_per_s = advised_bits_per_s;
                report.tfrc_bits_per_s = tfrc_bits_per_s;
                report.loss_per_billion = loss_per_billion;
                report.time_ns = deadline.as_nanos();
                DCCP_SAFE_UDP_CONGESTION
            }
            SendCode::Limited { bits_per_s } => {
                report.bits_per_s = bits_per_s;
                DCCP_SAFE_UDP_LIMITED
            }
            SendCode::Dropped {
                bits_per_s,
                dropped,
            } => {
                report.bits_per_s = bits_per_s;
                report.dropped = dropped;
                DCCP_SAFE_UDP_DROPPED
            }
            SendCode::Refused { cause, not_before } => {
                report.reset_code = cause.reset_code().0.into();
                report.time_ns = not_before.as_nanos();
                DCCP_SAFE_UDP_REFUSED
            }
            SendCode::NotListening => DCCP_SAFE_UDP_NOT_LISTENING,
            SendCode::Blocked => DCCP_SAFE_UDP_BLOCKED,
            _ => DCCP_SAFE_UDP_SENT,
        };
        report
    }
}

/// Writes the result that a send has under CCID 248 to `*report`, as of the engine's last turn. Call it after a send.
/// Returns 1, 0 with other CCIDs, or a negative error.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dccp_send_code(
    socket: *const SocketHandle,
    report: *mut CSafeUdp,
) -> c_int {
    value(|| {
        // SAFETY: the program passes null or a live socket.
        let handle = unsafe { memory::shared(socket, "socket") }?;
        let code = handle.socket()?.send_code();
        // SAFETY: the program passes room for the struct.
        unsafe {
            memory::put(
                report,
                code.map_or_else(CSafeUdp::default, CSafeUdp::from),
                "report",
            )
        }?;
        Ok(code.is_some().into())
    })
}

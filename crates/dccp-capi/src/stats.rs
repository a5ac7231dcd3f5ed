//! Counters and state of a connection.

#![expect(unsafe_code, reason = "functions with names that C can call")]

use crate::cstring::c_text;
use crate::events::us;
use crate::failure::status;
use crate::memory::{self, Growing};
use crate::socket::SocketHandle;
use core::ffi::{CStr, c_char, c_int};
use dccp::{ConnSnapshot, ConnState, Stats};
use std::ffi::CString;
use std::sync::OnceLock;

/// Counters of a connection, in datagrams unless the name says otherwise. `pushed` = `queued` + `in_flight` + all fates. Set
/// `size` to the size of the struct before the call.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct CCounters {
    /// The size of this struct in bytes. The call sets it to the number of bytes written.
    pub size: usize,
    /// Taken from the program.
    pub pushed: u64,
    /// Waiting in the send buffer.
    pub queued: u64,
    /// Left, fate still open.
    pub in_flight: u64,
    /// With the fate DCCP_FATE_SENT.
    pub sent: u64,
    /// With the fate DCCP_FATE_ACKED.
    pub acked: u64,
    /// With the fate DCCP_FATE_ACKED_CE.
    pub acked_ce: u64,
    /// With the fate DCCP_FATE_LOST.
    pub lost: u64,
    /// With the fate DCCP_FATE_RX_DROPPED.
    pub rx_dropped: u64,
    /// With the fate DCCP_FATE_EXPIRED.
    pub expired: u64,
    /// With the fate DCCP_FATE_SUPERSEDED.
    pub superseded: u64,
    /// With the fate DCCP_FATE_WITHDRAWN.
    pub withdrawn: u64,
    /// With the fate DCCP_FATE_OVERFLOWED.
    pub overflowed: u64,
    /// With the fate DCCP_FATE_LIMITED.
    pub limited: u64,
    /// With the fate DCCP_FATE_TOO_BIG.
    pub too_big: u64,
    /// Fates that were dropped because the program did not read them.
    pub fates_missed: u64,
    /// Received into the buffer.
    pub delivered: u64,
    /// Their bytes.
    pub delivered_bytes: u64,
    /// Received datagrams that the program took.
    pub taken: u64,
    /// Received, and dropped because the buffer was full.
    pub dropped_full: u64,
    /// Received, and dropped because a bound of the listener, the address or the process was reached.
    pub dropped_budget: u64,
    /// Received, and dropped because this end is shut down for reading.
    pub dropped_not_listening: u64,
    /// Bytes sent, DCCP headers included.
    pub bytes_out: u64,
    /// Bytes received, DCCP headers included.
    pub bytes_in: u64,
    /// Bytes of application data sent.
    pub data_bytes_out: u64,
    /// Bytes of application data received for the first time.
    pub data_bytes_in: u64,
    /// Packets received more than once.
    pub duplicates: u64,
    /// Packets received with a congestion mark.
    pub ce_received: u64,
    /// Datagrams taken for lost that the peer reported as received later.
    pub spurious_losses: u64,
    /// Retransmission or nofeedback timeouts of the sending CCID.
    pub timeouts: u64,
    /// Packets that this host did not send.
    pub host_drops: u64,
}

// SAFETY: the struct begins with its size, and zeros are a value of each field.
unsafe impl Growing for CCounters {
    const FIRST_SIZE: usize = 31 * 8;
}

impl CCounters {
    fn of(stats: &Stats) -> Self {
        let (sent, received) = (&stats.sent, &stats.received);
        let (fates, connection) = (&sent.fates, &stats.connection.counters);
        Self {
            size: size_of::<Self>(),
            pushed: sent.pushed,
            queued: sent.queued,
            in_flight: sent.in_flight,
            sent: fates.sent,
            acked: fates.acked,
            acked_ce: fates.acked_ce,
            lost: fates.lost,
            rx_dropped: fates.rx_dropped,
            expired: fates.expired,
            superseded: fates.superseded,
            withdrawn: fates.withdrawn,
            overflowed: fates.overflowed,
            limited: fates.limited,
            too_big: fates.too_big,
            fates_missed: sent.fates_missed,
            delivered: received.delivered,
            delivered_bytes: received.delivered_bytes,
            taken: received.taken,
            dropped_full: received.dropped_full,
            dropped_budget: received.dropped_budget,
            dropped_not_listening: received.dropped_not_listening,
            bytes_out: connection.bytes_out,
            bytes_in: connection.bytes_in,
            data_bytes_out: connection.data_bytes_out,
            data_bytes_in: connection.data_bytes_in,
            duplicates: connection.duplicates,
            ce_received: connection.ce_received,
            spurious_losses: connection.spurious_losses,
            timeouts: connection.cc_timeouts,
            host_drops: stats.host_drops.total(),
        }
    }
}

/// A connection at one time. Set `size` to the size of the struct before the call.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct CSnapshot {
    /// The size of this struct in bytes. The call sets it to the number of bytes written.
    pub size: usize,
    /// Smoothed round-trip time in microseconds; 0 before the first sample.
    pub rtt_us: u64,
    /// Retransmission or nofeedback timeout of the sending CCID in microseconds; 0 if unknown.
    pub rto_us: u64,
    /// When the peer's last valid packet arrived, as of dccp_now_ns().
    pub last_heard_ns: u64,
    /// Application data in flight in bytes.
    pub pipe_bytes: u64,
    /// Data packets in flight.
    pub pipe_packets: u64,
    /// Sequence Window of this end in packets (RFC 4340 §7.5.2).
    pub sequence_window: u64,
    /// The peer's Sequence Window in packets.
    pub peer_sequence_window: u64,
    /// Ack Ratio for the data of this end (RFC 4340 §11.3).
    pub ack_ratio: u64,
    /// Maximum packet size in bytes of application data.
    pub mps_bytes: u64,
    /// Path MTU in bytes.
    pub pmtu_bytes: u64,
    /// Congestion window in packets; 0 with CCIDs that have none.
    pub cwnd_packets: f64,
    /// Allowed sending rate, or pacing rate, in bits per second; 0 if unknown.
    pub rate_bits_per_s: f64,
    /// Loss event rate of the sending CCID, from 0 to 1 (RFC 5348 §5).
    pub loss_event_rate: f64,
    /// The state (RFC 4340 §8.4): a number for dccp_state_name().
    pub state: c_int,
    /// CCID for the data that this end sends.
    pub send_ccid: c_int,
    /// CCID for the data that the peer sends.
    pub recv_ccid: c_int,
    /// 1 if packets of this end are ECN-capable, otherwise 0.
    pub is_ecn: c_int,
}

// SAFETY: the struct begins with its size, and zeros are a value of each field.
unsafe impl Growing for CSnapshot {
    const FIRST_SIZE: usize = 14 * 8 + 4 * 4;
}

impl CSnapshot {
    fn of(found: &ConnSnapshot) -> Self {
        let state = ConnState::ALL.iter().position(|s| *s == found.state);
        Self {
            size: size_of::<Self>(),
            rtt_us: found.rtt.map_or(0, us),
            rto_us: found.tx.rto.map_or(0, us),
            last_heard_ns: found.last_heard.as_nanos(),
            pipe_bytes: found.pipe_bytes,
            pipe_packets: found.pipe_packets.into(),
            sequence_window: found.sequence_window,
            peer_sequence_window: found.peer_sequence_window,
            ack_ratio: found.ack_ratio,
            mps_bytes: found.mps as u64,
            pmtu_bytes: found.pmtu as u64,
            cwnd_packets: found.tx.cwnd_packets.unwrap_or_default(),
            rate_bits_per_s: found.tx.rate.map_or(0.0, dccp::Rate::bits_per_s),
            loss_event_rate: found.tx.loss_event_rate.unwrap_or_default(),
            state: state.and_then(|s| c_int::try_from(s).ok()).unwrap_or(-1),
            send_ccid: found.tx_ccid.into(),
            recv_ccid: found.rx_ccid.into(),
            is_ecn: found.is_ecn.into(),
        }
    }
}

/// Writes the counters of the connection to `*counters`: those of now, or of its end. Returns 0 or a negative error. Asks
/// the engine and waits for some microseconds: call it a few times per second, not per packet.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dccp_stats(
    socket: *const SocketHandle,
    counters: *mut CCounters,
) -> c_int {
    status(|| {
        // SAFETY: the program passes null or a live socket.
        let handle = unsafe { memory::shared(socket, "socket") }?;
        // SAFETY: the program passes null or a struct that begins with its size.
        unsafe { memory::check_growing(counters, "counters") }?;
        let found = CCounters::of(&handle.socket()?.stats()?);
        // SAFETY: as above.
        unsafe { memory::write_growing(counters, &found, "counters") }
    })
}

/// Writes the state of the connection to `*snapshot`: that of now, or of its end. Returns 0 or a negative error. Asks the
/// engine and waits for some microseconds: call it a few times per second, not per packet.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dccp_snapshot(
    socket: *const SocketHandle,
    snapshot: *mut CSnapshot,
) -> c_int {
    status(|| {
        // SAFETY: the program passes null or a live socket.
        let handle = unsafe { memory::shared(socket, "socket") }?;
        // SAFETY: the program passes null or a struct that begins with its size.
        unsafe { memory::check_growing(snapshot, "snapshot") }?;
        let found = CSnapshot::of(&handle.socket()?.snapshot()?);
        // SAFETY: as above.
        unsafe { memory::write_growing(snapshot, &found, "snapshot") }
    })
}

/// Returns the name of a state (RFC 4340 §8.4), such as "OPEN", or "unknown" for other numbers. The text is static.
#[unsafe(no_mangle)]
pub extern "C" fn dccp_state_name(state: c_int) -> *const c_char {
    static NAMES: OnceLock<Vec<CString>> = OnceLock::new();
    let names = NAMES.get_or_init(|| ConnState::ALL.map(|state| c_text(state.name())).into());
    let name = usize::try_from(state)
        .ok()
        .and_then(|index| names.get(index));
    name.map_or(c"unknown", |name: &CString| -> &CStr { name })
        .as_ptr()
}

//! Options of sockets and listeners.

#![expect(unsafe_code, reason = "functions with names that C can call")]

use crate::failure::{Failure, status};
use crate::memory;
use core::ffi::{c_char, c_int, c_void};
use core::net::SocketAddr;
use core::time::Duration;
use dccp::{Encapsulation, Options, WhenFull, safeudp};
use dccp_cli::law;

/// Settings of a socket, or of a listener and the sockets that it accepts. Make one with dccp_options_new() and free it
/// with dccp_options_free(). Calls that open a socket copy it. Only one thread at a time may change it.
///
/// Each setter returns 0, or DCCP_ERR_OPTION if the value is not allowed or does not go with the options set before. The
/// options then stay as they were, and dccp_last_detail() states the constraint.
#[derive(Clone, Debug, Default)]
pub struct OptionsHandle {
    pub(crate) options: Options,
    /// Connections carry messages instead of datagrams.
    pub(crate) has_messages: bool,
}

/// Value for dccp_options_encapsulation(): UDP (RFC 6773). It crosses NATs and needs no privilege.
pub const DCCP_ENCAPSULATION_UDP: c_int = 0;
/// Value for dccp_options_encapsulation(): IP protocol 33 (RFC 4340). It needs Linux and the capability CAP_NET_RAW.
pub const DCCP_ENCAPSULATION_IP: c_int = 1;

/// Policy for a full send buffer: that of the socket (only in dccp_send_options).
pub const DCCP_WHEN_FULL_DEFAULT: c_int = 0;
/// Policy for a full send buffer: a blocking call waits for room, a non-blocking one returns DCCP_ERR_AGAIN.
pub const DCCP_WHEN_FULL_WAIT: c_int = 1;
/// Policy for a full send buffer: the call returns DCCP_ERR_AGAIN.
pub const DCCP_WHEN_FULL_ERROR: c_int = 2;
/// Policy for a full send buffer: the datagram that has waited longest is dropped, with the fate DCCP_FATE_OVERFLOWED.
pub const DCCP_WHEN_FULL_DROP_OLDEST: c_int = 3;
/// Policy for a full send buffer: the oldest datagram of the lowest priority is dropped, with the fate
/// DCCP_FATE_OVERFLOWED. That is the new one if all others have a higher priority.
pub const DCCP_WHEN_FULL_DROP_LOWEST_PRIORITY: c_int = 4;

/// Profile of CCID 248: others share the network, so TCP's rate is the yardstick.
pub const DCCP_SAFE_UDP_SHARED: c_int = 0;
/// Profile of CCID 248: the network's operator has reserved the rate. Needs the capability CAP_NET_ADMIN.
pub const DCCP_SAFE_UDP_PROVISIONED: c_int = 1;

/// A time without limit, in microseconds.
pub const DCCP_FOREVER: u64 = u64::MAX;

/// A policy of the header; `None` for the socket's own.
///
/// # Errors
/// What is wrong with the number.
pub(crate) fn policy(number: c_int) -> Result<Option<WhenFull>, String> {
    Ok(match number {
        DCCP_WHEN_FULL_DEFAULT => None,
        DCCP_WHEN_FULL_WAIT => Some(WhenFull::Wait),
        DCCP_WHEN_FULL_ERROR => Some(WhenFull::Error),
        DCCP_WHEN_FULL_DROP_OLDEST => Some(WhenFull::DropOldest),
        DCCP_WHEN_FULL_DROP_LOWEST_PRIORITY => Some(WhenFull::DropLowestPriority),
        other => {
            return Err(format!(
                "when_full: {other}: must be one of DCCP_WHEN_FULL_…"
            ));
        }
    })
}

/// A time of the header.
pub(crate) fn time(us: u64) -> Duration {
    if us == DCCP_FOREVER {
        Duration::MAX
    } else {
        Duration::from_micros(us)
    }
}

/// Changes the options if the result is allowed.
pub(crate) unsafe fn set(
    options: *mut OptionsHandle,
    change: impl FnOnce(Options) -> Result<Options, Failure>,
) -> c_int {
    let change = |handle: OptionsHandle| {
        Ok(OptionsHandle {
            options: change(handle.options)?,
            ..handle
        })
    };
    // SAFETY: the caller has the same duty.
    unsafe { set_handle(options, change) }
}

/// As [`set`], for what the options of the crate `dccp` do not have.
pub(crate) unsafe fn set_handle(
    options: *mut OptionsHandle,
    change: impl FnOnce(OptionsHandle) -> Result<OptionsHandle, Failure>,
) -> c_int {
    status(|| {
        // SAFETY: the program passes null or options that no other thread uses.
        let handle = unsafe { memory::exclusive(options, "options") }?;
        let changed = change(handle.clone())?;
        changed.options.check()?;
        *handle = changed;
        Ok(())
    })
}

/// Returns options with the defaults: UDP, CCID 2 (or 3 if the peer prefers it), Service Code 0, blocking calls. Free them
/// with dccp_options_free().
#[unsafe(no_mangle)]
pub extern "C" fn dccp_options_new() -> *mut OptionsHandle {
    Box::into_raw(Box::default())
}

/// Frees options. NULL is allowed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dccp_options_free(options: *mut OptionsHandle) {
    // SAFETY: the program passes null or options that it frees once.
    unsafe { memory::free(options) }
}

/// Makes `ccid` the only CCID of both directions: 2, 3, 4 or 248 (RFC 4340 §10).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dccp_options_ccid(options: *mut OptionsHandle, ccid: u8) -> c_int {
    // SAFETY: the program passes null or live options.
    unsafe { set(options, |o| Ok(o.ccid(ccid))) }
}

/// Sets the CCIDs for the data that this end sends, preferred first. `count` is the number of CCIDs at `ccids`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dccp_options_send_ccids(
    options: *mut OptionsHandle,
    ccids: *const u8,
    count: usize,
) -> c_int {
    let change = |o: Options| {
        // SAFETY: the program passes `count` bytes.
        let ccids = unsafe { memory::elements(ccids, count, "ccids") }?;
        Ok(o.send_ccids(ccids))
    };
    // SAFETY: the program passes null or live options.
    unsafe { set(options, change) }
}

/// Sets the CCIDs for the data that the peer sends, preferred first. `count` is the number of CCIDs at `ccids`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dccp_options_recv_ccids(
    options: *mut OptionsHandle,
    ccids: *const u8,
    count: usize,
) -> c_int {
    let change = |o: Options| {
        // SAFETY: the program passes `count` bytes.
        let ccids = unsafe { memory::elements(ccids, count, "ccids") }?;
        Ok(o.recv_ccids(ccids))
    };
    // SAFETY: the program passes null or live options.
    unsafe { set(options, change) }
}

/// Chooses the law of CCID 2's window at this end by its name and settings: "reno" (the default), "cubic",
/// "scalable:lwnd=38", "cubic:beta=0.8,c=0.5" and others, as dccpmon and dccplab take them. docs/laws.md describes them. The
/// peer need not know the law. Fails with DCCP_ERR_OPTION if this end does not send with CCID 2.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dccp_options_law(
    options: *mut OptionsHandle,
    law: *const c_char,
) -> c_int {
    let change = |o: Options| {
        // SAFETY: the program passes null or a text.
        let text = unsafe { memory::text(law, "law") }?;
        let named = law::parse(text);
        let named = named.map_err(|e| Failure::option(format!("option law: {e}")))?;
        Ok(o.law(named.config))
    };
    // SAFETY: the program passes null or live options.
    unsafe { set(options, change) }
}

/// Adds a Service Code (RFC 5595), such as 0x56494445 for "VIDE". A client asks for one; a listener serves up to 32.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dccp_options_service_code(
    options: *mut OptionsHandle,
    code: u32,
) -> c_int {
    // SAFETY: the program passes null or live options.
    unsafe { set(options, |o| Ok(o.service_code(code.to_be_bytes()))) }
}

/// Chooses the protocol that carries DCCP: DCCP_ENCAPSULATION_UDP (the default) or DCCP_ENCAPSULATION_IP.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dccp_options_encapsulation(
    options: *mut OptionsHandle,
    encapsulation: c_int,
) -> c_int {
    // SAFETY: the program passes null or live options.
    unsafe {
        set(options, |o| {
            Ok(o.encapsulation(self::encapsulation(encapsulation)?))
        })
    }
}

/// An encapsulation of the header.
pub(crate) fn encapsulation(number: c_int) -> Result<Encapsulation, Failure> {
    match number {
        DCCP_ENCAPSULATION_UDP => Ok(Encapsulation::Udp),
        DCCP_ENCAPSULATION_IP => Ok(Encapsulation::Ip),
        other => Err(Failure::option(format!(
            "option encapsulation: {other}: must be one of DCCP_ENCAPSULATION_…"
        ))),
    }
}

/// Sets the local IP address and UDP port of a client as text, such as "192.0.2.1:0". The system chooses otherwise. Port
/// 0 stands for any that is free.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dccp_options_bind(
    options: *mut OptionsHandle,
    local: *const c_char,
) -> c_int {
    let change = |o: Options| {
        // SAFETY: the program passes null or a text.
        let local = unsafe { memory::text(local, "local") }?;
        let place: SocketAddr = local.parse().map_err(|_| {
            Failure::option(format!(
                "option bind: {local}: must be an IP address and a UDP port, as in 192.0.2.1:0"
            ))
        })?;
        Ok(o.bind(place))
    };
    // SAFETY: the program passes null or live options.
    unsafe { set(options, change) }
}

/// Makes calls return DCCP_ERR_AGAIN instead of waiting, and dccp_connect() return before the handshake ends. Calls with a
/// time limit of their own, and dccp_close(), still wait. Off by default.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dccp_options_nonblocking(options: *mut OptionsHandle, on: bool) -> c_int {
    // SAFETY: the program passes null or live options.
    unsafe { set(options, |o| Ok(o.nonblocking(on))) }
}

/// Sets the number of datagrams that may wait to be sent: from 1 to 1048576, 256 by default.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dccp_options_send_buffer(
    options: *mut OptionsHandle,
    packets: usize,
) -> c_int {
    // SAFETY: the program passes null or live options.
    unsafe { set(options, |o| Ok(o.send_buffer(packets))) }
}

/// Sets the bytes that may wait to be sent. A datagram fits while fewer bytes wait. No bound by default.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dccp_options_send_buffer_bytes(
    options: *mut OptionsHandle,
    bytes: u64,
) -> c_int {
    // SAFETY: the program passes null or live options.
    unsafe { set(options, |o| Ok(o.send_buffer_bytes(bytes))) }
}

/// Sets the number of received datagrams that may wait for the program: from 1 to 1048576, 1024 by default. Others are
/// dropped and reported to the peer (RFC 4340 §11.7, Drop Code 2).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dccp_options_recv_buffer(
    options: *mut OptionsHandle,
    packets: usize,
) -> c_int {
    // SAFETY: the program passes null or live options.
    unsafe { set(options, |o| Ok(o.recv_buffer(packets))) }
}

/// Sets the bytes of memory that waiting received datagrams may take: at least 65536, 4 MiB by default.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dccp_options_recv_buffer_bytes(
    options: *mut OptionsHandle,
    bytes: u64,
) -> c_int {
    // SAFETY: the program passes null or live options.
    unsafe { set(options, |o| Ok(o.recv_buffer_bytes(bytes))) }
}

/// Sets the number of fates that wait for dccp_fates(). The oldest are dropped and counted. 0, the default, keeps totals
/// only.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dccp_options_fate_buffer(
    options: *mut OptionsHandle,
    fates: usize,
) -> c_int {
    // SAFETY: the program passes null or live options.
    unsafe { set(options, |o| Ok(o.fate_buffer(fates))) }
}

/// Chooses the policy for a full send buffer: one of DCCP_WHEN_FULL_WAIT (the default), DCCP_WHEN_FULL_ERROR,
/// DCCP_WHEN_FULL_DROP_OLDEST and DCCP_WHEN_FULL_DROP_LOWEST_PRIORITY.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dccp_options_when_full(
    options: *mut OptionsHandle,
    when_full: c_int,
) -> c_int {
    // SAFETY: the program passes null or live options.
    unsafe {
        set(options, |o| {
            let policy = policy(when_full).map_err(Failure::option)?;
            Ok(o.when_full(policy.unwrap_or_default()))
        })
    }
}

/// Sets the greatest age of a datagram in the send buffer in microseconds. An older one gets the fate DCCP_FATE_EXPIRED.
/// DCCP_FOREVER, the default, sets no bound.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dccp_options_lifetime(options: *mut OptionsHandle, us: u64) -> c_int {
    // SAFETY: the program passes null or live options.
    unsafe { set(options, |o| Ok(o.lifetime(time(us)))) }
}

/// Sets how long sending waits for room, in microseconds. DCCP_FOREVER is the default.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dccp_options_send_timeout(options: *mut OptionsHandle, us: u64) -> c_int {
    // SAFETY: the program passes null or live options.
    unsafe { set(options, |o| Ok(o.send_timeout(time(us)))) }
}

/// Sets how long receiving and accepting wait, in microseconds. DCCP_FOREVER is the default.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dccp_options_recv_timeout(options: *mut OptionsHandle, us: u64) -> c_int {
    // SAFETY: the program passes null or live options.
    unsafe { set(options, |o| Ok(o.recv_timeout(time(us)))) }
}

/// Sets how long connecting waits for an answer, in microseconds: greater than 0, 10 s by default.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dccp_options_connect_timeout(
    options: *mut OptionsHandle,
    us: u64,
) -> c_int {
    // SAFETY: the program passes null or live options.
    unsafe { set(options, |o| Ok(o.connect_timeout(time(us)))) }
}

/// Sets how long dccp_close() waits for the end of the connection, in microseconds: 10 s by default.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dccp_options_linger(options: *mut OptionsHandle, us: u64) -> c_int {
    // SAFETY: the program passes null or live options.
    unsafe { set(options, |o| Ok(o.linger(time(us)))) }
}

/// Sends a packet after this much silence, in microseconds, so that NATs keep their mapping (RFC 6773). Connections of a
/// listener do so by default, others never.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dccp_options_keepalive(options: *mut OptionsHandle, us: u64) -> c_int {
    // SAFETY: the program passes null or live options.
    unsafe { set(options, |o| Ok(o.keepalive(time(us)))) }
}

/// Ends the connection when the peer has not answered data or a keepalive for this time in microseconds: at least 1 s, 90 s
/// by default. DCCP_FOREVER: never.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dccp_options_dead_after(options: *mut OptionsHandle, us: u64) -> c_int {
    // SAFETY: the program passes null or live options.
    unsafe { set(options, |o| Ok(o.dead_after(time(us)))) }
}

/// Ends the connection when nothing has arrived for this time in microseconds, even if no answer was due. Never by default.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dccp_options_idle_timeout(options: *mut OptionsHandle, us: u64) -> c_int {
    // SAFETY: the program passes null or live options.
    unsafe { set(options, |o| Ok(o.idle_timeout(time(us)))) }
}

/// Sets the number of connections that may wait to be accepted: at least 1, 128 by default. Others are refused.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dccp_options_backlog(
    options: *mut OptionsHandle,
    connections: usize,
) -> c_int {
    // SAFETY: the program passes null or live options.
    unsafe { set(options, |o| Ok(o.backlog(connections))) }
}

/// Sets the number of connections that one address, or one IPv6 /64, may have at a listener: at least 1, 64 by default.
/// Loopback addresses have no limit.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dccp_options_connections_per_source(
    options: *mut OptionsHandle,
    connections: usize,
) -> c_int {
    // SAFETY: the program passes null or live options.
    unsafe { set(options, |o| Ok(o.connections_per_source(connections))) }
}

/// Turns Explicit Congestion Notification on or off (RFC 4340 §12). On by default.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dccp_options_ecn(options: *mut OptionsHandle, on: bool) -> c_int {
    // SAFETY: the program passes null or live options.
    unsafe { set(options, |o| Ok(o.ecn(on))) }
}

/// Spreads packets over the round trip, or sends them as soon as the window allows. On by default.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dccp_options_pacing(options: *mut OptionsHandle, on: bool) -> c_int {
    // SAFETY: the program passes null or live options.
    unsafe { set(options, |o| Ok(o.pacing(on))) }
}

/// Reports changes of the network's rate as events of type DCCP_EVENT_RATE, at most ten a second. Off by default.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dccp_options_rate_hints(options: *mut OptionsHandle, on: bool) -> c_int {
    // SAFETY: the program passes null or live options.
    unsafe { set(options, |o| Ok(o.rate_hints(on))) }
}

/// Protects data by a CRC of its own, and asks the peer to check it (RFC 4340 §9.3). Off by default.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dccp_options_data_checksum(
    options: *mut OptionsHandle,
    on: bool,
) -> c_int {
    // SAFETY: the program passes null or live options.
    unsafe { set(options, |o| Ok(o.data_checksum(on))) }
}

/// Sets the Checksum Coverage of sent data: from 0 (all) to 15 (RFC 4340 §9.2). Over UDP it is negotiated, but all data stay
/// covered.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dccp_options_checksum_coverage(
    options: *mut OptionsHandle,
    coverage: u8,
) -> c_int {
    // SAFETY: the program passes null or live options.
    unsafe { set(options, |o| Ok(o.checksum_coverage(coverage))) }
}

/// Sets the largest packet in bytes, IP header included, that the path is taken to carry: from 296 to 65535. That of the
/// interface by default, 1500 at most.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dccp_options_mtu(options: *mut OptionsHandle, bytes: usize) -> c_int {
    // SAFETY: the program passes null or live options.
    unsafe { set(options, |o| Ok(o.mtu(bytes))) }
}

/// Bounds the data that CCIDs 3 and 4 send before the peer has reported a loss event, in bits per second: at least 1, 100
/// Mbit/s by default. UINT64_MAX sets no bound.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dccp_options_max_rate(
    options: *mut OptionsHandle,
    bits_per_s: u64,
) -> c_int {
    let rate = Some(bits_per_s).filter(|&rate| rate != u64::MAX);
    // SAFETY: the program passes null or live options.
    unsafe { set(options, |o| Ok(o.max_rate(rate))) }
}

/// Sets the first Sequence Window in packets (RFC 4340 §7.5.2): from 32 to 2^46 - 1. It follows the rate later.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dccp_options_sequence_window(
    options: *mut OptionsHandle,
    packets: u64,
) -> c_int {
    // SAFETY: the program passes null or live options.
    unsafe { set(options, |o| Ok(o.sequence_window(packets))) }
}

/// Keeps to the letter of the RFCs where the defaults depart from it. Off by default.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dccp_options_strict(options: *mut OptionsHandle, on: bool) -> c_int {
    // SAFETY: the program passes null or live options.
    unsafe { set(options, |o| Ok(o.strict(on))) }
}

/// Tests whether a peer of CCID 2 hides losses, and ends the connection with Reset 11 at the third time. On by default;
/// dccp_options_strict() turns it off.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dccp_options_audit(options: *mut OptionsHandle, on: bool) -> c_int {
    // SAFETY: the program passes null or live options.
    unsafe { set(options, |o| Ok(o.audit(on))) }
}

/// Hands out data whose Data Checksum failed, marked with DCCP_RECV_CORRUPT. Off by default.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dccp_options_deliver_corrupt(
    options: *mut OptionsHandle,
    on: bool,
) -> c_int {
    // SAFETY: the program passes null or live options.
    unsafe { set(options, |o| Ok(o.deliver_corrupt(on))) }
}

/// Tests whether the path carries a rate in bits per second: while the program sends less, copies of the datagram `filler` of
/// `len` bytes make up the difference. The peer's program must ignore them. They obey congestion control, leave only when no
/// other datagram waits, and never raise the sum above the rate. Off by default, because they load the network.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dccp_options_target_rate(
    options: *mut OptionsHandle,
    bits_per_s: u64,
    filler: *const c_void,
    len: usize,
) -> c_int {
    let change = |o: Options| {
        // SAFETY: the program passes `len` bytes.
        let filler = unsafe { memory::bytes(filler, len, "filler") }?;
        Ok(o.target_rate(bits_per_s, filler))
    };
    // SAFETY: the program passes null or live options.
    unsafe { set(options, change) }
}

/// Sets what CCID 248 may assume (docs/safeudp.md). `profile` is DCCP_SAFE_UDP_SHARED or DCCP_SAFE_UDP_PROVISIONED.
/// `declared_bits_per_s` is the rate that the program intends to send, 0 if unknown. `loss_limit_per_million` ends the
/// connection when more packets are missing, 0 never does.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dccp_options_safe_udp(
    options: *mut OptionsHandle,
    profile: c_int,
    declared_bits_per_s: u64,
    loss_limit_per_million: u32,
) -> c_int {
    // SAFETY: the program passes null or live options.
    unsafe {
        set(options, |o| {
            let profile = match profile {
                DCCP_SAFE_UDP_SHARED => safeudp::Profile::Shared,
                DCCP_SAFE_UDP_PROVISIONED => safeudp::Profile::Provisioned,
                other => {
                    return Err(Failure::option(format!(
                        "option safe_udp: profile {other}: must be one of DCCP_SAFE_UDP_…"
                    )));
                }
            };
            Ok(o.safe_udp(safeudp::SafeUdpConfig {
                profile,
                declared_rate: Some(declared_bits_per_s).filter(|&rate| rate > 0),
                loss_limit: Some(loss_limit_per_million).filter(|&limit| limit > 0),
            }))
        })
    }
}

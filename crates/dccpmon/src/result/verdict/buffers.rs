//! Limits of the receiving program, of the kernel's buffers and of TCP's window.

use super::{LOSS, MOST, Sight, busiest, limit, share};
use crate::limits::{RECV_BYTES, SOCKET_BUFFER};
use crate::schema::{Limit, TcpTotals, Transport, Verdict};
use dccp::proto::number::to_f64;
use dccp_cli::quantity::show as units;

/// The least receive buffer that is recommended, in bytes. The library asks for as much.
const BUFFER_MIN: u64 = 4 << 20;
/// A receive buffer should hold the packets of this time, in seconds.
const BUFFER_S: f64 = 0.1;
/// Pauses of this share of the time fill the window of TCP.
const PAUSED: f64 = 0.1;

/// The kernel dropped packets at a socket although the receiving program had time to read them.
pub(super) fn of_socket_buffer(s: &Sight<'_>) -> Option<Limit> {
    let dropped = dropped_at_socket(s).filter(|dropped| !is_paused(s, *dropped))?;
    let mut evidence = vec![dropped_by_kernel(dropped)];
    evidence.extend(receive_buffer(s));
    Some(Limit {
        command: match s.transport {
            Transport::Dccp => sysctl("net.core.rmem_max", BUFFER_MIN, receive_buffer_max(s)),
            Transport::Udp | Transport::Tcp => larger_buffer(s),
        },
        ..limit(
            Verdict::SocketBuffer,
            "the receive buffer of the receiving host's socket was too small for a burst",
            evidence,
        )
    })
}

/// The receiving program did not read as fast as packets came.
pub(super) fn of_receiver(s: &Sight<'_>) -> Option<Limit> {
    let by_program = dropped_by_program(s) + s.ledger.lost_receiver_app;
    let is_busy = busiest(s.receiver, "").is_some();
    let mut evidence = Vec::new();
    if share(by_program, s.ledger.sent) > LOSS && !is_busy {
        evidence.push(format!(
            "{by_program} packets dropped by the receiving program"
        ));
    } else {
        let dropped = dropped_at_socket(s).filter(|dropped| is_paused(s, *dropped))?;
        evidence.push(dropped_by_kernel(dropped));
    }
    evidence.extend(pauses(s));
    Some(slow_receiver(evidence))
}

/// The receiving program did not run for most of the time, or TCP's window was full meanwhile.
pub(super) fn of_paused_receiver(s: &Sight<'_>) -> Option<Limit> {
    let window = s.tx.tcp.as_ref().and_then(full_window);
    let least = if window.is_some() { PAUSED } else { MOST };
    if paused_share(s) < least {
        return None;
    }
    let evidence = pauses(s).into_iter().chain(window).collect();
    Some(slow_receiver(evidence))
}

/// TCP's receive window was too small for the path.
pub(super) fn of_receive_window(s: &Sight<'_>) -> Option<Limit> {
    let mut evidence = vec![full_window(s.tx.tcp.as_ref()?)?];
    evidence.extend(receive_buffer(s));
    let buffers = s.rx.map(|rx| rx.buffers).unwrap_or_default();
    let at_most = (buffers.recv_bytes, buffers.recv_max_bytes);
    Some(Limit {
        command: larger_tcp_buffer(s, "net.ipv4.tcp_rmem=\"4096 131072", at_most),
        ..limit(
            Verdict::Window,
            "the receive window of TCP was too small for the path",
            evidence,
        )
    })
}

/// The send buffer of TCP was too small for the path.
pub(super) fn of_send_buffer(s: &Sight<'_>) -> Option<Limit> {
    let tcp = s.tx.tcp.as_ref()?;
    let part = share(tcp.sndbuf_limited_ns, tcp.busy_ns);
    if part <= MOST {
        return None;
    }
    let buffers = s.tx.buffers;
    let mut evidence = vec![format!(
        "the send buffer was full for {} of the time with data",
        units::percent(part)
    )];
    let size = |bytes| format!("the kernel's send buffer had {bytes} bytes");
    evidence.extend(buffers.send_bytes.map(size));
    let at_most = (buffers.send_bytes, buffers.send_max_bytes);
    Some(Limit {
        command: larger_tcp_buffer(s, "net.ipv4.tcp_wmem=\"4096 16384", at_most),
        ..limit(
            Verdict::SocketBuffer,
            "the send buffer of the socket was too small for the path",
            evidence,
        )
    })
}

fn slow_receiver(evidence: Vec<String>) -> Limit {
    limit(
        Verdict::Receiver,
        "the receiving program did not read fast enough",
        evidence,
    )
}

/// Of the packets lost at the receiver's socket, those that its program dropped because its own buffer was full.
fn dropped_by_program(s: &Sight<'_>) -> u64 {
    s.rx.map_or(0, |rx| rx.dropped_socket)
}

/// The packets that the receiving kernel dropped at the socket, if they are many and no busy core explains them.
fn dropped_at_socket(s: &Sight<'_>) -> Option<u64> {
    let at_socket = s.ledger.lost_receiver_socket;
    let dropped = at_socket.saturating_sub(dropped_by_program(s));
    let is_much = share(dropped, s.ledger.sent) > LOSS;
    (is_much && busiest(s.receiver, "").is_none()).then_some(dropped)
}

fn dropped_by_kernel(packets: u64) -> String {
    format!("{packets} packets dropped by the receiving kernel at the socket")
}

/// The pauses of the receiving program, as a share of the test.
fn paused_share(s: &Sight<'_>) -> f64 {
    let wall_ns = s.receiver.map_or(0, |host| host.delta.wall_ns);
    s.rx.map_or(0.0, |rx| share(rx.pauses_ns, wall_ns))
}

/// Whether pauses of the receiving program explain these drops: at most twice the packets of that time.
fn is_paused(s: &Sight<'_>, dropped: u64) -> bool {
    let paused = paused_share(s);
    paused > 0.0 && 2.0 * paused >= share(dropped, s.ledger.sent)
}

/// The pauses of the receiving program, as evidence.
fn pauses(s: &Sight<'_>) -> Option<String> {
    let rx = s.rx.filter(|rx| rx.pauses_ns > 0)?;
    Some(format!(
        "the receiving program did not read for {} s in all, {} s at once",
        units::seconds(rx.pauses_ns),
        units::seconds(rx.pause_max_ns)
    ))
}

/// How long TCP's window was full, as evidence, if that is most of the time.
fn full_window(tcp: &TcpTotals) -> Option<String> {
    let part = share(tcp.rwnd_limited_ns, tcp.busy_ns);
    let text = || {
        let part = units::percent(part);
        format!("the receive window was full for {part} of the time with data")
    };
    (part > MOST).then(text)
}

/// The size of the receive buffer, as evidence.
fn receive_buffer(s: &Sight<'_>) -> Option<String> {
    let bytes = s.rx?.buffers.recv_bytes?;
    Some(format!("the kernel's receive buffer had {bytes} bytes"))
}

fn receive_buffer_max(s: &Sight<'_>) -> Option<u64> {
    s.rx?.buffers.recv_max_bytes
}

/// The command that raises a parameter of the kernel to `bytes`, if it is lower or unknown.
fn sysctl(name: &str, bytes: u64, now: Option<u64>) -> Option<String> {
    let is_lower = now.is_none_or(|now| now < bytes);
    is_lower.then(|| format!("sysctl -w {name}={bytes}"))
}

/// Returns the remedy for a small receive buffer over UDP: the kernel's limit, the option, or both.
fn larger_buffer(s: &Sight<'_>) -> Option<String> {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a rate is not negative, and bounded below"
    )]
    let of_rate = (s.goodput_bps.unwrap_or(0.0) / 8.0 * BUFFER_S) as u64;
    // The kernel states twice the size that was asked for.
    let now = s.rx.and_then(|rx| rx.buffers.recv_bytes).unwrap_or(0) / 2;
    let wanted = BUFFER_MIN.max(of_rate).max(now.saturating_mul(2));
    let wanted = wanted.min(*SOCKET_BUFFER.end()).next_power_of_two();
    let is_asked = s.socket_buffer.is_some() || wanted > RECV_BYTES;
    let option = is_asked.then(|| format!("-w {wanted}"));
    let limit = sysctl("net.core.rmem_max", wanted, receive_buffer_max(s));
    let parts: Vec<String> = limit.into_iter().chain(option).collect();
    (!parts.is_empty()).then(|| parts.join(" and "))
}

/// Returns the remedy for a small buffer of TCP. The kernel enlarges it up to its limit, unless -w forbids it.
fn larger_tcp_buffer(
    s: &Sight<'_>,
    setting: &str,
    (now, max): (Option<u64>, Option<u64>),
) -> Option<String> {
    if s.socket_buffer.is_some() {
        return Some("leave -w out".into());
    }
    let (now, max) = (now?, max?);
    // The kernel stops a little below its limit.
    let is_at_limit = to_f64(now) >= to_f64(max) * 0.9;
    let wanted = BUFFER_MIN.max(max.saturating_mul(2)).next_power_of_two();
    is_at_limit.then(|| format!("sysctl -w {setting} {wanted}\""))
}

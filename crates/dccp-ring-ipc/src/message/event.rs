//! Events of a connection as bytes.

use super::{NO_MPS, Reader, clip, code};
use core::time::Duration;
use dccp_proto::time::nanos;
use dccp_proto::wire::ResetCode;
use dccp_proto::{CloseReason, Event, RateHint};

/// Stands for an unknown rate.
const NO_RATE: u64 = u64::MAX;

/// Whether an event has a form between processes.
pub(crate) fn has_form(event: &Event) -> bool {
    build_event(event).is_some()
}

/// An event of a connection; `None`: it concerns the server only.
pub(super) fn build_event(event: &Event) -> Option<Vec<u8>> {
    Some(match event {
        // The engine does not report the second to applications.
        Event::Connected | Event::Accepted { .. } => vec![0],
        Event::Mps(bytes) => {
            let bytes = u32::try_from(*bytes).unwrap_or(NO_MPS);
            [&[1], &bytes.to_le_bytes()[..]].concat()
        }
        Event::PeerClosed => vec![2],
        Event::PeerNotListening => vec![3],
        Event::SlowReceiver => vec![4],
        Event::Closed(CloseReason::Local) => vec![5],
        Event::Closed(CloseReason::Peer) => vec![6],
        Event::Closed(CloseReason::Reset { code, data, text }) => {
            [&[7, code.0], &data[..], clip(text).as_bytes()].concat()
        }
        Event::Closed(CloseReason::Aborted(code)) => vec![8, code.0],
        Event::Closed(CloseReason::TimedOut) => vec![9],
        Event::Closed(CloseReason::Unreachable { kind, code }) => vec![10, *kind, *code],
        Event::Rate(hint) => {
            let wait = nanos(hint.wait);
            [
                &[11],
                &hint.bits_per_s.to_le_bytes()[..],
                &wait.to_le_bytes(),
                &hint.delivered_bits_per_s.unwrap_or(NO_RATE).to_le_bytes(),
                &[u8::from(hint.is_app_limited)],
            ]
            .concat()
        }
        Event::Silent { silent_for } => {
            let silent_for = nanos(*silent_for);
            [&[12], &silent_for.to_le_bytes()[..]].concat()
        }
        Event::Unreachable { kind, code } => vec![13, *kind, *code],
        Event::SocketLost { os_error } => [&[14], &os_error.to_le_bytes()[..]].concat(),
        Event::SocketRestored => vec![15],
        Event::Misreport => vec![16],
        Event::SafeUdp(report) => [vec![17], code::build(report)?].concat(),
        Event::Shortfall(shortfall) => [vec![18], code::build_shortfall(shortfall)].concat(),
        _ => return None,
    })
}

pub(super) fn parse_event(bytes: &[u8]) -> Option<Event> {
    Some(match *bytes {
        [0] => Event::Connected,
        [1, a, b, c, d] => Event::Mps(u32::from_le_bytes([a, b, c, d]).try_into().ok()?),
        [2] => Event::PeerClosed,
        [3] => Event::PeerNotListening,
        [4] => Event::SlowReceiver,
        [5] => Event::Closed(CloseReason::Local),
        [6] => Event::Closed(CloseReason::Peer),
        [7, code, a, b, c, ref text @ ..] => Event::Closed(CloseReason::Reset {
            code: ResetCode(code),
            data: [a, b, c],
            text: String::from_utf8_lossy(text).into(),
        }),
        [8, code] => Event::Closed(CloseReason::Aborted(ResetCode(code))),
        [9] => Event::Closed(CloseReason::TimedOut),
        [10, kind, code] => Event::Closed(CloseReason::Unreachable { kind, code }),
        [11, ref numbers @ ..] => {
            let mut numbers = Reader(numbers);
            let hint = RateHint {
                bits_per_s: u64::from_le_bytes(numbers.take()?),
                wait: Duration::from_nanos(u64::from_le_bytes(numbers.take()?)),
                delivered_bits_per_s: Some(u64::from_le_bytes(numbers.take()?))
                    .filter(|&rate| rate != NO_RATE),
                is_app_limited: numbers.take()? == [1],
            };
            Event::Rate(Some(hint).filter(|_| numbers.0.is_empty())?)
        }
        [12, ref silent_for @ ..] => Event::Silent {
            silent_for: Duration::from_nanos(u64::from_le_bytes(silent_for.try_into().ok()?)),
        },
        [13, kind, code] => Event::Unreachable { kind, code },
        [14, a, b, c, d] => Event::SocketLost {
            os_error: i32::from_le_bytes([a, b, c, d]),
        },
        [15] => Event::SocketRestored,
        [16] => Event::Misreport,
        [17, ref report @ ..] => Event::SafeUdp(code::parse(report)?),
        [18, ref shortfall @ ..] => Event::Shortfall(code::parse_shortfall(shortfall)?),
        _ => return None,
    })
}

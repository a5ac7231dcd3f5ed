//! Counters and events of one end of a connection, as its application sees them.

use crate::source::{App, Delay, Message, Stamp};
use dccp_proto::queue::FateCounts;
use dccp_proto::wire::{Payload, ResetCode};
use dccp_proto::{CloseReason, Event, Instant};

/// Counters and events of one end of a connection. Datagrams are the application's.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Report {
    /// When the connection could first send data.
    pub opened: Option<Instant>,
    /// Datagrams that left.
    pub sent: u64,
    /// Their bytes.
    pub sent_bytes: u64,
    /// Datagrams that the transport had taken and dropped unsent when the connection ended.
    pub unsent: u64,
    /// Datagrams received by the application.
    pub received: u64,
    /// Their bytes.
    pub received_bytes: u64,
    /// Those of them that have a byte other than zero. Sources write zeros, so a link changed them; stamps, replies to
    /// those and scripts count too.
    pub corrupt: u64,
    /// When the last of them arrived.
    pub last_received: Option<Instant>,
    /// The datagrams themselves, if the application keeps them.
    pub messages: Vec<Message>,
    /// The stamps of those that arrived, if the application stamps.
    pub delays: Vec<Delay>,
    /// Datagrams of a paced source that found no room.
    pub overflowed: u64,
    /// Datagrams that found the receive buffer full.
    pub refused: u64,
    /// Fates of the datagrams sent, as far as known (our own hosts only).
    pub fates: FateCounts,
    /// Datagrams sent whose fate is open (our own hosts only).
    pub in_flight: u64,
    /// All events of the connection (our own hosts only).
    pub events: Vec<Event>,
    /// The Reset that ended the connection, received or sent.
    pub reset: Option<ResetCode>,
    /// The connection is over.
    pub is_over: bool,
}

impl Report {
    pub(crate) fn on_event(&mut self, event: Event) {
        if let Event::Closed(reason) = &event {
            self.is_over = true;
            self.reset = match reason {
                CloseReason::Reset { code, .. } | CloseReason::Aborted(code) => Some(*code),
                CloseReason::Local | CloseReason::Peer => Some(ResetCode::CLOSED),
                CloseReason::TimedOut | CloseReason::Unreachable { .. } => None,
            };
        }
        self.events.push(event);
    }

    /// Why the connection ended (our own hosts only).
    pub fn close_reason(&self) -> Option<&CloseReason> {
        self.events.iter().find_map(|event| match event {
            Event::Closed(reason) => Some(reason),
            _ => None,
        })
    }

    /// The application takes a datagram.
    pub(crate) fn on_message(&mut self, now: Instant, payload: Payload<'_>, app: &App) {
        self.received += 1;
        self.received_bytes += payload.len() as u64;
        self.last_received = Some(now);
        if let Payload::Bytes(bytes) = payload
            && bytes.iter().any(|byte| *byte != 0)
        {
            self.corrupt += 1;
        }
        if app.stamps
            && let Payload::Bytes(bytes) = payload
            && let Some(stamp) = Stamp::read(bytes)
        {
            self.delays.push(stamp.delay(now));
        }
        if app.keeps {
            self.messages.push(payload.into());
        }
    }
}

//! What one end of a connection has done, as its application saw it.

use crate::source::Message;
use dccp_proto::Instant;
use dccp_proto::wire::{Payload, ResetCode};

/// Counters and events of one end of a connection. Datagrams are the application's.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Report {
    /// When data could be sent first.
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
    /// When the last of them came.
    pub last_received: Option<Instant>,
    /// The datagrams themselves, if the application keeps them.
    pub messages: Vec<Message>,
    /// The Reset that ended the connection, received or sent.
    pub reset: Option<ResetCode>,
    /// The connection is over.
    pub is_over: bool,
}

impl Report {
    pub(crate) fn on_message(&mut self, now: Instant, payload: Payload<'_>, keep: bool) {
        self.received += 1;
        self.received_bytes += payload.len() as u64;
        self.last_received = Some(now);
        if keep {
            self.messages.push(payload.into());
        }
    }
}

//! The source of `media`: packets of two classes, and the choice between them when not all can leave.

use super::classes::{CLASSES, IMPORTANT};
use crate::transport::{Flow, FlowError, Run};
use core::time::Duration;
use dccp::packet_ring::{Label, PushError, Sender, Shape};
use dccp::{Fate, RingFate, RingSocket, Socket};
use std::net::Shutdown;
use std::sync::Arc;

/// How packets leave.
pub(crate) enum Source {
    /// Through a packet ring, where the oldest packet that is not important makes room.
    Ring(Box<Ring>),
    /// At once, without a choice.
    Direct {
        flow: Arc<dyn Flow>,
        /// Packets of each class that left.
        sent: [u64; CLASSES],
    },
}

/// A packet ring, and the fates of its packets.
pub(crate) struct Ring {
    socket: RingSocket,
    fates: Vec<RingFate>,
    /// Packets of each class that left.
    sent: [u64; CLASSES],
}

impl Source {
    /// A connection with a ring for `packets` packets of `length` bytes.
    pub(crate) fn ring(socket: Socket, packets: u32, length: usize) -> Result<Self, FlowError> {
        let length = u32::try_from(length).unwrap_or(u32::MAX);
        let socket = RingSocket::new(socket, Shape::new(packets, length));
        Ok(Self::Ring(Box::new(Ring {
            socket: socket.map_err(|e| FlowError(e.to_string()))?,
            fates: Vec::new(),
            sent: [0; CLASSES],
        })))
    }

    /// Packets of each class that have left, as far as that is known.
    pub(crate) fn sent(&self) -> [u64; CLASSES] {
        match self {
            Self::Ring(ring) => ring.sent,
            Self::Direct { sent, .. } => *sent,
        }
    }

    /// Offers a packet of a class.
    pub(crate) fn offer(&mut self, packet: &[u8], class: u16) -> Result<(), FlowError> {
        match self {
            Self::Ring(ring) => {
                ring.take_fates();
                choose(ring.socket.sender(), packet, class).map_err(|e| FlowError(e.to_string()))
            }
            Self::Direct { flow, sent } => {
                let run = Run {
                    bytes: packet,
                    length: packet.len(),
                };
                let taken = flow.send(&run)?;
                sent[usize::from(class)] += taken as u64;
                Ok(())
            }
        }
    }

    /// Ends sending: takes back what waits, and waits for the end of the connection, at most for `time`.
    pub(crate) fn finish(&mut self, time: Duration) {
        match self {
            Self::Ring(ring) => {
                if let Ok(mut waiting) = ring.socket.sender().take_back(usize::MAX) {
                    while !waiting.is_empty() {
                        waiting.withdraw(0);
                    }
                }
                let socket = ring.socket.socket();
                socket.shutdown(Shutdown::Write);
                if socket.wait_closed(time).is_err() {
                    socket.abort();
                }
                ring.take_fates();
            }
            Self::Direct { flow, .. } => flow.close(),
        }
    }
}

impl Ring {
    fn take_fates(&mut self) {
        self.fates.clear();
        self.socket.recv_fates(&mut self.fates, usize::MAX);
        for fate in &self.fates {
            let class = usize::try_from(fate.tag).unwrap_or(CLASSES);
            if let Some(sent) = self.sent.get_mut(class).filter(|_| has_left(fate.fate)) {
                *sent += 1;
            }
        }
    }
}

fn has_left(fate: Fate) -> bool {
    matches!(
        fate,
        Fate::Sent | Fate::Acked | Fate::AckedCe | Fate::Lost | Fate::RxDropped(_)
    )
}

/// Puts a packet into the ring. If that is full, the oldest packet that is not important makes room, be it this one.
fn choose(ring: &mut Sender, packet: &[u8], class: u16) -> Result<(), PushError> {
    let is_important = class == IMPORTANT;
    let label = Label {
        tag: class.into(),
        // It overtakes the others.
        priority: is_important.into(),
        ..Label::default()
    };
    match ring.push(packet, label) {
        Err(PushError::Full) => {}
        pushed => return pushed.map(drop),
    }
    let Ok(mut waiting) = ring.take_back(usize::MAX) else {
        return Ok(());
    };
    let other = waiting.labels().position(|label| label.priority == 0);
    match other {
        Some(oldest) => waiting.withdraw(oldest),
        None if is_important && !waiting.is_empty() => waiting.withdraw(0),
        None => return Ok(()),
    };
    drop(waiting);
    match ring.push(packet, label) {
        // The place is not free yet: this packet is left out.
        Err(PushError::Full) => Ok(()),
        pushed => pushed.map(drop),
    }
}

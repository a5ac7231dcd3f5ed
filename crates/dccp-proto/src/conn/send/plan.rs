//! The shape of a data packet, decided before anything is claimed.

use super::{ACK_OPTIONS_LEN, Connection};
use crate::cc::AckDue;
use crate::conn::State;
use crate::queue::Offer;
use crate::time::Instant;
use crate::wire::{self, PacketType};

/// The shape of a data packet.
#[derive(Clone, Copy)]
pub(super) struct Plan {
    /// A Data packet whose options all data packets have: it can join a batch.
    pub(super) is_plain: bool,
    pub(super) has_ack: bool,
    /// The acknowledgement does not fit beside the data: an Ack leaves first.
    pub(super) ack_goes_alone: bool,
    /// Length of the header of a packet without acknowledgement.
    pub(super) header_len: usize,
}

impl Connection {
    /// Decides the shape of the next data packet without changing anything.
    pub(super) fn plan_data(&self, now: Instant, offer: &Offer, is_first: bool) -> Plan {
        let must_share = self.state == State::PartOpen || !self.cookies.is_empty();
        let ack_due = self.rx.cc.ack_due(now);
        let takes_ack_of_ack = self.due.ack_of_ack && self.has_room_for_ack_of_ack(now, offer);
        let is_ack_due =
            self.due.ack || self.features.wants_packet(now) || is_first && ack_due == AckDue::Now;
        let may_ack_early = is_first && ack_due != AckDue::No;
        // 4340-11.2-1: data that leaves no room for what the acknowledgement must say goes behind it.
        let wanted =
            self.ack_vector.option_len() + self.rx.cc.ack_options_len(now) + ACK_OPTIONS_LEN;
        let repeated = self.features.repeated_len();
        let has_room = wanted + repeated <= self.data_option_room(offer);
        if must_share || is_ack_due || takes_ack_of_ack || may_ack_early && has_room {
            let must_go = if must_share { repeated > 0 } else { is_ack_due };
            return Plan {
                is_plain: false,
                has_ack: true,
                ack_goes_alone: must_go && !has_room,
                header_len: 0,
            };
        }
        let is_short = self.sends_short();
        let options_len = self.ndp.option_len() + self.reserved_option_len();
        Plan {
            is_plain: options_len == self.tx.cc.data_options_len(),
            has_ack: false,
            ack_goes_alone: false,
            header_len: wire::header_len(PacketType::Data, is_short, options_len),
        }
    }
}

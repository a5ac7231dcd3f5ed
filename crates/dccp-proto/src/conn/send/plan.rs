//! The shape of the next data packets, decided before anything is claimed.

use super::{ACK_OPTIONS_LEN, Connection};
use crate::batch::Batch;
use crate::cc::AckDue;
use crate::conn::State;
use crate::queue::Offer;
use crate::time::Instant;
use crate::wire::{self, PacketType};

/// The shape of the next data packets.
#[derive(Clone, Copy)]
pub(super) struct Plan {
    /// How many can leave in one run; 0: the next one does not fit the batch.
    pub(super) packets: u32,
    /// How many datagrams the batch takes if all have this shape.
    pub(super) joins: usize,
    /// The packet carries an acknowledgement.
    pub(super) has_ack: bool,
    /// The acknowledgement does not fit beside the data: an Ack leaves first.
    pub(super) ack_goes_alone: bool,
}

impl Connection {
    /// Decides the shape of the next data packets without changing anything. Congestion control
    /// permits `permitted` of them.
    pub(super) fn plan_data(
        &self,
        now: Instant,
        offer: &Offer,
        permitted: u32,
        batch: &Batch,
    ) -> Plan {
        let is_first = batch.is_empty();
        let must_share = self.state == State::PartOpen || !self.cookies.is_empty();
        let ack_due = self.rx.cc.ack_due(now);
        let takes_ack_of_ack = self.due.ack_of_ack && self.has_room_for_ack_of_ack(now, offer);
        let is_ack_due =
            self.due.ack || self.features.wants_packet(now) || is_first && ack_due == AckDue::Now;
        let may_ack_early = is_first && ack_due != AckDue::No;
        // 4340-11.2-1: data that leaves no room for the acknowledgement leaves after it.
        let wanted =
            self.ack_vector.option_len() + self.rx.cc.ack_options_len(now) + ACK_OPTIONS_LEN;
        let repeated = self.features.repeated_len();
        let has_room = wanted + repeated <= self.data_option_room(offer);
        if must_share || is_ack_due || takes_ack_of_ack || may_ack_early && has_room {
            let must_go = if must_share { repeated > 0 } else { is_ack_due };
            return Plan {
                has_ack: true,
                ack_goes_alone: must_go && !has_room,
                ..Plan::alone(is_first)
            };
        }
        if self.ndp.option_len() > 0 {
            return Plan::alone(is_first);
        }
        let options_len = self.reserved_option_len();
        let header_len = wire::header_len(PacketType::Data, self.sends_short(), options_len);
        let joins = batch.room_for(self.ecn(), header_len + offer.len);
        let in_window = u32::try_from(self.room_in_peers_window()).unwrap_or(u32::MAX);
        let room = u32::try_from(joins).unwrap_or(u32::MAX);
        Plan {
            packets: permitted.min(room).min(in_window),
            joins,
            has_ack: false,
            ack_goes_alone: false,
        }
    }
}

impl Plan {
    /// A packet with options that others do not have: it opens a batch of its own.
    fn alone(is_first: bool) -> Self {
        Self {
            packets: u32::from(is_first),
            joins: 1,
            has_ack: false,
            ack_goes_alone: false,
        }
    }
}

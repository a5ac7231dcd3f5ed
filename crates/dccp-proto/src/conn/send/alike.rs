//! Data packets that are like the one before them: what a stream of datagrams of one length is made of.

use super::plan::Plan;
use super::{App, Connection};
use crate::batch::Batch;
use crate::cc::Alike;
use crate::queue::{Offer, Waiting};
use crate::time::Instant;
use crate::wire::{self, Place};

impl Connection {
    /// Appends data of the same length to those that have just been appended plainly, as many as are there and may
    /// leave. What was decided for the first holds for them, for while a batch is filled nothing arrives and no time
    /// passes; and everybody is told of them at once. (So it is seen once a batch whether the Sequence Window should
    /// grow.) Returns whether others may follow.
    pub(super) fn send_alike(
        &mut self,
        now: Instant,
        first: &Offer,
        plan: &Plan,
        app: &mut App<'_>,
        batch: &mut Batch,
    ) -> bool {
        let most = self.alike_max(now, batch);
        // Both were written before the first payload: who reads what was written just now, waits until the last
        // payload has left the processor.
        let Some(record) = self.in_flight.last() else {
            return true;
        };
        let header_len = plan.header_len;
        let head = batch.last_head(header_len);
        let zeros = if first.is_zeros { first.len } else { 0 };
        let len = header_len + first.len - zeros;
        let cscov = self.coverage_to_send(first.len);
        let rule = self.flow.path.checksum_rule();
        let mut packets = 0;
        let mut is_drained = false;
        while packets < most {
            let Some(offer) = app.outbox.peek(now) else {
                is_drained = true;
                break;
            };
            if (offer.len, offer.is_zeros) != (first.len, first.is_zeros) {
                break;
            }
            let seq = self.seqs.gss.next();
            let is_claimed = batch.push_alike(head.clone(), len, zeros, |place| {
                let (header, payload) = place.split_at_mut(header_len);
                wire::renumber(header, seq);
                let mut payload = Place::new(payload, cscov, rule);
                let is_claimed = app.outbox.claim_into(now, offer.slot, &mut payload);
                let sum = payload.sum();
                let sealed = wire::seal_summed(place, zeros, sum, rule);
                debug_assert!(sealed.is_ok(), "{sealed:?}");
                is_claimed
            });
            if !is_claimed {
                break;
            }
            self.seqs.next_to_send();
            self.in_flight.on_send_alike(&record, offer.slot);
            packets += 1;
        }
        let has_more = app.outbox.waiting(now) != Waiting::Nothing;
        if packets > 0 {
            self.tx.cc.on_send_alike(&Alike {
                now,
                packets,
                last: self.seqs.gss,
                has_more,
            });
            self.tally
                .on_data_packets_sent(packets, batch.last_len(), first.len);
            self.watch_sequence_window(now);
        }
        if is_drained && !has_more {
            self.on_lack_of_data(now, app);
        }
        !is_drained
    }

    /// How many packets like the last one of the batch may join it.
    fn alike_max(&self, now: Instant, batch: &Batch) -> u32 {
        let len = batch.segment_len();
        if batch.last_len() != len || self.features.wants_packet(now) {
            return 0;
        }
        let joins = self.batch_max.min(batch.room_for(len));
        let room = joins.saturating_sub(batch.len()).min(self.in_flight.room());
        let in_window = u32::try_from(self.room_in_peers_window()).unwrap_or(u32::MAX);
        let permitted = self.tx.cc.permit_alike(now, self.in_flight.pipe());
        permitted
            .min(in_window)
            .min(u32::try_from(room).unwrap_or(u32::MAX))
    }
}

#[cfg(test)]
mod tests;

//! Data packets. They leave in runs: packets of one length that share a header but for the sequence
//! number and the checksums.

use super::{App, Connection, Offer, Plan};
use crate::batch::Batch;
use crate::cc::Run;
use crate::conn::in_flight::{Record, SentPacket};
use crate::path::Path;
use crate::queue::Waiting;
use crate::seq::Seq;
use crate::time::Instant;
use crate::wire::{
    self, ChecksumRule, DataChecksumSlot, Ecn, Kind, OptionWriter, Options, PacketType, Place,
};

/// The common parts of the packets of a run.
struct Template {
    path: Path,
    ecn: Ecn,
    checksum: ChecksumRule,
    /// The header of the first packet, without checksums.
    header: Vec<u8>,
    packet_type: PacketType,
    is_short: bool,
    /// Checksum Coverage.
    cscov: u8,
    /// Where the options have room for a Data Checksum.
    data_checksum: Option<DataChecksumSlot>,
    /// Bytes of application data.
    len: usize,
    /// The application data are zeros, which are stored nowhere.
    is_zeros: bool,
    /// The record of a packet in flight.
    record: Record,
}

impl Connection {
    /// Claims datagrams of the length of `first` into the batch, at most `plan.packets`. Decisions
    /// for the first packet hold for all: no packet arrives and no time passes meanwhile. Returns
    /// whether others may follow.
    pub(super) fn send_run(
        &mut self,
        now: Instant,
        first: Offer,
        plan: &Plan,
        app: &mut App<'_>,
        batch: &mut Batch,
    ) -> bool {
        let (before, pipe) = (self.seqs.gss, self.in_flight.pipe());
        let kind = if plan.has_ack {
            Kind::DataAck { ack: self.ackno() }
        } else {
            Kind::Data
        };
        let mut options = self.write_data_options(now, kind, before.next(), &first, batch);
        let others_len = options.len();
        let template = self.template(now, kind, &first, &mut options, batch);
        let is_drained = self.claim_run(now, first, plan.packets, &template, app, batch);
        let has_more = app.outbox.waiting(now) != Waiting::Nothing;
        let packets = self.seqs.gss.steps_from(before);
        if let Some(packets) = u32::try_from(packets).ok().filter(|&n| n > 0) {
            if let Some(at) = self.scheduled.take() {
                batch.schedule(at);
            }
            self.tx.cc.on_sent(&Run {
                now,
                packets,
                last: self.seqs.gss,
                payload_len: template.len,
                pipe,
                has_more,
                is_short: template.is_short,
            });
            self.stats.on_data_sent(packets, template.len);
            if let Some(departure) = &mut self.departure {
                departure.on_sent(&self.config.rate_caps, now, packets, template.len);
            }
            self.after_send(now, template.packet_type, packets, batch);
        } else if plan.has_ack {
            // The application withdrew the datagram. The acknowledgement leaves alone.
            options.truncate(others_len);
            let kind = Kind::Ack { ack: self.ackno() };
            self.finish_packet(now, kind, &options, 0, app, batch);
        }
        batch.keep_option_memory(options);
        batch.keep_header_memory(template.header);
        if is_drained && !has_more {
            self.on_lack_of_data(now, app);
        }
        !is_drained
    }

    /// Lays out the packets of a run. Adds the options that every data packet has to `options`.
    fn template(
        &mut self,
        now: Instant,
        kind: Kind,
        first: &Offer,
        options: &mut OptionWriter,
        batch: &mut Batch,
    ) -> Template {
        let data_checksum = if self.config.data_checksum {
            options.push_data_checksum().ok()
        } else {
            None
        };
        // CCVal has four bits, and a CCID of another crate may return more.
        let ccval = self.tx.cc.prepare(now, options) & 0xf;
        let seq = self.seqs.gss.next();
        let mut packet = self.packet(kind, seq, first.len);
        packet.ccval = ccval;
        packet.options = Options(options.as_slice());
        let packet_type = kind.packet_type();
        let header_len = wire::header_len(packet_type, packet.is_short, options.len());
        let mut header = batch.header_memory(header_len);
        let written = wire::write_header_at(&mut header, &packet);
        debug_assert!(written.is_ok(), "{written:?}");
        if written.is_err() {
            // Bytes of an earlier header never leave.
            header.fill(0);
        }
        let path = self.flow.path;
        Template {
            path,
            ecn: self.ecn(),
            checksum: path.checksum_rule(),
            header,
            packet_type,
            is_short: packet.is_short,
            cscov: packet.cscov,
            data_checksum,
            len: first.len,
            is_zeros: first.is_zeros,
            record: self.in_flight.record(&SentPacket {
                now,
                seq,
                ccval,
                has_vector: matches!(kind, Kind::DataAck { .. }),
                data: Some(first.into()),
            }),
        }
    }

    /// Claims and appends datagrams, at most `packets`, beginning with `offer`. Returns whether the
    /// outbox ran out of datagrams.
    fn claim_run(
        &mut self,
        now: Instant,
        mut offer: Offer,
        packets: u32,
        template: &Template,
        app: &mut App<'_>,
        batch: &mut Batch,
    ) -> bool {
        let mut left = packets;
        loop {
            let seq = self.seqs.gss.next();
            if !template.claim(now, &offer, seq, app, batch) {
                return false;
            }
            self.seqs.next_to_send();
            let record = template.record.with_slot(offer.slot);
            self.push_record(now, record, app);
            left -= 1;
            if left == 0 {
                return false;
            }
            match app.outbox.peek(now) {
                None => return true,
                Some(next) if template.fits(&next) => offer = next,
                Some(_) => return false,
            }
        }
    }
}

impl Template {
    /// Whether a datagram can join the run.
    fn fits(&self, offer: &Offer) -> bool {
        (offer.len, offer.is_zeros) == (self.len, self.is_zeros)
    }

    /// Takes a datagram from the application, straight into its place in the batch behind its
    /// header. `false`: the application withdrew it meanwhile.
    #[inline]
    fn claim(
        &self,
        now: Instant,
        offer: &Offer,
        seq: Seq,
        app: &mut App<'_>,
        batch: &mut Batch,
    ) -> bool {
        let zeros = if self.is_zeros { self.len } else { 0 };
        let len = self.header.len() + self.len - zeros;
        batch.push(&self.path, self.ecn, len, zeros, |place| {
            let (header, payload) = place.split_at_mut(self.header.len());
            // The header is written before the payload: a later read of it need not wait until the
            // processor has stored the payload.
            header.copy_from_slice(&self.header);
            wire::renumber(header, seq);
            let mut payload = Place::new(payload, self.cscov, self.checksum);
            if !app.outbox.claim_into(now, offer.slot, &mut payload) {
                return false;
            }
            let sum = payload.sum();
            if let Some(slot) = self.data_checksum {
                let filled = wire::fill_data_checksum(place, zeros, slot);
                debug_assert!(filled.is_ok(), "{filled:?}");
            }
            let sealed = wire::seal_summed(place, zeros, sum, self.checksum);
            debug_assert!(sealed.is_ok(), "{sealed:?}");
            true
        })
    }
}

#[cfg(test)]
mod tests;

//! Acknowledgements: what they carry, and when one must leave without data.

use super::super::features::Side;
use super::super::{App, Connection, State};
use crate::batch::Batch;
use crate::cc::{AckDue, OutgoingAck};
use crate::queue::{Offer, Waiting};
use crate::seq::Seq;
use crate::time::Instant;
use crate::wire::features::Feature;
use crate::wire::options::{Elapsed, Opt};
use crate::wire::{Kind, OptionWriter, PacketType};
use core::time::Duration;

/// Acknowledgements that waited this long say so with Elapsed Time, whatever the CCID.
const ELAPSED_TIME_FROM: Duration = Duration::from_millis(1);

impl Connection {
    /// 4340-13.1-2, 4340-13.3-1
    pub(super) fn write_timestamps(
        &mut self,
        now: Instant,
        packet_type: PacketType,
        w: &mut OptionWriter,
    ) {
        if let Some(echo) = self.timestamp.take() {
            let elapsed = Elapsed::smallest(now - echo.arrived);
            let _ = w.push(&Opt::TimestampEcho {
                echo: echo.value,
                elapsed,
            });
        }
        if self.config.timestamps && packet_type != PacketType::DataAck {
            let _ = w.push(&Opt::Timestamp(now.timestamp()));
        }
    }

    /// Writes the content of an acknowledgement: Elapsed Time, the CCID's options, Data Dropped, Ack Vectors.
    pub(super) fn write_acknowledgement(
        &mut self,
        now: Instant,
        packet_type: PacketType,
        seq: Seq,
        w: &mut OptionWriter,
    ) {
        let waited = now - self.gsr_arrived;
        if waited >= ELAPSED_TIME_FROM || self.rx.cc.wants_elapsed_time() {
            let _ = w.push(&Opt::ElapsedTime(Elapsed::from_duration(waited)));
        }
        self.rx.cc.on_ack(&mut OutgoingAck {
            now,
            seq,
            ack: self.ackno(),
            has_data: packet_type == PacketType::DataAck,
            options: w,
        });
        // 4340-11.5-1, 4340-11.7-6: drops are few; where they are not, half of the room is theirs.
        let has_vector = self.features.value(Side::Local, Feature::SendAckVector) == 1;
        let room = w.remaining() / if has_vector { 2 } else { 1 };
        self.write_data_dropped(seq, w, room);
        if has_vector {
            let before = w.len();
            self.ack_vector.write(seq, w);
            self.stats.counters.ack_vector_bytes_out += (w.len() - before) as u64;
        }
        self.due.ack = false;
        self.due.ack_of_ack = false;
    }

    /// Adds Data Dropped options, of at most `room` bytes, to our packet `seq`, which leaves now.
    pub(super) fn write_data_dropped(&mut self, seq: Seq, w: &mut OptionWriter, room: usize) {
        let ack = self.ackno();
        self.data_dropped.write(seq, ack, w, room);
    }

    /// The newest acknowledgeable packet: what acknowledgements name and Ack Vectors begin with. GSR may
    /// be ahead of it, because of a packet that was valid but of an unexpected type (4340-5.1-9,
    /// 4340-8.5-7).
    pub(super) fn ackno(&self) -> Seq {
        self.ack_vector.newest().unwrap_or(self.seqs.gsr)
    }

    pub(super) fn send_ack(&mut self, now: Instant, app: &mut App<'_>, batch: &mut Batch) -> bool {
        self.send_packet(now, Kind::Ack { ack: self.ackno() }, 0, app, batch);
        true
    }

    /// Whether a pure Ack must leave if no data does.
    pub(super) fn is_ack_due(&self, now: Instant, app: &mut App<'_>) -> bool {
        self.may_send_acks()
            && (self.due.ack
                || self.rx.cc.ack_due(now) == AckDue::Now
                || self.features.wants_packet(now)
                || self.due.ack_of_ack && !self.next_data_takes_ack_of_ack(now, app))
    }

    /// Whether data wait that leave room for an acknowledgement of acknowledgements, which has time
    /// until they leave: a packet of its own would be one more in a queue that is full of ours.
    fn next_data_takes_ack_of_ack(&self, now: Instant, app: &mut App<'_>) -> bool {
        match app.outbox.waiting(now) {
            Waiting::Datagram(offer) => self.has_room_for_ack_of_ack(now, &offer),
            Waiting::OnRequest | Waiting::Nothing => false,
        }
    }

    pub(super) fn has_room_for_ack_of_ack(&self, now: Instant, offer: &Offer) -> bool {
        const ELAPSED_LEN: usize = 6;
        const ECHO_LEN: usize = 10;
        let has_elapsed =
            now - self.gsr_arrived >= ELAPSED_TIME_FROM || self.rx.cc.wants_elapsed_time();
        let wanted = self.ack_vector.option_len()
            + self.rx.cc.ack_options_len(now)
            + self.cookies.len()
            + self.ndp.option_len()
            + usize::from(has_elapsed) * ELAPSED_LEN
            + usize::from(self.timestamp.is_some()) * ECHO_LEN;
        wanted <= self.data_option_room(offer)
    }

    /// Whether the state has pure Acks.
    pub(in crate::conn) fn may_send_acks(&self) -> bool {
        matches!(
            self.state,
            State::PartOpen | State::Open | State::CloseReq | State::Closing
        )
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::Echo;
    use super::super::super::NoApp;
    use super::super::super::tests::{START, Waiting, ack, client, config, open};
    use super::*;
    use crate::queue::Slot;
    use crate::wire::{DropCode, ServiceCode};

    const RESPONSE: Kind = Kind::Response {
        ack: Seq::ZERO,
        service: ServiceCode::NONE,
    };

    #[test]
    fn acknowledgement_of_acknowledgements_counts_all_its_options() {
        // 4341-6.2-1: what does not fit beside the data goes alone.
        const ELAPSED: usize = 6;
        const ECHO: usize = 10;
        const NDP: usize = 5;
        const COOKIE: usize = 12;
        // Of CCID 2: when the packet arrived.
        const ONE_WAY: usize = 5;
        for case in 0..16 {
            let [has_ndp, has_elapsed, has_echo, has_cookie] =
                [1, 2, 4, 8].map(|bit| case & bit != 0);
            let mut conn = client(config());
            conn.ndp.set_enabled(has_ndp);
            for _ in 0..70_000 {
                conn.ndp.on_sent(false);
            }
            if has_cookie {
                let options = OptionWriter::new(0);
                let mut response = ack(&options);
                (response.seq, response.kind) = (conn.seqs.gsr, RESPONSE);
                conn.keep_cookie(&response, &[7; COOKIE - 2]);
            }
            let wait = Duration::from_millis(u64::from(has_elapsed));
            conn.timestamp = has_echo.then_some(Echo {
                value: 1,
                seq: Seq::new(7),
                arrived: START,
            });
            let parts = [
                (has_ndp, NDP),
                (has_elapsed, ELAPSED),
                (has_echo, ECHO),
                (has_cookie, COOKIE),
            ];
            let parts = parts.into_iter().filter(|(has, _)| *has);
            let wanted = ONE_WAY + parts.map(|(_, len)| len).sum::<usize>();
            let mut fitting = 0;
            for len in 0..conn.mps() + 40 {
                let offer = Offer {
                    slot: Slot(0),
                    len,
                    is_zeros: true,
                };
                let fits = wanted <= conn.data_option_room(&offer);
                fitting += usize::from(fits);
                let has_room = conn.has_room_for_ack_of_ack(START + wait, &offer);
                assert_eq!(has_room, fits, "{len} {case}");
            }
            assert!((1000..conn.mps() + 40).contains(&fitting), "{case}");
        }
    }

    #[test]
    fn receiver_gets_whether_its_acknowledgement_carries_data() {
        for (packet_type, has_data) in [(PacketType::Ack, 0), (PacketType::DataAck, 1)] {
            let mut conn = open(config());
            let mut w = OptionWriter::new(100);
            conn.write_acknowledgement(START, packet_type, Seq::new(1), &mut w);
            assert_eq!(w.as_slice(), [128, 3, has_data]);
        }
    }

    #[test]
    fn data_dropped_leaves_half_of_the_room_to_ack_vectors() {
        // 4340-11.5-1, 4340-11.7-6: where there are none, it has all.
        const ROOM: usize = 100;
        const OF_CCID: usize = 3;
        for has_vector in [true, false] {
            let mut conn = open(config());
            if has_vector {
                let asked_by = Seq::new(8);
                let option = Opt::ChangeR(crate::wire::options::FeatureOpt {
                    feature: Feature::SendAckVector.number(),
                    values: &[1],
                });
                let taken = conn.features.on_option(&option, false, asked_by, None);
                assert_eq!(taken, Ok(()));
                let mut w = OptionWriter::new(100);
                let types = (PacketType::Ack, conn.seqs.gss.next());
                conn.features
                    .write(START, types.0, types.1, Some(asked_by), &mut w);
            }
            // Every other packet: two blocks for each of them.
            conn.seqs.gsr = Seq::new(1000);
            let dropped = &mut conn.data_dropped;
            for seq in 300..500 {
                dropped.on_drop(Seq::new(2 * seq), DropCode::RECEIVE_BUFFER);
            }
            let mut w = OptionWriter::new(ROOM);
            conn.write_acknowledgement(START, PacketType::Ack, Seq::new(1), &mut w);
            let room = (ROOM - OF_CCID) / if has_vector { 2 } else { 1 };
            let used = w.len() - OF_CCID;
            assert!((room - 1..=room).contains(&used), "{used} of {room}");
        }
    }

    #[test]
    fn acknowledgement_of_acknowledgements_waits_for_data_with_room() {
        // 4341-6.2-1
        for (waiting, is_due) in [(&[][..], true), (&[100][..], false)] {
            let mut conn = open(config());
            conn.due.ack_of_ack = true;
            let mut app = App {
                outbox: &mut Waiting::new(waiting),
                inbox: &mut NoApp,
            };
            assert_eq!(conn.is_ack_due(START, &mut app), is_due);
        }
    }
}

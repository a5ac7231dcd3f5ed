//! The fates of captured packets, by the acknowledgements in the same capture.

use crate::numbers::Numbers;
use core::fmt;
use core::ops::RangeInclusive;
use dccp_proto::Seq;
use dccp_proto::wire::{AckState, Packet};
use std::collections::BTreeSet;

/// A missing packet counts as lost when a packet this much newer has arrived (RFC 4341 section 5: three later packets).
const LATER_PACKETS: i64 = 3;
/// Packets that wait for their fates. Above, the oldest are forgotten.
const WAITING_MAX: usize = 65_536;

/// The fate of a packet according to the peer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fate {
    /// It arrived.
    Acked,
    /// It arrived with a congestion mark.
    Marked,
    /// It arrived, and the peer dropped its data (Data Dropped option).
    Dropped,
    /// It did not arrive.
    Lost,
}

impl fmt::Display for Fate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Acked => "acked",
            Self::Marked => "marked",
            Self::Dropped => "dropped",
            Self::Lost => "lost",
        })
    }
}

/// Packets that one end of a connection sent, until their fates are known.
#[derive(Debug, Default)]
pub struct Fates {
    numbers: Option<Numbers>,
    waiting: BTreeSet<i64>,
    /// Those of them that an Ack Vector reported as missing. Later vectors need not repeat that.
    missing: BTreeSet<i64>,
}

impl Fates {
    /// Adds a packet that was sent, and returns its 48-bit sequence number.
    pub fn sent(&mut self, packet: &Packet<'_>) -> Seq {
        let seq = Numbers::add(&mut self.numbers, packet);
        if let Some(numbers) = self.numbers {
            self.waiting.insert(numbers.count(seq));
        }
        if self.waiting.len() > WAITING_MAX
            && let Some(oldest) = self.waiting.pop_first()
        {
            self.missing.remove(&oldest);
        }
        seq
    }

    /// Reads a packet that arrived, and gives the fates that it tells to `sink`, each packet once.
    ///
    /// Without Ack Vectors only the fate of the acknowledged packet itself is known.
    pub fn received(&mut self, packet: &Packet<'_>, sink: &mut dyn FnMut(Seq, Fate)) {
        let Some(numbers) = self.numbers else {
            return;
        };
        let Some(ack) = numbers.acknowledged(packet) else {
            return;
        };
        let newest = numbers.count(ack);
        // A number that was not sent is false, and so is all that the packet says of older ones.
        if newest > numbers.count(numbers.newest) {
            return;
        }
        for run in packet.options.drop_runs(ack) {
            if run.said.is_some() {
                let range = numbers.count(run.oldest)..=numbers.count(run.newest);
                self.settle(numbers, range, Fate::Dropped, sink);
            }
        }
        let mut has_vector = false;
        for run in packet.options.ack_runs(ack) {
            has_vector = true;
            let range = numbers.count(run.oldest)..=numbers.count(run.newest);
            let fate = match run.said {
                AckState::Received => Fate::Acked,
                AckState::Marked => Fate::Marked,
                AckState::NotReceived => {
                    self.missing.extend(self.waiting.range(range));
                    continue;
                }
                AckState::Reserved => continue,
            };
            self.settle(numbers, range, fate, sink);
        }
        while let Some(&oldest) = self.missing.first()
            && oldest + LATER_PACKETS <= newest
        {
            self.settle(numbers, oldest..=oldest, Fate::Lost, sink);
        }
        if !has_vector {
            self.settle(numbers, newest..=newest, Fate::Acked, sink);
        }
    }

    fn settle(
        &mut self,
        numbers: Numbers,
        range: RangeInclusive<i64>,
        fate: Fate,
        sink: &mut dyn FnMut(Seq, Fate),
    ) {
        if range.is_empty() {
            return;
        }
        let mut from = *range.start();
        while let Some(&count) = self.waiting.range(from..=*range.end()).next() {
            self.waiting.remove(&count);
            self.missing.remove(&count);
            let steps = count.unsigned_abs();
            sink(
                if count < 0 {
                    numbers.first.minus(steps)
                } else {
                    numbers.first.plus(steps)
                },
                fate,
            );
            from = count;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dccp_proto::wire::{AckCell, Kind, Opt, OptionWriter, Options, Payload};

    /// Two numbers after it the sequence numbers wrap.
    const ISS: u64 = 0xffff_ffff_fffe;

    fn packet(seq: u64, kind: Kind, options: Options<'_>) -> Packet<'_> {
        Packet {
            source_port: 5001,
            dest_port: 6001,
            ccval: 0,
            cscov: 0,
            is_short: false,
            seq: Seq::new(seq),
            kind,
            options,
            payload: Payload::Bytes(&[]),
        }
    }

    fn sent(packets: u64) -> Fates {
        let mut fates = Fates::default();
        for n in 0..packets {
            let data = packet(Seq::new(ISS).plus(n).value(), Kind::Data, Options::EMPTY);
            assert_eq!(fates.sent(&data), Seq::new(ISS).plus(n));
        }
        fates
    }

    /// The fates that an acknowledgement with these cells tells, by the packets' positions.
    fn told(fates: &mut Fates, newest: u64, cells: &[(AckState, u8)]) -> Vec<(u64, Fate)> {
        let cells: Vec<u8> = cells
            .iter()
            .map(|&(state, len)| AckCell { state, len }.to_byte())
            .collect();
        let mut options = OptionWriter::new(100);
        if !cells.is_empty() {
            let vector = Opt::AckVector {
                nonce: false,
                cells: &cells,
            };
            options.push(&vector).expect("room");
        }
        let ack = Seq::new(ISS).plus(newest);
        let mut told = Vec::new();
        fates.received(
            &packet(9, Kind::Ack { ack }, options.options()),
            &mut |seq, fate| told.push((seq.steps_from(Seq::new(ISS)), fate)),
        );
        told.sort_by_key(|(position, _)| *position);
        told
    }

    #[test]
    fn vector_tells_each_fate_once() {
        let mut fates = sent(8);
        let cells = [
            (AckState::Received, 3),
            (AckState::NotReceived, 1),
            (AckState::Marked, 1),
            (AckState::Received, 1),
        ];
        let expected = [
            (0, Fate::Acked),
            (1, Fate::Marked),
            (2, Fate::Lost),
            (3, Fate::Acked),
            (4, Fate::Acked),
            (5, Fate::Acked),
        ];
        assert_eq!(told(&mut fates, 5, &cells), expected);
        assert_eq!(told(&mut fates, 5, &cells), []);
        assert_eq!(told(&mut fates, 7, &[(AckState::Received, 2)]).len(), 2);
    }

    #[test]
    fn missing_packet_is_lost_after_three_later_ones() {
        let mut fates = sent(5);
        let missing = |after| [(AckState::Received, after), (AckState::NotReceived, 1)];
        assert_eq!(told(&mut fates, 2, &missing(2)).len(), 2);
        assert_eq!(
            told(&mut fates, 3, &missing(3)),
            [(0, Fate::Lost), (3, Fate::Acked)]
        );
    }

    /// The peer leaves reports out when it knows that they arrived.
    #[test]
    fn loss_is_known_though_its_report_is_not_repeated() {
        let mut fates = sent(6);
        let missing = [(AckState::Received, 1), (AckState::NotReceived, 1)];
        assert_eq!(told(&mut fates, 1, &missing), [(1, Fate::Acked)]);
        let later = [(AckState::Received, 2)];
        let expected = [(0, Fate::Lost), (3, Fate::Acked), (4, Fate::Acked)];
        assert_eq!(told(&mut fates, 4, &later), expected);
    }

    #[test]
    fn acknowledgement_without_vector_tells_of_one_packet() {
        let mut fates = sent(5);
        assert_eq!(told(&mut fates, 3, &[]), [(3, Fate::Acked)]);
    }

    #[test]
    fn acknowledgement_of_a_packet_not_sent_tells_nothing() {
        let mut fates = sent(2);
        assert_eq!(told(&mut fates, 7, &[(AckState::Received, 8)]), []);
    }
}

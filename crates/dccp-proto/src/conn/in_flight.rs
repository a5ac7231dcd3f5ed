//! Tracks sent packets until their fate is known, and makes one [`Feedback`] per acknowledgement (RFC
//! 4340 §11.4, RFC 4341 §5).
//!
//! ```text
//!    front              decided            received  received  received    gss
//!      | all of it is decided | to be decided  |         |         |        |
//!      +----------------------+----------------+---------+---------+--------+
//!        kept for late reports  fewer than 3 later packets are received
//! ```
//!
//! Every packet, with data or without, has a record in a ring from the moment that it is sent; its
//! **position** is the number of packets sent before it. A packet is **decided** when it is
//! received, or taken for lost because [`NUM_DUP_ACK`] packets that were sent after it are received.
//! So all packets below the third-newest received one are decided, and an Ack Vector is read only
//! down to there. Reading costs as much as is new, whatever the window. Once per
//! round trip reports are read as far as the records reach. That finds late changes: packets that
//! were taken for lost and yet arrived, late marks and late drops. Records stay for at least one
//! round trip after they were decided.

mod news;
mod pipe;
mod read;
mod record;
mod report;
#[cfg(test)]
mod tests;

use crate::cc::Feedback;
use crate::cc::delivery::DeliveryRate;
use crate::config::bounds::IN_FLIGHT_PACKETS;
use crate::queue::{Fate, Offer, Slot};
use crate::seq::Seq;
use crate::time::Instant;
use crate::wire::Options;
use core::time::Duration;
use news::News;
use pipe::Pipe;
pub(crate) use record::Record;
use record::{Data, State};

use std::collections::VecDeque;

/// A packet counts as lost when this many later packets are received (4341-5-3).
const NUM_DUP_ACK: usize = 3;

/// Each data packet moves the mean size by the difference divided by this number.
const MEAN_SIZE_GAIN: u64 = 16;

/// Takes the fate of each datagram, exactly once.
pub(crate) type TellFate<'a> = &'a mut dyn FnMut(Slot, Fate);

/// A packet that has just been sent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SentPacket {
    /// When it departed.
    pub(crate) now: Instant,
    /// Its sequence number: the one after the last.
    pub(crate) seq: Seq,
    /// Its CCVal.
    pub(crate) ccval: u8,
    /// It carried an Ack Vector, whose receipt frees our own acknowledgement state.
    pub(crate) has_vector: bool,
    /// Its application data, if it had any.
    pub(crate) data: Option<SentData>,
}

/// The application data of a sent packet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SentData {
    /// The application's name for it.
    pub(crate) slot: Slot,
    /// Bytes of application data.
    pub(crate) len: usize,
}

impl From<&Offer> for SentData {
    fn from(offer: &Offer) -> Self {
        let Offer { slot, len, .. } = *offer;
        Self { slot, len }
    }
}

/// The peer's report on a number that no packet carried.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum WithheldReport {
    /// Nothing so far.
    None,
    /// Later packets were received, and it was not: true.
    NotReceived,
    /// It was received: false.
    Received,
}

/// An acknowledgement that arrived: any valid packet with an Acknowledgement Number but a Sync
/// (4340-5.7-1).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ack<'a> {
    /// Its sequence number.
    pub(crate) seq: Seq,
    /// Its Acknowledgement Number.
    pub(crate) names: Seq,
    /// Its Elapsed Time, or that of its Timestamp Echo.
    pub(crate) elapsed: Option<Duration>,
    /// It left as soon as what it acknowledges had come: a Response, and a client's answer to it.
    pub(crate) is_prompt: bool,
    /// It had a Slow Receiver option.
    pub(crate) slow_receiver: bool,
    /// Acknowledgements lost or marked since the last one (`reverse_path.rs`).
    pub(crate) acks_lost: u32,
    /// Its options: Ack Vectors and Data Dropped are read here, the CCID's are passed on.
    pub(crate) options: Options<'a>,
}

/// Counts of events that no [`Feedback`] reports, for statistics.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Oddities {
    /// Data packets that were taken for lost and then reported as received.
    pub(crate) spurious_losses: u64,
    /// Acknowledgements whose Ack Vectors reach below the first packet (4340-11.4-4).
    pub(crate) invalid_vectors: u64,
    /// Acknowledgements whose Data Dropped options do so (4340-11.7-7).
    pub(crate) invalid_drops: u64,
    /// Records dropped because there were too many.
    pub(crate) forgotten: u64,
}

/// Received and missing data by length. A path that loses only long datagrams is too narrow for them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct LargeNews {
    /// The longest datagram reported as received; 0 if there is none.
    pub(crate) received_len: usize,
    /// Large datagrams lost, or gone without a report.
    pub(crate) gone: u32,
    /// The shortest of these; `usize::MAX` if there is none.
    pub(crate) gone_len: usize,
}

impl LargeNews {
    const NONE: Self = Self {
        received_len: 0,
        gone: 0,
        gone_len: usize::MAX,
    };

    /// A large datagram of this length is gone.
    fn note_gone(&mut self, len: usize) {
        self.gone += 1;
        self.gone_len = self.gone_len.min(len);
    }
}

/// The packets in flight, and those before them that late reports may still concern.
#[derive(Debug)]
pub(crate) struct InFlight {
    iss: Seq,
    /// Position of the oldest record.
    front: u64,
    records: VecDeque<Record>,
    /// All packets below this position are decided; never below `front`.
    decided: u64,
    newest_received: NewestReceived,
    round: u64,
    /// Where this round trip and the two before it began, oldest first.
    round_starts: [u64; 3],
    is_deep_read_due: bool,
    expects_vectors: bool,
    pipe: Pipe,
    /// Mean size of data packets, in bytes times [`MEAN_SIZE_GAIN`].
    mean_size_scaled: u64,
    delivery: DeliveryRate,
    acked_vector: Option<Seq>,
    /// Datagrams longer than this are large.
    large_len: usize,
    large: LargeNews,
    oddities: Oddities,
}

impl InFlight {
    /// Nothing sent yet; the first packet will have the number `iss`.
    pub(crate) fn new(iss: Seq) -> Self {
        Self {
            iss,
            front: 0,
            records: VecDeque::new(),
            decided: 0,
            newest_received: NewestReceived::default(),
            round: 0,
            round_starts: [0; 3],
            is_deep_read_due: false,
            expects_vectors: false,
            pipe: Pipe::default(),
            mean_size_scaled: 0,
            delivery: DeliveryRate::default(),
            acked_vector: None,
            large_len: usize::MAX,
            large: LargeNews::NONE,
            oddities: Oddities::default(),
        }
    }

    /// Whether the peer has agreed to send Ack Vectors (4340-11.5-1). While it has not, an
    /// acknowledgement without one means that all older packets have left the network; their fate is
    /// `Sent`.
    pub(crate) fn expect_vectors(&mut self, yes: bool) {
        self.expects_vectors = yes;
    }

    /// Whether the peer has agreed to send Ack Vectors.
    pub(crate) fn expects_vectors(&self) -> bool {
        self.expects_vectors
    }

    /// Returns the peer's report on the withheld number `seq`. It is known for at least a round trip after the report.
    pub(crate) fn report_on_withheld(&self, seq: Seq) -> WithheldReport {
        let record = self.position(seq).and_then(|pos| self.record_at(pos));
        match record {
            Some(record) if record.is_received() => WithheldReport::Received,
            Some(record) if record.is(State::Lost) => WithheldReport::NotReceived,
            _ => WithheldReport::None,
        }
    }

    /// Data packets in flight (4341-5-1).
    pub(crate) fn pipe(&self) -> u32 {
        self.pipe.packets()
    }

    /// Bytes of application data in flight.
    pub(crate) fn pipe_bytes(&self) -> u64 {
        self.pipe.bytes()
    }

    /// How many bytes of application data a mean packet has had lately; 0 if there was none.
    pub(crate) fn mean_size(&self) -> usize {
        index(self.mean_size_scaled / MEAN_SIZE_GAIN)
    }

    /// Returns the counts that no feedback reports.
    pub(crate) fn oddities(&self) -> Oddities {
        self.oddities
    }

    /// The newest of our packets with an Ack Vector that has become acknowledged since the last call:
    /// what it reported, and with it all that older ones did, need not be kept (4340-A-1).
    pub(crate) fn take_acked_vector(&mut self) -> Option<Seq> {
        self.acked_vector.take()
    }

    /// Returns the fates of large datagrams from the last acknowledgement.
    /// [`set_large_len`](Self::set_large_len) sets which are large.
    pub(crate) fn large_news(&self) -> LargeNews {
        self.large
    }

    /// Datagrams longer than `len` are large.
    pub(crate) fn set_large_len(&mut self, len: usize) {
        self.large_len = len;
    }

    /// Bytes of application data of a sent packet, unless it had none or the peer has reported it as received.
    pub(crate) fn unreceived_len(&self, seq: Seq) -> Option<usize> {
        let record = self.record_at(self.position(seq)?)?;
        let len = record.len().filter(|_| !record.is_received());
        len.map(usize::from)
    }

    /// The time from the departure of this packet to that of the next one, if both are known.
    pub(crate) fn time_to_next(&self, seq: Seq) -> Option<Duration> {
        let pos = self.position(seq)?;
        Some(self.record_at(pos + 1)?.sent_at() - self.record_at(pos)?.sent_at())
    }

    /// Large datagrams in flight, as if they were gone; takes time in proportion to all that is.
    pub(crate) fn large_in_flight(&self) -> LargeNews {
        let undecided = self.records.range(index(self.decided - self.front)..);
        let in_flight = undecided.filter(|r| r.is(State::InFlight));
        let lengths = in_flight.filter_map(|r| r.len().map(usize::from));
        let mut large = LargeNews::NONE;
        for len in lengths.filter(|&len| len > self.large_len) {
            large.note_gone(len);
        }
        large
    }

    /// Makes the record of a packet that departs now. [`push`](Self::push) puts it in flight.
    pub(crate) fn record(&mut self, packet: &SentPacket) -> Record {
        debug_assert_eq!(packet.seq, self.seq_at(self.end()), "numbers have no gaps");
        let is_first = self.pipe.packets() == 0;
        let data = packet.data.map(|data| Data {
            slot: data.slot,
            len: u16::try_from(data.len).unwrap_or(u16::MAX),
            stamp: self.delivery.on_send(packet.now, is_first),
            is_dropped: false,
        });
        Record::new(packet, data)
    }

    /// A packet departed. Beyond [`IN_FLIGHT_PACKETS`] records (28 MiB) the oldest is dropped: later
    /// reports about it are ignored (4340-11.4.1-3). An open fate becomes `Sent`.
    #[inline]
    pub(crate) fn push(&mut self, record: Record, tell: TellFate<'_>) {
        if self.records.len() == IN_FLIGHT_PACKETS {
            self.oddities.forgotten += 1;
            self.forget_oldest(tell);
        }
        if let Some(len) = record.len() {
            self.pipe.add(len);
            self.mean_size_scaled = match self.mean_size_scaled {
                0 => u64::from(len) * MEAN_SIZE_GAIN,
                mean => mean - mean / MEAN_SIZE_GAIN + u64::from(len),
            };
        }
        self.records.push_back(record);
    }

    /// The window has room, but the application has no data: rate samples of what is sent until the
    /// data now in flight has been delivered say little about the path.
    pub(crate) fn on_app_limited(&mut self) {
        self.delivery.on_app_limited(self.pipe.bytes());
    }

    /// The retransmission timeout: nothing is in flight any more (4341-5-2). A late report still
    /// decides the fate of what was.
    pub(crate) fn on_timeout(&mut self) {
        let decided = index(self.decided - self.front);
        for record in self.records.range_mut(decided..) {
            if record.is(State::InFlight) {
                record.set_state(State::TimedOut);
            }
        }
        self.pipe.clear();
    }

    /// Ends all records. Data without a report get the fate `Sent`.
    pub(crate) fn on_close(&mut self, tell: TellFate<'_>) {
        while !self.records.is_empty() {
            self.forget_oldest(&mut *tell);
        }
    }

    /// An acknowledgement arrived. `None` if it names a packet that was never sent.
    pub(crate) fn on_ack<'a>(
        &mut self,
        now: Instant,
        ack: &Ack<'a>,
        tell: TellFate<'_>,
    ) -> Option<Feedback<'a>> {
        let named = self.position(ack.names)?;
        self.pipe.note_max();
        let before = self.record_at(named).copied();
        let mut news = News::new(now, self.large_len, tell);
        let has_vector = self.read_reports(ack.options, named, &mut news);
        if has_vector {
            self.infer_losses(named, &mut news);
        } else if !self.expects_vectors {
            self.pass_older(named, &mut news);
        }
        self.advance_round();
        if news.spurious_losses > 0 {
            self.oddities.spurious_losses += news.spurious_losses;
        }
        self.large = news.large;
        if let Some(pos) = news.newest_vector {
            self.acked_vector = Some(self.seq_at(pos));
        }
        let sample = news
            .newest_data
            .and_then(|(_, r)| Some((r.data()?.stamp, r.sent_at())));
        Some(Feedback {
            seq: ack.seq,
            ack: ack.names,
            acked: news.acked,
            marked: news.marked,
            lost: news.lost,
            congestion: news.congestion.map(|pos| self.seq_at(pos)),
            drops: news.drops,
            slow_receiver: ack.slow_receiver,
            rtt: before.and_then(|r| r.rtt(now, ack)),
            ack_sent_at: before.map(|r| r.sent_at()),
            ack_ccval: before.filter(|r| r.len().is_some()).map(|r| r.ccval()),
            pipe: self.pipe.packets(),
            pipe_max: self.pipe.take_max(),
            delivered_rate: sample.and_then(|(s, sent_at)| self.delivery.sample(now, &s, sent_at)),
            is_app_limited: sample.is_some_and(|(s, _)| s.is_app_limited),
            round: self.round,
            acks_lost: ack.acks_lost,
            mean_size: self.mean_size(),
            gss: self.seq_at(self.end()).minus(1),
            options: ack.options,
            elapsed: ack.elapsed,
        })
    }

    /// A round trip is over when a packet is received that was sent after the last one was over.
    /// Then records that were decided a round trip ago are dropped.
    fn advance_round(&mut self) {
        let [_, previous, current] = self.round_starts;
        if self.newest_received.newest() < Some(current) {
            return;
        }
        self.round += 1;
        self.round_starts = [previous, current, self.end()];
        self.is_deep_read_due = true;
        let old = previous.min(self.decided).saturating_sub(self.front);
        self.records.drain(..index(old));
        self.front += old;
    }

    /// Gives up the oldest record.
    #[cold]
    fn forget_oldest(&mut self, tell: TellFate<'_>) {
        let Some(record) = self.records.pop_front() else {
            return;
        };
        self.pipe.note_max();
        self.pipe.remove(&record);
        self.front += 1;
        self.decided = self.decided.max(self.front);
        if record.is_open() {
            record.tell(tell, Fate::Sent);
        }
    }

    fn record_at(&self, pos: u64) -> Option<&Record> {
        self.records.get(index(pos.checked_sub(self.front)?))
    }

    /// Position of the next packet.
    fn end(&self) -> u64 {
        self.front + self.records.len() as u64
    }

    fn seq_at(&self, pos: u64) -> Seq {
        self.iss.plus(pos)
    }

    /// The position of the packet with this number, if it was ever sent.
    fn position(&self, seq: Seq) -> Option<u64> {
        let next = self.end();
        next.checked_add_signed(seq.distance(self.seq_at(next)))
            .filter(|&pos| pos < next)
    }
}

/// The greatest positions that were reported as received, greatest first: as the numbers of packets up to there, so
/// that 0 stands for none.
#[derive(Debug, Default)]
struct NewestReceived([u64; NUM_DUP_ACK]);

impl NewestReceived {
    fn note(&mut self, pos: u64) {
        let [.., oldest] = &mut self.0;
        if *oldest <= pos {
            *oldest = pos + 1;
            self.0.sort_unstable_by(|a, b| b.cmp(a));
        }
    }

    fn newest(&self) -> Option<u64> {
        let [newest, ..] = self.0;
        newest.checked_sub(1)
    }

    /// The position below which enough later packets are received; 0 while they are too few.
    fn oldest(&self) -> u64 {
        let [.., oldest] = self.0;
        oldest.saturating_sub(1)
    }
}

/// A place in the ring, which has no more of them than `usize` can count.
fn index(n: u64) -> usize {
    usize::try_from(n).unwrap_or(usize::MAX)
}

//! Messages cut into numbered parts that fit in a packet, and repeated until they are acknowledged, so that no count
//! depends on the luck of one packet.
//!
//! A message is JSON. This is a datagram:
//!
//! ```text
//!  0    2       3     4        8     12
//!  +----+-------+-----+--------+-----+---- …
//!  | DC |version|flags| number | ack | part of a message
//!  +----+-------+-----+--------+-----+---- …
//! ```
//!
//! `number` counts parts from 1, 0 is no part but only an acknowledgement; `ack` is the number up to
//! which all parts of the other end have arrived. Flag 1 marks the last part of a message. Fields of
//! a message that this version does not know are ignored; the version of the head is that of this
//! framing. Bounds: [`PARTS_MAX`] parts on their way, [`MESSAGE_MAX`] bytes in a message, [`HEARD_MAX`]
//! messages and [`HEARD_BYTES_MAX`] bytes that were not taken.

use super::lost::Lost;
use super::message::Message;
use core::time::Duration;
use dccp::Instant;
use std::collections::{BTreeMap, VecDeque};

/// Bytes of a message.
pub(crate) const MESSAGE_MAX: usize = 64 << 10;
/// Parts that wait for their acknowledgement.
pub(super) const PARTS_MAX: usize = 256;
/// Messages that have arrived and were not taken, and their bytes.
const HEARD_MAX: usize = 2 * PARTS_MAX;
const HEARD_BYTES_MAX: usize = 16 * MESSAGE_MAX;
/// Bytes of a part: fits in the smallest packet of a path (RFC 8899's base).
pub(super) const PART_BYTES: usize = 400;
/// Parts of the longest message.
const MESSAGE_PARTS: usize = MESSAGE_MAX.div_ceil(PART_BYTES);
pub(super) const HEAD_BYTES: usize = 12;
pub(super) const MAGIC: [u8; 2] = *b"DC";
const VERSION: u8 = 1;
const LAST_PART: u8 = 1;
/// A part is repeated after this time, doubled with each attempt up to the maximum.
const REPEAT_FIRST: Duration = Duration::from_millis(250);
const REPEAT_MAX: Duration = Duration::from_secs(1);

/// The parts on their way in both directions, without sockets and clocks.
#[derive(Default)]
pub(super) struct Parts {
    /// Number of the last part made.
    said: u32,
    unheard: VecDeque<Part>,
    /// Number up to which all parts have arrived.
    arrived: u32,
    /// Parts that have arrived before earlier ones, by their numbers.
    early: BTreeMap<u32, (u8, Vec<u8>)>,
    /// The beginning of a message.
    pending: Vec<u8>,
    /// Messages that were not taken, with their bytes.
    heard: VecDeque<(usize, Message)>,
    heard_bytes: usize,
}

struct Part {
    number: u32,
    flags: u8,
    bytes: Vec<u8>,
    repeat_at: Instant,
    repeat_after: Duration,
}

impl Parts {
    /// Whether the longest message has room.
    pub(super) fn has_room(&self) -> bool {
        self.unheard.len() + MESSAGE_PARTS <= PARTS_MAX
    }

    /// Whether more than half of the room waits for acknowledgements: optional messages should be left out.
    pub(super) fn is_behind(&self) -> bool {
        self.unheard.len() > PARTS_MAX / 2
    }

    /// Whether everything has been acknowledged.
    pub(super) fn is_heard(&self) -> bool {
        self.unheard.is_empty()
    }

    /// The number up to which all parts have arrived.
    pub(super) fn arrived(&self) -> u32 {
        self.arrived
    }

    /// Whether [`take`](Self::take) has a message.
    pub(super) fn has_message(&self) -> bool {
        !self.heard.is_empty()
    }

    /// The next message that has arrived.
    pub(super) fn take(&mut self) -> Option<Message> {
        let (bytes, message) = self.heard.pop_front()?;
        self.heard_bytes -= bytes;
        Some(message)
    }

    pub(super) fn say(&mut self, message: &Message) -> Result<(), Lost> {
        let text = serde_json::to_vec(message).map_err(|_| Lost::Nonsense)?;
        let parts = text.chunks(PART_BYTES);
        let last = parts.len().saturating_sub(1);
        if text.len() > MESSAGE_MAX || self.unheard.len() + parts.len() > PARTS_MAX {
            return Err(Lost::TooMuch);
        }
        for (i, bytes) in parts.enumerate() {
            self.said += 1;
            self.unheard.push_back(Part {
                number: self.said,
                flags: if i == last { LAST_PART } else { 0 },
                bytes: bytes.to_vec(),
                repeat_at: Instant::ZERO,
                repeat_after: REPEAT_FIRST,
            });
        }
        Ok(())
    }

    /// The datagrams that are to be sent (again) by `now`.
    pub(super) fn due(&mut self, now: Instant) -> Vec<Vec<u8>> {
        let ack = self.arrived;
        let mut due = Vec::new();
        for part in self.unheard.iter_mut().filter(|p| p.repeat_at <= now) {
            due.push(datagram(part.flags, part.number, ack, &part.bytes));
            part.repeat_at = now + part.repeat_after;
            part.repeat_after = (part.repeat_after * 2).min(REPEAT_MAX);
        }
        due
    }

    pub(super) fn next_repeat(&self) -> Option<Instant> {
        self.unheard.iter().map(|p| p.repeat_at).min()
    }

    pub(super) fn acknowledgement(&self) -> Vec<u8> {
        datagram(0, 0, self.arrived, &[])
    }

    /// Takes a datagram; whether it wants an acknowledgement.
    pub(super) fn hear(&mut self, datagram: &[u8]) -> Result<bool, Lost> {
        let (flags, number, ack, bytes) = read(datagram).ok_or(Lost::Nonsense)?;
        while self.unheard.front().is_some_and(|p| p.number <= ack) {
            self.unheard.pop_front();
        }
        if number == 0 {
            return Ok(false);
        }
        // A part that the peer repeats has arrived before. One far ahead is repeated later.
        let ahead = number.wrapping_sub(self.arrived);
        if (1..=PARTS_MAX).contains(&(ahead as usize)) {
            self.early.insert(number, (flags, bytes.to_vec()));
        }
        while let Some((flags, bytes)) = self.early.remove(&self.arrived.wrapping_add(1)) {
            self.arrived = self.arrived.wrapping_add(1);
            self.append(flags, &bytes)?;
        }
        Ok(true)
    }

    /// Appends the next part to its message.
    fn append(&mut self, flags: u8, bytes: &[u8]) -> Result<(), Lost> {
        let length = self.pending.len() + bytes.len();
        if length > MESSAGE_MAX
            || self.heard_bytes + length > HEARD_BYTES_MAX
            || self.heard.len() >= HEARD_MAX
        {
            return Err(Lost::Nonsense);
        }
        self.pending.extend_from_slice(bytes);
        if flags & LAST_PART != 0 {
            let text = core::mem::take(&mut self.pending);
            let message = serde_json::from_slice(&text).map_err(|_| Lost::Nonsense)?;
            self.heard.push_back((text.len(), message));
            self.heard_bytes += text.len();
        }
        Ok(())
    }
}

pub(super) fn datagram(flags: u8, number: u32, ack: u32, bytes: &[u8]) -> Vec<u8> {
    let mut datagram = Vec::with_capacity(HEAD_BYTES + bytes.len());
    datagram.extend_from_slice(&MAGIC);
    datagram.extend_from_slice(&[VERSION, flags]);
    datagram.extend_from_slice(&number.to_be_bytes());
    datagram.extend_from_slice(&ack.to_be_bytes());
    datagram.extend_from_slice(bytes);
    datagram
}

/// The flags, the number, the acknowledgement and the part of a datagram; `None` if it is of another kind.
pub(super) fn read(datagram: &[u8]) -> Option<(u8, u32, u32, &[u8])> {
    let (magic, rest) = datagram.split_first_chunk::<2>()?;
    let (&[version, flags], rest) = rest.split_first_chunk::<2>()?;
    let (number, rest) = rest.split_first_chunk()?;
    let (ack, bytes) = rest.split_first_chunk()?;
    (*magic == MAGIC && version == VERSION).then_some((
        flags,
        u32::from_be_bytes(*number),
        u32::from_be_bytes(*ack),
        bytes,
    ))
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::wire::message::{RefusalCode, Refused};
    use rand_xoshiro::Xoshiro256PlusPlus;
    use rand_xoshiro::rand_core::{Rng as _, SeedableRng as _};

    /// A message of several parts.
    pub(in crate::wire) fn long() -> Message {
        Message::Refused(Refused::new(RefusalCode::Busy, "x".repeat(1000), "y"))
    }

    /// Plays a conversation over a network that loses the datagrams for which `loses` is true.
    fn play(messages: &[Message], mut loses: impl FnMut(usize) -> bool) -> Vec<Message> {
        let (mut a, mut b) = (Parts::default(), Parts::default());
        for m in messages {
            a.say(m).unwrap();
        }
        let mut now = Instant::ZERO;
        let mut count = 0;
        let mut arrives = || {
            count += 1;
            !loses(count)
        };
        for _ in 0..200 {
            for datagram in a.due(now) {
                if arrives() && b.hear(&datagram).unwrap() && arrives() {
                    a.hear(&b.acknowledgement()).unwrap();
                }
            }
            now += REPEAT_FIRST;
        }
        assert!(a.unheard.is_empty());
        core::iter::from_fn(|| b.take()).collect()
    }

    #[test]
    fn messages_arrive_in_order_whatever_single_packet_is_lost() {
        let messages = [long(), Message::Start, Message::Joined { flow: 3 }, long()];
        for lost in 0..20 {
            assert_eq!(play(&messages, |n| n == lost), messages);
        }
    }

    #[test]
    fn messages_arrive_though_half_of_all_packets_are_lost() {
        let messages = [Message::Joined { flow: u32::MAX }, long(), Message::Bye];
        let mut state = 12345_u32;
        let loses = |_| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            state >> 31 == 1
        };
        assert_eq!(play(&messages, loses), messages);
    }

    #[test]
    fn a_repeated_part_is_taken_once() {
        let (mut a, mut b) = (Parts::default(), Parts::default());
        a.say(&Message::Start).unwrap();
        let due = a.due(Instant::ZERO);
        assert_eq!(b.hear(&due[0]), Ok(true));
        assert_eq!(b.hear(&due[0]), Ok(true));
        assert_eq!(b.heard.len(), 1);
    }

    #[test]
    fn nonsense_and_floods_are_refused() {
        let mut parts = Parts::default();
        assert_eq!(parts.hear(b"GET / HTTP/1.1"), Err(Lost::Nonsense));
        assert_eq!(
            parts.hear(&datagram(LAST_PART, 1, 0, b"{\"message\":\"shout\"}")),
            Err(Lost::Nonsense)
        );
        let mut parts = Parts::default();
        let flood = (1..).try_for_each(|n| {
            parts
                .hear(&datagram(0, n, 0, &[b' '; PART_BYTES]))
                .map(|_| ())
        });
        assert_eq!(flood, Err(Lost::Nonsense));
        assert!(parts.pending.len() <= MESSAGE_MAX);
    }

    // On a path that loses and reorders, few parts would arrive between two gaps.
    #[test]
    fn parts_after_a_gap_are_kept() {
        let (mut a, mut b) = (Parts::default(), Parts::default());
        a.say(&of_bytes(MESSAGE_MAX)).unwrap();
        let datagrams = a.due(Instant::ZERO);
        let (first, behind) = datagrams.split_first().unwrap();
        for datagram in behind.iter().rev() {
            b.hear(datagram).unwrap();
        }
        assert_eq!(b.take(), None);
        b.hear(first).unwrap();
        assert_eq!(b.take(), Some(of_bytes(MESSAGE_MAX)));
        a.hear(&b.acknowledgement()).unwrap();
        assert!(a.unheard.is_empty());
    }

    #[test]
    fn parts_far_ahead_are_not_kept() {
        let mut parts = Parts::default();
        for number in 2..10_000 {
            let far = datagram(0, number, 0, &[b' '; PART_BYTES]);
            parts.hear(&far).unwrap();
        }
        assert_eq!(parts.early.len(), PARTS_MAX - 1);
        assert_eq!(parts.arrived, 0);
    }

    #[test]
    fn fields_of_a_later_version_are_ignored() {
        let mut parts = Parts::default();
        let text = br#"{"message":"joined","flow":1,"colour":"red"}"#;
        parts.hear(&datagram(LAST_PART, 1, 0, text)).unwrap();
        assert_eq!(parts.take(), Some(Message::Joined { flow: 1 }));
    }

    /// A message of this many bytes.
    pub(in crate::wire) fn of_bytes(bytes: usize) -> Message {
        let message =
            |text: usize| Message::Refused(Refused::new(RefusalCode::Busy, "x".repeat(text), "y"));
        let head = serde_json::to_vec(&message(0)).unwrap().len();
        message(bytes - head)
    }

    #[test]
    fn longest_message_has_room_after_a_wait() {
        let mut parts = Parts::default();
        assert_eq!(parts.say(&of_bytes(MESSAGE_MAX + 1)), Err(Lost::TooMuch));
        let longest = of_bytes(MESSAGE_MAX);
        parts.say(&longest).unwrap();
        assert!(!parts.has_room());
        assert_eq!(parts.say(&longest), Err(Lost::TooMuch));
        // The peer acknowledges what fills the window.
        let number = u32::try_from(2 * MESSAGE_PARTS - PARTS_MAX).unwrap();
        parts.hear(&datagram(0, 0, number, &[])).unwrap();
        assert!(parts.has_room());
        parts.say(&longest).unwrap();
    }

    // The longest figures of a flow: losses and reordering of all kinds, and delays of all magnitudes.
    #[test]
    fn totals_of_a_wild_path_fit_into_a_message() {
        use crate::wire::figures::{FlowTotal, RxTotal};
        let mut random = Xoshiro256PlusPlus::seed_from_u64(16);
        let mut arrivals = dccp_stats::Arrivals::new(0);
        let mut next = 0;
        for _ in 0..300_000 {
            let wild = random.next_u64();
            next += wild >> (53 + wild % 11);
            let delay = random.next_u64() >> (27 + random.next_u64() % 37);
            arrivals.add(&dccp_stats::Arrival {
                number: next.saturating_sub(random.next_u64() % 100),
                sent_ns: random.next_u64() >> (27 + random.next_u64() % 37),
                arrived_ns: delay,
                bytes: 100,
                is_marked: false,
            });
        }
        let total = FlowTotal {
            rx: Some(RxTotal {
                arrivals: Some(arrivals.finish(None)),
                ..RxTotal::default()
            }),
            ..FlowTotal::default()
        };
        let text = serde_json::to_vec(&Message::Total(Box::new(total))).unwrap();
        assert!(
            text.len() > 8000 && text.len() <= MESSAGE_MAX,
            "{}",
            text.len()
        );
    }

    #[test]
    fn messages_that_nobody_takes_are_bounded() {
        let mut number = 0;
        let mut parts = Parts::default();
        let text = serde_json::to_vec(&of_bytes(MESSAGE_MAX)).unwrap();
        let outcome = (0..HEARD_MAX).try_for_each(|_| {
            let chunks = text.chunks(PART_BYTES);
            let last = chunks.len() - 1;
            chunks.enumerate().try_for_each(|(i, bytes)| {
                number += 1;
                let flags = if i == last { LAST_PART } else { 0 };
                parts.hear(&datagram(flags, number, 0, bytes)).map(|_| ())
            })
        });
        assert_eq!(outcome, Err(Lost::Nonsense));
        assert!(parts.heard_bytes <= HEARD_BYTES_MAX);
        assert_eq!(parts.heard.len(), HEARD_BYTES_MAX / MESSAGE_MAX);
    }
}

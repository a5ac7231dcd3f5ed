//! The two ends' protocol: numbered messages over a DCCP connection of their own, repeated until
//! they are acknowledged, so that no count depends on the luck of one packet.
//!
//! A message is JSON, cut into parts that fit in a packet:
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
//!
//! Datagrams with the number 0 can carry a probe of the delay and the clocks (flag 2), or the answer to one (flag 4).
//! Neither is repeated: a repetition would count as delay. Each end answers while it reads messages.

use super::message::Message;
use super::timing;
use core::time::Duration;
use dccp::{Instant, RecvError, Socket, clock};
use dccp_stats::Probe;
use std::collections::{BTreeMap, VecDeque};

/// Bytes of a message.
pub(crate) const MESSAGE_MAX: usize = 64 << 10;
/// Parts that wait for their acknowledgement.
const PARTS_MAX: usize = 256;
/// Messages that have arrived and were not taken, and their bytes.
const HEARD_MAX: usize = 2 * PARTS_MAX;
const HEARD_BYTES_MAX: usize = 16 * MESSAGE_MAX;
/// Bytes of a part: fits in the smallest packet of a path (RFC 8899's base).
const PART_BYTES: usize = 400;
/// Parts of the longest message.
const MESSAGE_PARTS: usize = MESSAGE_MAX.div_ceil(PART_BYTES);
const HEAD_BYTES: usize = 12;
const MAGIC: [u8; 2] = *b"DC";
const VERSION: u8 = 1;
const LAST_PART: u8 = 1;
const PROBE: u8 = 2;
const ANSWER: u8 = 4;
/// Answers to probes that are kept until they are taken.
const ANSWERS_MAX: usize = 256;
/// A part is repeated after this time, doubled with each attempt up to the maximum.
const REPEAT_FIRST: Duration = Duration::from_millis(250);
const REPEAT_MAX: Duration = Duration::from_secs(1);
/// Datagrams that one attempt to read a message takes.
const TRY_MAX: usize = 16;
/// The longest time between two messages, so that the peer knows that this end lives.
const SAY: Duration = Duration::from_secs(1);
/// The silence after which the peer counts as lost.
const SILENCE_MAX: Duration = Duration::from_secs(10);

/// The reason why the conversation ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Lost {
    /// The connection is over.
    Closed(String),
    /// Nothing came for too long.
    Silent,
    /// A datagram is no message, or messages arrive too fast.
    Nonsense,
    /// This end has more to say than the peer acknowledges, or a message that is too long.
    TooMuch,
}

impl core::fmt::Display for Lost {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Closed(why) => write!(f, "the control connection ended ({why})"),
            Self::Silent => write!(
                f,
                "the peer has been silent for {} s",
                SILENCE_MAX.as_secs()
            ),
            Self::Nonsense => f.write_str("the peer is not dccpmon, or is an incompatible version"),
            Self::TooMuch => f.write_str("the peer does not take the control messages in time"),
        }
    }
}

/// One end of the conversation.
pub(crate) struct Channel {
    socket: Socket,
    parts: Parts,
    heard_at: Instant,
    said_at: Instant,
    answers: Vec<Probe>,
}

impl Channel {
    /// A conversation over a connection. `heard`: a first datagram that was read already.
    pub(crate) fn new(socket: Socket, heard: Option<&[u8]>) -> Result<Self, Lost> {
        socket.set_nonblocking(false);
        let now = clock::now();
        let mut channel = Self {
            socket,
            parts: Parts::default(),
            heard_at: now,
            said_at: now,
            answers: Vec::new(),
        };
        if let Some(datagram) = heard {
            channel.parts.hear(datagram)?;
        }
        Ok(channel)
    }

    /// Whether a datagram is part of such a conversation.
    pub(crate) fn is_control(datagram: &[u8]) -> bool {
        datagram.starts_with(&MAGIC)
    }

    pub(crate) fn socket(&self) -> &Socket {
        &self.socket
    }

    /// Says something; it is repeated until it has arrived, as long as [`poll`](Self::poll) or
    /// [`flush`](Self::flush) is called.
    pub(crate) fn say(&mut self, message: &Message) -> Result<(), Lost> {
        self.parts.say(message)?;
        self.speak(clock::now());
        Ok(())
    }

    /// Sends a probe of the delay and of the clocks; returns its time of departure in nanoseconds, which its answer
    /// repeats.
    pub(crate) fn probe(&mut self) -> u64 {
        let sent_ns = clock::now().as_nanos();
        let body = timing::question(sent_ns);
        self.send(&datagram(PROBE, 0, self.parts.arrived, &body));
        sent_ns
    }

    /// The answers to probes that have arrived since the last call, whether or not this end asked.
    pub(crate) fn take_answers(&mut self) -> Vec<Probe> {
        core::mem::take(&mut self.answers)
    }

    /// Says something after the peer has acknowledged enough of what was said before, but waits no longer than until
    /// `until`. What is heard meanwhile is kept.
    ///
    /// # Errors
    /// Returns [`Lost::TooMuch`] if the message is too long, or if there is no room for it by then.
    pub(crate) fn say_in_turn(&mut self, message: &Message, until: Instant) -> Result<(), Lost> {
        while !self.parts.has_room() && self.step(until)? {}
        self.say(message)
    }

    /// Whether much of what was said is not heard yet: no time for what can be left out.
    pub(crate) fn is_behind(&self) -> bool {
        self.parts.unheard.len() > PARTS_MAX / 2
    }

    /// The next message, or nothing until `until`.
    pub(crate) fn poll(&mut self, until: Instant) -> Result<Option<Message>, Lost> {
        loop {
            if let Some(message) = self.parts.take() {
                return Ok(Some(message));
            }
            if !self.step(until)? {
                return Ok(None);
            }
        }
    }

    /// Sends what is due, and waits for a datagram. Returns `false` from `until` on.
    fn step(&mut self, until: Instant) -> Result<bool, Lost> {
        let now = clock::now();
        if now - self.heard_at > SILENCE_MAX {
            return Err(Lost::Silent);
        }
        self.speak(now);
        if now >= until {
            return Ok(false);
        }
        let next = self.parts.next_repeat().unwrap_or(until).min(until);
        let wait = (next - now).clamp(Duration::from_micros(100), SAY);
        self.socket.set_recv_timeout(Some(wait));
        self.hear()?;
        Ok(true)
    }

    /// The next message without waiting. Reads at most [`TRY_MAX`] datagrams, so that a flood does not hold the
    /// caller.
    pub(crate) fn try_poll(&mut self) -> Result<Option<Message>, Lost> {
        self.socket.set_nonblocking(true);
        self.speak(clock::now());
        let mut heard = Ok(true);
        for _ in 0..TRY_MAX {
            if heard != Ok(true) || !self.parts.heard.is_empty() {
                break;
            }
            heard = self.hear();
        }
        self.socket.set_nonblocking(false);
        heard.map(|_| self.parts.take())
    }

    /// Reads one datagram. Returns `false` if none arrives in the socket's time.
    fn hear(&mut self) -> Result<bool, Lost> {
        let mut datagram = [0; HEAD_BYTES + PART_BYTES];
        match self.socket.recv(&mut datagram) {
            Ok(len) => {
                self.heard_at = clock::now();
                let datagram = datagram.get(..len).ok_or(Lost::Nonsense)?;
                if self.parts.hear(datagram)? {
                    self.send(&self.parts.acknowledgement());
                }
                self.hear_timing(datagram);
                Ok(true)
            }
            Err(RecvError::TimedOut | RecvError::WouldBlock) => Ok(false),
            Err(RecvError::Closed(reason)) => Err(Lost::Closed(dccp::reason_text(&reason))),
            Err(error) => Err(Lost::Closed(error.to_string())),
        }
    }

    /// Answers a probe, or keeps the answer to one.
    fn hear_timing(&mut self, received: &[u8]) {
        let Some((flags, 0, _, body)) = read(received) else {
            return;
        };
        let now_ns = self.heard_at.as_nanos();
        match flags {
            PROBE => {
                if let Some(sent_ns) = timing::read_question(body) {
                    let body = timing::answer(sent_ns, now_ns, clock::now().as_nanos());
                    self.send(&datagram(ANSWER, 0, self.parts.arrived, &body));
                }
            }
            ANSWER if self.answers.len() < ANSWERS_MAX => {
                self.answers.extend(timing::read_answer(body, now_ns));
            }
            _ => {}
        }
    }

    /// Whether everything said has arrived.
    pub(crate) fn is_heard(&self) -> bool {
        self.parts.unheard.is_empty()
    }

    /// Repeats until everything said has arrived; `false` if it has not by `until`. What is heard
    /// meanwhile is kept.
    pub(crate) fn flush(&mut self, until: Instant) -> Result<bool, Lost> {
        while !self.is_heard() && self.step(until)? {}
        Ok(self.is_heard())
    }

    /// Sends what is due.
    fn speak(&mut self, now: Instant) {
        let mut due = self.parts.due(now);
        if due.is_empty() && now - self.said_at >= SAY {
            due.push(self.parts.acknowledgement());
        }
        for datagram in due {
            self.send(&datagram);
            self.said_at = now;
        }
    }

    fn send(&self, datagram: &[u8]) {
        // A datagram that cannot leave now is repeated later, as if the network had lost it.
        self.socket.set_send_timeout(Some(Duration::from_millis(1)));
        let _ = self.socket.send(datagram);
    }
}

/// The parts on their way in both directions: what [`Channel`] does apart from sockets and clocks.
#[derive(Default)]
struct Parts {
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
    fn has_room(&self) -> bool {
        self.unheard.len() + MESSAGE_PARTS <= PARTS_MAX
    }

    /// The next message that has arrived.
    fn take(&mut self) -> Option<Message> {
        let (bytes, message) = self.heard.pop_front()?;
        self.heard_bytes -= bytes;
        Some(message)
    }

    fn say(&mut self, message: &Message) -> Result<(), Lost> {
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
    fn due(&mut self, now: Instant) -> Vec<Vec<u8>> {
        let ack = self.arrived;
        let mut due = Vec::new();
        for part in self.unheard.iter_mut().filter(|p| p.repeat_at <= now) {
            due.push(datagram(part.flags, part.number, ack, &part.bytes));
            part.repeat_at = now + part.repeat_after;
            part.repeat_after = (part.repeat_after * 2).min(REPEAT_MAX);
        }
        due
    }

    fn next_repeat(&self) -> Option<Instant> {
        self.unheard.iter().map(|p| p.repeat_at).min()
    }

    fn acknowledgement(&self) -> Vec<u8> {
        datagram(0, 0, self.arrived, &[])
    }

    /// Takes a datagram; whether it wants an acknowledgement.
    fn hear(&mut self, datagram: &[u8]) -> Result<bool, Lost> {
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

fn datagram(flags: u8, number: u32, ack: u32, bytes: &[u8]) -> Vec<u8> {
    let mut datagram = Vec::with_capacity(HEAD_BYTES + bytes.len());
    datagram.extend_from_slice(&MAGIC);
    datagram.extend_from_slice(&[VERSION, flags]);
    datagram.extend_from_slice(&number.to_be_bytes());
    datagram.extend_from_slice(&ack.to_be_bytes());
    datagram.extend_from_slice(bytes);
    datagram
}

fn read(datagram: &[u8]) -> Option<(u8, u32, u32, &[u8])> {
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
mod tests {
    use super::*;
    use crate::wire::message::{RefusalCode, Refused};
    use dccp::{Listener, Options};
    use rand_xoshiro::Xoshiro256PlusPlus;
    use rand_xoshiro::rand_core::{Rng as _, SeedableRng as _};

    fn long() -> Message {
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
    fn of_bytes(bytes: usize) -> Message {
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

    /// A listener, and the two ends of a conversation over loopback.
    fn pair() -> (Listener, [Channel; 2]) {
        let options = Options::new().service_code(*b"TEST");
        let listener = Listener::bind("127.0.0.1:0/5001", &options).unwrap();
        let client = Socket::connect(listener.local_addrs(), &options).unwrap();
        let server = listener.accept().unwrap();
        let ends = [client, server].map(|socket| Channel::new(socket, None).unwrap());
        (listener, ends)
    }

    #[test]
    fn many_long_messages_arrive_one_after_the_other() {
        const MESSAGES: usize = 32;
        let (_listener, [mut client, mut server]) = pair();
        let reader = std::thread::spawn(move || {
            let until = clock::now() + SILENCE_MAX;
            let mut heard = 0;
            while heard < MESSAGES && client.poll(until).unwrap().is_some() {
                heard += 1;
            }
            heard
        });
        let until = clock::now() + SILENCE_MAX;
        for _ in 0..MESSAGES {
            server.say_in_turn(&of_bytes(8000), until).unwrap();
        }
        server.flush(until).unwrap();
        assert_eq!(reader.join().unwrap(), MESSAGES);
    }

    #[test]
    fn peer_that_acknowledges_nothing_is_given_up() {
        let (_listener, [_silent, mut server]) = pair();
        let until = clock::now() + Duration::from_millis(100);
        let outcome = (0..=PARTS_MAX).try_for_each(|_| server.say_in_turn(&long(), until));
        assert_eq!(outcome, Err(Lost::TooMuch));
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

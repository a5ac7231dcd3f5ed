//! The two ends' protocol: messages over a DCCP connection of their own. [`Parts`] repeats them until they arrive;
//! this file sends, waits and counts the time.
//!
//! Datagrams with the number 0 can carry a probe of the delay and the clocks (flag 2), or the answer to one (flag 4).
//! Neither is repeated: a repetition would count as delay. Each end answers while it reads messages.

pub(crate) use super::lost::Lost;
use super::lost::SILENCE_MAX;
use super::message::Message;
use super::parts::{HEAD_BYTES, MAGIC, PART_BYTES, Parts, datagram, read};
use super::timing;
use core::time::Duration;
use dccp::{Instant, RecvError, Socket, clock};
use dccp_stats::Probe;

const PROBE: u8 = 2;
const ANSWER: u8 = 4;
/// Answers to probes that are kept until they are taken.
const ANSWERS_MAX: usize = 256;
/// Datagrams that one attempt to read a message takes.
const TRY_MAX: usize = 16;
/// The longest time between two messages, so that the peer knows that this end lives.
const SAY: Duration = Duration::from_secs(1);

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
        self.send(&datagram(PROBE, 0, self.parts.arrived(), &body));
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

    /// Whether more than half of the room waits for acknowledgements: optional messages should be left out.
    pub(crate) fn is_behind(&self) -> bool {
        self.parts.is_behind()
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
            if heard != Ok(true) || self.parts.has_message() {
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
                    self.send(&datagram(ANSWER, 0, self.parts.arrived(), &body));
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
        self.parts.is_heard()
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::parts::PARTS_MAX;
    use crate::wire::parts::tests::{long, of_bytes};
    use dccp::{Listener, Options};

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
}

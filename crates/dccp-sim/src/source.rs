//! What applications do: where their datagrams come from, how they read, when they close.

use core::time::Duration;
use dccp_proto::Instant;
use dccp_proto::wire::Payload;

/// A datagram of an application.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Message {
    /// This many zero bytes.
    Zeros(usize),
    /// These bytes.
    Bytes(Vec<u8>),
}

impl Message {
    /// The datagram as a packet carries it.
    pub fn payload(&self) -> Payload<'_> {
        match self {
            Self::Zeros(n) => Payload::Zeros(*n),
            Self::Bytes(bytes) => Payload::Bytes(bytes),
        }
    }

    /// Length in bytes.
    pub fn len(&self) -> usize {
        self.payload().len()
    }

    /// Whether it has no bytes.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl From<Payload<'_>> for Message {
    fn from(payload: Payload<'_>) -> Self {
        match payload {
            Payload::Zeros(n) => Self::Zeros(n),
            Payload::Bytes(bytes) => Self::Bytes(bytes.to_vec()),
        }
    }
}

/// Where an application's datagrams come from.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum Source {
    /// It sends nothing of its own.
    #[default]
    Silent,
    /// As much as the transport takes.
    Bulk {
        /// Bytes per datagram, all zeros; fewer where the maximum packet size is less.
        len: usize,
        /// How many datagrams; `u64::MAX` for as long as the connection lasts.
        count: u64,
    },
    /// At a constant rate, whether the transport takes it or not.
    Cbr {
        /// Bytes per datagram, all zeros.
        len: usize,
        /// Time from one to the next.
        interval: Duration,
        /// How many datagrams.
        count: u64,
    },
    /// These datagrams, each so long after the connection opened.
    Script(Vec<(Duration, Message)>),
}

/// When an application closes its connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Closing {
    /// Only after the peer did.
    #[default]
    AfterPeer,
    /// When its source has nothing more, or after the peer did.
    WhenSent,
    /// Never, not even after the peer did.
    Never,
}

/// How an application reads.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Reading {
    /// Everything as it comes.
    #[default]
    AtOnce,
    /// One datagram each time that so much has passed.
    Every(Duration),
    /// Nothing: the receive buffer fills.
    Never,
    /// Nothing, and it says so (Drop Code 1).
    NotListening,
}

/// An application at one end of a connection.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct App {
    /// What it sends.
    pub source: Source,
    /// Sends back each datagram that it receives.
    pub echo: bool,
    /// When it closes.
    pub closing: Closing,
    /// How many received datagrams its transport keeps until it reads them.
    pub receive_buffer: usize,
    /// How it reads them.
    pub reading: Reading,
    /// Keeps what it receives, for tests that look at the bytes.
    pub keeps: bool,
}

impl Default for App {
    fn default() -> Self {
        Self {
            source: Source::Silent,
            echo: false,
            closing: Closing::AfterPeer,
            receive_buffer: 1000,
            reading: Reading::AtOnce,
            keeps: false,
        }
    }
}

impl App {
    /// Sends this many datagrams of zeros as fast as it can, then closes.
    pub fn bulk(len: usize, count: u64) -> Self {
        Self {
            source: Source::Bulk { len, count },
            closing: Closing::WhenSent,
            ..Self::default()
        }
    }

    /// Sends back what it receives.
    pub fn echo() -> Self {
        Self {
            echo: true,
            ..Self::default()
        }
    }
}

/// A source at work.
#[derive(Clone, Debug)]
pub(crate) struct RunningSource {
    source: Source,
    opened: Instant,
    given: u64,
}

impl RunningSource {
    /// Starts at the moment when the connection opened.
    pub(crate) fn new(source: Source, opened: Instant) -> Self {
        Self {
            source,
            opened,
            given: 0,
        }
    }

    /// Whether it always has more, as fast as the transport takes it.
    pub(crate) fn is_greedy(&self) -> bool {
        matches!(self.source, Source::Bulk { .. })
    }

    /// When the next datagram is there; `None` if there is none any more.
    pub(crate) fn next_at(&self) -> Option<Instant> {
        match &self.source {
            Source::Silent => None,
            Source::Bulk { count, .. } => (self.given < *count).then_some(self.opened),
            Source::Cbr {
                interval, count, ..
            } => (self.given < *count).then(|| {
                let times = u32::try_from(self.given).unwrap_or(u32::MAX);
                self.opened + *interval * times
            }),
            Source::Script(script) => {
                let (after, _) = script.get(usize::try_from(self.given).ok()?)?;
                Some(self.opened + *after)
            }
        }
    }

    /// The next datagram, if it is there by `now`, on a path with this maximum packet size.
    pub(crate) fn poll(&mut self, now: Instant, mps: usize) -> Option<Message> {
        if self.next_at()? > now {
            return None;
        }
        let message = match &self.source {
            Source::Silent => return None,
            Source::Bulk { len, .. } => Message::Zeros(mps.min(*len)),
            Source::Cbr { len, .. } => Message::Zeros(*len),
            Source::Script(script) => script.get(usize::try_from(self.given).ok()?)?.1.clone(),
        };
        self.given += 1;
        Some(message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(n: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(n)
    }

    /// Asks at each millisecond and tells when something came.
    fn moments(source: Source) -> Vec<u64> {
        let mut source = RunningSource::new(source, ms(100));
        let mut moments = Vec::new();
        for at in 100..200 {
            while source.poll(ms(at), 1000).is_some() {
                moments.push(at);
            }
        }
        assert_eq!(source.next_at(), None);
        moments
    }

    #[test]
    fn each_source_has_its_rhythm() {
        assert_eq!(moments(Source::Silent), []);
        assert_eq!(moments(Source::Bulk { len: 1, count: 3 }), [100; 3]);
        let interval = Duration::from_millis(20);
        let cbr = Source::Cbr {
            len: 1,
            interval,
            count: 3,
        };
        assert_eq!(moments(cbr), [100, 120, 140]);
        let script = [7, 7, 9].map(|t| (Duration::from_millis(t), Message::Zeros(1)));
        assert_eq!(moments(Source::Script(script.to_vec())), [107, 107, 109]);
    }

    #[test]
    fn a_script_sends_its_own_bytes() {
        let script = vec![(Duration::ZERO, Message::Bytes(b"late".to_vec()))];
        let mut source = RunningSource::new(Source::Script(script), ms(1));
        let message = source.poll(ms(1), 1).unwrap();
        assert_eq!(message.payload(), Payload::Bytes(b"late"));
        assert_eq!(Message::from(message.payload()), message);
        assert_eq!((message.len(), message.is_empty()), (4, false));
    }
}

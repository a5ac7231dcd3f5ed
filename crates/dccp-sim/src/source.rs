//! Applications: where their datagrams come from, how they read, when they close.

mod frames;
mod log;
mod running;
mod spread;
mod stamp;

pub use frames::Frames;
pub(crate) use log::Log;
pub use log::{Arrival, Arrived, AtSender, Ending, Offered, endings};
pub use running::RunningSource;
pub use spread::Spread;
pub use stamp::{Delay, Stamp};

use crate::random::{Seed, Stream};
use core::time::Duration;
use dccp_proto::wire::Payload;
use dccp_proto::{Instant, Rate};

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

/// A datagram that a source has made.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Datagram {
    /// Its bytes.
    pub message: Message,
    /// Counted from 0.
    pub number: u64,
    /// When it was due.
    pub made: Instant,
    /// 0: ordinary. The greater, the more important.
    pub class: u8,
    /// The number of the picture that it belongs to; of other sources its own.
    pub picture: u64,
}

/// Where an application's datagrams come from.
#[derive(Clone, PartialEq, Debug, Default)]
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
    /// Datagrams at independent times, with a mean interval.
    Poisson {
        /// Bytes per datagram, all zeros.
        len: usize,
        /// Mean time from one to the next.
        interval: Duration,
        /// How many datagrams.
        count: u64,
    },
    /// A constant rate while on, nothing while off: with exponential or Pareto times the classic
    /// models of speech and of web traffic.
    OnOff {
        /// Bytes per datagram, all zeros.
        len: usize,
        /// Time from one to the next while on.
        interval: Duration,
        /// How long it is on. It begins so.
        on: Spread,
        /// How long it is off.
        off: Spread,
    },
    /// A rate that swings: mean + swing · sin(2π t / period), never below zero (the UDP traffic of the
    /// SLAC evaluation).
    Sine {
        /// Bytes per datagram, all zeros.
        len: usize,
        /// Bytes of application data per second on average.
        mean: Rate,
        /// How far the rate swings to either side.
        swing: Rate,
        /// Time from one highest rate to the next.
        period: Duration,
    },
    /// Pictures of a film.
    Frames(Frames),
    /// Requests; the next one follows a time after the answer to the last.
    Requests {
        /// Bytes of a request, all zeros.
        len: usize,
        /// Bytes of an answer, which may come in several datagrams.
        answer: usize,
        /// Time from the answer to the next request.
        think: Spread,
        /// An answer that has not come by then is given up.
        patience: Duration,
        /// How many requests.
        count: u64,
    },
    /// These datagrams, each at a time after the connection opened.
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
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub enum Reading {
    /// All datagrams as they arrive.
    #[default]
    AtOnce,
    /// One datagram per interval.
    Every(Duration),
    /// One datagram after another at this rate of bytes.
    AtRate(Rate),
    /// No datagram: the receive buffer fills.
    Never,
    /// Nothing, and it reports that (Drop Code 1).
    NotListening,
}

/// The datagrams of an application that wait at the sender of a DCCP connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ring {
    /// How many may wait.
    pub room: usize,
    /// Whether important datagrams leave first, and of a full ring the oldest of the least important makes room. If
    /// not, datagrams leave in order, and a full ring drops the new one.
    pub prefers_important: bool,
    /// With `prefers_important`: a datagram that is older does not leave any more.
    pub lifetime: Option<Duration>,
}

impl Default for Ring {
    /// Room for 256 datagrams, which leave in order.
    fn default() -> Self {
        Self {
            room: 256,
            prefers_important: false,
            lifetime: None,
        }
    }
}

/// Bytes of a datagram of an answer: it fits any path.
const ANSWER_DATAGRAM: usize = 1000;

/// An application at one end of a connection.
#[derive(Clone, PartialEq, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a setting")]
pub struct App {
    /// The source of its datagrams.
    pub source: Source,
    /// Sends back each datagram that it receives.
    pub echo: bool,
    /// Answers each datagram that it receives with this many zero bytes.
    pub answer: usize,
    /// Writes a [`Stamp`] into each datagram of its source, and reads one from each that it receives:
    /// how old data is that arrives; of what a peer echoes, the round trip.
    pub stamps: bool,
    /// Records each datagram that its source offers, and each that it receives: see [`endings`]. In DCCP, datagrams
    /// are known by their stamps, so their sender needs those too. An application that logs sends no replies.
    pub logs: bool,
    /// The datagrams with a number that is a multiple of this are important, from the first on: class 1. Films have
    /// classes of their own.
    pub important_every: Option<u64>,
    /// The datagrams that wait, in DCCP.
    pub ring: Ring,
    /// When it closes.
    pub closing: Closing,
    /// How many received datagrams its transport keeps until it reads them.
    pub receive_buffer: usize,
    /// How it reads them.
    pub reading: Reading,
    /// In DCCP: reports Slow Receiver while at least half of its receive buffer is full (RFC 4340 §11.6).
    pub slow_receiver: bool,
    /// In DCCP with CCID 248: a source at a constant rate lowers it to the rate that is advised. It does not raise it again.
    pub obeys: bool,
    /// Keeps what it receives, for tests that look at the bytes.
    pub keeps: bool,
    /// The random numbers of its source. Give each flow the stream of its name, so that adding a flow does not
    /// change others.
    pub random: Stream,
}

impl Default for App {
    fn default() -> Self {
        Self {
            source: Source::Silent,
            echo: false,
            answer: 0,
            stamps: false,
            logs: false,
            important_every: None,
            ring: Ring::default(),
            closing: Closing::AfterPeer,
            receive_buffer: 1000,
            reading: Reading::AtOnce,
            slow_receiver: false,
            obeys: false,
            keeps: false,
            random: Seed(0).stream("application"),
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

    /// The datagrams that it sends back for one that it received.
    pub fn replies(&self, datagram: Payload<'_>) -> impl Iterator<Item = Message> + use<> {
        let echo = self.echo.then(|| datagram.into());
        let whole = core::iter::repeat_n(ANSWER_DATAGRAM, self.answer / ANSWER_DATAGRAM);
        let rest = Some(self.answer % ANSWER_DATAGRAM).filter(|&rest| rest > 0);
        let answer = whole.chain(rest).map(Message::Zeros);
        echo.into_iter().chain(answer)
    }

    /// The total bytes of [`replies`](Self::replies) to a datagram of `datagram` bytes.
    pub(crate) const fn replies_len(&self, datagram: usize) -> usize {
        let echo = if self.echo { datagram } else { 0 };
        echo + self.answer
    }

    /// Sends back what it receives.
    pub fn echo() -> Self {
        Self {
            echo: true,
            ..Self::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answer_is_split_into_datagrams_that_fit() {
        let app = App {
            answer: 2500,
            ..App::echo()
        };
        let replies: Vec<_> = app.replies(Payload::Bytes(b"?")).collect();
        let zeros = [1000, 1000, 500].map(Message::Zeros);
        assert_eq!(replies[0], Message::Bytes(b"?".to_vec()));
        assert_eq!(replies[1..], zeros);
        assert_eq!(app.replies_len(1), 2501);
        assert_eq!(App::default().replies_len(1), 0);
        assert_eq!(App::default().replies(Payload::Zeros(1)).count(), 0);
    }
}

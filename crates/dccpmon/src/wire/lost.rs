//! The reasons why a control connection ends.

use core::time::Duration;

/// The silence after which the peer counts as lost.
pub(super) const SILENCE_MAX: Duration = Duration::from_secs(10);

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

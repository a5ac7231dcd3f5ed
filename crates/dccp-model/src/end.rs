//! The two ends.

use core::fmt;

/// One of the two ends.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum End {
    /// The end that connects.
    Client,
    /// The end that listens.
    Server,
}

impl End {
    /// Both.
    pub const BOTH: [Self; 2] = [Self::Client, Self::Server];

    /// The peer of this end.
    #[must_use]
    pub const fn other(self) -> Self {
        match self {
            Self::Client => Self::Server,
            Self::Server => Self::Client,
        }
    }
}

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Client => "client",
            Self::Server => "server",
        })
    }
}

//! The first messages of a control connection: the versions of both ends, and what the server allows.

use super::auth::Nonce;
use crate::schema::ServerLimits;
use core::fmt;
use serde::{Deserialize, Serialize};

/// The versions of the control protocol that this program speaks.
pub(crate) const PROTOCOL: Versions = Versions { min: 2, max: 2 };
/// The version of this program.
pub(crate) const PROGRAM: &str = env!("CARGO_PKG_VERSION");

/// A range of versions of the control protocol.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Versions {
    pub(crate) min: u32,
    pub(crate) max: u32,
}

impl Versions {
    /// The highest version that both ends speak.
    pub(crate) fn highest_common(self, other: Self) -> Option<u32> {
        let version = self.max.min(other.max);
        (version >= self.min.max(other.min)).then_some(version)
    }
}

impl fmt::Display for Versions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.min == self.max {
            write!(f, "version {}", self.min)
        } else {
            write!(f, "versions {} to {}", self.min, self.max)
        }
    }
}

/// The client's first message.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct Hello {
    pub(crate) protocol: Versions,
    /// The client's version of the program.
    pub(crate) program: String,
    pub(crate) nonce: Nonce,
}

/// The server's answer.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct Welcome {
    /// The version that both ends use from here on.
    pub(crate) protocol: u32,
    /// The server's version of the program.
    pub(crate) program: String,
    pub(crate) nonce: Nonce,
    /// Whether requests need a proof of the server's key.
    pub(crate) needs_key: bool,
    pub(crate) limits: ServerLimits,
}

#[cfg(test)]
mod tests {
    use super::*;

    // goal 58: both ends use the highest version that both speak.
    #[test]
    fn versions_agree_on_the_highest_common() {
        let range = |min, max| Versions { min, max };
        let common = |ours: Versions, theirs| {
            assert_eq!(ours.highest_common(theirs), theirs.highest_common(ours));
            ours.highest_common(theirs)
        };
        assert_eq!(common(range(2, 2), range(2, 2)), Some(2));
        assert_eq!(common(range(2, 3), range(2, 2)), Some(2));
        assert_eq!(common(range(2, 4), range(1, 3)), Some(3));
        assert_eq!(common(range(2, 2), range(3, 4)), None);
        assert_eq!(common(range(1, 1), range(2, 2)), None);
        // A range without versions has nothing in common with any.
        assert_eq!(common(range(2, 2), range(3, 1)), None);
        assert_eq!(range(2, 2).to_string(), "version 2");
        assert_eq!(range(3, 4).to_string(), "versions 3 to 4");
    }
}

//! The sources of arrival times.

use core::fmt;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The sources of a flow's arrival times.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Copy, PartialEq, Eq, Debug, Default)]
#[schemars(deny_unknown_fields)]
pub struct Stamps {
    /// Of the data at the receiver: one-way delays, jitter and the receiver's part of echoes are made of them. Null: the
    /// receiver got none, or did not report.
    pub data: Option<StampSource>,
    /// Of echoes at the sender: round trips by echoes are made of them. Null: there were none.
    pub echoes: Option<StampSource>,
}

/// The source of arrival times.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Copy, PartialEq, Eq, Debug)]
#[serde(rename_all = "snake_case")]
pub enum StampSource {
    /// The kernel, when it got the packet from the interface. The time until the program reads it is not included.
    Kernel,
    /// The thread of the DCCP stack, when it got the packet from the kernel.
    Engine,
    /// The program, when it read the packet.
    #[serde(alias = "application")]
    Program,
    /// First the kernel, then the program, because the wall clock of the host was set.
    Mixed,
    /// A source that this version does not know.
    #[serde(other)]
    Other,
}

impl StampSource {
    /// The source of all times together; `None` without any.
    pub(crate) fn of_all(sources: impl IntoIterator<Item = Option<Self>>) -> Option<Self> {
        let known = sources.into_iter().flatten();
        known.reduce(|a, b| if a == b { a } else { Self::Mixed })
    }
}

impl fmt::Display for StampSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Kernel => "kernel",
            Self::Engine => "engine",
            Self::Program => "program",
            Self::Mixed => "kernel, then program",
            Self::Other => "other",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn different_sources_are_mixed() {
        use StampSource::{Engine, Kernel, Mixed, Program};
        let of = StampSource::of_all;
        assert_eq!(of([None, None]), None);
        assert_eq!(of([None, Some(Engine)]), Some(Engine));
        assert_eq!(of([Some(Kernel), Some(Kernel)]), Some(Kernel));
        assert_eq!(of([Some(Kernel), Some(Program)]), Some(Mixed));
    }

    #[test]
    fn documents_of_other_versions_are_read() {
        let of = |text| serde_json::from_str::<StampSource>(text).unwrap();
        assert_eq!(of("\"kernel\""), StampSource::Kernel);
        assert_eq!(of("\"application\""), StampSource::Program);
        assert_eq!(of("\"hardware\""), StampSource::Other);
    }
}

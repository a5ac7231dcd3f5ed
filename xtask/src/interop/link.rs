//! The way between our program and the guest.

use anyhow::{Result, bail};

use super::cells::{Cell, Plan};
use super::guest::{Guest, NETNS};

/// Where our program runs, and what its packets meet on their way.
pub(super) struct Link {
    /// The namespace of our program.
    pub(super) netns: &'static str,
    /// Our program's address.
    pub(super) ours: &'static str,
    /// The guest's address.
    pub(super) linux: &'static str,
}

impl Link {
    pub(super) fn set_up(_guest: &Guest, cell: &Cell) -> Result<Self> {
        if cell.plan == Plan::Loss {
            bail!("not yet");
        }
        let (ours, linux) = if cell.is_v6 {
            ("fd33:4340::1", "fd33:4340::2")
        } else {
            ("10.33.0.1", "10.33.0.2")
        };
        Ok(Self {
            netns: NETNS,
            ours,
            linux,
        })
    }
}

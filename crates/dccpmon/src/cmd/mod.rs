//! The subcommands, a file each.

pub(crate) mod bulk;
pub(crate) mod completions;
pub(crate) mod man;

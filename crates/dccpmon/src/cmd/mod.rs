//! The subcommands, a file each.

pub(crate) mod bulk;
pub(crate) mod serve;

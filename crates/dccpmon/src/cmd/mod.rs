//! The subcommands, a file each.

pub(crate) mod bulk;

//! What the program does: a file for each subcommand.

pub(crate) mod bulk;
pub(crate) mod serve;

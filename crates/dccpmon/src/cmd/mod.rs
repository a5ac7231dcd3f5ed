//! The subcommands, a file each.

pub(crate) mod bulk;
pub(crate) mod compare;
pub(crate) mod doctor;
pub(crate) mod export;
pub(crate) mod media;
pub(crate) mod monitor;
pub(crate) mod ping;
pub(crate) mod recv;
pub(crate) mod rr;
pub(crate) mod send;
pub(crate) mod sweep;

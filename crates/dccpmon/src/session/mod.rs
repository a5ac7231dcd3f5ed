//! The client's side of a test.

pub(crate) mod agree;
pub(crate) mod failure;

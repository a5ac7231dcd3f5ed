//! The client's side of a test.

pub(crate) mod agree;
pub(crate) mod clock;
pub(crate) mod failure;
pub(crate) mod probe;
pub(crate) mod repeat;
pub(crate) mod reports;
pub(crate) mod wait;

//! How results look.

pub(crate) mod json;
pub(crate) mod table;
pub(crate) mod units;

//! How results look.

pub(crate) mod json;
pub(crate) mod table;

//! How results look.

pub(crate) mod table;

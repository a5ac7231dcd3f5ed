//! TCP, for comparison with DCCP.

pub mod segment;

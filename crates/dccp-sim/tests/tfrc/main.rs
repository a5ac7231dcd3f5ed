//! CCID 3 on paths from 30 µs to 300 ms and from 1 Mbit/s to 10 Gbit/s.

mod batches;
mod path;
mod start;
mod sweep;

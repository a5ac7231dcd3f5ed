//! The simulator's link in real time: rate, delay, drop-tail queue, loss.
//!
//! | module | contents |
//! |---|---|
//! | [`relay`] | UDP datagrams between clients and one server; needs no privileges |
//! | [`log`] | a line for each event of a packet |
//! | [`schedule`] | changes of a link while the emulator runs |
//! | [`tun`] | IP packets between two TUN devices, each in a network namespace of its own (Linux, root) |
//!
//! Packets pass one [`channel`] for each direction: a link of the simulator with a store of packets. The report has
//! the lateness of packets, and counts the emulator's own drops apart from the losses of the link.

pub mod channel;
mod clients;
pub mod clock;
pub mod log;
pub mod relay;
pub mod report;
pub mod schedule;
#[cfg(target_os = "linux")]
pub mod tun;

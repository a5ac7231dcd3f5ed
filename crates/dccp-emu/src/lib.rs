//! The simulator's link in real time: rate, delay, drop-tail queue, loss.
//!
//! | module | carries |
//! |---|---|
//! | [`relay`] | UDP datagrams between clients and one server; needs no privileges |
//! | [`tun`] | IP packets between two TUN devices, each in a network namespace of its own (Linux, root) |
//!
//! Both put packets through two [`channel`]s, one for each direction, which are the simulator's
//! links with a store of packets. What an emulator cannot do in time it says: every packet's
//! lateness is measured, and packets that it drops itself are counted apart from those that the
//! link loses.

pub mod channel;
pub mod clock;
pub mod relay;
pub mod report;
#[cfg(target_os = "linux")]
pub mod tun;

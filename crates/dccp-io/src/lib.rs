//! DCCP datagrams in and out: batches, ECN, ICMP errors, and what got lost in this host.
//!
//! A [`Transport`] is one socket: [`Udp`] carries DCCP in UDP (RFC 6773), [`Raw`] as IP protocol 33.
//! [`Carrier::open`] makes the one that was asked for by [`Encapsulation`]. A [`Poller`] waits for many of
//! them, with a time-out in nanoseconds and a [`Waker`] for other threads.
//!
//! How the driver's thread uses them:
//!
//! ```text
//! loop {
//!     poller.wait(time to the next deadline, &mut ready)?;
//!     for each ready transport {
//!         if error    { transport.recv_errors(..) }
//!         if readable { transport.recv(..); `false`: wait again }
//!         if writable { send(the batch that was blocked, where it stopped); stop asking for writable }
//!     }
//!     drain the endpoint: transport.send(&batch, 0);
//!                         if it blocks, keep the batch and poller.want_writable(.., true)
//! }
//! ```
//!
//! Nothing here reads a clock: time-outs are durations from now.

mod buffer;
mod carrier;
mod counters;
mod error;
mod fork;
#[cfg(target_os = "linux")]
mod host;
mod host_losses;
#[cfg(target_os = "linux")]
mod icmp;
#[cfg(target_os = "linux")]
pub mod local;
#[cfg(target_os = "linux")]
pub mod netlink;
#[cfg(target_os = "linux")]
mod packets;
pub mod poll;
#[cfg(target_os = "linux")]
mod raw;
pub mod route;
mod send;
mod socket;
mod transport;
mod udp;
mod versions;

#[cfg(target_os = "linux")]
mod sys;

pub use buffer::RecvBuffer;
pub use carrier::{Carrier, PortClaim};
pub use counters::Counters;
pub use error::{OpenError, is_out_of_descriptors, limit_next_step};
pub use fork::ProcessGeneration;
#[cfg(target_os = "linux")]
pub use host::{Host, HostPort};
pub use host_losses::HostLosses;
#[cfg(target_os = "linux")]
pub use packets::Packets;
pub use poll::{Poller, Ready, Token, Waker};
#[cfg(target_os = "linux")]
pub use raw::Raw;
pub use send::is_out_of_memory;
pub use socket::{
    TcpState, end_reports, recv_drops, recv_stamped, report_drops, stamp_arrivals, tcp_state,
};
#[cfg(target_os = "linux")]
pub use sys::schedule::work_in_batches;
pub use transport::{
    BufferSizes, Datagrams, Encapsulation, LocalDrop, LocalDropReason, Options, Received, Sent,
    Source, Transport, UnknownEncapsulation,
};
pub use udp::Udp;

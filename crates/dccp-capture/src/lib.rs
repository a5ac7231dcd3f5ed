//! Capture files of a DCCP stack, written without root and without a capture program.
//!
//! - [`pcapng`]: files for Wireshark, with a comment and a direction for each packet.
//! - [`ip`]: the IP and UDP headers that the kernel writes in front of a datagram.
//! - [`header`]: the DCCP header of a datagram that was captured in part.
//! - [`fates`]: the fates of captured packets, by the acknowledgements in the capture.
//! - [`qlog`]: files for qvis and other readers of qlog.
//!
//! ```
//! use dccp_capture::{Direction, ip, pcapng};
//! use dccp_proto::path::{Encap, Path};
//!
//! # fn main() -> std::io::Result<()> {
//! let mut file = pcapng::Writer::new(Vec::new(), &pcapng::Section::default())?;
//! let sent = ip::Datagram {
//!     path: Path {
//!         local: [192, 0, 2, 1].into(),
//!         remote: [192, 0, 2, 2].into(),
//!         encap: Encap::Udp { local_port: 50_000, remote_port: 14_233 },
//!     },
//!     tos: 0,
//!     may_fragment: false,
//!     bytes: &[0; 16],
//!     zeros: 0,
//!     missing: 1_000,
//! };
//! let mut packet = Vec::new();
//! let len = sent.write(&mut packet);
//! file.packet(&pcapng::Packet {
//!     time_ns: 1_700_000_000_000_000_000,
//!     bytes: &packet,
//!     len,
//!     direction: Some(Direction::Out),
//!     comment: Some("fate acked"),
//! })?;
//! file.finish()?;
//! # Ok(())
//! # }
//! ```

pub mod fates;
pub mod header;
pub mod ip;
mod numbers;
pub mod pcapng;
pub mod qlog;

/// Whether a packet left the host or arrived.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Direction {
    /// It arrived.
    In,
    /// It left.
    Out,
}

//! Names and messages between `dccprun` and the library that it loads into programs.
//!
//! Both sides need them, and the library must stay small. So this crate depends on nothing, and allocates nothing.
//!
//! ```text
//! environment   DCCPRUN_HOST=<host>:<user>          host: 32 hexadecimal digits, drawn at the start
//! Unix sockets  \0dccprun/<host>/control            takes requests, one for each connection
//!               \0dccprun/<host>/data               takes the program's end of each DCCP connection
//!               \0dccprun/<host>/4<number>          a DCCP socket over IPv4; 6: over IPv6; 16 hexadecimal digits
//! request       op (1) · family, 4 or 6 (1) · number (8) · argument (4) · body
//! answer        error number, 0: none (4) · body
//! bell          "dccprun bell " · host (32), on the socket of a connection: its queue has datagrams
//! address       port (2, big endian) · IP address (16) · scope (4)
//! ```
//!
//! Other numbers are little endian.

#![no_std]

mod name;
mod request;

pub use name::{BELL_LEN, DccpName, Family, HostKey, NAME_MAX, Role, SocketKey};
pub use request::{ADDR_LEN, Answer, BODY_MAX, MESSAGE_MAX, Op, Request, address, read_address};

/// The environment variable that names the host to the library.
pub const VARIABLE: &str = "DCCPRUN_HOST";

/// Levels and options of `setsockopt` and `getsockopt` that requests carry.
pub mod option {
    /// The level of DCCP.
    pub const SOL_DCCP: i32 = 269;
    /// Without effect, as in the kernel.
    pub const PACKET_SIZE: i32 = 1;
    /// The Service Code, or a list of them.
    pub const SERVICE: i32 = 2;
    /// Without effect, as in the kernel.
    pub const CHANGE_L: i32 = 3;
    /// Without effect, as in the kernel.
    pub const CHANGE_R: i32 = 4;
    /// The greatest length of a datagram.
    pub const GET_CUR_MPS: i32 = 5;
    /// Whether a server holds TIMEWAIT.
    pub const SERVER_TIMEWAIT: i32 = 6;
    /// Checksum Coverage of sent data.
    pub const SEND_CSCOV: i32 = 10;
    /// The least Checksum Coverage of received data.
    pub const RECV_CSCOV: i32 = 11;
    /// The CCIDs of this end.
    pub const AVAILABLE_CCIDS: i32 = 12;
    /// The CCIDs of both directions.
    pub const CCID: i32 = 13;
    /// The CCIDs of sent data.
    pub const TX_CCID: i32 = 14;
    /// The CCIDs of received data.
    pub const RX_CCID: i32 = 15;
    /// The order of the send queue.
    pub const QPOLICY_ID: i32 = 16;
    /// The length of the send queue.
    pub const QPOLICY_TXQLEN: i32 = 17;
    /// State of the receiving CCID.
    pub const CCID_RX_INFO: i32 = 128;
    /// State of the sending CCID.
    pub const CCID_TX_INFO: i32 = 192;
    /// No option of DCCP: `IPV6_V6ONLY`.
    pub const V6ONLY: i32 = 0x1_0000;
    /// No option of DCCP: whether `SO_LINGER` asks for a Reset at the end.
    pub const ABORT_AT_CLOSE: i32 = 0x1_0001;
}

/// The greatest length of a datagram before a connection has told its own, as in the kernel.
pub const MPS_UNCONNECTED: u32 = 536;

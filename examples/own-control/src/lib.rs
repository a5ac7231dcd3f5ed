//! A congestion law and a CCID from outside of the library.
//!
//! - [`aimd`] is a law: the rule for the window of CCID 2. Only the sender needs it.
//! - [`paced`] is a CCID: a rate instead of a window. Both ends need it, and negotiate its number, 249.
//!
//! Start from the law if a window suffices: CCID 2 then does loss detection, slow start, timeouts and pacing.
//!
//! # Use
//! ```
//! use own_control::aimd::Aimd;
//! use own_control::paced::{NUMBER, Paced};
//!
//! // In the library, a law or a CCID:
//! let gentle = Aimd { increase: 0.5, decrease: 0.2 };
//! let options = dccp::Options::new().law(gentle);
//! let options = dccp::Options::new().add_ccid(Paced).ccid(NUMBER);
//!
//! // In the protocol core and in the simulator:
//! let config = dccp_proto::Config { law: gentle.into(), ..Default::default() };
//! let config = dccp_proto::Config {
//!     ccids: dccp_proto::Config::default().ccids.with(Paced),
//!     tx_ccids: vec![NUMBER],
//!     rx_ccids: vec![NUMBER],
//!     ..Default::default()
//! };
//! # let _ = (options, config);
//! ```
//! `tests/simulator.rs` runs both in the simulator, and `tests/loopback.rs` over real sockets:
//! `cargo test -p own-control`.

pub mod aimd;
pub mod paced;

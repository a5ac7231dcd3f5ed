//! CCID 248, SafeUDP: for data that an application sends at its own rate. `docs/safeudp.md` is its profile, and "SafeUDP §n" in
//! comments refers to it.
//!
//! The CCID sends a datagram at once or drops it. It measures where packets are lost, and advises the application when
//! congestion of the network persists. It drops input in the start-up, when the receiving host is full, after silence or a trip
//! of a circuit breaker, and when its advice was ignored.
//!
//! ```text
//! acknowledgements ─> attribution ─> interval ─> machine ─> cap, codes
//!                     (host or       (counts)    (states,      │
//!                      network)                   breakers)    v
//! datagrams ──────────────────────────────────────────────> bucket ─> network
//! ```

mod attribution;
mod breakers;
mod bucket;
mod codes;
mod interval;
mod machine;
mod options;
mod path;
mod receiver;
mod reference;
mod sender;
mod start_up;
mod time_scales;

pub use super::safeudp_config::{Profile, SafeUdpConfig};
pub use codes::{Cause, Info, SendCode, Shortfall, Side};

use super::config::CcConfig;
use super::{Ccid, Dependency, HcReceiver, HcSender};
use crate::wire::features::Feature;

/// The number of the CCID, one of those for experiments (RFC 4340 §19.5).
pub const NUMBER: u8 = 248;

/// CCID 248.
#[derive(Clone, Copy, Debug)]
pub(super) struct SafeUdp;

impl Ccid for SafeUdp {
    fn number(&self) -> u8 {
        NUMBER
    }

    fn name(&self) -> &'static str {
        "safeudp"
    }

    fn sender(&self, config: &CcConfig) -> Box<dyn HcSender> {
        Box::new(sender::Sender::new(config))
    }

    fn receiver(&self, config: &CcConfig) -> Box<dyn HcReceiver> {
        Box::new(receiver::Receiver::new(config))
    }

    /// Without Ack Vectors the sender cannot tell where packets were lost.
    fn needs(&self) -> &[Dependency] {
        const {
            &[Dependency {
                feature: Feature::SendAckVector,
                at_sender: false,
                value: 1,
                is_mandatory: true,
            }]
        }
    }

    fn options(&self) -> &[u8] {
        &options::KINDS
    }
}

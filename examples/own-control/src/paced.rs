//! A CCID: packets leave at a rate, which grows by one packet per round trip and halves on loss.
//!
//! The connection sends Ack Vectors, detects losses and measures round trips. This module decides when data packets
//! leave ([`HcSender`]) and when acknowledgements do ([`HcReceiver`]). It is an example, not a proposal: it has no slow
//! start, and its fairness is not examined.

mod receiver;
mod sender;

use dccp_proto::cc::config::CcConfig;
use dccp_proto::cc::{Ccid, Dependency, HcReceiver, HcSender};
use dccp_proto::wire::features::Feature;

/// The number of this CCID, one of those for experiments (RFC 4340 §19.5).
pub const NUMBER: u8 = 249;

/// The CCID.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Paced;

impl Ccid for Paced {
    fn number(&self) -> u8 {
        NUMBER
    }

    fn name(&self) -> &'static str {
        "paced"
    }

    fn sender(&self, config: &CcConfig) -> Box<dyn HcSender> {
        Box::new(sender::Sender::new(config))
    }

    fn receiver(&self, config: &CcConfig) -> Box<dyn HcReceiver> {
        Box::new(receiver::Receiver::new(config))
    }

    /// Without Ack Vectors the sender would not know which packets were lost.
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
}

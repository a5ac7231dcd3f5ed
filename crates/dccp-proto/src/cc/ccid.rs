//! The interface of a CCID: its number and name, its two halves, and what they need of the connection.

use super::config::CcConfig;
use super::{HcReceiver, HcSender};
use crate::wire::features::Feature;
use core::fmt;

/// A feature value that a CCID needs at one of the two ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Dependency {
    /// The feature.
    pub feature: Feature,
    /// The feature is located at the HC-Sender (`true`) or at the HC-Receiver (`false`).
    pub at_sender: bool,
    /// The value that the CCID needs.
    pub value: u8,
    /// A peer that refuses the value ends the connection, because the CCID cannot work without it. Otherwise the
    /// half-connection works with a refusal.
    pub is_mandatory: bool,
}

/// A congestion control that connections can negotiate: the name, number, features and options of its
/// profile (4340-10.4-1).
pub trait Ccid: fmt::Debug + Send + Sync {
    /// Returns its number. 248 to 254 are for experiments (RFC 4340 §19.5).
    fn number(&self) -> u8;

    /// Returns its name in reports.
    fn name(&self) -> &'static str;

    /// Makes the sending half.
    fn sender(&self, config: &CcConfig) -> Box<dyn HcSender>;

    /// Makes the receiving half.
    fn receiver(&self, config: &CcConfig) -> Box<dyn HcReceiver>;

    /// Returns true if the sending half follows [`CcConfig::law`]. A program that chooses a law, and only CCIDs that
    /// ignore it, made a mistake: `Options` of `usrdccp` refuses this.
    fn has_law(&self) -> bool {
        false
    }

    /// Returns the features that a half-connection with this CCID needs. The connection negotiates them. It sends data
    /// only after each has its value or, if it is not mandatory, after the peer has refused it.
    fn needs(&self) -> &[Dependency] {
        &[]
    }

    /// Returns the numbers of the features that the CCID defines: 128–191 are located at the HC-Sender, 192–255 at the
    /// HC-Receiver (4340-10.3-1). Their values are bytes that both ends reconcile; the initial value is 0.
    fn features(&self) -> &[u8] {
        &[]
    }

    /// Returns the types of the options that the CCID understands: 128–191 go from HC-Sender to HC-Receiver, 192–255 back
    /// (4340-10.3-1). The halves decode them.
    fn options(&self) -> &[u8] {
        &[]
    }
}

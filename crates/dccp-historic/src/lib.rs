//! Congestion control as Linux kernels and the simulator ns-2 implement it, for comparisons with them.
//!
//! Each module contains complete laws without options. The caller selects one by name: [`law`] for a window,
//! [`ccid`] for another implementation of a CCID. A law that differs from ours in one rule wraps ours. [`Inputs`]
//! gives any law the coarse inputs of old kernels.
//!
//! ```
//! let mut config = dccp_proto::Config::default();
//! config.law = dccp_historic::law("bic-linux").expect("one of the names");
//! assert_eq!(config.law.name(), "bic-linux");
//! ```

mod bic_linux;
mod cubic_2_6_22;
mod highspeed;
mod htcp_linux;
mod inputs;
mod reno_linux;
mod scalable;
mod tcplike_ns2;
pub mod tfrc_ns2;
mod vegas;
mod westwood_ns2;

pub use inputs::Inputs;

use core::fmt;
use dccp_proto::cc::law::{Law, LawConfig, LawSettings};
use dccp_proto::cc::registry::Ccids;

/// A law with its name.
#[derive(Clone, Copy)]
struct Named {
    name: &'static str,
    build: fn() -> Box<dyn Law>,
}

impl fmt::Debug for Named {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

impl LawSettings for Named {
    fn name(&self) -> &'static str {
        self.name
    }

    fn build(&self) -> Box<dyn Law> {
        (self.build)()
    }
}

const fn named(name: &'static str, build: fn() -> Box<dyn Law>) -> Named {
    Named { name, build }
}

/// All laws.
const LAWS: &[Named] = &[
    // Linux up to 3.12.
    named("reno-linux", || Box::new(reno_linux::Reno::default())),
    // Linux 6.1, and the same with each packet counted, as in ns-2's modules of Linux 2.6.22.
    named("highspeed-linux", || Box::new(highspeed::of_acks())),
    named("highspeed-2.6.22", || Box::new(highspeed::of_packets())),
    // Linux since 4.15, and before.
    named("scalable-linux", || Box::new(scalable::LINUX)),
    named("scalable-2.6.22", || Box::new(scalable::LINUX_2_6_22)),
    named("bic-linux", || Box::new(bic_linux::Bic::default())),
    named("cubic-2.6.22", || Box::new(cubic_2_6_22::Cubic::default())),
    named("htcp-linux", || Box::new(htcp_linux::Htcp::default())),
    // Linux 6.1, and version 2.6.22 as ns-2 runs it.
    named("vegas-linux", || Box::new(vegas::LINUX)),
    named("vegas-2.6.22", || Box::new(vegas::LINUX_2_6_22)),
    named("westwood-ns2", || {
        Box::new(westwood_ns2::Westwood::default())
    }),
    // The law of CCID 2 in ns-2.
    named("tcplike-ns2", || Box::new(tcplike_ns2::TcpLike::default())),
];

/// Returns the names of all laws.
pub fn law_names() -> impl Iterator<Item = &'static str> {
    LAWS.iter().map(|law| law.name)
}

/// Returns the law with this name, after the standard slow start.
pub fn law(name: &str) -> Option<LawConfig> {
    let law = LAWS.iter().find(|law| law.name == name)?;
    Some(LawConfig::from(*law))
}

/// Builds the law with this name.
#[cfg(test)]
fn built(name: &str) -> Box<dyn Law> {
    law(name).expect("a name in the list").build()
}

/// The names of all implementations of CCIDs.
pub const CCID_NAMES: &[&str] = &["tfrc-ns2"];

/// Returns the built-in CCIDs. The implementation with this name replaces one of them: `tfrc-ns2` is a CCID 3.
pub fn ccid(name: &str) -> Option<Ccids> {
    (name == "tfrc-ns2").then(|| Ccids::default().with(tfrc_ns2::TfrcNs2))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_law_is_found_by_its_name_and_reports_it() {
        for name in law_names() {
            let config = law(name).unwrap();
            assert_eq!(config.name(), name);
            assert_eq!(config.build().name(), name);
            assert!(config.check().is_ok());
        }
        assert!(law("reno").is_none());
        assert_ne!(law("vegas-linux"), law("vegas-2.6.22"));
    }

    #[test]
    fn every_ccid_replaces_the_one_with_its_number() {
        for name in CCID_NAMES {
            let ccids = ccid(name).unwrap();
            assert!(ccids.iter().any(|c| c.name() == *name));
            assert_eq!(ccids.iter().count(), Ccids::default().iter().count());
        }
        assert!(ccid("tfrc").is_none());
    }
}

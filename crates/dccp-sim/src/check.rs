//! Invariants that are checked after every event, and the message of a failure.

use crate::link::Link;
use crate::parcel::Token;
use crate::random::Seed;
use crate::totals::Totals;
use core::fmt;
use dccp_proto::Instant;

/// Time never goes back.
pub(crate) fn time(now: Instant, next: Instant) -> Result<(), String> {
    if next < now {
        let (now, next) = (now.as_nanos(), next.as_nanos());
        return Err(format!("time went back from {now} to {next} ns"));
    }
    Ok(())
}

/// Sent = delivered + lost + in flight: no frame appears or vanishes.
pub(crate) fn conservation(totals: &Totals) -> Result<(), String> {
    if totals.add_up() {
        return Ok(());
    }
    Err(format!("frames do not add up: {totals:?}"))
}

/// The same for one link; and no queue holds more than its limit.
pub(crate) fn link<T: Token>(name: &str, link: &Link<T>) -> Result<(), String> {
    if link.is_consistent() {
        return Ok(());
    }
    let (stats, queue) = (link.stats(), link.queue_len());
    Err(format!(
        "link {name}: {stats:?}, (packets, bytes) in queue: {queue:?}"
    ))
}

/// How often a world checks its invariants. Counters are exact in any case.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Checks {
    /// After every event: the parts that it touched.
    #[default]
    EveryEvent,
    /// After every `n`-th event.
    Sampled(u64),
    /// Only in [`World::check`](crate::World::check); that time goes forward is always checked.
    Off,
}

impl Checks {
    /// After how many events they are made.
    pub(crate) const fn period(self) -> u64 {
        match self {
            Self::EveryEvent | Self::Sampled(0) => 1,
            Self::Sampled(n) => n,
            Self::Off => u64::MAX,
        }
    }
}

/// How to repeat a run that failed.
#[derive(Clone, Debug)]
pub(crate) struct Repeat {
    seed: Seed,
    pub(crate) command: String,
}

impl Repeat {
    /// Runs the test of this thread again.
    pub(crate) fn of_this_test(seed: Seed) -> Self {
        let thread = std::thread::current();
        let package = option_env!("CARGO_PKG_NAME").unwrap_or("dccp-sim");
        let package = std::env::var("CARGO_PKG_NAME").unwrap_or_else(|_| package.to_owned());
        let test = thread.name().unwrap_or_default();
        Self {
            seed,
            command: format!("cargo test -p {package} -- {test}"),
        }
    }
}

impl fmt::Display for Repeat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "seed: {}\nrepeat with: {}", self.seed.0, self.command)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn broken_invariant_is_reported() {
        let (early, late) = (Instant::from_nanos(1), Instant::from_nanos(2));
        assert!(time(early, late).is_ok());
        assert!(time(early, early).is_ok());
        assert!(time(late, early).is_err());
        let balanced = Totals {
            sent: 2,
            duplicated: 1,
            delivered: 2,
            in_flight: 1,
            ..Totals::default()
        };
        assert!(conservation(&balanced).is_ok());
        assert!(
            conservation(&Totals {
                in_flight: 0,
                ..balanced
            })
            .is_err()
        );
    }

    #[test]
    fn failure_names_seed_and_test() {
        let text = Repeat::of_this_test(Seed(77)).to_string();
        assert_eq!(
            text,
            "seed: 77\nrepeat with: cargo test -p dccp-sim -- check::tests::failure_names_seed_and_test"
        );
    }
}

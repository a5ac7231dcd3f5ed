//! One connection (RFC 4340 §6–§8, §11–§14).

#[allow(
    dead_code,
    unused_imports,
    reason = "the Connection, which uses all of it, lands next"
)]
pub(crate) mod features;
#[allow(dead_code, reason = "the Connection, which uses all of it, lands next")]
pub(crate) mod in_flight;
#[allow(dead_code, reason = "the Connection, which uses all of it, lands next")]
pub(crate) mod ndp;
#[allow(dead_code, reason = "the Connection, which uses all of it, lands next")]
pub(crate) mod reverse_path;
mod stats;
#[allow(dead_code, reason = "the Connection, which uses all of it, lands next")]
pub(crate) mod timers;

pub use stats::{Counters, DropCounts, DropReason, Mib, PerType, Stats};
pub use timers::Timer;

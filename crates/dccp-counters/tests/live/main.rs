//! Counters of two hosts that talk over a path with loss, and how real programs read them.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod agent;
mod mib;
mod path;
mod scrape;
mod sums;

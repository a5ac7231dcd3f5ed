//! Measurements of this machine: `[bench]` of scenario files.
//!
//! - `checksum.rs`: the header checksum, alone and as a part of sender and receiver.
//! - `ack_vector.rs`: acknowledgements of long windows.
//! - `sending.rs`: ways to hand datagrams over, on the loopback interface.
//! - `pair.rs`: two endpoints that exchange packets in memory; `timer.rs`: processor time.
//!
//! They read the clock, so their figures vary. Only one may run at a time.

mod ack_vector;
mod checksum;
mod pair;
mod sending;
mod timer;

use super::outcome::{Figures, Outcome};
use crate::scenario::plan::{Bench, Run};

/// Measures during the time of the run.
///
/// # Errors
/// Why there are no figures.
pub(super) fn measure(run: &Run, bench: Bench) -> Result<Outcome, String> {
    let figures = match bench {
        Bench::Checksum { size, coverage } => checksum::measure(size, coverage, run.end),
        Bench::Sending { by, batch, size } => {
            sending::measure(by, batch, size, run.end).map_err(|error| error.to_string())
        }
        Bench::AckVector { window, loss } => ack_vector::measure(window, loss, run.seed, run.end),
    };
    Ok(Outcome {
        bench: Some(Box::new(figures?)),
        ..Outcome::default()
    })
}

/// Operations that took `seconds` of processor time.
fn figures_of(operations: u64, seconds: f64) -> Figures {
    let count = dccp_proto::number::to_f64(operations);
    Figures {
        operations,
        operations_per_s: count / seconds,
        cost_ns: Some(seconds / count * 1e9),
        ..Figures::default()
    }
}

#[cfg(test)]
mod tests;

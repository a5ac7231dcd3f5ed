//! Instructions per packet of the core: whether they grow with the window.

use anyhow::Result;

use super::row::{Goal, Row};
use dccp_dev::instructions::{self, Case};

/// Packets in flight.
const SMALL: u32 = 100;
const LARGE: u32 = 10_000;
/// As much more as a packet may cost in the large window.
const GROWTH: f64 = 1.10;

pub(super) fn rows() -> Result<Vec<Row>> {
    instructions::prepare()?;
    let mut rows = Vec::new();
    for losses in [None, Some("1000"), Some("100"), Some("overshoot")] {
        for end in ["sender", "receiver"] {
            let [small, large] = [SMALL, LARGE].map(|window| Case {
                end,
                window,
                losses,
            });
            rows.push(Row::new(
                format!("instructions per packet: {large} beside {SMALL}"),
                large.cost()?.total,
                Some(small.cost()?.total),
                Goal::AtMost(GROWTH),
            ));
        }
    }
    Ok(rows)
}

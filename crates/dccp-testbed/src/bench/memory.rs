//! Memory of a connection.

use anyhow::{Context, Result};
use serde_json::Value;

use super::row::{Goal, Row};
use dccp_dev::shell;

/// Bytes of an idle connection's end, and of both ends with a window of 10,000 packets in flight.
const IDLE: f64 = 4096.0;
const BUSY: f64 = 1_048_576.0;

pub(super) fn rows() -> Result<Vec<Row>> {
    let run = "cargo run --quiet --release -p dccp-proto --example memory";
    let said = shell::output(&mut shell::command_line(run))?;
    let said: Value = serde_json::from_str(&said)?;
    let figure = |name: &str| said[name].as_f64().with_context(|| format!("no {name}"));
    let row =
        |name: &str, ours, goal| Row::new(name.to_owned(), ours, Some(goal), Goal::AtMost(1.0));
    Ok(vec![
        row(
            "bytes of an end of an idle connection beside 4 KiB",
            figure("idle_bytes")?,
            IDLE,
        ),
        row(
            "bytes of both ends, 10,000 packets in flight, beside 1 MiB",
            figure("busy_bytes")?,
            BUSY,
        ),
    ])
}

//! The header checksum (RFC 4340 §9) beside a copy of the same bytes.

use anyhow::{Context, Result};
use serde_json::Value;

use super::row::{Goal, Row};
use crate::programs;
use dccp_dev::median;
use dccp_dev::shell::{self, command};

/// Bytes of application data.
const SIZE: &str = "1400";
const LARGE: &str = "8960";

pub(super) fn rows(repetitions: usize) -> Result<Vec<Row>> {
    programs::build(programs::BENCH_ENDS)?;
    let mut speeds = [const { Vec::new() }; 4];
    for _ in 0..repetitions {
        let full = measure(SIZE)?;
        let large = measure(LARGE)?;
        let figures = [
            per_s(&full, "checksum_ns")?,
            per_s(&full, "copy_ns")?,
            per_s(&large, "sealed_header_ns")?,
            per_s(&full, "sealed_header_ns")?,
        ];
        for (speeds, figure) in speeds.iter_mut().zip(figures) {
            speeds.push(figure);
        }
    }
    let [checksum, copy, header_of_large, header_of_small] = speeds.map(median);
    Ok(vec![
        Row::new(
            format!("checksum of {SIZE} B beside memcpy, packets per s"),
            checksum,
            Some(copy),
            Goal::AtLeast(0.5),
        ),
        Row::new(
            format!("checksum of coverage 1, {LARGE} B beside {SIZE} B, packets per s"),
            header_of_large,
            Some(header_of_small),
            Goal::Within(0.1),
        ),
    ])
}

fn measure(size: &str) -> Result<Value> {
    let program = ["target/release/bench-ends", "checksum", "--size", size];
    Ok(serde_json::from_str(&shell::output(&mut command(
        &program,
    ))?)?)
}

fn per_s(result: &Value, name: &str) -> Result<f64> {
    Ok(1e9 / result[name].as_f64().context("a number")?)
}

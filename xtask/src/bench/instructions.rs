//! Instructions per packet: the same on any day, unlike times.

use anyhow::{Context, Result};

use crate::shell::{self, command};

const FEW: u64 = 20_000;
const MANY: u64 = 40_000;

/// What a data packet more costs: both ends with their acknowledgements, and the simulator.
pub(super) fn per_packet() -> Result<u64> {
    let build = [
        "cargo",
        "build",
        "--quiet",
        "--release",
        "-p",
        "dccp-sim",
        "--example",
        "bulk",
    ];
    shell::run(&mut command(&build))?;
    Ok((count(MANY)? - count(FEW)?) / (MANY - FEW))
}

/// The instructions of a whole run.
fn count(packets: u64) -> Result<u64> {
    let packets = packets.to_string();
    let words = [
        "valgrind",
        "--tool=callgrind",
        "--callgrind-out-file=/dev/null",
        "target/release/examples/bulk",
        &packets,
    ];
    let output = command(&words).output().context("valgrind")?;
    let text = String::from_utf8_lossy(&output.stderr);
    collected(&text).with_context(|| format!("valgrind says {text}"))
}

/// From the line `==12== Collected : 123456`.
fn collected(text: &str) -> Option<u64> {
    let (_, number) = text
        .lines()
        .find_map(|line| line.split_once("Collected : "))?;
    number.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn valgrinds_count_is_read() {
        let text = "==12== Events    : Ir\n==12== Collected : 123456\n==12== \n";
        assert_eq!(collected(text), Some(123_456));
        assert_eq!(collected(""), None);
    }
}

//! Instructions per packet of the core: the same on any day, unlike times.

use anyhow::{Context, Result};

use crate::shell::{self, command};

/// Packets of the two runs whose difference is counted: what opens the connection and the window is
/// in both.
const FEW: u64 = 60_000;
const MANY: u64 = 100_000;

/// Packets in flight.
const WINDOWS: [u32; 2] = [100, 10_000];

/// The table: what a data packet costs each end.
pub(super) fn table() -> Result<String> {
    let build = [
        "cargo",
        "build",
        "--quiet",
        "--release",
        "-p",
        "dccp-proto",
        "--example",
        "transfer",
    ];
    shell::run(&mut command(&build))?;
    let mut table = vec![
        "| packets in flight | sender | receiver |".to_owned(),
        "|---|---|---|".to_owned(),
    ];
    for window in WINDOWS {
        let sender = per_packet("sender", window)?;
        let receiver = per_packet("receiver", window)?;
        table.push(format!("| {window} | {sender} | {receiver} |"));
    }
    Ok(table.join("\n"))
}

/// What a data packet more costs one end.
fn per_packet(end: &str, window: u32) -> Result<u64> {
    let [few, many] = [FEW, MANY].map(|packets| count(end, packets, window));
    Ok((many? - few?) / (MANY - FEW))
}

/// The instructions of one end in a whole run.
fn count(end: &str, packets: u64, window: u32) -> Result<u64> {
    let words = [
        "valgrind",
        "--tool=callgrind",
        "--callgrind-out-file=/dev/null",
        &format!("--toggle-collect=*{end}_turn*"),
        "target/release/examples/transfer",
        &packets.to_string(),
        &window.to_string(),
    ];
    let output = command(&words).output().context("valgrind")?;
    let text = String::from_utf8_lossy(&output.stderr);
    collected(&text)
        .filter(|instructions| *instructions > 0)
        .with_context(|| format!("valgrind says {text}"))
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

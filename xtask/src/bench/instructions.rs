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
    let toggle = format!("--toggle-collect=*{end}_turn*");
    let (packets, window) = (packets.to_string(), window.to_string());
    let program = ["target/release/examples/transfer", &packets, &window];
    Ok(of(&[toggle.as_str()], &program)?.0)
}

/// The instructions of a program, and what it printed; with these options for callgrind.
pub(super) fn of(options: &[&str], program: &[&str]) -> Result<(u64, String)> {
    let valgrind = [
        "valgrind",
        "--tool=callgrind",
        "--callgrind-out-file=/dev/null",
    ];
    let words = [&valgrind, options, program].concat();
    let output = command(&words).output().context("valgrind")?;
    let text = String::from_utf8_lossy(&output.stderr);
    let instructions = collected(&text)
        .filter(|instructions| *instructions > 0)
        .with_context(|| format!("valgrind says {text}"))?;
    Ok((
        instructions,
        String::from_utf8_lossy(&output.stdout).into_owned(),
    ))
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

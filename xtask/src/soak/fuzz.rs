//! `cargo xtask soak fuzz`: each target of `fuzz/` for a while, with cargo-fuzz on nightly.

use std::io::{BufRead, BufReader};
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use crate::tree;
use dccp_dev::packages;
use dccp_dev::shell::{self, command};

const CARGO_FUZZ: &str = "0.13.2";

/// libFuzzer's figures of a run.
#[derive(Debug, Default, PartialEq, Eq)]
struct Progress {
    executions: u64,
    edges: u64,
}

pub(super) fn run(duration: Duration, pattern: &str) -> Result<bool> {
    packages::install_cargo_tool("cargo-fuzz", CARGO_FUZZ)?;
    let list = shell::output(&mut command(&["cargo", "+nightly", "fuzz", "list"]))?;
    let targets: Vec<_> = list
        .lines()
        .filter(|target| target.contains(pattern))
        .collect();
    ensure!(!targets.is_empty(), "no fuzz target of that name");
    let mut rows = Vec::new();
    for target in targets {
        let (progress, found_nothing) = fuzz(target, duration)?;
        rows.push((target, progress, found_nothing));
    }
    println!(
        "{:<16} {:>14} {:>8}  finding",
        "target", "executions", "edges"
    );
    for (target, progress, found_nothing) in &rows {
        let Progress { executions, edges } = progress;
        let finding = if *found_nothing {
            "none"
        } else {
            "see fuzz/artifacts"
        };
        println!("{target:<16} {executions:>14} {edges:>8}  {finding}");
    }
    Ok(rows.iter().all(|(_, _, found_nothing)| *found_nothing))
}

/// Runs a target. Returns its progress and whether it found nothing.
fn fuzz(target: &str, duration: Duration) -> Result<(Progress, bool)> {
    // New inputs go to the first folder; the second one is the corpus that is part of the project.
    let found = tree::root()?.join("target/fuzz-corpus").join(target);
    let known = tree::root()?.join("fuzz/corpus").join(target);
    std::fs::create_dir_all(&found)?;
    let (found, known) = (found.to_string_lossy(), known.to_string_lossy());
    let seconds = format!("-max_total_time={}", duration.as_secs());
    let words = ["cargo", "+nightly", "fuzz", "run", target, &found, &known];
    let words = [&words[..], &["--", &seconds, "-print_final_stats=1"]].concat();
    println!("$ {}", words.join(" "));
    let mut child = command(&words)
        .stdin(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()?;
    let stderr = child.stderr.take().context("no pipe")?;
    let mut progress = Progress::default();
    for line in BufReader::new(stderr).lines() {
        let line = line?;
        // libFuzzer prints thousands of lines, one for each new input.
        if !progress.read(&line) {
            eprintln!("{line}");
        }
    }
    Ok((progress, child.wait()?.success()))
}

impl Progress {
    /// Parses a line. Returns whether it need not be printed.
    fn read(&mut self, line: &str) -> bool {
        if let Some(executions) = line.strip_prefix("stat::number_of_executed_units: ") {
            self.executions = executions.trim().parse().unwrap_or(0);
            return true;
        }
        // Its other figures, and the dictionary that it recommends.
        if ["stat::", "\"", "######"]
            .iter()
            .any(|start| line.starts_with(start))
        {
            return true;
        }
        let mut words = line.split_whitespace();
        if !line.starts_with('#') || words.find(|word| *word == "cov:").is_none() {
            return false;
        }
        let edges = words.next().and_then(|edges| edges.parse().ok());
        self.edges = edges.unwrap_or(self.edges);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libfuzzers_figures_are_read() {
        let mut progress = Progress::default();
        assert!(
            progress.read("#8192\tpulse  cov: 315 ft: 900 corp: 80/1Kb exec/s: 4096 rss: 40Mb")
        );
        assert!(
            progress
                .read("#9000\tDONE   cov: 320 ft: 910 corp: 81/1Kb lim: 43 exec/s: 4096 rss: 40Mb")
        );
        assert!(progress.read("stat::number_of_executed_units: 9000"));
        assert!(progress.read("stat::peak_rss_mb: 187"));
        assert!(!progress.read("==1== ERROR: libFuzzer: deadly signal"));
        let expected = Progress {
            executions: 9000,
            edges: 320,
        };
        assert_eq!(progress, expected);
    }
}

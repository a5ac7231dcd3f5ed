//! Counts the core's instructions with callgrind. Unlike times, they are the same in every run.
//!
//! `cargo xtask instructions` compares them with `xtask/instructions.toml`.

use core::fmt;
use std::collections::BTreeMap;

use anyhow::{Context, Result};

use crate::packages;
use crate::shell::{self, command};

/// Packets of the two runs whose difference is counted. Both open the connection and the window.
const FEW: u64 = 60_000;
const MANY: u64 = 100_000;
/// Packets of a run with an overshoot, which is counted as a whole.
const WITH_OVERSHOOT: u64 = 200_000;
/// Number of checksums in the shorter run.
const SUMS: u64 = 10_000;

/// One end of a transfer, as the example `transfer` of `dccp-proto` plays it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Case {
    /// `sender` or `receiver`.
    pub end: &'static str,
    /// Packets in flight.
    pub window: u32,
    /// The third argument of `transfer`: no losses, 1 of N packets at random, `overshoot`, or `safeudp`.
    pub losses: Option<&'static str>,
}

/// Instructions in all and by function.
#[derive(Clone, PartialEq, Debug)]
pub struct Cost {
    /// All instructions.
    pub total: f64,
    /// Instructions of each function without its callees, by name.
    pub functions: BTreeMap<String, f64>,
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, {} in flight", self.end, self.window)?;
        match self.losses {
            None => Ok(()),
            Some("overshoot") => f.write_str(", an overshoot"),
            Some("safeudp") => f.write_str(", CCID 248"),
            Some(one_of) => write!(f, ", 1 of {one_of} lost"),
        }
    }
}

/// Builds the examples of `dccp-proto` and installs valgrind.
///
/// # Errors
/// The build or the installation fails.
pub fn prepare() -> Result<()> {
    packages::install(packages::FOR_COUNTING)?;
    let build = "cargo build --quiet --release -p dccp-proto --examples";
    shell::run(&mut shell::command_line(build))
}

impl Case {
    /// Instructions per data packet.
    ///
    /// # Errors
    /// valgrind or the example fails.
    pub fn cost(self) -> Result<Cost> {
        if self.losses == Some("overshoot") {
            return Ok(self.whole(WITH_OVERSHOOT)?.per(WITH_OVERSHOOT));
        }
        let [few, many] = [FEW, MANY].map(|packets| self.whole(packets));
        Ok(many?.less(&few?).per(MANY - FEW))
    }

    /// Instructions of a whole run.
    fn whole(self, packets: u64) -> Result<Cost> {
        let toggle = format!("--toggle-collect=*{}_turn*", self.end);
        let (packets, window) = (packets.to_string(), self.window.to_string());
        let mut program = vec!["target/release/examples/transfer", &packets, &window];
        program.extend(self.losses);
        profile(self.end, &[&toggle], &program)
    }
}

/// Instructions per byte of the header checksum over `size` bytes.
///
/// # Errors
/// valgrind or the example fails.
pub fn checksum(size: u64) -> Result<Cost> {
    let of = |sums: u64| {
        let (size, sums) = (size.to_string(), sums.to_string());
        let program = ["target/release/examples/checksum", &size, &sums];
        profile("checksum", &[], &program)
    };
    Ok(of(2 * SUMS)?.less(&of(SUMS)?).per(SUMS * size))
}

impl Cost {
    fn less(mut self, other: &Self) -> Self {
        self.total -= other.total;
        for (name, instructions) in &mut self.functions {
            *instructions -= other.functions.get(name).unwrap_or(&0.0);
        }
        self
    }

    #[expect(clippy::cast_precision_loss, reason = "some thousands of packets")]
    fn per(mut self, number: u64) -> Self {
        let number = number as f64;
        self.total /= number;
        for instructions in self.functions.values_mut() {
            *instructions /= number;
        }
        self
    }
}

/// Counts what a program costs. Counts with different names can run at the same time.
fn profile(name: &str, options: &[&str], program: &[&str]) -> Result<Cost> {
    let file = format!("target/callgrind-{name}.out");
    let (total, _) = count(options, program, &file)?;
    let annotate = "callgrind_annotate --show-percs=no --auto=no --threshold=100";
    let annotate: Vec<_> = annotate.split(' ').collect();
    let text = shell::output(&mut command(&[&annotate[..], &[file.as_str()]].concat()))?;
    Ok(Cost {
        #[expect(clippy::cast_precision_loss, reason = "less than 2^53")]
        total: total as f64,
        functions: functions(&text),
    })
}

/// Runs a program under callgrind with `options`. Returns its instructions and its standard output.
///
/// # Errors
/// valgrind or the program fails.
pub fn of(options: &[&str], program: &[&str]) -> Result<(u64, String)> {
    count(options, program, "/dev/null")
}

fn count(options: &[&str], program: &[&str], profile: &str) -> Result<(u64, String)> {
    let profile = format!("--callgrind-out-file={profile}");
    let valgrind = ["valgrind", "--tool=callgrind", &profile];
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

/// Reads the line `==12== Collected : 123456`.
fn collected(text: &str) -> Option<u64> {
    let (_, number) = text
        .lines()
        .find_map(|line| line.split_once("Collected : "))?;
    number.trim().parse().ok()
}

/// Reads lines such as `1,234  src/a.rs:krate::f [/place/of/program]`. A function inlined from several
/// files is added up.
fn functions(text: &str) -> BTreeMap<String, f64> {
    let mut functions = BTreeMap::new();
    for line in text.lines() {
        let Some((number, place)) = line.trim_start().split_once("  ") else {
            continue;
        };
        let Ok(instructions) = number.replace(',', "").parse::<f64>() else {
            continue;
        };
        let Some((_, name)) = place.split_once(':') else {
            continue;
        };
        let program = name
            .strip_suffix(']')
            .and_then(|name| name.rsplit_once(" ["));
        let name = program.map_or(name, |(name, _program)| name);
        *functions.entry(name.to_owned()).or_default() += instructions;
    }
    functions
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn valgrind_total_is_parsed() {
        let text = "==12== Events    : Ir\n==12== Collected : 123456\n==12== \n";
        assert_eq!(collected(text), Some(123_456));
        assert_eq!(collected(""), None);
    }

    #[test]
    fn function_inlined_from_two_files_is_summed() {
        let text = "\
Ir         file:function\n\
1,234  src/a.rs:krate::f [/target/program]\n\
   66  /rustc/library/core/src/option.rs:krate::f\n\
    5  src/b.rs:slice::<impl [T]>::g [/target/program]\n\
    1  src/b.rs:slice::<impl [T]>::g\n\
1,305  PROGRAM TOTALS\n";
        let functions = functions(text);
        let expected = [("krate::f", 1300.0), ("slice::<impl [T]>::g", 6.0)];
        assert!(
            functions
                .iter()
                .map(|(name, n)| (name.as_str(), *n))
                .eq(expected)
        );
    }
}

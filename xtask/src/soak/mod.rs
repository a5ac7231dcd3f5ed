//! `cargo xtask soak NAME`: checks that take longer than a submission may.

mod miri;
mod monitor;
mod mutants;
mod sanitize;

use std::time::Duration;

use anyhow::{Context, Result, bail};

use crate::fuzz;
use dccp_dev::packages;
use dccp_dev::shell::{self, command, command_line};

#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(clap::Subcommand)]
enum What {
    /// Simulations, each with everything drawn from its seed
    Seeds {
        /// How many
        count: u64,
    },
    /// Every fuzz target
    Fuzz {
        /// For each: 90s, 30m, 2h
        #[arg(value_parser = parse_duration)]
        duration: Duration,
        /// Only targets whose names contain this
        #[arg(default_value = "")]
        pattern: String,
    },
    /// CCID 3 on paths up to 10 Gbit/s and 300 ms
    Tfrc,
    /// Every model of the packet ring, with more switches between its threads than the tests try
    Loom {
        /// The most switches: each additional one multiplies the time
        #[arg(default_value_t = 6)]
        preemptions: u8,
    },
    /// The packet ring's tests, and some of the core's, in Miri: 64 and 32 bit, little and big endian
    Miri,
    /// The tests of sockets and rings with the sanitizers for addresses and threads
    Sanitize,
    /// Attacks, each with its expected outcome: 10^8 blind packets of each kind, or 10^6 with `quick`. Needs root
    Attack {
        /// How much
        #[arg(default_value = "all", value_parser = ["quick", "all"])]
        scale: String,
        /// Only attacks whose names contain this
        #[arg(default_value = "")]
        pattern: String,
        /// Print JSON instead of a table
        #[arg(long)]
        json: bool,
    },
    /// Every behaviour of two ends on a bad network, up to a bound: 10^6 states, or some thousands with `quick`
    Model {
        /// How much
        #[arg(default_value = "all", value_parser = ["quick", "all"])]
        scale: String,
        /// Only models whose names contain this
        #[arg(default_value = "")]
        pattern: String,
    },
    /// System calls that fail during a transfer: each call with each of its errors, or a choice with `quick`
    Faults {
        /// How much
        #[arg(default_value = "all", value_parser = ["quick", "all"])]
        scale: String,
        /// Only faults whose names contain this
        #[arg(default_value = "")]
        pattern: String,
    },
    /// dccpmon sends 500 Mbit/s through the emulator: memory stays flat, and each packet is accounted for
    Bulk {
        /// For example 30m or 2h
        #[arg(default_value = "2h", value_parser = parse_duration)]
        duration: Duration,
    },
    /// 20 clients of one dccpmon server at once, again and again; three are killed each time
    Crowd {
        /// Of each test
        #[arg(default_value = "60s", value_parser = parse_duration)]
        duration: Duration,
        /// After a first one that warms the server up
        #[arg(default_value = "2", value_parser = dccp_dev::shell::at_least_one)]
        crowds: usize,
    },
    /// Tests of dccpmon whose limit is known: each time it names the right one
    Verdicts {
        /// How often
        #[arg(default_value = "5", value_parser = dccp_dev::shell::at_least_one)]
        times: usize,
    },
    /// Changes wire/, conn/ and cc/ in small ways and looks whether a test notices
    Mutants(mutants::Args),
}

pub(crate) fn run(args: &Args) -> Result<bool> {
    match &args.what {
        What::Seeds { count } => seeds(*count),
        What::Fuzz { duration, pattern } => fuzz::run(&fuzz::Plan {
            duration: *duration,
            pattern,
            is_ci: false,
        }),
        What::Tfrc => tfrc(),
        What::Loom { preemptions } => loom(*preemptions),
        What::Miri => miri::run(),
        What::Sanitize => sanitize::run(),
        What::Attack {
            scale,
            pattern,
            json,
        } => attack(scale, pattern, *json),
        What::Model { scale, pattern } => model(scale, pattern),
        What::Faults { scale, pattern } => faults(scale, pattern),
        What::Bulk { duration } => monitor::bulk(*duration),
        What::Crowd { duration, crowds } => monitor::crowd(*duration, *crowds),
        What::Verdicts { times } => verdicts(*times),
        What::Mutants(args) => mutants::run(args),
    }
}

fn seeds(count: u64) -> Result<bool> {
    let mut soak = command(&[
        "cargo",
        "run",
        "--quiet",
        "--release",
        "--package",
        "dccp-testbed",
    ]);
    soak.args(["--bin", "soak", "--", &count.to_string()]);
    shell::run(&mut soak)?;
    Ok(true)
}

/// The attacks of `dccp-attack`, as a table or in JSON.
fn attack(scale: &str, pattern: &str, json: bool) -> Result<bool> {
    packages::install(packages::FOR_ATTACKS)?;
    shell::run(&mut command_line(
        "cargo build --quiet --release --package dccp-attack --package dccpmon --package dccp-emu",
    ))?;
    let mut attack = command(&["target/release/dccp-attack", scale, pattern]);
    if json {
        attack.arg("--json");
    }
    shell::run(&mut attack)?;
    Ok(true)
}

/// The attacks of CI, on the programs that the tests use.
pub(crate) fn attack_tested_programs() -> Result<()> {
    packages::install(packages::FOR_ATTACKS)?;
    shell::run(&mut command_line("target/debug/dccp-attack quick"))
}

/// The models of `dccp-model`, as a table.
fn model(scale: &str, pattern: &str) -> Result<bool> {
    let program = ["cargo", "run", "--quiet", "--release"];
    let mut model = command(&program);
    model.args(["--package", "dccp-model", "--", scale, pattern]);
    shell::run(&mut model)?;
    Ok(true)
}

/// The failing system calls of `dccp-attack`, as a table.
fn faults(scale: &str, pattern: &str) -> Result<bool> {
    packages::install(packages::FOR_TESTS)?;
    let program = ["cargo", "run", "--quiet", "--release"];
    let mut faults = command(&program);
    faults.args(["--package", "dccp-attack", "--", "faults", scale, pattern]);
    shell::run(&mut faults)?;
    Ok(true)
}

/// The scenarios of dccpmon with a known limit. Some need root.
fn verdicts(times: usize) -> Result<bool> {
    packages::install(packages::FOR_TESTS)?;
    for time in 1..=times {
        println!("run {time} of {times}");
        let mut tests = command(&["cargo", "test", "--quiet", "--package", "dccpmon"]);
        tests.args(["--test", "bulk", "--test", "namespaces", "--", "verdict_of"]);
        shell::run(&mut tests)?;
    }
    Ok(true)
}

/// All cells of tests that play only the smaller ones otherwise.
fn tfrc() -> Result<bool> {
    let mut soak = command(&["cargo", "test", "--release", "--package", "dccp-sim"]);
    soak.args(["--test", "tfrc"]).env("SOAK", "1");
    shell::run(&mut soak)?;
    Ok(true)
}

/// The models of the packet ring.
fn loom(preemptions: u8) -> Result<bool> {
    let mut soak = command(&["cargo", "test", "--release", "--package", "dccp-ring"]);
    soak.args(["--test", "loom", "--", "--nocapture"]);
    soak.env("LOOM_MAX_PREEMPTIONS", preemptions.to_string());
    shell::run(&mut soak)?;
    Ok(true)
}

/// `90s`, `30m`, `2h`.
fn parse_duration(text: &str) -> Result<Duration> {
    let units = [('s', 1), ('m', 60), ('h', 3600)];
    for (unit, seconds) in units {
        if let Some(number) = text.strip_suffix(unit) {
            let number: u64 = number
                .parse()
                .with_context(|| format!("{number} is no number"))?;
            return Ok(Duration::from_secs(number * seconds));
        }
    }
    bail!("a number with s, m or h, such as 30m");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_a_unit() {
        assert_eq!(parse_duration("30m").unwrap(), Duration::from_mins(30));
        assert_eq!(parse_duration("5s").unwrap(), Duration::from_secs(5));
        assert_eq!(parse_duration("2h").unwrap(), Duration::from_hours(2));
        assert!(parse_duration("30").is_err());
        assert!(parse_duration("xm").is_err());
    }
}

//! Handshakes per second of a server, and its memory after a flood of Requests without an Ack.

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::row::{Goal, Row};
use crate::programs;
use dccp_dev::median;
use dccp_dev::shell::{self, Background};

const PROGRAM: &str = "target/release/bench-ends";
const SERVER: &str = "127.0.0.1:7004";
/// Handshakes a second that a server on one core must complete.
const PER_S: f64 = 50_000.0;
/// Requests of the flood: the first few make the server allocate what it keeps.
const FIRST: u64 = 50_000;
const FLOOD: u64 = 1_000_000;

pub(super) fn rows(time: u32, repetitions: usize) -> Result<Vec<Row>> {
    programs::build(programs::BENCH_ENDS)?;
    let rates: Vec<f64> = (0..repetitions)
        .map(|_| rate(time))
        .collect::<Result<_>>()?;
    let (before, after) = flood()?;
    Ok(vec![
        Row::new(
            "handshakes per s, the server on one core, beside 50,000".into(),
            median(rates),
            Some(PER_S),
            Goal::AtLeast(1.0),
        ),
        Row::new(
            "peak MiB of a server after 1,000,000 Requests that nobody follows up, beside 50,000"
                .into(),
            after,
            Some(before),
            Goal::AtMost(1.05),
        ),
    ])
}

fn server() -> Result<Background> {
    Background::start(on(1, &format!("accept {SERVER}")), "ready")
}

/// One of our programs, on a core of its own.
fn on(core: u8, words: &str) -> std::process::Command {
    let line = format!("taskset --cpu-list {core} {PROGRAM} {words}");
    shell::command_line(&line)
}

fn rate(time: u32) -> Result<f64> {
    let mut server = server()?;
    // The client has a million flows, each for one use.
    let time = time.min(8);
    shell::output(&mut on(0, &format!("connect {SERVER} --time {time}")))?;
    let accepted: Value = serde_json::from_str(&server.rest()?)?;
    eprintln!("handshakes: {accepted}");
    let of = |name: &str| accepted[name].as_f64().context("a number");
    Ok(of("packets")? / of("seconds")?)
}

/// The server's peak memory in MiB after the first Requests of a flood, and after all.
fn flood() -> Result<(f64, f64)> {
    let server = server()?;
    let mut sizes = [0.0; 2];
    for (size, requests) in sizes.iter_mut().zip([FIRST, FLOOD]) {
        let flood = format!("flood {SERVER} --requests {requests}");
        let said = shell::output(&mut on(0, &flood))?;
        *size = server.peak_mib()?;
        let answers: Value = serde_json::from_str(&said)?;
        let of = |name: &str| answers[name].as_f64().context("a number");
        let share = (of("cookies")? + of("half_open")?) / of("requests")?;
        ensure!(
            share > 0.99,
            "the server answered {share:.3} of the Requests"
        );
        eprintln!("flood: {}; {size:.1} MiB", said.trim());
    }
    Ok((sizes[0], sizes[1]))
}

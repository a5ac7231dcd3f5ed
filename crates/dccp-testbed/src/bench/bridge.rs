//! `dccp-bridge` beside plain UDP on loopback: datagrams that arrive, and latency that it adds.

use anyhow::{Context, Result};
use serde_json::Value;

use super::row::{Goal, Row};
use crate::programs;
use dccp_dev::median;
use dccp_dev::shell::{self, Background, command_line};

const ENDS: &str = "target/release/bench-ends";
const BRIDGE: &str = "target/release/dccp-bridge";
/// The program that receives or answers.
const TARGET: &str = "127.0.0.1:7021";
/// The listening side.
const PLACE: &str = "127.0.0.1:7022/5002";
/// Where programs send to.
const ENTRY: &str = "127.0.0.1:7023";
/// Bits per second that the sender offers, and that must arrive through the bridge.
const OFFERED: f64 = 1.2e9;
const GOAL: f64 = 1e9;
/// Microseconds that the bridge may add to one way, p50.
const ADDED_US: f64 = 100.0;

pub(super) fn rows(time: u32, repetitions: usize) -> Result<Vec<Row>> {
    programs::build(programs::BENCH_ENDS)?;
    programs::build(programs::BRIDGE)?;
    let (mut plain, mut bridged) = (Vec::new(), Vec::new());
    let (mut plain_us, mut bridged_us) = (Vec::new(), Vec::new());
    for _ in 0..repetitions {
        plain.push(arrived(TARGET, time)?);
        plain_us.push(one_way(TARGET)?);
        let (_listen, _connect) = bridge()?;
        bridged.push(arrived(ENTRY, time)?);
        bridged_us.push(one_way(ENTRY)?);
    }
    let (plain, bridged) = (median(plain), median(bridged));
    let (plain_us, bridged_us) = (median(plain_us), median(bridged_us));
    let mbit = |bits: f64| bits / 1e6;
    Ok(vec![
        Row::new(
            "bridge: Mbit/s of 1,400-byte datagrams that arrive of 1,200 beside 1,000".into(),
            mbit(bridged),
            Some(mbit(GOAL)),
            Goal::AtLeast(1.0),
        ),
        Row::new(
            "bridge: the same beside plain UDP".into(),
            mbit(bridged),
            Some(mbit(plain)),
            Goal::None,
        ),
        Row::new(
            "bridge: µs added to one way, p50, beside 100".into(),
            bridged_us - plain_us,
            Some(ADDED_US),
            Goal::AtMost(1.0),
        ),
        Row::new(
            "bridge: µs of one way, p50, beside plain UDP".into(),
            bridged_us,
            Some(plain_us),
            Goal::None,
        ),
    ])
}

/// Starts both sides.
fn bridge() -> Result<(Background, Background)> {
    let listen = format!("{BRIDGE} listen --at {PLACE} --udp {TARGET}");
    let connect = format!("{BRIDGE} connect --udp {ENTRY} --peer {PLACE}");
    Ok((
        Background::start(command_line(&listen), "listens at")?,
        Background::start(command_line(&connect), "takes UDP at")?,
    ))
}

/// Bits per second that arrive of what is sent to `to`.
fn arrived(to: &str, time: u32) -> Result<f64> {
    let mut sink = Background::start(command_line(&format!("{ENDS} udp-sink {TARGET}")), "ready")?;
    let send = format!("{ENDS} udp-paced {to} --rate {OFFERED} --time {time}");
    shell::output(&mut command_line(&send))?;
    let report: Value = serde_json::from_str(&sink.rest()?)?;
    eprintln!("bridge: to {to}: {report}");
    let of = |name: &str| report[name].as_f64().context("a number");
    Ok(8.0 * of("bytes")? / f64::from(time))
}

/// Half of a round trip to a program that answers, in microseconds, p50.
fn one_way(to: &str) -> Result<f64> {
    let _echo = Background::start(command_line(&format!("{ENDS} udp-echo {TARGET}")), "ready")?;
    let said = shell::output(&mut command_line(&format!("{ENDS} udp-ping {to}")))?;
    let times: Value = serde_json::from_str(&said)?;
    eprintln!("bridge: to {to}: {times}");
    Ok(times["p50_us"].as_f64().context("a number")? / 2.0)
}

//! Packet rings: datagrams per second, and the latency of one datagram.

use anyhow::{Context, Result};
use serde_json::Value;
use std::collections::BTreeMap;

use super::row::{Goal, Row};
use crate::programs;
use dccp_dev::median;
use dccp_dev::shell::{self, command};

const PROGRAM: &str = "target/release/ring-bench";
/// A ring's goal: this many times the datagrams of a loop of `send`.
const TIMES: f64 = 5.0;
/// Microseconds that one datagram may take with busy-wait, and how many times an eventfd's round trip without.
const LATENCY: f64 = 50.0;
const TIMES_EVENTFD: f64 = 2.0;

/// Samples by figure and kind of ring: ours and the peer's.
type Samples = BTreeMap<(Figure, String), (Vec<f64>, Vec<f64>)>;

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Figure {
    Rate,
    BusyLatency,
    Latency,
}

pub(super) fn rows(time: u32, repetitions: usize) -> Result<Vec<Row>> {
    programs::build(programs::RING_BENCH)?;
    programs::build(programs::DAEMON)?;
    let mut samples = Samples::new();
    for _ in 0..repetitions {
        let rate = format!("rate --seconds {time}");
        add(&mut samples, Figure::Rate, &rate, &|line| {
            Some((
                line["delivered_per_s"].as_f64()?,
                line["udp_sent_per_s"].as_f64()?,
            ))
        })?;
        add(
            &mut samples,
            Figure::BusyLatency,
            "latency --busy-wait",
            &|line| Some((line["push_to_out_p99_us"].as_f64()?, LATENCY)),
        )?;
        add(&mut samples, Figure::Latency, "latency", &|line| {
            let eventfd = line["eventfd_round_trip_p99_us"].as_f64()?;
            Some((line["push_to_out_p99_us"].as_f64()?, eventfd))
        })?;
    }
    let row = |((figure, ring), (ours, peer)): ((Figure, String), (Vec<f64>, Vec<f64>))| {
        let (what, goal) = match figure {
            Figure::Rate => (
                "zero-length datagrams delivered per s beside a loop of send()",
                Goal::AtLeast(TIMES),
            ),
            Figure::BusyLatency => (
                "push to sent, busy-wait, p99 in µs beside 50",
                Goal::AtMost(1.0),
            ),
            Figure::Latency => (
                "push to sent, p99 in µs beside an eventfd's round trip",
                Goal::AtMost(TIMES_EVENTFD),
            ),
        };
        let name = format!("ring, {ring}: {what}");
        Row::new(name, median(ours), Some(median(peer)), goal)
    };
    Ok(samples.into_iter().map(row).collect())
}

/// Adds what each line of one run says.
fn add(
    samples: &mut Samples,
    figure: Figure,
    words: &str,
    read: &dyn Fn(&Value) -> Option<(f64, f64)>,
) -> Result<()> {
    let words: Vec<_> = [PROGRAM].into_iter().chain(words.split(' ')).collect();
    for line in shell::output(&mut command(&words))?.lines() {
        let said: Value = serde_json::from_str(line)?;
        let (ours, peer) = read(&said).with_context(|| line.to_owned())?;
        let word = |name: &str| said[name].as_str().unwrap_or_default();
        let ring = match word("application") {
            "" => word("ring").to_owned(),
            application => format!("{}, application {application}", word("ring")),
        };
        let both = samples.entry((figure, ring)).or_default();
        both.0.push(ours);
        both.1.push(peer);
    }
    Ok(())
}

//! Transfers through an emulated link: what distance costs, and how exactly packets leave. They need no privileges.
//!
//! ```text
//! core 0:  sender ──▶ dccp-emu relay ──▶ sink  :core 1
//! ```

use anyhow::{Context, Result};
use serde_json::Value;

use super::row::{Goal, Row};
use crate::programs;
use dccp_dev::median;
use dccp_dev::shell::{self, Background};

const PROGRAM: &str = "target/release/bench-ends";
const EMULATOR: &str = "target/release/dccp-emu";

/// Bytes of a packet of 1,400 with its headers (DCCP 16, UDP 8, IP 20).
const PACKET_LEN: f64 = 1444.0;
/// Bit/s of the link over which distances are compared.
const RATE: f64 = 1e9;
/// Seconds of round trip.
const FAR: f64 = 0.2;
const NEAR: f64 = 0.0002;
/// Packets more than 1.05 times what the link holds: the emulator's timers and the sink's turns are round trip too,
/// and at 0.2 ms more than the link's.
const SLACK: f64 = 256.0;
/// Seconds until slow start is over at the far end.
const SKIP: u32 = 8;

/// A transfer of ours through the emulator.
struct Transfer {
    link: String,
    /// Words for both ends.
    both: &'static str,
    sender: String,
}

/// The reports of both ends.
struct Ends {
    sent: Value,
    received: Value,
}

pub(super) fn rows(time: u32, repetitions: usize) -> Result<Vec<Row>> {
    programs::build(programs::BENCH_ENDS)?;
    programs::build(programs::EMULATOR)?;
    let mut rows = distance(time, repetitions)?;
    rows.extend(pacing(time, repetitions)?);
    Ok(rows)
}

/// 1 Gbit/s over 200 ms beside the same over 0.2 ms.
fn distance(time: u32, repetitions: usize) -> Result<Vec<Row>> {
    let far = Transfer::over(FAR, time);
    let near = Transfer::over(NEAR, time);
    let mut figures = [const { Vec::new() }; 4];
    for _ in 0..repetitions {
        let (far, near) = (far.run()?, near.run()?);
        let said = [
            far.mbit_per_s()?,
            near.mbit_per_s()?,
            far.cpu_us_per_packet()?,
            near.cpu_us_per_packet()?,
        ];
        for (figures, said) in figures.iter_mut().zip(said) {
            figures.push(said);
        }
    }
    let [far_rate, near_rate, far_cpu, near_cpu] = figures.map(median);
    Ok(vec![
        Row::new(
            "1 Gbit/s over 200 ms beside 0.2 ms: Mbit/s".into(),
            far_rate,
            Some(near_rate),
            Goal::AtLeast(0.98),
        ),
        Row::new(
            "1 Gbit/s over 200 ms beside 0.2 ms: CPU of both processes, µs per packet".into(),
            far_cpu,
            Some(near_cpu),
            Goal::AtMost(1.15),
        ),
    ])
}

/// 100 Mbit/s, a packet at a time (112 µs), beside a loop that only reads the clock.
fn pacing(time: u32, repetitions: usize) -> Result<Vec<Row>> {
    const MOST_P50_US: f64 = 1.0;
    const MORE_P99_US: f64 = 20.0;
    let paced = |words: &str| Transfer {
        link: "--rate 100M --delay 5ms --queue 100p".into(),
        both: "--ccid 3",
        sender: format!("--time {time} {words}"),
    };
    let (busy, asleep) = (paced("--busy-wait 2000"), paced(""));
    let spin = format!("taskset --cpu-list 0 {PROGRAM} spin --time {time}");
    let mut figures = [const { Vec::new() }; 6];
    for _ in 0..repetitions {
        let bare: Value = serde_json::from_str(&shell::output(&mut shell::command_line(&spin))?)?;
        let (busy, asleep) = (busy.run()?, asleep.run()?);
        let ends = [&bare, &busy.sent["lateness"], &asleep.sent["lateness"]];
        let said = ends.iter().flat_map(|end| [&end["p50_us"], &end["p99_us"]]);
        for (figures, said) in figures.iter_mut().zip(said) {
            figures.push(said.as_f64().context("a time")?);
        }
    }
    let [_, bare_p99, busy_p50, busy_p99, asleep_p50, asleep_p99] = figures.map(median);
    let row = |name: &str, ours, peer, goal| {
        Row::new(
            format!("departure behind schedule, {name}"),
            ours,
            peer,
            goal,
        )
    };
    let at_most = Goal::AtMost(1.0);
    Ok(vec![
        row(
            "busy-wait, p50 in µs beside 1",
            busy_p50,
            Some(MOST_P50_US),
            at_most,
        ),
        row(
            "busy-wait, p99 in µs beside a spin loop's + 20",
            busy_p99,
            Some(bare_p99 + MORE_P99_US),
            at_most,
        ),
        row("p50 in µs", asleep_p50, None, Goal::None),
        row("p99 in µs", asleep_p99, None, Goal::None),
    ])
}

impl Transfer {
    /// As fast as the link goes, with a window of 1.05 times what it holds, and a queue that takes the rest.
    fn over(round_trip: f64, time: u32) -> Self {
        let window = 1.05 * RATE * round_trip / 8.0 / PACKET_LEN + SLACK;
        let delay = round_trip / 2.0 * 1e3;
        Self {
            link: format!("--rate 1G --delay {delay}ms --queue 100000p"),
            both: "--skip 8",
            sender: format!("--time {} --window {window:.0}", SKIP + time),
        }
    }

    fn run(&self) -> Result<Ends> {
        const SINK: &str = "127.0.0.1:7003";
        const RELAY: &str = "127.0.0.1:7103";
        let on = |core: u8, line: String| {
            let line = format!("taskset --cpu-list {core} {line}");
            shell::command_line(&line)
        };
        let (link, both, sender) = (&self.link, self.both, &self.sender);
        let sink = format!("{PROGRAM} dccp-sink {SINK} {both}");
        let mut sink = Background::start(on(1, sink), "ready")?;
        let relay = format!("{EMULATOR} relay --listen {RELAY} --to {SINK} {link}");
        let relay = Background::start(on(1, relay), "ready")?;
        let begin = format!("{PROGRAM} dccp-send {RELAY} {both} {sender}");
        let sent = serde_json::from_str(&shell::output(&mut on(0, begin))?)?;
        let received = serde_json::from_str(&sink.rest()?)?;
        eprintln!("link {link}: {sent} {received}");
        relay.interrupt()?;
        Ok(Ends { sent, received })
    }
}

impl Ends {
    fn mbit_per_s(&self) -> Result<f64> {
        let of = |name: &str| self.received[name].as_f64().context("a number");
        Ok(of("bytes")? * 8e-6 / of("seconds")?)
    }

    /// User and system time of both processes per received packet.
    fn cpu_us_per_packet(&self) -> Result<f64> {
        let of = |end: &Value| end["cpu_seconds"].as_f64().context("a number");
        let packets = self.received["packets"].as_f64().context("a number")?;
        Ok(1e6 * (of(&self.sent)? + of(&self.received)?) / packets)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_window_is_what_the_link_holds_and_a_little_more() {
        // 25 MB in flight are 17,313 packets.
        let far = Transfer::over(FAR, 30);
        assert_eq!(far.sender, "--time 38 --window 18435");
        assert_eq!(far.link, "--rate 1G --delay 100ms --queue 100000p");
        assert_eq!(Transfer::over(NEAR, 30).sender, "--time 38 --window 274");
    }

    #[test]
    fn cost_is_that_of_both_ends_for_what_arrived() {
        let ends = Ends {
            sent: json!({"packets": 2_000_000, "cpu_seconds": 5.0}),
            received: json!({"packets": 1_000_000, "bytes": 1_400_000_000, "seconds": 14.0, "cpu_seconds": 3.0}),
        };
        assert!((ends.cpu_us_per_packet().unwrap() - 8.0).abs() < 1e-9);
        assert!((ends.mbit_per_s().unwrap() - 800.0).abs() < 1e-9);
    }
}

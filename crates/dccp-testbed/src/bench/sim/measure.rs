//! Runs one of the programs and takes its time and memory.

use crate::peers::{DUMBBELL, NS2_SCRIPT, Output};
use anyhow::{Context, Result, ensure};
use core::fmt;
use dccp_dev::shell::{self, command};

/// The program for ns-3, as we build it.
const NS3_PROGRAM: &str = "target/peers/ns3-dumbbell";
const NS3_SOURCE: &str = "interop/ns3/dumbbell.cc";

/// The dumbbell: Mbit/s, milliseconds of round trip, packets of queue (one rate × round trip).
const RATE: u32 = 100;
const RTT: u32 = 70;
const QUEUE: u32 = 583;

/// Which program runs, and with which law.
#[derive(Clone)]
pub(super) enum Engine {
    Ours(String),
    Ns2(&'static str),
    Ns3(&'static str),
}

/// The result of a run.
pub(super) struct Sample {
    /// Data packets delivered.
    pub(super) packets: f64,
    /// Transmissions over all links.
    pub(super) hops: f64,
    /// Payload delivered in bytes.
    pub(super) bytes: f64,
    /// Processor time in seconds, user and system.
    pub(super) cpu: f64,
    pub(super) memory_mib: f64,
}

impl fmt::Display for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ours(flows) => f.pad(&format!("ours {flows}")),
            Self::Ns2(law) => f.pad(&format!("ns-2 {law}")),
            Self::Ns3(law) => f.pad(&format!("ns-3 {law}")),
        }
    }
}

impl Engine {
    /// Runs one flow for `time` virtual seconds.
    pub(super) fn run(&self, time: u32) -> Result<Sample> {
        let (rate, rtt, queue) = (RATE, RTT, QUEUE);
        let settings = format!("rate={rate} rtt={rtt} queue={queue} time={time} ack=2");
        let line = match self {
            Self::Ours(flow) => format!("{DUMBBELL} {settings} flows={flow}"),
            Self::Ns2(law) => format!("ns {NS2_SCRIPT} {settings} watch=0 flows={law}"),
            Self::Ns3(law) => {
                let settings = settings.split(' ').map(|word| format!("--{word}"));
                let settings: Vec<String> = settings.collect();
                format!("{NS3_PROGRAM} --law={law} {}", settings.join(" "))
            }
        };
        let words: Vec<&str> = line.split(' ').collect();
        measured(&words)
    }
}

/// Runs the program of a dumbbell.
pub(super) fn measured(words: &[&str]) -> Result<Sample> {
    // The shell's own measuring, to the millisecond.
    let timed = [
        "bash",
        "-c",
        "TIMEFORMAT='cpu %3U %3S'; time \"$@\"",
        "bash",
    ];
    let output = command(&[&timed, words].concat())
        .output()
        .context("bash")?;
    let error = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{}: {error}", words.join(" "));
    let text = String::from_utf8_lossy(&output.stdout);
    let run = Output::read(&text).with_context(|| words.join(" "))?;
    Ok(Sample {
        packets: run.packets(),
        hops: run.hops,
        bytes: run.bytes(),
        cpu: cpu(&error).with_context(|| format!("bash says {error}"))?,
        memory_mib: run.memory_kib.unwrap_or(f64::NAN) / 1024.0,
    })
}

/// From the line `cpu 1.234 0.005`.
fn cpu(text: &str) -> Option<f64> {
    let times = text.lines().find_map(|line| line.strip_prefix("cpu "))?;
    let times: Result<Vec<f64>, _> = times.split(' ').map(str::parse).collect();
    Some(times.ok()?.iter().sum())
}

/// Compiles the program for ns-3.
pub(super) fn build_ns3() -> Result<()> {
    std::fs::create_dir_all("target/peers")?;
    let modules = [
        "core",
        "network",
        "internet",
        "applications",
        "point-to-point",
        "traffic-control",
    ];
    let libraries = modules.map(|module| format!("-lns3-{module}"));
    let mut words = vec!["g++", "-O2", "-std=c++17", NS3_SOURCE, "-o", NS3_PROGRAM];
    words.extend(libraries.iter().map(String::as_str));
    shell::run(&mut command(&words))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shells_times_are_added() {
        assert_eq!(cpu("warning\ncpu 1.250 0.500\n"), Some(1.75));
        assert_eq!(cpu("cpu x y"), None);
        assert_eq!(cpu(""), None);
    }
}

//! The programs that are compared, and what they print.

use anyhow::{Context, Result};
use serde_json::Value;

use crate::netns::Namespace;
use crate::shell;

pub(super) const MONITOR: &str = "target/release/dccpmon";

/// A program that sends as fast as it can.
pub(super) struct Program {
    pub(super) name: &'static str,
    words: &'static [&'static str],
    read: fn(&Value) -> Option<Sample>,
}

/// What a run came to.
pub(super) struct Sample {
    pub(super) mbit_per_s: f64,
    /// Percent of one core.
    pub(super) sender_cpu: f64,
    /// Percent of one core.
    pub(super) receiver_cpu: f64,
}

/// `SERVER` and `TIME` stand for the server's address and the seconds.
pub(super) const PROGRAMS: [Program; 4] = [
    Program {
        name: "dccpmon over UDP, CCID 2",
        words: &[
            MONITOR, "SERVER", "-t", "TIME", "-l", "1400", "--ccid", "2", "--over", "udp", "-J",
        ],
        read: read_dccpmon,
    },
    Program {
        name: "dccpmon over IP, CCID 2",
        words: &[
            MONITOR, "SERVER", "-t", "TIME", "-l", "1400", "--ccid", "2", "--over", "ip", "-J",
        ],
        read: read_dccpmon,
    },
    Program {
        name: "iperf3 UDP",
        words: &[
            "iperf3", "-c", "SERVER", "-t", "TIME", "-u", "-b", "0", "-l", "1400", "-J",
        ],
        read: read_iperf_udp,
    },
    Program {
        name: "iperf3 TCP, CUBIC",
        words: &["iperf3", "-c", "SERVER", "-t", "TIME", "-C", "cubic", "-J"],
        read: read_iperf_tcp,
    },
];

impl Program {
    pub(super) fn run(&self, client: &Namespace, server: &str, seconds: u32) -> Result<Sample> {
        let seconds = seconds.to_string();
        let fill = |word: &&'static str| match *word {
            "SERVER" => server.to_owned(),
            "TIME" => seconds.clone(),
            word => word.to_owned(),
        };
        let words: Vec<String> = self.words.iter().map(fill).collect();
        let text = shell::output(&mut client.command(&words))?;
        let result: Value = serde_json::from_str(&text).with_context(|| self.name)?;
        (self.read)(&result).with_context(|| format!("{} prints something else", self.name))
    }
}

fn read_dccpmon(result: &Value) -> Option<Sample> {
    let cpu = |end: &str| {
        let host = &result["hosts"][end];
        Some(100.0 * host["cpu_ns"].as_f64()? / host["wall_ns"].as_f64()?)
    };
    Some(Sample {
        mbit_per_s: result["summary"]["flows"][0]["goodput_bps"].as_f64()? / 1e6,
        sender_cpu: cpu("client")?,
        receiver_cpu: cpu("server")?,
    })
}

fn read_iperf_udp(result: &Value) -> Option<Sample> {
    let sum = &result["end"]["sum"];
    let arrived = 1.0 - sum["lost_percent"].as_f64()? / 100.0;
    read_iperf(result, sum["bits_per_second"].as_f64()? * arrived)
}

fn read_iperf_tcp(result: &Value) -> Option<Sample> {
    read_iperf(
        result,
        result["end"]["sum_received"]["bits_per_second"].as_f64()?,
    )
}

fn read_iperf(result: &Value, bit_per_s: f64) -> Option<Sample> {
    let cpu = &result["end"]["cpu_utilization_percent"];
    Some(Sample {
        mbit_per_s: bit_per_s / 1e6,
        sender_cpu: cpu["host_total"].as_f64()?,
        receiver_cpu: cpu["remote_total"].as_f64()?,
    })
}

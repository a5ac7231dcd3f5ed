//! The programs that are compared, and what they print.

use anyhow::{Context, Result};
use serde_json::Value;

use super::place::Hosts;
use dccp_dev::shell::{self, Background};

const OURS: &str = "target/release/bench-ends";
const MONITOR: &str = "target/release/dccpmon";

/// A sink and a sender, which sends as fast as it can. In their words `SERVER` and `TIME` stand for the sink's address
/// and the seconds.
pub(super) struct Program {
    pub(super) name: String,
    sink: String,
    /// A part of the line that the sink prints when it listens.
    ready: &'static str,
    send: String,
    read: Read,
    /// Further offered rates, in percent of the best goodput until then. The best of all counts.
    offers: &'static [u32],
}

/// How the result is read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Read {
    /// Each end prints a line about itself.
    Ends,
    /// The sender of iperf3 speaks for both.
    Iperf,
    /// The client of dccpmon speaks for both.
    Dccpmon,
}

/// The result of a run.
pub(super) struct Sample {
    /// Delivered.
    pub(super) mbit_per_s: f64,
    /// Processor time of the sender's process, kernel included, percent of one core.
    pub(super) sender_cpu: f64,
    pub(super) receiver_cpu: f64,
    /// The offered rate in Mbit/s; `None`: as much as the socket takes.
    pub(super) offered: Option<f64>,
}

impl Sample {
    /// The offered rate for the table, if one was chosen.
    pub(super) fn offer(&self) -> String {
        let text = |rate| format!("; offered {rate:.0} Mbit/s");
        self.offered.map_or(String::new(), text)
    }

    /// Processor seconds of both ends for a gigabit.
    pub(super) fn cpu_per_gbit(&self) -> f64 {
        (self.sender_cpu + self.receiver_cpu) * 10.0 / self.mbit_per_s
    }
}

/// One of our benchmark programs.
fn ends(name: String, sink: &str, send: &str) -> Program {
    Program {
        name,
        sink: format!("{OURS} {sink}"),
        ready: "ready",
        send: format!("{OURS} {send} --time TIME"),
        read: Read::Ends,
        offers: &[],
    }
}

/// Plain UDP.
pub(super) fn udp(mode: &str, size: &str) -> Program {
    ends(
        format!("UDP by {mode}, {size} B"),
        "udp-sink SERVER:7001",
        &format!("udp-send SERVER:7001 --mode {mode} --size {size}"),
    )
}

/// Packets of a raw socket.
pub(super) fn raw(size: &str) -> Program {
    ends(
        format!("raw IP by sendmmsg, {size} B"),
        "raw-sink SERVER",
        &format!("raw-send SERVER --size {size}"),
    )
}

/// QUIC datagrams. Offered all that they take, they may overrun the receiver, and slow down more than they need. What is
/// no more than has been delivered cannot give more.
pub(super) fn quic(size: &str) -> Program {
    let certificate = "--certificate target/bench-certificate.der";
    let program = ends(
        format!("QUIC datagrams (quinn), best offered rate, {size} B"),
        &format!("quic-sink SERVER:7002 {certificate}"),
        &format!("quic-send SERVER:7002 {certificate} --size {size}"),
    );
    Program {
        offers: &[150, 120, 105],
        ..program
    }
}

/// Ours, with these options for both ends, and `--form` for the sender.
pub(super) fn dccp(over: &str, ccid: u8, size: &str, options: &str) -> Program {
    let common = format!("--over {over} --ccid {ccid}");
    let (both, form) = options.split_once("--form").unwrap_or((options, " batch"));
    let name = format!("DCCP over {over}, CCID {ccid}, {size} B {options}");
    ends(
        name.trim().to_owned(),
        &format!("dccp-sink SERVER:7003 {common} {both}"),
        &format!("dccp-send SERVER:7003 {common} {both} --size {size} --form{form}"),
    )
}

/// iperf3 with these options of its client.
pub(super) fn iperf(name: &str, options: &str) -> Program {
    Program {
        name: format!("iperf3 {name}"),
        sink: "iperf3 -s --forceflush".into(),
        ready: "listening",
        send: format!("iperf3 -c SERVER -t TIME -J {options}"),
        read: Read::Iperf,
        offers: &[],
    }
}

/// dccpmon with these options of its client.
pub(super) fn dccpmon(name: &str, options: &str) -> Program {
    Program {
        name: format!("dccpmon {name}"),
        sink: format!("{MONITOR} serve -4 --over udp -1 -p 14300"),
        ready: "serving",
        send: format!("{MONITOR} bulk SERVER -p 14300 -t TIME -J {options}"),
        read: Read::Dccpmon,
        offers: &[],
    }
}

impl Program {
    /// Runs for `seconds`, and one second more for each further offer.
    pub(super) fn run(&self, hosts: &Hosts, seconds: u32) -> Result<Sample> {
        best(self.offers, |offered| {
            let seconds = offered.map_or(seconds, |_| 1);
            self.transfer(hosts, seconds, offered)
        })
    }

    fn transfer(&self, hosts: &Hosts, seconds: u32, offered: Option<f64>) -> Result<Sample> {
        let fill = |text: &str| {
            text.replace("SERVER", hosts.server())
                .replace("TIME", &seconds.to_string())
        };
        let rate = offered.map_or(String::new(), |rate| format!(" --rate {rate}"));
        let mut sink = Background::start(hosts.sink(&fill(&self.sink)), self.ready)?;
        let said = shell::output(&mut hosts.sender(&(fill(&self.send) + &rate)))?;
        let sent: Value = serde_json::from_str(&said).with_context(|| self.name.clone())?;
        let sample = match self.read {
            Read::Ends => {
                let received = serde_json::from_str(&sink.rest()?);
                of_ends(&sent, &received.with_context(|| self.name.clone())?)
            }
            Read::Iperf => of_iperf(&sent),
            Read::Dccpmon => of_dccpmon(&sent),
        };
        let sample =
            sample.with_context(|| format!("{} prints something else: {sent}", self.name))?;
        Ok(Sample { offered, ..sample })
    }
}

/// The best of a transfer that is offered as much as it takes, and of those with these offers.
fn best(offers: &[u32], mut transfer: impl FnMut(Option<f64>) -> Result<Sample>) -> Result<Sample> {
    let mut best = transfer(None)?;
    for percent in offers {
        let rate = best.mbit_per_s * f64::from(*percent) / 100.0;
        let sample = transfer(Some(rate.round().max(1.0)))?;
        if sample.mbit_per_s > best.mbit_per_s {
            best = sample;
        }
    }
    Ok(best)
}

fn of_ends(sent: &Value, received: &Value) -> Option<Sample> {
    let seconds = received["seconds"].as_f64()?;
    let percent = |end: &Value| Some(100.0 * end["cpu_seconds"].as_f64()? / seconds);
    // The data of the opposite direction counts too.
    let bytes = received["bytes"].as_f64()? + sent["back_bytes"].as_f64()?;
    Some(Sample {
        mbit_per_s: bytes * 8e-6 / seconds,
        sender_cpu: percent(sent)?,
        receiver_cpu: percent(received)?,
        offered: None,
    })
}

fn of_iperf(result: &Value) -> Option<Sample> {
    let end = &result["end"];
    // TCP says what arrived; of UDP it is what was not lost.
    let of_tcp = end["sum_received"]["bits_per_second"].as_f64();
    let of_udp = || {
        let sum = &end["sum"];
        Some(sum["bits_per_second"].as_f64()? * (1.0 - sum["lost_percent"].as_f64()? / 100.0))
    };
    let bit_per_s = match result["start"]["test_start"]["protocol"].as_str()? {
        "TCP" => of_tcp?,
        _ => of_udp()?,
    };
    let cpu = &end["cpu_utilization_percent"];
    Some(Sample {
        mbit_per_s: bit_per_s * 1e-6,
        sender_cpu: cpu["host_total"].as_f64()?,
        receiver_cpu: cpu["remote_total"].as_f64()?,
        offered: None,
    })
}

fn of_dccpmon(result: &Value) -> Option<Sample> {
    let percent = |host: &Value| {
        let [cpu_ns, wall_ns] = ["process_cpu_ns", "wall_ns"].map(|name| host[name].as_f64());
        Some(100.0 * cpu_ns? / wall_ns?)
    };
    Some(Sample {
        mbit_per_s: result["summary"]["goodput_bps"].as_f64()? * 1e-6,
        sender_cpu: percent(&result["hosts"]["client"])?,
        receiver_cpu: percent(&result["hosts"]["server"])?,
        offered: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn goodput_is_what_the_sink_got_and_cpu_time_that_of_both() {
        let sent = json!({"packets": 9, "bytes": 9_000_000_000_u64, "seconds": 3.0, "cpu_seconds": 2.0, "back_bytes": 0});
        let received =
            json!({"packets": 5, "bytes": 5_000_000_000_u64, "seconds": 4.0, "cpu_seconds": 3.0});
        let sample = of_ends(&sent, &received).unwrap();
        assert!((sample.mbit_per_s - 10_000.0).abs() < 1e-6);
        assert!((sample.cpu_per_gbit() - 0.125).abs() < 1e-9);
        let mut both = sent.clone();
        both["back_bytes"] = 5_000_000_000_u64.into();
        assert!((of_ends(&both, &received).unwrap().mbit_per_s - 20_000.0).abs() < 1e-6);
        assert!(of_ends(&sent, &json!({})).is_none());
    }

    #[test]
    fn the_best_offer_counts_and_the_next_depends_on_it() {
        let mut offered = Vec::new();
        let sample = best(&[150, 120, 105], |offer| {
            offered.push(offer);
            Ok(Sample {
                // More than 8000 overruns the receiver.
                mbit_per_s: offer.filter(|&rate| rate <= 8000.0).unwrap_or(5000.0),
                sender_cpu: 100.0,
                receiver_cpu: 100.0,
                offered: offer,
            })
        });
        assert_eq!(offered, [None, Some(7500.0), Some(9000.0), Some(7875.0)]);
        let sample = sample.unwrap();
        assert_eq!(sample.offer(), "; offered 7875 Mbit/s");
        let sample = best(&[], |offered| Ok(Sample { offered, ..sample }));
        assert_eq!(sample.unwrap().offer(), "");
    }

    #[test]
    fn dccpmon_speaks_for_both_ends() {
        let result = json!({
            "summary": {"goodput_bps": 8e9},
            "hosts": {
                "client": {"process_cpu_ns": 3e9, "wall_ns": 4e9},
                "server": {"process_cpu_ns": 1e9, "wall_ns": 4e9}
            }
        });
        let sample = of_dccpmon(&result).unwrap();
        assert!((sample.mbit_per_s - 8000.0).abs() < 1e-6);
        assert!((sample.sender_cpu - 75.0).abs() < 1e-9);
        assert!((sample.receiver_cpu - 25.0).abs() < 1e-9);
        assert!(of_dccpmon(&json!({"summary": null})).is_none());
    }

    #[test]
    fn iperf_counts_what_was_lost() {
        let result = json!({
            "start": {"test_start": {"protocol": "UDP"}},
            "end": {
                "sum": {"bits_per_second": 8e9, "lost_percent": 25.0},
                "cpu_utilization_percent": {"host_total": 100.0, "remote_total": 50.0}
            }
        });
        let sample = of_iperf(&result).unwrap();
        assert!((sample.mbit_per_s - 6000.0).abs() < 1e-6);
        assert!((sample.cpu_per_gbit() - 0.25).abs() < 1e-9);
    }
}

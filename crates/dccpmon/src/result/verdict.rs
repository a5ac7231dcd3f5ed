//! Finds what limited a flow, with the evidence.

use crate::schema::{Ledger, Limit, Verdict};
use crate::wire::figures::{Host, TxTotal};
use dccp::proto::number::to_f64;
use dccp_cli::quantity::show as units;

/// The figures of a flow that the verdict is made from.
pub(crate) struct Sight<'a> {
    pub(crate) tx: &'a TxTotal,
    pub(crate) ledger: &'a Ledger,
    /// The rate asked for.
    pub(crate) rate_bps: Option<u64>,
    pub(crate) goodput_bps: f64,
    pub(crate) sender: Option<&'a Host>,
    pub(crate) receiver: Option<&'a Host>,
}

/// The least CPU share of a process with one thread that is always busy.
const BUSY_PERCENT: f64 = 90.0;
/// More than this share of the samples is most of the time.
const MOST: f64 = 0.5;
/// With this share of the rate that was asked for, it is reached.
const REACHED: f64 = 0.98;
/// This share of what left is a loss that holds a sender back.
const LOSS: f64 = 1e-5;

/// The limit of a flow. The ends come first, because a limit at an end explains what is seen in between.
pub(crate) fn limit_of(sight: &Sight<'_>) -> Limit {
    let rules = [
        of_receiver,
        of_application,
        of_cpu,
        of_network,
        of_slow_start,
        of_window,
        of_pacing,
    ];
    rules
        .iter()
        .find_map(|rule| rule(sight))
        .unwrap_or_else(|| {
            limit(
                Verdict::Unknown,
                "no sample shows what limited the flow",
                Vec::new(),
            )
        })
}

fn limit(verdict: Verdict, sentence: &str, evidence: Vec<String>) -> Limit {
    Limit {
        verdict,
        sentence: sentence.into(),
        evidence,
        command: None,
    }
}

fn of_receiver(s: &Sight<'_>) -> Option<Limit> {
    let dropped = s.ledger.lost_receiver_socket + s.ledger.lost_receiver_app;
    (share(dropped, s.ledger.sent) > LOSS).then(|| {
        limit(
            Verdict::Receiver,
            "the receiving host dropped packets",
            vec![format!("{dropped} packets dropped in the peer's host")],
        )
    })
}

/// A rate that was asked for and reached, or an empty send buffer most of the time.
fn of_application(s: &Sight<'_>) -> Option<Limit> {
    let idle = share(s.tx.samples.idle, s.tx.samples.n);
    let mut evidence = vec![format!(
        "nothing waited to be sent in {} of the samples",
        units::percent(idle)
    )];
    let is_reached = match s.rate_bps {
        None => idle > MOST,
        Some(asked) => {
            evidence.push(format!(
                "asked for {}, got {}",
                units::rate(to_f64(asked)),
                units::rate(s.goodput_bps)
            ));
            s.goodput_bps >= to_f64(asked) * REACHED
        }
    };
    is_reached.then(|| {
        limit(
            Verdict::Application,
            "the application offered no more",
            evidence,
        )
    })
}

fn of_cpu(s: &Sight<'_>) -> Option<Limit> {
    let busy = |host: Option<&Host>, name| {
        let percent = cpu_percent(host?)?;
        (percent >= BUSY_PERCENT).then(|| format!("{name} uses {percent:.0} % of a core"))
    };
    let evidence: Vec<String> = [
        busy(s.sender, "the sender"),
        busy(s.receiver, "the receiver"),
    ]
    .into_iter()
    .flatten()
    .collect();
    (!evidence.is_empty()).then(|| limit(Verdict::Cpu, "a process used a whole core", evidence))
}

fn of_network(s: &Sight<'_>) -> Option<Limit> {
    let mut evidence = Vec::new();
    if share(s.ledger.lost_network, s.ledger.sent) > LOSS {
        evidence.push(format!("{} packets lost", s.ledger.lost_network));
    }
    if share(s.ledger.lost_sender_queue, s.ledger.sent) > LOSS {
        let lost = s.ledger.lost_sender_queue;
        evidence.push(format!("{lost} packets lost in the sending host's queue"));
    }
    if share(s.tx.marked, s.ledger.sent) > LOSS {
        evidence.push(format!("{} packets marked", s.tx.marked));
    }
    if evidence.is_empty() {
        return None;
    }
    if let Some(rtt) = &s.tx.rtt_ns {
        evidence.push(format!(
            "p99 RTT - min = {} ms",
            units::millis(rtt.p99.unwrap_or(rtt.max) - rtt.min)
        ));
    }
    Some(limit(
        Verdict::NetworkQueue,
        "the network dropped or marked packets",
        evidence,
    ))
}

fn of_slow_start(s: &Sight<'_>) -> Option<Limit> {
    let part = share(s.tx.samples.slow_start, s.tx.samples.n);
    (part > MOST).then(|| {
        let evidence = format!("slow start in {} of the samples", units::percent(part));
        limit(
            Verdict::CongestionControl,
            "slow start lasted most of the time",
            vec![evidence],
        )
    })
}

fn of_window(s: &Sight<'_>) -> Option<Limit> {
    let part = share(s.tx.samples.window_full, s.tx.samples.n);
    (part > MOST).then(|| {
        let evidence = format!(
            "the window was full in {} of the samples",
            units::percent(part)
        );
        limit(
            Verdict::Window,
            "the congestion window was full",
            vec![evidence],
        )
    })
}

fn of_pacing(s: &Sight<'_>) -> Option<Limit> {
    let part = share(s.tx.samples.paced, s.tx.samples.n);
    (part > MOST).then(|| {
        let evidence = format!(
            "data waited for the controller's rate in {} of the samples",
            units::percent(part)
        );
        limit(
            Verdict::CongestionControl,
            "data waited for the rate of the congestion control",
            vec![evidence],
        )
    })
}

/// CPU time of a process in percent of one core.
pub(crate) fn cpu_percent(host: &Host) -> Option<f64> {
    let cpu = host.delta.process_cpu_ns?;
    let wall = host.delta.wall_ns;
    (wall > 0).then(|| to_f64(cpu) * 100.0 / to_f64(wall))
}

fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 {
        return 0.0;
    }
    to_f64(part) / to_f64(whole)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::Samples;
    use dccp_host::Delta;
    use dccp_stats::Spread;

    fn verdict_of(tx: &TxTotal, ledger: Ledger, sender_cpu_percent: u64) -> Limit {
        let host = |percent| Host {
            delta: Delta {
                process_cpu_ns: Some(percent * 10),
                wall_ns: 1000,
                ..Delta::default()
            },
            ..Host::default()
        };
        limit_of(&Sight {
            tx,
            ledger: &ledger,
            rate_bps: None,
            goodput_bps: 49.9e6,
            sender: Some(&host(sender_cpu_percent)),
            receiver: Some(&host(10)),
        })
    }

    fn sampled(idle: u64, window_full: u64, paced: u64, slow_start: u64) -> TxTotal {
        TxTotal {
            samples: Samples {
                n: idle + window_full + paced,
                idle,
                window_full,
                paced,
                slow_start,
            },
            rtt_ns: Some(Spread {
                min: 20_000_000,
                p50: Some(25_000_000),
                p90: None,
                p99: Some(42_800_000),
                p999: None,
                max: 43_000_000,
                mean: 25e6,
                n: 100,
                hdr: None,
            }),
            ..TxTotal::default()
        }
    }

    fn sent(n: u64) -> Ledger {
        Ledger {
            sent: n,
            delivered: n,
            ..Ledger::default()
        }
    }

    #[test]
    fn an_idle_sender_is_the_applications() {
        let limit = verdict_of(&sampled(60, 40, 0, 0), sent(1000), 10);
        assert_eq!(limit.verdict, Verdict::Application);
        assert_eq!(
            limit.evidence,
            ["nothing waited to be sent in 60 % of the samples"]
        );
    }

    #[test]
    fn a_rate_that_is_not_reached_is_not_the_applications() {
        let host = Host::default();
        let tx = sampled(100, 0, 0, 90);
        let ledger = sent(1000);
        let mut sight = Sight {
            tx: &tx,
            ledger: &ledger,
            rate_bps: Some(100),
            goodput_bps: 97.9,
            sender: Some(&host),
            receiver: Some(&host),
        };
        assert_eq!(limit_of(&sight).verdict, Verdict::CongestionControl);
        sight.goodput_bps = 98.0;
        let limit = limit_of(&sight);
        assert_eq!(limit.verdict, Verdict::Application);
        assert_eq!(limit.evidence[1], "asked for 100 bit/s, got 98 bit/s");
        sight.rate_bps = None;
        assert_eq!(limit_of(&sight).verdict, Verdict::Application);
    }

    #[test]
    fn drops_at_the_peer_are_the_receivers() {
        let ledger = Ledger {
            lost_receiver_socket: 3,
            ..sent(1000)
        };
        let limit = verdict_of(&sampled(60, 40, 0, 0), ledger, 99);
        assert_eq!(limit.verdict, Verdict::Receiver);
    }

    #[test]
    fn a_busy_core_comes_before_the_network() {
        let ledger = Ledger {
            lost_network: 50,
            ..sent(1000)
        };
        assert_eq!(
            verdict_of(&sampled(0, 100, 0, 0), ledger, 90).verdict,
            Verdict::Cpu
        );
        let limit = verdict_of(&sampled(0, 100, 0, 0), ledger, 89);
        assert_eq!(limit.verdict, Verdict::NetworkQueue);
        assert_eq!(
            limit.evidence,
            ["50 packets lost", "p99 RTT - min = 22.8 ms"]
        );
    }

    #[test]
    fn without_loss_the_sender_itself_is_asked() {
        assert_eq!(
            verdict_of(&sampled(0, 100, 0, 80), sent(9), 1).verdict,
            Verdict::CongestionControl
        );
        assert_eq!(
            verdict_of(&sampled(0, 60, 40, 0), sent(9), 1).verdict,
            Verdict::Window
        );
        assert_eq!(
            verdict_of(&sampled(0, 40, 60, 0), sent(9), 1).verdict,
            Verdict::CongestionControl
        );
        assert_eq!(
            verdict_of(&sampled(0, 0, 0, 0), sent(9), 1).verdict,
            Verdict::Unknown
        );
    }
}

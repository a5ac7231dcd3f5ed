//! Finds what limited a flow, with the evidence.

use crate::schema::{Ledger, Limit, Verdict};
use crate::wire::figures::{Host, TxTotal};
use dccp::proto::number::to_f64;
use dccp_cli::quantity::show as units;

/// The figures of a flow that the verdict is made from.
pub(crate) struct Sight<'a> {
    pub(crate) tx: &'a TxTotal,
    pub(crate) ledger: &'a Ledger,
    /// Of the packets lost at the peer's socket, those that its program dropped because its own buffer was full.
    pub(crate) dropped_by_program: u64,
    /// The rate asked for.
    pub(crate) rate_bps: Option<u64>,
    pub(crate) goodput_bps: f64,
    pub(crate) sender: Option<&'a Host>,
    pub(crate) receiver: Option<&'a Host>,
}

/// A thread that ran or waited for a core for this share of the time had work all the time.
const BUSY: f64 = 0.9;
/// More than this share of the samples is most of the time.
const MOST: f64 = 0.5;
/// With this share of the rate that was asked for, it is reached.
const REACHED: f64 = 0.98;
/// This share of what left is a loss that holds a sender back.
const LOSS: f64 = 1e-5;
/// A queue adds at least this to the least round trip, and at least the share.
const QUEUE_NS: u64 = 2_000_000;
const QUEUE_SHARE: f64 = 0.25;
/// The least receive buffer that is recommended.
const BUFFER_MIN: f64 = 4_194_304.0;

/// The limit of a flow. The ends come first, because a limit at an end explains what is seen in between.
pub(crate) fn limit_of(sight: &Sight<'_>) -> Limit {
    let rules = [
        of_socket_buffer,
        of_receiver,
        of_application,
        of_cpu,
        of_pacing_error,
        of_sequence_window,
        of_network,
        of_random_loss,
        of_slow_start,
        of_window,
        of_rate,
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

/// The kernel dropped packets at a socket although the receiving program had time to read them.
fn of_socket_buffer(s: &Sight<'_>) -> Option<Limit> {
    let at_socket = s.ledger.lost_receiver_socket;
    let dropped = at_socket.saturating_sub(s.dropped_by_program);
    if share(dropped, s.ledger.sent) <= LOSS || busiest(s.receiver, "").is_some() {
        return None;
    }
    let evidence = vec![format!(
        "{dropped} packets dropped by the receiving kernel at the socket"
    )];
    let bytes = (s.goodput_bps / 8.0 / 10.0).max(BUFFER_MIN);
    Some(Limit {
        command: Some(format!("sysctl -w net.core.rmem_max={bytes:.0}")),
        ..limit(
            Verdict::SocketBuffer,
            "the receive buffer of the socket was too small for a burst",
            evidence,
        )
    })
}

/// The receiving program did not read as fast as packets came.
fn of_receiver(s: &Sight<'_>) -> Option<Limit> {
    let dropped = s.dropped_by_program + s.ledger.lost_receiver_app;
    if share(dropped, s.ledger.sent) <= LOSS || busiest(s.receiver, "").is_some() {
        return None;
    }
    Some(limit(
        Verdict::Receiver,
        "the receiving program did not read fast enough",
        vec![format!(
            "{dropped} packets dropped by the receiving program"
        )],
    ))
}

/// A rate that was asked for and reached, or an empty send buffer most of the time.
fn of_application(s: &Sight<'_>) -> Option<Limit> {
    let idle = share(s.tx.samples.idle, s.tx.samples.n);
    let mut evidence = Vec::new();
    // Only a transport with congestion control has samples.
    if s.tx.samples.n > 0 {
        evidence.push(format!(
            "nothing waited to be sent in {} of the samples",
            units::percent(idle)
        ));
    }
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
    let ends = [(s.sender, "the sender"), (s.receiver, "the receiver")];
    let evidence: Vec<String> = ends
        .into_iter()
        .filter_map(|(host, name)| busiest(host, name))
        .collect();
    (!evidence.is_empty()).then(|| limit(Verdict::Cpu, "a thread had work all the time", evidence))
}

/// The thread of an end that had work all the time; `None` if all had pauses. Without the times of threads, the
/// process itself counts as one.
fn busiest(host: Option<&Host>, name: &str) -> Option<String> {
    let host = host?;
    let Some(threads) = &host.delta.threads else {
        let percent = cpu_percent(host)?;
        return (percent >= BUSY * 100.0).then(|| format!("{name} uses {percent:.0} % of a core"));
    };
    let busy = threads.runnable_max_ratio;
    let waiting_ns = to_f64(host.delta.wall_ns) * busy - to_f64(threads.cpu_max_ns);
    (busy >= BUSY).then(|| {
        let mut text = format!(
            "{name}'s thread \"{}\" had work for {} of the time",
            threads.busiest,
            units::percent(busy)
        );
        if waiting_ns > to_f64(host.delta.wall_ns) * 0.1 {
            text.push_str(", and waited for a core in part of it");
        }
        text
    })
}

/// The sender woke up too late for its schedule, although no thread was busy.
fn of_pacing_error(s: &Sight<'_>) -> Option<Limit> {
    let schedule = s.tx.schedule.as_ref()?;
    let due = s.tx.offered + schedule.skipped_packets;
    (share(schedule.skipped_packets, due) > 1.0 - REACHED).then(|| {
        let evidence = format!(
            "{} of {due} packets were left out because the sender woke up too late",
            schedule.skipped_packets
        );
        limit(
            Verdict::PacingError,
            "the sending program did not run when packets were due",
            vec![evidence],
        )
    })
}

/// The Sequence Window was too small for the path.
fn of_sequence_window(s: &Sight<'_>) -> Option<Limit> {
    let part = share(s.tx.samples.sequence_window_full, s.tx.samples.n);
    (part > MOST).then(|| {
        let evidence = format!(
            "the Sequence Window was nearly full in {} of the samples",
            units::percent(part)
        );
        limit(
            Verdict::Window,
            "the Sequence Window was too small for the path",
            vec![evidence],
        )
    })
}

/// Packets lost in the network, as evidence. TCP has sent them again.
fn lost(s: &Sight<'_>) -> Option<String> {
    if let Some(tcp) = &s.tx.tcp {
        let resent = tcp.retransmitted_segments;
        let is_much = share(tcp.retransmitted_bytes, tcp.sent_bytes) > LOSS;
        return is_much.then(|| format!("{resent} segments sent again"));
    }
    let lost = s.ledger.lost_network;
    (share(lost, s.ledger.sent) > LOSS).then(|| format!("{lost} packets lost"))
}

/// The queueing delay: how far the 90th percentile of the round trips is above the least one.
fn queue_ns(s: &Sight<'_>) -> Option<u64> {
    let rtt = s.tx.rtt_ns.as_ref()?;
    Some(rtt.p90.unwrap_or(rtt.max).saturating_sub(rtt.min))
}

/// Only a queue delays and marks packets.
fn of_network(s: &Sight<'_>) -> Option<Limit> {
    let mut evidence = Vec::new();
    // Without round trips, losses are taken for those of a queue.
    let is_queue =
        s.tx.rtt_ns
            .as_ref()
            .zip(queue_ns(s))
            .is_none_or(|(rtt, queue)| {
                queue >= QUEUE_NS && to_f64(queue) >= to_f64(rtt.min) * QUEUE_SHARE
            });
    if is_queue {
        evidence.extend(lost(s));
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
    if let Some(ns) = queue_ns(s) {
        evidence.push(format!("p90 RTT - min = {} ms", units::millis(ns)));
    }
    Some(limit(
        Verdict::NetworkQueue,
        "a queue in the network was full",
        evidence,
    ))
}

/// The congestion control takes losses without a queue for congestion.
fn of_random_loss(s: &Sight<'_>) -> Option<Limit> {
    let mut evidence = vec![lost(s)?];
    if let Some(ns) = queue_ns(s) {
        evidence.push(format!(
            "p90 RTT - min = {} ms: no queue",
            units::millis(ns)
        ));
    }
    let option = match s.tx.tcp {
        Some(_) => "--congestion",
        None => "--law",
    };
    let cc = s.tx.connection.cc.as_deref();
    let other = cc
        .is_some_and(|cc| cc != "bbr")
        .then(|| format!("{option} bbr"));
    Some(Limit {
        command: other,
        ..limit(
            Verdict::CongestionControl,
            "the congestion control slowed down for losses that no queue caused",
            evidence,
        )
    })
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
            "the congestion window was full in {} of the samples",
            units::percent(part)
        );
        limit(
            Verdict::CongestionControl,
            "the congestion window was full",
            vec![evidence],
        )
    })
}

fn of_rate(s: &Sight<'_>) -> Option<Limit> {
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
    use crate::schema::{Achieved, Samples, TcpTotals};
    use dccp_host::{Delta, Threads};
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
            dropped_by_program: 0,
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
                sequence_window_full: 0,
            },
            rtt_ns: Some(Spread {
                min: 20_000_000,
                p50: Some(25_000_000),
                p90: Some(40_000_000),
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
            dropped_by_program: 0,
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
    fn drops_of_the_kernel_are_the_socket_buffers() {
        let ledger = Ledger {
            lost_receiver_socket: 3,
            ..sent(1000)
        };
        let limit = verdict_of(&sampled(60, 40, 0, 0), ledger, 10);
        assert_eq!(limit.verdict, Verdict::SocketBuffer);
        // The kernel's default is less than 4 MiB, and 100 ms at 49.9 Mbit/s are less too.
        assert_eq!(
            limit.command.as_deref(),
            Some("sysctl -w net.core.rmem_max=4194304")
        );
    }

    #[test]
    fn drops_of_the_program_are_the_receivers() {
        let (tx, host) = (sampled(60, 40, 0, 0), Host::default());
        let ledger = Ledger {
            lost_receiver_socket: 3,
            ..sent(1000)
        };
        let limit = limit_of(&Sight {
            tx: &tx,
            ledger: &ledger,
            dropped_by_program: 3,
            rate_bps: None,
            goodput_bps: 1e6,
            sender: Some(&host),
            receiver: Some(&host),
        });
        assert_eq!(limit.verdict, Verdict::Receiver);
    }

    #[test]
    fn a_thread_that_always_has_work_is_the_cpu() {
        let (tx, ledger) = (sampled(0, 100, 0, 0), sent(1000));
        let host = |runnable_max_ratio| Host {
            delta: Delta {
                wall_ns: 1000,
                process_cpu_ns: Some(1500),
                threads: Some(Threads {
                    n: 3,
                    cpu_max_ns: 500,
                    runnable_max_ratio,
                    busiest: "send".into(),
                }),
                ..Delta::default()
            },
            ..Host::default()
        };
        let of = |ratio| {
            limit_of(&Sight {
                tx: &tx,
                ledger: &ledger,
                dropped_by_program: 0,
                rate_bps: None,
                goodput_bps: 1e9,
                sender: Some(&host(ratio)),
                receiver: Some(&Host::default()),
            })
        };
        let limit = of(0.95);
        assert_eq!(limit.verdict, Verdict::Cpu);
        let [evidence] = &limit.evidence[..] else {
            panic!("{limit:?}");
        };
        assert!(evidence.contains("\"send\""), "{evidence}");
        assert!(evidence.contains("waited for a core"), "{evidence}");
        // Three threads together may use more than one core.
        assert_eq!(of(0.85).verdict, Verdict::CongestionControl);
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
            ["50 packets lost", "p90 RTT - min = 20.0 ms"]
        );
    }

    #[test]
    fn losses_without_a_queue_are_the_congestion_controls() {
        let ledger = Ledger {
            lost_network: 50,
            ..sent(1000)
        };
        let mut tx = sampled(0, 40, 40, 0);
        tx.connection.cc = Some("reno".into());
        if let Some(rtt) = &mut tx.rtt_ns {
            // A quarter of the least round trip would be 5 ms.
            rtt.p90 = Some(24_900_000);
        }
        let limit = verdict_of(&tx, ledger, 1);
        assert_eq!(limit.verdict, Verdict::CongestionControl);
        assert_eq!(limit.command.as_deref(), Some("--law bbr"));
        if let Some(rtt) = &mut tx.rtt_ns {
            rtt.p90 = Some(25_000_000);
        }
        assert_eq!(verdict_of(&tx, ledger, 1).verdict, Verdict::NetworkQueue);
    }

    #[test]
    fn packets_left_out_are_a_pacing_error() {
        let mut tx = TxTotal {
            offered: 98,
            ..sampled(90, 10, 0, 0)
        };
        let mut verdict = |skipped_packets| {
            tx.schedule = Some(Achieved {
                skipped_packets,
                ..Achieved::default()
            });
            let (ledger, host) = (sent(98), Host::default());
            limit_of(&Sight {
                tx: &tx,
                ledger: &ledger,
                dropped_by_program: 0,
                rate_bps: Some(100),
                goodput_bps: 97.0,
                sender: Some(&host),
                receiver: Some(&host),
            })
        };
        assert_ne!(verdict(2).verdict, Verdict::PacingError);
        let limit = verdict(3);
        assert_eq!(limit.verdict, Verdict::PacingError);
        assert_eq!(
            limit.evidence,
            ["3 of 101 packets were left out because the sender woke up too late"]
        );
    }

    #[test]
    fn full_sequence_window_is_a_window() {
        let mut tx = sampled(0, 0, 100, 0);
        tx.samples.sequence_window_full = 51;
        assert_eq!(verdict_of(&tx, sent(9), 1).verdict, Verdict::Window);
    }

    #[test]
    fn without_loss_the_sender_itself_is_asked() {
        for (samples, verdict) in [
            (sampled(0, 100, 0, 80), Verdict::CongestionControl),
            (sampled(0, 60, 40, 0), Verdict::CongestionControl),
            (sampled(0, 40, 60, 0), Verdict::CongestionControl),
            (sampled(0, 0, 0, 0), Verdict::Unknown),
        ] {
            assert_eq!(verdict_of(&samples, sent(9), 1).verdict, verdict);
        }
    }

    #[test]
    fn segments_that_tcp_sent_again_are_losses() {
        let mut tx = sampled(0, 100, 0, 0);
        tx.connection.cc = Some("reno".into());
        tx.tcp = Some(TcpTotals {
            sent_bytes: 1_000_000,
            acknowledged_bytes: 990_000,
            retransmitted_segments: 7,
            retransmitted_bytes: 10_000,
            busy_ns: 0,
            rwnd_limited_ns: 0,
            sndbuf_limited_ns: 0,
        });
        tx.rtt_ns = None;
        let limit = verdict_of(&tx, sent(1000), 10);
        assert_eq!(limit.verdict, Verdict::NetworkQueue);
        assert_eq!(limit.evidence, ["7 segments sent again"]);
    }
}

//! Figures become verdicts.

use super::*;
use crate::schema::{Achieved, Samples, TcpTotals};
use crate::wire::figures::Buffers;
use dccp_host::{Delta, Threads};
use dccp_stats::Spread;

/// A flow over DCCP as fast as possible, at 49.9 Mbit/s.
fn sight<'a>(tx: &'a TxTotal, ledger: &'a Ledger, hosts: [&'a Host; 2]) -> Sight<'a> {
    Sight {
        transport: Transport::Dccp,
        tx,
        rx: None,
        ledger,
        socket_buffer: None,
        rate_bps: None,
        goodput_bps: Some(49.9e6),
        sender: Some(hosts[0]),
        receiver: Some(hosts[1]),
    }
}

fn verdict_of(tx: &TxTotal, ledger: Ledger, sender_cpu_percent: u64) -> Limit {
    let host = |percent| Host {
        delta: Delta {
            process_cpu_ns: Some(percent * 10),
            wall_ns: 1000,
            ..Delta::default()
        },
        ..Host::default()
    };
    let hosts = [sender_cpu_percent, 10].map(host);
    limit_of(&sight(tx, &ledger, [&hosts[0], &hosts[1]]))
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
        rate_bps: Some(100),
        goodput_bps: Some(97.9),
        ..sight(&tx, &ledger, [&host; 2])
    };
    assert_eq!(limit_of(&sight).verdict, Verdict::CongestionControl);
    sight.goodput_bps = Some(98.0);
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
    let rx = RxTotal {
        dropped_socket: 3,
        ..RxTotal::default()
    };
    let limit = limit_of(&Sight {
        rx: Some(&rx),
        ..sight(&tx, &ledger, [&host; 2])
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
    let of = |ratio| limit_of(&sight(&tx, &ledger, [&host(ratio), &Host::default()]));
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

// goal 34: a busy host lengthens round trips, but not those at losses more than others.
#[test]
fn round_trips_at_losses_tell_a_queue_from_a_busy_host() {
    let ledger = Ledger {
        lost_network: 50,
        ..sent(1000)
    };
    let mut tx = sampled(0, 40, 40, 0);
    let mut of = |p50, mean| {
        let at = tx.rtt_ns.clone();
        tx.loss_rtt_ns = at.map(|at| Spread { p50, mean, ..at });
        verdict_of(&tx, ledger, 1)
    };
    // The 90th percentile of all is 20 ms above the least one, which is 20 ms.
    let limit = of(Some(24_900_000), 30e6);
    assert_eq!(limit.verdict, Verdict::CongestionControl);
    assert_eq!(
        limit.evidence[1],
        "median RTT at losses - min = 4.9 ms: no queue"
    );
    assert_eq!(of(Some(25_000_000), 20e6).verdict, Verdict::NetworkQueue);
    // A few losses have no percentile.
    assert_eq!(of(None, 24.9e6).verdict, Verdict::CongestionControl);
    assert_eq!(of(None, 25e6).verdict, Verdict::NetworkQueue);
}

#[test]
fn losses_over_udp_are_not_those_of_a_congestion_control() {
    let (tx, host) = (TxTotal::default(), Host::default());
    let tx = TxTotal {
        rtt_ns: sampled(0, 0, 0, 0).rtt_ns.map(|rtt| Spread {
            p90: Some(20_100_000),
            ..rtt
        }),
        ..tx
    };
    let ledger = Ledger {
        lost_network: 50,
        ..sent(1000)
    };
    let limit = limit_of(&Sight {
        transport: Transport::Udp,
        rate_bps: Some(50_000_000),
        goodput_bps: Some(47.5e6),
        ..sight(&tx, &ledger, [&host; 2])
    });
    assert_eq!(limit.verdict, Verdict::NetworkQueue);
    assert_eq!(limit.evidence[0], "50 packets lost");
    assert_eq!(limit.command, None);
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
            rate_bps: Some(100),
            goodput_bps: Some(97.0),
            ..sight(&tx, &ledger, [&host; 2])
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

/// A receiving end with this buffer, as the kernel states it, and this limit of the system.
fn received(recv_bytes: u64, recv_max_bytes: u64) -> RxTotal {
    RxTotal {
        buffers: Buffers {
            recv_bytes: Some(recv_bytes),
            recv_max_bytes: Some(recv_max_bytes),
            ..Buffers::default()
        },
        ..RxTotal::default()
    }
}

#[test]
fn larger_buffer_needs_the_systems_limit_or_the_option() {
    let (tx, host) = (TxTotal::default(), Host::default());
    let ledger = Ledger {
        lost_receiver_socket: 3,
        ..sent(1000)
    };
    let of = |kernel, max, socket_buffer| {
        let limit = limit_of(&Sight {
            transport: Transport::Udp,
            rx: Some(&received(kernel, max)),
            socket_buffer,
            ..sight(&tx, &ledger, [&host; 2])
        });
        assert_eq!(limit.verdict, Verdict::SocketBuffer);
        let size = format!("the kernel's receive buffer had {kernel} bytes");
        assert_eq!(limit.evidence[1], size);
        limit.command.unwrap()
    };
    // Debian's usual limit.
    let sysctl = "sysctl -w net.core.rmem_max=4194304";
    assert_eq!(of(425_984, 212_992, None), sysctl);
    assert_eq!(of(32_768, 4_194_304, Some(16_384)), "-w 4194304");
    assert_eq!(
        of(425_984, 212_992, Some(1 << 20)),
        format!("{sysctl} and -w 4194304")
    );
    // The program asks for no more by itself.
    assert_eq!(
        of(8_388_608, 4_194_304, None),
        "sysctl -w net.core.rmem_max=8388608 and -w 8388608"
    );
}

#[test]
fn drops_during_a_pause_are_the_receivers() {
    let tx = TxTotal::default();
    let host = Host {
        delta: Delta {
            wall_ns: 2_000_000_000,
            ..Delta::default()
        },
        ..Host::default()
    };
    let of = |dropped, pauses_ns| {
        let ledger = Ledger {
            lost_receiver_socket: dropped,
            ..sent(1000)
        };
        let rx = RxTotal {
            pauses_ns,
            pause_max_ns: pauses_ns,
            ..received(425_984, 212_992)
        };
        limit_of(&Sight {
            transport: Transport::Udp,
            rx: Some(&rx),
            ..sight(&tx, &ledger, [&host; 2])
        })
    };
    let limit = of(300, 600_000_000);
    assert_eq!(limit.verdict, Verdict::Receiver);
    assert_eq!(
        limit.evidence,
        [
            "300 packets dropped by the receiving kernel at the socket",
            "the receiving program did not read for 0.6 s in all, 0.6 s at once"
        ]
    );
    // A pause of 8 % of the time does not explain that every second packet was dropped.
    assert_eq!(of(500, 160_000_000).verdict, Verdict::SocketBuffer);
    assert_eq!(of(500, 0).verdict, Verdict::SocketBuffer);
}

/// A sender over TCP whose window and whose buffer were full for these parts of 10 s.
fn tcp(rwnd_limited_s: u64, sndbuf_limited_s: u64) -> TxTotal {
    let ns = |s: u64| s * 1_000_000_000;
    TxTotal {
        tcp: Some(TcpTotals {
            sent_bytes: 1_000_000,
            acknowledged_bytes: 1_000_000,
            retransmitted_segments: 0,
            retransmitted_bytes: 0,
            busy_ns: ns(10),
            rwnd_limited_ns: ns(rwnd_limited_s),
            sndbuf_limited_ns: ns(sndbuf_limited_s),
        }),
        buffers: Buffers {
            send_bytes: Some(4_194_304),
            send_max_bytes: Some(4_194_304),
            ..Buffers::default()
        },
        ..sampled(0, 40, 60, 0)
    }
}

#[test]
fn full_receive_window_of_tcp_is_a_window_or_a_slow_receiver() {
    let (tx, ledger) = (tcp(9, 0), sent(1000));
    let host = Host {
        delta: Delta {
            wall_ns: 10_000_000_000,
            ..Delta::default()
        },
        ..Host::default()
    };
    let of = |pauses_ns, socket_buffer| {
        limit_of(&Sight {
            transport: Transport::Tcp,
            rx: Some(&RxTotal {
                pauses_ns,
                ..received(6_000_000, 6_291_456)
            }),
            socket_buffer,
            ..sight(&tx, &ledger, [&host; 2])
        })
    };
    let limit = of(0, None);
    assert_eq!(limit.verdict, Verdict::Window);
    assert_eq!(
        limit.evidence[0],
        "the receive window was full for 90 % of the time with data"
    );
    let command = "sysctl -w net.ipv4.tcp_rmem=\"4096 131072 16777216\"";
    assert_eq!(limit.command.as_deref(), Some(command));
    let limit = of(0, Some(65_536));
    assert_eq!(limit.command.as_deref(), Some("leave -w out"));
    assert_eq!(of(900_000_000, None).verdict, Verdict::Window);
    assert_eq!(of(1_000_000_000, None).verdict, Verdict::Receiver);
}

#[test]
fn full_send_buffer_of_tcp_is_a_socket_buffer() {
    let (tx, ledger, host) = (tcp(0, 9), sent(1000), Host::default());
    let limit = limit_of(&Sight {
        transport: Transport::Tcp,
        ..sight(&tx, &ledger, [&host; 2])
    });
    assert_eq!(limit.verdict, Verdict::SocketBuffer);
    let command = "sysctl -w net.ipv4.tcp_wmem=\"4096 16384 8388608\"";
    assert_eq!(limit.command.as_deref(), Some(command));
}

#[test]
fn udp_that_waits_for_room_is_limited_by_the_interface() {
    let (tx, ledger) = (TxTotal::default(), sent(1000));
    let host = Host {
        delta: Delta {
            threads: Some(Threads {
                n: 3,
                cpu_max_ns: 5,
                runnable_max_ratio: 0.12,
                busiest: "send".into(),
            }),
            ..Delta::default()
        },
        ..Host::default()
    };
    let mut sight = Sight {
        transport: Transport::Udp,
        ..sight(&tx, &ledger, [&host; 2])
    };
    let limit = limit_of(&sight);
    assert_eq!(limit.verdict, Verdict::NetworkQueue);
    assert!(limit.evidence[0].contains("12 %"), "{limit:?}");
    sight.rate_bps = Some(1_000_000_000);
    let limit = limit_of(&sight);
    assert_eq!(limit.verdict, Verdict::Unknown);
    assert_eq!(limit.evidence, ["the sender has no states to look at"]);
}

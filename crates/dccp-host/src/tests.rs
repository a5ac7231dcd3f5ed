//! Recorded texts of a machine with two cores (Linux 6.18, and 4.19 where noted).

use super::*;

fn assert_near(found: f64, expected: f64) {
    assert!((found - expected).abs() < 1e-12, "{found} {expected}");
}

#[test]
fn shares_of_a_core_are_those_of_its_ticks() {
    let then = cpu::ticks(
        "cpu  900 100 200 600 10 0 30 4 0 0\n\
         cpu0 400 50 100 300 5 0 15 2 0 0\ncpu1 500 50 100 300 5 0 15 2 0 0\nintr 86386113 0 0\n",
    );
    let now = cpu::ticks(
        "cpu  0 0 0 0 0 0 0 0 0 0\n\
         cpu0 410 50 120 350 10 1 25 6 0 0\ncpu1 500 50 100 400 5 0 15 2 0 0\ncpu7 1 1 1 1 1 1 1 1 0 0\n",
    );
    assert_eq!(then.len(), 2);
    let cores = cpu::shares(&now, &then);
    assert_eq!(cores.len(), 2, "core 7 came later");
    let core = cores[0];
    assert_near(core.user_ratio, 0.1);
    assert_near(core.system_ratio, 0.2);
    assert_near(core.idle_ratio, 0.5);
    assert_near(core.iowait_ratio, 0.05);
    assert_near(core.irq_ratio, 0.01);
    assert_near(core.softirq_ratio, 0.1);
    assert_near(core.steal_ratio, 0.04);
    assert_near(core.nice_ratio, 0.0);
    assert_near(core.busy_ratio(), 0.45);
    assert_near(cores[1].idle_ratio, 1.0);
    assert_eq!(cpu::busiest(&cores), Some(0));
    assert_eq!(cpu::shares(&now, &now), [], "no tick has passed");
}

#[test]
fn interrupts_are_summed_by_core() {
    let text = "           CPU0       CPU1       \n\
         24:          1          0  IO-APIC   5-edge      ACPI:Ged\n\
         IWI:         90        170   IRQ work interrupts\n\
         RES:    5515671    4391027   Rescheduling interrupts\n\
         ERR:          7\nMIS:          8\n";
    assert_eq!(cpu::interrupts(text), [5_515_762, 4_391_197]);
    assert_eq!(cpu::interrupts_since(&[5, 9], &[3, 9]), [2, 0]);
    assert_eq!(cpu::interrupts("  CPU0\n  1: 5 x\nERR: 4\n"), [5]);
    assert_eq!(cpu::interrupts(""), [0; 0]);
}

const DEV: &str = "Inter-|   Receive                                                |  Transmit
 face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed
    lo: 509935903723 53116324    0    0    0     0          0         0 509935903723 53116324    0    0    0     0       0          0
  eth0: 1001 1002 1003 1004 1005 6 7 8 2001 2002 2003 2004 2005 6 7 8
eth0:1: 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1
";

#[test]
fn interface_is_found_by_its_whole_name() {
    let eth0 = internet::interface(DEV, "eth0").unwrap();
    assert_eq!((eth0.rx_bytes, eth0.rx_packets), (1001, 1002));
    assert_eq!(
        (eth0.rx_errs, eth0.rx_drop, eth0.rx_fifo),
        (1003, 1004, 1005)
    );
    assert_eq!((eth0.tx_bytes, eth0.tx_packets), (2001, 2002));
    assert_eq!(
        (eth0.tx_errs, eth0.tx_drop, eth0.tx_fifo),
        (2003, 2004, 2005)
    );
    assert_eq!(internet::interface(DEV, "eth"), None);
    assert_eq!(internet::interface("  eth0: 1 2 3\n", "eth0"), None);
    let lo = internet::interface(DEV, "lo").unwrap();
    assert_eq!(lo.since(&lo).rx_bytes, 0);
    let earlier = Interface {
        tx_drop: 4,
        ..eth0.clone()
    };
    assert_eq!(eth0.since(&earlier).tx_drop, 2000);
}

/// The counters are 32 bits wide: one wraps here. The rows of offline cores are missing.
#[test]
fn softnet_counts_wrap_and_belong_to_cores() {
    let zeros = "00000000 ".repeat(9);
    let row = |first: &str, core: u32| format!("{first} {zeros}{core:08x} 00000000 00000000\n");
    let then = internet::softnet(&row("fffffffe 00000002 0000003a", 0));
    let now = internet::softnet(
        &(row("00000003 00000002 0000003b", 0) + &row("00000010 0000000b 00000000", 3)),
    );
    assert_eq!(now.keys().copied().collect::<Vec<_>>(), [0, 3]);
    let expected = Softnet {
        processed: 5 + 16,
        dropped: 11,
        time_squeeze: 1,
    };
    assert_eq!(internet::softnet_since(&now, &then), expected);
    // Linux 4.19 has 11 columns, without the core.
    let old = internet::softnet(&format!("1 2 3 {}\n4 5 6\n", "0 ".repeat(8)));
    assert_eq!(old, [(0, [1, 2, 3]), (1, [4, 5, 6])].into());
}

const SNMP: &str = "\
Ip: Forwarding DefaultTTL InReceives InHdrErrors InAddrErrors ForwDatagrams InUnknownProtos InDiscards InDelivers OutRequests OutDiscards OutNoRoutes ReasmTimeout ReasmReqds ReasmOKs ReasmFails FragOKs FragFails FragCreates OutTransmits
Ip: 2 64 53146830 0 0 0 0 3 53146830 53135047 677 5 0 0 0 0 0 0 0 53135047
Icmp: InMsgs InErrors
Icmp: 1 2
Udp: InDatagrams NoPorts InErrors OutDatagrams RcvbufErrors SndbufErrors InCsumErrors IgnoredMulti MemErrors
Udp: 48335625 17780 246110 48612109 246109 7 1 0 0
UdpLite: InDatagrams NoPorts
UdpLite: 99 99
";

const SNMP6: &str = "\
Ip6InReceives                   \t455
Ip6InDiscards                   \t1
Ip6OutRequests                  \t472
Ip6OutDiscards                  \t0
Ip6OutNoRoutes                  \t10
Udp6InDatagrams                 \t404
Udp6NoPorts                     \t23
Udp6InErrors                    \t0
Udp6OutDatagrams                \t427
Udp6RcvbufErrors                \t2
Udp6SndbufErrors                \t0
Udp6InCsumErrors                \t0
";

#[test]
fn counters_of_both_versions_of_ip_are_added() {
    let mib = internet::Mib::new(Some(SNMP.into()), Some(SNMP6.into())).unwrap();
    let udp = Udp {
        in_datagrams: 48_336_029,
        no_ports: 17_803,
        in_errors: 246_110,
        out_datagrams: 48_612_536,
        rcvbuf_errors: 246_111,
        sndbuf_errors: 7,
        in_csum_errors: 1,
    };
    assert_eq!(mib.udp(), udp);
    let ip = Ip {
        in_receives: 53_147_285,
        in_discards: 4,
        out_requests: 53_135_519,
        out_discards: 677,
        out_no_routes: 15,
    };
    assert_eq!(mib.ip(), ip);
    let v4 = internet::Mib::new(Some(SNMP.into()), None).unwrap();
    assert_eq!(v4.udp().no_ports, 17_780);
    assert_eq!(udp.since(&v4.udp()).in_datagrams, 404);
    assert!(internet::Mib::new(None, Some(SNMP6.into())).is_none());
    let garbled = internet::Mib::new(Some("Udp: InDatagrams\nUdp:\n:\n".into()), None).unwrap();
    assert_eq!(garbled.udp(), Udp::default());
}

#[test]
fn busiest_thread_is_the_one_with_most_work() {
    let times = |a: &str, b: &str| -> threads::Times {
        let time = |text, name| threads::time(text, name).unwrap();
        [(1, time(a, "main")), (2, time(b, "send"))].into()
    };
    let then = times("1000 500 3", "0 0 0");
    let now = times("1500 600 9", "300 650 8");
    let threads = threads::since(&now, &then, 1000).unwrap();
    assert_eq!((threads.n, threads.cpu_max_ns), (2, 500));
    assert_near(threads.runnable_max_ratio, 0.95);
    assert_eq!(threads.busiest, "send");
    let new = threads::since(&now, &threads::Times::new(), 1000).unwrap();
    assert_near(new.runnable_max_ratio, 1.0);
    assert_eq!(threads::since(&now, &then, 0), None);
    assert_eq!(threads::time("12", "main"), None);
}

#[test]
fn kernel_has_a_share_of_the_process() {
    let stat = "7 (a) b) R 1 7 7 0 -1 4194304 900 0 0 0 30 10 0 0 20 0 3 0 100 0";
    assert_eq!(cpu::process_ticks(stat), Some([30, 10]));
    assert_eq!(cpu::process_ticks("7 (a) R 1"), None);
    assert_near(cpu::system_share([30, 10], [0, 0]), 0.25);
    assert_near(cpu::system_share([30, 10], [20, 10]), 0.0);
    assert_near(cpu::system_share([30, 10], [30, 10]), 0.0);
}

#[test]
fn rates_need_packets_and_time() {
    let snapshot = |at_ns, cpu_ms| Snapshot {
        at_ns,
        process_cpu: Some(Duration::from_millis(cpu_ms)),
        process_ticks: None,
        cores: None,
        interrupts: None,
        threads: None,
        interface: None,
        softnet: None,
        udp: None,
        ip: None,
    };
    let delta = snapshot(3_000_000_000, 500).since(&snapshot(1_000_000_000, 100));
    assert_eq!(delta.cores, None);
    let delta = delta.with_packets(200_000);
    assert_near(delta.packets_per_s.unwrap(), 100_000.0);
    assert_near(delta.ns_per_packet.unwrap(), 2000.0);
    let text = serde_json::to_string(&delta).unwrap();
    assert_eq!(serde_json::from_str::<Delta>(&text).unwrap(), delta);
    let none = snapshot(1, 1).since(&snapshot(1, 1)).with_packets(0);
    assert_eq!((none.packets_per_s, none.ns_per_packet), (None, None));
}

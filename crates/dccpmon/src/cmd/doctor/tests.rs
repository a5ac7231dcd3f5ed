//! Checks of hosts whose settings are known.

use super::*;
use dccp_host::Interface;
use std::collections::BTreeSet;

/// A host whose settings are as recommended.
fn good() -> Findings {
    let sysctls = [
        ("net.core.rmem_max", "4194304"),
        ("net.core.rmem_default", "212992"),
        ("net.core.wmem_max", "4194304"),
        ("net.core.netdev_max_backlog", "5000"),
        ("net.core.netdev_budget", "300"),
        ("net.ipv4.tcp_congestion_control", "cubic"),
        ("net.ipv4.tcp_available_congestion_control", "reno cubic"),
        ("net.ipv4.ip_no_pmtu_disc", "0"),
    ];
    let device = dccp_host::Device {
        name: "eth0".into(),
        speed_mbps: Some(10_000),
        mtu_bytes: Some(1500),
        queue_packets: Some(1000),
        qdisc: Some("fq_codel".into()),
        is_spread: Some(false),
        counters: Some(Interface::default()),
        offloads: ["generic-receive-offload", "tx-checksumming"]
            .map(|name| (name.to_owned(), true))
            .into(),
        receive_ring: Some((4096, 4096)),
    };
    Findings {
        host: Settings {
            cores: 8,
            governors: ["performance".to_owned()].into(),
            frequency_driver: Some("intel_pstate".into()),
            clock_source: Some("tsc".into()),
            clock_sources: vec!["tsc".into(), "hpet".into()],
            timer_slack_ns: Some(50_000),
            numa_nodes: Some("0".into()),
            load: Some(0.1),
            sysctls: sysctls.map(|(name, value)| (name, value.to_owned())).into(),
            softnet_dropped: Some(0),
            interrupts: vec![50, 50],
            descriptors_max: Some(u64::MAX),
            capabilities: Some(1 << 13),
            has_kernel_dccp: Some(false),
            devices: vec![device],
        },
        lateness: Lateness {
            p50_ns: 55_000,
            p99_ns: 120_000,
        },
        ports: vec![(14233, true)],
    }
}

/// The names of the checks in a state.
fn names(found: &Findings, state: State) -> Vec<String> {
    let checks = checks(found);
    let of_state = checks.into_iter().filter(|check| check.state == state);
    of_state.map(|check| check.name).collect()
}

// goal 59: each setting has a state, a recommended value, a reason and a command.
#[test]
fn doctor_names_each_setting_with_its_command() {
    let found = good();
    let checks = checks(&found);
    assert_eq!(names(&found, State::Hint), [""; 0]);
    assert_eq!(names(&found, State::Unknown), [""; 0]);
    assert!(checks.len() >= 22, "{}", checks.len());
    let different: BTreeSet<_> = checks.iter().map(|check| &check.name).collect();
    assert_eq!(different.len(), checks.len());
    for check in &checks {
        assert!(!check.command.is_empty() && !check.reason.is_empty());
    }
}

#[test]
fn bad_settings_have_hints() {
    let mut found = good();
    let host = &mut found.host;
    host.governors.insert("powersave".into());
    host.clock_source = Some("hpet".into());
    host.load = Some(7.5);
    host.interrupts = vec![5, 95];
    host.sysctls.insert("net.core.rmem_max", "212992".into());
    host.sysctls
        .insert("net.core.netdev_max_backlog", "1000".into());
    host.has_kernel_dccp = Some(true);
    host.devices[0].qdisc = Some("netem".into());
    host.devices[0].receive_ring = Some((256, 4096));
    found.lateness.p99_ns = 4_000_000;
    found.ports[0].1 = false;
    assert_eq!(
        names(&found, State::Hint),
        [
            "governor",
            "clock source",
            "sleeps end late by",
            "load",
            "interrupts of one core",
            "net.core.rmem_max",
            "net.core.netdev_max_backlog",
            "DCCP of the kernel",
            "eth0 qdisc",
            "eth0 receive ring",
            "UDP port 14233 free",
        ]
    );
    let text = table("Linux", &checks(&found));
    for line in [
        "  better  governor                      performance, powersave",
        "          better: performance (slow clocks delay packets)",
        "          sysctl -w net.core.rmem_max=4194304",
        "          tc qdisc del dev eth0 root",
        "          ethtool -G eth0 rx 4096",
    ] {
        assert!(text.lines().any(|l| l == line), "{line}: {text}");
    }
    assert!(
        text.lines().all(|line| line.chars().count() <= 95),
        "{text}"
    );
}

#[test]
fn slow_interface_needs_no_long_backlog() {
    let mut found = good();
    found.host.devices[0].speed_mbps = Some(1000);
    found
        .host
        .sysctls
        .insert("net.core.netdev_max_backlog", "1000".into());
    assert_eq!(names(&found, State::Hint), [""; 0]);
}

#[test]
fn unknown_settings_are_no_hints() {
    let found = Findings {
        host: Settings {
            cores: 2,
            ..Settings::default()
        },
        ..good()
    };
    assert_eq!(names(&found, State::Hint), [""; 0]);
    assert!(names(&found, State::Unknown).len() > 10);
    let text = table("Linux", &checks(&found));
    assert!(
        text.contains("\n  unknown governor                      -\n"),
        "{text}"
    );
}

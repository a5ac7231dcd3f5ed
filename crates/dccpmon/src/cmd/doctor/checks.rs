//! The checks, each with its reason and the command that changes the setting.

use super::Findings;
use dccp::proto::number::to_f64;
use dccp_cli::quantity::show as units;
use dccp_host::{Device, Settings};
use serde::Serialize;

/// The socket buffers that hold 30 ms of 1 Gbit/s.
const BUFFER_BYTES: u64 = 4 << 20;
/// The greatest share of the interrupts that one core should handle.
const INTERRUPTS_SHARE: f64 = 0.8;
/// The latest that 99 of 100 sleeps should end, in nanoseconds.
const LATENESS_NS: u64 = 1_000_000;

/// One setting.
#[derive(Serialize, Clone, PartialEq, Eq, Debug)]
pub(super) struct Check {
    pub(super) group: &'static str,
    pub(super) name: String,
    /// `None`: this system does not show it.
    pub(super) value: Option<String>,
    pub(super) recommended: String,
    pub(super) state: State,
    pub(super) reason: &'static str,
    /// Changes the setting, or shows more.
    pub(super) command: String,
}

/// Whether a setting is as recommended.
#[derive(Serialize, Clone, Copy, PartialEq, Eq, Debug)]
#[serde(rename_all = "lowercase")]
pub(super) enum State {
    /// As recommended.
    Ok,
    /// Another value is better.
    Hint,
    /// The value is not known.
    Unknown,
}

impl State {
    pub(super) fn text(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Hint => "better",
            Self::Unknown => "unknown",
        }
    }
}

/// A check with its advice, before the value is known.
struct Advice {
    group: &'static str,
    recommended: &'static str,
    reason: &'static str,
    command: &'static str,
}

impl Advice {
    /// The check of a value. `is_good` is asked only if the value is known.
    fn check<T>(
        &self,
        name: &str,
        value: Option<T>,
        is_good: impl Fn(&T) -> bool,
        show: impl Fn(&T) -> String,
    ) -> Check {
        let state = match &value {
            None => State::Unknown,
            Some(value) if is_good(value) => State::Ok,
            Some(_) => State::Hint,
        };
        Check {
            group: self.group,
            name: name.to_owned(),
            value: value.map(|value| show(&value)),
            recommended: self.recommended.to_owned(),
            state,
            reason: self.reason,
            command: self.command.to_owned(),
        }
    }
}

/// All checks, group by group.
pub(super) fn checks(found: &Findings) -> Vec<Check> {
    let mut checks = processor(found);
    checks.extend(use_of_processor(&found.host));
    checks.extend(memory(&found.host));
    checks.extend(kernel(&found.host));
    for device in &found.host.devices {
        checks.extend(interface(device));
        checks.extend(drops(device));
    }
    checks.extend(rights(found));
    checks
}

fn yes(is: bool) -> String {
    if is { "yes" } else { "no" }.to_owned()
}

fn processor(found: &Findings) -> Vec<Check> {
    let host = &found.host;
    let advice = |recommended, reason, command| Advice {
        group: "processor",
        recommended,
        reason,
        command,
    };
    let governors = host.governors.iter().cloned().collect::<Vec<_>>();
    let governors = (!governors.is_empty()).then(|| governors.join(", "));
    vec![
        advice(
            "performance",
            "slow clocks delay packets",
            "cpupower frequency-set -g performance",
        )
        .check("governor", governors, |g| g == "performance", String::clone),
        advice("any", "for the record", "cpupower frequency-info").check(
            "frequency driver",
            host.frequency_driver.clone(),
            |_| true,
            String::clone,
        ),
        advice(
            "tsc",
            "other clocks cost a microsecond per packet",
            "echo tsc > /sys/devices/system/clocksource/clocksource0/current_clocksource",
        )
        .check(
            "clock source",
            host.clock_source.clone(),
            |c| is_fast_clock(c, &host.clock_sources),
            String::clone,
        ),
        advice(
            "at most 50 us",
            "packets leave late by that",
            "start dccpmon from a usual shell",
        )
        .check(
            "timer slack",
            host.timer_slack_ns,
            |ns| *ns <= 50_000,
            |ns| units::micros(*ns) + " us",
        ),
        advice(
            "p99 at most 1 ms",
            "packets leave late by that",
            "end other programs, or pin with taskset",
        )
        .check(
            "sleeps end late by",
            Some(found.lateness),
            |late| late.p99_ns <= LATENESS_NS,
            |late| {
                let (p50, p99) = (units::micros(late.p50_ns), units::micros(late.p99_ns));
                format!("p50 {p50} us, p99 {p99} us")
            },
        ),
    ]
}

/// Whether other work takes the processor.
fn use_of_processor(host: &Settings) -> Vec<Check> {
    let advice = |recommended, reason, command| Advice {
        group: "processor",
        recommended,
        reason,
        command,
    };
    let cores = f64::from(host.cores);
    vec![
        advice(
            "at least 2",
            "sender and kernel share one core",
            "use a host with more cores",
        )
        .check(
            "cores",
            Some(u64::from(host.cores)),
            |cores| *cores >= 2,
            u64::to_string,
        ),
        advice(
            "one node",
            "memory of another node is slow",
            "numactl --cpunodebind=0 dccpmon HOST",
        )
        .check(
            "NUMA nodes",
            host.numa_nodes.clone(),
            |nodes| nodes == "0",
            String::clone,
        ),
        advice(
            "less than half of the cores",
            "other programs take time",
            "top",
        )
        .check(
            "load",
            host.load,
            |load| *load < cores / 2.0,
            |load| format!("{load:.2}"),
        ),
        advice(
            "at most 80 % on one core",
            "one core handles all packets",
            "cat /proc/interrupts",
        )
        .check(
            "interrupts of one core",
            host.interrupts_of_busiest(),
            |share| *share <= INTERRUPTS_SHARE,
            |share| format!("{:.0} %", share * 100.0),
        ),
    ]
}

/// Whether no clock of this machine is faster. Clocks of hypervisors and of Arm are read without a system call too.
fn is_fast_clock(current: &str, offered: &[String]) -> bool {
    [
        "tsc",
        "kvm-clock",
        "hyperv_clocksource_tsc_page",
        "arch_sys_counter",
    ]
    .contains(&current)
        || !offered.iter().any(|clock| clock == "tsc")
}

fn memory(host: &Settings) -> Vec<Check> {
    let advice = |recommended, reason, command| Advice {
        group: "memory for packets",
        recommended,
        reason,
        command,
    };
    let sysctl = |name| host.sysctl(name);
    vec![
        advice(
            "at least 4194304 bytes",
            "bursts overflow a small one",
            "sysctl -w net.core.rmem_max=4194304",
        )
        .check(
            "net.core.rmem_max",
            sysctl("net.core.rmem_max"),
            |bytes| *bytes >= BUFFER_BYTES,
            u64::to_string,
        ),
        advice(
            "at least 212992 bytes",
            "bursts overflow a small one",
            "sysctl -w net.core.rmem_default=212992",
        )
        .check(
            "net.core.rmem_default",
            sysctl("net.core.rmem_default"),
            |bytes| *bytes >= 212_992,
            u64::to_string,
        ),
        advice(
            "at least 4194304 bytes",
            "a small one stops the sender",
            "sysctl -w net.core.wmem_max=4194304",
        )
        .check(
            "net.core.wmem_max",
            sysctl("net.core.wmem_max"),
            |bytes| *bytes >= BUFFER_BYTES,
            u64::to_string,
        ),
        advice(
            "at least 1000, 5000 at 10 Gbit/s",
            "packets drop before the socket",
            "sysctl -w net.core.netdev_max_backlog=5000",
        )
        .check(
            "net.core.netdev_max_backlog",
            sysctl("net.core.netdev_max_backlog"),
            |packets| *packets >= backlog(host),
            u64::to_string,
        ),
        advice(
            "at least 300",
            "the kernel pauses while packets wait",
            "sysctl -w net.core.netdev_budget=600",
        )
        .check(
            "net.core.netdev_budget",
            sysctl("net.core.netdev_budget"),
            |n| *n >= 300,
            u64::to_string,
        ),
        advice(
            "0",
            "netdev_max_backlog was too small since the start",
            "sysctl -w net.core.netdev_max_backlog=5000",
        )
        .check(
            "drops of the backlog",
            host.softnet_dropped,
            |n| *n == 0,
            u64::to_string,
        ),
    ]
}

/// The backlog that the fastest interface needs.
fn backlog(host: &Settings) -> u64 {
    let is_fast = |device: &Device| device.speed_mbps.is_some_and(|mbps| mbps >= 10_000);
    if host.devices.iter().any(is_fast) {
        5000
    } else {
        1000
    }
}

fn kernel(host: &Settings) -> Vec<Check> {
    let advice = |recommended, reason, command| Advice {
        group: "kernel",
        recommended,
        reason,
        command,
    };
    let sysctl = |name| host.sysctls.get(name).cloned();
    vec![
        advice(
            "any",
            "TCP tests use it",
            "sysctl -w net.ipv4.tcp_congestion_control=NAME",
        )
        .check(
            "TCP congestion control",
            sysctl("net.ipv4.tcp_congestion_control"),
            |_| true,
            String::clone,
        ),
        advice("any", "TCP tests can use them", "modprobe tcp_bbr").check(
            "available for TCP",
            sysctl("net.ipv4.tcp_available_congestion_control"),
            |_| true,
            String::clone,
        ),
        advice(
            "0",
            "the path's packet size is not found",
            "sysctl -w net.ipv4.ip_no_pmtu_disc=0",
        )
        .check(
            "net.ipv4.ip_no_pmtu_disc",
            sysctl("net.ipv4.ip_no_pmtu_disc"),
            |value| value == "0",
            String::clone,
        ),
        advice(
            "no",
            "it answers packets of protocol 33 too",
            "modprobe -r dccp_ipv6 dccp_ipv4 dccp",
        )
        .check(
            "DCCP of the kernel",
            host.has_kernel_dccp,
            |has| !has,
            |is| yes(*is),
        ),
    ]
}

fn interface(device: &Device) -> Vec<Check> {
    let name = &device.name;
    let offload = |name: &str| device.offloads.get(name).copied();
    let check = Advice {
        group: "interfaces",
        recommended: "any",
        reason: "for the record",
        command: "ip -s link",
    };
    let advice = |recommended, reason| Advice {
        recommended,
        reason,
        ..check
    };
    let with = |check: Check, command: String| Check { command, ..check };
    let on = |name: &str| format!("ethtool -K {} {name} on", device.name);
    vec![
        check.check(
            &format!("{name} speed"),
            device.speed_mbps,
            |_| true,
            |mbps| units::rate(to_f64(*mbps) * 1e6),
        ),
        with(
            advice("at least 1500", "packets of 1400 B do not fit").check(
                &format!("{name} MTU"),
                device.mtu_bytes,
                |bytes| *bytes >= 1500,
                u64::to_string,
            ),
            format!("ip link set {name} mtu 1500"),
        ),
        with(
            advice("one that only queues", "this one shapes what you measure").check(
                &format!("{name} qdisc"),
                device.qdisc.clone(),
                |kind| !["netem", "tbf", "htb", "hfsc", "cbq"].contains(&kind.as_str()),
                String::clone,
            ),
            format!("tc qdisc del dev {name} root"),
        ),
        with(
            advice("at least 1000", "bursts overflow a short queue").check(
                &format!("{name} queue"),
                device.queue_packets,
                |packets| *packets >= 1000 || is_queueless(device),
                u64::to_string,
            ),
            format!("ip link set {name} txqueuelen 1000"),
        ),
        with(
            advice("at least half of its most", "bursts overflow a short ring").check(
                &format!("{name} receive ring"),
                device.receive_ring,
                |(now, most)| *now >= most / 2,
                |(now, most)| format!("{now} of {most}"),
            ),
            format!(
                "ethtool -G {name} rx {}",
                device.receive_ring.map_or(4096, |(_, most)| most)
            ),
        ),
        with(
            advice("yes", "each packet costs more time").check(
                &format!("{name} receive offload"),
                offload("generic-receive-offload"),
                |is_on| *is_on,
                |is| yes(*is),
            ),
            on("gro"),
        ),
        with(
            advice("yes", "the processor sums each packet").check(
                &format!("{name} checksum offload"),
                offload("tx-checksumming"),
                |is_on| *is_on,
                |is| yes(*is),
            ),
            on("tx"),
        ),
        with(
            advice("any", "spreads packets over cores").check(
                &format!("{name} RPS"),
                device.is_spread,
                |_| true,
                |is| yes(*is),
            ),
            format!("echo f > /sys/class/net/{name}/queues/rx-0/rps_cpus"),
        ),
    ]
}

/// Packets that an interface has lost since it exists.
fn drops(device: &Device) -> Vec<Check> {
    let name = &device.name;
    let counters = device.counters.as_ref();
    let advice = |command| Advice {
        group: "interfaces",
        recommended: "0",
        reason: "this host lost packets before",
        command,
    };
    vec![
        advice("ip -s -s link").check(
            &format!("{name} drops received"),
            counters.map(|c| c.rx_drop.saturating_add(c.rx_fifo)),
            |n| *n == 0,
            u64::to_string,
        ),
        advice("tc -s qdisc").check(
            &format!("{name} drops sent"),
            counters.map(|c| c.tx_drop.saturating_add(c.tx_fifo)),
            |n| *n == 0,
            u64::to_string,
        ),
    ]
}

/// Virtual interfaces have no queue of their own.
fn is_queueless(device: &Device) -> bool {
    device.qdisc.as_deref() == Some("noqueue")
}

fn rights(found: &Findings) -> Vec<Check> {
    let host = &found.host;
    let advice = |recommended, reason, command| Advice {
        group: "rights",
        recommended,
        reason,
        command,
    };
    let mut checks = vec![
        advice(
            "at least 1024",
            "each flow of a server takes one",
            "ulimit -n 4096",
        )
        .check(
            "open files",
            host.descriptors_max,
            |n| *n >= 1024,
            |n| {
                if *n == u64::MAX {
                    "unlimited".to_owned()
                } else {
                    n.to_string()
                }
            },
        ),
        advice(
            "yes",
            "protocol 33 needs it, UDP does not",
            "setcap cap_net_raw+ep /usr/bin/dccpmon",
        )
        .check(
            "CAP_NET_RAW",
            host.has_raw_sockets(),
            |has| *has,
            |is| yes(*is),
        ),
    ];
    for (port, is_free) in &found.ports {
        let free = advice("yes", "fine if `dccpmon serve` runs here", "ss -lunp");
        checks.push(free.check(
            &format!("UDP port {port} free"),
            Some(*is_free),
            |free| *free,
            |is| yes(*is),
        ));
    }
    checks
}

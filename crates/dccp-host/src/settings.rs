//! The settings of a host that decide how well it can measure. They are only read.

use crate::device::{self, Device};
use crate::file::{self, line};
use crate::{cpu, internet};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::thread;

/// The kernel's parameters that are read.
const SYSCTLS: [&str; 9] = [
    "net.core.rmem_max",
    "net.core.rmem_default",
    "net.core.wmem_max",
    "net.core.netdev_max_backlog",
    "net.core.netdev_budget",
    "net.ipv4.tcp_congestion_control",
    "net.ipv4.tcp_available_congestion_control",
    "net.ipv4.ip_no_pmtu_disc",
    "net.ipv4.ip_local_port_range",
];
/// Folders of further cores are not read.
const CORES_MAX: usize = 256;
/// The folder of the kernel's clock.
const CLOCK: &str = "/sys/devices/system/clocksource/clocksource0";

/// The settings of a host. A part that the system does not offer is `None` or empty.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Settings {
    /// Processor cores that this process can use.
    pub cores: u32,
    /// How cores choose their clock rate, such as `performance`: the different answers of all cores.
    pub governors: BTreeSet<String>,
    /// The driver that sets the clock rate.
    pub frequency_driver: Option<String>,
    /// The hardware behind the kernel's clock, such as `tsc`.
    pub clock_source: Option<String>,
    /// The clocks that the kernel offers.
    pub clock_sources: Vec<String>,
    /// How much later than asked the kernel may wake a sleeping thread, in nanoseconds.
    pub timer_slack_ns: Option<u64>,
    /// The numbers of the NUMA nodes, such as `0-1`.
    pub numa_nodes: Option<String>,
    /// Programs that ran or wanted to run, the mean of the last minute.
    pub load: Option<f64>,
    /// Parameters of the kernel by their names.
    pub sysctls: BTreeMap<&'static str, String>,
    /// Packets since the start of the machine that found the queue between interfaces and protocols full.
    pub softnet_dropped: Option<u64>,
    /// Interrupts of each core since the start of the machine.
    pub interrupts: Vec<u64>,
    /// Files and sockets that this process may open.
    pub descriptors_max: Option<u64>,
    /// The rights of this process, a bit for each of Linux's capabilities.
    pub capabilities: Option<u64>,
    /// Whether the kernel has a DCCP of its own, which also takes packets of protocol 33.
    pub has_kernel_dccp: Option<bool>,
    /// The network interfaces that are up, without loopback.
    pub devices: Vec<Device>,
}

impl Settings {
    /// Reads all settings. The programs `ethtool` and `tc` are asked for those that no file holds.
    pub fn read() -> Self {
        let cores = thread::available_parallelism().map_or(1, usize::from);
        let sysctls = SYSCTLS
            .iter()
            .filter_map(|name| Some((*name, sysctl(name)?)));
        let softnet = file::read("/proc/thread-self/net/softnet_stat");
        let clock_sources = line(&format!("{CLOCK}/available_clocksource"));
        Self {
            cores: u32::try_from(cores).unwrap_or(u32::MAX),
            governors: governors(),
            frequency_driver: line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_driver"),
            clock_source: line(&format!("{CLOCK}/current_clocksource")),
            clock_sources: clock_sources.map_or_else(Vec::new, |text| {
                text.split_whitespace().map(str::to_owned).collect()
            }),
            timer_slack_ns: line("/proc/self/timerslack_ns").and_then(|text| text.parse().ok()),
            numa_nodes: line("/sys/devices/system/node/online"),
            load: line("/proc/loadavg").and_then(|text| load(&text)),
            sysctls: sysctls.collect(),
            softnet_dropped: softnet.map(|text| softnet_dropped(&text)),
            interrupts: file::read("/proc/interrupts")
                .map_or_else(Vec::new, |text| cpu::interrupts(&text)),
            descriptors_max: file::read("/proc/self/limits")
                .and_then(|text| descriptors_max(&text)),
            capabilities: file::read("/proc/self/status").and_then(|text| capabilities(&text)),
            has_kernel_dccp: file::read("/proc/thread-self/net/protocols")
                .map(|text| has_kernel_dccp(&text)),
            devices: device::all(),
        }
    }

    /// A parameter of the kernel as a number.
    pub fn sysctl(&self, name: &str) -> Option<u64> {
        self.sysctls.get(name)?.parse().ok()
    }

    /// The share of all interrupts that the busiest core handled; `None` without interrupts, or with a single core.
    pub fn interrupts_of_busiest(&self) -> Option<f64> {
        let sum = self
            .interrupts
            .iter()
            .fold(0_u64, |sum, n| sum.saturating_add(*n));
        let most = *self.interrupts.iter().max()?;
        (self.interrupts.len() > 1 && sum > 0).then(|| crate::float(most) / crate::float(sum))
    }

    /// Whether this process may use IP protocols directly (`CAP_NET_RAW`).
    pub fn has_raw_sockets(&self) -> Option<bool> {
        const CAP_NET_RAW: u32 = 13;
        self.capabilities.map(|bits| bits & (1 << CAP_NET_RAW) != 0)
    }
}

/// A parameter of the kernel by its name, its words with single spaces between them.
pub fn sysctl(name: &str) -> Option<String> {
    let path = format!("/proc/sys/{}", name.replace('.', "/"));
    line(&path).map(|text| words(&text))
}

/// The words of a line with single spaces between them.
fn words(line: &str) -> String {
    let words: Vec<&str> = line.split_whitespace().collect();
    words.join(" ")
}

fn governors() -> BTreeSet<String> {
    let Ok(cores) = fs::read_dir("/sys/devices/system/cpu") else {
        return BTreeSet::new();
    };
    let files = cores.take(CORES_MAX).filter_map(|core| {
        let path = core.ok()?.path().join("cpufreq/scaling_governor");
        line(path.to_str()?)
    });
    files.collect()
}

/// The first figure of `/proc/loadavg`.
fn load(text: &str) -> Option<f64> {
    text.split_whitespace().next()?.parse().ok()
}

/// The drops of all cores in `/proc/net/softnet_stat`.
fn softnet_dropped(text: &str) -> u64 {
    let rows = internet::softnet(text);
    rows.values()
        .map(|[_, dropped, _]| u64::from(*dropped))
        .sum()
}

/// The limit in force in `/proc/self/limits`: `Max open files  1024  524288  files`.
fn descriptors_max(limits: &str) -> Option<u64> {
    let row = limits
        .lines()
        .find_map(|l| l.strip_prefix("Max open files"))?;
    match row.split_whitespace().next()? {
        "unlimited" => Some(u64::MAX),
        number => number.parse().ok(),
    }
}

/// The rights in force in `/proc/self/status`, which are hexadecimal.
fn capabilities(status: &str) -> Option<u64> {
    let bits = status.lines().find_map(|l| l.strip_prefix("CapEff:"))?;
    u64::from_str_radix(bits.trim(), 16).ok()
}

/// Whether `/proc/net/protocols` has a row for DCCP.
fn has_kernel_dccp(protocols: &str) -> bool {
    protocols.lines().any(|row| row.starts_with("DCCP"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_the_kernel_are_read() {
        assert_eq!(load("0.52 1.10 1.20 2/345 6789\n"), Some(0.52));
        assert_eq!(load(""), None);
        let limits = "Limit                     Soft Limit           Hard Limit           Units     \n\
                      Max processes             1000                 1000                 processes \n\
                      Max open files            1024                 524288               files     \n";
        assert_eq!(descriptors_max(limits), Some(1024));
        assert_eq!(
            descriptors_max("Max open files unlimited unlimited files"),
            Some(u64::MAX)
        );
        assert_eq!(descriptors_max(""), None);
        let status = "Name:\tdccpmon\nCapInh:\t0000000000000000\nCapEff:\t0000000000002000\n";
        assert_eq!(capabilities(status), Some(0x2000));
        assert!(has_kernel_dccp(
            "protocol  size sockets\nDCCPv6   1 0\nUDP 1 2\n"
        ));
        assert!(!has_kernel_dccp("protocol  size sockets\nUDP       1 2\n"));
        let zeros = "0 ".repeat(9);
        let softnet = format!("1 2 3 {zeros}0 0 0\n1 b 3 {zeros}1 0 0\n");
        assert_eq!(softnet_dropped(&softnet), 13);
        assert_eq!(words("32768\t60999"), "32768 60999");
    }

    #[test]
    fn figures_follow_from_settings() {
        let host = Settings {
            interrupts: vec![10, 90],
            capabilities: Some(0x2000),
            sysctls: [("net.core.rmem_max", "212992".to_owned())].into(),
            ..Settings::default()
        };
        assert!((host.interrupts_of_busiest().unwrap() - 0.9).abs() < 1e-12);
        assert_eq!(host.has_raw_sockets(), Some(true));
        assert_eq!(host.sysctl("net.core.rmem_max"), Some(212_992));
        assert_eq!(host.sysctl("net.core.wmem_max"), None);
        let single = Settings {
            interrupts: vec![10],
            capabilities: Some(0x1fff),
            ..Settings::default()
        };
        assert_eq!(single.interrupts_of_busiest(), None);
        assert_eq!(single.has_raw_sockets(), Some(false));
        assert_eq!(Settings::default().has_raw_sockets(), None);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn settings_of_this_host_are_read() {
        let host = Settings::read();
        assert!(host.cores > 0);
        assert!(host.descriptors_max.is_some_and(|n| n > 0));
        assert!(host.timer_slack_ns.is_some());
        assert!(host.devices.iter().all(|d| d.name != "lo"), "{host:?}");
    }
}

//! The settings of network interfaces.

use crate::file::{self, line};
use crate::internet::{self, Interface};
use std::collections::BTreeMap;
use std::process::{Command, Stdio};

/// Further interfaces are not read.
const DEVICES_MAX: usize = 16;
/// Further receive queues of an interface are not read.
const QUEUES_MAX: u32 = 256;

/// One network interface.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Device {
    /// Its name.
    pub name: String,
    /// The speed of its link in Mbit/s; virtual interfaces have none.
    pub speed_mbps: Option<u64>,
    /// The longest IP packet in bytes.
    pub mtu_bytes: Option<u64>,
    /// Packets that may wait in its queue, if the queue's discipline asks for that.
    pub queue_packets: Option<u64>,
    /// The discipline of its queue, such as `fq_codel`.
    pub qdisc: Option<String>,
    /// Whether the kernel spreads received packets over cores (RPS).
    pub is_spread: Option<bool>,
    /// Its counters since it exists.
    pub counters: Option<Interface>,
    /// Work that the interface does for the kernel, by the names of `ethtool -k`.
    pub offloads: BTreeMap<String, bool>,
    /// Received packets that its ring holds, and the most that it could hold.
    pub receive_ring: Option<(u64, u64)>,
}

/// The interfaces that are up, without loopback.
pub(crate) fn all() -> Vec<Device> {
    let Some(dev) = file::read("/proc/thread-self/net/dev") else {
        return Vec::new();
    };
    let is_up = |name: &&str| {
        let state = line(&format!("/sys/class/net/{name}/operstate"));
        // Tunnels and the like do not know their state.
        *name != "lo" && state.is_some_and(|state| state == "up" || state == "unknown")
    };
    names(&dev)
        .filter(is_up)
        .take(DEVICES_MAX)
        .map(|name| read(name, &dev))
        .collect()
}

/// The names in `/proc/net/dev`.
fn names(dev: &str) -> impl Iterator<Item = &str> {
    dev.lines()
        .filter_map(|line| line.rsplit_once(':'))
        .map(|(name, _)| name.trim())
}

fn read(name: &str, dev: &str) -> Device {
    let number = |file: &str| -> Option<u64> {
        line(&format!("/sys/class/net/{name}/{file}"))?.parse().ok()
    };
    let masks = (0..QUEUES_MAX)
        .map_while(|queue| line(&format!("/sys/class/net/{name}/queues/rx-{queue}/rps_cpus")));
    let masks: Vec<String> = masks.collect();
    Device {
        name: name.to_owned(),
        // A link that is down or has no speed shows -1, which is no number here.
        speed_mbps: number("speed").filter(|speed| *speed > 0),
        mtu_bytes: number("mtu"),
        queue_packets: number("tx_queue_len"),
        qdisc: output("tc", &["qdisc", "show", "dev", name, "root"]).and_then(|text| qdisc(&text)),
        is_spread: (!masks.is_empty()).then(|| masks.iter().any(|mask| has_core(mask))),
        counters: internet::interface(dev, name),
        offloads: output("ethtool", &["-k", name])
            .map_or_else(BTreeMap::new, |text| offloads(&text)),
        receive_ring: output("ethtool", &["-g", name]).and_then(|text| receive_ring(&text)),
    }
}

/// Runs a program for its output. Returns `None` if it is not installed or fails.
fn output(program: &str, arguments: &[&str]) -> Option<String> {
    let mut command = Command::new(program);
    command
        .args(arguments)
        .stdin(Stdio::null())
        .env("LC_ALL", "C");
    let output = command.output().ok()?;
    let is_done = output.status.success();
    is_done.then(|| String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Whether a mask of cores such as `00000000,00000003` names one.
fn has_core(mask: &str) -> bool {
    mask.chars().any(|c| c.is_ascii_hexdigit() && c != '0')
}

/// The kind in `qdisc fq_codel 0: root refcnt 2 …`.
fn qdisc(text: &str) -> Option<String> {
    let mut words = text.split_whitespace();
    let kind = words.nth(1)?;
    text.starts_with("qdisc ").then(|| kind.to_owned())
}

/// The rows of `ethtool -k`: `generic-receive-offload: on`, `large-receive-offload: off [fixed]`.
fn offloads(text: &str) -> BTreeMap<String, bool> {
    let rows = text.lines().filter_map(|row| {
        let (name, value) = row.split_once(':')?;
        let state = match value.split_whitespace().next()? {
            "on" => true,
            "off" => false,
            _ => return None,
        };
        Some((name.trim().to_owned(), state))
    });
    rows.collect()
}

/// The rows `RX:` of `ethtool -g`: first the most that is possible, then the present size.
fn receive_ring(text: &str) -> Option<(u64, u64)> {
    let mut rows = text.lines().filter_map(|row| row.strip_prefix("RX:"));
    let most = rows.next()?.trim().parse().ok()?;
    let now = rows.next()?.trim().parse().ok()?;
    Some((now, most))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outputs_of_ethtool_and_tc_are_read() {
        let found = offloads(
            "Features for eth0:\nrx-checksumming: on [fixed]\ngeneric-receive-offload: on\n\
             large-receive-offload: off [fixed]\ntx-udp-segmentation: off\n\ttx-checksum-ipv4: off\nx: y\n",
        );
        assert_eq!(found.len(), 5);
        assert!(found["generic-receive-offload"] && found["rx-checksumming"]);
        assert!(!found["large-receive-offload"] && !found["tx-checksum-ipv4"]);
        let rings = "Ring parameters for eth0:\nPre-set maximums:\nRX:\t\t4096\nRX Mini:\tn/a\nTX:\t\t4096\n\
                     Current hardware settings:\nRX:\t\t256\nRX Mini:\tn/a\nTX:\t\t512\n";
        assert_eq!(receive_ring(rings), Some((256, 4096)));
        assert_eq!(receive_ring("RX:\tn/a\n"), None);
        let root = "qdisc netem 8001: root refcnt 2 limit 1000 delay 10ms\n";
        assert_eq!(qdisc(root).as_deref(), Some("netem"));
        assert_eq!(qdisc(""), None);
        assert_eq!(qdisc("Cannot find device"), None);
    }

    #[test]
    fn masks_and_names_are_read() {
        assert!(has_core("00000000,00000003"));
        assert!(!has_core("00000000,00000000"));
        let dev = "Inter-|   Receive |  Transmit\n face |bytes |bytes\n    lo: 1 2\neth0: 3 4\n";
        assert_eq!(names(dev).collect::<Vec<_>>(), ["lo", "eth0"]);
    }
}

//! The counters of a host, read before and after a measurement.
//!
//! A [`Snapshot`] reads what the kernel counts; the [`Delta`] of two snapshots shows where processor time went and where
//! the host dropped packets. Where the kernel offers no such file, as on systems other than Linux, the part is `None`.
//! Only the process itself and public files are read, without privileges. [`Settings`] are what `dccpmon doctor` shows.

mod cpu;
mod device;
mod file;
mod identity;
mod internet;
mod settings;
mod threads;

use core::time::Duration;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

pub use cpu::Core;
pub use device::Device;
pub use identity::Identity;
pub use internet::{Interface, Ip, Softnet, Udp};
pub use settings::{Settings, sysctl};
pub use threads::Threads;

/// The counters of the host at one time.
#[derive(Clone, PartialEq, Debug)]
pub struct Snapshot {
    at_ns: u64,
    cores: Option<BTreeMap<u32, cpu::Ticks>>,
    interrupts: Option<Vec<u64>>,
    process_cpu: Option<Duration>,
    process_ticks: Option<cpu::ProcessTicks>,
    threads: Option<threads::Times>,
    interface: Option<Interface>,
    softnet: Option<internet::SoftnetRows>,
    udp: Option<Udp>,
    ip: Option<Ip>,
}

impl Snapshot {
    /// Reads all counters. `now_ns` is the present time of any steady clock. Network counters are those of the calling
    /// thread's network namespace; `interface` is the name of the one to read.
    pub fn take(now_ns: u64, interface: Option<&str>) -> Self {
        let net = |name: &str| file::read(&format!("/proc/thread-self/net/{name}"));
        let mib = internet::Mib::new(net("snmp"), net("snmp6"));
        Self {
            at_ns: now_ns,
            cores: file::read("/proc/stat").map(|text| cpu::ticks(&text)),
            interrupts: file::read("/proc/interrupts").map(|text| cpu::interrupts(&text)),
            process_cpu: cpu::of_process(),
            process_ticks: file::read("/proc/self/stat").and_then(|text| cpu::process_ticks(&text)),
            threads: threads::times(),
            interface: interface.and_then(|name| internet::interface(&net("dev")?, name)),
            softnet: net("softnet_stat").map(|text| internet::softnet(&text)),
            udp: mib.as_ref().map(internet::Mib::udp),
            ip: mib.as_ref().map(internet::Mib::ip),
        }
    }

    /// The increase of all counters since an earlier snapshot. A part is `None` if either snapshot lacks it.
    pub fn since(&self, earlier: &Self) -> Delta {
        let wall_ns = self.at_ns.saturating_sub(earlier.at_ns);
        let cores =
            both(self, earlier, |s| s.cores.as_ref()).map(|(now, then)| cpu::shares(now, then));
        Delta {
            wall_ns,
            busiest_core: cores.as_deref().and_then(cpu::busiest),
            cores,
            process_cpu_ns: both(self, earlier, |s| s.process_cpu.as_ref())
                .map(|(now, then)| nanos(now.saturating_sub(*then))),
            process_system_ratio: both(self, earlier, |s| s.process_ticks.as_ref())
                .map(|(now, then)| cpu::system_share(*now, *then)),
            threads: both(self, earlier, |s| s.threads.as_ref())
                .and_then(|(now, then)| threads::since(now, then, wall_ns)),
            interrupts_per_core: both(self, earlier, |s| s.interrupts.as_ref())
                .map(|(now, then)| cpu::interrupts_since(now, then)),
            interface: both(self, earlier, |s| s.interface.as_ref())
                .filter(|(now, then)| now.name == then.name)
                .map(|(now, then)| now.since(then)),
            softnet: both(self, earlier, |s| s.softnet.as_ref())
                .map(|(now, then)| internet::softnet_since(now, then)),
            udp: both(self, earlier, |s| s.udp.as_ref()).map(|(now, then)| now.since(then)),
            ip: both(self, earlier, |s| s.ip.as_ref()).map(|(now, then)| now.since(then)),
            dccp: BTreeMap::new(),
            packets_per_s: None,
            ns_per_packet: None,
        }
    }
}

/// The increase of a host's counters during a measurement.
#[derive(Serialize, Deserialize, JsonSchema, Clone, PartialEq, Debug, Default)]
#[schemars(deny_unknown_fields)]
pub struct Delta {
    /// The time between the two snapshots.
    pub wall_ns: u64,
    /// The use of each processor core, by rising number, at most 256.
    pub cores: Option<Vec<Core>>,
    /// The number of the core that was idle for the smallest share of the time.
    pub busiest_core: Option<u32>,
    /// The processor time of the process.
    pub process_cpu_ns: Option<u64>,
    /// The share of it that the kernel used for the process, by ticks of the kernel's clock, which are 10 ms as a rule; 0
    /// if the process used less than a tick.
    pub process_system_ratio: Option<f64>,
    /// The threads of the process.
    pub threads: Option<Threads>,
    /// Interrupts that each core handled.
    pub interrupts_per_core: Option<Vec<u64>>,
    /// The interface that was asked for.
    pub interface: Option<Interface>,
    /// The queue between interfaces and protocols, of the whole machine.
    pub softnet: Option<Softnet>,
    /// UDP over IPv4 and IPv6, of the whole network namespace.
    pub udp: Option<Udp>,
    /// IPv4 and IPv6, of the whole network namespace.
    pub ip: Option<Ip>,
    /// The counters of the DCCP stack, without those that are 0. The caller fills them in.
    pub dccp: BTreeMap<String, u64>,
    /// Packets of the measurement per second.
    pub packets_per_s: Option<f64>,
    /// Processor time of the process per packet of the measurement.
    pub ns_per_packet: Option<f64>,
}

impl Delta {
    /// Adds the rates for a measurement that sent or received this number of packets.
    #[must_use]
    pub fn with_packets(mut self, packets: u64) -> Self {
        if self.wall_ns > 0 {
            self.packets_per_s = Some(float(packets) * 1e9 / float(self.wall_ns));
        }
        if packets > 0 {
            let per_packet = |cpu_ns| float(cpu_ns) / float(packets);
            self.ns_per_packet = self.process_cpu_ns.map(per_packet);
        }
        self
    }
}

/// A part of both snapshots.
fn both<'a, T>(
    now: &'a Snapshot,
    then: &'a Snapshot,
    part: impl Fn(&'a Snapshot) -> Option<&'a T>,
) -> Option<(&'a T, &'a T)> {
    part(now).zip(part(then))
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

#[expect(
    clippy::cast_precision_loss,
    reason = "shares and rates need no more than 53 bits"
)]
fn float(n: u64) -> f64 {
    n as f64
}

#[cfg(test)]
mod tests;

//! Namespaces, links and routes.

use super::wire::{self, Wire};
use super::{LiveError, in_namespace};
use crate::scenario::paths;
use crate::scenario::plan::{self, Run, Transport};
use core::net::Ipv4Addr;
use dccp_emu::report::Report;
use dccp_emu::tun::Epoch;
use dccp_netns::Namespace;
use dccp_sim::Seed;
use std::fs;
use std::io;
use std::path::Path;

/// The network of a run.
pub(super) struct Network {
    /// Emptied first: the emulator's devices are in the namespaces.
    wires: Vec<Wire>,
    /// By node.
    pub(super) namespaces: Vec<Namespace>,
    pub(super) epoch: Epoch,
    /// The emulator's counters of each link at the start.
    before: Vec<Option<Report>>,
}

/// Settings of a namespace, as far as the kernel has them. All sending is by the routes of the plan.
const SETTINGS: [(&str, &str); 7] = [
    ("ipv6/conf/all/disable_ipv6", "1"),
    ("ipv6/conf/default/disable_ipv6", "1"),
    ("ipv4/conf/all/rp_filter", "0"),
    ("ipv4/conf/default/rp_filter", "0"),
    ("ipv4/conf/all/send_redirects", "0"),
    // Each path has its own message about its MTU.
    ("ipv4/icmp_ratelimit", "0"),
    // Connections know nothing of earlier ones.
    ("ipv4/tcp_no_metrics_save", "1"),
];

impl Network {
    /// Builds the network of a run.
    pub(super) fn new(run: &Run) -> Result<Self, LiveError> {
        let network = &run.network;
        let hosts = network.hosts(&run.flows);
        let mut namespaces = Vec::new();
        for (node, name) in network.nodes.iter().enumerate() {
            let namespace = Namespace::new(name)?;
            set_up(&namespace, node, !hosts[node])?;
            namespaces.push(namespace);
        }
        let has_bucket = namespaces.first().is_some_and(wire::has_bucket);
        let mut built = Self {
            wires: Vec::new(),
            namespaces,
            epoch: Epoch::default(),
            before: Vec::new(),
        };
        for (number, link) in network.links.iter().enumerate() {
            let ends = [link.from, link.to].map(|node| &built.namespaces[node]);
            let device = device(number);
            let wire = if wire::fits_kernel(link, has_bucket) {
                Wire::veth(link, ends, &device)?
            } else {
                Wire::emulated(link, ends, &device, Seed(run.seed), &built.epoch)?
            };
            for namespace in ends {
                // One packet is one packet, also of TCP.
                let single = ["gso_max_segs", "1"];
                namespace.ip(&[&["link", "set", &device], &single[..]].concat())?;
                namespace.ip(&["link", "set", &device, "up"])?;
            }
            built.wires.push(wire);
        }
        built.add_routes(run, &hosts)?;
        Ok(built)
    }

    /// Adds a route to each host, at all nodes.
    fn add_routes(&self, run: &Run, hosts: &[bool]) -> Result<(), LiveError> {
        let network = &run.network;
        for (at, namespace) in self.namespaces.iter().enumerate() {
            let others = (0..hosts.len()).filter(|&to| hosts[to] && to != at);
            for to in others {
                let Some(via) = paths::next(network, at, to) else {
                    continue;
                };
                let joins =
                    |link: &plan::Link| [(at, via), (via, at)].contains(&(link.from, link.to));
                let link = network.links.iter().position(joins);
                let number = link.expect("the next node is a neighbour");
                let mut words = vec!["route".into(), "add".into(), address(to).to_string()];
                if let Wire::Veth(_) = self.wires[number] {
                    words.extend(["via".into(), address(via).to_string(), "onlink".into()]);
                }
                words.extend(["dev".into(), device(number), "src".into()]);
                words.push(address(at).to_string());
                words.extend(tcp_words(run, at, to));
                let words: Vec<&str> = words.iter().map(String::as_str).collect();
                namespace.ip(&words)?;
            }
        }
        Ok(())
    }

    /// Begins the time of changes of links.
    pub(super) fn begin(&mut self) {
        self.before = self.wires.iter().map(report).collect();
        self.epoch.begin(dccp_emu::clock::now());
    }

    pub(super) fn wire(&self, link: usize) -> &Wire {
        &self.wires[link]
    }

    pub(super) fn wire_mut(&mut self, link: usize) -> &mut Wire {
        &mut self.wires[link]
    }

    /// Where the emulator fell behind, or dropped packets itself.
    pub(super) fn complaints(&self, links: &[plan::Link]) -> Vec<String> {
        let reports = self.wires.iter().map(report).zip(&self.before).zip(links);
        let of_link = |((now, before), link): ((Option<Report>, &Option<Report>), &plan::Link)| {
            let complaints = now.zip(before.as_ref());
            let complaints = complaints.map_or(Vec::new(), |(n, b)| n.complaints_since(b));
            let named =
                |text: String| format!("the emulator of link {} fell behind: {text}", link.id);
            complaints.into_iter().map(named).collect::<Vec<_>>()
        };
        reports.flat_map(of_link).collect()
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        for wire in self.wires.drain(..) {
            if let Wire::Emulated(tunnel) = wire {
                // Its devices vanish in any case.
                let _ = tunnel.stop();
            }
        }
    }
}

fn report(wire: &Wire) -> Option<Report> {
    match wire {
        Wire::Emulated(tunnel) => Some(tunnel.report()),
        Wire::Veth(_) => None,
    }
}

/// The device of a link, at both ends.
fn device(link: usize) -> String {
    format!("l{link}")
}

/// 10.0.0.1 and the following, as in the simulator.
pub(super) fn address(node: usize) -> Ipv4Addr {
    let node = u32::try_from(node).unwrap_or(u32::MAX >> 8);
    Ipv4Addr::from_bits(0x0a00_0001 + node)
}

/// Gives a namespace its address and its settings.
fn set_up(namespace: &Namespace, node: usize, forwards: bool) -> Result<(), LiveError> {
    in_namespace(namespace, move || {
        for (name, value) in SETTINGS {
            set(name, value)?;
        }
        set("ipv4/ip_forward", if forwards { "1" } else { "0" })
    })??;
    namespace.ip(&["addr", "add", &format!("{}/32", address(node)), "dev", "lo"])?;
    Ok(())
}

/// Changes a setting of the calling thread's namespace, if the kernel has it.
fn set(name: &str, value: &str) -> io::Result<()> {
    let path = Path::new("/proc/sys/net").join(name);
    if !path.exists() {
        return Ok(());
    }
    let context = |e: io::Error| io::Error::new(e.kind(), format!("{}: {e}", path.display()));
    fs::write(&path, value).map_err(context)
}

/// The settings of TCP that belong to a route: the largest window, and ECN.
fn tcp_words(run: &Run, from: usize, to: usize) -> Vec<String> {
    let of_route = |flow: &&plan::Flow| (flow.from, flow.to) == (from, to);
    let mut words = Vec::new();
    for flow in run.flows.iter().filter(of_route) {
        // `refuse` has checked that all of them agree.
        if let Transport::Tcp(config) = &flow.transport
            && words.is_empty()
        {
            if let Some(window) = config.max_window {
                words.extend(["cwnd".into(), "lock".into(), window.to_string()]);
            }
            if config.ecn {
                words.extend(["features".into(), "ecn".into()]);
            }
        }
    }
    words
}

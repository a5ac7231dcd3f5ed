//! `[[host]]`: processors, interfaces and clocks of hosts.

use super::keys::{ClockKeys, HostKeys, LocalCongestion, Sections};
use super::link::NewLink;
use super::mistake::{Mistake, Mistakes, Place};
use super::nodes;
use super::numbers::Whole;
use super::plan::Machine;
use super::queue::{Capacity, room};
use super::values::{At, QueueSize};
use dccp_sim::machine::{Clock, LocalCongestion as SimCongestion, MachineConfig};

/// All machines. `links` get the queues of their interfaces.
pub(crate) fn machines(
    sections: &Sections<HostKeys>,
    nodes: &[String],
    links: &mut [NewLink],
    mistakes: &mut Mistakes,
) -> Vec<Machine> {
    let mut machines: Vec<Machine> = Vec::new();
    for keys in sections {
        let config = machine(keys);
        for (node, place) in ends(keys, nodes, mistakes) {
            if machines.iter().any(|m| m.node == node) {
                let what = format!("there are two hosts {}", nodes[node]);
                mistakes.add(Mistake::new(place, what, "write one [[host]] for it"));
            }
            if let Some(size) = &keys.txqueuelen {
                mistakes.check(set_queue(size, node, links));
            }
            machines.push(Machine { node, config });
        }
    }
    machines
}

/// Refuses machines of nodes that are routers.
pub(crate) fn are_hosts(
    sections: &Sections<HostKeys>,
    nodes: &[String],
    is_host: &[bool],
    mistakes: &mut Mistakes,
) {
    for keys in sections {
        for (node, place) in ends(keys, nodes, mistakes) {
            if !is_host[node] {
                let what = format!("{} is at no end of a flow: it is a router", nodes[node]);
                mistakes.add(Mistake::new(place, what, "leave it out"));
            }
        }
    }
}

fn ends<'a>(
    keys: &'a HostKeys,
    nodes: &[String],
    mistakes: &mut Mistakes,
) -> Vec<(usize, &'a Place)> {
    let names = keys.node.items().into_iter();
    let node = |(name, place): (&String, &'a Place)| {
        let node = mistakes.check(nodes::find(name, place, nodes))?;
        Some((node, place))
    };
    names.filter_map(node).collect()
}

fn machine(keys: &HostKeys) -> MachineConfig {
    let default = MachineConfig::default();
    MachineConfig {
        send_cost: keys.send_cost.map_or(default.send_cost, |time| time.0),
        receive_cost: keys
            .receive_cost
            .map_or(default.receive_cost, |time| time.0),
        wakeup: keys.wakeup.map_or(default.wakeup, |time| time.0),
        batch: keys.batch.map_or(default.batch, Whole::to),
        quantum: keys.quantum.map_or(default.quantum, Whole::to),
        backlog: keys.backlog.map_or(default.backlog, Whole::to),
        local_congestion: match keys.local_congestion {
            None => default.local_congestion,
            Some(LocalCongestion::Wait) => SimCongestion::Wait,
            Some(LocalCongestion::Drop) => SimCongestion::Drop,
            Some(LocalCongestion::Event) => SimCongestion::Event,
        },
        clock: keys.clock.as_ref().map_or(default.clock, clock),
    }
}

fn clock(keys: &ClockKeys) -> Clock {
    Clock {
        offset: keys.offset.map(|time| time.0).unwrap_or_default(),
        drift_ppb: keys.drift.map(|drift| drift.0).unwrap_or_default(),
        granularity: keys.granularity.map(|time| time.0).unwrap_or_default(),
    }
}

/// `txqueuelen`: the queue of each link where it leaves the node.
fn set_queue(size: &At<QueueSize>, node: usize, links: &mut [NewLink]) -> Result<(), Mistake> {
    for new in links {
        let (config, has_queue) = match node {
            n if n == new.link.from => (&mut new.link.there, new.has_queue[0]),
            n if n == new.link.to => (&mut new.link.back, new.has_queue[1]),
            _ => continue,
        };
        if has_queue {
            let what = format!("the link {} has a queue of its own", new.link.id);
            let next = "leave out txqueuelen, or the link's queue";
            return Err(Mistake::new(&size.place, what, next));
        }
        config.queue.set_limit(room(size, Capacity::of(config))?);
        config.check().map_err(|error| {
            let what = format!("{} is not possible with this queue", error.setting);
            Mistake::new(&size.place, what, format!("it must be {}", error.must_be))
        })?;
    }
    Ok(())
}

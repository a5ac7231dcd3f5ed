//! `[[host]]`: processors, interfaces and clocks of hosts.

use super::keys::{ClockKeys, CpuModel, HostKeys, LocalCongestion, MemoryKeys, Sections};
use super::link::NewLink;
use super::nodes;
use super::numbers::Whole;
use super::plan::Machine;
use super::queue::{Capacity, room};
use super::values::{At, QueueSize};
use crate::mistake::{Mistake, Mistakes, Place};
use core::time::Duration;
use dccp_sim::machine::{AckCost, Clock, LocalCongestion as SimCongestion, MachineConfig, Memory};

/// All machines. `links` get the queues of their interfaces.
pub(crate) fn machines(
    sections: &Sections<HostKeys>,
    nodes: &[String],
    links: &mut [NewLink],
    mistakes: &mut Mistakes,
) -> Vec<Machine> {
    let mut machines: Vec<Machine> = Vec::new();
    for keys in sections {
        let Some(config) = mistakes.check(machine(keys)) else {
            continue;
        };
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

fn machine(keys: &HostKeys) -> Result<MachineConfig, Mistake> {
    let default = defaults(keys.cpu_model);
    Ok(MachineConfig {
        send_cost: keys.send_cost.map_or(default.send_cost, |time| time.0),
        receive_cost: keys
            .receive_cost
            .map_or(default.receive_cost, |time| time.0),
        wakeup: keys.wakeup.map_or(default.wakeup, |time| time.0),
        batch: keys.batch.map_or(default.batch, Whole::to),
        quantum: keys.quantum.map_or(default.quantum, Whole::to),
        backlog: keys.backlog.map_or(default.backlog, Whole::to),
        ack_cost: ack_cost(keys, default.ack_cost)?,
        memory: keys.memory.as_ref().map(memory).transpose()?,
        local_congestion: match keys.local_congestion {
            None => default.local_congestion,
            Some(LocalCongestion::Wait) => SimCongestion::Wait,
            Some(LocalCongestion::Drop) => SimCongestion::Drop,
            Some(LocalCongestion::Event) => SimCongestion::Event,
        },
        clock: keys.clock.as_ref().map_or(default.clock, clock),
    })
}

/// The costs of old kernels. The packets of 2003 and 2007 were handed over one by one.
fn defaults(model: Option<CpuModel>) -> MachineConfig {
    match model {
        None => MachineConfig::default(),
        // 5 µs is an assumption.
        Some(CpuModel::Sack2003) => MachineConfig {
            backlog: 300,
            batch: 1,
            ack_cost: AckCost {
                each: Duration::from_micros(5),
                tcp_search: Duration::from_nanos(10),
                ..AckCost::default()
            },
            ..MachineConfig::default()
        },
        // 82 % of a processor at 78,333 packets/s; at 94 ms and 10,833 packets/s the rest of it for 1018 packets in
        // flight, with an acknowledgement for each second packet.
        Some(CpuModel::Dccp2007) => MachineConfig {
            send_cost: Duration::from_nanos(10_500),
            batch: 1,
            ack_cost: AckCost {
                dccp_walk: Duration::from_nanos(160),
                ..AckCost::default()
            },
            ..MachineConfig::default()
        },
    }
}

fn ack_cost(keys: &HostKeys, default: AckCost) -> Result<AckCost, Mistake> {
    let mut cost = AckCost {
        each: keys.ack_cost.map_or(default.each, |time| time.0),
        ..default
    };
    if let Some(walk) = &keys.walk_cost {
        match keys.cpu_model {
            Some(CpuModel::Sack2003) => cost.tcp_search = walk.0,
            Some(CpuModel::Dccp2007) => cost.dccp_walk = walk.0,
            None => {
                let what = "walk_cost is a cost of an old kernel";
                return Err(Mistake::new(&walk.place, what, "add cpu_model"));
            }
        }
    }
    Ok(cost)
}

fn memory(keys: &At<MemoryKeys>) -> Result<Memory, Mistake> {
    let buffers = keys.pool.0 / keys.buffer.0;
    if buffers == 0 {
        let what = "the pool has no room for a buffer";
        return Err(Mistake::new(&keys.place, what, "write a larger pool"));
    }
    Ok(Memory {
        buffers: usize::try_from(buffers).unwrap_or(usize::MAX),
        refill: keys.refill.0,
    })
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

//! Checks that a flow's packets fit through its path, and that something limits the flow.

use super::flow::Packet;
use super::plan::{Flow, Network, Transport};
use crate::mistake::{Mistake, Place};
use dccp_sim::LinkConfig;
use dccp_sim::queue::QueueConfig;
use dccp_sim::source::Source;

/// Refuses packets that are larger than an MTU of the path, and flows without any limit. `path` names the nodes.
pub(crate) fn check(
    place: &Place,
    network: &Network,
    path: &[usize],
    flow: &Flow,
    packet: Option<Packet>,
) -> Result<(), Mistake> {
    let links = network.directions(path);
    let links = links
        .iter()
        .map(|&n| (&network.links[n / 2].id, network.direction(n)));
    let links: Vec<(&String, &LinkConfig)> = links.collect();
    let narrowest = links.iter().min_by_key(|(_, link)| link.mtu);
    if let (Some(packet), Some((id, link))) = (packet, narrowest)
        && packet.data + packet.headers > link.mtu
    {
        let room = link.mtu.saturating_sub(packet.headers);
        return Err(Mistake::new(
            place,
            format!(
                "{}: {} bytes of data do not fit through {id}, whose packets have {} bytes",
                flow.id, packet.data, link.mtu
            ),
            format!("write size = \"{room}B\" or less, or a larger mtu"),
        ));
    }
    let has_delay = links.iter().any(|(_, link)| !link.delay.is_zero());
    let is_limited = match &flow.sender.source {
        Source::Bulk {
            count: u64::MAX, ..
        } => has_window(flow) && has_delay,
        Source::Requests { think, .. } => has_delay || !think.mean().is_zero(),
        _ => true,
    };
    if !is_limited && !links.iter().any(|(_, link)| has_rate(link)) {
        let what = format!("nothing limits {}: no link on its path has a rate", flow.id);
        let next = "give a link a rate, or the flow an amount or a pause";
        return Err(Mistake::new(place, what, next));
    }
    Ok(())
}

fn has_rate(link: &LinkConfig) -> bool {
    link.rate.is_some() || link.trace.is_some() || matches!(link.queue, QueueConfig::TokenBucket(_))
}

/// True if a window limits the flow, where a round trip takes time.
fn has_window(flow: &Flow) -> bool {
    match &flow.transport {
        Transport::Dccp(config) => config.max_window.is_some(),
        Transport::Tcp(config) => config.max_window.is_some(),
        Transport::Udp => false,
    }
}

/// The MTU of the first link of a path: that of the sender's interface.
pub(crate) fn first_mtu(network: &Network, path: &[usize]) -> Option<usize> {
    let first = network.directions(path).into_iter().next()?;
    Some(network.direction(first).mtu)
}

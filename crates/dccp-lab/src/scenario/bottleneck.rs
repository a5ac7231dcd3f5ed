//! What a flow's way lets through: sizes that never arrive and flows that nothing limits are refused.

use super::flow::Packet;
use super::mistake::{Mistake, Place};
use super::pace::pace;
use super::plan::{Flow, Network, Transport};
use dccp_sim::LinkConfig;
use dccp_sim::queue::QueueConfig;
use dccp_sim::source::Source;

/// Whether a flow's packets fit through its way, and its way limits it. Returns how many datagrams each
/// stream makes in a second.
pub(crate) fn passes(
    place: &Place,
    network: &Network,
    way: &[usize],
    flow: &Flow,
    packet: Option<Packet>,
) -> Result<f64, Mistake> {
    let links: Vec<(&str, &LinkConfig)> = (way.windows(2))
        .filter_map(|pair| link(network, pair[0], pair[1]))
        .collect();
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
    let is_endless = matches!(
        flow.sender.source,
        Source::Bulk {
            count: u64::MAX,
            ..
        }
    );
    if is_endless && !has_window(flow, &links) && !links.iter().any(|(_, link)| has_rate(link)) {
        return Err(Mistake::new(
            place,
            format!("nothing limits {}: no link on its way has a rate", flow.id),
            "give a link a rate, or the flow an amount",
        ));
    }
    let links: Vec<&LinkConfig> = links.into_iter().map(|(_, link)| link).collect();
    Ok(pace(flow, &links))
}

fn has_rate(link: &LinkConfig) -> bool {
    link.rate.is_some() || link.trace.is_some() || matches!(link.queue, QueueConfig::TokenBucket(_))
}

/// A window limits a flow, if a round trip takes time.
fn has_window(flow: &Flow, links: &[(&str, &LinkConfig)]) -> bool {
    let window = match &flow.transport {
        Transport::Dccp(config) => config.max_window,
        Transport::Tcp(config) => config.max_window,
        Transport::Udp => None,
    };
    window.is_some() && links.iter().any(|(_, link)| !link.delay.is_zero())
}

/// The link from one node to its neighbour, in this direction.
fn link(network: &Network, from: usize, to: usize) -> Option<(&str, &LinkConfig)> {
    network.links.iter().find_map(|link| {
        if (link.from, link.to) == (from, to) {
            Some((link.id.as_str(), &link.there))
        } else if (link.to, link.from) == (from, to) {
            Some((link.id.as_str(), &link.back))
        } else {
            None
        }
    })
}

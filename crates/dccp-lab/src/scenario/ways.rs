//! The ways that packets take, as the simulator finds them: found here first, so that a scenario
//! whose packets would be lost or go round in circles is refused.

use super::plan::{Link, Network};
use std::collections::VecDeque;

/// Why a packet would not arrive.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Astray {
    /// No links lead there.
    NoWay,
    /// The nodes of a circle, the first one again at the end.
    Loop(Vec<usize>),
    /// This host lies on the way, and hosts do not forward.
    Host(usize),
}

/// The nodes on the way of a packet, both ends included.
pub(crate) fn way(
    network: &Network,
    hosts: &[bool],
    from: usize,
    to: usize,
) -> Result<Vec<usize>, Astray> {
    let mut way = vec![from];
    let mut at = from;
    while at != to {
        if at != from && hosts[at] {
            return Err(Astray::Host(at));
        }
        at = next(network, at, to).ok_or(Astray::NoWay)?;
        if let Some(begin) = way.iter().position(|&node| node == at) {
            let mut circle = way.split_off(begin);
            circle.push(at);
            return Err(Astray::Loop(circle));
        }
        way.push(at);
    }
    Ok(way)
}

/// Where a node sends what goes to another: by a route, else by the fewest links, and among equals by
/// the link that comes first in the file.
fn next(network: &Network, at: usize, to: usize) -> Option<usize> {
    let route = network.routes.iter().find(|r| r.at == at && r.to == to);
    if let Some(route) = route {
        return Some(route.via);
    }
    let mut first = vec![None; network.nodes.len()];
    let mut reached = vec![false; network.nodes.len()];
    reached[at] = true;
    let mut queue = VecDeque::from([at]);
    while let Some(node) = queue.pop_front() {
        for neighbour in neighbours(&network.links, node) {
            if !reached[neighbour] {
                reached[neighbour] = true;
                first[neighbour] = first[node].or(Some(neighbour));
                queue.push_back(neighbour);
            }
        }
    }
    first[to]
}

/// The nodes at the other ends of a node's links, in the order of the file.
pub(crate) fn neighbours(links: &[Link], node: usize) -> impl Iterator<Item = usize> {
    links.iter().filter_map(move |link| match node {
        n if n == link.from => Some(link.to),
        n if n == link.to => Some(link.from),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::super::plan::Route;
    use super::*;
    use dccp_sim::LinkConfig;

    /// 0–1–2–3 and 0–4, 4–3; 5 stands alone.
    fn network(routes: &[(usize, usize, usize)]) -> Network {
        let link = |&(from, to): &(usize, usize)| Link {
            id: String::new(),
            from,
            to,
            there: LinkConfig::default(),
            back: LinkConfig::default(),
            changes: Vec::new(),
        };
        Network {
            nodes: (0..6).map(|n| n.to_string()).collect(),
            links: [(0, 1), (1, 2), (2, 3), (0, 4), (4, 3)]
                .iter()
                .map(link)
                .collect(),
            routes: (routes.iter())
                .map(|&(at, to, via)| Route { at, to, via })
                .collect(),
            machines: Vec::new(),
        }
    }

    fn find(
        routes: &[(usize, usize, usize)],
        from: usize,
        to: usize,
    ) -> Result<Vec<usize>, Astray> {
        let hosts = [true, false, false, true, false, false];
        way(&network(routes), &hosts, from, to)
    }

    #[test]
    fn the_shortest_way_is_taken_unless_a_route_says_otherwise() {
        assert_eq!(find(&[], 0, 3), Ok(vec![0, 4, 3]));
        assert_eq!(find(&[(0, 3, 1)], 0, 3), Ok(vec![0, 1, 2, 3]));
        assert_eq!(find(&[(0, 2, 4)], 0, 3), Ok(vec![0, 4, 3]), "of another");
    }

    #[test]
    fn packets_that_would_not_arrive_are_found() {
        assert_eq!(find(&[], 0, 5), Err(Astray::NoWay));
        let circle = find(&[(0, 3, 1), (1, 3, 0)], 0, 3);
        assert_eq!(circle, Err(Astray::Loop(vec![0, 1, 0])));
        assert_eq!(find(&[(4, 2, 3)], 4, 2), Err(Astray::Host(3)));
    }
}

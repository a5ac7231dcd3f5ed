//! The paths of packets, by the rules of the simulator. A scenario is refused if its packets would be lost or
//! loop.

use super::plan::{Link, Network};
use std::collections::VecDeque;

/// Why a packet does not arrive.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum PathError {
    /// No links lead to the destination.
    NoPath,
    /// The nodes of a loop; the last is the first.
    Loop(Vec<usize>),
    /// This host is on the path, and hosts do not forward.
    Host(usize),
}

/// The nodes on the path of a packet, with both ends.
pub(crate) fn path(
    network: &Network,
    hosts: &[bool],
    from: usize,
    to: usize,
) -> Result<Vec<usize>, PathError> {
    let mut path = vec![from];
    let mut at = from;
    while at != to {
        if at != from && hosts[at] {
            return Err(PathError::Host(at));
        }
        at = next(network, at, to).ok_or(PathError::NoPath)?;
        if let Some(begin) = path.iter().position(|&node| node == at) {
            let mut nodes = path.split_off(begin);
            nodes.push(at);
            return Err(PathError::Loop(nodes));
        }
        path.push(at);
    }
    Ok(path)
}

/// The next node on the path to another: by a route, else by the fewest links. Among equal paths, the link
/// that comes first in the file decides.
pub(crate) fn next(network: &Network, at: usize, to: usize) -> Option<usize> {
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

    /// 0–1–2–3 and 0–4, 4–3; 5 has no link.
    fn network(routes: &[(usize, usize, usize)]) -> Network {
        let link = |&(from, to): &(usize, usize)| Link {
            id: String::new(),
            from,
            to,
            there: LinkConfig::default(),
            back: LinkConfig::default(),
            models: [None; 2],
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
    ) -> Result<Vec<usize>, PathError> {
        let hosts = [true, false, false, true, false, false];
        path(&network(routes), &hosts, from, to)
    }

    #[test]
    fn path_is_the_shortest_without_a_route() {
        assert_eq!(find(&[], 0, 3), Ok(vec![0, 4, 3]));
        assert_eq!(find(&[(0, 3, 1)], 0, 3), Ok(vec![0, 1, 2, 3]));
        assert_eq!(find(&[(0, 2, 4)], 0, 3), Ok(vec![0, 4, 3]), "of another");
    }

    #[test]
    fn path_without_arrival_is_refused() {
        assert_eq!(find(&[], 0, 5), Err(PathError::NoPath));
        let nodes = find(&[(0, 3, 1), (1, 3, 0)], 0, 3);
        assert_eq!(nodes, Err(PathError::Loop(vec![0, 1, 0])));
        assert_eq!(find(&[(4, 2, 3)], 4, 2), Err(PathError::Host(3)));
    }
}

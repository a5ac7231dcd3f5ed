//! Which way to which address.

use crate::net::LinkId;
use crate::node::NodeId;
use core::net::IpAddr;
use std::collections::{HashMap, VecDeque};

/// The topology, and the shortest ways through it by number of hops. Among equals the link that was
/// added first wins.
///
/// A node with one link needs no table; those of the others are made when first asked for. So ten
/// thousand hosts around two routers cost two tables.
#[derive(Debug, Default)]
pub(crate) struct Routes {
    addresses: HashMap<IpAddr, NodeId>,
    /// For each node its links and where they lead.
    links: Vec<Vec<(LinkId, NodeId)>>,
    /// For each node the first link towards each node.
    tables: Vec<Option<Vec<Option<LinkId>>>>,
}

impl Routes {
    pub(crate) fn add_node(&mut self) {
        self.links.push(Vec::new());
        self.tables.iter_mut().for_each(|t| *t = None);
        self.tables.push(None);
    }

    pub(crate) fn add_link(&mut self, id: LinkId, from: NodeId, to: NodeId) {
        self.links[from.index()].push((id, to));
        self.tables.iter_mut().for_each(|t| *t = None);
    }

    /// Returns whether the address was free.
    pub(crate) fn add_address(&mut self, address: IpAddr, node: NodeId) -> bool {
        self.addresses.insert(address, node).is_none()
    }

    pub(crate) fn node_of(&self, address: IpAddr) -> Option<NodeId> {
        self.addresses.get(&address).copied()
    }

    /// The first link of the way to a node; a node with one link has no choice, wherever a frame goes.
    pub(crate) fn next_link(&mut self, from: NodeId, to: Option<NodeId>) -> Option<LinkId> {
        if let [(only, _)] = self.links[from.index()][..] {
            return Some(only);
        }
        let to = to?;
        if self.tables[from.index()].is_none() {
            self.tables[from.index()] = Some(self.table(from));
        }
        self.tables[from.index()].as_ref()?[to.index()]
    }

    fn table(&self, from: NodeId) -> Vec<Option<LinkId>> {
        let mut first = vec![None; self.links.len()];
        let mut reached = vec![false; self.links.len()];
        reached[from.index()] = true;
        let mut queue: VecDeque<(NodeId, Option<LinkId>)> = VecDeque::from([(from, None)]);
        while let Some((node, way)) = queue.pop_front() {
            for &(link, next) in &self.links[node.index()] {
                if !reached[next.index()] {
                    reached[next.index()] = true;
                    first[next.index()] = way.or(Some(link));
                    queue.push_back((next, first[next.index()]));
                }
            }
        }
        first
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::net::Ipv4Addr;

    fn address(n: u8) -> IpAddr {
        Ipv4Addr::new(10, 0, 0, n).into()
    }

    /// Links both ways between nodes 0–1, 1–2, 2–3 and 0–3, in this order; node n has address n.
    fn square() -> Routes {
        let mut routes = Routes::default();
        for n in 0..5 {
            routes.add_node();
            assert!(routes.add_address(address(n), NodeId(u32::from(n))));
        }
        for (i, (a, b)) in [(0, 1), (1, 2), (2, 3), (0, 3)].into_iter().enumerate() {
            let i = u32::try_from(i).unwrap();
            routes.add_link(LinkId(2 * i), NodeId(a), NodeId(b));
            routes.add_link(LinkId(2 * i + 1), NodeId(b), NodeId(a));
        }
        routes
    }

    fn way(routes: &mut Routes, from: u32, to: u8) -> Option<LinkId> {
        let to = routes.node_of(address(to));
        routes.next_link(NodeId(from), to)
    }

    #[test]
    fn the_shortest_way_wins_and_among_equals_the_older_link() {
        let mut routes = square();
        assert_eq!(way(&mut routes, 0, 1), Some(LinkId(0)));
        assert_eq!(way(&mut routes, 0, 3), Some(LinkId(6)));
        assert_eq!(way(&mut routes, 0, 2), Some(LinkId(0)));
        assert_eq!(way(&mut routes, 2, 0), Some(LinkId(3)));
    }

    #[test]
    fn there_is_no_way_to_what_is_not_there() {
        let mut routes = square();
        assert_eq!(way(&mut routes, 0, 4), None, "not linked");
        assert_eq!(way(&mut routes, 0, 9), None, "unknown");
        assert!(!routes.add_address(address(4), NodeId(0)), "taken");
    }

    #[test]
    fn a_new_link_opens_a_new_way() {
        let mut routes = square();
        assert_eq!(way(&mut routes, 0, 2), Some(LinkId(0)));
        routes.add_link(LinkId(8), NodeId(0), NodeId(2));
        assert_eq!(way(&mut routes, 0, 2), Some(LinkId(8)));
    }
}

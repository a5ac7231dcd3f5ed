//! Routes: the next hop for each address.

use crate::ids::{LinkId, NodeId};
use crate::random::mix;
use core::hash::{BuildHasherDefault, Hasher};
use core::net::IpAddr;
use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};

/// The topology, and the shortest paths through it by number of hops. Among equals the link that was
/// added first wins. Routes that were set win over the shortest way, unless their link is down and
/// there is another way.
///
/// A node with one link needs no table; what the others need is found out when first asked for. So ten
/// thousand hosts around two routers cost two tables.
#[derive(Debug, Default)]
pub(crate) struct Routes {
    addresses: HashMap<IpAddr, NodeId, BuildHasherDefault<AddressHasher>>,
    /// For each node the last address that it sent to, and whose that is.
    recent: Vec<Option<(IpAddr, NodeId)>>,
    /// For each node its links and where they lead.
    links: Vec<Vec<(LinkId, NodeId)>>,
    /// For each node the first link of the way to others.
    ways: Vec<Ways>,
    /// By node and destination.
    fixed: BTreeMap<(NodeId, NodeId), LinkId>,
    down: BTreeSet<LinkId>,
}

/// The ways from a node.
#[derive(Debug)]
enum Ways {
    /// Not computed yet.
    Unknown,
    /// It has one link, wherever a frame goes.
    Only(LinkId),
    /// The first link towards each node.
    Table(Vec<Option<LinkId>>),
}

/// A quick hash: the addresses are those of the scenario, not of an attacker.
#[derive(Default)]
struct AddressHasher(u64);

impl Hasher for AddressHasher {
    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let word = chunk.iter().fold(0, |w, b| w << 8 | u64::from(*b));
            self.0 = mix(self.0 ^ word);
        }
    }

    fn write_usize(&mut self, n: usize) {
        self.0 ^= n as u64;
    }

    fn write_isize(&mut self, n: isize) {
        self.0 ^= n.cast_unsigned() as u64;
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

impl Routes {
    pub(crate) fn add_node(&mut self) {
        self.links.push(Vec::new());
        self.recent.push(None);
        self.forget();
        self.ways.push(Ways::Unknown);
    }

    pub(crate) fn add_link(&mut self, id: LinkId, from: NodeId, to: NodeId) {
        self.links[from.index()].push((id, to));
        self.forget();
    }

    /// Leads what is at one node for another one over this link; `None`: the shortest way.
    pub(crate) fn fix(&mut self, at: NodeId, to: NodeId, link: Option<LinkId>) {
        match link {
            Some(link) => self.fixed.insert((at, to), link),
            None => self.fixed.remove(&(at, to)),
        };
        self.forget();
    }

    /// Says whether a link works.
    pub(crate) fn set_up(&mut self, link: LinkId, is_up: bool) {
        let changed = if is_up {
            self.down.remove(&link)
        } else {
            self.down.insert(link)
        };
        if changed {
            self.forget();
        }
    }

    fn forget(&mut self) {
        self.ways.fill_with(|| Ways::Unknown);
    }

    /// Returns whether the address was free.
    pub(crate) fn add_address(&mut self, address: IpAddr, node: NodeId) -> bool {
        self.addresses.insert(address, node).is_none()
    }

    pub(crate) fn node_of(&self, address: IpAddr) -> Option<NodeId> {
        self.addresses.get(&address).copied()
    }

    /// The same, cached for a node that mostly sends to its previous destination.
    #[inline]
    pub(crate) fn node_of_next(&mut self, from: NodeId, address: IpAddr) -> Option<NodeId> {
        match self.recent[from.index()] {
            Some((known, node)) if known == address => Some(node),
            _ => self.look_up(from, address),
        }
    }

    #[inline(never)]
    fn look_up(&mut self, from: NodeId, address: IpAddr) -> Option<NodeId> {
        let node = self.node_of(address)?;
        self.recent[from.index()] = Some((address, node));
        Some(node)
    }

    /// The first link of the way to a node.
    #[inline]
    pub(crate) fn next_link(&mut self, from: NodeId, to: Option<NodeId>) -> Option<LinkId> {
        match &self.ways[from.index()] {
            Ways::Only(link) => Some(*link),
            Ways::Table(table) => table[to?.index()],
            Ways::Unknown => self.next_link_of_new(from, to),
        }
    }

    #[cold]
    fn next_link_of_new(&mut self, from: NodeId, to: Option<NodeId>) -> Option<LinkId> {
        self.ways[from.index()] = match self.links[from.index()][..] {
            [(only, _)] => Ways::Only(only),
            _ => Ways::Table(self.table(from)),
        };
        self.next_link(from, to)
    }

    fn table(&self, from: NodeId) -> Vec<Option<LinkId>> {
        let mut table = self.shortest(from, |link| !self.down.contains(&link));
        let to_all = (from, NodeId(0))..=(from, NodeId(u32::MAX));
        for (&(_, to), link) in self.fixed.range(to_all) {
            if !self.down.contains(link) {
                table[to.index()] = Some(*link);
            }
        }
        if !self.down.is_empty() {
            // Where there is no other way, a link that is down is better than none.
            let through = self.shortest(from, |_| true);
            for (place, way) in table.iter_mut().zip(through) {
                *place = place.or(way);
            }
        }
        table
    }

    fn shortest(&self, from: NodeId, may_use: impl Fn(LinkId) -> bool) -> Vec<Option<LinkId>> {
        let mut first = vec![None; self.links.len()];
        let mut reached = vec![false; self.links.len()];
        reached[from.index()] = true;
        let mut queue: VecDeque<(NodeId, Option<LinkId>)> = VecDeque::from([(from, None)]);
        while let Some((node, way)) = queue.pop_front() {
            for &(link, next) in &self.links[node.index()] {
                if !reached[next.index()] && may_use(link) {
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

    #[test]
    fn a_route_that_was_set_wins_over_the_shortest_way() {
        let mut routes = square();
        routes.fix(NodeId(0), NodeId(1), Some(LinkId(6)));
        assert_eq!(way(&mut routes, 0, 1), Some(LinkId(6)));
        assert_eq!(way(&mut routes, 0, 2), Some(LinkId(0)));
        routes.fix(NodeId(0), NodeId(1), None);
        assert_eq!(way(&mut routes, 0, 1), Some(LinkId(0)));
    }

    #[test]
    fn routes_lead_around_links_that_are_down_if_there_is_a_way() {
        let mut routes = square();
        routes.fix(NodeId(0), NodeId(1), Some(LinkId(0)));
        routes.set_up(LinkId(0), false);
        assert_eq!(way(&mut routes, 0, 1), Some(LinkId(6)));
        routes.set_up(LinkId(6), false);
        assert_eq!(way(&mut routes, 0, 1), Some(LinkId(0)), "no other");
        routes.set_up(LinkId(6), true);
        routes.set_up(LinkId(0), true);
        assert_eq!(way(&mut routes, 0, 1), Some(LinkId(0)));
    }
}

//! `[topology]`: the nodes.

use super::keys::Topology;
use super::plan::Link;
use super::values::{At, Name};
use crate::mistake::{Mistake, Mistakes, Place};

/// The names of all nodes, if there are any.
pub(crate) fn nodes(topology: &At<Topology>, mistakes: &mut Mistakes) -> Option<Vec<String>> {
    let mut nodes: Vec<String> = Vec::new();
    for (Name(name), place) in topology.nodes.items() {
        if nodes.contains(name) {
            let what = format!("there are two nodes {name}");
            mistakes.add(Mistake::new(place, what, "give each its own name"));
        }
        nodes.push(name.clone());
    }
    if nodes.is_empty() {
        let next = "add nodes = [\"a\", \"b\"]";
        mistakes.add(Mistake::new(
            &topology.place,
            "the topology needs nodes",
            next,
        ));
        return None;
    }
    Some(nodes)
}

/// The index of a node.
pub(crate) fn find(name: &str, place: &Place, nodes: &[String]) -> Result<usize, Mistake> {
    let known: Vec<&str> = nodes.iter().map(String::as_str).collect();
    let found = known.iter().position(|node| *node == name);
    found.ok_or_else(|| Mistake::unknown(place, "node", name, &known))
}

/// Refuses nodes without a link.
pub(crate) fn check_connected(topology: &At<Topology>, links: &[Link], mistakes: &mut Mistakes) {
    for (n, (Name(name), place)) in topology.nodes.items().into_iter().enumerate() {
        if !links.iter().any(|link| [link.from, link.to].contains(&n)) {
            let what = format!("the node {name} has no link");
            let next = "add a [[link]], or leave the node out";
            mistakes.add(Mistake::new(place, what, next));
        }
    }
}

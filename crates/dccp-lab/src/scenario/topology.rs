//! `[topology]`, `[[link]]`, `[[host]]` and `[[route]]`: the network.

use super::document::Item;
use super::host;
use super::keys::{File, RouteKeys};
use super::link::{self, NewLink};
use super::nodes;
use super::paths;
use super::plan::{Link, Network, Route};
use super::values::At;
use crate::mistake::{Mistake, Mistakes};
use std::path::Path;

/// The network of a file; `None` without nodes, to which everything else refers. `document` is the same file as a tree; `folder` holds its traces.
pub(crate) fn network(
    file: &File,
    document: &Item<'_>,
    folder: &Path,
    mistakes: &mut Mistakes,
) -> Option<Network> {
    let missing = || Mistake::missing(&(0..0), "topology");
    let topology = mistakes.check(file.topology.as_ref().ok_or_else(missing))?;
    let nodes = nodes::nodes(topology, mistakes)?;
    let mut links: Vec<NewLink> = Vec::new();
    for (keys, table) in file.link.iter().zip(link::tables(document)) {
        let new = link::links(keys, table, &nodes, folder, mistakes);
        for link in new {
            let result = add_link(&mut links, link, &nodes);
            mistakes.check(result);
        }
    }
    let machines = host::machines(&file.host, &nodes, &mut links, mistakes);
    let links: Vec<Link> = links.into_iter().map(|new| new.link).collect();
    if mistakes.is_empty() {
        nodes::check_connected(topology, &links, mistakes);
    }
    let mut routes = Vec::new();
    for keys in &file.route {
        let route = route(keys, &nodes, &links);
        let result = route.and_then(|route| add_route(&mut routes, route, keys, &nodes));
        mistakes.check(result);
    }
    Some(Network {
        nodes,
        links,
        routes,
        machines,
    })
}

fn add_link(links: &mut Vec<NewLink>, new: NewLink, nodes: &[String]) -> Result<(), Mistake> {
    let ends = |link: &Link| (link.from.min(link.to), link.from.max(link.to));
    let link = &new.link;
    let (from, to) = (&nodes[link.from], &nodes[link.to]);
    if link.from == link.to {
        let what = format!("this link leads from {from} to itself");
        return Err(Mistake::new(&new.place, what, "write two different nodes"));
    }
    if links.iter().any(|other| ends(&other.link) == ends(link)) {
        let what = format!("there are two links between {from} and {to}");
        return Err(Mistake::new(&new.place, what, "put a node on one of them"));
    }
    if links.iter().any(|other| other.link.id == link.id) {
        let what = format!("there are two links {}", link.id);
        return Err(Mistake::new(&new.place, what, "give each its own id"));
    }
    links.push(new);
    Ok(())
}

fn route(keys: &RouteKeys, nodes: &[String], links: &[Link]) -> Result<Route, Mistake> {
    let node = |name: &At<String>| nodes::find(name, &name.place, nodes);
    let route = Route {
        at: node(&keys.at)?,
        to: node(&keys.to)?,
        via: node(&keys.via)?,
    };
    if !paths::neighbours(links, route.at).any(|n| n == route.via) {
        let what = format!("no link leads from {} to {}", *keys.at, *keys.via);
        return Err(Mistake::new(&keys.via.place, what, "write a neighbour"));
    }
    Ok(route)
}

fn add_route(
    routes: &mut Vec<Route>,
    route: Route,
    keys: &At<RouteKeys>,
    nodes: &[String],
) -> Result<(), Mistake> {
    let (at, to) = (&nodes[route.at], &nodes[route.to]);
    if at == to {
        let what = format!("this route leads from {at} to itself");
        return Err(Mistake::new(&keys.place, what, "write two different nodes"));
    }
    let is_same = |r: &Route| (r.at, r.to) == (route.at, route.to);
    if routes.iter().any(is_same) {
        let what = format!("there are two routes at {at} to {to}");
        return Err(Mistake::new(&keys.place, what, "leave one of them out"));
    }
    routes.push(route);
    Ok(())
}

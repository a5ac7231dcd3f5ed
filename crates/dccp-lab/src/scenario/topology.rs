//! `[topology]`, `[[link]]` and `[[route]]`: which machines there are, and what lies between them.

use super::document::{Entry, Item, Table, Value};
use super::fields::Fields;
use super::host;
use super::link;
use super::mistake::{Mistake, Place};
use super::plan::{Link, Network, Route};
use super::read;
use super::ways;
use std::path::Path;

pub(super) const TOPOLOGY: &[&str] = &["nodes"];
pub(super) const ROUTE: &[&str] = &["at", "to", "via"];

/// The sections of a repeated heading such as `[[link]]`, each with its place.
pub(crate) fn sections<'a>(document: &'a Table, key: &str) -> Result<Vec<&'a Item>, Mistake> {
    let Some(entry) = document.entry(key) else {
        return Ok(Vec::new());
    };
    match &entry.item.value {
        Value::List(items) => Ok(items.iter().collect()),
        _ => Err(Mistake::new(
            &entry.place,
            format!("there may be several sections {key}"),
            format!("write [[{key}]] with two brackets"),
        )),
    }
}

/// Nodes and links and routes.
pub(crate) fn network(document: &Table, folder: &Path) -> Result<Network, Mistake> {
    let nodes = nodes(document)?;
    let mut links: Vec<Link> = Vec::new();
    let mut written = Vec::new();
    for section in sections(document, "link")? {
        for (link, place) in link::links(section, &nodes, folder)? {
            add_link(&mut links, link, &place, &nodes)?;
            written.push(section);
        }
    }
    let machines = host::machines(document, &nodes, &mut links, &written)?;
    let mut routes = Vec::new();
    for section in sections(document, "route")? {
        let route = route(section, &nodes, &links)?;
        add_route(&mut routes, route, &section.place, &nodes)?;
    }
    Ok(Network {
        nodes,
        links,
        routes,
        machines,
    })
}

fn nodes(document: &Table) -> Result<Vec<String>, Mistake> {
    let Some(Entry { item, .. }) = document.entry("topology") else {
        return Err(Mistake::new(
            &(0..0),
            "there is no [topology]",
            "write [topology] and below it nodes = [\"a\", \"b\"]",
        ));
    };
    let fields = Fields::of_item(item, "the topology", TOPOLOGY)?;
    let mut nodes: Vec<String> = Vec::new();
    for item in fields.list("nodes") {
        let name = read::name(item)?;
        if nodes.contains(&name) {
            return Err(Mistake::new(
                &item.place,
                format!("there are two nodes {name}"),
                "give each its own name",
            ));
        }
        nodes.push(name);
    }
    if nodes.is_empty() {
        return Err(Mistake::new(
            fields.place(),
            "the topology needs nodes",
            "add nodes = [\"a\", \"b\"]",
        ));
    }
    Ok(nodes)
}

/// The index of a node.
pub(crate) fn node(item: &Item, nodes: &[String]) -> Result<usize, Mistake> {
    let name = read::text(item)?;
    let known: Vec<&str> = nodes.iter().map(String::as_str).collect();
    known
        .iter()
        .position(|node| *node == name)
        .ok_or_else(|| Mistake::unknown(&item.place, "node", name, &known))
}

fn add_link(
    links: &mut Vec<Link>,
    link: Link,
    place: &Place,
    nodes: &[String],
) -> Result<(), Mistake> {
    let ends = |l: &Link| (l.from.min(l.to), l.from.max(l.to));
    let (from, to) = (&nodes[link.from], &nodes[link.to]);
    if link.from == link.to {
        return Err(Mistake::new(
            place,
            format!("this link leads from {from} to itself"),
            "write two different nodes",
        ));
    }
    if links.iter().any(|l| ends(l) == ends(&link)) {
        return Err(Mistake::new(
            place,
            format!("there are two links between {from} and {to}"),
            "put a node on one of them",
        ));
    }
    if links.iter().any(|l| l.id == link.id) {
        return Err(Mistake::new(
            place,
            format!("there are two links {}", link.id),
            "give each its own id",
        ));
    }
    links.push(link);
    Ok(())
}

fn route(section: &Item, nodes: &[String], links: &[Link]) -> Result<Route, Mistake> {
    let fields = Fields::of_item(section, "a route", ROUTE)?;
    let route = Route {
        at: fields.need("at", |item| node(item, nodes))?,
        to: fields.need("to", |item| node(item, nodes))?,
        via: fields.need("via", |item| node(item, nodes))?,
    };
    if !ways::neighbours(links, route.at).any(|n| n == route.via) {
        let place = fields.item("via").map_or(fields.place(), |i| &i.place);
        return Err(Mistake::new(
            place,
            format!(
                "no link leads from {} to {}",
                nodes[route.at], nodes[route.via]
            ),
            "write a neighbour",
        ));
    }
    Ok(route)
}

fn add_route(
    routes: &mut Vec<Route>,
    route: Route,
    place: &Place,
    nodes: &[String],
) -> Result<(), Mistake> {
    let (at, to) = (&nodes[route.at], &nodes[route.to]);
    if at == to {
        return Err(Mistake::new(
            place,
            format!("this route leads from {at} to itself"),
            "write two different nodes",
        ));
    }
    let is_same = |r: &Route| (r.at, r.to) == (route.at, route.to);
    if routes.iter().any(is_same) {
        return Err(Mistake::new(
            place,
            format!("there are two routes at {at} to {to}"),
            "leave one of them out",
        ));
    }
    routes.push(route);
    Ok(())
}

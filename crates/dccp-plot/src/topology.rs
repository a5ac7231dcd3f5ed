//! A network: hosts, routers and the links between them.

use crate::legend::{self, Sample};
use crate::palette::colour;
use crate::{Area, DrawError, FONT, LEGEND_WIDTH, PlotError, WIDTH, no_points, picture, shorten};
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

/// A node of a network.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    /// The name below it. Long names are cut.
    pub name: String,
    /// True for a host, false for a router.
    pub is_host: bool,
}

/// A link between two nodes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edge {
    /// One end, as an index of the nodes.
    pub from: usize,
    /// The other end.
    pub to: usize,
    /// The text on the link, such as its rate.
    pub label: String,
    /// Whether the line is thick.
    pub is_strong: bool,
}

/// A picture of a network. A link leads from the left to the right, unless links form a circle.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Topology {
    /// The line at the top. Can be empty.
    pub title: String,
    /// The nodes.
    pub nodes: Vec<Node>,
    /// The links. Those with an end that is no node are not drawn.
    pub edges: Vec<Edge>,
}

const ROW_HEIGHT: i32 = 64;
const HEIGHT_MIN: i32 = 150;

impl Topology {
    /// Draws the network.
    ///
    /// # Errors
    /// There is no node, or the plotting library fails.
    pub fn to_svg(&self) -> Result<String, PlotError> {
        if self.nodes.is_empty() {
            return Err(no_points());
        }
        let columns = self.columns();
        let in_column = |n: usize| columns.iter().filter(|column| **column == n).count();
        let most = (0..columns.len()).map(in_column).max().unwrap_or(1);
        let rows = i32::try_from(most).unwrap_or(i32::MAX);
        let height = rows.saturating_mul(ROW_HEIGHT).max(HEIGHT_MIN);
        picture(&self.title, height.cast_unsigned(), |area| {
            self.draw(area, &places(&columns, height))
        })
    }

    /// The column of each node: one more than the greatest of the nodes before it.
    fn columns(&self) -> Vec<usize> {
        let mut columns = vec![0; self.nodes.len()];
        let mut is_placed = vec![false; self.nodes.len()];
        let edges: Vec<&Edge> = self.edges().collect();
        while let Some(next) = next_node(&edges, &is_placed) {
            is_placed[next] = true;
            for edge in edges.iter().filter(|edge| edge.from == next) {
                if !is_placed[edge.to] {
                    columns[edge.to] = columns[edge.to].max(columns[next] + 1);
                }
            }
        }
        columns
    }

    fn edges(&self) -> impl Iterator<Item = &Edge> {
        let count = self.nodes.len();
        let edges = self.edges.iter();
        edges.filter(move |edge| edge.from < count && edge.to < count && edge.from != edge.to)
    }

    fn draw(&self, area: &Area<'_>, places: &[(i32, i32)]) -> Result<(), DrawError> {
        for edge in self.edges() {
            let ends = [places[edge.from], places[edge.to]];
            let width = if edge.is_strong { 4 } else { 2 };
            area.draw(&PathElement::new(ends, LINE.stroke_width(width)))?;
        }
        // Texts are above all lines.
        for edge in self.edges() {
            let (from, to) = (places[edge.from], places[edge.to]);
            let middle = (
                i32::midpoint(from.0, to.0),
                i32::midpoint(from.1, to.1) - 12,
            );
            write(area, &edge.label, middle)?;
        }
        for (node, &(x, y)) in self.nodes.iter().zip(places) {
            if node.is_host {
                area.draw(&Circle::new((x, y), 10, colour(0).filled()))?;
            } else {
                let corners = [(x - 9, y - 9), (x + 9, y + 9)];
                area.draw(&Rectangle::new(corners, colour(1).filled()))?;
            }
            write(area, &shorten(&node.name), (x, y + 22))?;
        }
        let (_, beside) = area.split_horizontally(WIDTH - LEGEND_WIDTH);
        let names = [(0, "host"), (1, "router")];
        let names = names.map(|(n, name)| (Sample::Area(colour(n).to_rgba()), name.to_owned()));
        legend::draw(&beside, names.into())
    }
}

const LINE: RGBColor = RGBColor(136, 136, 136);

/// The first node without links from nodes that have no place yet; in a circle, the first without a place.
fn next_node(edges: &[&Edge], is_placed: &[bool]) -> Option<usize> {
    let waits = |n: usize| {
        let mut before = edges.iter().filter(|edge| edge.to == n);
        before.any(|edge| !is_placed[edge.from])
    };
    let mut unplaced = (0..is_placed.len()).filter(|&n| !is_placed[n]);
    let first = unplaced.clone().next();
    unplaced.find(|&n| !waits(n)).or(first)
}

fn write(area: &Area<'_>, text: &str, at: (i32, i32)) -> Result<(), DrawError> {
    let style = (FONT, 13)
        .into_text_style(area)
        .pos(Pos::new(HPos::Center, VPos::Center));
    area.draw(&Text::new(text.to_owned(), at, style))
}

/// The middle of each node, in pixels.
fn places(columns: &[usize], height: i32) -> Vec<(i32, i32)> {
    const BORDER: i32 = 70;
    let width = i32::try_from(WIDTH - LEGEND_WIDTH).unwrap_or(i32::MAX);
    let number = |n: usize| i32::try_from(n).unwrap_or(i32::MAX);
    let last = number(columns.iter().copied().max().unwrap_or(0)).max(1);
    let place = |(n, &column): (usize, &usize)| {
        let of_column = |nodes: &[usize]| nodes.iter().filter(|c| **c == column).count();
        let above = number(of_column(&columns[..n]));
        let all = number(of_column(columns));
        let x = BORDER + (width - 2 * BORDER) * number(column) / last;
        (x, height * (2 * above + 1) / (2 * all) - 8)
    };
    columns.iter().enumerate().map(place).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn network(nodes: usize, edges: &[(usize, usize)]) -> Topology {
        let node = |n: usize| Node {
            name: format!("node {n}"),
            is_host: n.is_multiple_of(2),
        };
        let edge = |&(from, to): &(usize, usize)| Edge {
            from,
            to,
            label: format!("{from} to {to}"),
            is_strong: false,
        };
        Topology {
            title: String::new(),
            nodes: (0..nodes).map(node).collect(),
            edges: edges.iter().map(edge).collect(),
        }
    }

    #[test]
    fn dumbbell_has_senders_left_and_receivers_right() {
        let dumbbell = network(6, &[(0, 2), (1, 2), (2, 3), (3, 4), (3, 5)]);
        assert_eq!(dumbbell.columns(), [0, 0, 1, 2, 3, 3]);
        let svg = dumbbell.to_svg().unwrap();
        for text in ["node 0", "2 to 3", "host", "router"] {
            assert!(svg.contains(&format!(">\n{text}\n<")), "no {text}");
        }
        assert_eq!(svg.matches("<circle").count(), 3);
    }

    #[test]
    fn circle_of_links_ends() {
        let ring = network(3, &[(0, 1), (1, 2), (2, 0)]);
        assert_eq!(ring.columns(), [0, 1, 2]);
        let wrong = network(2, &[(0, 9), (1, 1), (0, 1)]);
        assert_eq!(wrong.columns(), [0, 1]);
        assert!(wrong.to_svg().is_ok());
    }

    #[test]
    fn nodes_do_not_lie_on_each_other() {
        let star = network(9, &[(0, 8), (1, 8), (2, 8), (3, 8), (4, 8)]);
        let mut places = places(&star.columns(), 800);
        places.sort_unstable();
        assert!(places.is_sorted_by(|a, b| a < b), "{places:?}");
    }

    #[test]
    fn network_without_nodes_is_an_error() {
        assert!(network(0, &[]).to_svg().is_err());
    }
}

//! Pictures as SVG: curves over time, bars, histograms, distributions, heat maps, schedules and networks.
//!
//! A picture has the colours of light paper. [`dark_style`] adapts it to a dark page.

mod axis;
mod bars;
mod cdf;
mod curves;
mod decimate;
mod grouped;
mod heat;
mod histogram;
mod legend;
mod multiples;
mod palette;
mod strip;
mod topology;

pub use axis::Scale;
pub use bars::{Bar, Bars};
pub use cdf::{Cdf, Distribution};
pub use curves::{Band, Figure, Level, Mark, Panel, Series};
pub use grouped::{Group, Grouped, Spread};
pub use heat::{HeatMap, Shades};
pub use histogram::{Bin, Bins, Histogram};
pub use multiples::{Multiples, SmallMap};
pub use palette::{dark_style, palette_style};
pub use strip::{Row, Strip};
pub use topology::{Edge, Node, Topology};

use core::fmt;
use plotters::prelude::*;

/// A picture that could not be drawn.
#[derive(Debug)]
pub struct PlotError(String);

impl fmt::Display for PlotError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cannot draw: {}", self.0)
    }
}

impl core::error::Error for PlotError {}

const WIDTH: u32 = 960;
const LEGEND_WIDTH: u32 = 150;
const TITLE_HEIGHT: u32 = 44;
const PANEL_HEIGHT: u32 = 240;
const FONT: &str = "sans-serif";

type Area<'a> = DrawingArea<SVGBackend<'a>, plotters::coord::Shift>;
type DrawError = DrawingAreaErrorKind<<SVGBackend<'static> as DrawingBackend>::ErrorType>;

/// Draws below a title, which can be empty, on white paper.
fn picture(
    title: &str,
    height: u32,
    draw: impl FnOnce(&Area<'_>) -> Result<(), DrawError>,
) -> Result<String, PlotError> {
    let mut svg = String::new();
    {
        let above = if title.is_empty() { 0 } else { TITLE_HEIGHT };
        let backend = SVGBackend::with_string(&mut svg, (WIDTH, above + height));
        let area = backend.into_drawing_area();
        let below_title = || -> Result<(), DrawError> {
            area.fill(&WHITE)?;
            if title.is_empty() {
                draw(&area)?;
            } else {
                draw(&area.titled(title, (FONT, 20))?)?;
            }
            area.present()
        };
        below_title().map_err(|error| PlotError(error.to_string()))?;
    }
    Ok(svg)
}

/// Cuts a name to the number of characters that have room before a bar.
fn shorten(name: &str) -> String {
    const ROOM: usize = 24;
    if name.chars().count() <= ROOM {
        return name.to_owned();
    }
    let start: String = name.chars().take(ROOM - 1).collect();
    format!("{start}…")
}

/// A count as a position.
fn float(count: usize) -> f64 {
    u32::try_from(count).map_or(f64::INFINITY, f64::from)
}

/// Says that a picture has nothing to show.
fn no_points() -> PlotError {
    PlotError("no points".into())
}

/// Whether a value can be drawn. Values near the limit of `f64` would make the length of an axis infinite.
fn is_drawable(value: f64) -> bool {
    value.abs() <= 1e30
}

/// The greatest value, at least 0.
fn max(values: impl Iterator<Item = f64>) -> f64 {
    values
        .filter(|value| is_drawable(*value))
        .fold(0.0, f64::max)
}

/// A number of an axis, without digits that are not needed.
fn number(value: f64) -> String {
    let value = (value * 1e6).round() / 1e6;
    // No negative zero.
    format!("{}", value + 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axis_numbers_have_no_needless_digits() {
        let numbers = [10.0, 0.25, 0.1 + 0.2, -0.0].map(number);
        assert_eq!(numbers, ["10", "0.25", "0.3", "0"]);
    }

    #[test]
    fn long_name_is_cut() {
        assert_eq!(shorten("receiving host"), "receiving host");
        let name = shorten(&"é".repeat(200));
        assert_eq!(name.chars().count(), 24);
        assert!(name.ends_with("é…"));
    }

    #[test]
    fn empty_title_takes_no_room() {
        let height = |title: &str| {
            let svg = picture(title, 100, |_| Ok(())).unwrap();
            svg.contains("height=\"100\"")
        };
        assert!(height("") && !height("a title"));
    }
}

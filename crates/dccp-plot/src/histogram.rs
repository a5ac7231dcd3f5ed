//! Histograms: how many samples are in each range of values.

use crate::axis::{self, Axis, Scale};
use crate::legend::{self, Sample};
use crate::palette::colour;
use crate::{Area, DrawError, LEGEND_WIDTH, PANEL_HEIGHT, PlotError, WIDTH};
use crate::{is_drawable, no_points, picture};
use plotters::prelude::*;

/// A range of values and what it contains.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bin {
    /// The least value.
    pub from: f64,
    /// The value at which the next bin can begin.
    pub to: f64,
    /// The samples, or their share, from `from` to `to`. Zero draws nothing.
    pub count: f64,
}

/// The bins of one set of samples.
#[derive(Debug, Clone, PartialEq)]
pub struct Bins {
    /// The name in the legend.
    pub name: String,
    /// The bins, in ascending order. Bins without samples can be left out.
    pub bins: Vec<Bin>,
}

/// A picture of histograms.
#[derive(Debug, Clone, PartialEq)]
pub struct Histogram {
    /// The line at the top. Can be empty.
    pub title: String,
    /// The label of the values, with their unit.
    pub x_label: String,
    /// The label of the counts.
    pub y_label: String,
    /// The scale of the values.
    pub x_scale: Scale,
    /// The scale of the counts.
    pub y_scale: Scale,
    /// The sets of samples, one before the other.
    pub series: Vec<Bins>,
}

impl Histogram {
    /// Draws the histograms.
    ///
    /// # Errors
    /// There is nothing to draw, or the plotting library fails.
    pub fn to_svg(&self) -> Result<String, PlotError> {
        let bins = || self.series.iter().flat_map(Bins::drawn);
        let edges = bins().flat_map(|bin| [bin.from, bin.to]);
        let x = Axis::new(self.x_scale, &self.x_label, edges).ok_or_else(no_points)?;
        // A logarithmic axis begins below the least count, so that a bar is visible.
        let below = |count: f64| match self.y_scale {
            Scale::Linear => count,
            Scale::Log => count / 2.0,
        };
        let counts = bins().flat_map(|bin| [below(bin.count), bin.count]);
        let y = Axis::new(self.y_scale, &self.y_label, counts).ok_or_else(no_points)?;
        picture(&self.title, PANEL_HEIGHT, |area| self.draw(area, &x, &y))
    }

    fn draw(&self, area: &Area<'_>, x: &Axis, y: &Axis) -> Result<(), DrawError> {
        let (area, beside) = area.split_horizontally(WIDTH - LEGEND_WIDTH);
        let mut chart = axis::chart(&area, x, y)?;
        for (n, series) in self.series.iter().enumerate() {
            let bars = series.drawn().map(|bin| {
                let corners = [(bin.from, 0.0), (bin.to, bin.count)];
                Rectangle::new(corners, colour(n).mix(0.35).filled())
            });
            chart.draw_series(bars)?;
            for outline in series.outlines() {
                let line = PathElement::new(outline, colour(n).stroke_width(2));
                chart.draw_series([line])?;
            }
        }
        let names = self.series.iter().enumerate();
        let names =
            names.map(|(n, series)| (Sample::Line(colour(n).to_rgba()), series.name.clone()));
        legend::draw(&beside, names.collect())
    }
}

impl Bins {
    /// The bins with samples.
    fn drawn(&self) -> impl Iterator<Item = &Bin> {
        self.bins.iter().filter(|bin| is_drawn(bin))
    }

    /// Steps around each group of bins without a gap between them.
    fn outlines(&self) -> impl Iterator<Item = Vec<(f64, f64)>> {
        let drawn: Vec<Bin> = self.drawn().copied().collect();
        let groups = drawn.chunk_by(|a, b| a.to.total_cmp(&b.from).is_eq());
        let outline = |group: &[Bin]| {
            let steps = group.iter();
            let steps = steps.flat_map(|bin| [(bin.from, bin.count), (bin.to, bin.count)]);
            let start = group.first().map(|bin| (bin.from, 0.0));
            let end = group.last().map(|bin| (bin.to, 0.0));
            start.into_iter().chain(steps).chain(end).collect()
        };
        groups.map(outline).collect::<Vec<_>>().into_iter()
    }
}

fn is_drawn(bin: &Bin) -> bool {
    let has_place = is_drawable(bin.from) && is_drawable(bin.to) && bin.from < bin.to;
    has_place && is_drawable(bin.count) && bin.count > 0.0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bins(name: &str, bins: &[(f64, f64, f64)]) -> Bins {
        let bins = bins.iter();
        Bins {
            name: name.into(),
            bins: bins
                .map(|&(from, to, count)| Bin { from, to, count })
                .collect(),
        }
    }

    fn histogram(scale: Scale, series: Vec<Bins>) -> Histogram {
        Histogram {
            title: String::new(),
            x_label: "packets lost in a row".into(),
            y_label: "how often".into(),
            x_scale: scale,
            y_scale: Scale::Log,
            series,
        }
    }

    #[test]
    fn bars_have_the_height_of_their_count() {
        let runs = bins(
            "flow 1",
            &[(1.0, 2.0, 100.0), (2.0, 3.0, 0.0), (3.0, 4.0, 1.0)],
        );
        let svg = histogram(Scale::Linear, vec![runs]).to_svg().unwrap();
        let bars: Vec<&str> = svg
            .lines()
            .filter(|line| line.starts_with("<rect") && line.contains("#0072B2"))
            .collect();
        assert_eq!(bars.len(), 2, "a bin without samples has no bar");
        let height = |bar: &str| -> f64 {
            let value = bar.split("height=\"").nth(1).unwrap();
            value.split('"').next().unwrap().parse().unwrap()
        };
        // From 0.5: log(100 / 0.5) beside log(1 / 0.5).
        let ratio = height(bars[0]) / height(bars[1]);
        assert!((7.0..8.3).contains(&ratio), "{ratio}");
        assert!(svg.contains("packets lost in a row") && svg.contains("how often"));
    }

    #[test]
    fn outline_breaks_at_a_gap() {
        let runs = bins("", &[(1.0, 2.0, 5.0), (2.0, 3.0, 4.0), (7.0, 8.0, 1.0)]);
        let outlines: Vec<_> = runs.outlines().collect();
        let first = [
            (1.0, 0.0),
            (1.0, 5.0),
            (2.0, 5.0),
            (2.0, 4.0),
            (3.0, 4.0),
            (3.0, 0.0),
        ];
        assert_eq!(outlines[0], first);
        assert_eq!(
            outlines[1],
            [(7.0, 0.0), (7.0, 1.0), (8.0, 1.0), (8.0, 0.0)]
        );
    }

    #[test]
    fn bin_from_zero_starts_at_the_edge_of_a_log_axis() {
        let series = bins("delay", &[(0.0, 1.0, 3.0), (1.0, 1e5, 2.0)]);
        let svg = histogram(Scale::Log, vec![series]).to_svg().unwrap();
        assert!(svg.contains(">\n10000\n<"));
    }

    #[test]
    fn histogram_without_samples_is_an_error() {
        let none = [(1.0, 2.0, 0.0), (2.0, 1.0, 5.0), (f64::NAN, 3.0, 1.0)];
        let error = histogram(Scale::Linear, vec![bins("", &none)]).to_svg();
        assert_eq!(error.unwrap_err().to_string(), "cannot draw: no points");
    }
}

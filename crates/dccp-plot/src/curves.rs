//! Curves over time: panels below each other with a common time axis.

use crate::legend::{self, Sample};
use crate::palette::colour;
use crate::{Area, DrawError, FONT, LEGEND_WIDTH, PANEL_HEIGHT, PlotError, WIDTH};
use crate::{is_drawable, max, no_points, number, picture};
use plotters::prelude::*;
use std::borrow::Cow;

/// A curve.
#[derive(Debug, Clone, PartialEq)]
pub struct Series {
    /// The name in the legend.
    pub name: String,
    /// Time and value, in the units of the panel's axes. A value that is not finite leaves a gap.
    pub points: Vec<(f64, f64)>,
}

/// The area between two curves, such as the part of a delay that a queue causes.
#[derive(Debug, Clone, PartialEq)]
pub struct Band {
    /// The name in the legend.
    pub name: String,
    /// Time, lower and upper value. A value that is not finite leaves a gap.
    pub points: Vec<(f64, f64, f64)>,
}

/// A value to compare curves with, as a horizontal line.
#[derive(Debug, Clone, PartialEq)]
pub struct Level {
    /// The name in the legend.
    pub name: String,
    /// The value, in the unit of the panel's axis.
    pub value: f64,
}

/// Curves with common axes.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Panel {
    /// The label of the vertical axis, with its unit.
    pub y_label: String,
    /// The curves. The n-th has the same colour in every panel.
    pub series: Vec<Series>,
    /// Areas behind the curves. Their colours follow those of the curves.
    pub bands: Vec<Band>,
    /// Horizontal lines.
    pub levels: Vec<Level>,
    /// The vertical axis reaches at least this value, so that panels of several figures have the same axis.
    pub reach: f64,
}

/// A time, or a span of time, that all panels show.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Mark {
    /// A vertical line.
    At(f64),
    /// A grey band.
    Span(f64, f64),
}

/// A picture.
#[derive(Debug, Clone, PartialEq)]
pub struct Figure {
    /// The line at the top. Can be empty.
    pub title: String,
    /// The label of the common horizontal axis, with its unit.
    pub x_label: String,
    /// The panels, from top to bottom.
    pub panels: Vec<Panel>,
    /// Times to show in all panels.
    pub marks: Vec<Mark>,
}

impl Figure {
    /// Draws the figure.
    ///
    /// # Errors
    /// There is nothing to draw, or the plotting library fails.
    pub fn to_svg(&self) -> Result<String, PlotError> {
        let panels = u32::try_from(self.panels.len()).unwrap_or(u32::MAX);
        let x_max = max(self.panels.iter().flat_map(Panel::times));
        if panels == 0 || x_max <= 0.0 {
            return Err(no_points());
        }
        picture(&self.title, panels * PANEL_HEIGHT, |area| {
            self.draw(area, x_max)
        })
    }

    fn draw(&self, area: &Area<'_>, x_max: f64) -> Result<(), DrawError> {
        let last = self.panels.len() - 1;
        let areas = area.split_evenly((last + 1, 1));
        for (n, (panel, area)) in self.panels.iter().zip(areas).enumerate() {
            let x_label = if n == last { self.x_label.as_str() } else { "" };
            let (chart, legend) = area.split_horizontally(WIDTH - LEGEND_WIDTH);
            panel.draw(&chart, x_label, x_max, &self.marks)?;
            legend::draw(&legend, panel.legend())?;
        }
        Ok(())
    }
}

impl Panel {
    fn times(&self) -> impl Iterator<Item = f64> {
        let series = self.series.iter().flat_map(|series| &series.points);
        let bands = self.bands.iter().flat_map(|band| &band.points);
        series
            .map(|point| point.0)
            .chain(bands.map(|point| point.0))
    }

    fn values(&self) -> impl Iterator<Item = f64> {
        let series = self.series.iter().flat_map(|series| &series.points);
        let bands = self.bands.iter().flat_map(|band| &band.points);
        let levels = self.levels.iter().map(|level| level.value);
        series
            .map(|point| point.1)
            .chain(bands.map(|point| point.2))
            .chain(levels)
    }

    /// The greatest value that the vertical axis shows.
    pub fn greatest(&self) -> f64 {
        max(self.values().chain([self.reach]))
    }

    fn draw(
        &self,
        area: &Area<'_>,
        x_label: &str,
        x_max: f64,
        marks: &[Mark],
    ) -> Result<(), DrawError> {
        let y_max = self.greatest();
        // An axis of some length even if all values are zero.
        let y_max = if y_max > 0.0 { y_max * 1.05 } else { 1.0 };
        let mut chart = ChartBuilder::on(area)
            .margin(8)
            // Half of the last label of the time axis is to the right of it.
            .margin_right(24)
            .x_label_area_size(36)
            .y_label_area_size(64)
            .build_cartesian_2d(0.0..x_max, 0.0..y_max)?;
        for mark in marks {
            let (from, to) = match *mark {
                Mark::At(at) => (at, at),
                Mark::Span(from, to) => (from, to.min(x_max)),
            };
            if from <= x_max {
                let style = BLACK.mix(0.15).filled();
                let band = Rectangle::new([(from, 0.0), (to, y_max)], style);
                let edge = PathElement::new([(from, 0.0), (from, y_max)], BLACK.mix(0.5));
                chart.draw_series([band])?;
                chart.draw_series([edge])?;
            }
        }
        chart
            .configure_mesh()
            .x_desc(x_label)
            .y_desc(&self.y_label)
            .x_label_formatter(&|value| number(*value))
            .y_label_formatter(&|value| number(*value))
            .label_style((FONT, 13))
            .axis_desc_style((FONT, 14))
            .light_line_style(TRANSPARENT)
            .bold_line_style(BLACK.mix(0.12))
            .draw()?;
        for (band, colour) in self.bands.iter().zip(self.band_colours()) {
            for outline in band.outlines(x_max) {
                chart.draw_series([Polygon::new(outline, colour)])?;
            }
        }
        for level in self.levels.iter().filter(|level| is_drawable(level.value)) {
            let ends = [(0.0, level.value), (x_max, level.value)];
            chart.draw_series([PathElement::new(ends, LEVEL_COLOUR)])?;
        }
        for (n, series) in self.series.iter().enumerate() {
            for piece in pieces(&series.points, |point| is_drawable(point.1)) {
                let points = thin(piece, x_max).into_owned();
                let line = LineSeries::new(points, colour(n).stroke_width(2));
                chart.draw_series(line)?;
            }
        }
        Ok(())
    }

    fn band_colours(&self) -> impl Iterator<Item = RGBAColor> {
        (self.series.len()..).map(|n| colour(n).mix(0.35))
    }

    fn legend(&self) -> Vec<(Sample, String)> {
        let series = self.series.iter().enumerate();
        let series =
            series.map(|(n, series)| (Sample::Line(colour(n).to_rgba()), series.name.clone()));
        let bands = self.bands.iter().zip(self.band_colours());
        let bands = bands.map(|(band, colour)| (Sample::Area(colour), band.name.clone()));
        let levels = self.levels.iter();
        let levels = levels.map(|level| (Sample::Line(LEVEL_COLOUR), level.name.clone()));
        series.chain(bands).chain(levels).collect()
    }
}

const LEVEL_COLOUR: RGBAColor = RGBAColor(0, 0, 0, 0.6);

impl Band {
    /// The outline of each piece without gaps: along the upper values and back along the lower ones.
    fn outlines(&self, x_max: f64) -> impl Iterator<Item = Vec<(f64, f64)>> {
        let is_whole = |point: &(f64, f64, f64)| is_drawable(point.1) && is_drawable(point.2);
        pieces(&self.points, is_whole).map(move |piece| {
            let upper: Vec<_> = piece.iter().map(|point| (point.0, point.2)).collect();
            let lower: Vec<_> = piece.iter().map(|point| (point.0, point.1)).collect();
            let mut outline = thin(&upper, x_max).into_owned();
            outline.extend(thin(&lower, x_max).iter().rev());
            outline
        })
    }
}

/// The parts of a curve between its gaps.
fn pieces<T>(points: &[T], is_drawn: impl Fn(&T) -> bool) -> impl Iterator<Item = &[T]> {
    points
        .split(move |point| !is_drawn(point))
        .filter(|piece| !piece.is_empty())
}

/// Keeps the first, the least, the greatest and the last point of each column of pixels, if there are many points.
/// The curve looks the same, because its line covers everything between the least and the greatest value.
fn thin(points: &[(f64, f64)], x_max: f64) -> Cow<'_, [(f64, f64)]> {
    const COLUMNS: u32 = WIDTH;
    const MANY: usize = 4 * COLUMNS as usize;
    if points.len() <= MANY {
        return Cow::Borrowed(points);
    }
    let column = |point: &(f64, f64)| (point.0 / x_max * f64::from(COLUMNS)).floor();
    let mut kept = Vec::new();
    for chunk in points.chunk_by(|a, b| column(a).total_cmp(&column(b)).is_eq()) {
        let by_value = |a: &usize, b: &usize| chunk[*a].1.total_cmp(&chunk[*b].1);
        let least = (0..chunk.len()).min_by(by_value).unwrap_or(0);
        let greatest = (0..chunk.len()).max_by(by_value).unwrap_or(0);
        let mut of_column = vec![0, least, greatest, chunk.len() - 1];
        of_column.sort_unstable();
        of_column.dedup();
        kept.extend(of_column.into_iter().map(|n| chunk[n]));
    }
    Cow::Owned(kept)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series(name: &str, points: &[(f64, f64)]) -> Series {
        Series {
            name: name.into(),
            points: points.into(),
        }
    }

    fn figure(series: Vec<Series>) -> Figure {
        Figure {
            title: "two flows".into(),
            x_label: "time, s".into(),
            panels: vec![Panel {
                y_label: "rate, Mbit/s".into(),
                series,
                ..Panel::default()
            }],
            marks: vec![Mark::At(0.5), Mark::Span(0.25, 9.0)],
        }
    }

    #[test]
    fn figure_names_axes_and_curves() {
        let curves = vec![
            series("one", &[(0.0, 1.0), (1.0, 2.0)]),
            series("two", &[(0.0, 3.0), (1.0, 0.0)]),
        ];
        let svg = figure(curves).to_svg().unwrap();
        for text in ["<svg", "two flows", "time, s", "rate, Mbit/s", "one", "two"] {
            assert!(svg.contains(text), "no {text}");
        }
        assert_eq!(
            svg.matches("stroke=\"#0072B2\"").count(),
            2,
            "curve and legend"
        );
    }

    #[test]
    fn axis_reaches_further_than_the_curve() {
        let mut figure = figure(vec![series("one", &[(0.0, 1.0), (1.0, 2.0)])]);
        figure.panels[0].reach = 50.0;
        assert!(figure.to_svg().unwrap().contains(">\n50\n<"));
    }

    #[test]
    fn gap_splits_a_curve() {
        let gap = [
            (0.0, 1.0),
            (1.0, 2.0),
            (2.0, f64::NAN),
            (3.0, 1.0),
            (4.0, 1.0),
        ];
        let svg = figure(vec![series("one", &gap)]).to_svg().unwrap();
        assert_eq!(
            svg.matches("stroke=\"#0072B2\"").count(),
            3,
            "two pieces and the legend"
        );
    }

    #[test]
    fn empty_figure_is_an_error() {
        assert!(figure(vec![series("one", &[])]).to_svg().is_err());
        let none = Figure {
            panels: Vec::new(),
            ..figure(Vec::new())
        };
        assert!(none.to_svg().is_err());
    }

    #[test]
    fn band_and_level_are_drawn_and_named() {
        let mut figure = figure(vec![series("RTT", &[(0.0, 20.0), (1.0, 30.0)])]);
        let points = vec![
            (0.0, 5.0, 20.0),
            (0.4, 5.0, 25.0),
            (0.5, f64::NAN, 25.0),
            (0.6, 5.0, 40.0),
            (1.0, 5.0, 30.0),
        ];
        figure.panels[0].bands = vec![Band {
            name: "queue".into(),
            points,
        }];
        figure.panels[0].levels = vec![Level {
            name: "idle".into(),
            value: 50.0,
        }];
        let svg = figure.to_svg().unwrap();
        assert_eq!(svg.matches("<polygon").count(), 2, "one for each piece");
        assert!(svg.contains("queue") && svg.contains("idle"));
        assert!(svg.contains(">\n50\n<"), "the axis reaches the level");
        let band = figure.panels[0].bands[0].outlines(1.0).next().unwrap();
        assert_eq!(band, [(0.0, 20.0), (0.4, 25.0), (0.4, 5.0), (0.0, 5.0)]);
    }

    #[test]
    fn values_near_the_limit_of_floats_are_gaps() {
        let points = [
            (0.0, 1.0),
            (0.5, f64::MAX),
            (1.0, f64::INFINITY),
            (2.0, 1.0),
        ];
        let svg = figure(vec![series("one", &points)]).to_svg().unwrap();
        assert_eq!(svg.matches("stroke=\"#0072B2\"").count(), 3);
        assert!(
            figure(vec![series("one", &[(f64::INFINITY, 1.0)])])
                .to_svg()
                .is_err()
        );
        let greatest = [(0.0, 0.0), (18e9, 18e18)];
        assert!(figure(vec![series("one", &greatest)]).to_svg().is_ok());
    }

    #[test]
    fn long_curve_keeps_the_extremes_of_each_column() {
        let value = |n: u32| match n {
            50_000 => 7.0,
            50_001 => -7.0,
            n => f64::from(n % 3),
        };
        let points: Vec<_> = (0..100_000).map(|n| (f64::from(n), value(n))).collect();
        let kept = thin(&points, 99_999.0);
        assert!(kept.len() <= 4 * 961, "{} points", kept.len());
        assert!(kept.contains(&points[50_000]) && kept.contains(&points[50_001]));
        assert_eq!(kept.first(), points.first());
        assert_eq!(kept.last(), points.last());
        assert!(kept.is_sorted_by(|a, b| a.0 < b.0));
        assert_eq!(
            thin(&points[..1_000], 999.0).len(),
            1_000,
            "few points stay"
        );
    }
}

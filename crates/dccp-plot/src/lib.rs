//! Lines over time as SVG: panels below each other with a common time axis.

use core::fmt;
use plotters::prelude::*;

/// A curve.
#[derive(Debug, Clone, PartialEq)]
pub struct Series {
    /// The name in the legend.
    pub name: String,
    /// Time and value, in the units of the panel's axes. A value that is not finite leaves a gap.
    pub points: Vec<(f64, f64)>,
}

/// Curves with common axes.
#[derive(Debug, Clone, PartialEq)]
pub struct Panel {
    /// The label of the vertical axis, with its unit.
    pub y_label: String,
    /// The curves. The n-th has the same colour in every panel.
    pub series: Vec<Series>,
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
    /// The line at the top.
    pub title: String,
    /// The label of the common horizontal axis, with its unit.
    pub x_label: String,
    /// The panels, from top to bottom.
    pub panels: Vec<Panel>,
    /// Times to show in all panels.
    pub marks: Vec<Mark>,
}

/// A picture that could not be drawn.
#[derive(Debug)]
pub struct PlotError(String);

impl fmt::Display for PlotError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cannot draw: {}", self.0)
    }
}

impl core::error::Error for PlotError {}

/// Colours that people with colour vision deficiency distinguish (Okabe and Ito), then four more.
const COLOURS: [RGBColor; 10] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(86, 180, 233),
    RGBColor(230, 159, 0),
    RGBColor(0, 0, 0),
    RGBColor(136, 34, 85),
    RGBColor(136, 136, 136),
    RGBColor(102, 68, 0),
];

const WIDTH: u32 = 960;
const LEGEND_WIDTH: u32 = 150;
const TITLE_HEIGHT: u32 = 44;
const PANEL_HEIGHT: u32 = 240;
const FONT: &str = "sans-serif";

impl Figure {
    /// Draws the figure.
    ///
    /// # Errors
    /// There is nothing to draw, or the plotting library fails.
    pub fn to_svg(&self) -> Result<String, PlotError> {
        let panels = u32::try_from(self.panels.len()).unwrap_or(u32::MAX);
        let points = self.panels.iter().flat_map(|panel| &panel.series);
        let x_max = max(points
            .flat_map(|series| &series.points)
            .map(|point| point.0));
        if panels == 0 || x_max <= 0.0 {
            return Err(PlotError("no points".into()));
        }
        let mut svg = String::new();
        {
            let size = (WIDTH, TITLE_HEIGHT + panels * PANEL_HEIGHT);
            let area = SVGBackend::with_string(&mut svg, size).into_drawing_area();
            self.draw(&area, x_max)
                .map_err(|error| PlotError(error.to_string()))?;
        }
        Ok(svg)
    }

    fn draw(&self, area: &Area<'_>, x_max: f64) -> Result<(), DrawError> {
        area.fill(&WHITE)?;
        let area = area.titled(&self.title, (FONT, 20))?;
        let last = self.panels.len() - 1;
        let areas = area.split_evenly((last + 1, 1));
        for (n, (panel, area)) in self.panels.iter().zip(areas).enumerate() {
            let x_label = if n == last { self.x_label.as_str() } else { "" };
            let (chart, legend) = area.split_horizontally(WIDTH - LEGEND_WIDTH);
            panel.draw(&chart, x_label, x_max, &self.marks)?;
            panel.draw_legend(&legend)?;
        }
        area.present()
    }
}

/// The greatest finite value, at least 0.
fn max(values: impl Iterator<Item = f64>) -> f64 {
    values.filter(|value| value.is_finite()).fold(0.0, f64::max)
}

/// A number of an axis, without digits that are not needed.
fn number(value: f64) -> String {
    let value = (value * 1e6).round() / 1e6;
    // No negative zero.
    format!("{}", value + 0.0)
}

type Area<'a> = DrawingArea<SVGBackend<'a>, plotters::coord::Shift>;
type DrawError = DrawingAreaErrorKind<<SVGBackend<'static> as DrawingBackend>::ErrorType>;

impl Panel {
    fn draw(
        &self,
        area: &Area<'_>,
        x_label: &str,
        x_max: f64,
        marks: &[Mark],
    ) -> Result<(), DrawError> {
        let points = self.series.iter().flat_map(|series| &series.points);
        let y_max = max(points.map(|point| point.1));
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
        for (series, colour) in self.series.iter().zip(COLOURS.into_iter().cycle()) {
            let pieces = series.points.split(|point| !point.1.is_finite());
            for piece in pieces.filter(|piece| !piece.is_empty()) {
                let line = LineSeries::new(piece.iter().copied(), colour.stroke_width(2));
                chart.draw_series(line)?;
            }
        }
        Ok(())
    }

    /// Draws a line and a name for each curve, beside the panel.
    fn draw_legend(&self, area: &Area<'_>) -> Result<(), DrawError> {
        const LINE: i32 = 18;
        let colours = COLOURS.into_iter().cycle();
        for ((series, colour), y) in self.series.iter().zip(colours).zip((16..).step_by(18)) {
            let sample = PathElement::new([(0, y), (LINE, y)], colour.stroke_width(2));
            area.draw(&sample)?;
            let style = (FONT, 13).into_text_style(area);
            area.draw(&Text::new(series.name.clone(), (LINE + 6, y - 6), style))?;
        }
        Ok(())
    }
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
        let y_label = "rate, Mbit/s".into();
        Figure {
            title: "two flows".into(),
            x_label: "time, s".into(),
            panels: vec![Panel { y_label, series }],
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
    fn axis_numbers_have_no_needless_digits() {
        let numbers = [10.0, 0.25, 0.1 + 0.2, -0.0].map(number);
        assert_eq!(numbers, ["10", "0.25", "0.3", "0"]);
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
}

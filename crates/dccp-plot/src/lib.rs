//! Lines over time as SVG, the panels below each other with a common time axis.

use std::error::Error;
use std::fmt;

use plotters::prelude::*;

/// A curve.
#[derive(Debug, Clone, PartialEq)]
pub struct Series {
    /// Its name in the legend.
    pub name: String,
    /// Time and value, in the units of the panel's axes. A value that is not finite leaves a gap.
    pub points: Vec<(f64, f64)>,
}

/// Curves with a common axis.
#[derive(Debug, Clone, PartialEq)]
pub struct Panel {
    /// The label of the vertical axis, with its unit.
    pub y_label: String,
    /// The curves. The n-th has the same colour in every panel.
    pub series: Vec<Series>,
}

/// A picture.
#[derive(Debug, Clone, PartialEq)]
pub struct Figure {
    /// The line at the top.
    pub title: String,
    /// The label of the common horizontal axis, with its unit.
    pub x_label: String,
    /// From top to bottom.
    pub panels: Vec<Panel>,
}

/// A picture that could not be drawn.
#[derive(Debug)]
pub struct PlotError(String);

impl fmt::Display for PlotError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cannot draw: {}", self.0)
    }
}

impl Error for PlotError {}

/// Colours that people with colour vision deficiency tell apart (Okabe and Ito).
const COLOURS: [RGBColor; 6] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(86, 180, 233),
    RGBColor(230, 159, 0),
];

const WIDTH: u32 = 900;
const TITLE_HEIGHT: u32 = 44;
const PANEL_HEIGHT: u32 = 260;
const FONT: &str = "sans-serif";

impl Figure {
    /// Draws the figure.
    ///
    /// # Errors
    /// When there is nothing to draw, or the plotting library fails.
    pub fn to_svg(&self) -> Result<String, PlotError> {
        let panels = u32::try_from(self.panels.len()).unwrap_or(u32::MAX);
        let x_max = self.max(|(x, _)| x);
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
        for (n, (panel, area)) in self
            .panels
            .iter()
            .zip(area.split_evenly((last + 1, 1)))
            .enumerate()
        {
            let x_label = if n == last { self.x_label.as_str() } else { "" };
            panel.draw(&area, x_label, x_max)?;
        }
        area.present()
    }

    fn max(&self, of: impl Fn((f64, f64)) -> f64) -> f64 {
        let series = self.panels.iter().flat_map(|panel| &panel.series);
        let points = series.flat_map(|series| &series.points);
        points
            .map(|point| of(*point))
            .filter(|value| value.is_finite())
            .fold(0.0, f64::max)
    }
}

type Area<'a> = DrawingArea<SVGBackend<'a>, plotters::coord::Shift>;
type DrawError = DrawingAreaErrorKind<<SVGBackend<'static> as DrawingBackend>::ErrorType>;

impl Panel {
    fn draw(&self, area: &Area<'_>, x_label: &str, x_max: f64) -> Result<(), DrawError> {
        let points = self.series.iter().flat_map(|series| &series.points);
        let y_max = points
            .map(|point| point.1)
            .filter(|y| y.is_finite())
            .fold(0.0, f64::max);
        // Room for the legend above the highest point; an axis of some length if all are zero.
        let y_max = if y_max > 0.0 { y_max * 1.25 } else { 1.0 };
        let mut chart = ChartBuilder::on(area)
            .margin(8)
            .x_label_area_size(36)
            .y_label_area_size(64)
            .build_cartesian_2d(0.0..x_max, 0.0..y_max)?;
        chart
            .configure_mesh()
            .x_desc(x_label)
            .y_desc(&self.y_label)
            .label_style((FONT, 13))
            .axis_desc_style((FONT, 14))
            .light_line_style(TRANSPARENT)
            .bold_line_style(BLACK.mix(0.12))
            .draw()?;
        for (series, colour) in self.series.iter().zip(COLOURS.into_iter().cycle()) {
            let pieces: Vec<_> = series.points.split(|point| !point.1.is_finite()).collect();
            for (n, piece) in pieces
                .into_iter()
                .filter(|piece| !piece.is_empty())
                .enumerate()
            {
                let line = LineSeries::new(piece.iter().copied(), colour.stroke_width(2));
                let drawn = chart.draw_series(line)?;
                if n == 0 {
                    let sample = move |(x, y)| {
                        PathElement::new([(x, y), (x + 18, y)], colour.stroke_width(2))
                    };
                    drawn.label(&series.name).legend(sample);
                }
            }
        }
        chart
            .configure_series_labels()
            .position(SeriesLabelPosition::UpperRight)
            .label_font((FONT, 13))
            .background_style(WHITE.mix(0.8))
            .border_style(BLACK.mix(0.3))
            .draw()
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
        }
    }

    #[test]
    fn a_figure_names_axes_and_curves() {
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
    fn a_gap_splits_a_curve() {
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
    fn nothing_to_draw_is_an_error() {
        assert!(figure(vec![series("one", &[])]).to_svg().is_err());
        let none = Figure {
            panels: Vec::new(),
            ..figure(Vec::new())
        };
        assert!(none.to_svg().is_err());
    }
}

//! Horizontal bars that consist of parts.

use crate::axis::{self, Axis, Chart, Scale};
use crate::legend::{self, LINE_HEIGHT, Sample};
use crate::palette::colour;
use crate::{Area, DrawError, FONT, LEGEND_WIDTH, PlotError, WIDTH};
use crate::{is_drawable, no_points, number, picture, shorten};
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

/// A bar.
#[derive(Debug, Clone, PartialEq)]
pub struct Bar {
    /// The name before the bar. Long names are cut.
    pub name: String,
    /// The lengths of its parts, in the order of [`Bars::parts`]. Values that are not positive have no length.
    pub values: Vec<f64>,
}

/// A picture of bars below each other, each with the sum of its parts as a number.
#[derive(Debug, Clone, PartialEq)]
pub struct Bars {
    /// The line at the top. Can be empty.
    pub title: String,
    /// The label of the lengths, with their unit.
    pub x_label: String,
    /// The names of the parts.
    pub parts: Vec<String>,
    /// The bars, from top to bottom.
    pub bars: Vec<Bar>,
}

impl Bars {
    /// Draws the bars.
    ///
    /// # Errors
    /// There is no bar, or the plotting library fails.
    pub fn to_svg(&self) -> Result<String, PlotError> {
        /// Pixels for a bar, and for the axis below all bars.
        const ROW_HEIGHT: u32 = 32;
        const AXIS_HEIGHT: u32 = 60;
        // Behind the longest bar, its sum needs room.
        let sums = self.bars.iter().map(|bar| bar.sum() * 1.08);
        let x = Axis::new(Scale::Linear, &self.x_label, sums).ok_or_else(no_points)?;
        let y = Axis::names(self.bars.iter().map(|bar| shorten(&bar.name)));
        let count = |length: usize| u32::try_from(length).unwrap_or(u32::MAX);
        let rows = count(self.bars.len()).saturating_mul(ROW_HEIGHT);
        let lines = count(self.parts.len() + 1).saturating_mul(LINE_HEIGHT);
        let height = rows.saturating_add(AXIS_HEIGHT).max(lines);
        picture(&self.title, height, |area| self.draw(area, &x, &y))
    }

    fn draw(&self, area: &Area<'_>, x: &Axis, y: &Axis) -> Result<(), DrawError> {
        let (area, beside) = area.split_horizontally(WIDTH - LEGEND_WIDTH);
        let mut chart = axis::chart(&area, x, y)?;
        for (row, bar) in (0..).map(|n: i32| f64::from(n)).zip(self.bars.iter().rev()) {
            bar.draw(&mut chart, row)?;
        }
        let names = self.parts.iter().enumerate();
        let names = names.map(|(n, name)| (Sample::Area(colour(n).to_rgba()), name.clone()));
        legend::draw(&beside, names.collect())
    }
}

impl Bar {
    /// The positions where the parts start and end.
    fn parts(&self) -> Vec<(f64, f64)> {
        let mut end = 0.0;
        let mut place = |value: &f64| {
            let start = end;
            end += length(*value);
            (start, end)
        };
        self.values.iter().map(&mut place).collect()
    }

    fn sum(&self) -> f64 {
        self.values.iter().map(|value| length(*value)).sum()
    }

    /// Draws the parts, and the sum behind them. Row 0 is at the bottom.
    fn draw(&self, chart: &mut Chart<'_>, row: f64) -> Result<(), DrawError> {
        let parts = self.parts().into_iter().enumerate();
        let rectangles = parts
            .filter(|(_, (start, end))| start < end)
            .map(|(n, (start, end))| {
                let corners = [(start, row + 0.2), (end, row + 0.8)];
                Rectangle::new(corners, colour(n).filled())
            });
        chart.draw_series(rectangles)?;
        let sum = self.sum();
        let style = (FONT, 13)
            .into_text_style(chart.plotting_area())
            .pos(Pos::new(HPos::Left, VPos::Center));
        let text = EmptyElement::at((sum, row + 0.5)) + Text::new(number(sum), (6, 0), style);
        chart.draw_series([text])?;
        Ok(())
    }
}

/// The length of a part.
fn length(value: f64) -> f64 {
    if is_drawable(value) {
        value.max(0.0)
    } else {
        0.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bars(bars: &[(&str, &[f64])]) -> Bars {
        let bars = bars.iter();
        Bars {
            title: String::new(),
            x_label: "packets".into(),
            parts: vec!["network".into(), "receiving host".into()],
            bars: bars
                .map(|(name, values)| Bar {
                    name: (*name).into(),
                    values: (*values).into(),
                })
                .collect(),
        }
    }

    #[test]
    fn parts_follow_each_other() {
        let bar = &bars(&[("", &[3.0, 0.0, -2.0, f64::NAN, 4.0])]).bars[0];
        let zero = (3.0, 3.0);
        assert_eq!(bar.parts(), [(0.0, 3.0), zero, zero, zero, (3.0, 7.0)]);
        assert!((bar.sum() - 7.0).abs() < 1e-9);
    }

    #[test]
    fn picture_names_bars_parts_and_sums() {
        let svg = bars(&[("flow 1", &[21.0, 4.0]), ("flow 2", &[0.0, 0.0])]);
        let svg = svg.to_svg().unwrap();
        for text in [
            "packets",
            "network",
            "receiving host",
            "flow 1",
            "flow 2",
            "25",
            "0",
        ] {
            assert!(svg.contains(&format!(">\n{text}\n<")), "no {text}");
        }
        let place = |text: &str| svg.find(&format!(">\n{text}\n<")).unwrap();
        assert_ne!(place("flow 1"), place("flow 2"));
        // A rectangle for each part and its sample in the legend.
        for colour in ["#0072B2", "#D55E00"] {
            let fill = format!("fill=\"{colour}\"");
            assert_eq!(svg.matches(&fill).count(), 2, "{colour}");
        }
    }

    #[test]
    fn picture_without_bars_is_an_error() {
        assert!(bars(&[]).to_svg().is_err());
    }
}

//! A schedule: who is active when.

use crate::axis::{self, Axis, Scale};
use crate::palette::colour;
use crate::{Area, DrawError, PlotError, float, is_drawable, no_points, picture, shorten};
use plotters::prelude::*;

/// A row of a schedule.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// The name before the row. Long names are cut.
    pub name: String,
    /// The spans of time, begin and end, in the unit of the axis.
    pub spans: Vec<(f64, f64)>,
}

/// A picture with a row for each name.
#[derive(Debug, Clone, PartialEq)]
pub struct Strip {
    /// The line at the top. Can be empty.
    pub title: String,
    /// The label of the time, with its unit.
    pub x_label: String,
    /// The rows, from top to bottom.
    pub rows: Vec<Row>,
}

impl Strip {
    /// Draws the schedule.
    ///
    /// # Errors
    /// There is no span, or the plotting library fails.
    pub fn to_svg(&self) -> Result<String, PlotError> {
        const ROW_HEIGHT: u32 = 28;
        const AXIS_HEIGHT: u32 = 60;
        let ends = self.rows.iter().flat_map(Row::drawn);
        let ends = ends.flat_map(|(from, to)| [from, to]);
        let x = Axis::new(Scale::Linear, &self.x_label, ends).ok_or_else(no_points)?;
        let y = Axis::names(self.rows.iter().map(|row| shorten(&row.name)));
        let rows = u32::try_from(self.rows.len()).unwrap_or(u32::MAX);
        let height = rows.saturating_mul(ROW_HEIGHT).saturating_add(AXIS_HEIGHT);
        picture(&self.title, height, |area| self.draw(area, &x, &y))
    }

    fn draw(&self, area: &Area<'_>, x: &Axis, y: &Axis) -> Result<(), DrawError> {
        let mut chart = axis::chart(area, x, y)?;
        let heights = (0..self.rows.len()).rev().map(float);
        for ((n, row), bottom) in self.rows.iter().enumerate().zip(heights) {
            let bars = row.drawn().map(|(from, to)| {
                let corners = [(from, bottom + 0.2), (to, bottom + 0.8)];
                Rectangle::new(corners, colour(n).filled())
            });
            chart.draw_series(bars)?;
        }
        Ok(())
    }
}

impl Row {
    fn drawn(&self) -> impl Iterator<Item = (f64, f64)> {
        let spans = self.spans.iter().copied();
        spans.filter(|(from, to)| is_drawable(*from) && is_drawable(*to) && from < to)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn row_has_a_bar_for_each_span() {
        let strip = |spans: &[(f64, f64)]| Strip {
            title: String::new(),
            x_label: "time, s".into(),
            rows: vec![
                Row {
                    name: "path1".into(),
                    spans: vec![(0.0, 7200.0)],
                },
                Row {
                    name: "path2".into(),
                    spans: spans.into(),
                },
            ],
        };
        let svg = strip(&[(900.0, 1800.0), (2700.0, 4500.0)])
            .to_svg()
            .unwrap();
        assert_eq!(svg.matches("fill=\"#D55E00\"").count(), 2);
        assert!(svg.contains("path1") && svg.contains("time, s"));
        let svg = strip(&[(5.0, 5.0), (f64::NAN, 6.0)]).to_svg().unwrap();
        assert_eq!(svg.matches("fill=\"#D55E00\"").count(), 0);
    }

    #[test]
    fn schedule_without_spans_is_an_error() {
        let strip = Strip {
            title: String::new(),
            x_label: String::new(),
            rows: Vec::new(),
        };
        assert!(strip.to_svg().is_err());
    }
}

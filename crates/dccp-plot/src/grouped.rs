//! Horizontal bars in groups, each with the spread of its repetitions.

use crate::axis::{self, Axis, Chart, Scale};
use crate::heat::short;
use crate::legend::{self, LINE_HEIGHT, Sample};
use crate::palette::colour;
use crate::{Area, DrawError, FONT, LEGEND_WIDTH, PlotError, WIDTH};
use crate::{float, is_drawable, no_points, picture, shorten};
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

/// A value, and the range of the repetitions that it sums up.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spread {
    /// The length of the bar, such as the mean.
    pub middle: f64,
    /// The least. Equal to the greatest if there is one repetition.
    pub low: f64,
    /// The greatest.
    pub high: f64,
}

/// Bars that belong together.
#[derive(Debug, Clone, PartialEq)]
pub struct Group {
    /// The name before the bars. Long names are cut.
    pub name: String,
    /// The bars, in the order of [`Grouped::series`]. `None` has no bar.
    pub bars: Vec<Option<Spread>>,
}

/// A picture of groups of bars below each other.
#[derive(Debug, Clone, PartialEq)]
pub struct Grouped {
    /// The line at the top. Can be empty.
    pub title: String,
    /// The label of the lengths, with their unit.
    pub x_label: String,
    /// The names of the bars in each group.
    pub series: Vec<String>,
    /// The groups, from top to bottom.
    pub groups: Vec<Group>,
    /// The axis reaches at least this value, so that several pictures have the same axis.
    pub reach: f64,
}

impl Grouped {
    /// Draws the bars.
    ///
    /// # Errors
    /// There is no bar, or the plotting library fails.
    pub fn to_svg(&self) -> Result<String, PlotError> {
        /// Pixels for a bar, between groups, and for the axis below all bars.
        const BAR_HEIGHT: u32 = 16;
        const GAP: u32 = 12;
        const AXIS_HEIGHT: u32 = 60;
        let bars = self.groups.iter().flat_map(Group::drawn);
        // Behind the longest bar, its number needs room.
        let ends = bars.flat_map(|(_, bar)| [bar.low, bar.middle, bar.high].map(|end| end * 1.1));
        let mut ends = ends.peekable();
        ends.peek().ok_or_else(no_points)?;
        let ends = ends.chain([self.reach * 1.1]);
        let x = Axis::new(Scale::Linear, &self.x_label, ends).ok_or_else(no_points)?;
        let y = Axis::names(self.groups.iter().map(|group| shorten(&group.name)));
        let count = |length: usize| u32::try_from(length).unwrap_or(u32::MAX);
        let bars = count(self.series.len()).saturating_mul(BAR_HEIGHT);
        let rows = count(self.groups.len()).saturating_mul(bars.saturating_add(GAP));
        let lines = count(self.series.len() + 1).saturating_mul(LINE_HEIGHT);
        let height = rows.saturating_add(AXIS_HEIGHT).max(lines);
        picture(&self.title, height, |area| self.draw(area, &x, &y))
    }

    fn draw(&self, area: &Area<'_>, x: &Axis, y: &Axis) -> Result<(), DrawError> {
        let (area, beside) = area.split_horizontally(WIDTH - LEGEND_WIDTH);
        let mut chart = axis::chart(&area, x, y)?;
        let count = self.series.len();
        for (row, group) in (0..)
            .map(|n: i32| f64::from(n))
            .zip(self.groups.iter().rev())
        {
            for (n, bar) in group.drawn().filter(|(n, _)| *n < count) {
                // The first bar of a group is on top.
                let height = 0.84 / float(count);
                let top = row + 0.92 - height * float(n);
                draw_bar(&mut chart, bar, (top - height, top), colour(n))?;
            }
        }
        let names = self.series.iter().enumerate();
        let names = names.map(|(n, name)| (Sample::Area(colour(n).to_rgba()), name.clone()));
        legend::draw(&beside, names.collect())
    }
}

impl Group {
    fn drawn(&self) -> impl Iterator<Item = (usize, Spread)> {
        let bars = self.bars.iter().enumerate();
        let bars = bars.filter_map(|(n, bar)| Some((n, (*bar)?)));
        bars.filter(|(_, bar)| [bar.middle, bar.low, bar.high].into_iter().all(is_drawable))
    }
}

/// Draws a bar between two heights, a line over its spread, and its number.
fn draw_bar(
    chart: &mut Chart<'_>,
    bar: Spread,
    (bottom, top): (f64, f64),
    colour: RGBColor,
) -> Result<(), DrawError> {
    let corners = [(0.0, bottom), (bar.middle, top)];
    chart.draw_series([Rectangle::new(corners, colour.filled())])?;
    let middle = f64::midpoint(bottom, top);
    if bar.low < bar.high {
        let cap = (top - bottom) / 4.0;
        let line = |from, to| PathElement::new([from, to], BLACK);
        chart.draw_series([
            line((bar.low, middle), (bar.high, middle)),
            line((bar.low, middle - cap), (bar.low, middle + cap)),
            line((bar.high, middle - cap), (bar.high, middle + cap)),
        ])?;
    }
    let style = (FONT, 12)
        .into_text_style(chart.plotting_area())
        .pos(Pos::new(HPos::Left, VPos::Center));
    let end = bar.high.max(bar.middle).max(0.0);
    let text = EmptyElement::at((end, middle)) + Text::new(short(bar.middle), (6, 0), style);
    chart.draw_series([text])?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spread(middle: f64, low: f64, high: f64) -> Spread {
        Spread { middle, low, high }
    }

    fn grouped(groups: &[(&str, &[Option<Spread>])]) -> Grouped {
        Grouped {
            title: String::new(),
            x_label: "stability (standard deviation over mean)".into(),
            series: vec!["4MiB".into(), "8MiB".into()],
            groups: groups
                .iter()
                .map(|(name, bars)| Group {
                    name: (*name).into(),
                    bars: bars.to_vec(),
                })
                .collect(),
            reach: 0.0,
        }
    }

    #[test]
    fn bar_has_a_number_and_a_spread_if_there_is_one() {
        let one = [spread(0.25, 0.25, 0.25), spread(0.5, 0.375, 0.625)].map(Some);
        let svg = grouped(&[("reno", &one), ("fast", &[None, None])]);
        let svg = svg.to_svg().unwrap();
        for text in ["reno", "fast", "4MiB", "8MiB", "0.25", "0.50"] {
            assert!(svg.contains(&format!(">\n{text}\n<")), "no {text}");
        }
        for colour in ["#0072B2", "#D55E00"] {
            let fill = format!("fill=\"{colour}\"");
            assert_eq!(svg.matches(&fill).count(), 2, "bar and legend {colour}");
        }
        let lines = |low: f64, high: f64| {
            let mut picture = grouped(&[("reno", &[Some(spread(0.5, low, high))])]);
            picture.reach = 1.0;
            let svg = picture.to_svg().unwrap();
            svg.matches("<polyline").count() + svg.matches("<line").count()
        };
        assert_eq!(
            lines(0.375, 0.625) - lines(0.5, 0.5),
            3,
            "the span and its ends"
        );
    }

    #[test]
    fn axis_reaches_further_than_the_bars() {
        let mut bars = grouped(&[("reno", &[Some(spread(0.25, 0.25, 0.25))])]);
        assert!(!bars.to_svg().unwrap().contains(">\n2\n<"));
        bars.reach = 2.0;
        assert!(bars.to_svg().unwrap().contains(">\n2\n<"));
    }

    #[test]
    fn picture_without_bars_is_an_error() {
        let nothing = Grouped {
            reach: 1.0,
            ..grouped(&[])
        };
        assert!(nothing.to_svg().is_err());
        assert!(
            grouped(&[("reno", &[None, Some(spread(f64::NAN, 0.0, 1.0))])])
                .to_svg()
                .is_err()
        );
    }
}

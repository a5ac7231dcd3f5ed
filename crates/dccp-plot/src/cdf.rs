//! Distributions: which share of the samples is at most a value, with room for the rare large ones.

use crate::axis::{self, Axis, Scale, percent};
use crate::legend::{self, Sample};
use crate::palette::colour;
use crate::{Area, DrawError, LEGEND_WIDTH, PANEL_HEIGHT, PlotError, WIDTH};
use crate::{is_drawable, no_points, number, picture};
use plotters::prelude::*;

/// A set of samples.
#[derive(Debug, Clone, PartialEq)]
pub struct Distribution {
    /// The name in the legend.
    pub name: String,
    /// Values and the share of samples, from 0 to 1, that are at most this value. Both ascend.
    pub points: Vec<(f64, f64)>,
}

/// A picture of cumulative distributions. Each further nine of the share has the same length, so that 99.9 % is visible.
#[derive(Debug, Clone, PartialEq)]
pub struct Cdf {
    /// The line at the top. Can be empty.
    pub title: String,
    /// The label of the values, with their unit.
    pub x_label: String,
    /// The scale of the values.
    pub x_scale: Scale,
    /// The sets of samples.
    pub series: Vec<Distribution>,
    /// Shares whose values the picture marks and names, such as 0.99. A curve has a mark only if it shows that
    /// a sample is greater.
    pub marks: Vec<f64>,
    /// The horizontal axis reaches at least this value, so that several pictures have the same axis.
    pub reach: f64,
}

impl Cdf {
    /// Draws the distributions.
    ///
    /// # Errors
    /// There is nothing to draw, or the plotting library fails.
    pub fn to_svg(&self) -> Result<String, PlotError> {
        let points = || self.series.iter().flat_map(Distribution::drawn);
        points().next().ok_or_else(no_points)?;
        let values = points().map(|point| point.0).chain([self.reach]);
        let x = Axis::new(self.x_scale, &self.x_label, values).ok_or_else(no_points)?;
        let shares = points().map(|point| point.1).filter(|share| *share < 1.0);
        let y = Axis::tail("share of samples", shares.fold(0.0, f64::max));
        picture(&self.title, PANEL_HEIGHT, |area| self.draw(area, &x, &y))
    }

    fn draw(&self, area: &Area<'_>, x: &Axis, y: &Axis) -> Result<(), DrawError> {
        let (area, beside) = area.split_horizontally(WIDTH - LEGEND_WIDTH);
        let mut chart = axis::chart(&area, x, y)?;
        let mut names = Vec::new();
        for (n, series) in self.series.iter().enumerate() {
            let points: Vec<_> = series.drawn().collect();
            chart.draw_series([PathElement::new(points, colour(n).stroke_width(2))])?;
            names.push((Sample::Line(colour(n).to_rgba()), series.name.clone()));
            for mark in &self.marks {
                let Some(value) = series.quantile(*mark) else {
                    continue;
                };
                let dot = Circle::new((value, *mark), 4, colour(n).filled());
                chart.draw_series([dot])?;
                let text = format!("{}: {}", percent(*mark), rounded(value));
                names.push((Sample::None, text));
            }
        }
        legend::draw(&beside, names)
    }
}

impl Distribution {
    fn drawn(&self) -> impl Iterator<Item = (f64, f64)> {
        let is_drawn = |point: &&(f64, f64)| is_drawable(point.0) && (0.0..=1.0).contains(&point.1);
        self.points.iter().filter(is_drawn).copied()
    }

    /// The value that this share of the samples does not exceed. `None` if no sample is known to be greater.
    fn quantile(&self, share: f64) -> Option<f64> {
        let reaches = |point: &(f64, f64)| point.1 >= share - 1e-9 && point.1 < 1.0;
        let point = self.drawn().find(reaches)?;
        Some(point.0)
    }
}

/// A value with four significant digits, because a picture shows no more.
fn rounded(value: f64) -> String {
    if value == 0.0 {
        return number(value);
    }
    let unit = 10_f64.powf(value.abs().log10().floor() - 3.0);
    // A unit above 1 would cut whole numbers.
    number(if unit < 1.0 {
        (value / unit).round() * unit
    } else {
        value.round()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_have_four_digits() {
        let values = [31.641_615, 0.020_245_4, 123_456.7, 0.0, 5.0].map(rounded);
        assert_eq!(values, ["31.64", "0.02025", "123457", "0", "5"]);
    }

    /// The distribution of `1..=count`.
    fn counting(name: &str, count: u32) -> Distribution {
        let share = |n: u32| f64::from(n) / f64::from(count);
        Distribution {
            name: name.into(),
            points: (1..=count).map(|n| (f64::from(n), share(n))).collect(),
        }
    }

    fn cdf(series: Vec<Distribution>) -> Cdf {
        Cdf {
            title: String::new(),
            x_label: "round trip, ms".into(),
            x_scale: Scale::Linear,
            series,
            marks: vec![0.5, 0.99, 0.999],
            reach: 0.0,
        }
    }

    #[test]
    fn marks_need_a_greater_sample() {
        let samples = counting("", 100);
        assert_eq!(samples.quantile(0.5), Some(50.0));
        assert_eq!(samples.quantile(0.99), Some(99.0));
        assert_eq!(samples.quantile(0.999), None);
        assert_eq!(counting("", 99).quantile(0.99), None);
    }

    #[test]
    fn picture_names_marks_and_nines() {
        let svg = cdf(vec![counting("idle", 10), counting("loaded", 1_000)]);
        let svg = svg.to_svg().unwrap();
        let texts = [
            "round trip, ms",
            "idle",
            "loaded",
            "50 %: 5",
            "50 %: 500",
            "99 %: 990",
            "99.9 %: 999",
        ];
        for text in texts {
            assert!(svg.contains(&format!(">\n{text}\n<")), "no {text}");
        }
        assert_eq!(svg.matches("<circle").count(), 4, "one and three marks");
        for tick in ["0 %", "50 %", "90 %", "99 %", "99.9 %"] {
            assert!(svg.contains(&format!(">\n{tick}\n<")), "no tick {tick}");
        }
    }

    #[test]
    fn axis_reaches_further_than_the_samples() {
        let mut picture = cdf(vec![counting("idle", 10)]);
        assert!(!picture.to_svg().unwrap().contains(">\n80\n<"));
        picture.reach = 80.0;
        assert!(picture.to_svg().unwrap().contains(">\n80\n<"));
    }

    #[test]
    fn points_outside_of_the_possible_are_left_out() {
        let mut samples = counting("", 10);
        samples
            .points
            .extend([(f64::NAN, 0.5), (3.0, 7.0), (f64::INFINITY, 1.0)]);
        assert_eq!(samples.drawn().count(), 10);
        let nothing = Distribution {
            name: String::new(),
            points: vec![(1.0, f64::NAN)],
        };
        assert!(cdf(vec![nothing]).to_svg().is_err());
    }
}

//! Axes: linear, logarithmic, and one for the tail of a distribution.

use crate::{Area, DrawError, FONT, is_drawable, number};
use core::ops::Range;
use plotters::chart::ChartContext;
use plotters::coord::ranged1d::{DefaultFormatting, KeyPointHint, Ranged};
use plotters::coord::types::RangedCoordf64;
use plotters::prelude::*;

/// How the values of an axis are spread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scale {
    /// Equal differences have equal lengths.
    Linear,
    /// Equal ratios have equal lengths. Values that are not positive are not drawn.
    Log,
}

/// An axis of a chart. Values outside of it are drawn at its ends.
#[derive(Clone)]
pub(crate) struct Axis {
    label: String,
    /// The values at its ends.
    range: Range<f64>,
    ticks: Vec<f64>,
    /// Where a value is: equal differences of positions have equal lengths.
    position: fn(f64) -> f64,
    tick_text: TickText,
}

#[derive(Clone)]
enum TickText {
    Number(fn(f64) -> String),
    /// Names from the bottom to the top. The n-th is at n + 0.5.
    Names(Vec<String>),
}

impl Axis {
    /// An axis with room for all values. `None` if no value can be drawn.
    pub(crate) fn new(
        scale: Scale,
        label: &str,
        values: impl Iterator<Item = f64>,
    ) -> Option<Self> {
        let is_possible =
            |value: &f64| is_drawable(*value) && (scale == Scale::Linear || *value > 0.0);
        let (low, high) = values
            .filter(is_possible)
            .map(|value| (value, value))
            .reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)))?;
        Some(match scale {
            Scale::Linear => Self::linear(label, low, high),
            Scale::Log => Self::log(label, low, high),
        })
    }

    /// From zero, or from `low` if it is negative.
    fn linear(label: &str, low: f64, high: f64) -> Self {
        const TICKS: usize = 10;
        let low = low.min(0.0) * 1.05;
        // An axis of some length even if all values are zero.
        let high = if high > 0.0 || low < 0.0 {
            high.max(0.0) * 1.05
        } else {
            1.0
        };
        Self {
            label: label.to_owned(),
            range: low..high,
            ticks: RangedCoordf64::from(low..high).key_points(TICKS),
            position: |value| value,
            tick_text: TickText::Number(number),
        }
    }

    /// Between round numbers. Both limits are positive.
    fn log(label: &str, low: f64, high: f64) -> Self {
        let low = round_numbers(low).0;
        let high = round_numbers(high).1;
        // The limits are apart even if all values are equal.
        let high = if low < high { high } else { low * 10.0 };
        let decades = (high / low).log10();
        let steps: &[f64] = if decades <= 2.0 {
            &[1.0, 2.0, 5.0]
        } else {
            &[1.0]
        };
        // At most ten numbers on an axis of many decades.
        let stride = (decades / 10.0).ceil().max(1.0);
        let first = low.log10().floor();
        let within = low * (1.0 - 1e-9)..high * (1.0 + 1e-9);
        // `f64` spans 617 decades.
        let ticks = (0..620)
            .map(|n: i32| 10_f64.powf(first + f64::from(n) * stride))
            .take_while(|power| *power < within.end)
            .flat_map(|power| steps.iter().map(move |step| power * step))
            .filter(|tick| within.contains(tick))
            .collect();
        Self {
            label: label.to_owned(),
            range: low..high,
            ticks,
            position: f64::log10,
            tick_text: TickText::Number(significant),
        }
    }

    /// Shares of samples from 0 to 1. Each further nine has the same length, up to those of `high`: 0, 90, 99, 99.9 %.
    pub(crate) fn tail(label: &str, high: f64) -> Self {
        /// Beyond six nines, the steps of `f64` become visible.
        const NINES_MAX: f64 = 6.0;
        let nines_of = |share: f64| -(1.0 - share).log10();
        let most = nines_of(high).clamp(1.0, NINES_MAX) + 1e-9;
        let nines = (1..)
            .map(|nines: i32| f64::from(nines))
            .take_while(|nines| *nines <= most)
            .map(|nines| 1.0 - 10_f64.powf(-nines));
        // Half a nine remains for the greatest value, whose share is 1.
        let end = 1.0 - 10_f64.powf(-most - 0.5);
        Self {
            label: label.to_owned(),
            range: 0.0..end,
            ticks: [0.0, 0.5].into_iter().chain(nines).collect(),
            position: nines_of,
            tick_text: TickText::Number(percent),
        }
    }

    /// Names from top to bottom, each in the middle of a length of 1.
    pub(crate) fn names(names: impl DoubleEndedIterator<Item = String>) -> Self {
        let names: Vec<String> = names.rev().collect();
        let middles = (0..).map(|n: i32| f64::from(n) + 0.5);
        let ticks: Vec<f64> = middles.take(names.len()).collect();
        Self {
            label: String::new(),
            range: 0.0..ticks.last().map_or(1.0, |middle| middle + 0.5),
            ticks,
            position: |value| value,
            tick_text: TickText::Names(names),
        }
    }

    fn has_names(&self) -> bool {
        matches!(self.tick_text, TickText::Names(_))
    }

    fn text_at(&self, value: f64) -> String {
        match &self.tick_text {
            TickText::Number(text) => text(value),
            TickText::Names(names) => {
                let mut pairs = self.ticks.iter().zip(names);
                let found = pairs.find(|(tick, _)| value <= **tick);
                found.map_or_else(String::new, |(_, name)| name.clone())
            }
        }
    }
}

impl Ranged for Axis {
    type FormatOption = DefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, limit: (i32, i32)) -> i32 {
        let ends = (self.position)(self.range.start)..(self.position)(self.range.end);
        // The maximum of NaN and a number is the number, so each value has a place.
        let position = (self.position)(*value).max(ends.start).min(ends.end);
        RangedCoordf64::from(ends).map(&position, limit)
    }

    fn key_points<Hint: KeyPointHint>(&self, hint: Hint) -> Vec<f64> {
        if hint.weight().allow_light_points() {
            Vec::new()
        } else {
            self.ticks.clone()
        }
    }

    fn range(&self) -> Range<f64> {
        self.range.clone()
    }
}

/// A share as text, with as many digits as it has nines.
pub(crate) fn percent(share: f64) -> String {
    let percent = format!("{:.4}", share * 100.0);
    format!("{} %", percent.trim_end_matches('0').trim_end_matches('.'))
}

/// The numbers 1, 2 or 5 times a power of ten that are next to a positive value.
fn round_numbers(value: f64) -> (f64, f64) {
    let decade = 10_f64.powf(value.log10().floor());
    let candidates = [0.5, 1.0, 2.0, 5.0, 10.0, 20.0].map(|step| step * decade);
    let below = candidates
        .iter()
        .rev()
        .find(|n| **n <= value * (1.0 + 1e-9));
    let above = candidates.iter().find(|n| **n >= value * (1.0 - 1e-9));
    (
        below.copied().unwrap_or(decade),
        above.copied().unwrap_or(decade * 10.0),
    )
}

/// Three significant digits, as an axis with a wide range needs.
fn significant(value: f64) -> String {
    let rounded: f64 = format!("{value:.2e}").parse().unwrap_or(value);
    if (1e-4..1e6).contains(&rounded) {
        format!("{rounded}")
    } else {
        format!("{rounded:e}")
    }
}

pub(crate) type Chart<'a> = ChartContext<'a, SVGBackend<'a>, Cartesian2d<Axis, Axis>>;

/// Draws the axes and their grid.
pub(crate) fn chart<'a>(area: &Area<'a>, x: &Axis, y: &Axis) -> Result<Chart<'a>, DrawError> {
    let mut chart = ChartBuilder::on(area)
        .margin(8)
        // Half of the last text of the horizontal axis is to the right of it.
        .margin_right(24)
        .x_label_area_size(36)
        .y_label_area_size(if y.has_names() { 150 } else { 64 })
        .build_cartesian_2d(x.clone(), y.clone())?;
    let x_text = |value: &f64| x.text_at(*value);
    let y_text = |value: &f64| y.text_at(*value);
    {
        let mut mesh = chart.configure_mesh();
        mesh.x_desc(&x.label)
            .y_desc(&y.label)
            .x_label_formatter(&x_text)
            .y_label_formatter(&y_text)
            .label_style((FONT, 13))
            .axis_desc_style((FONT, 14))
            .light_line_style(TRANSPARENT)
            .bold_line_style(BLACK.mix(0.12));
        if y.has_names() {
            mesh.disable_y_mesh();
        }
        mesh.draw()?;
    }
    Ok(chart)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(axis: &Axis) -> Vec<String> {
        let ticks = axis.ticks.iter();
        ticks.map(|tick| axis.text_at(*tick)).collect()
    }

    fn log(values: &[f64]) -> Axis {
        Axis::new(Scale::Log, "", values.iter().copied()).unwrap()
    }

    #[test]
    fn log_axis_ends_at_round_numbers() {
        assert_eq!(
            texts(&log(&[21.0, 430.0])),
            ["20", "50", "100", "200", "500"]
        );
        assert_eq!(
            texts(&log(&[0.5, 40_000.0])),
            ["1", "10", "100", "1000", "10000"]
        );
        assert_eq!(
            texts(&log(&[0.001, 0.001])),
            ["0.001", "0.002", "0.005", "0.01"]
        );
        assert_eq!(
            texts(&log(&[1.0, 2e7])),
            ["1", "10", "100", "1000", "10000", "100000", "1e6", "1e7"]
        );
    }

    #[test]
    fn log_axis_of_many_decades_has_few_ticks() {
        let axis = log(&[1e-9, 1e19]);
        assert!((5..=11).contains(&axis.ticks.len()), "{:?}", texts(&axis));
    }

    #[test]
    fn log_axis_ignores_values_without_logarithm() {
        assert_eq!(
            texts(&log(&[0.0, -3.0, f64::NAN, 1.0, 10.0])),
            ["1", "2", "5", "10"]
        );
        assert!(Axis::new(Scale::Log, "", [0.0].into_iter()).is_none());
    }

    #[test]
    fn linear_axis_starts_at_zero_or_below() {
        let axis = |values: &[f64]| {
            let axis = Axis::new(Scale::Linear, "", values.iter().copied()).unwrap();
            (axis.range.start, axis.range.end)
        };
        assert_eq!(axis(&[20.0, 40.0]), (0.0, 42.0));
        assert_eq!(axis(&[-20.0, 40.0]), (-21.0, 42.0));
        assert_eq!(axis(&[0.0]), (0.0, 1.0));
        assert_eq!(axis(&[-20.0]), (-21.0, 0.0));
        assert!(Axis::new(Scale::Linear, "", [f64::INFINITY].into_iter()).is_none());
    }

    #[test]
    fn tail_axis_has_a_tick_for_each_nine() {
        assert_eq!(
            texts(&Axis::tail("", 0.99991)),
            ["0 %", "50 %", "90 %", "99 %", "99.9 %", "99.99 %"]
        );
        assert_eq!(texts(&Axis::tail("", 0.2)), ["0 %", "50 %", "90 %"]);
        assert_eq!(texts(&Axis::tail("", 1.0)).last().unwrap(), "99.9999 %");
    }

    #[test]
    fn each_value_has_a_place_on_the_axis() {
        let tail = Axis::tail("", 0.999);
        let place = |value| tail.map(&value, (0, 3_500));
        assert_eq!([place(0.0), place(0.9), place(0.99)], [0, 1_000, 2_000]);
        assert_eq!([place(1.0), place(2.0), place(-1.0)], [3_500, 0, 0]);
        assert_eq!(
            [place(f64::NAN), log(&[1.0, 10.0]).map(&0.0, (0, 9))],
            [0, 0]
        );
    }

    #[test]
    fn first_name_is_on_top() {
        let axis = Axis::names(["one", "two", "three"].map(String::from).into_iter());
        assert_eq!(texts(&axis), ["three", "two", "one"]);
        assert!(axis.map(&2.5, (300, 0)) < axis.map(&0.5, (300, 0)));
    }
}

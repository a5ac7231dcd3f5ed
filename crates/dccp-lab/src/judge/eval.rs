//! Evaluates expressions over the cells of one repetition.

use super::expr::{
    Aggregate, Choice, ChoiceKind, Comparison, Expr, Function, Metric, Operator, Relation,
};
use super::metric;
use super::token::quantity_of;
use super::vector::Vector;
use core::cmp::Ordering;
use serde_json::Value;

/// The cells that an expression is about: those of one repetition, or of all.
#[derive(Clone, Debug)]
pub(crate) struct Cells<'a> {
    axes: Vec<String>,
    cells: Vec<(Vec<String>, &'a Value)>,
}

/// One comparison for one combination of labels.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Judged {
    pub(crate) labels: Vec<String>,
    pub(crate) holds: bool,
    pub(crate) left: f64,
    /// The bound that the left side is nearest to, or exceeds.
    pub(crate) right: f64,
}

/// The axes of a comparison, and its outcome for each combination of labels.
pub(crate) type Judgement = (Vec<String>, Vec<Judged>);

/// The name of the axis of phases.
pub(crate) const PHASE: &str = "phase";

impl<'a> Cells<'a> {
    /// Cells of the results with the variables and the phase as axes. Failed cells are left out.
    pub(crate) fn new(cells: impl IntoIterator<Item = &'a Value>, axes: &[String]) -> Self {
        let labels = |cell: &Value| {
            let label = |axis: &String| {
                let label = match axis.as_str() {
                    PHASE => &cell[PHASE],
                    variable => &cell["variables"][variable],
                };
                label.as_str().unwrap_or_default().to_owned()
            };
            axes.iter().map(label).collect()
        };
        let played = cells.into_iter().filter(|cell| cell["error"].is_null());
        Self {
            axes: axes.to_vec(),
            cells: played.map(|cell| (labels(cell), cell)).collect(),
        }
    }

    /// The metric in each cell. Several cells with the same labels give their mean.
    fn metric(&self, wanted: &Metric) -> Result<Vector, String> {
        let name = &wanted.name;
        let known = metric::find(name).ok_or_else(|| format!("there is no metric {name}"))?;
        let value = |cell| known.value(cell, wanted.owner.as_deref(), wanted.span);
        let entries: Vec<_> = (self.cells.iter())
            .filter_map(|(labels, cell)| Some((labels.clone(), value(cell)?)))
            .collect();
        if entries.is_empty() {
            let of = wanted.owner.as_ref().map(|owner| format!(" of {owner}"));
            return Err(format!("no cell has {name}{}", of.unwrap_or_default()));
        }
        let all = Vector::new(self.axes.clone(), entries);
        let kept: Vec<usize> = (0..self.axes.len()).collect();
        let groups = all.groups(&kept).into_iter().map(|(labels, cells)| {
            let values: Vec<f64> = cells.iter().map(|(_, value)| *value).collect();
            (labels, mean(&values))
        });
        Ok(Vector::new(self.axes.clone(), groups.collect()))
    }

    /// The quantities that the labels of an axis name.
    fn axis(&self, axis: &str) -> Result<Vector, String> {
        let n = self.axes.iter().position(|known| known == axis);
        let n = n.ok_or_else(|| format!("{axis} does not vary here"))?;
        let mut entries: Vec<(Vec<String>, f64)> = Vec::new();
        for label in self.cells.iter().map(|(labels, _)| &labels[n]) {
            if entries.iter().any(|(known, _)| known[0] == *label) {
                continue;
            }
            let value = quantity_of(label)
                .ok_or_else(|| format!("{label}: this value of {axis} is no quantity"))?;
            entries.push((vec![label.clone()], value));
        }
        Ok(Vector::new(vec![axis.to_owned()], entries))
    }

    /// The value of an expression: a number for each combination of labels.
    pub(crate) fn evaluate(&self, expr: &Expr) -> Result<Vector, String> {
        match expr {
            Expr::Number(value) => Ok(Vector::scalar(*value)),
            Expr::Metric(metric) => self.metric(metric),
            Expr::Axis(axis) => self.axis(axis),
            Expr::Negative(inner) => Ok(self.evaluate(inner)?.map(|value| -value)),
            Expr::Apply(function, inner) => {
                Ok(self.evaluate(inner)?.map(|value| apply(*function, value)))
            }
            Expr::Binary(operator, left, right) => {
                let (left, right) = (self.evaluate(left)?, self.evaluate(right)?);
                let (axes, entries) = left.join(&right, |a, b| combine(*operator, a, b));
                agreeing(axes, entries)
            }
            Expr::Reduce(aggregate, inner, axes) => {
                let inner = self.evaluate(inner)?;
                let over = match &axes[..] {
                    [] => (0..inner.axes().len()).collect(),
                    some => positions(&inner, some)?,
                };
                Ok(inner.reduce(&over, |values| reduce(*aggregate, values)))
            }
            Expr::Choose(inner, choices) => choose(self.evaluate(inner)?, choices),
            Expr::Steps(inner, axis) => {
                let inner = self.evaluate(inner)?;
                let axis = position(&inner, axis)?;
                Ok(inner.steps(axis))
            }
            Expr::Slope(inner, axis) => slope(&self.evaluate(inner)?, axis),
            Expr::Swap(inner, a, b) => {
                let inner = self.evaluate(inner)?;
                let (a, b) = (position(&inner, a)?, position(&inner, b)?);
                Ok(inner.swap(a, b))
            }
        }
    }

    /// Evaluates a comparison: the axes, and the outcome for each combination of labels.
    pub(crate) fn judge(&self, comparison: &Comparison) -> Result<Judgement, String> {
        let left = self.evaluate(&comparison.left)?;
        let against = |right: &Expr, holds: fn(f64, f64) -> bool| -> Result<Judgement, String> {
            let right = self.evaluate(right)?;
            let (axes, pairs) = left.join(&right, |a, b| (holds(a, b), a, b));
            let judged = pairs
                .into_iter()
                .map(|(labels, (holds, left, right))| Judged {
                    labels,
                    holds,
                    left,
                    right,
                });
            Ok((axes, judged.collect::<Vec<_>>()))
        };
        let judged = match &comparison.relation {
            Relation::Below { right, or_equal } => match or_equal {
                true => against(right, |a, b| a <= b),
                false => against(right, |a, b| a < b),
            },
            Relation::Above { right, or_equal } => match or_equal {
                true => against(right, |a, b| a >= b),
                false => against(right, |a, b| a > b),
            },
            Relation::Equals(right) => {
                against(right, |a, b| a.partial_cmp(&b) == Some(Ordering::Equal))
            }
            Relation::In(least, most) => {
                let (axes, below) = against(most, |a, b| a <= b)?;
                let (_, above) = against(least, |a, b| a >= b)?;
                let both = below.into_iter().zip(above);
                let worse =
                    |(below, above): (Judged, Judged)| if above.holds { below } else { above };
                Ok((axes, both.map(worse).collect()))
            }
        };
        let (axes, judged) = judged?;
        if judged.is_empty() {
            return Err(NO_CELLS.to_owned());
        }
        Ok((axes, judged))
    }
}

const NO_CELLS: &str = "no cells are left to compare";

fn agreeing(axes: Vec<String>, entries: Vec<(Vec<String>, f64)>) -> Result<Vector, String> {
    if entries.is_empty() {
        return Err(NO_CELLS.to_owned());
    }
    Ok(Vector::new(axes, entries))
}

fn mean(values: &[f64]) -> f64 {
    dccp_stats::mean(values).unwrap_or(f64::NAN)
}

fn position(vector: &Vector, axis: &str) -> Result<usize, String> {
    vector
        .position(axis)
        .ok_or_else(|| format!("{axis} does not vary here"))
}

fn positions(vector: &Vector, axes: &[String]) -> Result<Vec<usize>, String> {
    axes.iter().map(|axis| position(vector, axis)).collect()
}

fn choose(mut vector: Vector, choices: &[Choice]) -> Result<Vector, String> {
    for Choice { axis, kind } in choices {
        let axis = position(&vector, axis)?;
        vector = match kind {
            ChoiceKind::Is(label) => vector.at(axis, label),
            ChoiceKind::OneOf(labels) => {
                vector.keep(axis, |label| labels.iter().any(|l| l == label))
            }
            ChoiceKind::NoneOf(labels) => {
                vector.keep(axis, |label| labels.iter().all(|l| l != label))
            }
        };
    }
    if vector.entries().is_empty() {
        return Err(NO_CELLS.to_owned());
    }
    Ok(vector)
}

fn apply(function: Function, value: f64) -> f64 {
    known(match function {
        Function::Abs => value.abs(),
        Function::Sqrt => value.sqrt(),
        Function::Log2 => libm::log2(value),
        Function::Log10 => libm::log10(value),
    })
}

/// A quotient by zero and the logarithm of zero are unknown: nothing holds of them.
fn known(value: f64) -> f64 {
    if value.is_finite() { value } else { f64::NAN }
}

fn combine(operator: Operator, a: f64, b: f64) -> f64 {
    known(match operator {
        Operator::Add => a + b,
        Operator::Subtract => a - b,
        Operator::Multiply => a * b,
        Operator::Divide => a / b,
        Operator::Power => libm::pow(a, b),
    })
}

/// An unknown value makes the result unknown.
fn reduce(aggregate: Aggregate, values: &[f64]) -> Option<f64> {
    if values.iter().any(|value| value.is_nan()) {
        return Some(f64::NAN);
    }
    match aggregate {
        Aggregate::Min => values.iter().copied().reduce(f64::min),
        Aggregate::Max => values.iter().copied().reduce(f64::max),
        Aggregate::Mean => dccp_stats::mean(values),
        Aggregate::Sum => Some(values.iter().sum()),
        Aggregate::Median => median(values),
    }
}

/// The middle value, or the mean of the two in the middle.
pub(crate) fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    let upper = *sorted.get(middle)?;
    if sorted.len() % 2 == 1 {
        return Some(upper);
    }
    Some(f64::midpoint(sorted[middle - 1], upper))
}

/// The least-squares slope of the logarithms along an axis of quantities, for each combination of the other labels.
fn slope(vector: &Vector, axis: &str) -> Result<Vector, String> {
    let n = position(vector, axis)?;
    let kept: Vec<usize> = (0..vector.axes().len()).filter(|k| *k != n).collect();
    let others = kept.iter().map(|&k| vector.axes()[k].clone()).collect();
    let mut entries = Vec::new();
    for (labels, members) in vector.groups(&kept) {
        let mut points = Vec::new();
        for (labels, value) in &members {
            let x = quantity_of(&labels[n])
                .ok_or_else(|| format!("{}: this value of {axis} is no quantity", labels[n]))?;
            points.push((libm::log(x), libm::log(*value)));
        }
        entries.push((labels, least_squares(&points)?));
    }
    Ok(Vector::new(others, entries))
}

fn least_squares(points: &[(f64, f64)]) -> Result<f64, String> {
    let x = mean(&points.iter().map(|(x, _)| *x).collect::<Vec<_>>());
    let y = mean(&points.iter().map(|(_, y)| *y).collect::<Vec<_>>());
    let products: f64 = points.iter().map(|(a, b)| (a - x) * (b - y)).sum();
    let squares: f64 = points.iter().map(|(a, _)| (a - x) * (a - x)).sum();
    if squares > 0.0 {
        Ok(products / squares)
    } else {
        Err("a slope needs two different values".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::super::parse;
    use super::*;
    use serde_json::json;

    /// Goodput by law and window; the cross flow has half.
    fn cells() -> Vec<Value> {
        let cell = |law: &str, window: &str, bps: f64| {
            json!({ "variables": { "law": law, "window": window }, "phase": null, "error": null,
                "summary": { "fairness": 1.0, "flows": [
                    { "id": "load", "throughput_bps": bps }, { "id": "cross", "throughput_bps": bps / 2.0 }] } })
        };
        vec![
            cell("reno", "1MiB", 1e6),
            cell("reno", "4MiB", 2e6),
            cell("bic", "1MiB", 1.1e6),
            cell("bic", "4MiB", 4e6),
            cell("fast", "1MiB", 1.2e6),
            cell("fast", "4MiB", 3e6),
        ]
    }

    fn judge(text: &str) -> Result<Vec<(String, bool)>, String> {
        let cells = cells();
        let cells = Cells::new(&cells, &["law".into(), "window".into()]);
        let comparison = parse::comparison(text).expect(text);
        let (_, judged) = cells.judge(&comparison)?;
        let each = judged.into_iter();
        Ok(each.map(|j| (j.labels.join(" "), j.holds)).collect())
    }

    fn number(text: &str) -> f64 {
        let cells = cells();
        let cells = Cells::new(&cells, &["law".into(), "window".into()]);
        let vector = cells.evaluate(&parse::expression(text).expect(text));
        let vector = vector.expect(text);
        assert_eq!(vector.entries().len(), 1, "{text}");
        vector.entries()[0].1
    }

    fn owned(pairs: &[(&str, bool)]) -> Vec<(String, bool)> {
        let pairs = pairs.iter();
        pairs
            .map(|(label, holds)| ((*label).to_owned(), *holds))
            .collect()
    }

    #[test]
    fn comparison_has_an_outcome_for_each_window() {
        let below = "goodput(load)[law = reno] < 0.75 * max(goodput(load) over law)";
        assert_eq!(judge(below), Ok(owned(&[("1MiB", false), ("4MiB", true)])));
        let chosen = "goodput(load)[law = reno, window = '4MiB'] in 1.9Mbit..2.1Mbit";
        assert_eq!(judge(chosen), Ok(owned(&[("", true)])));
        let others = "goodput(load)[law not in (reno, bic)] >= 1.2Mbit";
        assert_eq!(
            judge(others),
            Ok(owned(&[("fast 1MiB", true), ("fast 4MiB", true)]))
        );
    }

    #[test]
    fn nothing_holds_of_unknown_numbers() {
        for text in [
            "goodput(load) / 0 > 1",
            "0 / 0 == 0 / 0",
            "log10(0) < 1",
            "sqrt(-1) <= 1",
        ] {
            let judged = judge(text).expect(text);
            assert!(judged.iter().all(|(_, holds)| !holds), "{text}");
        }
        assert_eq!(judge("0 == -0"), Ok(owned(&[("", true)])));
    }

    #[test]
    fn arithmetic_and_aggregates_give_numbers() {
        assert!((number("max(goodput(load)) / sum(goodput(cross))") - 4e6 / 6.15e6).abs() < 1e-12);
        assert!((number("median(goodput(load)[window = '4MiB'])") - 3e6).abs() < 1e-6);
        assert!((number("abs(-2) ^ 3 + sqrt(16) - log2(8)") - 9.0).abs() < 1e-12);
        assert!((number("slope(goodput(load)[law = reno] over window)") - 0.5).abs() < 1e-12);
        assert!((number("steps(goodput(load)[law = bic] over window)") - 2.9e6).abs() < 1e-6);
        let ratio = "goodput(load)[law = reno, window = '4MiB'] / axis(window)[window = '4MiB']";
        assert!((number(ratio) - 2e6 / 4_194_304.0).abs() < 1e-9);
    }

    #[test]
    fn missing_values_and_axes_are_told() {
        let unknown = judge("stability(load) < 1").expect("an outcome");
        assert!(unknown.iter().all(|(_, holds)| !holds), "{unknown:?}");
        assert_eq!(
            judge("goodput(other) < 1"),
            Err("no cell has goodput of other".to_owned())
        );
        assert_eq!(
            judge("max(goodput(load) over path) < 1"),
            Err("path does not vary here".to_owned())
        );
        assert_eq!(
            judge("goodput(load)[law = vegas] < 1"),
            Err(NO_CELLS.to_owned())
        );
        assert_eq!(
            judge("slope(goodput(load) over law) < 1"),
            Err("reno: this value of law is no quantity".to_owned())
        );
    }

    #[test]
    fn mean_of_cells_with_the_same_labels_stands_for_them() {
        let mut all = cells();
        all.extend(cells());
        all[0]["summary"]["flows"][0]["throughput_bps"] = 3e6.into();
        let cells = Cells::new(&all, &["law".into(), "window".into()]);
        let expr = parse::expression("goodput(load)[law = reno, window = '1MiB']").expect("valid");
        let vector = cells.evaluate(&expr).expect("a number");
        assert_eq!(vector.entries(), [(Vec::new(), 2e6)]);
    }
}

//! Numbers along named axes: the values of expressions.

/// A number for each combination of labels on its axes. Without axes it is a single number.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Vector {
    axes: Vec<String>,
    entries: Vec<Entry>,
}

/// The labels, one for each axis, and the number.
pub(crate) type Entry = (Vec<String>, f64);

impl Vector {
    /// A number that every combination shares.
    pub(crate) fn scalar(value: f64) -> Self {
        Self {
            axes: Vec::new(),
            entries: vec![(Vec::new(), value)],
        }
    }

    /// Numbers along `axes`. Each entry has a label for each axis.
    pub(crate) fn new(axes: Vec<String>, entries: Vec<Entry>) -> Self {
        debug_assert!(entries.iter().all(|(labels, _)| labels.len() == axes.len()));
        Self { axes, entries }
    }

    /// The names of the axes.
    pub(crate) fn axes(&self) -> &[String] {
        &self.axes
    }

    /// All entries, in the order of the cells.
    pub(crate) fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// The vector with each number replaced.
    pub(crate) fn map(mut self, f: impl Fn(f64) -> f64) -> Self {
        for (_, value) in &mut self.entries {
            *value = f(*value);
        }
        self
    }

    /// Joins two vectors: entries whose labels agree on the axes that both have. The result has all axes of both.
    pub(crate) fn join<T>(
        &self,
        other: &Self,
        f: impl Fn(f64, f64) -> T,
    ) -> (Vec<String>, Vec<(Vec<String>, T)>) {
        let shared: Vec<(usize, usize)> = (self.axes.iter().enumerate())
            .filter_map(|(n, axis)| Some((n, other.position(axis)?)))
            .collect();
        let own: Vec<usize> = (0..other.axes.len())
            .filter(|n| !shared.iter().any(|(_, m)| m == n))
            .collect();
        let mut axes = self.axes.clone();
        axes.extend(own.iter().map(|&n| other.axes[n].clone()));
        let mut entries = Vec::new();
        for (left, a) in &self.entries {
            for (right, b) in &other.entries {
                if shared.iter().all(|&(n, m)| left[n] == right[m]) {
                    let mut labels = left.clone();
                    labels.extend(own.iter().map(|&n| right[n].clone()));
                    entries.push((labels, f(*a, *b)));
                }
            }
        }
        (axes, entries)
    }

    /// The entries whose label on an axis is `wanted`. The axis disappears.
    pub(crate) fn at(&self, axis: usize, wanted: &str) -> Self {
        let mut others = self.axes.clone();
        others.remove(axis);
        let entries = self.entries.iter().filter(|(l, _)| l[axis] == wanted);
        let without = |(labels, value): &Entry| {
            let mut labels = labels.clone();
            labels.remove(axis);
            (labels, *value)
        };
        Self::new(others, entries.map(without).collect())
    }

    /// The entries whose label on an axis passes. The axis stays.
    pub(crate) fn keep(&self, axis: usize, passes: impl Fn(&str) -> bool) -> Self {
        let entries = self.entries.iter().filter(|(l, _)| passes(&l[axis]));
        Self::new(self.axes.clone(), entries.cloned().collect())
    }

    /// Reduces the numbers along `over` (indexes of axes) to one for each combination of the other labels.
    pub(crate) fn reduce(&self, over: &[usize], f: impl Fn(&[f64]) -> Option<f64>) -> Self {
        let kept: Vec<usize> = (0..self.axes.len()).filter(|n| !over.contains(n)).collect();
        let entries = self
            .groups(&kept)
            .into_iter()
            .filter_map(|(labels, values)| {
                let values: Vec<f64> = values.iter().map(|(_, value)| *value).collect();
                Some((labels, f(&values)?))
            });
        let axes = kept.iter().map(|&n| self.axes[n].clone()).collect();
        Self::new(axes, entries.collect())
    }

    /// The differences between neighbours along an axis, under the labels of the latter.
    pub(crate) fn steps(&self, axis: usize) -> Self {
        let kept: Vec<usize> = (0..self.axes.len()).filter(|n| *n != axis).collect();
        let groups = self.groups(&kept).into_iter();
        let steps = groups.flat_map(|(_, entries)| {
            let pairs: Vec<Entry> = (entries.windows(2))
                .map(|pair| (pair[1].0.clone(), pair[1].1 - pair[0].1))
                .collect();
            pairs
        });
        Self::new(self.axes.clone(), steps.collect())
    }

    /// Exchanges the names of two axes.
    pub(crate) fn swap(mut self, a: usize, b: usize) -> Self {
        self.axes.swap(a, b);
        self
    }

    /// The entries by their labels on the kept axes, groups and members in the order of the cells.
    pub(crate) fn groups(&self, kept: &[usize]) -> Vec<(Vec<String>, Vec<Entry>)> {
        let mut groups: Vec<(Vec<String>, Vec<Entry>)> = Vec::new();
        for entry in &self.entries {
            let labels: Vec<String> = kept.iter().map(|&n| entry.0[n].clone()).collect();
            match groups.iter_mut().find(|(known, _)| *known == labels) {
                Some((_, members)) => members.push(entry.clone()),
                None => groups.push((labels, vec![entry.clone()])),
            }
        }
        groups
    }

    /// The index of an axis.
    pub(crate) fn position(&self, axis: &str) -> Option<usize> {
        self.axes.iter().position(|known| known == axis)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Vector {
        let entry = |law: &str, window: &str, value| (vec![law.into(), window.into()], value);
        Vector::new(
            vec!["law".into(), "window".into()],
            vec![
                entry("reno", "4", 1.0),
                entry("reno", "8", 2.0),
                entry("bic", "4", 3.0),
                entry("bic", "8", 5.0),
            ],
        )
    }

    fn numbers(vector: &Vector) -> Vec<f64> {
        vector.entries().iter().map(|(_, value)| *value).collect()
    }

    #[test]
    fn join_agrees_on_shared_axes_and_spreads_over_the_others() {
        let reno = table().at(0, "reno");
        assert_eq!(reno.axes(), ["window"]);
        let (axes, sums) = table().join(&reno, |a, b| a - b);
        assert_eq!(axes, ["law", "window"]);
        let differences: Vec<f64> = sums.into_iter().map(|(_, value)| value).collect();
        assert_eq!(differences, [0.0, 0.0, 2.0, 3.0]);
        let (_, scaled) = table().join(&Vector::scalar(2.0), |a, b| a * b);
        assert_eq!(scaled.len(), 4);
    }

    #[test]
    fn reduction_keeps_the_other_axes() {
        let sum = |values: &[f64]| Some(values.iter().sum());
        let by_window = table().reduce(&[0], sum);
        assert_eq!(
            (by_window.axes(), numbers(&by_window)),
            (&["window".to_owned()][..], vec![4.0, 7.0])
        );
        assert_eq!(numbers(&table().reduce(&[0, 1], sum)), [11.0]);
    }

    #[test]
    fn steps_are_differences_of_neighbours() {
        assert_eq!(numbers(&table().steps(1)), [1.0, 2.0]);
        assert_eq!(numbers(&table().steps(0)), [2.0, 3.0]);
        assert_eq!(
            numbers(&table().keep(0, |law| law != "bic").steps(1)),
            [1.0]
        );
    }

    #[test]
    fn swapped_axes_pair_each_cell_with_its_mirror() {
        let entry = |a: &str, b: &str, value| (vec![a.into(), b.into()], value);
        let square = Vector::new(
            vec!["major".into(), "cross".into()],
            vec![
                entry("x", "x", 1.0),
                entry("x", "y", 2.0),
                entry("y", "x", 3.0),
                entry("y", "y", 4.0),
            ],
        );
        let (_, pairs) = square.join(&square.clone().swap(0, 1), |own, mirror| (own, mirror));
        let pairs: Vec<(f64, f64)> = pairs.into_iter().map(|(_, pair)| pair).collect();
        assert_eq!(pairs, [(1.0, 1.0), (2.0, 3.0), (3.0, 2.0), (4.0, 4.0)]);
    }
}

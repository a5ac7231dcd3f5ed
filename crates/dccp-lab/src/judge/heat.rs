//! Heat maps that a scenario describes: an expression over two variables, with a map for each value of the others.

use super::eval::Cells;
use super::expr::Expr;
use super::vector::Vector;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

/// The best cell of a map.
#[derive(Deserialize, JsonSchema, Clone, Copy, PartialEq, Eq, Debug, Default)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum Best {
    /// That with the greatest value.
    #[default]
    Greatest,
    /// That with the least value.
    Least,
}

/// The heat maps of one `[[figure]]`.
#[derive(Clone, PartialEq, Debug)]
pub struct HeatFigure {
    /// The title.
    pub title: String,
    /// The value in a cell of a map, as the scenario has it.
    pub value_text: String,
    pub(crate) value: Expr,
    /// The label of the values, with their unit.
    pub label: String,
    /// The variable of the rows and its values.
    pub rows: (String, Vec<String>),
    /// The variable of the columns and its values.
    pub columns: (String, Vec<String>),
    /// The other variables. The maps of the last stand beside each other.
    pub by: Vec<(String, Vec<String>)>,
    /// The cell that is marked.
    pub best: Best,
}

/// Maps that stand beside each other.
#[derive(Clone, PartialEq, Debug)]
pub struct HeatPicture {
    /// The other variables and their values, such as `rate = 20Mbit`; empty if there are none.
    pub place: String,
    /// The maps.
    pub maps: Vec<HeatTable>,
}

/// One map: a mean over all repetitions for each row and column.
#[derive(Clone, PartialEq, Debug)]
pub struct HeatTable {
    /// The value of the last variable of [`HeatFigure::by`]; empty if there is none.
    pub name: String,
    /// The values, row by row.
    pub values: Vec<Vec<Option<f64>>>,
    /// Row and column of the best value.
    pub best: Option<(usize, usize)>,
}

impl HeatFigure {
    /// The pictures, by the cells of the results.
    ///
    /// # Errors
    /// The reason why the value cannot be computed.
    pub fn pictures(&self, cells: &[Value]) -> Result<Vec<HeatPicture>, String> {
        let variables = [&self.rows, &self.columns].into_iter().chain(&self.by);
        let axes: Vec<String> = variables.map(|(name, _)| name.clone()).collect();
        let values = Cells::new(cells, &axes).evaluate(&self.value)?;
        // An expression can be about one value of a variable. Then it needs no map for each.
        let by = self
            .by
            .iter()
            .filter(|(name, _)| values.position(name).is_some());
        let mut outer: Vec<&(String, Vec<String>)> = by.collect();
        let inner = outer.pop();
        let names = inner.map_or_else(
            || vec![""],
            |(_, names)| names.iter().map(String::as_str).collect(),
        );
        let mut pictures = Vec::new();
        for place in places(&outer) {
            let maps = names.iter().map(|name| {
                let last = inner.map(|(axis, _)| (axis.as_str(), *name));
                let place: Vec<(&str, &str)> = place.iter().copied().chain(last).collect();
                self.table(name, &values, &place)
            });
            let maps: Vec<HeatTable> = maps.filter(HeatTable::has_values).collect();
            let place: Vec<String> = place
                .iter()
                .map(|(a, label)| format!("{a} = {label}"))
                .collect();
            if !maps.is_empty() {
                let place = place.join(", ");
                pictures.push(HeatPicture { place, maps });
            }
        }
        Ok(pictures)
    }

    /// The map of one combination of the other variables.
    fn table(&self, name: &str, values: &Vector, place: &[(&str, &str)]) -> HeatTable {
        let value = |row: &String, column: &String| {
            let wanted = [(&self.rows.0[..], &row[..]), (&self.columns.0, column)];
            let mut wanted = wanted.into_iter().chain(place.iter().copied());
            let mut found = values.clone();
            let is_there = wanted.all(|(axis, label)| {
                // A value that does not depend on a variable is the same for all of its values.
                if let Some(n) = found.position(axis) {
                    found = found.at(n, label);
                }
                !found.entries().is_empty()
            });
            let value = found.entries().first().filter(|_| is_there)?.1;
            value.is_finite().then_some(value)
        };
        let row = |row: &String| {
            self.columns
                .1
                .iter()
                .map(|column| value(row, column))
                .collect()
        };
        let values: Vec<Vec<Option<f64>>> = self.rows.1.iter().map(row).collect();
        HeatTable {
            name: name.to_owned(),
            best: self.best.of(&values),
            values,
        }
    }
}

impl HeatTable {
    fn has_values(&self) -> bool {
        self.values.iter().flatten().any(Option::is_some)
    }
}

impl Best {
    /// Row and column of the best value; of several, the first.
    pub fn of(self, values: &[Vec<Option<f64>>]) -> Option<(usize, usize)> {
        let cells = values.iter().enumerate().flat_map(|(row, values)| {
            let values = values.iter().enumerate();
            values.filter_map(move |(column, value)| Some(((row, column), (*value)?)))
        });
        let better = |a: f64, b: f64| match self {
            Self::Greatest => a >= b,
            Self::Least => a <= b,
        };
        let best = cells.reduce(|a, b| if better(a.1, b.1) { a } else { b });
        best.map(|(place, _)| place)
    }
}

/// All combinations of the values of variables, the last variable fastest. Of none, there is one.
fn places<'a>(variables: &[&'a (String, Vec<String>)]) -> Vec<Vec<(&'a str, &'a str)>> {
    let mut places = vec![Vec::new()];
    for (name, labels) in variables {
        let longer = |place: &Vec<(&'a str, &'a str)>| -> Vec<Vec<(&'a str, &'a str)>> {
            let with = |label: &'a String| {
                let own = (name.as_str(), label.as_str());
                place.iter().copied().chain([own]).collect()
            };
            labels.iter().map(with).collect()
        };
        places = places.iter().flat_map(longer).collect();
    }
    places
}

#[cfg(test)]
mod tests {
    use super::super::parse;
    use super::*;
    use serde_json::json;

    fn variable(name: &str, labels: &[&str]) -> (String, Vec<String>) {
        let labels = labels.iter().map(|&label| label.to_owned());
        (name.to_owned(), labels.collect())
    }

    fn figure(best: Best) -> HeatFigure {
        let text = "goodput(load) / axis(rate)";
        HeatFigure {
            title: "share".into(),
            value_text: text.into(),
            value: parse::expression(text).expect(text),
            label: "share".into(),
            rows: variable("window", &["64KiB", "1MiB"]),
            columns: variable("streams", &["1", "4"]),
            by: vec![
                variable("rate", &["1Mbit", "4Mbit"]),
                variable("law", &["reno", "bic"]),
            ],
            best,
        }
    }

    fn cell(rate: &str, law: &str, window: &str, streams: &str, repeat: u64, bps: f64) -> Value {
        json!({ "variables": { "rate": rate, "law": law, "window": window, "streams": streams },
            "phase": null, "repeat": repeat, "error": null,
            "summary": { "flows": [{ "id": "load", "throughput_bps": bps }] } })
    }

    #[test]
    fn maps_are_by_variables_and_relative_to_the_capacity() {
        let cells = [
            cell("1Mbit", "reno", "64KiB", "1", 0, 0.2e6),
            cell("1Mbit", "reno", "64KiB", "1", 1, 0.4e6),
            cell("1Mbit", "reno", "1MiB", "4", 0, 0.9e6),
            cell("4Mbit", "bic", "64KiB", "4", 0, 1e6),
        ];
        let pictures = figure(Best::Greatest).pictures(&cells).expect("pictures");
        let places: Vec<&str> = pictures.iter().map(|picture| &picture.place[..]).collect();
        assert_eq!(places, ["rate = 1Mbit", "rate = 4Mbit"]);
        // Maps without any value are left out.
        let names = pictures
            .iter()
            .flat_map(|p| p.maps.iter().map(|map| &map.name[..]));
        assert_eq!(names.collect::<Vec<_>>(), ["reno", "bic"]);
        let reno = &pictures[0].maps[0];
        let [[Some(mean), None], [None, Some(share)]] = [
            [reno.values[0][0], reno.values[0][1]],
            [reno.values[1][0], reno.values[1][1]],
        ] else {
            panic!("{reno:?}");
        };
        assert!((mean - 0.3).abs() < 1e-12 && (share - 0.9).abs() < 1e-12);
        assert_eq!(reno.best, Some((1, 1)));
        let least = figure(Best::Least).pictures(&cells).expect("pictures");
        assert_eq!(least[0].maps[0].best, Some((0, 0)));
    }

    #[test]
    fn best_of_equal_values_is_the_first() {
        let values = [vec![None, Some(2.0)], vec![Some(2.0), Some(1.0)]];
        assert_eq!(Best::Greatest.of(&values), Some((0, 1)));
        assert_eq!(Best::Least.of(&values), Some((1, 1)));
        assert_eq!(Best::Least.of(&[vec![None]]), None);
    }
}

//! `[matrix]`: the combinations of its variables.

use super::document::{Item, Key, entries, items, label, value};
use super::names::{self, Values};
use crate::mistake::{Mistake, Mistakes, Place};
use std::collections::BTreeSet;
use toml::de::DeValue;

/// Bounds the number of cells of a file.
const CELLS_MAX: usize = 100_000;

/// The value of each variable in one cell.
pub(crate) type Cell<'i> = Values<'i>;

/// A variable with its values.
type Variable<'a, 'i> = (&'a Key<'i>, &'a [Item<'i>]);

/// All cells of a document: one without variables if it has no matrix.
pub(crate) fn cells<'i>(document: &Item<'i>, mistakes: &mut Mistakes) -> Option<Vec<Cell<'i>>> {
    let Some(matrix) = value(document, "matrix") else {
        return names::check_uses(document, mistakes).then(|| vec![Vec::new()]);
    };
    if !matches!(matrix.get_ref(), DeValue::Table(_)) {
        let next = "write [matrix] and below it name = [\"value\", …]";
        mistakes.add(Mistake::new(&matrix.span(), "the matrix is a table", next));
        return None;
    }
    let variables = variables(matrix, mistakes)?;
    if !names::check_uses(document, mistakes) {
        return None;
    }
    let cells = mistakes.check(combine(&variables, &matrix.span()))?;
    let cells = mistakes.check(keep_pairs(cells, matrix, &variables))?;
    mistakes.check(keep_only(cells, matrix, &variables))
}

fn variables<'a, 'i>(
    matrix: &'a Item<'i>,
    mistakes: &mut Mistakes,
) -> Option<Vec<Variable<'a, 'i>>> {
    let mut variables = Vec::new();
    let mut is_good = true;
    for (key, value) in entries(matrix) {
        if ["only", "pairs"].contains(&key.get_ref().as_ref()) {
            continue;
        }
        let result = match value.get_ref() {
            DeValue::Array(values) if !values.is_empty() => differ(key, items(value)),
            _ => Err(Mistake::new(
                &value.span(),
                format!("the variable {} needs a list of values", key.get_ref()),
                "write [\"one\", \"two\"]",
            )),
        };
        is_good &= mistakes.check(result).is_some();
        variables.push((key, items(value)));
    }
    is_good.then_some(variables)
}

/// Refuses equal values, because the values identify the cells.
fn differ(variable: &Key<'_>, values: &[Item<'_>]) -> Result<(), Mistake> {
    let mut seen = BTreeSet::new();
    match values.iter().find(|value| !seen.insert(label(value))) {
        Some(again) => Err(Mistake::new(
            &again.span(),
            format!(
                "{} has the value {} twice",
                variable.get_ref(),
                label(again)
            ),
            "leave one out; [measure] has repeat for runs with other seeds",
        )),
        None => Ok(()),
    }
}

/// All combinations; the last variable changes fastest.
fn combine<'i>(variables: &[Variable<'_, 'i>], place: &Place) -> Result<Vec<Cell<'i>>, Mistake> {
    let number = variables
        .iter()
        .try_fold(1_usize, |n, (_, values)| n.checked_mul(values.len()));
    if number.is_none_or(|n| n > CELLS_MAX) {
        return Err(Mistake::new(
            place,
            format!("the matrix has more than {CELLS_MAX} cells"),
            "leave out values, or split the file",
        ));
    }
    let mut cells: Vec<Cell<'i>> = vec![Vec::new()];
    for (key, values) in variables {
        let with = |cell: &Cell<'i>, value: &Item<'i>| {
            let mut cell = cell.clone();
            cell.push((key.get_ref().to_string(), value.clone()));
            cell
        };
        cells = (cells.iter())
            .flat_map(|cell| values.iter().map(move |value| with(cell, value)))
            .collect();
    }
    Ok(cells)
}

/// `pairs = "unordered"`: of two variables with the same values, (a, b) and (b, a) are one cell.
fn keep_pairs<'i>(
    cells: Vec<Cell<'i>>,
    matrix: &Item<'i>,
    variables: &[Variable<'_, 'i>],
) -> Result<Vec<Cell<'i>>, Mistake> {
    let Some(pairs) = value(matrix, "pairs") else {
        return Ok(cells);
    };
    let labels = |n: usize| variables[n].1.iter().map(label).collect::<Vec<_>>();
    let count = variables.len();
    let same = (0..count).flat_map(|a| (a + 1..count).map(move |b| (a, b)));
    let same: Vec<_> = same.filter(|&(a, b)| labels(a) == labels(b)).collect();
    let [(a, b)] = same[..] else {
        return Err(Mistake::new(
            &pairs.span(),
            format!("{} pairs of variables have the same values", same.len()),
            "give exactly two variables the same list",
        ));
    };
    let known = labels(a);
    let rank = |cell: &Cell<'_>, n: usize| known.iter().position(|k| *k == label(&cell[n].1));
    let kept = cells.into_iter().filter(|c| rank(c, a) <= rank(c, b));
    Ok(kept.collect())
}

/// `only = [{ variable = value, … }, …]`: cells that agree with one of these.
fn keep_only<'i>(
    cells: Vec<Cell<'i>>,
    matrix: &Item<'i>,
    variables: &[Variable<'_, 'i>],
) -> Result<Vec<Cell<'i>>, Mistake> {
    let Some(only) = value(matrix, "only") else {
        return Ok(cells);
    };
    let wanted = items(only).iter().map(|item| selection(item, variables));
    let wanted = wanted.collect::<Result<Vec<_>, _>>()?;
    let agrees = |cell: &Cell<'_>, selection: &[(usize, String)]| {
        let mut values = selection.iter();
        values.all(|(n, value)| label(&cell[*n].1) == *value)
    };
    let kept: Vec<Cell<'i>> = (cells.into_iter())
        .filter(|cell| wanted.iter().any(|selection| agrees(cell, selection)))
        .collect();
    if kept.is_empty() {
        return Err(Mistake::new(
            &only.span(),
            "no cell of the matrix is left",
            "write the values as the variables have them",
        ));
    }
    Ok(kept)
}

/// Variables, by number, and the label that each has in a selection.
fn selection(
    item: &Item<'_>,
    variables: &[Variable<'_, '_>],
) -> Result<Vec<(usize, String)>, Mistake> {
    if !matches!(item.get_ref(), DeValue::Table(_)) {
        let next = "write only = [{ variable = \"value\" }]";
        return Err(Mistake::new(&item.span(), "this selects no cells", next));
    }
    let names: Vec<&str> = variables
        .iter()
        .map(|(key, _)| key.get_ref().as_ref())
        .collect();
    let mut selection = Vec::new();
    for (key, value) in entries(item) {
        let name: &str = key.get_ref();
        let Some(n) = names.iter().position(|known| *known == name) else {
            return Err(Mistake::unknown(
                &key.span(),
                "variable of the matrix",
                name,
                &names,
            ));
        };
        let wanted = label(value);
        let values: Vec<String> = variables[n].1.iter().map(label).collect();
        if !values.contains(&wanted) {
            let known: Vec<&str> = values.iter().map(String::as_str).collect();
            let what = format!("value of {name}");
            return Err(Mistake::unknown(&value.span(), &what, &wanted, &known));
        }
        selection.push((n, wanted));
    }
    Ok(selection)
}

#[cfg(test)]
mod tests {
    use super::super::document;
    use super::*;

    const USES: &str = "x = [\"${a}\", \"${b}\", \"${c}\"]\n";

    fn labels(text: &str) -> Result<Vec<String>, String> {
        let mut mistakes = Mistakes::default();
        let document = document::parse(text, &mut mistakes).unwrap();
        let cells = cells(&document, &mut mistakes);
        let errors = mistakes.into_errors("f", text);
        let label = |cell: &Cell<'_>| {
            let values: Vec<String> = cell.iter().map(|(_, item)| label(item)).collect();
            values.join(" ")
        };
        let errors: Vec<String> = errors.iter().map(ToString::to_string).collect();
        cells
            .map(|cells| cells.iter().map(label).collect())
            .ok_or(errors.join("; "))
    }

    fn matrix(lines: &str) -> Result<Vec<String>, String> {
        labels(&format!("{USES}[matrix]\n{lines}\n"))
    }

    fn error(text: &str) -> String {
        labels(text).unwrap_err()
    }

    const THREE: &str = "a = [\"p\", \"q\"]\nb = [\"p\", \"q\"]\nc = [1, 2]\n";

    #[test]
    fn cells_are_all_combinations_with_the_last_variable_fastest() {
        let cells = matrix(THREE).unwrap();
        assert_eq!(cells.len(), 8);
        assert_eq!(cells[..3], ["p p 1", "p p 2", "p q 1"]);
        assert_eq!(labels("k = 1\n").unwrap(), [""]);
    }

    #[test]
    fn unordered_pairs_are_one_cell() {
        let cells = matrix(&format!("{THREE}pairs = \"unordered\"")).unwrap();
        let expected = ["p p 1", "p p 2", "p q 1", "p q 2", "q q 1", "q q 2"];
        assert_eq!(cells, expected);
        let error = matrix("a = [1]\nb = [2]\nc = [3]\npairs = \"unordered\"").unwrap_err();
        assert_eq!(error, "f:6:9: 0 pairs of variables have the same values");
    }

    #[test]
    fn repeated_value_is_refused() {
        let text = "k = \"${a}\"\n[matrix]\na = [\"5\", \"6\", 5]";
        assert_eq!(error(text), "f:3:16: a has the value 5 twice");
        let tables = "k = \"${a}\"\n[matrix]\na = [{ kind = \"pie\" }, { kind = \"red\" }]";
        assert_eq!(
            labels(tables).unwrap(),
            ["{ kind = pie }", "{ kind = red }"]
        );
    }

    #[test]
    fn only_keeps_the_cells_that_agree() {
        let only = |selection: &str| matrix(&format!("{THREE}only = {selection}"));
        assert_eq!(only("[{ a = \"q\", c = 2 }]").unwrap(), ["q p 2", "q q 2"]);
        assert_eq!(only("{ a = \"q\", b = \"p\", c = 2 }").unwrap(), ["q p 2"]);
        for (selection, error) in [
            ("[{ c = 3 }]", "f:6:15: 3: there is no such value of c"),
            (
                "[{ d = 3 }]",
                "f:6:11: d: there is no such variable of the matrix",
            ),
            ("[]", "f:6:8: no cell of the matrix is left"),
            ("[5]", "f:6:9: this selects no cells"),
        ] {
            assert_eq!(only(selection).unwrap_err(), error);
        }
    }

    #[test]
    fn variable_without_a_list_is_refused() {
        assert_eq!(
            error("k = \"${a}\"\n[matrix]\na = 1"),
            "f:3:5: the variable a needs a list of values"
        );
    }
}

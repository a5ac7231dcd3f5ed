//! `[matrix]`: variables with several values each, and one cell for each combination.

use super::document::{Entry, Item, Table, Value};
use super::fields::Fields;
use super::mistake::{Mistake, Place};
use super::read;
use std::collections::BTreeSet;

/// More combinations than anybody waits for.
const CELLS_MAX: usize = 100_000;

/// The value of each variable in one cell, in the order of the file.
pub(crate) type Cell = Vec<(String, Item)>;

/// All cells of a document: one without variables if it has no matrix.
pub(crate) fn cells(document: &Table) -> Result<Vec<Cell>, Mistake> {
    let Some(section) = document.entry("matrix") else {
        undefined(document, &[])?;
        return Ok(vec![Vec::new()]);
    };
    let Value::Table(table) = &section.item.value else {
        return Err(Mistake::new(
            &section.item.place,
            "the matrix is a table",
            "write [matrix] and below it name = [\"value\", …]",
        ));
    };
    let variables = variables(table)?;
    undefined(document, &variables)?;
    let cells = combine(&variables, &section.place)?;
    let cells = keep_pairs(cells, table, &variables)?;
    keep_only(cells, table, &variables)
}

/// The document of one cell: every `${variable}` replaced.
pub(crate) fn fill_in(document: &Table, cell: &Cell) -> Table {
    let entries = document.0.iter().map(|entry| Entry {
        item: fill_in_item(&entry.item, cell),
        ..entry.clone()
    });
    Table(entries.collect())
}

fn fill_in_item(item: &Item, cell: &Cell) -> Item {
    let value = match &item.value {
        Value::Text(text) => match lone_variable(text, cell) {
            // What is wrong is the value, where it stands.
            Some(value) => return value.clone(),
            None => Value::Text(fill_in_text(text, cell)),
        },
        Value::List(items) => Value::List(items.iter().map(|i| fill_in_item(i, cell)).collect()),
        Value::Table(table) => Value::Table(fill_in(table, cell)),
        Value::Number(_) | Value::Flag(_) => item.value.clone(),
    };
    let place = item.place.clone();
    Item { place, value }
}

/// A text that is nothing but one variable stands for its value, of whatever kind.
fn lone_variable<'a>(text: &str, cell: &'a Cell) -> Option<&'a Item> {
    let name = text.strip_prefix("${")?.strip_suffix('}')?;
    cell.iter().find(|(n, _)| n == name).map(|(_, item)| item)
}

fn fill_in_text(text: &str, cell: &Cell) -> String {
    let mut filled = String::new();
    let mut rest = text;
    while let Some((before, name, after)) = next_variable(rest) {
        filled.push_str(before);
        if let Some((_, item)) = cell.iter().find(|(n, _)| n == name) {
            filled.push_str(&item.label());
        }
        rest = after;
    }
    filled.push_str(rest);
    filled
}

/// Splits a text at its first `${name}`.
fn next_variable(text: &str) -> Option<(&str, &str, &str)> {
    let (before, rest) = text.split_once("${")?;
    let (name, after) = rest.split_once('}')?;
    Some((before, name, after))
}

/// A variable: its entry, and its values.
type Variable<'a> = (&'a Entry, &'a [Item]);

fn variables(matrix: &Table) -> Result<Vec<Variable<'_>>, Mistake> {
    let mut variables = Vec::new();
    for entry in &matrix.0 {
        if ["only", "pairs"].contains(&entry.key.as_str()) {
            continue;
        }
        match &entry.item.value {
            Value::List(values) if !values.is_empty() => {
                differ(&entry.key, values)?;
                variables.push((entry, &values[..]));
            }
            _ => {
                return Err(Mistake::new(
                    &entry.item.place,
                    format!("the variable {} needs a list of values", entry.key),
                    "write [\"one\", \"two\"]",
                ));
            }
        }
    }
    Ok(variables)
}

/// Cells are told apart by what their values look like.
fn differ(variable: &str, values: &[Item]) -> Result<(), Mistake> {
    let mut seen = BTreeSet::new();
    match values.iter().find(|value| !seen.insert(value.label())) {
        Some(again) => Err(Mistake::new(
            &again.place,
            format!("{variable} has the value {} twice", again.label()),
            "leave one out; [measure] has repeat for runs with other seeds",
        )),
        None => Ok(()),
    }
}

/// Looks for uses of variables that there are not, and for variables without a use.
fn undefined(document: &Table, variables: &[Variable<'_>]) -> Result<(), Mistake> {
    let names: Vec<&str> = variables.iter().map(|(e, _)| e.key.as_str()).collect();
    let mut used = vec![false; names.len()];
    for entry in document.0.iter().filter(|entry| entry.key != "matrix") {
        uses(&entry.item, &mut |place, name| {
            match names.iter().position(|known| *known == name) {
                Some(n) => used[n] = true,
                None if names.is_empty() => {
                    return Err(Mistake::new(
                        place,
                        format!("${{{name}}}: there is no [matrix] with this variable"),
                        format!("write [matrix] and below it {name} = [\"value\", …]"),
                    ));
                }
                None => {
                    return Err(Mistake::unknown(
                        place,
                        "variable of the matrix",
                        name,
                        &names,
                    ));
                }
            }
            Ok(())
        })?;
    }
    match used.iter().position(|used| !used) {
        Some(n) => Err(Mistake::new(
            &variables[n].0.place,
            format!("nothing uses the variable {}", names[n]),
            format!(
                "write ${{{}}} where its value belongs, or leave it out",
                names[n]
            ),
        )),
        None => Ok(()),
    }
}

/// Calls `found` for each use of a variable inside an item.
fn uses(
    item: &Item,
    found: &mut impl FnMut(&Place, &str) -> Result<(), Mistake>,
) -> Result<(), Mistake> {
    match &item.value {
        Value::Text(text) => {
            let mut rest = text.as_str();
            while let Some((_, name, after)) = next_variable(rest) {
                found(&item.place, name)?;
                rest = after;
            }
            if rest.contains("${") {
                return Err(Mistake::new(
                    &item.place,
                    "this ${ has no end",
                    "write ${variable}",
                ));
            }
            Ok(())
        }
        Value::List(items) => items.iter().try_for_each(|i| uses(i, found)),
        Value::Table(table) => table.0.iter().try_for_each(|e| uses(&e.item, found)),
        Value::Number(_) | Value::Flag(_) => Ok(()),
    }
}

/// All combinations; the last variable changes fastest.
fn combine(variables: &[Variable<'_>], place: &Place) -> Result<Vec<Cell>, Mistake> {
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
    let mut cells: Vec<Cell> = vec![Vec::new()];
    for (entry, values) in variables {
        let with = |cell: &Cell, value: &Item| {
            let mut cell = cell.clone();
            cell.push((entry.key.clone(), value.clone()));
            cell
        };
        cells = (cells.iter())
            .flat_map(|cell| values.iter().map(move |value| with(cell, value)))
            .collect();
    }
    Ok(cells)
}

/// `pairs = "unordered"`: of two variables with the same values, (a, b) and (b, a) are one cell.
fn keep_pairs(
    cells: Vec<Cell>,
    matrix: &Table,
    variables: &[Variable<'_>],
) -> Result<Vec<Cell>, Mistake> {
    let Some(entry) = matrix.entry("pairs") else {
        return Ok(cells);
    };
    if read::text(&entry.item)? != "unordered" {
        return Err(Mistake::new(
            &entry.item.place,
            "pairs can be \"unordered\" only",
            "write pairs = \"unordered\", or leave it out",
        ));
    }
    let labels = |n: usize| variables[n].1.iter().map(Item::label).collect::<Vec<_>>();
    let count = variables.len();
    let same = (0..count).flat_map(|a| (a + 1..count).map(move |b| (a, b)));
    let same: Vec<_> = same.filter(|&(a, b)| labels(a) == labels(b)).collect();
    let [(a, b)] = same[..] else {
        return Err(Mistake::new(
            &entry.place,
            format!("{} pairs of variables have the same values", same.len()),
            "give exactly two variables the same list",
        ));
    };
    let known = labels(a);
    let rank = |cell: &Cell, n: usize| known.iter().position(|k| *k == cell[n].1.label());
    let kept = cells.into_iter().filter(|c| rank(c, a) <= rank(c, b));
    Ok(kept.collect())
}

/// `only = [{ variable = value, … }, …]`: cells that agree with one of these.
fn keep_only(
    cells: Vec<Cell>,
    matrix: &Table,
    variables: &[Variable<'_>],
) -> Result<Vec<Cell>, Mistake> {
    let Some(entry) = matrix.entry("only") else {
        return Ok(cells);
    };
    let wanted = match &entry.item.value {
        Value::List(items) => &items[..],
        _ => core::slice::from_ref(&entry.item),
    };
    let names: Vec<&str> = variables.iter().map(|(e, _)| e.key.as_str()).collect();
    let mut selections = Vec::new();
    for item in wanted {
        selections.push(selection(item, &names, variables)?);
    }
    let agrees = |cell: &Cell, selection: &[(usize, String)]| {
        selection
            .iter()
            .all(|(n, label)| cell[*n].1.label() == *label)
    };
    let kept: Vec<Cell> = (cells.into_iter())
        .filter(|cell| selections.iter().any(|s| agrees(cell, s)))
        .collect();
    if kept.is_empty() {
        return Err(Mistake::new(
            &entry.place,
            "no cell of the matrix is left",
            "write the values as the variables have them",
        ));
    }
    Ok(kept)
}

fn selection(
    item: &Item,
    names: &[&str],
    variables: &[Variable<'_>],
) -> Result<Vec<(usize, String)>, Mistake> {
    let Value::Table(table) = &item.value else {
        return Fields::of_item(item, "a selection of cells", &[]).map(|_| Vec::new());
    };
    let mut selection = Vec::new();
    for entry in &table.0 {
        let Some(n) = names.iter().position(|name| *name == entry.key) else {
            let what = "variable of the matrix";
            return Err(Mistake::unknown(&entry.place, what, &entry.key, names));
        };
        let label = entry.item.label();
        let values: Vec<String> = variables[n].1.iter().map(Item::label).collect();
        if !values.contains(&label) {
            let known: Vec<&str> = values.iter().map(String::as_str).collect();
            let what = format!("value of {}", names[n]);
            return Err(Mistake::unknown(&entry.item.place, &what, &label, &known));
        }
        selection.push((n, label));
    }
    Ok(selection)
}

#[cfg(test)]
mod tests {
    use super::super::document;
    use super::*;

    const USES: &str = "x = [\"${a}\", \"${b}\", \"${c}\"]\n";

    fn labels(text: &str) -> Result<Vec<String>, Mistake> {
        let document = document::parse(text)?;
        let cells = cells(&document)?;
        let label = |cell: &Cell| {
            let values: Vec<String> = cell.iter().map(|(_, item)| item.label()).collect();
            values.join(" ")
        };
        Ok(cells.iter().map(label).collect())
    }

    fn matrix(lines: &str) -> Result<Vec<String>, Mistake> {
        labels(&format!("{USES}[matrix]\n{lines}\n"))
    }

    const THREE: &str = "a = [\"p\", \"q\"]\nb = [\"p\", \"q\"]\nc = [1, 2]\n";

    #[test]
    fn every_combination_is_a_cell_and_the_last_variable_changes_fastest() {
        let cells = matrix(THREE).unwrap();
        assert_eq!(cells.len(), 8);
        assert_eq!(cells[..3], ["p p 1", "p p 2", "p q 1"]);
        assert_eq!(labels("k = 1\n").unwrap(), [""]);
    }

    #[test]
    fn unordered_pairs_are_one_cell() {
        let cells = matrix(&format!("{THREE}pairs = \"unordered\"")).unwrap();
        assert_eq!(
            cells,
            ["p p 1", "p p 2", "p q 1", "p q 2", "q q 1", "q q 2"]
        );
        let mistake = matrix("a = [1]\nb = [2]\nc = [3]\npairs = \"unordered\"").unwrap_err();
        assert_eq!(mistake.what, "0 pairs of variables have the same values");
    }

    #[test]
    fn a_value_that_is_there_twice_is_a_mistake() {
        let mistake = |text| labels(text).unwrap_err();
        let text = "k = \"${a}\"\n[matrix]\na = [\"5\", \"6\", 5]";
        assert_eq!(mistake(text).what, "a has the value 5 twice");
        assert_eq!(mistake(text).place.start, text.rfind('5').unwrap());
        let tables = "k = \"${a}\"\n[matrix]\na = [{ kind = \"pie\" }, { kind = \"red\" }]";
        assert_eq!(
            labels(tables).unwrap(),
            ["{ kind = pie }", "{ kind = red }"]
        );
    }

    #[test]
    fn only_keeps_what_agrees_and_knows_its_values() {
        let only = |selection: &str| matrix(&format!("{THREE}only = {selection}"));
        assert_eq!(only("[{ a = \"q\", c = 2 }]").unwrap(), ["q p 2", "q q 2"]);
        assert_eq!(only("{ a = \"q\", b = \"p\", c = 2 }").unwrap(), ["q p 2"]);
        let what = |selection| only(selection).unwrap_err().what;
        assert_eq!(what("[{ c = 3 }]"), "3: there is no such value of c");
        assert_eq!(
            what("[{ d = 3 }]"),
            "d: there is no such variable of the matrix"
        );
        assert_eq!(what("[]"), "no cell of the matrix is left");
    }

    #[test]
    fn a_variable_that_is_not_there_or_not_used_is_a_mistake() {
        let what = |text| labels(text).unwrap_err().what;
        assert_eq!(
            what("k = \"${a}\""),
            "${a}: there is no [matrix] with this variable"
        );
        assert_eq!(
            what("k = \"${majr}\"\n[matrix]\nmajor = [1]"),
            "majr: there is no such variable of the matrix"
        );
        assert_eq!(
            what("k = \"${a}\"\n[matrix]\na = [1]\nb = [1]"),
            "nothing uses the variable b"
        );
        assert_eq!(what("k = \"${a\""), "this ${ has no end");
        assert_eq!(
            what("k = \"${a}\"\n[matrix]\na = 1"),
            "the variable a needs a list of values"
        );
    }

    #[test]
    fn a_lone_variable_keeps_the_kind_of_its_value() {
        let document = document::parse("k = \"${n}\"\nt = { u = [\"<${n}>\"] }").unwrap();
        let value = document::parse("n = 5").unwrap().0[0].item.clone();
        let filled = fill_in(&document, &vec![("n".into(), value)]);
        assert_eq!(filled.0[0].item.value, Value::Number("5".into()));
        assert_eq!(filled.0[0].item.place, 4..5, "where the value stands");
        let Value::Table(t) = &filled.0[1].item.value else {
            panic!("a table");
        };
        assert_eq!(t.0[0].item.label(), "[<5>]");
    }
}

//! `[[assert]]`, `[[published]]` and `[[figure]]`: what the results are expected to be, and how pages show them.

use super::keys::File;
use super::keys::{AssertKeys, FigureKeys, PublishedKeys};
use super::values::At;
use crate::judge::check::{Context, comparison, expression};
use crate::judge::{Assertion, Expected, HeatFigure, PublishedTable};
use crate::mistake::{Mistake, Mistakes, Place};

/// The share of repetitions that must agree with an assertion: four of five.
const SHARE: f64 = 0.8;

/// The expected results of a file. `text` is the file's.
pub(crate) fn expected(
    file: &File,
    context: Context,
    text: &str,
    mistakes: &mut Mistakes,
) -> Option<Expected> {
    let mut assertions = Vec::new();
    for keys in &file.assert {
        assertions.push(mistakes.check(assertion(keys, &context, text)));
    }
    let mut published = Vec::new();
    for keys in &file.published {
        published.push(mistakes.check(table(keys, &context, text)));
    }
    let mut figures = Vec::new();
    for keys in &file.figure {
        figures.push(mistakes.check(figure(keys, &context, text)));
    }
    Some(Expected {
        figures: figures.into_iter().collect::<Option<_>>()?,
        assertions: assertions.into_iter().collect::<Option<_>>()?,
        published: published.into_iter().collect::<Option<_>>()?,
        axes: context.axes,
    })
}

fn assertion(keys: &AssertKeys, context: &Context, text: &str) -> Result<Assertion, Mistake> {
    let comparison = comparison(&keys.that, context).map_err(|f| mistake(f, &keys.that, text))?;
    Ok(Assertion {
        claim: keys.claim.as_ref().map(|claim| claim.0.clone()),
        kind: keys.kind,
        says: keys.says.clone(),
        that: keys.that.value.clone(),
        artefact: keys.artefact.clone(),
        share: keys.share.map_or(SHARE, |share| share.0),
        comparison,
    })
}

fn table(keys: &PublishedKeys, context: &Context, text: &str) -> Result<PublishedTable, Mistake> {
    let value = expression(&keys.value, context).map_err(|f| mistake(f, &keys.value, text))?;
    let rows = labels(&keys.rows, &keys.rows.place, context)?;
    let columns = labels(&keys.columns, &keys.columns.place, context)?;
    let numbers = keys.numbers.value.clone();
    if numbers.len() != rows.len() || numbers.iter().any(|row| row.len() != columns.len()) {
        let what = format!(
            "{} has {} rows and {} columns, but the numbers do not",
            keys.title,
            rows.len(),
            columns.len()
        );
        let next = "write a list for each row, with a number or nan for each column";
        return Err(Mistake::new(&keys.numbers.place, what, next));
    }
    Ok(PublishedTable {
        title: keys.title.clone(),
        unit: keys.unit.clone(),
        value_text: keys.value.value.clone(),
        value,
        rows: (keys.rows.value.clone(), rows),
        columns: (keys.columns.value.clone(), columns),
        numbers,
        correlation: keys.correlation.map(|least| least.0),
        claim: keys.claim.as_ref().map(|claim| claim.0.clone()),
    })
}

fn figure(keys: &FigureKeys, context: &Context, text: &str) -> Result<HeatFigure, Mistake> {
    let value = expression(&keys.value, context).map_err(|f| mistake(f, &keys.value, text))?;
    let variable = |name: &String, place: &Place| -> Result<_, Mistake> {
        Ok((name.clone(), labels(name, place, context)?))
    };
    let rows = variable(&keys.rows, &keys.rows.place)?;
    let columns = variable(&keys.columns, &keys.columns.place)?;
    if rows.0 == columns.0 {
        let what = format!("{}: rows and columns must be two variables", rows.0);
        return Err(Mistake::new(
            &keys.columns.place,
            what,
            "name another variable",
        ));
    }
    let mut by: Vec<(String, Vec<String>)> = Vec::new();
    let is_used = |by: &[(String, Vec<String>)], name: &String| {
        let mut used = [&rows, &columns].into_iter().chain(by);
        used.any(|(used, _)| used == name)
    };
    for (name, place) in keys.by.iter().flat_map(At::items) {
        if is_used(&by, name) {
            let what = format!("{name}: the figure has this variable already");
            return Err(Mistake::new(place, what, "leave it out here"));
        }
        by.push(variable(name, place)?);
    }
    let others = context.axes.iter().filter(|(name, _)| !is_used(&by, name));
    let others: Vec<_> = others.cloned().collect();
    // The variables that the file names stand last, so that their maps are beside each other.
    let by = others.into_iter().chain(by).collect();
    Ok(HeatFigure {
        title: keys.title.clone(),
        label: keys.label.clone().unwrap_or(keys.value.value.clone()),
        value_text: keys.value.value.clone(),
        value,
        rows,
        columns,
        by,
        best: keys.best.unwrap_or_default(),
    })
}

/// The values of a variable.
fn labels(variable: &str, place: &Place, context: &Context) -> Result<Vec<String>, Mistake> {
    let known = context.axes.iter().find(|(name, _)| name == variable);
    known.map(|(_, labels)| labels.clone()).ok_or_else(|| {
        let names: Vec<&str> = context.axes.iter().map(|(name, _)| name.as_str()).collect();
        Mistake::unknown(place, "variable of the matrix", variable, &names)
    })
}

/// A mistake in an expression, at its place in the file.
fn mistake(in_expression: Mistake, text_of: &At<String>, file: &str) -> Mistake {
    let Place { start, end } = text_of.place;
    let literal = file.get(start..end).unwrap_or_default();
    // The offset is exact for a text in simple quotes without escapes.
    let is_plain = literal.get(1..literal.len().saturating_sub(1)) == Some(&text_of.value);
    let place = if is_plain {
        start + 1 + in_expression.place.start..start + 1 + in_expression.place.end
    } else {
        text_of.place.clone()
    };
    Mistake::new(&place, in_expression.what, in_expression.next)
}

//! `[[assert]]` and `[[published]]`: what the results are expected to be.

use super::keys::File;
use super::mistake::{Mistake, Mistakes, Place};
use super::more_keys::{AssertKeys, PublishedKeys};
use super::values::At;
use crate::judge::check::{Context, comparison, expression};
use crate::judge::token::Fault;
use crate::judge::{Assertion, Expected, PublishedTable};

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
    Some(Expected {
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
    let rows = labels(&keys.rows, context)?;
    let columns = labels(&keys.columns, context)?;
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

/// The values of a variable.
fn labels(variable: &At<String>, context: &Context) -> Result<Vec<String>, Mistake> {
    let known = context
        .axes
        .iter()
        .find(|(name, _)| *name == variable.value);
    known.map(|(_, labels)| labels.clone()).ok_or_else(|| {
        let names: Vec<&str> = context.axes.iter().map(|(name, _)| name.as_str()).collect();
        Mistake::unknown(&variable.place, "variable of the matrix", variable, &names)
    })
}

/// A mistake in an expression, at its place in the file.
fn mistake(fault: Fault, text_of: &At<String>, file: &str) -> Mistake {
    let Place { start, end } = text_of.place;
    let literal = file.get(start..end).unwrap_or_default();
    // The offset is exact for a text in simple quotes without escapes.
    let is_plain = literal.get(1..literal.len().saturating_sub(1)) == Some(&text_of.value);
    let place = if is_plain {
        start + 1 + fault.place.start..start + 1 + fault.place.end
    } else {
        text_of.place.clone()
    };
    Mistake::new(&place, fault.what, fault.next)
}

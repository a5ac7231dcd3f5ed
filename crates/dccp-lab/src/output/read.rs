//! Values of a document, read back. What is null is `None`, NaN in a list, or an empty text.

use serde_json::Value;

/// A number.
pub(super) fn number(value: &Value) -> Option<f64> {
    value.as_f64()
}

/// A list of numbers.
pub(super) fn numbers(values: &Value) -> Vec<f64> {
    each(values)
        .map(|value| value.as_f64().unwrap_or(f64::NAN))
        .collect()
}

/// The values of a list.
pub(super) fn each(values: &Value) -> impl Iterator<Item = &Value> {
    values.as_array().into_iter().flatten()
}

/// A text.
pub(super) fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

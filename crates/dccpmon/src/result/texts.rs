//! Texts of other hosts and of files, made harmless for a terminal.

use serde_json::{Map, Value};

/// A text without characters that rewrite the terminal or change the direction of writing, cut to `max` characters.
pub(crate) fn clean_text(text: &str, max: usize) -> String {
    let shown = |c: char| if is_harmful(c) { '\u{fffd}' } else { c };
    text.chars().take(max).map(shown).collect()
}

/// Control characters, separators of lines, and marks of the direction of writing.
fn is_harmful(c: char) -> bool {
    c.is_control()
        || matches!(
            c,
            '\u{61c}'
                | '\u{200e}'
                | '\u{200f}'
                | '\u{2028}'..='\u{202e}'
                | '\u{2066}'..='\u{2069}'
        )
}

/// Cleans all texts and names of a JSON value. The texts of histograms stay whole: nothing shows them.
pub(crate) fn clean(value: &mut Value, max: usize) {
    match value {
        Value::String(text) => *text = clean_text(text, max),
        Value::Array(items) => items.iter_mut().for_each(|item| clean(item, max)),
        Value::Object(fields) => {
            let cleaned = core::mem::take(fields)
                .into_iter()
                .map(|(name, mut value)| {
                    if name != HISTOGRAM {
                        clean(&mut value, max);
                    }
                    (clean_text(&name, max), value)
                });
            *fields = cleaned.collect::<Map<_, _>>();
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// The field with the base64 of a histogram.
const HISTOGRAM: &str = "hdr";

/// The greatest count that is believed: floating point holds it exactly, and sums of a thousand of them fit in 64 bits.
pub(crate) const COUNT_MAX: u64 = 1 << 53;
/// The greatest number with a fraction that is believed.
const FLOAT_MAX: f64 = 1e20;
/// The field with a list of losses, whose times are those of a clock with any zero.
const LIST: &str = "list";

/// Whether sums of the numbers in a JSON value cannot overflow.
pub(crate) fn is_moderate(value: &Value) -> bool {
    match value {
        Value::Number(number) => match number.as_u64() {
            Some(count) => count <= COUNT_MAX,
            None => number.as_f64().is_some_and(|n| n.abs() <= FLOAT_MAX),
        },
        Value::Array(items) => items.iter().all(is_moderate),
        Value::Object(fields) => fields
            .iter()
            .all(|(name, value)| name == LIST || is_moderate(value)),
        Value::Null | Value::Bool(_) | Value::String(_) => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn harmful_characters_are_replaced() {
        let text = clean_text("a\u{1b}[31mred\u{7}\u{202e}b\u{2066}ä", 300);
        assert_eq!(text, "a\u{fffd}[31mred\u{fffd}\u{fffd}b\u{fffd}ä");
        assert_eq!(clean_text(&"x".repeat(400), 300).len(), 300);
    }

    #[test]
    fn names_and_nested_texts_are_cleaned() {
        let mut value = json!({"a\u{1b}": [{"b": "c\nd"}], "hdr": "long text", "n": 1});
        clean(&mut value, 4);
        let wanted = json!({"a\u{fffd}": [{"b": "c\u{fffd}d"}], "hdr": "long text", "n": 1});
        assert_eq!(value, wanted);
    }

    #[test]
    fn huge_numbers_are_found() {
        assert!(is_moderate(
            &json!({"a": [1, 2.5, null, -3], "list": [u64::MAX]})
        ));
        assert!(!is_moderate(&json!({"a": [1, u64::MAX]})));
        assert!(!is_moderate(&json!(1e300)));
    }
}

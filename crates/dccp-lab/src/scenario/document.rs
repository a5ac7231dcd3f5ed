//! A scenario file as a tree of TOML values that know their places, and as typed keys.

use crate::mistake::{Mistake, Mistakes, Place, suggestion};
use serde::Deserialize;
use toml::Spanned;
use toml::de::{DeString, DeTable, DeValue, Error, ValueDeserializer};

/// A value and where it stands.
pub(crate) type Item<'i> = Spanned<DeValue<'i>>;

/// A key and where it stands.
pub(crate) type Key<'i> = Spanned<DeString<'i>>;

/// Parses TOML. A text that is not TOML gives all its syntax errors.
pub(crate) fn parse<'i>(text: &'i str, mistakes: &mut Mistakes) -> Option<Item<'i>> {
    let (document, errors) = DeTable::parse_recoverable(text);
    let mut is_duplicate_known = false;
    for error in &errors {
        // A section without its second bracket makes all its keys duplicates.
        if core::mem::replace(&mut is_duplicate_known, error.message() == "duplicate key") {
            continue;
        }
        let place = error.span().unwrap_or(0..0);
        let what = error.message().lines().next().unwrap_or("not TOML");
        let next = match what {
            "duplicate key" => {
                "leave one out; write sections that repeat, such as [[link]], with two brackets"
            }
            _ => "write key = value, with texts in quotes",
        };
        mistakes.add(Mistake::new(&place, format!("not TOML: {what}"), next));
    }
    let place = document.span();
    let document = Spanned::new(place, DeValue::Table(document.into_inner()));
    let mut texts = Vec::new();
    collect_texts(&document, &mut texts);
    let mut is_good = errors.is_empty();
    for (place, text) in texts {
        if let Some(found) = control_character(text) {
            is_good = false;
            let what = format!("a text with the control character U+{found:04X}");
            mistakes.add(Mistake::new(&place, what, "leave it out"));
        }
    }
    is_good.then_some(document)
}

/// Adds the keys and texts of a value, and where they stand.
fn collect_texts<'a>(item: &'a Item<'_>, texts: &mut Vec<(Place, &'a str)>) {
    match item.get_ref() {
        DeValue::String(text) => texts.push((item.span(), text)),
        DeValue::Array(items) => {
            for item in items {
                collect_texts(item, texts);
            }
        }
        DeValue::Table(table) => {
            for (key, value) in table {
                texts.push((key.span(), key.get_ref()));
                collect_texts(value, texts);
            }
        }
        _ => {}
    }
}

/// The first character of a text that could act on a terminal: names and sentences of a scenario are printed.
fn control_character(text: &str) -> Option<u32> {
    let text = text.replace("\r\n", "\n");
    text.chars()
        .find(|c| c.is_control() && !"\n\t".contains(*c))
        .map(u32::from)
}

/// The entries of a table, in the order of the file.
pub(crate) fn entries<'a, 'i>(item: &'a Item<'i>) -> Vec<(&'a Key<'i>, &'a Item<'i>)> {
    let DeValue::Table(table) = item.get_ref() else {
        return Vec::new();
    };
    let mut entries: Vec<_> = table.iter().collect();
    entries.sort_by_key(|(key, _)| key.span().start);
    entries
}

/// The value of a key.
pub(crate) fn value<'a, 'i>(item: &'a Item<'i>, key: &str) -> Option<&'a Item<'i>> {
    match item.get_ref() {
        DeValue::Table(table) => table.get(key),
        _ => None,
    }
}

/// The values of a list; a single value is a list of itself.
pub(crate) fn items<'a, 'i>(item: &'a Item<'i>) -> &'a [Item<'i>] {
    match item.get_ref() {
        DeValue::Array(items) => items,
        _ => core::slice::from_ref(item),
    }
}

/// The value as text: what labels of cells consist of.
pub(crate) fn label(item: &Item<'_>) -> String {
    match item.get_ref() {
        DeValue::String(text) => text.to_string(),
        DeValue::Integer(number) => number.as_str().to_owned(),
        DeValue::Float(number) => number.as_str().to_owned(),
        DeValue::Boolean(flag) => flag.to_string(),
        DeValue::Datetime(date) => date.to_string(),
        DeValue::Array(items) => {
            let items: Vec<String> = items.iter().map(label).collect();
            format!("[{}]", items.join(", "))
        }
        DeValue::Table(_) => {
            let entries = entries(item).into_iter();
            let entries: Vec<String> = entries
                .map(|(key, value)| format!("{} = {}", key.get_ref(), label(value)))
                .collect();
            format!("{{ {} }}", entries.join(", "))
        }
    }
}

/// Refuses lists in the place of sections that may be there once. Serde would take a list for the values of
/// their keys.
pub(crate) fn are_tables(document: &Item<'_>, sections: &[&str], mistakes: &mut Mistakes) -> bool {
    let mut is_good = true;
    for section in sections {
        if let Some(item) = value(document, section)
            && matches!(item.get_ref(), DeValue::Array(_))
        {
            is_good = false;
            let what = format!("{section} is a table, not a list");
            let next = "write it once, with single brackets";
            mistakes.add(Mistake::new(&item.span(), what, next));
        }
    }
    is_good
}

/// Reads a value as `T` and notes all mistakes in it.
///
/// Serde stops at the first mistake. The faulty entry is therefore removed and the rest read again,
/// until nothing faulty is left.
pub(crate) fn read<'i, T: Deserialize<'i>>(item: &Item<'i>, mistakes: &mut Mistakes) -> Option<T> {
    let mut rest = item.clone();
    let mut removed: Vec<String> = Vec::new();
    while !mistakes.is_full() {
        match T::deserialize(ValueDeserializer::from(rest.clone())) {
            Ok(value) => return removed.is_empty().then_some(value),
            Err(error) => {
                let place = error.span().unwrap_or_else(|| item.span());
                // A key that was removed is missing only because of that.
                if !is_missing(&error) || !removed.iter().any(|key| names(&error).contains(&&**key))
                {
                    mistakes.add(mistake(&error, &place));
                }
                removed.push(remove(&mut rest, &place)?);
            }
        }
    }
    None
}

/// Removes the innermost entry or element whose key or value stands at `place`. Returns the key of the entry.
fn remove(item: &mut Item<'_>, place: &Place) -> Option<String> {
    match item.get_mut() {
        DeValue::Table(table) => {
            let inner = table.iter_mut().find_map(|(_, value)| remove(value, place));
            if inner.is_some() {
                return inner;
            }
            let mut entries = table.iter();
            let faulty = entries.find(|(key, item)| [key.span(), item.span()].contains(place));
            let key = faulty.map(|(key, _)| key.clone())?;
            table.remove(&key)?;
            Some(key.get_ref().to_string())
        }
        DeValue::Array(items) => {
            let inner = items.iter_mut().find_map(|item| remove(item, place));
            if inner.is_some() {
                return inner;
            }
            let kept = items.iter().filter(|item| item.span() != *place).cloned();
            let before = items.len();
            *items = kept.collect();
            (items.len() < before).then(String::new)
        }
        _ => None,
    }
}

/// Refuses keys of a table that have no effect beside its other keys, such as its `kind`.
pub(crate) fn refuse(
    table: &Item<'_>,
    owner: &str,
    is_refused: impl Fn(&str) -> bool,
    mistakes: &mut Mistakes,
) {
    for (key, _) in entries(table) {
        if is_refused(key.get_ref()) {
            let what = format!("{owner} has no use for {}", key.get_ref());
            mistakes.add(Mistake::new(&key.span(), what, "leave it out"));
        }
    }
}

/// The names in a message of serde, which stand in backquotes.
fn names(error: &Error) -> Vec<&str> {
    error.message().split('`').skip(1).step_by(2).collect()
}

fn is_missing(error: &Error) -> bool {
    error.message().starts_with("missing field")
}

/// Says what serde found in the words of scenario files. Its own messages have fixed forms, with names in
/// backquotes; those of [`super::values`] are two lines: what is wrong, and what to write.
fn mistake(error: &Error, place: &Place) -> Mistake {
    let message = error.message();
    match names(error)[..] {
        [word, ref known @ ..] if message.starts_with("unknown field") => {
            let what = format!("there is no key {word} here");
            Mistake::new(place, what, suggestion(word, known))
        }
        [word, ref known @ ..] if message.starts_with("unknown variant") => {
            let what = format!("{word}: there is no such value of this key");
            Mistake::new(place, what, suggestion(word, known))
        }
        [key, ..] if is_missing(error) => Mistake::missing(place, key),
        _ => match (message.split_once('\n'), message.split_once(", expected ")) {
            (Some((what, next)), _) => Mistake::new(place, what, next),
            (None, Some((found, expected))) => wrong_type(place, found, expected),
            (None, None) => Mistake::new(place, message, "correct this value"),
        },
    }
}

/// Replaces serde's names of types by those of TOML.
fn wrong_type(place: &Place, found: &str, expected: &str) -> Mistake {
    const WORDS: [(&str, &str); 6] = [
        ("map", "a table"),
        ("sequence", "a list"),
        ("string", "the text"),
        ("integer", "the number"),
        ("floating point", "the number"),
        ("boolean", "the value"),
    ];
    let found = found.replace('`', "");
    let found = found
        .split_once(": ")
        .map_or(found.as_str(), |(_, value)| value);
    let word = WORDS.iter().find(|(word, _)| found.starts_with(word));
    let found = word.map_or(found.to_owned(), |(word, name)| {
        found.replacen(word, name, 1)
    });
    let expected = match expected {
        "a sequence" => "a list, or sections with two brackets such as [[link]]",
        "a boolean" => "true or false",
        "a string" => "a text in quotes",
        struct_name if struct_name.starts_with("struct ") => "a table",
        form => form,
    };
    let what = format!("{found} is not possible here");
    Mistake::new(place, what, format!("write {}", expected.replace('`', "")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Deserialize, PartialEq, Debug)]
    #[serde(deny_unknown_fields)]
    struct Point {
        x: i32,
        y: i32,
        #[serde(default)]
        more: Vec<Self>,
    }

    fn read_text(text: &str) -> (Option<Point>, Vec<String>) {
        let mut mistakes = Mistakes::default();
        let document = parse(text, &mut mistakes);
        let point = document.and_then(|document| read(&document, &mut mistakes));
        let errors = mistakes.into_errors("f", text);
        let errors = errors.iter().map(|e| format!("{e} | {}", e.next));
        (point, errors.collect())
    }

    #[test]
    fn all_mistakes_of_a_file_are_found() {
        let (point, errors) =
            read_text("x = 1\ny = \"one\"\nz = 2\nmore = [{ x = 1, yy = 3, y = 2 }, { x = 1 }]\n");
        assert_eq!(point, None);
        assert_eq!(
            errors,
            [
                "f:2:5: the text \"one\" is not possible here | write i32",
                "f:3:1: there is no key z here | choose one of x, y, more",
                "f:4:18: there is no key yy here | did you mean y?",
                "f:4:35: y is missing | add y = …",
            ]
        );
    }

    #[test]
    fn syntax_errors_are_all_found() {
        let (_, errors) = read_text("x = \ny = 1\ny = = 2\n");
        assert!(errors.len() >= 2, "{errors:?}");
        assert!(errors[0].starts_with("f:1:"), "{errors:?}");
        assert!(errors[0].contains("not TOML: "), "{errors:?}");
    }

    #[test]
    fn label_shows_values_in_the_order_of_the_file() {
        let text = "k = { kind = \"red\", at = [2, 0.5], b = true }";
        let document = parse(text, &mut Mistakes::default()).unwrap();
        let (_, value) = entries(&document)[0];
        assert_eq!(label(value), "{ kind = red, at = [2, 0.5], b = true }");
    }
}

//! `${name}`: variables of `[matrix]` and `[draw]`, and what `[define]` derives from them.
//!
//! ```toml
//! [define]
//! rtt  = "64ms"                                             # ${rtt}
//! [define.path]                                             # path is a variable of the matrix
//! ufl     = { rtt = "64ms", queue = "1500p" }               # ${path.rtt}, ${path.queue}
//! caltech = { rtt = "9ms", queue = "bdp*${depth}" }         # depth is a variable of [draw]
//! ```

use super::document::{Item, Key, entries, items, label, value};
use crate::mistake::{Mistake, Mistakes, Place};
use toml::Spanned;
use toml::de::DeValue;

/// The value of each variable, in the order of the file.
pub(crate) type Values<'i> = Vec<(String, Item<'i>)>;

/// The sections whose entries are names, so that their own keys need no check.
const DECLARING: [&str; 2] = ["matrix", "draw"];

/// The meaning of names in one cell.
#[derive(Clone, Debug)]
pub(crate) struct Names<'a, 'i> {
    /// Variables of the matrix.
    pub(crate) cell: &'a Values<'i>,
    /// Variables of `[draw]`.
    pub(crate) drawn: &'a Values<'i>,
    /// `[define]`.
    pub(crate) define: Option<&'a Item<'i>>,
}

impl<'i> Names<'_, 'i> {
    /// The value that a name stands for.
    fn find(&self, name: &str) -> Option<Item<'i>> {
        let variables = self.cell.iter().chain(self.drawn);
        if let Some((_, item)) = variables.into_iter().find(|(known, _)| known == name) {
            return Some(item.clone());
        }
        let define = self.define?;
        let defined = match name.split_once('.') {
            None => value(define, name)?,
            Some((variable, key)) => {
                let (_, chosen) = self.cell.iter().find(|(known, _)| known == variable)?;
                value(value(value(define, variable)?, &label(chosen))?, key)?
            }
        };
        // Definitions use variables only, so this ends.
        Some(fill_in(
            defined,
            &Names {
                define: None,
                ..self.clone()
            },
        ))
    }
}

/// The document of one cell: every `${name}` replaced.
pub(crate) fn fill_in<'i>(item: &Item<'i>, names: &Names<'_, 'i>) -> Item<'i> {
    let value = match item.get_ref() {
        DeValue::String(text) => match lone_name(text).and_then(|name| names.find(name)) {
            // A mistake in the value is reported where the value stands.
            Some(value) => return value,
            None => DeValue::String(fill_in_text(text, names).into()),
        },
        DeValue::Array(_) => {
            DeValue::Array(items(item).iter().map(|i| fill_in(i, names)).collect())
        }
        DeValue::Table(table) => {
            let entries = table.iter();
            DeValue::Table(
                entries
                    .map(|(key, i)| (key.clone(), fill_in(i, names)))
                    .collect(),
            )
        }
        other => other.clone(),
    };
    Spanned::new(item.span(), value)
}

/// A text that is one name and nothing else stands for its value, of any kind.
fn lone_name(text: &str) -> Option<&str> {
    let name = text.strip_prefix("${")?.strip_suffix('}')?;
    (!name.contains('}')).then_some(name)
}

fn fill_in_text(text: &str, names: &Names<'_, '_>) -> String {
    let mut filled = String::new();
    let mut rest = text;
    while let Some((before, name, after)) = next_name(rest) {
        filled.push_str(before);
        if let Some(item) = names.find(name) {
            filled.push_str(&label(&item));
        }
        rest = after;
    }
    filled.push_str(rest);
    filled
}

/// Splits a text at its first `${name}`.
fn next_name(text: &str) -> Option<(&str, &str, &str)> {
    let (before, rest) = text.split_once("${")?;
    let (name, after) = rest.split_once('}')?;
    Some((before, name, after))
}

/// A name that may be used, and where it is declared.
struct Declared {
    name: String,
    place: Place,
    is_used: bool,
}

impl Declared {
    fn new(name: String, key: &Key<'_>) -> Self {
        Self {
            name,
            place: key.span(),
            is_used: false,
        }
    }
}

/// Finds uses of unknown names, names without a use, and values of a variable that `[define]` does not cover.
pub(crate) fn check_uses(document: &Item<'_>, mistakes: &mut Mistakes) -> bool {
    let mut variables = Vec::new();
    for section in DECLARING {
        for (key, _) in value(document, section).map(entries).unwrap_or_default() {
            if !["only", "pairs"].contains(&key.get_ref().as_ref()) {
                variables.push(Declared::new(key.get_ref().to_string(), key));
            }
        }
    }
    let Some(mut defined) = definitions(document, mistakes) else {
        return false;
    };
    let mut is_good = true;
    for (key, item) in entries(document) {
        let section: &str = key.get_ref();
        if DECLARING.contains(&section) {
            continue;
        }
        let is_define = section == "define";
        find_uses(item, &mut |place, name| {
            let known = if is_define { &mut [] } else { &mut defined[..] };
            let result = note_use(place, name, &mut variables, known);
            is_good &= mistakes.check(result).is_some();
        });
    }
    // An unknown name is often one without a use, misspelt.
    if !is_good {
        return false;
    }
    // `${path.rtt}` uses path.
    for variable in &mut variables {
        let of_variable = format!("{}.", variable.name);
        variable.is_used |= defined
            .iter()
            .any(|name| name.is_used && name.name.starts_with(&of_variable));
    }
    for unused in variables.iter().chain(&defined).filter(|n| !n.is_used) {
        is_good = false;
        let what = format!("nothing uses the variable {}", unused.name);
        let next = format!(
            "write ${{{}}} where its value belongs, or leave it out",
            unused.name
        );
        mistakes.add(Mistake::new(&unused.place, what, next));
    }
    is_good
}

/// The names that `[define]` makes: plain ones, and `variable.key` for each value of a variable.
fn definitions(document: &Item<'_>, mistakes: &mut Mistakes) -> Option<Vec<Declared>> {
    let mut names: Vec<Declared> = Vec::new();
    let mut is_good = true;
    for (key, item) in value(document, "define").map(entries).unwrap_or_default() {
        let name = key.get_ref().to_string();
        if !matches!(item.get_ref(), DeValue::Table(_)) {
            names.push(Declared::new(name, key));
            continue;
        }
        let keys = mistakes.check(keys_of_values(document, key, item));
        is_good &= keys.is_some();
        let keys = keys.unwrap_or_default().into_iter();
        names.extend(keys.map(|k| Declared::new(format!("{name}.{k}"), key)));
    }
    is_good.then_some(names)
}

/// The keys that `[define.variable]` gives each value of the variable.
fn keys_of_values(
    document: &Item<'_>,
    variable: &Key<'_>,
    table: &Item<'_>,
) -> Result<Vec<String>, Mistake> {
    let name = variable.get_ref();
    let matrix = value(document, "matrix");
    let Some(values) = matrix.and_then(|matrix| value(matrix, name)) else {
        let what = format!("{name} is no variable of the matrix, so its value cannot choose");
        let next = format!("write [matrix] and below it {name} = [\"value\", …]");
        return Err(Mistake::new(&variable.span(), what, next));
    };
    let keys = |item: &Item<'_>| -> Vec<String> {
        let entries = entries(item).into_iter();
        entries.map(|(key, _)| key.get_ref().to_string()).collect()
    };
    let mut common: Option<Vec<String>> = None;
    for wanted in items(values) {
        let wanted_label = label(wanted);
        let Some(defined) = value(table, &wanted_label) else {
            let what = format!("[define.{name}] has no {wanted_label}");
            let next = format!("add {wanted_label} = {{ key = \"value\" }}");
            return Err(Mistake::new(&variable.span(), what, next));
        };
        let own = keys(defined);
        if let Some(missing) = common.iter().flatten().find(|key| !own.contains(key)) {
            return Err(Mistake::missing(&defined.span(), missing));
        }
        common = Some(own);
    }
    Ok(common.unwrap_or_default())
}

fn note_use(
    place: &Place,
    name: Option<&str>,
    variables: &mut [Declared],
    defined: &mut [Declared],
) -> Result<(), Mistake> {
    let Some(name) = name else {
        return Err(Mistake::new(
            place,
            "this ${ has no end",
            "write ${variable}",
        ));
    };
    let mut all: Vec<&mut Declared> = variables.iter_mut().chain(defined).collect();
    if let Some(known) = all.iter_mut().find(|known| known.name == name) {
        known.is_used = true;
        return Ok(());
    }
    if all.is_empty() {
        let what = format!("${{{name}}}: there is no [matrix] with this variable");
        let next = format!("write [matrix] and below it {name} = [\"value\", …]");
        return Err(Mistake::new(place, what, next));
    }
    let known: Vec<&str> = all.iter().map(|known| known.name.as_str()).collect();
    Err(Mistake::unknown(place, "variable", name, &known))
}

/// Calls `found` for each use of a name inside an item; without a name for a `${` without an end.
fn find_uses(item: &Item<'_>, found: &mut dyn FnMut(&Place, Option<&str>)) {
    match item.get_ref() {
        DeValue::String(text) => {
            let mut rest: &str = text;
            while let Some((_, name, after)) = next_name(rest) {
                found(&item.span(), Some(name));
                rest = after;
            }
            if rest.contains("${") {
                found(&item.span(), None);
            }
        }
        DeValue::Array(items) => items.iter().for_each(|item| find_uses(item, found)),
        DeValue::Table(table) => table.iter().for_each(|(_, item)| find_uses(item, found)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::super::document;
    use super::*;

    fn parsed(text: &str) -> Item<'_> {
        document::parse(text, &mut Mistakes::default()).expect("TOML")
    }

    fn errors(text: &str) -> Vec<String> {
        let mut mistakes = Mistakes::default();
        check_uses(&parsed(text), &mut mistakes);
        let errors = mistakes.into_errors("f", text);
        errors.iter().map(|e| format!("{e} | {}", e.next)).collect()
    }

    #[test]
    fn unknown_and_unused_names_are_refused() {
        for (text, expected) in [
            (
                "k = \"${a}\"",
                "f:1:5: ${a}: there is no [matrix] with this variable",
            ),
            (
                "k = \"${majr}\"\n[matrix]\nmajor = [1]",
                "f:1:5: majr: there is no such variable",
            ),
            (
                "k = \"${a}\"\n[matrix]\na = [1]\nb = [1]",
                "f:4:1: nothing uses the variable b",
            ),
            ("k = \"${a\"", "f:1:5: this ${ has no end"),
            (
                "k = \"${a}\"\n[draw]\na = 1\n[define]\nb = 1",
                "f:5:1: nothing uses the variable b",
            ),
            (
                "k = \"${p.x}\"\n[matrix]\np = [\"a\", \"b\"]\n[define.p]\na = { x = 1 }",
                "f:4:9: [define.p] has no b",
            ),
            (
                "k = \"${p.x}\"\n[matrix]\np = [\"a\", \"b\"]\n[define.p]\na = { x = 1 }\nb = { y = 1 }",
                "f:6:5: x is missing",
            ),
            (
                "k = \"${p.x}\"\n[define.p]\na = { x = 1 }",
                "f:2:9: p is no variable of the matrix, so its value cannot choose",
            ),
            (
                "k = \"${b}\"\n[define]\na = 1\nb = \"${a}\"",
                "f:4:5: ${a}: there is no [matrix] with this variable",
            ),
        ] {
            let errors = errors(text);
            assert!(
                errors.first().is_some_and(|e| e.starts_with(expected)),
                "{text}: {errors:?}"
            );
        }
    }

    #[test]
    fn lone_name_keeps_the_kind_of_its_value() {
        let document = parsed("k = \"${n}\"\nt = { u = [\"<${n}>\"] }");
        let numbers = parsed("n = 5");
        let number = value(&numbers, "n").expect("a value").clone();
        let names = Names {
            cell: &vec![("n".into(), number)],
            drawn: &Vec::new(),
            define: None,
        };
        let filled = fill_in(&document, &names);
        let k = value(&filled, "k").expect("a value");
        assert!(matches!(k.get_ref(), DeValue::Integer(_)));
        assert_eq!(k.span(), 4..5, "the place of the value");
        let u = value(value(&filled, "t").expect("a table"), "u").expect("a list");
        assert_eq!(label(u), "[<5>]");
    }

    #[test]
    fn definition_follows_the_variable_and_may_use_a_drawn_one() {
        let document = parsed(
            "k = [\"${p.rtt}\", \"${rate}\", \"${p.queue}\"]\n[define]\nrate = \"1Mbit\"\n\
             [define.p]\na = { rtt = \"9ms\", queue = \"bdp*${depth}\" }\n",
        );
        let values = parsed("p = \"a\"\ndepth = 0.5");
        let variable = |name: &str| {
            let item = value(&values, name).expect("a value").clone();
            vec![(name.to_owned(), item)]
        };
        let names = Names {
            cell: &variable("p"),
            drawn: &variable("depth"),
            define: value(&document, "define"),
        };
        let filled = fill_in(&document, &names);
        let k = value(&filled, "k").expect("a list");
        assert_eq!(label(k), "[9ms, 1Mbit, bdp*0.5]");
    }
}

//! `[quick]`: values that make a shorter experiment of the same form.

use super::document::{Item, Key, entries, value};
use crate::mistake::{Mistake, Mistakes};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toml::Spanned;
use toml::de::DeValue;

/// The size of an experiment.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Copy, PartialEq, Eq, Debug, Default)]
#[serde(rename_all = "lowercase")]
pub enum Scale {
    /// As the file says.
    #[default]
    Full,
    /// With the values of `[quick]`.
    Quick,
}

impl Scale {
    /// The word for it in results: `full` or `quick`.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::Quick => "quick",
        }
    }
}

/// The section's name.
const QUICK: &str = "quick";

/// The sections whose keys can have other values.
const SECTIONS: [&str; 4] = ["define", "matrix", "draw", "measure"];

/// The document at a scale. Keys of `[quick]` must stand in the rest of the file as well.
pub(crate) fn apply<'i>(document: &Item<'i>, scale: Scale, mistakes: &mut Mistakes) -> Item<'i> {
    let Some(quick) = value(document, QUICK) else {
        return document.clone();
    };
    for (section, changes) in entries(quick) {
        let result = check(document, section, changes);
        mistakes.check(result);
    }
    let DeValue::Table(table) = document.get_ref() else {
        return document.clone();
    };
    let kept = table.iter().filter(|(key, _)| key.get_ref() != QUICK);
    let changed = |(key, item): (&Key<'i>, &Item<'i>)| {
        let change = value(quick, key.get_ref()).filter(|_| scale == Scale::Quick);
        let item = change.map_or_else(|| item.clone(), |change| replaced(item, change));
        (key.clone(), item)
    };
    Spanned::new(document.span(), DeValue::Table(kept.map(changed).collect()))
}

fn check(document: &Item<'_>, section: &Key<'_>, changes: &Item<'_>) -> Result<(), Mistake> {
    let name: &str = section.get_ref();
    if !SECTIONS.contains(&name) {
        return Err(Mistake::unknown(
            &section.span(),
            "section that [quick] can change",
            name,
            &SECTIONS,
        ));
    }
    for (key, _) in entries(changes) {
        let known = value(document, name).and_then(|section| value(section, key.get_ref()));
        if known.is_none() {
            let what = format!("[{name}] has no {}", key.get_ref());
            let next = format!("add {} to [{name}], or leave it out here", key.get_ref());
            return Err(Mistake::new(&key.span(), what, next));
        }
    }
    Ok(())
}

/// A value with the changes of a table; other values are replaced as a whole.
fn replaced<'i>(item: &Item<'i>, change: &Item<'i>) -> Item<'i> {
    let (DeValue::Table(old), DeValue::Table(_)) = (item.get_ref(), change.get_ref()) else {
        return change.clone();
    };
    let entry = |(key, item): (&Key<'i>, &Item<'i>)| {
        let change = value(change, key.get_ref());
        let item = change.map_or_else(|| item.clone(), |change| replaced(item, change));
        (key.clone(), item)
    };
    Spanned::new(item.span(), DeValue::Table(old.iter().map(entry).collect()))
}

#[cfg(test)]
mod tests {
    use super::super::document::{self, label};
    use super::*;

    fn at(text: &str, scale: Scale) -> Result<String, String> {
        let mut mistakes = Mistakes::default();
        let document = document::parse(text, &mut mistakes).expect("TOML");
        let applied = apply(&document, scale, &mut mistakes);
        let errors = mistakes.into_errors("f", text);
        match errors.first() {
            Some(error) => Err(error.to_string()),
            None => Ok(label(&applied)),
        }
    }

    const FILE: &str = "[define]\na = 1\nb = 2\n[define.p]\nx = { k = 1, l = 2 }\n[quick.define]\nb = 3\np = { x = { k = 5 } }\n";

    #[test]
    fn quick_replaces_single_values() {
        let full = "{ define = { a = 1, b = 2, p = { x = { k = 1, l = 2 } } } }";
        assert_eq!(at(FILE, Scale::Full).as_deref(), Ok(full));
        let quick = full.replace("b = 2", "b = 3").replace("k = 1", "k = 5");
        assert_eq!(at(FILE, Scale::Quick), Ok(quick));
    }

    #[test]
    fn change_of_what_is_not_there_is_refused() {
        for (quick, what) in [
            ("[quick.define]\nc = 1", "f:10:1: [define] has no c"),
            (
                "[quick.link]\nc = 1",
                "f:9:8: link: there is no such section that [quick] can change",
            ),
        ] {
            let text = FILE.split("[quick").next().expect("the start");
            let text = format!("{text}\n\n\n{quick}");
            assert_eq!(at(&text, Scale::Full), Err(what.to_owned()));
        }
    }
}

//! A scenario file as a tree of values that know their places.

use super::mistake::{Mistake, Place};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// A value and where it stands.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Item {
    pub(crate) place: Place,
    pub(crate) value: Value,
}

/// A value.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Value {
    Text(String),
    /// As it is written, in decimal.
    Number(String),
    Flag(bool),
    List(Vec<Item>),
    Table(Table),
}

/// Keys and values in the order of the file.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct Table(pub(crate) Vec<Entry>);

/// A key, where it stands, and its value.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Entry {
    pub(crate) key: String,
    pub(crate) place: Place,
    pub(crate) item: Item,
}

impl Table {
    pub(crate) fn entry(&self, key: &str) -> Option<&Entry> {
        self.0.iter().find(|entry| entry.key == key)
    }
}

impl Item {
    /// The value as a person would write it in a table: labels of cells.
    pub(crate) fn label(&self) -> String {
        match &self.value {
            Value::Text(text) | Value::Number(text) => text.clone(),
            Value::Flag(flag) => flag.to_string(),
            Value::List(items) => {
                let items: Vec<String> = items.iter().map(Self::label).collect();
                format!("[{}]", items.join(", "))
            }
            Value::Table(table) => {
                let entries = table.0.iter();
                let entries: Vec<String> = entries
                    .map(|entry| format!("{} = {}", entry.key, entry.item.label()))
                    .collect();
                format!("{{ {} }}", entries.join(", "))
            }
        }
    }

    /// The values of a list; a single value is a list of itself.
    pub(crate) fn items(&self) -> &[Self] {
        match &self.value {
            Value::List(items) => items,
            _ => core::slice::from_ref(self),
        }
    }

    /// What kind of value it is, for messages.
    pub(crate) fn kind(&self) -> &'static str {
        match self.value {
            Value::Text(_) => "a text",
            Value::Number(_) => "a number",
            Value::Flag(_) => "true or false",
            Value::List(_) => "a list",
            Value::Table(_) => "a table",
        }
    }
}

/// Reads TOML.
pub(crate) fn parse(text: &str) -> Result<Table, Mistake> {
    let document = DeTable::parse(text).map_err(|error| {
        let place = error.span().unwrap_or(0..0);
        let what = error.message().lines().next().unwrap_or("not TOML");
        let next = match what {
            "duplicate key" => "leave one out; [[link]], [[flow]] and others of which there may be several have two brackets",
            _ => "write key = value, with texts in quotes",
        };
        Mistake::new(&place, format!("this is no TOML: {what}"), next)
    })?;
    table(document.get_ref())
}

fn table(from: &DeTable<'_>) -> Result<Table, Mistake> {
    let mut entries = Vec::new();
    for (key, value) in from {
        entries.push(Entry {
            key: key.get_ref().to_string(),
            place: key.span(),
            item: item(value)?,
        });
    }
    entries.sort_by_key(|entry| entry.place.start);
    Ok(Table(entries))
}

fn item(from: &Spanned<DeValue<'_>>) -> Result<Item, Mistake> {
    let place = from.span();
    let value = match from.get_ref() {
        DeValue::String(text) => Value::Text(text.to_string()),
        DeValue::Boolean(flag) => Value::Flag(*flag),
        DeValue::Float(number) => Value::Number(number.as_str().to_owned()),
        DeValue::Integer(number) if number.radix() == 10 => {
            Value::Number(number.as_str().to_owned())
        }
        DeValue::Integer(_) => {
            return Err(Mistake::new(
                &place,
                "numbers are decimal here",
                "write it in decimal",
            ));
        }
        DeValue::Datetime(_) => {
            return Err(Mistake::new(
                &place,
                "dates have no use here",
                "put it in quotes, or leave it out",
            ));
        }
        DeValue::Array(items) => Value::List(items.iter().map(item).collect::<Result<_, _>>()?),
        DeValue::Table(entries) => Value::Table(table(entries)?),
    };
    Ok(Item { place, value })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_keep_their_order_and_their_places() {
        let text = "z = \"1\"\na = [2, 0.5]\n[t]\nb = true\n";
        let document = parse(text).unwrap();
        let keys: Vec<&str> = document.0.iter().map(|e| e.key.as_str()).collect();
        assert_eq!(keys, ["z", "a", "t"]);
        let list = &document.entry("a").unwrap().item;
        assert_eq!((list.label().as_str(), list.kind()), ("[2, 0.5]", "a list"));
        let nested = parse("k = { kind = \"red\", min = \"5p\" }").unwrap();
        assert_eq!(nested.0[0].item.label(), "{ kind = red, min = 5p }");
        assert_eq!(&text[list.place.clone()], "[2, 0.5]");
        assert_eq!(&text[document.entry("z").unwrap().place.clone()], "z");
    }

    #[test]
    fn what_is_no_toml_says_where() {
        let mistake = parse("a = \nb = 1\n").unwrap_err();
        assert_eq!(mistake.place.start, 4);
        let mistake = parse("a = 0x10\n").unwrap_err();
        assert_eq!(mistake.what, "numbers are decimal here");
    }
}

//! The keys of one section: each is asked for once, and none is left over.

use super::document::{Entry, Item, Table, Value};
use super::mistake::{Mistake, Place, nearest};
use core::cell::RefCell;

/// A section while it is read. A key that nobody asks for is a mistake, so that no key is ignored.
pub(crate) struct Fields<'a> {
    table: &'a Table,
    /// Where the section stands.
    place: Place,
    /// What the section is called in messages: `a link`.
    what: &'static str,
    asked: RefCell<Vec<&'static str>>,
}

impl<'a> Fields<'a> {
    /// Opens a section. Keys that are not `known` are mistakes at once.
    pub(crate) fn open(
        table: &'a Table,
        place: &Place,
        what: &'static str,
        known: &[&'static str],
    ) -> Result<Self, Mistake> {
        for entry in &table.0 {
            if !known.contains(&entry.key.as_str()) {
                return Err(unknown_key(entry, what, known));
            }
        }
        Ok(Self {
            table,
            place: place.clone(),
            what,
            asked: RefCell::new(Vec::new()),
        })
    }

    /// Opens a section from an item, which must be a table.
    pub(crate) fn of_item(
        item: &'a Item,
        what: &'static str,
        known: &[&'static str],
    ) -> Result<Self, Mistake> {
        match &item.value {
            Value::Table(table) => Self::open(table, &item.place, what, known),
            Value::List(_) => Err(Mistake::new(
                &item.place,
                format!("{what} is a table, not a list"),
                "write it once, with single brackets",
            )),
            _ => Err(Mistake::new(
                &item.place,
                format!("{what} is a table, not {}", item.kind()),
                format!("write {{ {} = … }}", known.first().unwrap_or(&"key")),
            )),
        }
    }

    /// Where the section stands.
    pub(crate) fn place(&self) -> &Place {
        &self.place
    }

    /// The entry of a key.
    pub(crate) fn entry(&self, key: &'static str) -> Option<&'a Entry> {
        self.asked.borrow_mut().push(key);
        self.table.entry(key)
    }

    /// The value of a key.
    pub(crate) fn item(&self, key: &'static str) -> Option<&'a Item> {
        self.entry(key).map(|entry| &entry.item)
    }

    /// The value of a key, read.
    pub(crate) fn get<T>(
        &self,
        key: &'static str,
        read: impl FnOnce(&'a Item) -> Result<T, Mistake>,
    ) -> Result<Option<T>, Mistake> {
        self.item(key).map(read).transpose()
    }

    /// The value of a key that must be there, read.
    pub(crate) fn need<T>(
        &self,
        key: &'static str,
        read: impl FnOnce(&'a Item) -> Result<T, Mistake>,
    ) -> Result<T, Mistake> {
        self.get(key, read)?.ok_or_else(|| {
            Mistake::new(
                &self.place,
                format!("{} needs {key}", self.what),
                format!("add {key} = …"),
            )
        })
    }

    /// The values of a key that is a list, or of one that is a single value.
    pub(crate) fn list(&self, key: &'static str) -> &'a [Item] {
        self.item(key).map_or(&[], Item::items)
    }

    /// Refuses a key that this version would have to ignore.
    pub(crate) fn not_yet(&self, key: &'static str) -> Result<(), Mistake> {
        match self.entry(key) {
            Some(entry) => Err(Mistake::not_yet(&entry.place, key)),
            None => Ok(()),
        }
    }

    /// Closes the section: known keys that nobody asked for do not belong to this kind of it.
    pub(crate) fn done(&self, kind: &str) -> Result<(), Mistake> {
        self.has_asked(kind, |_| true)
    }

    /// Those of these keys that nobody asked for do not belong to what has them, such as a transport.
    pub(crate) fn done_with(&self, keys: &[&str], kind: &str) -> Result<(), Mistake> {
        self.has_asked(kind, |key| keys.contains(&key))
    }

    fn has_asked(&self, kind: &str, of: impl Fn(&str) -> bool) -> Result<(), Mistake> {
        let asked = self.asked.borrow();
        let is_over = |entry: &&Entry| of(&entry.key) && !asked.contains(&entry.key.as_str());
        match self.table.0.iter().find(is_over) {
            Some(entry) => Err(Mistake::new(
                &entry.place,
                format!("{} has no use for {}", kind, entry.key),
                "leave it out",
            )),
            None => Ok(()),
        }
    }
}

fn unknown_key(entry: &Entry, what: &str, known: &[&str]) -> Mistake {
    let next = match nearest(&entry.key, known) {
        Some(near) => format!("did you mean {near}?"),
        None => format!("{what} has {}", known.join(", ")),
    };
    Mistake::new(
        &entry.place,
        format!("{what} has no key {}", entry.key),
        next,
    )
}

#[cfg(test)]
mod tests {
    use super::super::document;
    use super::*;

    const KNOWN: &[&str] = &["rate", "delay", "queue"];

    fn open(table: &Table) -> Result<Fields<'_>, Mistake> {
        Fields::open(table, &(0..1), "a link", KNOWN)
    }

    #[test]
    fn an_unknown_key_names_the_nearest() {
        let table = document::parse("rate = 1\nqeue = 2\n").unwrap();
        let mistake = open(&table).err().unwrap();
        assert_eq!(mistake.place, 9..13);
        assert_eq!(mistake.what, "a link has no key qeue");
        assert_eq!(mistake.next, "did you mean queue?");
        let table = document::parse("colour = 1\n").unwrap();
        assert_eq!(
            open(&table).err().unwrap().next,
            "a link has rate, delay, queue"
        );
    }

    #[test]
    fn a_key_that_nobody_asks_for_is_a_mistake() {
        let table = document::parse("rate = 1\ndelay = 2\n").unwrap();
        let fields = open(&table).unwrap();
        assert!(fields.item("rate").is_some());
        assert!(fields.item("queue").is_none());
        let mistake = fields.done("a wire").unwrap_err();
        assert_eq!(mistake.what, "a wire has no use for delay");
        fields.item("delay");
        assert_eq!(fields.done("a wire"), Ok(()));
    }

    #[test]
    fn a_missing_key_and_a_later_one_are_named() {
        let table = document::parse("queue = [1, 2]\n").unwrap();
        let fields = open(&table).unwrap();
        let mistake = fields.need("rate", |_| Ok(())).unwrap_err();
        assert_eq!(mistake.what, "a link needs rate");
        assert_eq!(fields.list("queue").len(), 2);
        assert_eq!(fields.not_yet("queue").unwrap_err().what, "queue: not yet");
    }
}

//! The known differences, listed in `interop/ns2/differences.toml`.

use super::cells::Cell;
use anyhow::{Context, Result};

/// The list.
pub(super) struct Differences(Vec<Difference>);

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    difference: Vec<Difference>,
}

/// A rule that differs between the two, and the words that make ours follow the peer's.
#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Difference {
    /// Names of cells; `*` stands for anything.
    cells: Vec<String>,
    /// The rule, in a sentence.
    pub(super) rule: String,
    /// Words for our program: `law=…` in place of the cell's law, others besides.
    pub(super) switch: Vec<String>,
    /// Figures that differ even with the switch. `rule` gives the reason.
    #[serde(default)]
    pub(super) remain: Vec<String>,
}

impl Differences {
    pub(super) fn read() -> Result<Self> {
        const PATH: &str = "interop/ns2/differences.toml";
        let text = std::fs::read_to_string(PATH).context(PATH)?;
        Self::parse(&text).context(PATH)
    }

    fn parse(text: &str) -> Result<Self> {
        let file: File = toml::from_str(text)?;
        Ok(Self(file.difference))
    }

    /// The first that names this cell.
    pub(super) fn of(&self, cell: &Cell) -> Option<&Difference> {
        let name = cell.name();
        let names = |difference: &&Difference| difference.cells.iter().any(|p| fits(p, &name));
        self.0.iter().find(names)
    }
}

/// Whether a name fits a pattern. `*` stands for anything.
fn fits(pattern: &str, name: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == name,
        Some((head, rest)) => name.strip_prefix(head).is_some_and(|name| {
            let mut ends = (0..=name.len()).filter(|&end| name.is_char_boundary(end));
            ends.any(|end| fits(rest, &name[end..]))
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_anything() {
        for (pattern, is_fit) in [
            ("cubic/100M/q1/2", true),
            ("cubic/*", true),
            ("*/q1/*", true),
            ("*", true),
            ("cubic/*/16", false),
            ("bic/*", false),
            ("cubic", false),
        ] {
            assert_eq!(fits(pattern, "cubic/100M/q1/2"), is_fit, "{pattern}");
        }
    }

    #[test]
    fn the_list_is_read_and_the_first_that_fits_is_taken() {
        let text = "[[difference]]\ncells = [\"reno/100M/q0.25/1\"]\nrule = \"a\"\nswitch = []\n\
            [[difference]]\ncells = [\"x\", \"reno/*\"]\nrule = \"b\"\nswitch = [\"law=tcp/reno\"]\n";
        let list = Differences::parse(text).unwrap();
        let cells = super::super::cells::all();
        assert_eq!(list.of(&cells[0]).unwrap().rule, "a");
        assert_eq!(list.of(&cells[1]).unwrap().rule, "b");
        assert!(list.of(&cells[18]).is_none());
        assert!(Differences::parse("[[difference]]\nrule = \"a\"").is_err());
    }
}

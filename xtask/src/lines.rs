//! `cargo xtask lines`: source lines by component, beside Table 1 of Bittau and Handley (E23).

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;

use anyhow::{Context, Result};

use crate::syntax;
use crate::tree::{self, File};

/// The page that holds the table.
const PAGE: &str = "docs/code-size.md";
const BEGIN: &str = "<!-- cargo xtask lines --update -->\n";
const END: &str = "<!-- end -->\n";

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Writes the table into docs/code-size.md
    #[arg(long)]
    update: bool,
}

/// A part of the code.
struct Component {
    name: &'static str,
    /// Its row in the published table, and the lines there.
    published: Option<(&'static str, usize)>,
    /// The begins of its files' paths. A file belongs to the first component that has it.
    paths: &'static [&'static str],
}

const fn component(
    name: &'static str,
    published: Option<(&'static str, usize)>,
    paths: &'static [&'static str],
) -> Component {
    Component {
        name,
        published,
        paths,
    }
}

const VECTORS: &str = "Ack Vectors and feature negotiation";
const CORE: &str = "rest of the core";

/// The numbers are those of `scenarios/papers/published/eslea_sloc.csv`.
const COMPONENTS: &[Component] = &[
    component(
        VECTORS,
        Some(("Ack vectors & feature negotiation", 1162)),
        &[
            "crates/dccp-proto/src/conn/ack_vector",
            "crates/dccp-proto/src/conn/ack_records",
            "crates/dccp-proto/src/conn/feature",
            "crates/dccp-proto/src/wire/ack_cells",
            "crates/dccp-proto/src/wire/features",
        ],
    ),
    component(
        "CCID 2 with Reno",
        Some(("CCID2", 583)),
        &[
            "crates/dccp-proto/src/cc/ack_ratio",
            "crates/dccp-proto/src/cc/ccid2",
            "crates/dccp-proto/src/cc/law/reno",
            "crates/dccp-proto/src/cc/slow_start",
            "crates/dccp-proto/src/cc/window",
        ],
    ),
    component(
        "other laws of CCID 2",
        None,
        &["crates/dccp-proto/src/cc/law"],
    ),
    component(
        "CCID 3",
        Some(("CCID3", 1839)),
        &["crates/dccp-proto/src/cc/ccid3"],
    ),
    component("CCID 4", None, &["crates/dccp-proto/src/cc/ccid4"]),
    component(
        CORE,
        Some(("Rest of DCCP core", 2876)),
        &["crates/dccp-proto/src/"],
    ),
    component(
        "TCP of the simulator",
        Some(("TCP implementation", 8042)),
        &["crates/dccp-sim/src/tcp/"],
    ),
    component(
        "UDP of the simulator",
        Some(("UDP implementation", 1160)),
        &["crates/dccp-sim/src/udp.rs"],
    ),
];

/// Prints the table, or writes it into the page.
pub(crate) fn run(args: &Args) -> Result<bool> {
    let table = table(&tree::files()?);
    if !args.update {
        print!("{table}");
        return Ok(true);
    }
    let page = fs::read_to_string(PAGE)?;
    let page = with_table(&page, &table).with_context(|| format!("{PAGE} has no place for it"))?;
    fs::write(PAGE, page)?;
    Ok(true)
}

fn with_table(page: &str, table: &str) -> Option<String> {
    let (before, rest) = page.split_once(BEGIN)?;
    let (_, after) = rest.split_once(END)?;
    Some(format!("{before}{BEGIN}{table}{END}{after}"))
}

fn table(files: &[File]) -> String {
    let mut lines = vec![0; COMPONENTS.len()];
    for file in files
        .iter()
        .filter(|file| file.is_rust() && !file.is_test())
    {
        let has_it = |component: &Component| {
            let mut paths = component.paths.iter();
            paths.any(|path| file.path.starts_with(path))
        };
        if let Some(n) = COMPONENTS.iter().position(has_it) {
            lines[n] += lines_of(file);
        }
    }
    let mut table = "| component | ours | published | name there |\n|---|---|---|---|\n".to_owned();
    for (component, lines) in COMPONENTS.iter().zip(&lines) {
        let (name, published) = match component.published {
            Some((name, lines)) => (name, lines.to_string()),
            None => ("", String::new()),
        };
        // Writing to a string cannot fail.
        let _ = writeln!(
            table,
            "| {} | {lines} | {published} | {name} |",
            component.name
        );
    }
    let of = |name: &str| {
        let mut both = COMPONENTS.iter().zip(&lines);
        let found = both.find(|(component, _)| component.name == name);
        found.map_or((0, 0), |(component, lines)| {
            (*lines, component.published.map_or(0, |(_, lines)| lines))
        })
    };
    let (vectors, core) = (of(VECTORS), of(CORE));
    let share = |part: usize, rest: usize| {
        let whole = (part + rest).max(1);
        (100 * part + whole / 2) / whole
    };
    let _ = writeln!(
        table,
        "| {VECTORS}: share of the whole core | {} % | {} % | |",
        share(vectors.0, core.0),
        share(vectors.1, core.1)
    );
    table
}

/// Lines that are neither empty, nor a comment, nor code of tests.
fn lines_of(file: &File) -> usize {
    let tests = file.syntax().map(syntax::test_ranges).unwrap_or_default();
    let mut in_tests = BTreeSet::new();
    for range in tests {
        let line = |at: usize| file.text[..at].matches('\n').count();
        in_tests.extend(line(range.start)..=line(range.end));
    }
    let lines = file.text.lines().enumerate();
    let is_code = |(n, line): &(usize, &str)| {
        let line = line.trim_start();
        !line.is_empty() && !line.starts_with("//") && !in_tests.contains(n)
    };
    lines.filter(is_code).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_tests_are_not_counted() {
        let text = "//! Doc.\n\n/// More.\nfn a() {\n    // Why.\n}\n\n#[cfg(test)]\nmod tests {\n    fn t() {}\n}\n";
        let file = File::new("crates/dccp-proto/src/cc/ccid3/a.rs", text);
        assert_eq!(lines_of(&file), 2);
        let tests = File::new("crates/dccp-proto/src/cc/ccid3/tests.rs", text);
        let table = table(&[file, tests]);
        assert!(table.contains("| CCID 3 | 2 | 1839 | CCID3 |"), "{table}");
    }

    #[test]
    fn published_share_is_that_of_the_paper() {
        assert!(table(&[]).contains("| 0 % | 29 % |"));
    }

    #[test]
    fn numbers_are_those_of_the_stored_table() {
        let stored = include_str!("../../scenarios/papers/published/eslea_sloc.csv");
        for (name, lines) in COMPONENTS.iter().filter_map(|c| c.published) {
            let row = stored.lines().find(|row| row.starts_with(name));
            let row = row.unwrap_or_else(|| panic!("a row {name}"));
            assert!(row.ends_with(&format!(",{lines}")), "{row}");
        }
    }

    #[test]
    fn table_replaces_the_old_one() {
        let page = format!("a\n{BEGIN}old\n{END}b\n");
        let new = with_table(&page, "new\n").expect("a place");
        assert_eq!(new, format!("a\n{BEGIN}new\n{END}b\n"));
        assert_eq!(with_table("a", "new"), None);
    }
}

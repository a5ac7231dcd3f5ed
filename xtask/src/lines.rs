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
    /// The starts of its files' paths. A file belongs to the first component that has it.
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
const CCID_2: &str = "CCID 2 with Reno";

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
        CCID_2,
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
    let sum = |names: &[&str]| {
        let parts = COMPONENTS.iter().zip(&lines);
        let parts = parts.filter(|(component, _)| names.contains(&component.name));
        parts.fold((0, 0), |(ours, published), (component, lines)| {
            (
                ours + lines,
                published + component.published.map_or(0, |(_, lines)| lines),
            )
        })
    };
    let (vectors, core) = (sum(&[VECTORS]), sum(&[VECTORS, CORE]));
    let least = sum(&[VECTORS, CORE, CCID_2]);
    let share = |part: usize, whole: usize| (100 * part + whole / 2) / whole.max(1);
    let (ours, published) = (share(vectors.0, core.0), share(vectors.1, core.1));
    let _ = writeln!(
        table,
        "| whole core | {} | {} | Total DCCP core |\n\
         | whole core and CCID 2 with Reno | {} | {} | Minimum DCCP |\n\
         | {VECTORS}: share of the whole core | {ours} % | {published} % | |",
        core.0, core.1, least.0, least.1
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
    fn published_sums_are_those_of_the_paper() {
        let table = table(&[]);
        for row in ["| 0 % | 29 % |", "| 0 | 4038 | Total", "| 0 | 4621 | Min"] {
            assert!(table.contains(row), "{row}: {table}");
        }
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

//! Rules about what files say of each other.

use std::collections::BTreeSet;

use super::{Finding, pattern};
use crate::source;
use crate::spec;
use crate::tree::File;

/// Every crate obeys the workspace's lints.
pub(super) fn lints_of_crates(files: &[File]) -> Vec<Finding> {
    let manifests = files
        .iter()
        .filter(|file| file.path.ends_with("/Cargo.toml"));
    let members = manifests
        .filter(|file| file.path.starts_with("crates/") || file.path.starts_with("xtask/"));
    let lax = members.filter(|file| !file.text.contains("[lints]\nworkspace = true\n"));
    lax.map(|file| Finding::new(&file.path, "lints.workspace is not true"))
        .collect()
}

/// No path of the machine that somebody works on.
pub(super) fn machine_paths(files: &[File]) -> Vec<Finding> {
    let pattern = pattern(r"(?:^|[^A-Za-z0-9_.~-])/(?:work|root|home/[a-z]+)/");
    let mut findings = Vec::new();
    for file in files {
        for found in pattern.find_iter(&file.text) {
            findings.push(Finding::at(
                file,
                found.start(),
                format!("a machine's path: {}", found.as_str()),
            ));
        }
    }
    findings
}

/// A cited requirement exists, so that a slip of the pen is no citation.
pub(super) fn requirement_ids(files: &[File]) -> Vec<Finding> {
    let text = |path| {
        files
            .iter()
            .find(|file| file.path == path)
            .map_or("", |file| &file.text)
    };
    let mut known: BTreeSet<String> = spec::parse_requirements(text(spec::REQUIREMENTS))
        .into_iter()
        .map(|requirement| requirement.id)
        .collect();
    let others = pattern(r"\*\*(LINUX-C?[0-9]+)\*\*|\| (AMB-[0-9]+) \|");
    for found in others.captures_iter(text(spec::REQUIREMENTS)) {
        let id = found.get(1).or(found.get(2));
        known.extend(id.map(|id| id.as_str().to_owned()));
    }
    let mut findings = Vec::new();
    let citing = files
        .iter()
        .filter(|file| file.is_rust() && file.path.starts_with("crates/"));
    for file in citing {
        for (at, id) in spec::cited_ids(&file.text) {
            if !known.contains(&id) {
                findings.push(Finding::at(file, at, format!("no such requirement: {id}")));
            }
        }
    }
    match spec::parse_exceptions(text(spec::EXCEPTIONS)) {
        Ok(exceptions) => {
            let unknown = exceptions.into_keys().filter(|id| !known.contains(id));
            findings
                .extend(unknown.map(|id| {
                    Finding::new(spec::EXCEPTIONS, format!("no such requirement: {id}"))
                }));
        }
        Err(error) => findings.push(Finding::new(spec::EXCEPTIONS, error.to_string())),
    }
    findings
}

/// Files and functions that the maps name are there.
pub(super) fn named_places(files: &[File]) -> Vec<Finding> {
    let mut findings = Vec::new();
    let functions = functions(files);
    for map in files.iter().filter(|file| is_map(&file.path)) {
        for (at, path) in paths_of_tree(&map.text) {
            let there = |file: &File| {
                file.path == path
                    || file
                        .path
                        .starts_with(&format!("{}/", path.trim_end_matches('/')))
            };
            if !files.iter().any(there) {
                findings.push(Finding::at(map, at, format!("no such file: {path}")));
            }
        }
        for (at, function) in functions_named(&map.text) {
            if !functions.contains(&function) {
                findings.push(Finding::at(
                    map,
                    at,
                    format!("no such function: {function}"),
                ));
            }
        }
    }
    findings
}

fn is_map(path: &str) -> bool {
    matches!(path, "ARCHITECTURE.md" | "docs/packet-path.md")
}

/// Every function that the crates define.
fn functions(files: &[File]) -> BTreeSet<String> {
    let definition = pattern(r"\bfn\s+([a-z0-9_]+)");
    let mut names = BTreeSet::new();
    for file in files.iter().filter(|file| file.is_rust()) {
        let code = source::code(&file.text);
        names.extend(
            definition
                .captures_iter(&code)
                .map(|found| found[1].to_owned()),
        );
    }
    names
}

/// Functions written as `` `name()` `` or `` `Type::name()` ``.
fn functions_named(text: &str) -> Vec<(usize, String)> {
    let named = pattern(r"`(?:[A-Za-z0-9_]+(?:::|\.))*([a-z0-9_]+)\(\)`");
    let found = named.captures_iter(text).filter_map(|found| found.get(1));
    found
        .map(|name| (name.start(), name.as_str().to_owned()))
        .collect()
}

/// The paths of a tree drawn in a fenced block that starts with `` ```tree ``. A line that is not
/// indented names a folder (or files of the root); an indented one names files in the last such
/// folder. Names are separated by a space, descriptions from names by two.
fn paths_of_tree(text: &str) -> Vec<(usize, String)> {
    let mut paths = Vec::new();
    let (mut in_tree, mut folder, mut at) = (false, "", 0);
    for line in text.split_inclusive('\n') {
        let start = at;
        at += line.len();
        if line.starts_with("```") {
            in_tree = line.trim_end() == "```tree";
            continue;
        }
        if !in_tree || line.trim().is_empty() {
            continue;
        }
        let is_indented = line.starts_with(' ');
        let names = line.trim().split("  ").next().unwrap_or_default();
        for name in names.split(' ') {
            if is_indented {
                paths.push((start, format!("{folder}{name}")));
            } else {
                folder = name;
                paths.push((start, name.to_owned()));
            }
        }
    }
    paths
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, text: &str) -> File {
        let (path, text) = (path.to_owned(), text.to_owned());
        File { path, text }
    }

    fn texts(rule: super::super::Rule, files: &[File]) -> Vec<String> {
        let findings = rule(files);
        findings
            .into_iter()
            .map(|finding| format!("{}: {}", finding.place, finding.text))
            .collect()
    }

    #[test]
    fn a_crate_without_the_lints_is_found() {
        let good = file("crates/a/Cargo.toml", "[lints]\nworkspace = true\n");
        let bad = file("crates/b/Cargo.toml", "[package]\n");
        assert_eq!(
            texts(lints_of_crates, &[good, bad]),
            ["crates/b/Cargo.toml: lints.workspace is not true"]
        );
    }

    #[test]
    fn paths_of_a_machine_are_found() {
        let work = "work";
        let page = file(
            "docs/a.md",
            &format!("see ~/{work}/x, crates/{work}/b and\n`/{work}/x/y`\n"),
        );
        assert_eq!(
            texts(machine_paths, &[page]),
            [format!("docs/a.md:2: a machine's path: `/{work}/")]
        );
    }

    #[test]
    fn an_id_that_does_not_exist_is_found() {
        let files = [
            file(
                spec::REQUIREMENTS,
                "- **4340-7.1-1** [MUST] a\n| AMB-1 | x |\n- **LINUX-C1** [LOCAL] b\n",
            ),
            file(
                spec::EXCEPTIONS,
                "[[exception]]\nid = \"4340-7.1-9\"\nreason = \"x\"\n",
            ),
            file("crates/a/src/lib.rs", "// 4340-7.1-1, -2 AMB-1 LINUX-C1\n"),
        ];
        let expected = [
            "crates/a/src/lib.rs:1: no such requirement: 4340-7.1-2",
            "specs/exceptions.toml: no such requirement: 4340-7.1-9",
        ];
        assert_eq!(texts(requirement_ids, &files), expected);
    }

    #[test]
    fn the_map_names_what_exists() {
        let map = "```tree\nREADME.md  text\ncrates/a/src/  code\n  lib.rs gone.rs  two words\n```\n`lib.rs`: `A::run()`, `halt()`\n";
        let files = [
            file("README.md", ""),
            file("crates/a/src/lib.rs", "fn run() {} // fn halt()\n"),
            file("ARCHITECTURE.md", map),
        ];
        let expected = [
            "ARCHITECTURE.md:4: no such file: crates/a/src/gone.rs",
            "ARCHITECTURE.md:6: no such function: halt",
        ];
        assert_eq!(texts(named_places, &files), expected);
    }
}

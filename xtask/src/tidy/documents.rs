//! Rules about what files say about each other.

use std::collections::BTreeSet;

use syn::Signature;
use syn::visit::{self, Visit};

use super::{Finding, pattern};
use crate::spec;
use crate::tree::{File, has_extension};

/// Every crate obeys the workspace's lints.
pub(super) fn lints_of_crates(files: &[File]) -> Vec<Finding> {
    let manifests = files
        .iter()
        .filter(|file| file.path.ends_with("/Cargo.toml"));
    let members = manifests.filter(|file| {
        ["crates/", "examples/", "xtask/"]
            .iter()
            .any(|folder| file.path.starts_with(folder))
    });
    let lax = members.filter(|file| !file.text.contains("[lints]\nworkspace = true\n"));
    lax.map(|file| Finding::new(&file.path, "lints.workspace is not true"))
        .collect()
}

/// No path of a particular machine.
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
        for (at, path) in paths_of_tables(&map.text) {
            let end = format!("/{path}");
            let there = |file: &File| {
                file.path.starts_with(&path)
                    || file.path.ends_with(&end)
                    || path.ends_with('/') && file.path.contains(&end)
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

/// The map names every folder with code: itself, a file in it, the file of the same name, or a folder above it that
/// is not the root of a crate's sources.
pub(super) fn folders_of_map(files: &[File]) -> Vec<Finding> {
    const MAP: &str = "ARCHITECTURE.md";
    let Some(map) = files.iter().find(|file| file.path == MAP) else {
        return Vec::new();
    };
    let mut named = BTreeSet::new();
    for (_, path) in paths_of_tree(&map.text) {
        named.extend(path.rfind('/').map(|end| path[..=end].to_owned()));
        named.insert(path);
    }
    let is_named = |folder: &str| {
        let above = folder.match_indices('/').map(|(at, _)| &folder[..=at]);
        let mut above = above.filter(|path| !path.ends_with("src/") || *path == folder);
        above.any(|path| {
            named.contains(path) || named.contains(&format!("{}.rs", path.trim_end_matches('/')))
        })
    };
    let sources = files
        .iter()
        .filter(|file| file.is_rust() && file.path.contains("/src/") && !file.is_test());
    let folders: BTreeSet<&str> = sources
        .filter_map(|file| Some(&file.path[..=file.path.rfind('/')?]))
        .collect();
    let missing = folders.into_iter().filter(|folder| !is_named(folder));
    missing
        .map(|folder| Finding::new(MAP, format!("does not name the folder {folder}")))
        .collect()
}

/// Files of `docs/` that other files mention exist, and so do the targets of relative links.
pub(super) fn references(files: &[File]) -> Vec<Finding> {
    let mentioned =
        pattern(r"\b(?:docs|specs|benchmarks|interop)/[A-Za-z0-9_/.-]*\.(?:md|toml|csv|txt)\b");
    let link = pattern(r"\]\(([A-Za-z0-9_./-]+)(?:#[^)]*)?\)");
    let exists = |path: &str| {
        let folder = format!("{}/", path.trim_end_matches('/'));
        files
            .iter()
            .any(|file| file.path == path || file.path.starts_with(&folder))
    };
    let mut findings = Vec::new();
    let is_checked = |file: &&File| {
        // The changelog speaks of files that are gone, the tests below of files that never were.
        file.path != "CHANGELOG.md" && file.path != "xtask/src/tidy/documents.rs"
    };
    for file in files.iter().filter(is_checked) {
        for found in mentioned.find_iter(&file.text) {
            if !exists(found.as_str())
                && !resolve(&file.path, found.as_str()).is_some_and(|path| exists(&path))
            {
                let text = format!("no such file: {}", found.as_str());
                findings.push(Finding::at(file, found.start(), text));
            }
        }
        if !has_extension(&file.path, "md") {
            continue;
        }
        for found in link.captures_iter(&file.text) {
            let at = found.get(0).map_or(0, |found| found.start());
            let is_there = resolve(&file.path, &found[1]).is_some_and(|path| exists(&path));
            // A folder without text files, such as a corpus.
            if !is_there && !std::path::Path::new(&found[1]).exists() {
                findings.push(Finding::at(
                    file,
                    at,
                    format!("a link to nowhere: {}", &found[1]),
                ));
            }
        }
    }
    findings
}

/// A path relative to the folder of `file`, from the root; `None` outside the checkout.
fn resolve(file: &str, link: &str) -> Option<String> {
    let mut parts: Vec<&str> = file.split('/').collect();
    parts.pop();
    for part in link.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

fn is_map(path: &str) -> bool {
    matches!(path, "ARCHITECTURE.md" | "docs/packet-path.md")
}

/// Every function that the crates define.
fn functions(files: &[File]) -> BTreeSet<String> {
    struct Functions(BTreeSet<String>);
    impl<'a> Visit<'a> for Functions {
        fn visit_signature(&mut self, signature: &'a Signature) {
            self.0.insert(signature.ident.to_string());
            visit::visit_signature(self, signature);
        }
    }
    let mut functions = Functions(BTreeSet::new());
    for syntax in files.iter().filter_map(File::syntax) {
        functions.visit_file(syntax);
    }
    functions.0
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

/// Sources and folders that the rows of tables name, such as `` `conn/recv.rs` `` or `` `cc/law/` ``. A path can begin
/// below a folder that the text names.
fn paths_of_tables(text: &str) -> Vec<(usize, String)> {
    let row = pattern(r"(?m)^\|.*$");
    let path = pattern(r"`([A-Za-z0-9_./-]+(?:\.rs|/))`");
    let mut paths = Vec::new();
    for row in row.find_iter(text) {
        let named = path.captures_iter(row.as_str());
        let named = named.filter_map(|found| found.get(1));
        paths.extend(named.map(|name| (row.start() + name.start(), name.as_str().to_owned())));
    }
    paths
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, text: &str) -> File {
        File::new(path, text)
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
        let map = "```tree\nREADME.md  text\ncrates/a/src/  code\n  lib.rs gone.rs  two words\n```\n`lib.rs`: `A::run()`, `halt()`\n\
            | where? | `a/src/lib.rs`, `src/`, `src/gone.rs`, `old/` |\n";
        let files = [
            file("README.md", ""),
            file("crates/a/src/lib.rs", "fn run() {} // fn halt()\n"),
            file("ARCHITECTURE.md", map),
        ];
        let expected = [
            "ARCHITECTURE.md:4: no such file: crates/a/src/gone.rs",
            "ARCHITECTURE.md:7: no such file: src/gone.rs",
            "ARCHITECTURE.md:7: no such file: old/",
            "ARCHITECTURE.md:6: no such function: halt",
        ];
        assert_eq!(texts(named_places, &files), expected);
    }

    #[test]
    fn folder_that_the_map_leaves_out_is_found() {
        let map = "```tree\ncrates/a/src/  code\n  one/ two.rs  parts\n```\n";
        let files = [
            file("ARCHITECTURE.md", map),
            file("crates/a/src/lib.rs", ""),
            file("crates/a/src/one/x.rs", ""),
            file("crates/a/src/one/deep/x.rs", ""),
            file("crates/a/src/two/x.rs", ""),
            file("crates/a/src/three/x.rs", ""),
        ];
        let expected = ["ARCHITECTURE.md: does not name the folder crates/a/src/three/"];
        assert_eq!(texts(folders_of_map, &files), expected);
    }

    #[test]
    fn reference_to_a_missing_document_is_found() {
        let files = [
            file("docs/a.md", "[b](b.md#x) [up](../README.md) [gone](c.md)\n"),
            file("docs/b.md", ""),
            file("README.md", "[a](docs/a.md)"),
            file("crates/a/src/lib.rs", "// docs/a.md, docs/d.md\n"),
        ];
        let expected = [
            "docs/a.md:1: a link to nowhere: c.md".to_owned(),
            "crates/a/src/lib.rs:1: no such file: docs/d.md".to_owned(),
        ];
        assert_eq!(texts(references, &files), expected);
    }
}

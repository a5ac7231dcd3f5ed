//! A copy of the workspace with all mutants in it, built once.

use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use serde::Deserialize;

use super::list::Mutant;
use super::schema::{self, Schema};
use crate::shell::{self, command};
use crate::tree;

const SWITCH: &str = include_str!("switch.rs");
const CRATE: &str = "crates/dccp-proto/src";

/// The copy, in its own folder with its own target folder.
pub(super) struct Copy {
    root: PathBuf,
}

/// A test program.
pub(super) struct Program {
    /// Of the file with its tests, or of the library.
    pub(super) name: String,
    pub(super) path: PathBuf,
    /// Where its tests expect to run.
    pub(super) folder: PathBuf,
    /// `dccp-proto`, `dccp-sim`.
    pub(super) package: String,
}

/// The test programs with their switches.
pub(super) struct Built {
    pub(super) programs: Vec<Program>,
    /// The mutants that can be switched on, place by place: they are reached together.
    pub(super) sites: Vec<Vec<u32>>,
}

/// Builds with every mutant that the compiler takes behind a switch; a mutant's number is its index.
pub(super) fn build(mutants: &[Mutant], folder: &Path) -> Result<Built> {
    let copy = Copy::new(folder)?;
    let mut refused = BTreeSet::new();
    loop {
        let schemata = copy.switch(mutants, &refused)?;
        // Checking is quick. What only building shows comes after.
        for how in [&["check"][..], &["test", "--no-run"]] {
            let messages = copy.cargo(how)?;
            let faults: Vec<_> = messages.iter().filter_map(Message::fault).collect();
            if faults.is_empty() {
                if how[0] == "check" {
                    continue;
                }
                // Two at a time would write each other's captures.
                let programs = messages.into_iter().filter_map(Message::program);
                let programs = programs.filter(|program| program.name != "tshark");
                return Ok(Built {
                    programs: programs.collect(),
                    sites: schemata
                        .into_values()
                        .flat_map(|schema| schema.sites)
                        .collect(),
                });
            }
            let before = refused.len();
            for fault in &faults {
                refused.extend(fault.blamed(&schemata));
            }
            ensure!(
                refused.len() > before,
                "the code with switches does not build, and no mutant is to blame:\n{}",
                faults[0].rendered
            );
            eprintln!("{} mutants that the compiler refuses", refused.len());
            break;
        }
    }
}

impl Copy {
    /// Copies what git knows, but for target folders.
    fn new(folder: &Path) -> Result<Self> {
        let root = folder.join("tree");
        if root.exists() {
            std::fs::remove_dir_all(&root)?;
        }
        let list = shell::output(&mut command(&["git", "ls-files", "-z"]))?;
        for path in list.split_terminator('\0') {
            let to = root.join(path);
            std::fs::create_dir_all(to.parent().context("a file in a folder")?)?;
            std::fs::copy(tree::root()?.join(path), to).with_context(|| path.to_owned())?;
        }
        let lib = root.join(CRATE).join("lib.rs");
        let text = std::fs::read_to_string(&lib)?;
        let features = "#![feature(core_intrinsics, const_eval_select)]";
        std::fs::write(lib, format!("{features}\n{text}\nmod mutant;\n"))?;
        std::fs::write(root.join(CRATE).join("mutant.rs"), SWITCH)?;
        Ok(Self { root })
    }

    /// Writes the files that have mutants, with those that are not refused.
    fn switch(
        &self,
        mutants: &[Mutant],
        refused: &BTreeSet<u32>,
    ) -> Result<HashMap<String, Schema>> {
        let mut by_file: HashMap<&str, Vec<(u32, &Mutant)>> = HashMap::new();
        for (number, mutant) in (0..).zip(mutants) {
            let of_file = by_file.entry(&mutant.file).or_default();
            if !refused.contains(&number) {
                of_file.push((number, mutant));
            }
        }
        let rewrite = |(path, mutants): (&str, Vec<(u32, &Mutant)>)| {
            let source = std::fs::read_to_string(path).with_context(|| path.to_owned())?;
            let schema = schema::rewrite(&source, &mutants)?;
            std::fs::write(self.root.join(path), &schema.text)?;
            Ok((path.to_owned(), schema))
        };
        by_file.into_iter().map(rewrite).collect()
    }

    /// What cargo says of the crate and of the tests that use it.
    fn cargo(&self, how: &[&str]) -> Result<Vec<Message>> {
        let mut cargo = Command::new("cargo");
        cargo.args(how).args(["--tests", "--profile", "mutants"]);
        cargo.args(["--package", "dccp-proto", "--package", "dccp-sim"]);
        cargo.args(["--message-format", "json", "--quiet"]);
        cargo.current_dir(&self.root);
        cargo.env("CARGO_TARGET_DIR", self.root.with_file_name("target"));
        // To choose at compile time and at run time differently is not stable.
        cargo.env("RUSTC_BOOTSTRAP", "dccp_proto");
        cargo.env("RUSTFLAGS", "--cap-lints=allow");
        let output = cargo.output().context("cargo")?;
        let lines = String::from_utf8(output.stdout)?;
        let messages: Vec<Message> = lines
            .lines()
            .map(|line| serde_json::from_str(line).context("a message of cargo"))
            .collect::<Result<_>>()?;
        if !output.status.success() && messages.iter().all(|message| message.fault().is_none()) {
            bail!(
                "cargo {}: {}",
                how.join(" "),
                String::from_utf8_lossy(&output.stderr)
            );
        }
        Ok(messages)
    }
}

/// One line of cargo's. All that we need of all kinds.
#[derive(Deserialize)]
struct Message {
    reason: String,
    manifest_path: Option<PathBuf>,
    executable: Option<PathBuf>,
    target: Option<Target>,
    #[serde(rename = "message")]
    diagnostic: Option<Diagnostic>,
}

#[derive(Deserialize)]
struct Target {
    name: String,
}

#[derive(Deserialize)]
struct Diagnostic {
    level: String,
    rendered: String,
    spans: Vec<DiagnosticSpan>,
}

#[derive(Deserialize)]
struct DiagnosticSpan {
    file_name: String,
    byte_start: usize,
    is_primary: bool,
}

impl Message {
    fn fault(&self) -> Option<&Diagnostic> {
        let found = self.diagnostic.as_ref()?;
        // The last error only counts the others.
        (found.level == "error" && !found.spans.is_empty()).then_some(found)
    }

    fn program(self) -> Option<Program> {
        if self.reason != "compiler-artifact" {
            return None;
        }
        let path = self.executable?;
        let folder = self.manifest_path?.parent()?.to_owned();
        let package = folder.file_name()?.to_str()?.to_owned();
        Some(Program {
            name: self.target?.name,
            path,
            folder,
            package,
        })
    }
}

impl Diagnostic {
    /// The mutants of the smallest piece that a message points into.
    fn blamed(&self, schemata: &HashMap<String, Schema>) -> Vec<u32> {
        let points = self.spans.iter().filter(|span| span.is_primary);
        let pieces = points.filter_map(|span| {
            let blame = schemata.get(&span.file_name)?.blame.iter();
            blame
                .filter(|(range, _)| range.contains(&span.byte_start))
                .min_by_key(|(range, _)| range.len())
        });
        pieces.flat_map(|(_, numbers)| numbers.clone()).collect()
    }
}

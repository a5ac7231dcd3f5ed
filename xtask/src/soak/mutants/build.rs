//! A copy of the workspace with all mutants in it, built once.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use serde::Deserialize;

use super::list::Mutant;
use super::schema::{self, Schema};
use dccp_dev::shell::{self, command};

/// What is added to the crate: where, and what.
const SWITCH: (&str, &str) = ("crates/dccp-proto/src/mutant.rs", include_str!("switch.rs"));
const LIB: &str = "crates/dccp-proto/src/lib.rs";

/// The copy, in its own folder with its own target folder.
pub(super) struct Copy {
    root: PathBuf,
    /// Without mutants, by path.
    files: BTreeMap<String, Vec<u8>>,
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

/// Builds with every mutant that the compiler takes behind a switch; a mutant's number is its index. Those
/// that it refused the last time are not offered again.
pub(super) fn build(mutants: &[Mutant], folder: &Path) -> Result<Built> {
    let copy = Copy::new(folder)?;
    let memory = folder.join("refused.txt");
    let known = std::fs::read_to_string(&memory).unwrap_or_default();
    let known: BTreeSet<_> = known.lines().collect();
    let numbered = (0..).zip(mutants);
    let known = numbered.filter(|(_, mutant)| known.contains(&mutant.name[..]));
    let mut refused: BTreeSet<u32> = known.map(|(number, _)| number).collect();
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
            let names = refused
                .iter()
                .map(|number| &mutants[*number as usize].name[..]);
            std::fs::write(&memory, names.collect::<Vec<_>>().join("\n"))?;
            break;
        }
    }
}

impl Copy {
    /// What git knows of, and the switch.
    fn new(folder: &Path) -> Result<Self> {
        let list = shell::output(&mut command(&["git", "ls-files", "-z"]))?;
        let read = |path: &str| {
            Ok((
                path.to_owned(),
                std::fs::read(path).context(path.to_owned())?,
            ))
        };
        let mut files: BTreeMap<_, _> = list
            .split_terminator('\0')
            .map(read)
            .collect::<Result<_>>()?;
        let lib = files.get_mut(LIB).context(LIB)?;
        let features = "#![feature(core_intrinsics, const_eval_select)]\n";
        *lib = [features.as_bytes(), lib, b"\nmod mutant;\n"].concat();
        files.insert(SWITCH.0.into(), SWITCH.1.into());
        Ok(Self {
            root: folder.join("tree"),
            files,
        })
    }

    /// Makes the copy, with those mutants that are not refused. A file that is there already as it should
    /// be keeps its time, so that it needs no building.
    fn switch(
        &self,
        mutants: &[Mutant],
        refused: &BTreeSet<u32>,
    ) -> Result<BTreeMap<String, Schema>> {
        let mut by_file: HashMap<&str, Vec<(u32, &Mutant)>> = HashMap::new();
        for (number, mutant) in (0..).zip(mutants) {
            if !refused.contains(&number) {
                by_file
                    .entry(&mutant.file)
                    .or_default()
                    .push((number, mutant));
            }
        }
        let mut schemata = BTreeMap::new();
        for (path, original) in &self.files {
            let to = self.root.join(path);
            let schema = match by_file.get(path.as_str()) {
                Some(mutants) => Some(schema::rewrite(std::str::from_utf8(original)?, mutants)?),
                None => None,
            };
            let wanted = schema
                .as_ref()
                .map_or(&original[..], |schema| schema.text.as_bytes());
            if std::fs::read(&to).ok().as_deref() != Some(wanted) {
                std::fs::create_dir_all(to.parent().context("a file in a folder")?)?;
                std::fs::write(to, wanted).with_context(|| path.clone())?;
            }
            schemata.extend(schema.map(|schema| (path.clone(), schema)));
        }
        Ok(schemata)
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
    fn blamed(&self, schemata: &BTreeMap<String, Schema>) -> Vec<u32> {
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

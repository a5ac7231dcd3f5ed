//! What became of the mutants, as cargo-mutants writes it down: a file for each verdict.

use std::collections::BTreeMap;

use anyhow::{Context, Result};

use super::OUTPUT;

/// Each mutant as `path:line:column: replace …`.
#[derive(Default)]
pub(super) struct Outcome {
    pub(super) caught: Vec<String>,
    pub(super) timeout: Vec<String>,
    pub(super) missed: Vec<String>,
    pub(super) unviable: Vec<String>,
}

impl Outcome {
    /// Of a stage: `switched`, or the package whose tests were run.
    pub(super) fn read(stage: &str) -> Result<Self> {
        let read = |kind: &str| -> Result<Vec<String>> {
            let path = format!("{OUTPUT}/{stage}/mutants.out/{kind}.txt");
            let text = std::fs::read_to_string(&path).context(path)?;
            Ok(text.lines().map(str::to_owned).collect())
        };
        Ok(Self {
            caught: read("caught")?,
            timeout: read("timeout")?,
            missed: read("missed")?,
            unviable: read("unviable")?,
        })
    }

    /// Removes what an earlier run left.
    pub(super) fn remove(stage: &str) -> Result<()> {
        let folder = format!("{OUTPUT}/{stage}/mutants.out");
        match std::fs::remove_dir_all(&folder) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(error).context(folder)
            }
            _ => Ok(()),
        }
    }

    pub(super) fn write(&self, stage: &str) -> Result<()> {
        let folder = format!("{OUTPUT}/{stage}/mutants.out");
        std::fs::create_dir_all(&folder)?;
        let write = |kind: &str, names: &[String]| {
            let path = format!("{folder}/{kind}.txt");
            std::fs::write(&path, names.join("\n")).context(path)
        };
        write("caught", &self.caught)?;
        write("timeout", &self.timeout)?;
        write("missed", &self.missed)?;
        write("unviable", &self.unviable)
    }

    /// Together with that of other mutants.
    pub(super) fn add(&mut self, other: Self) {
        self.caught.extend(other.caught);
        self.timeout.extend(other.timeout);
        self.missed.extend(other.missed);
        self.unviable.extend(other.unviable);
    }

    /// A survivor stays one until the second run has noticed it.
    pub(super) fn followed_by(mut self, second: &Self) -> Self {
        let (caught, rest): (Vec<_>, Vec<_>) = self
            .missed
            .into_iter()
            .partition(|name| second.caught.contains(name));
        let (timeout, missed): (Vec<_>, Vec<_>) = rest
            .into_iter()
            .partition(|name| second.timeout.contains(name));
        self.caught.extend(caught);
        self.timeout.extend(timeout);
        self.missed = missed;
        self
    }

    pub(super) fn noticed(&self) -> impl Iterator<Item = &String> {
        self.caught.iter().chain(&self.timeout)
    }

    /// Those that build.
    pub(super) fn viable(&self) -> impl Iterator<Item = &String> {
        self.noticed().chain(&self.missed)
    }

    /// A line for `wire/`, `conn/` and `cc/`.
    pub(super) fn print_folders(&self) {
        let folder = |name: &String| name.split('/').nth(3).unwrap_or_default().to_owned();
        let mut counts: BTreeMap<_, (usize, usize)> = BTreeMap::new();
        for name in self.viable() {
            counts.entry(folder(name)).or_default().1 += 1;
        }
        for name in self.noticed() {
            counts.entry(folder(name)).or_default().0 += 1;
        }
        for (folder, (noticed, viable)) in counts {
            println!("{folder:<8} {noticed:>5} of {viable:>5} noticed");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn survivors_stay_until_the_second_run_notices_them() {
        let names = |names: &str| names.split_whitespace().map(str::to_owned).collect();
        let outcome = |caught, timeout, missed| Outcome {
            caught: names(caught),
            timeout: names(timeout),
            missed: names(missed),
            unviable: Vec::new(),
        };
        let first = outcome("a", "b", "c d e f");
        let both = first.followed_by(&outcome("c x", "d y", "e z"));
        assert_eq!(both.caught, ["a", "c"]);
        assert_eq!(both.timeout, ["b", "d"]);
        assert_eq!(both.missed, ["e", "f"]);
    }
}

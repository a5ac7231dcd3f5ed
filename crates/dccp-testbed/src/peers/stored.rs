//! ns-2's figures, stored in the repository: `interop/ns2/reference.csv`, a line for each cell.
//!
//! ns-2 takes hours for the whole matrix and always comes to the same, so it runs again only where
//! its script or the cell's settings have changed.

use super::cells::Cell;
use super::figures::Figures;
use super::runs;
use anyhow::{Context, Result, ensure};
use std::collections::BTreeMap;

const PATH: &str = "interop/ns2/reference.csv";
const HEAD: &str = "# ns-2's medians over all start offsets; `cargo xtask peers sim --fresh` makes them again.\n\
    cell,settings,version,offsets,crashed,share,events,queue,goodput\n";
/// The start offsets of what is kept.
pub(super) const OFFSETS: usize = 20;

/// ns-2's figures of one cell.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Reference {
    /// A hash of its scripts and of all command lines.
    settings: u64,
    /// Of the Debian package.
    version: String,
    pub(super) offsets: usize,
    /// The start offsets of runs that crashed.
    pub(super) crashed: Vec<usize>,
    pub(super) figures: Figures,
}

impl Reference {
    /// Of runs that have just been made, in order of their start offsets.
    pub(super) fn new(cell: &Cell, offsets: usize, runs: &[Option<super::Output>]) -> Result<Self> {
        let crashed = (0..offsets).filter(|&run| runs[run].is_none()).collect();
        let runs: Vec<_> = runs.iter().flatten().cloned().collect();
        Ok(Self {
            settings: settings(cell, offsets)?,
            version: runs::ns2_version()?,
            offsets,
            crashed,
            figures: super::figures::medians(cell, &runs),
        })
    }

    fn line(&self, cell: &str) -> String {
        let Self {
            settings,
            version,
            offsets,
            figures,
            ..
        } = self;
        let crashed: Vec<_> = self.crashed.iter().map(usize::to_string).collect();
        let maybe = |value: Option<f64>| value.map_or(String::new(), |value| format!("{value:.2}"));
        format!(
            "{cell},{settings:016x},{version},{offsets},{},{},{},{:.2},{:.3}\n",
            crashed.join(" "),
            maybe(figures.share),
            maybe(figures.events),
            figures.queue,
            figures.goodput
        )
    }

    fn read(line: &str) -> Result<(String, Self)> {
        let fields: Vec<&str> = line.split(',').collect();
        let [
            cell,
            settings,
            version,
            offsets,
            crashed,
            share,
            events,
            queue,
            goodput,
        ] = fields[..]
        else {
            anyhow::bail!("nine fields, not {}", fields.len());
        };
        let maybe = |text: &str| {
            let value = (!text.is_empty()).then(|| text.parse());
            value.transpose()
        };
        let crashed = crashed.split_whitespace().map(str::parse);
        let reference = Self {
            settings: u64::from_str_radix(settings, 16)?,
            version: version.to_owned(),
            offsets: offsets.parse()?,
            crashed: crashed.collect::<Result<_, _>>()?,
            figures: Figures {
                share: maybe(share)?,
                events: maybe(events)?,
                queue: queue.parse()?,
                goodput: goodput.parse()?,
            },
        };
        Ok((cell.to_owned(), reference))
    }
}

/// All that is kept.
#[derive(Default)]
pub(super) struct Stored(BTreeMap<String, Reference>);

impl Stored {
    pub(super) fn read() -> Result<Self> {
        match std::fs::read_to_string(PATH) {
            Ok(text) => Self::parse(&text).context(PATH),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Self::default()),
            Err(error) => Err(error).context(PATH),
        }
    }

    fn parse(text: &str) -> Result<Self> {
        let lines = text.lines().skip(HEAD.lines().count());
        let lines = lines.map(|line| Reference::read(line).with_context(|| line.to_owned()));
        lines.collect::<Result<_>>().map(Self)
    }

    /// The stored figures of this cell, if the script and the settings are still the same.
    pub(super) fn of(&self, cell: &Cell) -> Result<Option<&Reference>> {
        let wanted = settings(cell, cell.offsets(OFFSETS))?;
        let kept = self.0.get(&cell.name());
        Ok(kept.filter(|kept| kept.settings == wanted))
    }

    /// Keeps it at once, so that what was run before an interruption is not lost.
    pub(super) fn keep(&mut self, cell: &Cell, reference: Reference) -> Result<()> {
        ensure!(reference.offsets == cell.offsets(OFFSETS), "too few runs");
        self.0.insert(cell.name(), reference);
        let names = super::cells::all();
        let lines = names.iter().filter_map(|cell| {
            let name = cell.name();
            Some(self.0.get(&name)?.line(&name))
        });
        let text = HEAD.to_owned() + &lines.collect::<String>();
        std::fs::write(PATH, text).context(PATH)
    }
}

/// A hash (FNV-1a) of all that a cell's runs in ns-2 depend on.
fn settings(cell: &Cell, offsets: usize) -> Result<u64> {
    let mut text = runs::ns2_scripts(cell)?;
    for run in 0..offsets {
        text += &runs::Engine::Ns2.words(cell, run).join(" ");
    }
    let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    Ok(text.bytes().fold(0xcbf2_9ce4_8422_2325, step))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_is_read_again() {
        let reference = Reference {
            settings: 0x12,
            version: "2.35".to_owned(),
            offsets: 20,
            crashed: vec![3, 17],
            figures: Figures {
                share: None,
                events: Some(12.5),
                queue: 33.25,
                goodput: 86.125,
            },
        };
        let line = reference.line("reno/100M/q1/2");
        assert_eq!(
            line,
            "reno/100M/q1/2,0000000000000012,2.35,20,3 17,,12.50,33.25,86.125\n"
        );
        let stored = Stored::parse(&(HEAD.to_owned() + &line)).unwrap();
        assert_eq!(stored.0["reno/100M/q1/2"], reference);
        assert!(Stored::parse(&(HEAD.to_owned() + "reno,1\n")).is_err());
    }
}

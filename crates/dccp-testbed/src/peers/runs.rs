//! Runs both programs on all processors and stores their output.

use super::cells::Cell;
use super::figures::Output;
use anyhow::{Context, Result, bail};
use dccp_dev::shell::{self, command};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Our program, as cargo builds it.
pub(crate) const DUMBBELL: &str = "target/release/dumbbell";
/// The script for ns-2.
pub(crate) const NS2_SCRIPT: &str = "interop/ns2/dumbbell.tcl";
/// The script that it also reads if flows use DCCP.
const NS2_DCCP_SCRIPT: &str = "interop/ns2/dccp.tcl";
/// The folder of stored runs.
const KEPT: &str = "target/peers";

/// Which program runs.
#[derive(Clone, Copy)]
pub(super) enum Engine<'a> {
    /// Ours; with these words besides, which go before the others.
    Ours(&'a [String]),
    Ns2,
}

impl Engine<'_> {
    /// The command line of one run, without what keeps it from hindering others.
    pub(super) fn words(self, cell: &Cell, run: usize) -> Vec<String> {
        let mut words: Vec<String> = match self {
            Self::Ours(_) => vec![DUMBBELL.to_owned()],
            Self::Ns2 => ["ns", NS2_SCRIPT].map(str::to_owned).to_vec(),
        };
        let (rate, queue, threshold) = (cell.rate, cell.queue(run), cell.fair_share());
        let (time, warmup) = cell.time();
        words.extend([
            format!("rate={rate}"),
            format!("rtt={}", cell.rtt()),
            format!("queue={queue}"),
            format!("time={time}"),
            format!("warmup={warmup}"),
            format!("ssthresh={threshold}"),
        ]);
        let mut replaced = None;
        if let Self::Ours(switch) = self {
            words.extend(cell.law.transport.iter().map(|&word| word.to_owned()));
            for word in switch {
                match word.strip_prefix("law=") {
                    Some(law) => replaced = Some(law),
                    None => words.push(word.clone()),
                }
            }
        }
        let flow = |number: usize| {
            let is_major = cell.is_major(number);
            let law = if is_major {
                cell.law
            } else {
                super::cells::RENO
            };
            let name = match self {
                Self::Ours(_) => replaced.filter(|_| is_major).unwrap_or(law.ours),
                Self::Ns2 => law.ns2,
            };
            format!("{name}@{}", cell.start(run, number))
        };
        let flows: Vec<String> = (0..cell.flows).map(flow).collect();
        words.push(format!("flows={}", flows.join(";")));
        words
    }

    /// The content of the program, on which a stored run depends.
    fn program(self, cell: &Cell) -> Result<Vec<u8>> {
        match self {
            Self::Ours(_) => std::fs::read(DUMBBELL).context(DUMBBELL),
            Self::Ns2 => ns2_scripts(cell).map(String::into_bytes),
        }
    }
}

/// The scripts that a cell's runs in ns-2 read.
pub(super) fn ns2_scripts(cell: &Cell) -> Result<String> {
    let mut text = String::new();
    for (path, is_read) in [(NS2_SCRIPT, true), (NS2_DCCP_SCRIPT, cell.law.is_dccp())] {
        if is_read {
            text += &std::fs::read_to_string(path).context(path)?;
        }
    }
    Ok(text)
}

/// All runs of a cell in a program, in order of their start offsets; nothing where the program
/// crashed, as ns-2 sometimes does.
pub(super) fn all(cell: &Cell, engine: Engine<'_>, offsets: usize) -> Result<Vec<Option<Output>>> {
    let program = engine.program(cell)?;
    std::fs::create_dir_all(KEPT)?;
    let jobs: Vec<(Vec<String>, PathBuf)> = (0..offsets)
        .map(|run| {
            let words = engine.words(cell, run);
            let kept = kept(&program, &words);
            (words, kept)
        })
        .collect();
    let next = AtomicUsize::new(0);
    let results = Mutex::new(Vec::new());
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                loop {
                    let run = next.fetch_add(1, Ordering::Relaxed);
                    let Some((words, kept)) = jobs.get(run) else {
                        break;
                    };
                    let result = one(words, kept);
                    let mut results = results.lock().expect("no worker panics");
                    results.push((run, result));
                }
            });
        }
    });
    let mut runs = results.into_inner().expect("no worker panicked");
    runs.sort_by_key(|(run, _)| *run);
    runs.into_iter().map(|(_, output)| output).collect()
}

/// The output of one run, new or stored; `None` if it crashed.
fn one(words: &[String], kept: &Path) -> Result<Option<Output>> {
    if let Ok(text) = std::fs::read_to_string(kept) {
        return read(&text);
    }
    let nice = ["nice", "-n", "5"].map(str::to_owned);
    let ended = command(&[&nice, words].concat()).output()?;
    let text = match ended.status.code() {
        Some(0) => String::from_utf8_lossy(&ended.stdout).into_owned(),
        // By a signal.
        None => CRASHED.to_owned(),
        Some(_) => bail!(
            "{}: {}",
            words.join(" "),
            String::from_utf8_lossy(&ended.stderr)
        ),
    };
    let output = read(&text).with_context(|| words.join(" "))?;
    // A run that is interrupted while it writes must not look like one that ended.
    let part = kept.with_extension("part");
    std::fs::write(&part, &text)?;
    std::fs::rename(&part, kept)?;
    Ok(output)
}

/// Stands for what a program that crashed has printed.
const CRASHED: &str = "crashed\n";

fn read(text: &str) -> Result<Option<Output>> {
    if text == CRASHED {
        return Ok(None);
    }
    Output::read(text).map(Some)
}

/// Where the run of this command line by this program is kept.
fn kept(program: &[u8], words: &[String]) -> PathBuf {
    let mut hasher = DefaultHasher::new();
    (program, words).hash(&mut hasher);
    Path::new(KEPT).join(format!("{:016x}.txt", hasher.finish()))
}

/// The version of ns-2's package.
pub(super) fn ns2_version() -> Result<String> {
    shell::output(&mut command(&[
        "dpkg-query",
        "-W",
        "-f",
        "${Version}",
        "ns2",
    ]))
}

#[cfg(test)]
mod tests {
    use super::super::cells;
    use super::*;

    #[test]
    fn both_programs_get_the_same_settings() {
        let cubic = cells::all()[4 * 18 + 1];
        let ns2 = Engine::Ns2.words(&cubic, 0).join(" ");
        assert_eq!(
            ns2,
            "ns interop/ns2/dumbbell.tcl rate=100 rtt=70 queue=145 time=90 warmup=20 ssthresh=291 flows=cubic@0;reno@0.618"
        );
        let switch = ["law=tcp/cubic:beta=0.8", "x=1"].map(str::to_owned);
        let ours = Engine::Ours(&switch).words(&cubic, 0);
        assert_eq!(ours[..8], Engine::Ours(&[]).words(&cubic, 0)[..8]);
        // The words of a switch follow the transport's words.
        assert_eq!(ours[7..9], ["every_ack=yes", "x=1"]);
        assert!(
            ours[9].starts_with("flows=tcp/cubic:beta=0.8@0;tcp/reno"),
            "{}",
            ours[9]
        );
    }
}

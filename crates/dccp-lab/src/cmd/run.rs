//! `dccplab run FILE`: plays the cells of a scenario, and shows and keeps what they measured.

use super::live;
use crate::args::{Backend, Placed, Run as Asked};
use crate::progress::Line;
use crate::store::{Store, check_distinct, check_replaceable, finished, replace};
use core::time::Duration;
use dccp_cli::{Failure, interrupt, print};
use dccp_lab::judge::verdict::AssertionVerdict;
use dccp_lab::output::json::Record;
use dccp_lab::output::{columns, csv, figure, json, parquet, table, verdicts};
use dccp_lab::run::pool::{News, play_all};
use dccp_lab::run::progress::Progress;
use dccp_lab::run::sim::{self, PlayError};
use dccp_lab::scenario::Scenario;
use dccp_lab::scenario::places::Place;
use dccp_lab::scenario::plan::{self, Run};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::BufWriter;
use std::path::Path;

/// Plays what was asked for, and prints the results.
pub(crate) fn run(asked: &Asked) -> Result<u8, Failure> {
    let scenario = super::scenario(&asked.file, asked.scale())?;
    let results = play_scenario(asked, &scenario)?;
    if asked.prints_json() {
        print(&format!("{}\n", results.document))?;
        return Ok(results.code);
    }
    let metrics = scenario.runs.first().map(|run| &run.measure.metrics[..]);
    let cells = results.document["cells"].as_array();
    let cells = cells.map_or(&[][..], Vec::as_slice);
    print(&table::of_cells(cells, metrics.unwrap_or_default()))?;
    print(&verdicts::of_assertions(&results.assertions))?;
    Ok(results.code)
}

/// The results of a scenario.
pub(crate) struct Results {
    pub(crate) document: Value,
    pub(crate) assertions: Vec<AssertionVerdict>,
    pub(crate) code: u8,
    /// Cells that were known from before.
    pub(crate) known: usize,
    /// Cells that were played now.
    pub(crate) played: usize,
}

/// Plays the cells that were asked for, judges them, and writes the files.
pub(crate) fn play_scenario(asked: &Asked, scenario: &Scenario) -> Result<Results, Failure> {
    if scenario.measures_this_machine() {
        refuse_network(asked)?;
    }
    let runs = at_backend(&chosen(scenario, &asked.cell)?, asked)?;
    let runs: Vec<&Run> = runs.iter().collect();
    live::prepare(asked, &runs)?;
    interrupt::listen()?;
    if let Some(pcap) = &asked.pcap {
        one_cell(&runs, pcap)?;
    }
    if asked.prints_json() && asked.resume {
        return Err(Failure::usage(
            "--json -: --resume needs a file with the results",
            "write --json FILE",
        ));
    }
    let record = Record {
        argv: asked.argv(),
        program_hash: program_hash()?,
        backend: (runs.first())
            .map_or(asked.backend.into(), |run| run.backend)
            .name(),
    };
    check_distinct(asked.files())?;
    for path in asked.csv.iter().chain(&asked.parquet) {
        check_replaceable(path)?;
    }
    for dir in asked.out.iter().chain(&asked.cells) {
        fs::create_dir_all(dir).map_err(|e| Failure::write(dir, &e))?;
    }
    // A file that is resumed may have cells that were not asked for now: they stay in it.
    let order: Vec<String> = if asked.resume {
        let whole = at_backend(&scenario.runs.iter().collect::<Vec<_>>(), asked)?;
        whole.iter().map(Run::key).collect()
    } else {
        runs.iter().map(|run| run.key()).collect()
    };
    // Opened before its contents are read: another run may be writing them.
    let mut store = match &asked.json {
        Some(path) if !asked.prints_json() => Some(Store::open(path, asked.resume)?),
        _ => None,
    };
    let mut stored = stored(asked, scenario, &order, &record)?;
    let mut cells = resumed(asked, &runs, &mut stored)?;
    let known = cells.iter().flatten().count();
    play(asked, &runs, &mut cells, &mut store, &record)?;
    let missing = cells.iter().filter(|cell| cell.is_none()).count();
    let played = cells.len() - missing - known;
    stored.extend(
        cells
            .into_iter()
            .flatten()
            .map(|cell| (key_of(&cell), cell)),
    );
    let cells: Vec<Value> = order.iter().filter_map(|key| stored.remove(key)).collect();
    let (assertions, outcome) = json::judge(scenario, &cells, cells.len() + missing);
    let document = json::document(scenario, &record, &cells, &assertions, outcome);
    if missing > 0 {
        explain_interruption(asked, cells.len(), missing);
    }
    // A run that was stopped does not replace the results of one that was not.
    let is_kept = missing > 0 && !asked.resume && asked.json.as_ref().is_some_and(|f| f.exists());
    if let Some(store) = store.filter(|_| !is_kept) {
        store.finish(&document)?;
    }
    write_tables(asked, &scenario.name, &cells)?;
    if let Some(dir) = &asked.out {
        draw(dir, &scenario.name, &runs, &cells)?;
    }
    Ok(Results {
        document,
        assertions,
        code: outcome.1,
        known,
        played,
    })
}

/// Says on the standard error what an interruption has left.
fn explain_interruption(asked: &Asked, finished: usize, missing: usize) {
    let next = match &asked.json {
        Some(_) if !asked.prints_json() => "; --resume goes on",
        _ => "",
    };
    eprintln!(
        "interrupted: {finished} of {} cells are finished{next}",
        finished + missing
    );
}

fn key_of(cell: &Value) -> String {
    cell["key"].as_str().unwrap_or_default().to_owned()
}

/// The cells that the command line names; all if it names none.
fn chosen<'a>(scenario: &'a Scenario, names: &[String]) -> Result<Vec<&'a Run>, Failure> {
    if names.is_empty() {
        return Ok(scenario.runs.iter().collect());
    }
    for name in names {
        if !scenario.runs.iter().any(|run| run.is_called(name)) {
            return Err(Failure::usage(
                format!("--cell {name}: there is no such cell"),
                "`dccplab check FILE` lists them",
            ));
        }
    }
    let is_chosen = |run: &&Run| names.iter().any(|name| run.is_called(name));
    Ok(scenario.runs.iter().filter(is_chosen).collect())
}

/// The same runs where they take place.
fn at_backend(runs: &[&Run], asked: &Asked) -> Result<Vec<Run>, Failure> {
    let placed = |run: &&Run| {
        let places = asked.hosts.iter().map(|placed| place(placed, run));
        Ok(Run {
            backend: match run.backend {
                plan::Backend::Machine(_) => run.backend,
                _ => asked.backend.into(),
            },
            places: places.collect::<Result<_, _>>()?,
            ..(*run).clone()
        })
    };
    runs.iter().map(placed).collect()
}

/// The node of a run that has a machine.
fn place(placed: &Placed, run: &Run) -> Result<Place, Failure> {
    let nodes = &run.network.nodes;
    let node = nodes.iter().position(|node| *node == placed.node);
    let node = node.ok_or_else(|| {
        Failure::usage(
            format!("--host {placed}: the scenario has no node {}", placed.node),
            format!("its nodes are {}", nodes.join(", ")),
        )
    })?;
    Ok(Place {
        node,
        host: placed.host.clone(),
    })
}

/// A scenario that measures this machine has no network, and its cells run one after another.
fn refuse_network(asked: &Asked) -> Result<(), Failure> {
    const NETWORK: &str = "without a network";
    let excess = [
        ("--backend", asked.backend != Backend::Sim, NETWORK),
        ("--host", !asked.hosts.is_empty(), NETWORK),
        ("--pcap", asked.pcap.is_some(), NETWORK),
        ("--jobs", asked.jobs.is_some(), "one cell after another"),
    ];
    match excess.iter().find(|(_, is_given, _)| *is_given) {
        None => Ok(()),
        Some((option, _, how)) => Err(Failure::usage(
            format!("{option}: a scenario with [bench] measures this machine, {how}"),
            format!("leave {option} out"),
        )),
    }
}

fn one_cell(runs: &[&Run], pcap: &Path) -> Result<(), Failure> {
    if runs.len() == 1 {
        return Ok(());
    }
    Err(Failure::usage(
        format!(
            "--pcap {}: a capture is of one cell, not of {}",
            pcap.display(),
            runs.len()
        ),
        "choose one with --cell; `dccplab check FILE` lists them",
    ))
}

/// The hash of this program: another build may give other results.
fn program_hash() -> Result<String, Failure> {
    let read = std::env::current_exe().and_then(fs::read);
    let bytes = read.map_err(|e| {
        Failure::run(
            format!("this program's file cannot be read: {e}"),
            "start it by its path",
        )
    })?;
    Ok(blake3::hash(&bytes).to_hex().to_string())
}

/// The cells in a file that is resumed, by their keys. `keys`: those of all its runs.
fn stored(
    asked: &Asked,
    scenario: &Scenario,
    keys: &[String],
    record: &Record,
) -> Result<BTreeMap<String, Value>, Failure> {
    let Some(path) = asked.json.as_ref().filter(|_| asked.resume) else {
        return Ok(BTreeMap::new());
    };
    finished(path, scenario, keys, &record.program_hash)
}

/// The cells that were asked for and are known from before.
fn resumed(
    asked: &Asked,
    runs: &[&Run],
    stored: &mut BTreeMap<String, Value>,
) -> Result<Vec<Option<Value>>, Failure> {
    let cells: Vec<_> = runs.iter().map(|run| stored.remove(&run.key())).collect();
    if !asked.resume {
        return Ok(cells);
    }
    let found = cells.iter().flatten().count();
    eprintln!("{found} of {} cells were finished before", cells.len());
    for cell in cells.iter().flatten() {
        write_cell(asked, cell)?;
    }
    Ok(cells)
}

/// Writes a finished cell into a file of its own, if that was asked for.
fn write_cell(asked: &Asked, cell: &Value) -> Result<(), Failure> {
    let Some(dir) = &asked.cells else {
        return Ok(());
    };
    let key = cell["key"].as_str().unwrap_or_default();
    let path = dir.join(format!("{}.json", short(key)));
    replace(&path, format!("{cell}\n").as_bytes())
}

/// Writes the tables that were asked for.
fn write_tables(asked: &Asked, scenario: &str, cells: &[Value]) -> Result<(), Failure> {
    if asked.csv.is_none() && asked.parquet.is_none() {
        return Ok(());
    }
    let table = columns::of_cells(scenario, cells);
    if let Some(path) = &asked.csv {
        replace(path, csv::of_table(&table).as_bytes())?;
    }
    if let Some(path) = &asked.parquet {
        replace(path, &parquet::of_table(&table))?;
    }
    Ok(())
}

/// The start of a key, as `dccplab check` shows it.
fn short(key: &str) -> &str {
    key.get(..12).unwrap_or(key)
}

/// Plays the cells that are missing.
fn play(
    asked: &Asked,
    runs: &[&Run],
    cells: &mut [Option<Value>],
    store: &mut Option<Store>,
    record: &Record,
) -> Result<(), Failure> {
    let missing = (0..runs.len()).filter(|&n| cells[n].is_none());
    let missing: Vec<usize> = missing.collect();
    let missing_runs: Vec<&Run> = missing.iter().map(|&n| runs[n]).collect();
    let known = (0..runs.len()).filter(|&n| cells[n].is_some());
    let known: Vec<&Run> = known.map(|n| runs[n]).collect();
    let mut line = Line::new(Progress::new(&missing_runs, &known));
    let mut keep = |n: usize, cell: Value| {
        if let Some(store) = store {
            store.keep(&record.program_hash, &cell)?;
        }
        write_cell(asked, &cell)?;
        cells[missing[n]] = Some(cell);
        Ok(())
    };
    let mut result = Ok(());
    if let (Some(pcap), [run]) = (&asked.pcap, &missing_runs[..]) {
        if let Some(cell) = play_captured(run, pcap, asked.snap, &mut line)? {
            result = keep(0, cell);
        }
        line.clear();
        return result;
    }
    let tell = |news: Option<News>| {
        if let Some(news) = &news {
            line.note(news);
        }
        if let Some(News::Over(n, outcome)) = news {
            let cell = match outcome {
                Ok(outcome) => json::cell(missing_runs[n], &outcome),
                Err(error) => json::failed(missing_runs[n], &error),
            };
            result = result.clone().and(keep(n, cell));
        }
        result.is_ok() && !interrupt::is_pressed()
    };
    play_at_backend(asked, &missing_runs, tell);
    line.clear();
    result
}

/// Plays runs where that was asked for: many at once in the simulator, one after another in real time.
fn play_at_backend(asked: &Asked, runs: &[&Run], tell: impl FnMut(Option<News>) -> bool) {
    if asked.backend != Backend::Sim {
        return live::play_all(asked.backend, runs, tell);
    }
    let cores = std::thread::available_parallelism().map_or(1, core::num::NonZero::get);
    play_all(runs, asked.jobs.map_or(cores, usize::from), tell);
}

/// Plays one cell and writes its packets to a file.
fn play_captured(
    run: &Run,
    pcap: &Path,
    snap: Option<u32>,
    line: &mut Line,
) -> Result<Option<Value>, Failure> {
    let write = |e: std::io::Error| Failure::write(pcap, &e);
    let file = File::create(pcap).map_err(write)?;
    let mut last = Duration::ZERO;
    let capture = sim::Capture {
        out: Box::new(BufWriter::new(file)),
        snap: snap.map_or(usize::MAX, |bytes| bytes as usize),
    };
    let outcome = sim::play(run, Some(capture), |at| {
        line.note(&News::Played(0, at.saturating_sub(last)));
        last = at;
        !interrupt::is_pressed()
    });
    match outcome {
        Ok(outcome) => Ok(outcome.map(|outcome| json::cell(run, &outcome))),
        Err(PlayError::Capture(error)) => Err(write(error)),
        Err(error) => Ok(Some(json::failed(run, &error.to_string()))),
    }
}

/// Draws each cell into a file of its own.
fn draw(dir: &Path, name: &str, runs: &[&Run], cells: &[Value]) -> Result<(), Failure> {
    let mut taken = BTreeSet::new();
    // A measurement of this machine has nothing to draw.
    let is_drawn = |cell: &&Value| cell["error"].is_null() && cell["summary"]["bench"].is_null();
    for cell in cells.iter().filter(is_drawn) {
        let label = cell["label"].as_str().unwrap_or_default();
        let label = if label.is_empty() { name } else { label };
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.=".contains(c);
        let file: String = label
            .chars()
            .map(|c| if is_plain(c) { c } else { '-' })
            .collect();
        let key = cell["key"].as_str().unwrap_or_default();
        let file = if taken.insert(file.clone()) {
            format!("{file}.svg")
        } else {
            // Labels that differ may be the same without what file names cannot have.
            format!("{file}-{}.svg", short(key))
        };
        let path = dir.join(file);
        let run = runs.iter().find(|run| run.key() == key);
        let svg = figure::of_cell(name, cell, run.copied())
            .to_svg()
            .map_err(|e| Failure::run(format!("{label}: {e}"), "leave out --out, or this cell"))?;
        fs::write(&path, svg).map_err(|e| Failure::write(&path, &e))?;
    }
    Ok(())
}

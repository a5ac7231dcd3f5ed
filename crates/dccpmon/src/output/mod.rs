//! How results look: a table while the test runs, and documents, pages and lines of other programs at its end.

pub(crate) mod capture;
mod csv;
mod file;
mod full;
mod gnuplot;
mod html;
mod iperf;
mod kept;
mod live;
mod progress;
pub(crate) mod safeudp;
#[cfg(test)]
pub(crate) mod sample;
pub(crate) mod stream;
mod summary;
mod table;
pub(crate) mod text;
mod udpmon;

use crate::result::check::Checks;
use crate::schema::{Document, Interval, Requested};
use dccp_cli::{Failure, exit, print};
use dccp_stats::Steadiness;
use file::{Files, ResultFile};
use kept::Kept;
use live::Live;
use progress::Progress;
use std::collections::BTreeMap;
use std::io::{Write as _, stderr};
use std::path::{Path, PathBuf};
use table::Table;

/// The outputs that the command line asks for.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Options {
    pub(crate) format: Format,
    /// More columns in the table.
    pub(crate) is_wide: bool,
    /// All counters of both hosts below the summary.
    pub(crate) is_full: bool,
    /// The file of the document.
    pub(crate) save: Option<PathBuf>,
    /// The file of the page.
    pub(crate) html: Option<PathBuf>,
    /// The files of captured packets.
    pub(crate) capture: capture::Files,
}

/// The form of standard output.
#[derive(clap::ValueEnum, Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum Format {
    /// A line for each interval, and a summary
    #[default]
    Table,
    /// Curves on the terminal while the test runs, and a summary
    Live,
    /// One JSON document at the end
    Json,
    /// A JSON object on each line while the test runs
    JsonStream,
    /// Comma-separated values, times in seconds and rates in bit/s
    Csv,
    /// Columns for gnuplot, as thrulay prints them
    Gnuplot,
    /// The line of `UDPmon` below its head, with `;` between the values
    Udpmon,
    /// The line of `UDPmon` without the head
    UdpmonRows,
    /// One page with pictures
    Html,
    /// The document of `iperf3 -J`
    Iperf3,
    /// Nothing but the outcome of --assert and --baseline
    None,
}

/// Further lines of a plan stand below its first word.
const PLAN_INDENT: usize = 6;

/// The outputs of one run.
pub(crate) struct Outputs<'a> {
    options: &'a Options,
    files: Files,
    /// The format, or its replacement where there is no terminal.
    format: Format,
    live: Option<Live>,
    table: Table,
    has_head: bool,
    /// The goodputs of each flow in all intervals.
    goodputs: BTreeMap<u32, Steadiness>,
    checks: Checks,
    kept: Kept,
    progress: Progress,
    /// The first failure to write.
    failure: Option<Failure>,
}

impl<'a> Outputs<'a> {
    /// Opens the files.
    ///
    /// # Errors
    /// A file cannot be written.
    pub(crate) fn new(
        options: &'a Options,
        checks: Checks,
        requested: &Requested,
    ) -> Result<Self, Failure> {
        Ok(Self {
            options,
            files: Files::create(options.save.as_deref(), options.html.as_deref())?,
            format: options.format,
            live: None,
            table: Table::new(requested, options.is_wide),
            has_head: false,
            goodputs: BTreeMap::new(),
            checks,
            kept: Kept::default(),
            progress: Progress::new(options.format == Format::Table),
            failure: None,
        })
    }

    /// A test with this plan begins. `document` holds what is known so far.
    pub(crate) fn begin(&mut self, plan: &str, document: &Document) {
        if self.format == Format::Live {
            let requested = &document.requested;
            let title = format!("{} to {}", document.kind, requested.host);
            self.live = Live::start(&title, requested.duration_ns);
            if self.live.is_none() {
                self.format = Format::Table;
            }
        }
        match self.format {
            Format::Table => self.say(&(text::wrapped(plan, PLAN_INDENT) + "\n")),
            Format::JsonStream => self.say(&stream::start(document)),
            _ => {}
        }
    }

    /// Shows a text beside the result, where the format has texts.
    pub(crate) fn note(&mut self, text: &str) {
        if matches!(self.format, Format::Table | Format::Live) {
            self.say(&(text::wrapped(text, PLAN_INDENT) + "\n"));
        }
    }

    /// An interval is over.
    pub(crate) fn interval(&mut self, interval: Interval) {
        for flow in &interval.flows {
            if let Some(goodput) = flow.goodput_bps {
                self.goodputs.entry(flow.id).or_default().add(goodput);
            }
        }
        let is_first = !core::mem::replace(&mut self.has_head, true);
        if let Some(live) = &self.live {
            live.add(&interval);
        } else {
            let text = rows(self.format, &self.table, &interval, is_first);
            self.say(&text);
        }
        let is_needed = matches!(self.format, Format::Json | Format::Html | Format::Iperf3)
            || self.options.save.is_some()
            || self.options.html.is_some()
            || !self.checks.is_empty();
        if is_needed {
            self.kept.add(interval);
        }
    }

    /// Shows how far the test is, on a terminal.
    pub(crate) fn progress(&mut self, elapsed_ns: u64, duration_ns: u64) {
        if let Some(live) = &self.live {
            live.progress(elapsed_ns);
        }
        self.progress.show(elapsed_ns, duration_ns);
    }

    /// Adds the intervals and the outcome of the checks to the result, and writes everything that needs it whole.
    ///
    /// # Errors
    /// A file or standard output could not be written.
    pub(crate) fn finish(mut self, document: &mut Document) -> Result<(), Failure> {
        if let Some(live) = self.live.take() {
            document.marks = live.finish();
        }
        for flow in document
            .summary
            .iter_mut()
            .flat_map(|summary| &mut summary.flows)
        {
            let goodputs = self.goodputs.get(&flow.id);
            flow.stability = goodputs.and_then(Steadiness::stability);
        }
        document.intervals = core::mem::take(&mut self.kept).into_intervals();
        if document.summary.is_some() && !self.checks.apply(document) && document.exit_code == 0 {
            document.exit_code = exit::ASSERTION;
        }
        let outcomes = document.assertions.iter().flatten();
        let outcomes = joined(outcomes.map(ToString::to_string));
        let text =
            missing_head(self.format, self.has_head, document) + &ending(self.format, document);
        self.say(&text);
        if self.options.is_full {
            self.say(&joined(full::lines(document)));
        }
        if matches!(self.format, Format::Table | Format::Live | Format::None) {
            self.say(&outcomes);
        } else {
            // A closed standard error does not change the outcome.
            let _ = stderr().write_all(outcomes.as_bytes());
        }
        let Files { save, html } = core::mem::take(&mut self.files);
        let mut written = Ok(());
        if let Some(file) = save {
            written = written.and(file.write(&(json(document) + "\n")));
        }
        if let Some(file) = html {
            written = written.and(file.write(&html::page(document)));
        }
        written.and(self.failure.map_or(Ok(()), Err))
    }

    fn say(&mut self, text: &str) {
        self.progress.clear();
        if let Err(failure) = print(text) {
            self.failure.get_or_insert(failure);
        }
    }
}

/// The lines of an interval, with the names of the columns before the first one.
fn rows(format: Format, table: &Table, interval: &Interval, is_first: bool) -> String {
    let (head, rows): (fn(&Table) -> String, Vec<String>) = match format {
        Format::Table | Format::Live => (Table::head, table.lines(interval)),
        Format::Csv => (|_| csv::head(), csv::interval(interval)),
        Format::Gnuplot => (|_| gnuplot::head(), gnuplot::interval(interval)),
        Format::JsonStream => return stream::interval(interval),
        Format::Json
        | Format::Udpmon
        | Format::UdpmonRows
        | Format::Html
        | Format::Iperf3
        | Format::None => return String::new(),
    };
    joined(is_first.then(|| head(table)).into_iter().chain(rows))
}

/// The end of the output, which needs the whole result.
fn ending(format: Format, document: &Document) -> String {
    match format {
        Format::Table | Format::Live => joined(summary::lines(document)),
        Format::JsonStream => {
            let mut last = document.clone();
            last.intervals.clear();
            stream::end(&last)
        }
        Format::Csv => joined(csv::totals(document)),
        Format::Gnuplot => joined(gnuplot::totals(document)),
        Format::Udpmon => joined(
            udpmon::head(document)
                .into_iter()
                .chain(udpmon::rows(document)),
        ),
        Format::UdpmonRows => joined(udpmon::rows(document)),
        Format::Json => json(document) + "\n",
        Format::Html => html::page(document),
        Format::Iperf3 => iperf::text(document),
        Format::None => String::new(),
    }
}

/// Prints the document of a test whose files cannot be used. Programs that read documents get one for each test.
///
/// # Errors
/// Standard output cannot be written.
pub(crate) fn show_failure(options: &Options, document: &Document) -> Result<(), Failure> {
    print(&ending(options.format, document))
}

/// A saved result in a format.
pub(crate) fn export(document: &Document, format: Format) -> String {
    let table = Table::new(&document.requested, false);
    let intervals = document.intervals.iter().enumerate();
    let mut text: String = intervals
        .map(|(n, interval)| rows(format, &table, interval, n == 0))
        .collect();
    if let Some(error) = document.error.as_ref().filter(|_| format == Format::Table) {
        text += &joined([error.what.clone(), error.next.clone()]);
    }
    text += &missing_head(format, !document.intervals.is_empty(), document);
    text + &ending(format, document)
}

/// The names of the columns above the totals of a test that was too short for an interval.
fn missing_head(format: Format, has_head: bool, document: &Document) -> String {
    let is_missing = !has_head && document.summary.is_some();
    match format {
        Format::Csv if is_missing => csv::head() + "\n",
        Format::Gnuplot if is_missing => gnuplot::head() + "\n",
        _ => String::new(),
    }
}

/// The document as JSON on one line.
pub(crate) fn json(document: &Document) -> String {
    serde_json::to_string(document).expect("keys are texts")
}

/// Lines, each with its end.
fn joined(lines: impl IntoIterator<Item = String>) -> String {
    lines.into_iter().map(|line| line + "\n").collect()
}

/// Writes a file whole or not at all.
///
/// # Errors
/// It cannot be written.
pub(crate) fn save(path: &Path, text: &str) -> Result<(), Failure> {
    ResultFile::create(path)?.write(text)
}

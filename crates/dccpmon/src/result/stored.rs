//! Reads documents that earlier runs wrote.

use crate::result::texts::{clean, is_moderate};
use crate::schema::{Document, Interval, SCHEMA};
use dccp_cli::Failure;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

/// Reads the document of a file, which `--save`, `--json` or `--json-stream` wrote.
///
/// # Errors
/// The file cannot be read or is no document of a finished run.
pub(crate) fn read(path: &Path) -> Result<Document, Failure> {
    let shown = path.display();
    let text = text(path).map_err(|e| {
        Failure::usage(
            format!("{shown} cannot be read: {e}"),
            "check the name of the file",
        )
    })?;
    parse(&text).map_err(|why| {
        Failure::usage(
            format!("{shown}: is no result of dccpmon ({why})"),
            "write one with `dccpmon HOST --save FILE`",
        )
    })
}

/// The longest file in bytes.
const FILE_MAX: u64 = 256 << 20;

/// The text of a file. A device may have no end.
fn text(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    let length = File::open(path)?
        .take(FILE_MAX + 1)
        .read_to_string(&mut text)?;
    if length as u64 > FILE_MAX {
        return Err(io::Error::other("it is longer than 256 MiB"));
    }
    Ok(text)
}

/// A line of a JSON stream.
#[derive(Deserialize)]
struct Line {
    event: String,
    data: Value,
}

/// A line of a JSON stream that another host sends while a test runs.
pub(crate) enum Event {
    /// An interval has ended.
    Interval(Interval),
    /// The document, without its intervals.
    End(Box<Document>),
    /// Nothing to show.
    Other,
}

/// Reads a line of a JSON stream. Its figures are checked like those of a file.
///
/// # Errors
/// It is none.
pub(crate) fn event(line: &str) -> Result<Event, String> {
    let line: Line = serde_json::from_str(line).map_err(|e| e.to_string())?;
    match line.event.as_str() {
        "interval" if !is_moderate(&line.data) => Err("a number is too great".into()),
        "interval" => {
            let interval: Interval = part(line.data)?;
            if interval.t0_ns > interval.t1_ns {
                return Err("an interval ends before it starts".into());
            }
            Ok(Event::Interval(interval))
        }
        "summary" | "error" => {
            let document: Box<Document> = part(line.data)?;
            check(&document)?;
            Ok(Event::End(document))
        }
        _ => Ok(Event::Other),
    }
}

/// A part of a document. Its texts can be those of any host, so they are made harmless before an error shows them.
fn part<T: DeserializeOwned>(mut value: Value) -> Result<T, String> {
    clean(&mut value, usize::MAX);
    serde_json::from_value(value).map_err(|e| e.to_string())
}

/// Checks what figures are computed from: a file can hold anything.
fn check(document: &Document) -> Result<(), String> {
    let summary = document.summary.as_ref();
    let values = [
        serde_json::to_value(summary),
        serde_json::to_value(&document.intervals),
        serde_json::to_value(&document.negotiated),
        serde_json::to_value(&document.hosts),
    ];
    let are_moderate = |value: &Result<Value, _>| value.as_ref().is_ok_and(is_moderate);
    if !values.iter().all(are_moderate) {
        return Err("a number is too great".into());
    }
    if document.intervals.iter().any(|i| i.t0_ns > i.t1_ns) {
        return Err("an interval ends before it starts".into());
    }
    let ledgers = summary.into_iter().flat_map(|summary| &summary.flows);
    let mut ledgers = ledgers.filter_map(|flow| flow.ledger);
    if ledgers.any(|ledger| !ledger.is_closed()) {
        return Err("the sums of a ledger are wrong".into());
    }
    Ok(())
}

fn parse(text: &str) -> Result<Document, String> {
    let lines: Result<Vec<Line>, _> = text.lines().map(serde_json::from_str).collect();
    let document: Document = match lines {
        Ok(lines) if !lines.is_empty() => {
            let mut intervals = Vec::new();
            let mut document: Option<Document> = None;
            for line in lines {
                match line.event.as_str() {
                    "interval" => {
                        let interval: Interval = part(line.data)?;
                        intervals.push(interval);
                    }
                    "summary" | "error" => {
                        document = Some(part(line.data)?);
                    }
                    _ => {}
                }
            }
            let mut document = document.ok_or("the run has not ended")?;
            document.intervals = intervals;
            document
        }
        _ => part(serde_json::from_str(text).map_err(|e| e.to_string())?)?,
    };
    if document.schema != SCHEMA {
        return Err(format!("its schema is {}", document.schema));
    }
    check(&document)?;
    Ok(document)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::{json, sample, stream};

    #[test]
    fn document_is_read_as_it_was_written() {
        let document = sample::document();
        assert_eq!(parse(&json(&document)).as_ref(), Ok(&document));
        let pretty = serde_json::to_string_pretty(&document).unwrap();
        assert_eq!(parse(&pretty).as_ref(), Ok(&document));
    }

    // goal 37: the lines of a stream together are the document.
    #[test]
    fn stream_rebuilds_the_document() {
        let document = sample::two_flows();
        let mut last = document.clone();
        let intervals = core::mem::take(&mut last.intervals);
        let mut text = stream::start(&last);
        text.extend(intervals.iter().map(stream::interval));
        assert!(parse(&text).unwrap_err().contains("has not ended"));
        text += &stream::end(&last);
        assert_eq!(parse(&text), Ok(document));
    }

    #[test]
    fn lines_of_another_host_are_checked() {
        let mut document = sample::document();
        let line = stream::interval(&document.intervals[0]);
        assert!(matches!(event(&line), Ok(Event::Interval(_))));
        let line = line.replace("\"t0_ns\":0,", "\"t0_ns\":9000000000,");
        assert!(event(&line).is_err(), "{line}");
        assert!(matches!(event(&stream::start(&document)), Ok(Event::Other)));
        assert!(matches!(event(&stream::end(&document)), Ok(Event::End(_))));
        let summary = document.summary.as_mut().unwrap();
        summary.flows[0].ledger.as_mut().unwrap().sent = 1;
        assert!(event(&stream::end(&document)).is_err());
    }

    #[test]
    fn documents_with_wrong_figures_are_refused() {
        let changed = |change: fn(&mut Document)| {
            let mut document = sample::document();
            change(&mut document);
            parse(&json(&document)).unwrap_err()
        };
        let wrong = changed(|document| {
            let summary = document.summary.as_mut().unwrap();
            summary.flows[0].ledger.as_mut().unwrap().sent = 1;
        });
        assert_eq!(wrong, "the sums of a ledger are wrong");
        let huge = changed(|document| {
            let summary = document.summary.as_mut().unwrap();
            let ledger = summary.flows[0].ledger.as_mut().unwrap();
            (ledger.sent, ledger.delivered) = (u64::MAX, u64::MAX);
        });
        assert_eq!(huge, "a number is too great");
        let backwards = changed(|document| document.intervals[1].t1_ns = 0);
        assert_eq!(backwards, "an interval ends before it starts");
    }

    #[test]
    fn texts_of_a_file_cannot_rewrite_the_terminal() {
        let mut document = sample::document();
        let flow = &mut document.intervals[0].flows[0];
        flow.cc_state = Some("\u{1b}[31mred".into());
        let read = parse(&json(&document)).unwrap();
        let state = read.intervals[0].flows[0].cc_state.as_deref();
        assert_eq!(state, Some("\u{fffd}[31mred"));
        let wrong = json(&document).replace("\"complete\"", "\"\\u001b[2J\"");
        let why = parse(&wrong).unwrap_err();
        assert!(!why.contains('\u{1b}'), "{why:?}");
    }

    #[test]
    fn other_files_are_no_documents() {
        let mut other = sample::document();
        other.schema = "dccpmon/2".into();
        assert_eq!(parse(&json(&other)).unwrap_err(), "its schema is dccpmon/2");
        for text in ["", "{}", "[1]", "text"] {
            parse(text).unwrap_err();
        }
    }
}

//! Reads documents that earlier runs wrote.

use crate::schema::{Document, Interval, SCHEMA};
use dccp_cli::Failure;
use serde::Deserialize;
use serde_json::Value;
use std::path::Path;

/// Reads the document of a file, which `--save`, `--json` or `--json-stream` wrote.
///
/// # Errors
/// The file cannot be read or is no document of a finished run.
pub(crate) fn read(path: &Path) -> Result<Document, Failure> {
    let shown = path.display();
    let text = std::fs::read_to_string(path).map_err(|e| {
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

/// A line of a JSON stream.
#[derive(Deserialize)]
struct Line {
    event: String,
    data: Value,
}

fn parse(text: &str) -> Result<Document, String> {
    let invalid = |e: serde_json::Error| e.to_string();
    let lines: Result<Vec<Line>, _> = text.lines().map(serde_json::from_str).collect();
    let document: Document = match lines {
        Ok(lines) if !lines.is_empty() => {
            let mut intervals = Vec::new();
            let mut document: Option<Document> = None;
            for line in lines {
                match line.event.as_str() {
                    "interval" => {
                        let interval: Interval =
                            serde_json::from_value(line.data).map_err(invalid)?;
                        intervals.push(interval);
                    }
                    "summary" | "error" => {
                        document = Some(serde_json::from_value(line.data).map_err(invalid)?);
                    }
                    _ => {}
                }
            }
            let mut document = document.ok_or("the run has not ended")?;
            document.intervals = intervals;
            document
        }
        _ => serde_json::from_str(text).map_err(invalid)?,
    };
    if document.schema != SCHEMA {
        return Err(format!("its schema is {}", document.schema));
    }
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
    fn other_files_are_no_documents() {
        let mut other = sample::document();
        other.schema = "dccpmon/2".into();
        assert_eq!(parse(&json(&other)).unwrap_err(), "its schema is dccpmon/2");
        for text in ["", "{}", "[1]", "text"] {
            parse(text).unwrap_err();
        }
    }
}

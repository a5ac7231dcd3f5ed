//! The result as lines of JSON while the test runs.
//!
//! Each line is `{"event":E,"data":D}`. `start` and `summary` hold the document without its intervals, `interval` holds
//! one of them, `error` the document of a test without a result. So the summary with all intervals is the whole document.

use crate::schema::{Document, Interval};
use serde::Serialize;

#[derive(Serialize)]
struct Line<'a, T> {
    event: &'static str,
    data: &'a T,
}

fn line<T: Serialize>(event: &'static str, data: &T) -> String {
    let line = Line { event, data };
    serde_json::to_string(&line).expect("keys are texts") + "\n"
}

pub(crate) fn start(document: &Document) -> String {
    line("start", document)
}

pub(crate) fn interval(interval: &Interval) -> String {
    line("interval", interval)
}

/// The last line.
pub(crate) fn end(document: &Document) -> String {
    let has_result = document.summary.is_some()
        || document.points.is_some()
        || document.rr.is_some()
        || document.media.is_some();
    let event = if has_result { "summary" } else { "error" };
    line(event, document)
}

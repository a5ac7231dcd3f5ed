//! The file of points: a line of JSON each, appended when the point has been played.

use crate::cli::Bulk;
use crate::load::shape::Shape;
use crate::result::texts::is_moderate;
use crate::schema::{Point, Transport};
use dccp_cli::Failure;
use serde::{Deserialize, Serialize};
use std::fs::{self, File, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};

/// The settings of a point.
#[derive(Serialize, Deserialize, Clone, PartialEq, Debug)]
#[serde(deny_unknown_fields)]
struct Question {
    host: String,
    udp_port: u16,
    transport: Transport,
    over: String,
    ccid: u8,
    cc: Option<String>,
    packets: Option<u64>,
    packet_bytes: Option<usize>,
    shape: Shape,
}

impl Question {
    fn new(test: &Bulk) -> Self {
        Self {
            host: test.host.clone(),
            udp_port: test.udp_port,
            transport: test.transport,
            over: test.over.to_string(),
            ccid: test.ccid,
            cc: test.cc(0),
            packets: test.packets,
            packet_bytes: test.length,
            shape: test.shape.clone(),
        }
    }
}

/// A line of the file.
#[derive(Serialize, Deserialize, Clone, PartialEq, Debug)]
#[serde(deny_unknown_fields)]
struct Line {
    requested: Question,
    point: Point,
}

/// Reads a line. A file can hold anything, and figures are computed from its numbers.
fn read(line: &str) -> Result<Line, String> {
    let line: Line = serde_json::from_str(line).map_err(|e| e.to_string())?;
    let point = serde_json::to_value(&line.point).map_err(|e| e.to_string())?;
    if is_moderate(&point) {
        Ok(line)
    } else {
        Err("a number is too great".into())
    }
}

fn unusable(path: &Path, why: &str) -> Failure {
    Failure::usage(
        format!("{}: holds no points of a sweep ({why})", path.display()),
        "write another file, or leave --resume out",
    )
}

/// The file, and what it has from earlier runs.
pub(super) struct PointFile {
    out: Option<(PathBuf, File)>,
    known: Vec<Line>,
}

impl PointFile {
    /// Opens the file, if there is one. With `keep` it reads the points that are in it.
    pub(super) fn open(path: Option<&Path>, keep: bool) -> Result<Self, Failure> {
        let Some(path) = path else {
            return Ok(Self {
                out: None,
                known: Vec::new(),
            });
        };
        let mut text = String::new();
        if keep && path.exists() {
            text = fs::read_to_string(path).map_err(|e| unusable(path, &e.to_string()))?;
            // A run that was killed can leave a part of a line.
            let whole = text.rfind('\n').map_or(0, |end| end + 1);
            text.truncate(whole);
        }
        let known: Result<Vec<Line>, String> = text.lines().map(read).collect();
        let known = known.map_err(|e| unusable(path, &e))?;
        let open = || {
            fs::write(path, &text)?;
            OpenOptions::new().append(true).open(path)
        };
        let file = open().map_err(|e| Failure::write(path, &e))?;
        Ok(Self {
            out: Some((path.to_owned(), file)),
            known,
        })
    }

    /// The point of the same question, if the file has it.
    pub(super) fn find(&self, test: &Bulk) -> Option<Point> {
        let asked = Question::new(test);
        let line = self.known.iter().find(|line| line.requested == asked)?;
        Some(line.point.clone())
    }

    /// Appends a point.
    pub(super) fn add(&mut self, test: &Bulk, point: &Point) -> Result<(), Failure> {
        let Some((path, file)) = &mut self.out else {
            return Ok(());
        };
        let line = Line {
            requested: Question::new(test),
            point: point.clone(),
        };
        let written = serde_json::to_string(&line).map_err(std::io::Error::from);
        written
            .and_then(|json| file.write_all((json + "\n").as_bytes()))
            .map_err(|e| Failure::write(path, &e))
    }
}

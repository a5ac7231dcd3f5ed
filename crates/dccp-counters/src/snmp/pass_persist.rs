//! The protocol of `pass_persist`: lines of text over the standard streams (snmpd.conf(5)).

use super::tree::{Oid, Tree};
use crate::snapshot::Snapshot;
use core::time::Duration;
use std::io::{self, BufRead, Read, Write};
use std::time::Instant;

/// The longest line in bytes: 128 arcs of ten digits and a dot each, and the end of the line.
const LINE_MAX: u64 = 128 * 11 + 1;

/// The time that a snapshot serves requests. An agent asks for one object at a time.
const FRESH: Duration = Duration::from_secs(1);

/// Answers the agent's requests until its input ends. `read` gets the counters, at most once a second.
///
/// Objects that do not exist, unknown commands and a failure of `read` give `NONE`. No object can be set.
///
/// # Errors
/// When the streams fail, or a line is longer than any number of an object.
pub fn pass_persist(
    input: impl Read,
    mut output: impl Write,
    read: &mut dyn FnMut() -> io::Result<Snapshot>,
) -> io::Result<()> {
    let mut input = io::BufReader::new(input);
    let mut cache = Cache {
        tree: Tree::default(),
        read_at: None,
    };
    while let Some(command) = next_line(&mut input)? {
        let answer = match command.trim() {
            "PING" => "PONG\n".into(),
            "get" => {
                let oid = next_line(&mut input)?.unwrap_or_default();
                answer(&oid, |oid| cache.tree(read).get(oid))
            }
            "getnext" => {
                let oid = next_line(&mut input)?.unwrap_or_default();
                answer(&oid, |oid| cache.tree(read).next(oid))
            }
            "set" => {
                // The object, then its type and value.
                next_line(&mut input)?;
                next_line(&mut input)?;
                "not-writable\n".into()
            }
            // An agent that stops sends an empty command.
            "" => return Ok(()),
            _ => "NONE\n".into(),
        };
        output.write_all(answer.as_bytes())?;
        output.flush()?;
    }
    Ok(())
}

/// The answer about the object that `find` finds.
fn answer<'t>(
    oid: &str,
    find: impl FnOnce(&Oid) -> Option<(&'t Oid, &'t super::tree::Value)>,
) -> String {
    match Oid::parse(oid.trim()).as_ref().and_then(find) {
        Some((oid, value)) => format!("{oid}\n{}\n{value}\n", value.kind()),
        None => "NONE\n".into(),
    }
}

/// The next line; `None` at the end of the input.
fn next_line(input: &mut impl BufRead) -> io::Result<Option<String>> {
    let mut line = Vec::new();
    input.take(LINE_MAX).read_until(b'\n', &mut line)?;
    if line.len() as u64 == LINE_MAX && !line.ends_with(b"\n") {
        let problem = "a line of the agent is longer than any number of an object";
        return Err(io::Error::new(io::ErrorKind::InvalidData, problem));
    }
    Ok((!line.is_empty()).then(|| String::from_utf8_lossy(&line).into_owned()))
}

/// The objects of the last snapshot.
struct Cache {
    tree: Tree,
    read_at: Option<Instant>,
}

impl Cache {
    fn tree(&mut self, read: &mut dyn FnMut() -> io::Result<Snapshot>) -> &Tree {
        #[expect(
            clippy::disallowed_methods,
            reason = "an age of a cache is no time of the protocol"
        )]
        let now = Instant::now();
        let is_fresh = |at: Instant| now.duration_since(at) < FRESH;
        if !self.read_at.is_some_and(is_fresh) {
            self.tree = read().map_or_else(|_| Tree::default(), |snapshot| Tree::new(&snapshot));
            self.read_at = Some(now);
        }
        &self.tree
    }
}

#[cfg(test)]
mod tests;

//! The configuration file: options of the command line as keys of TOML.

use super::command;
use crate::limits::FILE_MAX;
use clap::ArgMatches;
use clap::parser::ValueSource;
use dccp_cli::Failure;
use dccp_cli::args::hint_of_key;
use std::ffi::OsString;
use std::io::Read as _;
use std::path::Path;
use toml::{Table, Value};

/// Reads the options of a file, as words of the command line of the subcommand `name`. Leaves out those that the command
/// line has: `given`.
///
/// # Errors
/// The file cannot be read, is no TOML, or has an unknown key or a value of a wrong type.
pub(super) fn words(path: &Path, name: &str, given: &ArgMatches) -> Result<Vec<OsString>, Failure> {
    let text = read(path)?;
    let table: Table = toml::from_str(&text).map_err(|e| {
        let what = e.to_string();
        let what: Vec<&str> = what.split_whitespace().collect();
        let failure = Failure::usage(what.join(" "), "write for example max-age = \"200ms\"");
        located(path, failure)
    })?;
    let command = command();
    let arguments = command
        .find_subcommand(name)
        .into_iter()
        .flat_map(clap::Command::get_arguments);
    let known: Vec<(&str, &str)> = arguments
        .filter_map(|argument| Some((argument.get_long()?, argument.get_id().as_str())))
        .filter(|(long, _)| !["config", "help"].contains(long))
        .collect();
    let mut words = Vec::new();
    for (key, value) in &table {
        let Some((_, id)) = known.iter().find(|(long, _)| long == key) else {
            let failure = Failure::usage(
                format!("{key}: there is no such key"),
                hint_of_key(key, known.iter().map(|(long, _)| *long)),
            );
            return Err(located(path, failure));
        };
        let values = values(key, value).map_err(|failure| located(path, failure))?;
        if given.value_source(id) != Some(ValueSource::CommandLine) {
            words.extend(
                values
                    .iter()
                    .map(|v| OsString::from(format!("--{key}={v}"))),
            );
        }
    }
    Ok(words)
}

/// Adds the file's name to a failure.
pub(super) fn located(path: &Path, failure: Failure) -> Failure {
    Failure {
        what: format!("{}: {}", path.display(), failure.what),
        ..failure
    }
}

fn read(path: &Path) -> Result<String, Failure> {
    let unreadable = |e: &std::io::Error| {
        let failure = Failure::usage(
            format!("cannot be read: {e}"),
            "check the name of the file and its permissions",
        );
        located(path, failure)
    };
    let file = std::fs::File::open(path).map_err(|e| unreadable(&e))?;
    let mut text = String::new();
    // A device has no length, and may have no end.
    let length = file.take(FILE_MAX + 1).read_to_string(&mut text);
    if length.map_err(|e| unreadable(&e))? as u64 > FILE_MAX {
        let failure = Failure::usage("is longer than 64 KiB", "write the options only");
        return Err(located(path, failure));
    }
    Ok(text)
}

/// The texts of a value: several of a list.
fn values(key: &str, value: &Value) -> Result<Vec<String>, Failure> {
    match value {
        Value::String(text) => Ok(vec![text.clone()]),
        Value::Integer(number) => Ok(vec![number.to_string()]),
        Value::Array(list) if key == "at" => {
            let texts = list.iter().map(|item| item.as_str().map(str::to_owned));
            let texts: Option<Vec<String>> = texts.collect();
            texts.ok_or_else(|| wrong_type(key))
        }
        _ => Err(wrong_type(key)),
    }
}

fn wrong_type(key: &str) -> Failure {
    let (problem, next) = if key == "at" {
        (
            "must be a text or a list of texts",
            "write for example at = [\"192.0.2.10:14233/5002\"]",
        )
    } else {
        (
            "must be a text or a whole number",
            "write for example max-age = \"200ms\"",
        )
    };
    Failure::usage(format!("{key}: {problem}"), next)
}

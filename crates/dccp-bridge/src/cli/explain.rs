//! Errors of the command line, in two lines each.

use super::values::BadValue;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use dccp_cli::Failure;

/// Formats an error of clap in two lines. `name`: the subcommand.
pub(super) fn explain(e: &clap::Error, name: &str) -> Failure {
    let list = match name {
        "listen" | "connect" => format!("`dccp-bridge {name} --help` lists the options"),
        _ => "`dccp-bridge --help` lists the subcommands".to_owned(),
    };
    let context = |kind| match e.get(kind) {
        Some(ContextValue::String(s)) => Some(s.clone()),
        Some(ContextValue::Strings(list)) => list.first().cloned(),
        _ => None,
    };
    let argument = context(ContextKind::InvalidArg).unwrap_or_default();
    let word = argument.split_whitespace().next().unwrap_or_default();
    let value = context(ContextKind::InvalidValue).unwrap_or_default();
    match e.kind() {
        ErrorKind::UnknownArgument if !word.starts_with('-') => Failure::usage(
            format!("{word}: one word too many"),
            "write a name before each value, such as --udp 127.0.0.1:5004",
        ),
        ErrorKind::UnknownArgument => {
            let next = match context(ContextKind::SuggestedArg) {
                Some(known) => format!("did you mean {known}?"),
                None => list,
            };
            Failure::usage(format!("{word}: there is no such option"), next)
        }
        ErrorKind::InvalidSubcommand => {
            let wrong = context(ContextKind::InvalidSubcommand).unwrap_or_default();
            let next = match context(ContextKind::SuggestedSubcommand) {
                Some(known) => format!("did you mean {known}?"),
                None => list,
            };
            Failure::usage(format!("{wrong}: there is no such subcommand"), next)
        }
        ErrorKind::MissingRequiredArgument if name == "man" => Failure::usage(
            "there is no folder for the pages",
            "write for example `dccp-bridge man pages`",
        ),
        ErrorKind::MissingRequiredArgument | ErrorKind::InvalidValue if name == "completions" => {
            let what = if value.is_empty() {
                "there is no shell to complete for".to_owned()
            } else {
                format!("{value}: completions for this shell do not exist")
            };
            Failure::usage(what, "write bash, elvish, fish, powershell or zsh")
        }
        ErrorKind::MissingSubcommand | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            Failure::usage(
                "which side of the bridge is this?",
                "write `dccp-bridge connect` where programs send, `dccp-bridge listen` on the other host",
            )
        }
        ErrorKind::ArgumentConflict => {
            Failure::usage(format!("{word} is given twice"), "leave one of them out")
        }
        ErrorKind::ValueValidation => {
            let source = core::error::Error::source(e);
            let known = source.and_then(|source| source.downcast_ref::<BadValue>());
            let (problem, next) = known.map_or_else(
                || ("is not valid".to_owned(), list.clone()),
                |bad| (bad.problem.clone(), bad.next.clone()),
            );
            Failure::usage(format!("{word} {value}: {problem}"), next)
        }
        ErrorKind::InvalidValue if value.is_empty() => {
            Failure::usage(format!("{word} needs a value"), list)
        }
        ErrorKind::InvalidValue => {
            let choices = match e.get(ContextKind::ValidValue) {
                Some(ContextValue::Strings(valid)) => format!("choose one of {}", valid.join(", ")),
                _ => list,
            };
            Failure::usage(format!("{word} {value}: there is no such choice"), choices)
        }
        kind => Failure::usage(kind.as_str().unwrap_or("invalid command line"), list),
    }
}

//! Errors of the command line, in two lines each.

use super::values::BadValue;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use dccp_cli::Failure;

/// Options that are planned, with iperf3's letters.
const LATER_OPTIONS: &[&str] = &[
    "-A", "-B", "-D", "-M", "-N", "-O", "-S", "-V", "-n", "--cport", "--dscp", "--plot", "--probe",
];

fn not_yet(word: &str) -> Failure {
    Failure::usage(
        format!("{word}: is not implemented yet"),
        "leave it out; `dccpmon bulk --help` lists the options",
    )
}

/// The failure of a test without a host.
pub(super) fn no_host() -> Failure {
    Failure::usage(
        "there is no host to measure to",
        "write `dccpmon HOST`, or `dccpmon serve` on the other host",
    )
}

/// The failure of an option that needs the one with the name `word`; `None` if no option needs that.
fn needs(word: &str) -> Option<Failure> {
    let (what, next) = match word {
        "--baseline" => (
            "--noise: there is no baseline that figures may be worse than",
            "add --baseline FILE, or leave --noise out",
        ),
        "--pcap" => (
            "--snap: there is no pcapng file for packets",
            "add --pcap FILE, or leave --snap out",
        ),
        "--out" => (
            "--resume: there is no file with points",
            "add --out FILE, or leave --resume out",
        ),
        _ => return None,
    };
    Some(Failure::usage(what, next))
}

fn no_from() -> Failure {
    Failure::usage(
        "--to: no server is named that measures to it",
        "add --from SERVER, or write the host alone",
    )
}

/// Formats an error of clap in two lines.
pub(super) fn explain(e: &clap::Error, command: &str) -> Failure {
    let list = format!("`dccpmon {command} --help` lists the options");
    let context = |kind| match e.get(kind) {
        Some(ContextValue::String(s)) => Some(s.clone()),
        Some(ContextValue::Strings(list)) => list.first().cloned(),
        _ => None,
    };
    let argument = context(ContextKind::InvalidArg).unwrap_or_default();
    let word = argument.split_whitespace().next().unwrap_or_default();
    match e.kind() {
        ErrorKind::UnknownArgument if LATER_OPTIONS.contains(&word) => not_yet(word),
        ErrorKind::UnknownArgument if !word.starts_with('-') => Failure::usage(
            format!("{word}: one word too many"),
            match command {
                "serve" => "write `dccpmon serve` and options; it needs no host",
                "doctor" => "write `dccpmon doctor`; it needs no host",
                "man" | "completions" => "write one word behind the subcommand",
                "compare" => "write two files",
                "export" | "monitor" => "write one file",
                _ => "write one host, and a letter before each value",
            },
        ),
        ErrorKind::UnknownArgument => {
            let next = match context(ContextKind::SuggestedArg) {
                Some(known) => format!("did you mean {known}?"),
                None => list,
            };
            Failure::usage(format!("{word}: there is no such option"), next)
        }
        ErrorKind::MissingRequiredArgument if word == "--from" => no_from(),
        ErrorKind::MissingRequiredArgument if let Some(failure) = needs(word) => failure,
        ErrorKind::MissingRequiredArgument if command == "man" => Failure::usage(
            "there is no folder for the pages",
            "write for example `dccpmon man pages`",
        ),
        ErrorKind::MissingRequiredArgument | ErrorKind::InvalidValue
            if command == "completions" =>
        {
            let value = context(ContextKind::InvalidValue).filter(|value| !value.is_empty());
            Failure::usage(
                match value {
                    Some(shell) => format!("{shell}: completions for this shell do not exist"),
                    None => "there is no shell to complete for".to_owned(),
                },
                "write bash, elvish, fish, powershell or zsh",
            )
        }
        ErrorKind::MissingRequiredArgument if command == "ping" => {
            Failure::usage("there is no host to probe", "write `dccpmon ping HOST`")
        }
        ErrorKind::MissingRequiredArgument
            if ["compare", "export", "monitor"].contains(&command) =>
        {
            Failure::usage(format!("{command}: a file is missing"), list)
        }
        ErrorKind::MissingRequiredArgument
        | ErrorKind::MissingSubcommand
        | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => no_host(),
        ErrorKind::ArgumentConflict if word.starts_with("--ipv") => Failure::usage(
            "-4 and -6 exclude each other",
            "leave both out to use what the host's name gives",
        ),
        ErrorKind::ArgumentConflict => {
            let other = context(ContextKind::PriorArg).unwrap_or_default();
            let other = other.split_whitespace().next().unwrap_or_default();
            if word == other {
                return Failure::usage(format!("{word} is given twice"), "leave one of them out");
            }
            // The host stands in brackets, because --to can replace it.
            let word = word.trim_matches(['[', ']']);
            Failure::usage(
                format!("{word} and {other} exclude each other"),
                "leave one of them out",
            )
        }
        ErrorKind::ValueValidation => {
            let value = context(ContextKind::InvalidValue).unwrap_or_default();
            let source = core::error::Error::source(e);
            let known = source.and_then(|source| source.downcast_ref::<BadValue>());
            let (problem, next) = known.map_or_else(
                || ("is not valid".to_owned(), list.clone()),
                |bad| (bad.problem.clone(), bad.next.clone()),
            );
            Failure::usage(format!("{word} {value}: {problem}"), next)
        }
        ErrorKind::InvalidValue
            if let Some(ContextValue::Strings(valid)) = e.get(ContextKind::ValidValue)
                && let Some(value) =
                    context(ContextKind::InvalidValue).filter(|v| !v.is_empty()) =>
        {
            Failure::usage(
                format!("{word} {value}: there is no such choice"),
                format!("choose one of {}", valid.join(", ")),
            )
        }
        ErrorKind::InvalidValue => Failure::usage(format!("{word} needs a value"), list),
        ErrorKind::TooManyValues => Failure::usage(format!("{word} takes no value"), list),
        _ => Failure::usage(
            e.kind().as_str().unwrap_or("invalid command line"),
            "write `dccpmon HOST` or `dccpmon serve`; see `dccpmon --help`",
        ),
    }
}

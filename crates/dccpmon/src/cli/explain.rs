//! Errors of the command line, in two lines each.

use clap::error::ErrorKind;
use dccp_cli::Failure;
use dccp_cli::args::Refused;

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
    let refused = Refused {
        error: e,
        program: "dccpmon",
        command,
        list: &list,
    };
    let word = &refused.word()[..];
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
        ErrorKind::MissingRequiredArgument if word == "--from" => no_from(),
        ErrorKind::MissingRequiredArgument if let Some(failure) = needs(word) => failure,
        ErrorKind::MissingRequiredArgument if command == "ping" => {
            Failure::usage("there is no host to probe", "write `dccpmon ping HOST`")
        }
        ErrorKind::MissingRequiredArgument
            if ["compare", "export", "monitor"].contains(&command) =>
        {
            Failure::usage(format!("{command}: a file is missing"), list)
        }
        ErrorKind::MissingRequiredArgument if !["man", "completions"].contains(&command) => {
            no_host()
        }
        ErrorKind::MissingSubcommand | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            no_host()
        }
        ErrorKind::ArgumentConflict if word.starts_with("--ipv") => Failure::usage(
            "-4 and -6 exclude each other",
            "leave both out to use what the host's name gives",
        ),
        kind => refused.explain().unwrap_or_else(|| {
            Failure::usage(
                kind.as_str().unwrap_or("invalid command line"),
                "write `dccpmon HOST` or `dccpmon serve`; see `dccpmon --help`",
            )
        }),
    }
}

//! Errors of the command line, in two lines each.

use clap::error::{ContextKind, ErrorKind};
use dccp_cli::Failure;
use dccp_cli::args::Refused;

/// Formats an error of clap in two lines. `name`: the subcommand.
pub(super) fn explain(e: &clap::Error, name: &str) -> Failure {
    let list = match name {
        "listen" | "connect" => format!("`dccp-bridge {name} --help` lists the options"),
        _ => "`dccp-bridge --help` lists the subcommands".to_owned(),
    };
    let refused = Refused {
        error: e,
        program: "dccp-bridge",
        command: name,
        list: &list,
    };
    let word = refused.word();
    match e.kind() {
        ErrorKind::UnknownArgument if !word.starts_with('-') => Failure::usage(
            format!("{word}: one word too many"),
            "write a name before each value, such as --udp 127.0.0.1:5004",
        ),
        ErrorKind::InvalidSubcommand => {
            let wrong = refused.context(ContextKind::InvalidSubcommand);
            Failure::usage(
                format!("{}: there is no such subcommand", wrong.unwrap_or_default()),
                refused.nearest(ContextKind::SuggestedSubcommand),
            )
        }
        ErrorKind::MissingSubcommand | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            Failure::usage(
                "which side of the bridge is this?",
                "write `dccp-bridge connect` where programs send, `dccp-bridge listen` on the other host",
            )
        }
        kind => refused.explain().unwrap_or_else(|| {
            Failure::usage(
                kind.as_str().unwrap_or("invalid command line"),
                list.clone(),
            )
        }),
    }
}

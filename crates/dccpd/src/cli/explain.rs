//! Errors of the command line, in two lines each.

use clap::error::{ContextKind, ErrorKind};
use dccp_cli::Failure;
use dccp_cli::args::Refused;

/// Formats an error of clap in two lines. `name`: the subcommand.
pub(super) fn explain(e: &clap::Error, program: &str, name: &str) -> Failure {
    let list = format!("`{program} --help` lists the subcommands and options");
    let refused = Refused {
        error: e,
        program,
        command: name,
        list: &list,
    };
    match e.kind() {
        ErrorKind::InvalidSubcommand => {
            let wrong = refused.context(ContextKind::InvalidSubcommand);
            Failure::usage(
                format!("{}: there is no such subcommand", wrong.unwrap_or_default()),
                refused.nearest(ContextKind::SuggestedSubcommand),
            )
        }
        ErrorKind::MissingSubcommand | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            Failure::usage("there is no subcommand", list.clone())
        }
        kind => refused.explain().unwrap_or_else(|| {
            let what = kind.as_str().unwrap_or("invalid command line");
            Failure::usage(what, list.clone())
        }),
    }
}

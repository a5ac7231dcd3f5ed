//! Errors of the command line, in two lines each.

use dccp_cli::Failure;
use dccp_cli::args::Refused;

/// The hint for an unknown option.
pub(super) const LIST: &str = "`dccprun --help` lists the options; they come before the program";

/// Formats an error of clap in two lines.
pub(super) fn explain(e: &clap::Error) -> Failure {
    let refused = Refused {
        error: e,
        program: "dccprun",
        command: "",
        list: LIST,
    };
    refused.explain().unwrap_or_else(|| {
        let what = e.kind().as_str().unwrap_or("invalid command line");
        Failure::usage(what, LIST)
    })
}

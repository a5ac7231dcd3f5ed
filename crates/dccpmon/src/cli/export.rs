//! The words of `export`.

use crate::output::Format;
use clap::Args;
use std::path::PathBuf;

/// Values of `export`.
#[derive(Args, Clone, PartialEq, Eq, Debug)]
pub(crate) struct Export {
    /// A file that `--save`, `--json` or `--json-stream` wrote
    #[arg(required_unless_present_any = ["schema", "figures"])]
    pub(crate) file: Option<PathBuf>,
    /// The form
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t)]
    pub(crate) to: Format,
    /// Print the JSON schema of results, and end
    #[arg(long, conflicts_with_all = ["file", "figures"])]
    pub(crate) schema: bool,
    /// Print the figures for --assert with examples of their values, and end
    #[arg(long, conflicts_with = "file")]
    pub(crate) figures: bool,
}

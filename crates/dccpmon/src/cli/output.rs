//! Options of outputs, the same for all kinds of tests.

use super::values::{assertion, share};
use crate::output::{Format, Options};
use crate::result::check::{Assert, BaselineFile, Wanted};
use clap::Args;
use std::path::PathBuf;

#[derive(Args, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "flags of a command line")]
pub(super) struct OutputWords {
    /// The form of standard output [default: table]
    #[arg(long, value_name = "FORMAT", help_heading = "Output", value_enum)]
    format: Option<Format>,
    /// One JSON document instead of tables: the same as --format json
    #[arg(short = 'J', long, help_heading = "Output", conflicts_with_all = ["format", "json_stream"])]
    json: bool,
    /// A JSON object on each line while the test runs: the same as --format json-stream
    #[arg(long, help_heading = "Output", conflicts_with = "format")]
    json_stream: bool,
    /// Nothing but the outcome of --assert and --baseline: the same as --format none
    #[arg(
        short,
        long,
        help_heading = "Output",
        conflicts_with_all = ["format", "json", "json_stream", "live", "full"]
    )]
    quiet: bool,
    /// Curves on the terminal while the test runs: the same as --format live
    #[arg(long, help_heading = "Output", conflicts_with_all = ["format", "json", "json_stream"])]
    live: bool,
    /// More columns in the table: p90, send queue, ECN marks, lateness
    #[arg(long, help_heading = "Output")]
    wide: bool,
    /// All counters of both hosts below the summary of the table
    #[arg(long, help_heading = "Output", conflicts_with_all = ["format", "json", "json_stream"])]
    full: bool,
    /// Write the JSON document to FILE too, for `compare`, `export` and --baseline
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    save: Option<PathBuf>,
    /// Write a page with pictures to FILE too
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    html: Option<PathBuf>,
    /// End with code 3 unless this holds, such as 'loss<0.1%' or 'rtt.p99<30ms' (several times)
    #[arg(long = "assert", value_name = "TEST", help_heading = "Output", value_parser = assertion)]
    asserts: Vec<Assert>,
    /// End with code 3 if goodput, loss or round trips are worse than in the saved FILE
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    baseline: Option<PathBuf>,
    /// How much worse than the baseline a figure may be
    #[arg(
        long,
        value_name = "SHARE",
        help_heading = "Output",
        default_value = "3%",
        requires = "baseline",
        value_parser = share
    )]
    noise: f64,
}

impl OutputWords {
    /// The options, and what is checked at the end.
    pub(super) fn parts(self) -> (Options, Wanted) {
        let format = match self.format {
            _ if self.json => Format::Json,
            _ if self.json_stream => Format::JsonStream,
            _ if self.live => Format::Live,
            _ if self.quiet => Format::None,
            format => format.unwrap_or_default(),
        };
        let options = Options {
            format,
            is_wide: self.wide,
            is_full: self.full,
            save: self.save,
            html: self.html,
        };
        let noise = self.noise;
        let wanted = Wanted {
            asserts: self.asserts,
            baseline: self.baseline.map(|path| BaselineFile { path, noise }),
        };
        (options, wanted)
    }
}

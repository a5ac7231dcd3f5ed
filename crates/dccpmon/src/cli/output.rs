//! Options of outputs, the same for all kinds of tests.

use super::values::{assertion, number, share};
use crate::output::capture::Files;
use crate::output::{Format, Options};
use crate::result::check::{Assert, BaselineFile, Wanted};
use crate::schema::Transport;
use clap::Args;
use dccp_cli::Failure;
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
    /// Write the packets of the data connections to a pcapng file, for Wireshark
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pcap: Option<PathBuf>,
    /// Bytes of each packet in the pcapng file, from the DCCP header on; at least the header
    #[arg(
        long,
        value_name = "BYTES",
        help_heading = "Output",
        default_value_t = 128,
        requires = "pcap",
        allow_negative_numbers = true,
        value_parser = number(0_usize..=65_535)
    )]
    snap: usize,
    /// Write events of the data connections to a qlog file, for qvis; its name should end in .sqlog
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    qlog: Option<PathBuf>,
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
        allow_negative_numbers = true,
        value_parser = share
    )]
    noise: f64,
}

/// Checks that packets can be captured: they are those of DCCP and of one run, and each file has its name.
pub(super) fn check_capture(files: &Files, transport: Transport, runs: u32) -> Result<(), Failure> {
    if files.is_wanted() && runs > 1 {
        return Err(Failure::usage(
            "--pcap, --qlog: each repetition would replace the files of the one before",
            "leave them out, or leave --repeat and --until-ci out",
        ));
    }
    if files.is_wanted() && transport != Transport::Dccp {
        return Err(Failure::usage(
            format!("--pcap, --qlog: the packets of {transport} belong to the system"),
            "leave them out, or choose --transport dccp",
        ));
    }
    if files.pcap.is_some() && files.pcap == files.qlog {
        return Err(Failure::usage(
            "--pcap and --qlog: must be different files",
            "write for example --pcap packets.pcapng --qlog packets.sqlog",
        ));
    }
    Ok(())
}

impl OutputWords {
    pub(super) fn is_live(&self) -> bool {
        self.live || self.format == Some(Format::Live)
    }

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
            capture: Files {
                pcap: self.pcap,
                snap: self.snap,
                qlog: self.qlog,
            },
        };
        let noise = self.noise;
        let wanted = Wanted {
            asserts: self.asserts,
            baseline: self.baseline.map(|path| BaselineFile { path, noise }),
        };
        (options, wanted)
    }
}

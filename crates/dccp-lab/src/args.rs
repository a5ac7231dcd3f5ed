//! The command line.

use clap::builder::PossibleValuesParser;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Args, Parser, Subcommand, ValueEnum};
use core::fmt;
use core::time::Duration;
use dccp_cli::{Failure, quantity};
use dccp_lab::scenario::places::Host;
use dccp_lab::scenario::{Scale, plan};
use dccp_sim::rate_trace::model::PRESETS;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

#[derive(Parser, Debug)]
#[command(
    name = "dccplab",
    version,
    about = "Runs network experiments from scenario files",
    after_help = "Exit codes: 0 done, 1 could not run, 2 wrong command line or scenario, \
        3 an assertion failed, 5 some cells failed, 130 interrupted (finished cells are kept).",
    disable_help_subcommand = true
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Command {
    /// Check a scenario and list its cells
    Check {
        /// The scenario
        file: PathBuf,
    },
    /// Run a scenario
    Run(Box<Run>),
    /// Redo the experiments of the source papers in virtual time, and show which claims hold
    Reproduce(Reproduce),
    /// Show which claims of the source papers hold
    Claims(Claims),
    /// Rank stacks for each kind of path, by the results of `dccplab reproduce`
    Recommend(Recommend),
    /// Print the rate of a preset's link over time, in mahimahi's format
    Trace(Trace),
    /// Write results as HTML: one page, or those of a folder of `dccplab reproduce`
    Report(Report),
    /// Play scenarios in the simulator and live, and compare them
    Agree(Agree),
    /// Remove the network namespaces of live runs that were killed
    Clean,
}

/// Values of `report`.
#[derive(Args, Clone, PartialEq, Eq, Debug)]
pub(crate) struct Report {
    /// Results of `dccplab run --json`, or the folder of `dccplab reproduce`
    #[arg(required = true, value_name = "RESULT")]
    pub(crate) results: Vec<PathBuf>,
    /// Write the page to FILE [default: beside the first result, with the ending .html]
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
    /// Compare two results of the same scenario, cell by cell
    #[arg(long)]
    pub(crate) compare: bool,
}

impl Report {
    /// The file of the page.
    pub(crate) fn page(&self) -> PathBuf {
        let first = self.results.first().cloned().unwrap_or_default();
        self.html.clone().unwrap_or(first.with_extension("html"))
    }
}

/// Values of `reproduce`.
#[derive(Args, Clone, PartialEq, Eq, Debug)]
pub(crate) struct Reproduce {
    /// Only these experiments, such as e01 [default: all]
    pub(crate) experiments: Vec<String>,
    /// Shorter runs and fewer draws of what the papers do not say
    #[arg(long)]
    pub(crate) quick: bool,
    /// Where the results go, quick ones into DIR/quick; cells that are there already are kept
    #[arg(long, value_name = "DIR", default_value = REPRODUCTION)]
    pub(crate) out: PathBuf,
    /// Threads [default: all cores]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) jobs: Option<u16>,
}

/// Values of `claims`.
#[derive(Args, Clone, PartialEq, Eq, Debug)]
pub(crate) struct Claims {
    /// The results of `dccplab reproduce`
    #[arg(default_value = REPRODUCTION)]
    pub(crate) dir: PathBuf,
    /// Show the quick results, which are in DIR/quick
    #[arg(long)]
    pub(crate) quick: bool,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// Values of `agree`.
#[derive(Args, Clone, PartialEq, Eq, Debug)]
pub(crate) struct Agree {
    /// The scenarios
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// The shorter experiments that the sections `quick` of the scenarios describe
    #[arg(long)]
    pub(crate) quick: bool,
    /// Where results and the picture go; cells that are there already are kept
    #[arg(long, value_name = "DIR", default_value = "agreement")]
    pub(crate) out: PathBuf,
}

impl Agree {
    /// The size of the experiments.
    pub(crate) fn scale(&self) -> Scale {
        scale(self.quick)
    }
}

/// Values of `recommend`.
#[derive(Args, Clone, PartialEq, Eq, Debug)]
pub(crate) struct Recommend {
    /// The results of `dccplab reproduce`
    #[arg(default_value = REPRODUCTION)]
    pub(crate) dir: PathBuf,
    /// Use the quick results, which are in DIR/quick
    #[arg(long)]
    pub(crate) quick: bool,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// Write a page to FILE
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
}

/// The default folder of `reproduce`.
pub(crate) const REPRODUCTION: &str = "reproduction";

/// Values of `trace`.
#[derive(Args, Clone, PartialEq, Eq, Debug)]
pub(crate) struct Trace {
    /// The kind of link
    #[arg(value_parser = PossibleValuesParser::new(PRESETS.map(|preset| preset.name)))]
    pub(crate) preset: String,
    /// The source of its random numbers
    #[arg(long, value_name = "N", default_value = "1")]
    pub(crate) seed: u64,
    /// Its length, up to 1h [default: 2min]
    #[arg(long, value_name = "TIME", value_parser = length)]
    pub(crate) duration: Option<Duration>,
}

/// The length of a trace.
fn length(text: &str) -> Result<Duration, String> {
    const MAX: Duration = Duration::from_hours(1);
    let time = quantity::time(text).map_err(|error| error.to_string())?;
    if time.is_zero() || time > MAX {
        return Err(format!("{text}: must be greater than 0s and at most 1h"));
    }
    Ok(time)
}

/// Values of `run`.
#[derive(Args, Clone, PartialEq, Eq, Debug)]
pub(crate) struct Run {
    /// The scenario
    pub(crate) file: PathBuf,
    /// Where it runs
    #[arg(long, value_enum, default_value = "sim")]
    pub(crate) backend: Backend,
    /// With --backend hosts: the machine of a node, where `dccpmon serve` runs; HOST can be `here`
    #[arg(long = "host", value_name = "NODE=HOST[:PORT]", value_parser = placed)]
    pub(crate) hosts: Vec<Placed>,
    /// The shorter experiment that the section `quick` of the scenario describes
    #[arg(long)]
    pub(crate) quick: bool,
    /// Only these cells: the beginning of a key, a label, or variable=value,…
    #[arg(long, value_name = "CELL")]
    pub(crate) cell: Vec<String>,
    /// Write results to FILE; - is the standard output, in place of the table
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
    /// Write a table to FILE as CSV: a row for each flow of each cell
    #[arg(long, value_name = "FILE")]
    pub(crate) csv: Option<PathBuf>,
    /// Write the same table to FILE as Parquet
    #[arg(long, value_name = "FILE")]
    pub(crate) parquet: Option<PathBuf>,
    /// Write each cell to a file of its own in DIR as soon as it is finished: the start of its key, .json
    #[arg(long, value_name = "DIR")]
    pub(crate) cells: Option<PathBuf>,
    /// Write the packets of the first flow's sender to FILE (of one cell)
    #[arg(long, value_name = "FILE", conflicts_with = "resume")]
    pub(crate) pcap: Option<PathBuf>,
    /// Bytes of each packet in the capture [default: all]
    #[arg(long, value_name = "BYTES", requires = "pcap", value_parser = clap::value_parser!(u32).range(64..))]
    pub(crate) snap: Option<u32>,
    /// Threads [default: all cores]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) jobs: Option<u16>,
    /// Skip cells whose results are in the file of --json already
    #[arg(long, requires = "json")]
    pub(crate) resume: bool,
    /// Write a picture of each cell into DIR
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
}

/// The machine of a node.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Placed {
    /// The node's name.
    pub(crate) node: String,
    /// The machine; `None`: this one.
    pub(crate) host: Option<Host>,
}

fn scale(is_quick: bool) -> Scale {
    if is_quick { Scale::Quick } else { Scale::Full }
}

/// The name of this machine.
const HERE: &str = "here";

/// Reads `NODE=HOST[:PORT]`.
fn placed(text: &str) -> Result<Placed, String> {
    let (node, host) = text.split_once('=').unwrap_or(("", text));
    if node.is_empty() {
        return Err(format!(
            "{text}: must be the name of a node, =, and a machine"
        ));
    }
    let host = (host != HERE).then(|| host.parse()).transpose()?;
    Ok(Placed {
        node: node.to_owned(),
        host,
    })
}

/// As one would type it.
impl fmt::Display for Placed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.host {
            Some(host) => write!(f, "{}={host}", self.node),
            None => write!(f, "{}={HERE}", self.node),
        }
    }
}

/// Where scenarios run.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Backend {
    /// In virtual time
    Sim,
    /// In network namespaces of this machine, in real time (Linux)
    Live,
    /// Between the machines of --host, in real time (Linux)
    Hosts,
}

impl From<Backend> for plan::Backend {
    fn from(backend: Backend) -> Self {
        match backend {
            Backend::Sim => Self::Sim,
            Backend::Live => Self::Live,
            Backend::Hosts => Self::Hosts,
        }
    }
}

impl Run {
    /// All of a scenario, and nothing else.
    pub(crate) fn of(file: PathBuf, backend: Backend) -> Self {
        Self {
            file,
            backend,
            hosts: Vec::new(),
            quick: false,
            cell: Vec::new(),
            json: None,
            csv: None,
            parquet: None,
            cells: None,
            pcap: None,
            snap: None,
            jobs: None,
            resume: false,
            out: None,
        }
    }

    /// The files that the run reads and writes, with their names in messages.
    pub(crate) fn files(&self) -> impl Iterator<Item = (&'static str, &Path)> {
        let json = self.json.as_deref().filter(|_| !self.prints_json());
        let written = [
            ("--json", json),
            ("--csv", self.csv.as_deref()),
            ("--parquet", self.parquet.as_deref()),
            ("--pcap", self.pcap.as_deref()),
        ];
        let written = written.into_iter();
        let written = written.filter_map(|(name, path)| Some((name, path?)));
        written.chain([("the scenario", &*self.file)])
    }

    /// The words that can change the result, as one would type them.
    pub(crate) fn argv(&self) -> Vec<String> {
        let mut argv = vec!["dccplab".to_owned(), "run".to_owned()];
        argv.push(self.file.display().to_string());
        let backend = plan::Backend::from(self.backend).name();
        argv.extend(["--backend".to_owned(), backend.to_owned()]);
        for placed in &self.hosts {
            argv.extend(["--host".to_owned(), placed.to_string()]);
        }
        if self.quick {
            argv.push("--quick".to_owned());
        }
        for cell in &self.cell {
            argv.extend(["--cell".to_owned(), cell.clone()]);
        }
        argv
    }

    /// The size of the experiment.
    pub(crate) fn scale(&self) -> Scale {
        scale(self.quick)
    }

    /// True if the results go to the standard output.
    pub(crate) fn prints_json(&self) -> bool {
        self.json.as_deref() == Some(Path::new("-"))
    }
}

/// A parsed command line.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Request {
    /// Do this.
    Do(Command),
    /// Print this text: help or the version.
    Print(String),
}

/// Reads the command line (without the program's name).
pub(crate) fn parse(words: impl IntoIterator<Item = OsString>) -> Result<Request, Failure> {
    let words = words.into_iter();
    match Cli::try_parse_from(core::iter::once(OsString::from("dccplab")).chain(words)) {
        Ok(cli) => Ok(Request::Do(cli.command)),
        Err(error) if !error.use_stderr() => Ok(Request::Print(error.render().to_string())),
        Err(error) => Err(explain(&error)),
    }
}

/// The parser's error in two lines.
fn explain(error: &clap::Error) -> Failure {
    let context = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text.clone()),
        Some(ContextValue::Strings(texts)) => Some(texts.join(", ")),
        _ => None,
    };
    let near = context(ContextKind::SuggestedArg)
        .or(context(ContextKind::SuggestedSubcommand))
        .or(context(ContextKind::SuggestedValue));
    let next = match near {
        Some(near) => format!("did you mean {near}?"),
        None => "write `dccplab run FILE` or `dccplab check FILE`; see `dccplab --help`".into(),
    };
    if error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        return Failure::usage("a command is missing", next);
    }
    // The first paragraph. What is missing stands in lines of its own.
    let text = error.to_string();
    let first = text.lines().map(str::trim);
    let first: Vec<&str> = first.take_while(|line| !line.is_empty()).collect();
    Failure::usage(first.join(" ").trim_start_matches("error: "), next)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Result<Request, String> {
        parse(line.split_whitespace().map(OsString::from)).map_err(|failure| failure.to_string())
    }

    fn run_of(line: &str) -> Run {
        match read(line) {
            Ok(Request::Do(Command::Run(run))) => *run,
            other => panic!("{line}: {other:?}"),
        }
    }

    #[test]
    fn run_takes_its_options() {
        let run = run_of("run f.toml --cell a=1 --cell b --json r.json --jobs 3 --resume --out d");
        assert_eq!(run.cell, ["a=1", "b"]);
        assert_eq!((run.jobs, run.resume), (Some(3), true));
        assert_eq!(run.out, Some(PathBuf::from("d")));
        assert_eq!(
            run.argv().join(" "),
            "dccplab run f.toml --backend sim --cell a=1 --cell b"
        );
        assert_eq!(run_of("run f.toml --backend sim").jobs, None);
        let argv = run_of("run f.toml --backend live").argv();
        assert_eq!(argv.join(" "), "dccplab run f.toml --backend live");
        assert_eq!(read("clean"), Ok(Request::Do(Command::Clean)));
        let hosts = run_of("run f.toml --backend hosts --host a=h:9 --host b=here");
        assert_eq!(hosts.argv()[5..].join(" "), "--host a=h:9 --host b=here");
        assert_eq!(hosts.hosts[1].host, None);
        assert!(run_of("run f.toml --json -").prints_json());
        assert_eq!(run_of("run f --pcap p --snap 96").snap, Some(96));
        let run = run_of("run f --csv t.csv --parquet t.parquet --cells d");
        let paths = [run.csv, run.parquet, run.cells].map(Option::unwrap);
        assert_eq!(paths, ["t.csv", "t.parquet", "d"].map(PathBuf::from));
        let check = Command::Check {
            file: "f.toml".into(),
        };
        assert_eq!(read("check f.toml"), Ok(Request::Do(check)));
        let trace = Command::Trace(Trace {
            preset: "wifi".into(),
            seed: 7,
            duration: Some(Duration::from_secs(90)),
        });
        let line = "trace wifi --seed 7 --duration 90s";
        assert_eq!(read(line), Ok(Request::Do(trace)));
        let Ok(Request::Do(Command::Report(report))) = read("report --compare a/b.json c.json")
        else {
            panic!("a report");
        };
        assert!(report.compare && report.results.len() == 2);
        assert_eq!(report.page(), PathBuf::from("a/b.html"));
        assert!(matches!(read("--help"), Ok(Request::Print(_))));
    }

    #[test]
    fn folders_of_reproduce_have_a_default_and_a_scale() {
        let of = |line: &str| match read(line) {
            Ok(Request::Do(Command::Claims(claims))) => (claims.dir, claims.quick),
            Ok(Request::Do(Command::Recommend(recommend))) => (recommend.dir, recommend.quick),
            Ok(Request::Do(Command::Reproduce(reproduce))) => (reproduce.out, reproduce.quick),
            other => panic!("{line}: {other:?}"),
        };
        for command in ["claims", "recommend", "reproduce"] {
            let (dir, quick) = of(&format!("{command} --quick"));
            assert_eq!(
                (dir, quick),
                (PathBuf::from(REPRODUCTION), true),
                "{command}"
            );
        }
        assert_eq!(of("claims d"), (PathBuf::from("d"), false));
        assert_eq!(of("recommend d --html f.html --json").0, PathBuf::from("d"));
    }

    #[test]
    fn wrong_command_line_is_reported_in_two_lines() {
        for (line, what, next) in [
            ("run f --backend netns", "'netns'", "write `dccplab run"),
            ("run f --jobs 0", "'0'", "write `dccplab run"),
            ("run f --host h", "the name of a node", "write `dccplab run"),
            (
                "run f --host a=h:0",
                "from 1 to 65535",
                "write `dccplab run",
            ),
            ("run f --snap 96", "--pcap", "write `dccplab run"),
            ("run f --resume", "--json", "write `dccplab run"),
            (
                "run f --json j --resume --pcap p",
                "cannot be used with",
                "write `dccplab run",
            ),
            ("trace wfi", "'wfi'", "did you mean wifi?"),
            (
                "trace dsl --duration 2h",
                "at most 1h",
                "write `dccplab run",
            ),
            ("run f --jason x", "'--jason'", "did you mean --json?"),
            ("chek f", "'chek'", "did you mean check?"),
            ("run", "<FILE>", "write `dccplab run"),
            ("report", "<RESULT>", "write `dccplab run"),
            ("", "a command is missing", "write `dccplab run"),
        ] {
            let error = read(line).expect_err(line);
            let [first, second] = error.lines().collect::<Vec<_>>()[..] else {
                panic!("{error}");
            };
            assert!(
                first.starts_with("error: ") && first.contains(what),
                "{error}"
            );
            assert!(second.starts_with(&format!(" next: {next}")), "{error}");
        }
    }
}

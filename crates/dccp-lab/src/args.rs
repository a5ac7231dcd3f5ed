//! The command line: from words to plain values.

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Args, Parser, Subcommand};
use dccp_cli::Failure;
use std::ffi::OsString;
use std::path::PathBuf;

/// What to do.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Command {
    /// Check a scenario.
    Check(PathBuf),
    /// Run a scenario.
    Run(Run),
    /// Print this text, which was asked for.
    Show(String),
}

/// Values of `run`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Run {
    pub(crate) file: PathBuf,
    /// Which cells; none: all.
    pub(crate) cells: Vec<String>,
    pub(crate) json: Option<PathBuf>,
    pub(crate) pcap: Option<PathBuf>,
    /// Threads; `None`: as many as the machine has cores.
    pub(crate) jobs: Option<usize>,
    pub(crate) is_resumed: bool,
    /// Where pictures go.
    pub(crate) out: Option<PathBuf>,
}

impl Run {
    /// The words that can change the result, as they would be typed.
    pub(crate) fn argv(&self) -> Vec<String> {
        let mut argv = vec!["dccplab".to_owned(), "run".to_owned()];
        argv.push(self.file.display().to_string());
        argv.extend(["--backend".to_owned(), "sim".to_owned()]);
        for cell in &self.cells {
            argv.extend(["--cell".to_owned(), cell.clone()]);
        }
        argv
    }
}

/// Reads the command line (without the program's name).
pub(crate) fn parse(words: impl IntoIterator<Item = OsString>) -> Result<Command, Failure> {
    let words: Vec<OsString> = words.into_iter().collect();
    if let Some(later) = words.first().and_then(|w| w.to_str())
        && LATER_COMMANDS.contains(&later)
    {
        return Err(Failure::usage(
            format!("{later}: not yet"),
            "this version has `check` and `run`",
        ));
    }
    let words = core::iter::once(OsString::from("dccplab")).chain(words);
    let cli = match Cli::try_parse_from(words) {
        Ok(cli) => cli,
        Err(e) if !e.use_stderr() => return Ok(Command::Show(e.render().to_string())),
        Err(e) => return Err(explain(&e)),
    };
    match cli.command {
        Words::Check { file } => Ok(Command::Check(file)),
        Words::Run(words) => run(words).map(Command::Run),
    }
}

/// Subcommands that the design has and this version has not.
const LATER_COMMANDS: &[&str] = &["report", "compare", "export"];

#[derive(Parser, Debug)]
#[command(
    name = "dccplab",
    version,
    about = "Runs network experiments from scenario files",
    after_help = "Exit codes: 0 done, 1 could not run, 2 wrong command line or scenario, \
        5 some cells failed, 130 interrupted (finished cells are kept).",
    disable_help_subcommand = true
)]
struct Cli {
    #[command(subcommand)]
    command: Words,
}

#[derive(Subcommand, Debug)]
enum Words {
    /// Check a scenario and list its cells
    Check {
        /// The scenario
        file: PathBuf,
    },
    /// Run a scenario
    Run(RunWords),
}

#[derive(Args, Debug)]
struct RunWords {
    /// The scenario
    file: PathBuf,
    /// Where it runs: sim (in virtual time)
    #[arg(long, default_value = "sim")]
    backend: String,
    /// Only these cells: the begin of a key, a label, or variable=value,…
    #[arg(long, value_name = "CELL")]
    cell: Vec<String>,
    /// Write results to FILE
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Write the packets of the first flow's sender to FILE (of one cell)
    #[arg(long, value_name = "FILE")]
    pcap: Option<PathBuf>,
    /// Threads [default: all cores]
    #[arg(long, value_name = "N")]
    jobs: Option<String>,
    /// Skip cells whose results are in the file of --json already
    #[arg(long)]
    resume: bool,
    /// Write a picture of each cell into DIR
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

fn run(words: RunWords) -> Result<Run, Failure> {
    const LATER_BACKENDS: &[&str] = &["emul", "netns", "hosts"];
    match words.backend.as_str() {
        "sim" => {}
        later if LATER_BACKENDS.contains(&later) => {
            return Err(Failure::usage(
                format!("--backend {later}: not yet"),
                "write --backend sim, or leave it out",
            ));
        }
        other => {
            return Err(Failure::usage(
                format!("--backend {other}: there is no such backend"),
                "write --backend sim, or leave it out",
            ));
        }
    }
    let jobs = words.jobs.map(|text| match text.parse() {
        Ok(jobs @ 1..=1024) => Ok(jobs),
        _ => Err(Failure::usage(
            format!("--jobs {text}: this is no number of threads"),
            "write 1 to 1024, or leave it out",
        )),
    });
    if words.resume && words.json.is_none() {
        return Err(Failure::usage(
            "--resume needs the file of the results",
            "add --json FILE",
        ));
    }
    if words.resume && words.pcap.is_some() {
        return Err(Failure::usage(
            "--pcap needs its cell played, which --resume may leave out",
            "leave one of them out",
        ));
    }
    Ok(Run {
        file: words.file,
        cells: words.cell,
        json: words.json,
        pcap: words.pcap,
        jobs: jobs.transpose()?,
        is_resumed: words.resume,
        out: words.out,
    })
}

/// What the parser of words has to say, in two lines.
fn explain(error: &clap::Error) -> Failure {
    let context = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text.clone()),
        Some(ContextValue::Strings(texts)) => Some(texts.join(", ")),
        _ => None,
    };
    let word = context(ContextKind::InvalidArg).or(context(ContextKind::InvalidSubcommand));
    let word = word.unwrap_or_default();
    let near = context(ContextKind::SuggestedArg).or(context(ContextKind::SuggestedSubcommand));
    let next = match near {
        Some(near) => format!("did you mean {near}?"),
        None => {
            "write `dccplab run FILE` or `dccplab check FILE`; `dccplab --help` tells more".into()
        }
    };
    let what = match error.kind() {
        ErrorKind::UnknownArgument => format!("{word}: there is no such option"),
        ErrorKind::InvalidSubcommand => format!("{word}: there is no such command"),
        ErrorKind::MissingRequiredArgument => format!("{word} is missing"),
        ErrorKind::ArgumentConflict => format!("{word} is there twice"),
        ErrorKind::InvalidValue => format!("{word} needs a value"),
        _ => "this is no command line of dccplab".to_owned(),
    };
    Failure::usage(what, next)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Result<Command, String> {
        parse(line.split_whitespace().map(OsString::from)).map_err(|failure| failure.to_string())
    }

    fn run_of(line: &str) -> Run {
        match read(line) {
            Ok(Command::Run(run)) => run,
            other => panic!("{line}: {other:?}"),
        }
    }

    #[test]
    fn a_run_takes_its_options() {
        let run = run_of("run f.toml --cell a=1 --cell b --json r.json --jobs 3 --resume --out d");
        assert_eq!(run.cells, ["a=1", "b"]);
        assert_eq!((run.jobs, run.is_resumed), (Some(3), true));
        assert_eq!(run.out, Some(PathBuf::from("d")));
        assert_eq!(
            run.argv().join(" "),
            "dccplab run f.toml --backend sim --cell a=1 --cell b"
        );
        assert_eq!(run_of("run f.toml --backend sim").jobs, None);
        assert_eq!(read("check f.toml"), Ok(Command::Check("f.toml".into())));
        assert!(matches!(read("--help"), Ok(Command::Show(_))));
    }

    #[test]
    fn mistakes_are_two_lines() {
        for (line, error) in [
            (
                "run f --backend netns",
                "error: --backend netns: not yet\n next: write --backend sim, or leave it out",
            ),
            (
                "run f --backend simm",
                "error: --backend simm: there is no such backend\n next: write --backend sim, or leave it out",
            ),
            (
                "run f --jobs 0",
                "error: --jobs 0: this is no number of threads\n next: write 1 to 1024, or leave it out",
            ),
            (
                "run f --resume",
                "error: --resume needs the file of the results\n next: add --json FILE",
            ),
            (
                "run f --json j --resume --pcap p",
                "error: --pcap needs its cell played, which --resume may leave out\n next: leave one of them out",
            ),
            (
                "run f --jason x",
                "error: --jason: there is no such option\n next: did you mean --json?",
            ),
            (
                "chek f",
                "error: chek: there is no such command\n next: did you mean check?",
            ),
            (
                "report f",
                "error: report: not yet\n next: this version has `check` and `run`",
            ),
            (
                "run",
                "error: <FILE> is missing\n next: write `dccplab run FILE` or `dccplab check FILE`; `dccplab --help` tells more",
            ),
        ] {
            assert_eq!(read(line), Err(error.to_owned()), "{line}");
        }
    }
}

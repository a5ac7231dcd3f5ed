//! The file that `dccpmon monitor` reads, in TOML.

use crate::cli::{self, Bulk, Command};
use crate::limits::DURATION_MAX;
use core::net::SocketAddr;
use core::time::Duration;
use dccp_cli::{Failure, quantity};
use serde::Deserialize;
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::io::Read as _;
use std::path::{Path, PathBuf};

/// The most tests of a file.
const TESTS_MAX: usize = 256;
/// The most hosts of a file: each has a thread.
const HOSTS_MAX: usize = 64;
/// The longest name of a test.
const NAME_MAX: usize = 64;
/// The longest file in bytes.
const FILE_MAX: u64 = 1 << 20;
/// The shortest and the longest time between two runs of a test.
const EVERY: [Duration; 2] = [Duration::from_secs(1), Duration::from_hours(24 * 7)];
/// The results of each test that are kept, unless the file says otherwise.
const KEEP: usize = 1000;
/// The most results of each test that can be kept.
const KEEP_MAX: usize = 1_000_000;

/// The tests, and the places of their results.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Config {
    pub(super) tests: Vec<Test>,
    pub(super) history: Option<History>,
    /// Where results are offered to Prometheus.
    pub(super) metrics: Option<SocketAddr>,
}

/// One test of the schedule.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Test {
    pub(super) name: String,
    pub(super) host: String,
    pub(super) every: Duration,
    /// The words of the command line that runs it, without the program.
    pub(super) words: Vec<String>,
    /// The longest time that it may take.
    pub(super) at_most: Duration,
}

/// The results on the disk.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct History {
    pub(super) dir: PathBuf,
    /// Results of each test.
    pub(super) keep: usize,
}

/// The file as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Tables {
    #[serde(default)]
    test: Vec<TestTable>,
    history: Option<HistoryTable>,
    metrics: Option<MetricsTable>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TestTable {
    name: String,
    host: String,
    every: String,
    #[serde(default)]
    args: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct HistoryTable {
    dir: PathBuf,
    keep: Option<usize>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct MetricsTable {
    listen: String,
}

impl Config {
    /// Reads the file.
    ///
    /// # Errors
    /// The file cannot be read, or a value of it is wrong.
    pub(super) fn read(path: &Path) -> Result<Self, Failure> {
        let shown = path.display();
        let unreadable = |e: &std::io::Error| {
            Failure::usage(
                format!("{shown} cannot be read: {e}"),
                "check the name of the file",
            )
        };
        let file = std::fs::File::open(path).map_err(|e| unreadable(&e))?;
        let mut text = String::new();
        // A device has no length, and may have no end.
        let length = file.take(FILE_MAX + 1).read_to_string(&mut text);
        if length.map_err(|e| unreadable(&e))? as u64 > FILE_MAX {
            return Err(Failure::usage(
                format!("{shown} is longer than 1 MiB"),
                "write fewer tests, or two files for two monitors",
            ));
        }
        Self::parse(&text).map_err(|e| Failure {
            what: format!("{shown}: {}", e.what),
            ..e
        })
    }

    fn parse(text: &str) -> Result<Self, Failure> {
        let file: Tables = toml::from_str(text).map_err(|e| {
            let what = e.to_string();
            let lines: Vec<&str> = what.split_whitespace().collect();
            Failure::usage(lines.join(" "), EXAMPLE)
        })?;
        let tests: Vec<Test> = file
            .test
            .into_iter()
            .map(Test::new)
            .collect::<Result<_, _>>()?;
        let names: BTreeSet<&str> = tests.iter().map(|test| test.name.as_str()).collect();
        let hosts: BTreeSet<&str> = tests.iter().map(|test| test.host.as_str()).collect();
        if tests.is_empty() {
            return Err(Failure::usage("there is no [[test]]", EXAMPLE));
        }
        if names.len() < tests.len() {
            return Err(Failure::usage(
                "two tests have one name",
                "give each [[test]] a name of its own",
            ));
        }
        if tests.len() > TESTS_MAX || hosts.len() > HOSTS_MAX {
            return Err(Failure::usage(
                format!(
                    "{} tests of {} hosts: at most {TESTS_MAX} of {HOSTS_MAX} can run",
                    tests.len(),
                    hosts.len()
                ),
                "write two files for two monitors",
            ));
        }
        let metrics = file
            .metrics
            .map(|table| address(&table.listen))
            .transpose()?;
        Ok(Self {
            tests,
            history: file.history.map(History::new).transpose()?,
            metrics,
        })
    }
}

/// The second line of errors about the whole file.
const EXAMPLE: &str = "write [[test]] with name = \"office\", host = \"192.0.2.10\", every = \"5m\", args = [\"-t\", \"5\"]";

impl Test {
    fn new(table: TestTable) -> Result<Self, Failure> {
        let name = table.name;
        let fails = |what: String, next: &str| Failure::usage(format!("test {name}: {what}"), next);
        let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        if name.is_empty() || name.len() > NAME_MAX || !name.chars().all(is_plain) {
            return Err(fails(
                format!("a name is 1 to {NAME_MAX} letters, digits, - and _"),
                "write for example name = \"office-up\"",
            ));
        }
        // A leading dash would make the host an option.
        if table.host.is_empty() || table.host.starts_with('-') {
            return Err(fails(
                format!("{:?} is no host", table.host),
                "write host = \"192.0.2.10\"",
            ));
        }
        let every = quantity::time(&table.every)
            .map_err(|e| fails(format!("every = {:?}: {e}", table.every), e.next_step()))?;
        if !(EVERY[0]..=EVERY[1]).contains(&every) {
            return Err(fails(
                format!("every = {:?}: must be 1s to 168h", table.every),
                "write for example every = \"5m\"",
            ));
        }
        let head = ["bulk".to_owned(), table.host.clone()];
        let words: Vec<String> = head
            .into_iter()
            .chain(table.args)
            .chain(["--json".to_owned()])
            .collect();
        let asked = bulk(&words).map_err(|e| fails(format!("args: {}", e.what), &e.next))?;
        Ok(Self {
            at_most: longest(&asked),
            host: table.host,
            name,
            every,
            words,
        })
    }
}

/// The time that each run may take beyond its duration: to connect, to agree, to end.
const OVERTIME: Duration = Duration::from_mins(1);

/// The longest time of a test: that of all its runs, and of a wait in the server's queue.
fn longest(asked: &Bulk) -> Duration {
    let queue = if asked.is_patient {
        DURATION_MAX
    } else {
        Duration::ZERO
    };
    (asked.duration + OVERTIME) * asked.runs_max + queue
}

/// The values of a test's command line.
fn bulk(words: &[String]) -> Result<Box<Bulk>, Failure> {
    match cli::parse(words.iter().map(OsString::from))? {
        Command::Bulk(asked) if !asked.is_dry_run => Ok(asked),
        Command::Third(asked) => Ok(Box::new(asked.test)),
        _ => Err(Failure::usage(
            "these words run no test",
            "write options of `dccpmon bulk`",
        )),
    }
}

impl History {
    fn new(table: HistoryTable) -> Result<Self, Failure> {
        let keep = table.keep.unwrap_or(KEEP);
        if !(1..=KEEP_MAX).contains(&keep) {
            return Err(Failure::usage(
                format!("keep = {keep}: must be 1 to {KEEP_MAX}"),
                "write for example keep = 1000",
            ));
        }
        Ok(Self {
            dir: table.dir,
            keep,
        })
    }
}

fn address(text: &str) -> Result<SocketAddr, Failure> {
    text.parse().map_err(|_| {
        Failure::usage(
            format!("listen = {text:?}: must be an IP address and a port"),
            "write for example listen = \"127.0.0.1:9233\"",
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = r#"
        [[test]]
        name = "office-up"
        host = "192.0.2.10"
        every = "5m"
        args = ["-t", "5", "-b", "10M"]

        [[test]]
        name = "office-down"
        host = "192.0.2.10"
        every = "1h"

        [history]
        dir = "results"

        [metrics]
        listen = "127.0.0.1:9233"
    "#;

    #[test]
    fn file_lists_tests_with_their_schedules() {
        let config = Config::parse(FILE).unwrap();
        let [up, down] = &config.tests[..] else {
            panic!("{config:?}");
        };
        let line = "bulk 192.0.2.10 -t 5 -b 10M --json";
        assert_eq!(up.words, line.split(' ').collect::<Vec<_>>());
        assert_eq!(
            (up.every, up.at_most),
            (Duration::from_mins(5), Duration::from_secs(65))
        );
        assert_eq!(
            (down.every, down.at_most),
            (Duration::from_hours(1), Duration::from_secs(70))
        );
        let history = config.history.unwrap();
        assert_eq!(
            (history.dir, history.keep),
            (PathBuf::from("results"), KEEP)
        );
        assert_eq!(config.metrics, Some(([127, 0, 0, 1], 9233).into()));
    }

    #[test]
    fn test_may_take_the_time_of_all_its_runs() {
        let repeated = FILE.replacen("\"10M\"", "\"10M\", \"--repeat\", \"20\"", 1);
        let config = Config::parse(&repeated).unwrap();
        assert_eq!(config.tests[0].at_most, Duration::from_secs(20 * 65));
        let patient = FILE.replacen("\"10M\"", "\"10M\", \"--wait\"", 1);
        let config = Config::parse(&patient).unwrap();
        assert_eq!(
            config.tests[0].at_most,
            DURATION_MAX + Duration::from_secs(65)
        );
    }

    #[test]
    fn wrong_values_are_named_with_their_test() {
        for (from, to, what) in [
            ("5m", "0s", "test office-up: every = \"0s\": "),
            (
                "5m",
                "500ms",
                "test office-up: every = \"500ms\": must be 1s to 168h",
            ),
            ("10M", "ten", "test office-up: args: --bitrate ten: "),
            ("\"-b\", \"10M\"", "\"--live\"", "test office-up: args: "),
            (
                "\"-t\"",
                "\"--dry-run\", \"-t\"",
                "test office-up: args: these words run no test",
            ),
            (
                "\"-t\", \"5\"",
                "\"--help\"",
                "test office-up: args: these words run no test",
            ),
            ("office-down", "office-up", "two tests have one name"),
            (
                "office-up",
                "../up",
                "test ../up: a name is 1 to 64 letters",
            ),
            ("name", "nom", "TOML parse error"),
            (
                "\"results\"",
                "\"results\"\nkeep = 0",
                "keep = 0: must be 1 to 1000000",
            ),
            (
                "127.0.0.1:9233",
                "9233",
                "listen = \"9233\": must be an IP address and a port",
            ),
        ] {
            let failure = Config::parse(&FILE.replacen(from, to, 1)).unwrap_err();
            assert_eq!(failure.code, 2, "{to}");
            assert!(failure.what.starts_with(what), "{to}: {}", failure.what);
            assert!(!failure.what.contains('\n') && !failure.next.is_empty());
        }
        let failure = Config::parse("").unwrap_err();
        assert_eq!(failure.what, "there is no [[test]]");
        let option = FILE.replacen("192.0.2.10", "-s", 1);
        assert!(
            Config::parse(&option)
                .unwrap_err()
                .what
                .contains("is no host")
        );
    }
}

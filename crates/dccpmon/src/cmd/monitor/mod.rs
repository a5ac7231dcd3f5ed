//! `dccpmon monitor FILE`: repeats tests on a schedule, keeps their results, and offers them to Prometheus.

mod child;
mod config;
mod history;
mod metrics;
mod schedule;

use crate::output::text;
use crate::schema::Document;
use clap::Args;
use config::{Config, Test};
use core::fmt::Write as _;
use core::time::Duration;
use dccp::clock;
use dccp_cli::{Failure, exit, interrupt, print};
use history::History;
use metrics::{MonitorMetrics, TestMetrics, loss_ratio, status_text};
use schedule::Schedule;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::thread;

/// The longest sleep between two checks whether the user has interrupted.
const LOOK: Duration = Duration::from_millis(100);

/// Values of `monitor`.
#[derive(Args, Clone, PartialEq, Eq, Debug)]
#[command(after_help = EXAMPLE)]
pub(crate) struct Monitor {
    /// Tests and the places of their results, in TOML
    file: PathBuf,
    /// Run each test once, and end
    #[arg(long)]
    once: bool,
}

const EXAMPLE: &str = r#"The file:
  [[test]]                          # as often as there are tests
  name = "office-up"
  host = "192.0.2.10"
  every = "5m"                      # varied by a tenth
  args = ["-t", "5", "-b", "10M"]   # options of `dccpmon bulk`
  [history]                         # optional: DIR/NAME.ndjson, a result per line
  dir = "/var/lib/dccpmon"
  keep = 1000
  [metrics]                         # optional: for Prometheus; a scrape starts no test
  listen = "127.0.0.1:9233"
Exit codes: 0 all results are complete, 1 could not run, 2 wrong file, 3 an assertion failed,
5 a result is incomplete, 130 interrupted."#;

/// The tests to one host. They never overlap, because they would measure each other.
struct Host {
    program: PathBuf,
    tests: Vec<Watched>,
    schedule: Schedule,
}

/// A test with the places of its results.
struct Watched {
    test: Test,
    history: Option<History>,
    metrics: TestMetrics,
}

/// Runs the tests until Ctrl-C, or once; gives the exit code.
///
/// # Errors
/// The file is wrong, or a place for results cannot be opened.
pub(crate) fn run(asked: &Monitor) -> Result<u8, Failure> {
    interrupt::listen()?;
    let config = Config::read(&asked.file)?;
    let metrics = MonitorMetrics::new();
    let hosts = hosts(&config, &metrics)?;
    print(&format!(
        "dccpmon {} monitoring {} test(s) to {} host(s)\n",
        env!("CARGO_PKG_VERSION"),
        config.tests.len(),
        hosts.len()
    ))?;
    // It offers metrics until it is dropped at the end.
    let server = match config.metrics {
        Some(at) => Some(
            dccp_metrics::Server::start(at, metrics.registry()).map_err(|e| {
                Failure::run(
                    format!("listen = \"{at}\": cannot be opened: {e}"),
                    "choose another port, or an address of this host",
                )
            })?,
        ),
        None => None,
    };
    if let Some(server) = &server {
        print(&format!(
            "  metrics: http://{}/metrics\n",
            server.local_addr()
        ))?;
    }
    let mut threads = Vec::new();
    for mut host in hosts {
        let is_once = asked.once;
        let thread = thread::Builder::new()
            .name("host".into())
            .spawn(move || host.run(is_once))
            .map_err(|e| Failure::run(e.to_string(), "raise this system's limits of threads"))?;
        threads.push(thread);
    }
    let mut worst = exit::DONE;
    for thread in threads {
        // A panic there has printed its message; the other hosts go on.
        worst = worst.max(thread.join().unwrap_or(exit::INCOMPLETE));
    }
    Ok(if interrupt::is_pressed() {
        exit::INTERRUPTED
    } else {
        worst
    })
}

/// The tests by host, with open histories.
fn hosts(config: &Config, metrics: &MonitorMetrics) -> Result<Vec<Host>, Failure> {
    let program = std::env::current_exe().map_err(|e| {
        Failure::run(
            format!("this program cannot be found: {e}"),
            "start it by its whole path",
        )
    })?;
    let mut by_host: BTreeMap<&str, Vec<Watched>> = BTreeMap::new();
    for test in &config.tests {
        let history = config
            .history
            .as_ref()
            .map(|asked| {
                History::open(asked, &test.name).map_err(|e| Failure::write(&asked.dir, &e))
            })
            .transpose()?;
        by_host.entry(&test.host).or_default().push(Watched {
            history,
            metrics: metrics.add(&test.name, &test.host),
            test: test.clone(),
        });
    }
    let hosts = by_host.into_values().map(|tests| Host {
        program: program.clone(),
        schedule: Schedule::new(tests.iter().map(|watched| watched.test.every)),
        tests,
    });
    Ok(hosts.collect())
}

impl Host {
    /// Runs the tests until the program ends, or each once. Gives the highest exit code of the runs.
    fn run(&mut self, is_once: bool) -> u8 {
        let begin = clock::now();
        let mut worst = exit::DONE;
        loop {
            let (number, due) = self.schedule.first();
            if is_once && self.schedule.has_run(number) {
                return worst;
            }
            while clock::now() - begin < due {
                if interrupt::is_pressed() {
                    return worst;
                }
                thread::sleep(LOOK.min(due.saturating_sub(clock::now() - begin)));
            }
            if interrupt::is_pressed() {
                return worst;
            }
            let started = clock::now() - begin;
            if let Some(watched) = self.tests.get_mut(number) {
                worst = worst.max(watched.run(&self.program));
            }
            let random = random();
            self.schedule
                .ran(number, started, clock::now() - begin, random);
        }
    }
}

/// A random number. Without one the schedule has no jitter, which only makes tests meet more often.
fn random() -> u32 {
    let mut bytes = [0; 4];
    match getrandom::fill(&mut bytes) {
        Ok(()) => u32::from_le_bytes(bytes),
        Err(_) => u32::MAX / 2,
    }
}

impl Watched {
    /// Runs the test, stores its result and says so. Gives the run's exit code: done, a failed assertion, or incomplete.
    fn run(&mut self, program: &Path) -> u8 {
        let name = &self.test.name;
        match child::run(program, &self.test) {
            Ok(document) => {
                self.metrics.add(&document);
                let stored = self.history.as_mut().map(|history| history.add(&document));
                log(&line(name, &document));
                if let Some(Err(e)) = stored {
                    log(&format!("{name}  the result cannot be stored: {e}"));
                    return exit::INCOMPLETE;
                }
                match document.exit_code {
                    code @ (exit::DONE | exit::ASSERTION) => code,
                    _ => exit::INCOMPLETE,
                }
            }
            Err(what) => {
                self.metrics.failed(clock::unix_time().as_secs());
                log(&format!("{name}  failed  {what}"));
                exit::INCOMPLETE
            }
        }
    }
}

/// Prints a line. The monitor goes on without a reader.
fn log(line: &str) {
    let _ = print(&format!("{line}\n"));
}

/// A result in one line.
fn line(name: &str, document: &Document) -> String {
    let mut line = format!("{name}  {}", status_text(document.status));
    if let Some(summary) = &document.summary {
        let _ = write!(line, "  {}", text::rate(summary.goodput_bps));
    }
    if let Some(ratio) = loss_ratio(document) {
        let _ = write!(line, "  loss {:.2} %", ratio * 100.0);
    }
    if let Some(error) = &document.error {
        let _ = write!(line, "  {}", error.what);
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::sample;

    #[test]
    fn result_has_one_line() {
        let line = line("office", &sample::document());
        assert!(line.starts_with("office  complete  "), "{line}");
        assert!(
            line.contains("bit/s  loss ") && line.ends_with(" %"),
            "{line}"
        );
    }
}

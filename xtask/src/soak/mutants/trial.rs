//! Switches one mutant after the other on and runs the tests that reach it, until one fails.

use std::collections::HashMap;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use super::build::{Built, Program};
use crate::clock::timed;

/// Of the simulator's tests that reach a mutant, the quickest are tried, up to this time: not the sweeps. Of the
/// core's own all are.
const BUDGET: Duration = Duration::from_secs(8);
/// Tests are run together up to this time: the quick ones come first, and most mutants fail there.
const TOGETHER: Duration = Duration::from_millis(500);
/// Address space of a test program, KiB: a loop without end that allocates stops here.
const MEMORY_MAX: u32 = 8 << 20;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Verdict {
    Caught,
    Timeout,
    Missed,
    /// No test comes there at run time.
    NotReached,
}

/// One test, as it is without a mutant.
struct Test {
    program: usize,
    is_own: bool,
    name: String,
    time: Duration,
}

/// What becomes of each mutant that has a switch.
pub(super) fn try_all(built: &Built, jobs: usize, folder: &Path) -> Result<HashMap<u32, Verdict>> {
    let Baseline { tests, by_site } = Baseline::new(built, jobs, folder)?;
    let mut work = Vec::new();
    for site in &built.sites {
        let reaching = by_site.get(&site[0]).map_or(&[][..], Vec::as_slice);
        work.extend(site.iter().map(|&mutant| (mutant, reaching)));
    }
    let verdicts = in_parallel(&work, jobs, |done, &(mutant, reaching)| {
        if done % 500 == 0 {
            eprintln!("{done} of {} mutants", work.len());
        }
        let reaching: Vec<_> = reaching.iter().map(|&test| &tests[test]).collect();
        Ok((mutant, verdict(&built.programs, &reaching, mutant)?))
    })?;
    Ok(verdicts.into_iter().collect())
}

/// The tests without a mutant.
struct Baseline {
    /// By time, the core's own before the simulator's.
    tests: Vec<Test>,
    /// For each place, by its first mutant, the indexes of those that reach it.
    by_site: HashMap<u32, Vec<usize>>,
}

impl Baseline {
    /// Runs every test alone. The simulator's that take longer than the budget are not used.
    fn new(built: &Built, jobs: usize, folder: &Path) -> Result<Self> {
        let mut names = Vec::new();
        for (index, program) in built.programs.iter().enumerate() {
            let mut list = start(program, 60, &[], &["--list", "--format", "terse"]);
            let list = list.stdout(Stdio::piped()).output()?;
            let list = String::from_utf8(list.stdout)?;
            let tests = list.lines().filter_map(|line| line.strip_suffix(": test"));
            names.extend(tests.map(|name| (index, name.to_owned())));
        }
        let run = |number: usize, (index, name): &(usize, String)| {
            let program = &built.programs[*index];
            let noted = folder.join(format!("reached-{number}"));
            let _ = std::fs::remove_file(&noted);
            let environment = [("MUTANT_REACHED", noted.as_os_str())];
            let is_own = program.package == "dccp-proto";
            let seconds = if is_own { 600 } else { BUDGET.as_secs() };
            let mut alone = start(program, seconds, &environment, &["--exact", name]);
            let (status, time) = timed(|| alone.status());
            let status = status?;
            if is_out_of_time(status) && !is_own {
                return Ok(None);
            }
            ensure!(status.success(), "{name} fails without a mutant");
            let test = Test {
                program: *index,
                is_own,
                name: name.clone(),
                time,
            };
            let reached = std::fs::read_to_string(&noted).unwrap_or_default();
            let reached = reached
                .lines()
                .map(str::parse)
                .collect::<Result<Vec<u32>, _>>()?;
            Ok(Some((test, reached)))
        };
        let all = in_parallel(&names, jobs, run)?;
        let mut all: Vec<_> = all.into_iter().flatten().collect();
        all.sort_by_key(|(test, _)| (!test.is_own, test.time));
        let (mut tests, mut by_site) = (Vec::new(), HashMap::<_, Vec<_>>::new());
        for (test, reached) in all {
            for site in reached {
                by_site.entry(site).or_default().push(tests.len());
            }
            tests.push(test);
        }
        Ok(Self { tests, by_site })
    }
}

fn verdict(programs: &[Program], tests: &[&Test], mutant: u32) -> Result<Verdict> {
    if tests.is_empty() {
        return Ok(Verdict::NotReached);
    }
    let mut spent = Duration::ZERO;
    let affordable = tests.iter().take_while(|test| {
        let is_first = spent.is_zero();
        spent += if test.is_own {
            Duration::ZERO
        } else {
            test.time
        };
        is_first || spent <= BUDGET
    });
    let mut rest = &tests[..affordable.count()];
    while let Some(first) = rest.first() {
        let mut time = Duration::ZERO;
        let fits = |test: &&&Test| {
            time += test.time;
            test.program == first.program && (time <= TOGETHER || time == test.time)
        };
        let (batch, later) = rest.split_at(rest.iter().take_while(fits).count());
        rest = later;
        let time: Duration = batch.iter().map(|test| test.time).sum();
        let mut arguments = vec!["--exact", "--test-threads", "1"];
        arguments.extend(["-Z", "unstable-options", "--fail-fast"]);
        arguments.extend(batch.iter().map(|test| test.name.as_str()));
        let number = mutant.to_string();
        let environment = [("MUTANT", number.as_ref())];
        let seconds = 3 + 5 * time.as_secs();
        let status = start(&programs[first.program], seconds, &environment, &arguments).status()?;
        if is_out_of_time(status) {
            return Ok(Verdict::Timeout);
        }
        if !status.success() {
            return Ok(Verdict::Caught);
        }
    }
    Ok(Verdict::Missed)
}

/// A test program that may take so many seconds of CPU: on a busy machine a slow test is no endless one.
fn start(
    program: &Program,
    seconds: u64,
    environment: &[(&str, &std::ffi::OsStr)],
    arguments: &[&str],
) -> Command {
    let limits =
        format!("ulimit -t {seconds}; ulimit -v {MEMORY_MAX}; ulimit -c 0; exec \"$0\" \"$@\"");
    let mut command = Command::new("sh");
    command
        .args(["-c", &limits])
        .arg(&program.path)
        .args(arguments);
    command.current_dir(&program.folder);
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command.env("CARGO_MANIFEST_DIR", &program.folder);
    command.env("CARGO_PKG_NAME", &program.package);
    // The test harness's own `--fail-fast` is not stable; a failure need not be made small.
    command
        .env("RUSTC_BOOTSTRAP", "1")
        .env("PROPTEST_MAX_SHRINK_ITERS", "0");
    command.envs(environment.iter().copied());
    command
}

fn is_out_of_time(status: ExitStatus) -> bool {
    use std::os::unix::process::ExitStatusExt;
    // SIGXCPU, or SIGKILL where the limit is a hard one.
    matches!(status.signal(), Some(24 | 9))
}

/// `what` of each item and of its number, by so many threads; in order.
fn in_parallel<T: Sync, R: Send>(
    items: &[T],
    jobs: usize,
    what: impl Fn(usize, &T) -> Result<R> + Sync,
) -> Result<Vec<R>> {
    let next = AtomicUsize::new(0);
    let results = Mutex::new(Vec::with_capacity(items.len()));
    std::thread::scope(|scope| {
        for _ in 0..jobs {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Relaxed);
                    let Some(item) = items.get(number) else {
                        return;
                    };
                    let result = what(number, item);
                    if let Ok(mut results) = results.lock() {
                        results.push((number, result));
                    }
                }
            });
        }
    });
    let mut results = results.into_inner().ok().context("a thread panicked")?;
    results.sort_by_key(|(number, _)| *number);
    results.into_iter().map(|(_, result)| result).collect()
}

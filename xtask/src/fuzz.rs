//! Fuzzes the targets of `fuzz/` with libFuzzer: on stable Rust, and with `AddressSanitizer` on nightly.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Mutex;
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use crate::tree;
use dccp_dev::packages;
use dccp_dev::shell::{self, command, command_line};

/// How long to fuzz which targets.
pub(crate) struct Plan<'a> {
    /// For each target.
    pub(crate) duration: Duration,
    /// Only targets whose names contain this.
    pub(crate) pattern: &'a str,
    /// Starts from the stored corpus only, and runs all targets on stable Rust.
    pub(crate) is_ci: bool,
}

/// Targets that run `unsafe` code. Outside CI they run with `AddressSanitizer`, which costs half of the speed or more.
const UNSAFE: [&str; 2] = ["packet", "ring"];

/// Targets that play conversations. Each byte of their input is a decision, so that short inputs reach most; longer
/// ones cost more executions than they win.
const CONVERSATIONS: [&str; 2] = ["connection", "pair"];

/// Targets that run at a time.
const AT_A_TIME: usize = 2;

/// Flags of rustc that instrument for libFuzzer without a sanitizer, as cargo-fuzz sets them on nightly.
/// It also traces comparisons, which takes half of the time and reaches no more edges here.
const INSTRUMENT: &str = "-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
    -Cllvm-args=-simplifycfg-branch-fold-threshold=0 -Ccodegen-units=1 -Cdebug-assertions --cfg fuzzing";

/// One row of the table.
struct Row {
    target: String,
    progress: Progress,
    /// The command that repeats the failure, or why there is none.
    finding: Option<String>,
    /// The input that ended the run, as `xxd -p` writes it: a CI machine does not keep the file.
    input_hex: Option<String>,
}

/// libFuzzer's figures of a run.
#[derive(Debug, Default, PartialEq, Eq)]
struct Progress {
    executions: u64,
    /// Edges that the corpus reaches.
    edges_first: u64,
    /// Edges reached in the end.
    edges: u64,
    input: Option<String>,
}

/// Fuzzes, and prints a table. Returns whether there was no finding.
pub(crate) fn run(plan: &Plan<'_>) -> Result<bool> {
    let targets = targets(&std::fs::read_to_string("fuzz/Cargo.toml")?)?;
    let targets = targets.into_iter().filter(|t| t.contains(plan.pattern));
    let (unsafe_targets, safe): (Vec<_>, Vec<_>) =
        targets.partition(|t| !plan.is_ci && UNSAFE.contains(&t.as_str()));
    ensure!(
        unsafe_targets.len() + safe.len() > 0,
        "fuzz: {}: must be part of a target's name: see fuzz/Cargo.toml",
        plan.pattern
    );
    packages::install(packages::FOR_FUZZING)?;
    let mut jobs = Vec::new();
    for (targets, has_sanitizer) in [(safe, false), (unsafe_targets, true)] {
        if !targets.is_empty() {
            let programs = build(&targets, has_sanitizer)?;
            jobs.extend(targets.into_iter().map(|t| (programs.join(&t), t)));
        }
    }
    let queue = Mutex::new(jobs.into_iter());
    let rows = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..AT_A_TIME {
            scope.spawn(|| {
                while let Some((program, target)) = next(&queue) {
                    let row = fuzz(&program, target, plan);
                    rows.lock().expect("no thread panics").push(row);
                }
            });
        }
    });
    let rows = rows.into_inner()?;
    print(&rows, plan.duration);
    Ok(rows.iter().all(|row| row.finding.is_none()))
}

fn next<T>(queue: &Mutex<impl Iterator<Item = T>>) -> Option<T> {
    queue.lock().expect("no thread panics").next()
}

/// The targets that `fuzz/Cargo.toml` names.
fn targets(manifest: &str) -> Result<Vec<String>> {
    let manifest: toml::Table = manifest.parse()?;
    let programs = manifest.get("bin").and_then(toml::Value::as_array);
    let programs = programs.context("fuzz/Cargo.toml: no [[bin]]")?;
    let names = programs.iter().filter_map(|bin| bin.get("name")?.as_str());
    Ok(names.map(str::to_owned).collect())
}

/// Builds targets. Returns the folder of the programs.
fn build(targets: &[String], has_sanitizer: bool) -> Result<PathBuf> {
    let host = host()?;
    let (cargo, folder, flags) = if has_sanitizer {
        require_nightly()?;
        ("cargo +nightly", "address", "-Zsanitizer=address")
    } else {
        ("cargo", "plain", "")
    };
    let folder = tree::root()?.join("fuzz/target").join(folder);
    let mut build = command_line(cargo);
    // `--target` keeps the flags from build scripts and macros.
    build.args(["build", "--release", "--quiet", "--target", &host]);
    build.args(["--manifest-path", "fuzz/Cargo.toml"]);
    build.args(targets.iter().flat_map(|target| ["--bin", target]));
    build.env("RUSTFLAGS", format!("{INSTRUMENT} {flags}"));
    build.env("CARGO_TARGET_DIR", &folder);
    shell::run(&mut build)?;
    Ok(folder.join(host).join("release"))
}

/// The triple of this machine.
pub(crate) fn host() -> Result<String> {
    let version = shell::output(&mut command_line("rustc -vV"))?;
    let host = version.lines().find_map(|line| line.strip_prefix("host: "));
    Ok(host.context("rustc -vV: no line host:")?.to_owned())
}

/// Fails with what to do if there is no nightly toolchain.
pub(crate) fn require_nightly() -> Result<()> {
    ensure!(
        shell::succeeds(&mut command_line("rustup run nightly rustc --version")),
        "sanitizers need a nightly toolchain, and there is none\n\
         install it: rustup toolchain install nightly --profile minimal --component rust-src"
    );
    Ok(())
}

/// Runs a target. A failure to run it counts as a finding.
fn fuzz(program: &Path, target: String, plan: &Plan<'_>) -> Row {
    let mut progress = Progress::default();
    let result = fuzz_into(program, &target, plan, &mut progress);
    let input = progress.input.take();
    let input_hex = input.as_ref().and_then(|path| std::fs::read(path).ok());
    let finding = match result {
        Ok(true) => None,
        Ok(false) => Some(match input {
            Some(input) => format!("repeat: {} {input}", program.display()),
            None => "no input: see the messages above".to_owned(),
        }),
        Err(error) => Some(format!("{error:#}")),
    };
    Row {
        target,
        progress,
        finding,
        input_hex: input_hex.map(|bytes| hex(&bytes)),
    }
}

fn fuzz_into(
    program: &Path,
    target: &str,
    plan: &Plan<'_>,
    progress: &mut Progress,
) -> Result<bool> {
    let root = tree::root()?;
    // New inputs go to the first folder; the second one is the corpus that is part of the project.
    let found = if plan.is_ci { "ci" } else { "found" };
    let found = root.join("target/fuzz-corpus").join(found).join(target);
    if plan.is_ci && found.exists() {
        std::fs::remove_dir_all(&found)?;
    }
    std::fs::create_dir_all(&found)?;
    let artifacts = root.join("fuzz/artifacts").join(target);
    std::fs::create_dir_all(&artifacts)?;
    let known = root.join("fuzz/corpus").join(target);
    let mut fuzz = command(&[program, &found, &known]);
    fuzz.arg(format!("-max_total_time={}", plan.duration.as_secs()));
    fuzz.arg(format!("-artifact_prefix={}/", artifacts.display()));
    fuzz.args(["-print_final_stats=1", "-print_funcs=0", "-timeout=10"]);
    // Weighing inputs by rare edges takes more than half of the time and finds no more edges.
    fuzz.arg("-entropic=0");
    if CONVERSATIONS.contains(&target) {
        fuzz.arg("-max_len=512");
    }
    // `LeakSanitizer` works neither in a container without ptrace nor in a debugger.
    fuzz.env("ASAN_OPTIONS", "detect_leaks=0:detect_odr_violation=0");
    let mut child = fuzz
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .with_context(|| program.display().to_string())?;
    let stderr = child.stderr.take().context("no pipe")?;
    for line in BufReader::new(stderr).split(b'\n') {
        let line = line?;
        let line = String::from_utf8_lossy(&line);
        // libFuzzer prints thousands of lines, one for each new input.
        if !progress.read(&line) {
            eprintln!("{target}: {line}");
        }
    }
    Ok(child.wait()?.success())
}

fn print(rows: &[Row], duration: Duration) {
    println!(
        "{:<16} {:>12} {:>8} {:>14}  finding",
        "target", "executions", "runs/s", "edges"
    );
    for row in rows {
        let Progress {
            executions,
            edges_first,
            edges,
            ..
        } = row.progress;
        let per_second = executions / duration.as_secs().max(1);
        let edges = format!("{edges_first} → {edges}");
        let finding = row.finding.as_deref().unwrap_or("none");
        println!(
            "{:<16} {executions:>12} {per_second:>8} {edges:>14}  {finding}",
            row.target
        );
    }
    for row in rows {
        if let Some(hex) = &row.input_hex {
            println!("the input of {} for `xxd -r -p`: {hex}", row.target);
        }
    }
}

fn hex(bytes: &[u8]) -> String {
    let digits = bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    digits
        .filter_map(|digit| char::from_digit(digit.into(), 16))
        .collect()
}

impl Progress {
    /// Parses a line. Returns whether it need not be printed.
    fn read(&mut self, line: &str) -> bool {
        if let Some(executions) = line.strip_prefix("stat::number_of_executed_units: ") {
            self.executions = executions.trim().parse().unwrap_or(0);
            return true;
        }
        if let Some((_, input)) = line.split_once("Test unit written to ") {
            self.input = Some(input.trim().to_owned());
            return false;
        }
        // Its other figures, the dictionary that it recommends, and sanitizers that are not linked.
        let quiet = [
            "stat::",
            "\"",
            "######",
            "INFO: ",
            "WARNING: Failed to find",
        ];
        if quiet.iter().any(|start| line.starts_with(start)) {
            return true;
        }
        let mut words = line.split_whitespace();
        if !line.starts_with('#') || words.find(|word| *word == "cov:").is_none() {
            return false;
        }
        let edges = words.next().and_then(|edges| edges.parse().ok());
        self.edges = edges.unwrap_or(self.edges);
        if line.contains("INITED") {
            self.edges_first = self.edges;
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libfuzzers_figures_are_read() {
        let mut progress = Progress::default();
        let quiet = [
            "INFO: seed corpus: files: 151 min: 1b max: 2000b total: 41536b rss: 28Mb",
            "#152\tINITED cov: 300 ft: 26887 corp: 151/40Kb exec/s: 0 rss: 29Mb",
            "#8192\tpulse  cov: 315 ft: 900 corp: 80/1Kb exec/s: 4096 rss: 40Mb",
            "#9000\tDONE   cov: 320 ft: 910 corp: 81/1Kb lim: 43 exec/s: 4096 rss: 40Mb",
            "stat::number_of_executed_units: 9000",
            "stat::peak_rss_mb: 187",
        ];
        assert!(quiet.iter().all(|line| progress.read(line)));
        let loud = [
            "==1== ERROR: libFuzzer: deadly signal",
            "artifact_prefix='fuzz/artifacts/ring/'; Test unit written to fuzz/artifacts/ring/crash-1",
        ];
        assert!(loud.iter().all(|line| !progress.read(line)));
        let expected = Progress {
            executions: 9000,
            edges_first: 300,
            edges: 320,
            input: Some("fuzz/artifacts/ring/crash-1".to_owned()),
        };
        assert_eq!(progress, expected);
    }

    #[test]
    fn findings_are_printed_as_hexadecimal_digits() {
        assert_eq!(hex(&[0, 0x1F, 0xA0]), "001fa0");
    }

    #[test]
    fn every_target_has_a_corpus() {
        let root = tree::root().unwrap();
        let manifest = std::fs::read_to_string(root.join("fuzz/Cargo.toml")).unwrap();
        let targets = targets(&manifest).unwrap();
        assert!(UNSAFE.iter().all(|name| targets.contains(&(*name).into())));
        for target in targets {
            let corpus = root.join("fuzz/corpus").join(&target);
            let mut files = std::fs::read_dir(corpus).unwrap();
            assert!(files.next().is_some(), "{target}");
        }
    }
}

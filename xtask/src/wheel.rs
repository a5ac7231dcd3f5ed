//! The Python package: built as a wheel, installed into a virtual environment, tested with pytest.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread::{self, JoinHandle};

use anyhow::{Context, Result, anyhow};

use dccp_dev::shell::{self, command, idle_command};
use dccp_dev::{Tally, python};

const PACKAGE: &str = "crates/dccp-py";

/// The wheel, built while other work leaves processors idle.
pub(crate) struct Build(JoinHandle<Result<(PathBuf, PathBuf)>>);

impl Build {
    /// Starts to install what it takes, and to build.
    pub(crate) fn start() -> Self {
        Self(thread::spawn(|| {
            python::PACKAGE.install()?;
            let python = python::PACKAGE.python().context("no environment")?;
            let wheel = wheel(&python)?;
            Ok((python, wheel))
        }))
    }

    /// Waits for the wheel, and runs the tests of the package.
    pub(crate) fn tests(self) -> Result<Tally> {
        let built = self.0.join();
        let (python, wheel) = built.map_err(|_| anyhow!("the build of the wheel panicked"))??;
        tests(&python, &wheel)
    }
}

/// Runs the tests of the package.
fn tests(python: &Path, wheel: &Path) -> Result<Tally> {
    let install = "pip install --quiet --no-index --no-deps --force-reinstall";
    shell::run(module(python, install).arg(wheel))?;
    let mut pytest = module(python, &format!("pytest --color=no {PACKAGE}"));
    println!("$ python -m pytest {PACKAGE}");
    let output = pytest.env("USRDCCP_WHEEL", wheel).output()?;
    let text = String::from_utf8_lossy(&output.stdout);
    print!("{text}");
    eprint!("{}", String::from_utf8_lossy(&output.stderr));
    Ok(tally(&text, output.status.success()))
}

/// `python -m WORDS`.
fn module(python: &Path, words: &str) -> Command {
    let mut module = command(&[python]);
    module.arg("-m").args(words.split(' '));
    module
}

/// Builds the wheel. Returns its absolute path.
fn wheel(python: &Path) -> Result<PathBuf> {
    let folder = std::env::current_dir()?.join("target/wheels");
    // The only wheel is then the new one.
    let _ = fs::remove_dir_all(&folder);
    let build =
        format!("maturin build --auditwheel skip --manifest-path {PACKAGE}/Cargo.toml --out");
    let mut maturin = idle_command(&[python.as_os_str(), "-m".as_ref()]);
    maturin.args(build.split(' ')).arg(&folder);
    shell::run(&mut maturin)?;
    let mut files = fs::read_dir(&folder)?;
    let file = files.next().context("maturin has written no wheel")??;
    Ok(file.path())
}

/// The counts in pytest's last line, `=== 1 failed, 9 passed, 1 skipped in 2.00s ===`, and the reasons of skips, which
/// `-ra` lists. `success` is pytest's own verdict: without a single test there is no last line.
fn tally(text: &str, success: bool) -> Tally {
    let lines = text.lines();
    let last = lines.clone().rfind(|line| line.starts_with("===="));
    let words: Vec<&str> = last.unwrap_or_default().split([' ', ',', '=']).collect();
    let count = |of: &str| {
        let found = words
            .windows(2)
            .find(|pair| pair[1].trim_end_matches('s') == of);
        found
            .and_then(|pair| pair[0].parse::<usize>().ok())
            .unwrap_or(0)
    };
    let skips = lines.filter_map(|line| line.strip_prefix("SKIPPED "));
    let failed = count("failed") + count("error");
    Tally {
        passed: count("passed"),
        failed: failed.max(usize::from(!success)),
        skipped: skips.map(str::to_owned).collect(),
        flaky: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_those_of_the_last_line() {
        let text = "==== short test summary info ====\n\
            SKIPPED [1] tests/test_a.py:3: needs a cluster\n\
            FAILED tests/test_a.py::test_b - AssertionError\n\
            ==== 1 failed, 24 passed, 1 skipped, 2 errors in 40.11s ====\n";
        let expected = Tally {
            passed: 24,
            failed: 3,
            skipped: vec!["[1] tests/test_a.py:3: needs a cluster".into()],
            flaky: Vec::new(),
        };
        assert_eq!(tally(text, false), expected);
        let good = tally("======== 7 passed in 1.00s ========\n", true);
        assert_eq!((good.passed, good.failed), (7, 0));
    }

    #[test]
    fn pytest_that_ends_without_tests_is_a_failure() {
        assert_eq!(tally("", false).failed, 1);
    }
}

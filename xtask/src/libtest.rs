//! Parses the output of `cargo test -- --show-output`.
//!
//! A test that lacks a prerequisite prints `SKIP name: needs …` and returns. libtest keeps the
//! output of a test that passes to itself unless asked; `--show-output` lists it at the end of
//! each test program, under the test's name, and that is where the skips are found.

use dccp_dev::Tally;

/// More failed tests than this are no accident of timing.
const FEW: usize = 3;

/// The part of a test program's output.
#[derive(Default, PartialEq)]
enum Section {
    /// The tests, as they end.
    #[default]
    Progress,
    /// The output of the tests that passed.
    Successes,
    /// The output of the tests that failed.
    Failures,
}

/// Parses the output line by line.
#[derive(Default)]
pub(crate) struct Reader {
    section: Section,
    /// Whether the current test has reported a skip already.
    counted: bool,
    /// Skips of the test program being read.
    skips: Vec<String>,
    outcome: Outcome,
}

/// The sum over all test programs.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    pub(crate) tally: Tally,
    /// Names of tests that failed.
    pub(crate) failures: Vec<String>,
    /// Programs whose result is a failure.
    failed_programs: usize,
}

impl Reader {
    /// Parses a line. Returns whether to print it.
    pub(crate) fn line(&mut self, line: &str) -> bool {
        if let Some(counts) = line.strip_prefix("test result: ") {
            self.end_of_program(counts);
            return true;
        }
        match line {
            "successes:" => self.section = Section::Successes,
            "failures:" => self.section = Section::Failures,
            _ => {}
        }
        if let Some(name) = test_above_its_output(line) {
            self.counted = false;
            if self.section == Section::Failures {
                self.outcome.failures.push(name.to_owned());
            }
        }
        if let Some(skip) = line.strip_prefix("SKIP ") {
            if !self.counted {
                self.skips.push(skip.to_owned());
            }
            self.counted = self.section != Section::Progress;
            return true;
        }
        self.section != Section::Successes
    }

    /// The sum over all test programs. `success` is cargo's own verdict: a program that crashed or did not build leaves no
    /// result.
    pub(crate) fn finish(mut self, success: bool) -> Outcome {
        if !success && self.outcome.tally.failed == 0 {
            self.outcome.tally.failed = 1;
        }
        self.outcome
    }

    /// `counts`: `ok. 3 passed; 0 failed; 1 ignored; …`.
    fn end_of_program(&mut self, counts: &str) {
        let count = |of: &str| {
            let words: Vec<_> = counts.split([' ', ';']).collect();
            let found = words.windows(2).find(|pair| pair[1] == of);
            found
                .and_then(|pair| pair[0].parse::<usize>().ok())
                .unwrap_or(0)
        };
        self.outcome.failed_programs += usize::from(counts.starts_with("FAILED"));
        let skips = std::mem::take(&mut self.skips);
        let tally = &mut self.outcome.tally;
        tally.passed += count("passed").saturating_sub(skips.len());
        tally.failed += count("failed");
        tally.skipped.extend(skips);
        for _ in 0..count("ignored") {
            tally
                .skipped
                .push("a test: marked as ignored, which the style rules forbid".into());
        }
        self.section = Section::Progress;
    }
}

/// The number of test programs that failed, if this is the line before their names.
pub(crate) fn failed_programs(line: &str) -> Option<usize> {
    let (number, rest) = line.strip_prefix("error: ")?.split_once(' ')?;
    let number = number.parse().ok()?;
    matches!(rest, "target failed:" | "targets failed:").then_some(number)
}

/// The name in the line above a test's output.
fn test_above_its_output(line: &str) -> Option<&str> {
    line.strip_prefix("---- ")?.strip_suffix(" stdout ----")
}

impl Outcome {
    /// The failed tests, if they are few and all have names: each of them may deserve a second attempt. `failed_programs` is
    /// cargo's number, and counts those that crashed too. Cargo does not find tests of documentation by their names, which
    /// have spaces.
    pub(crate) fn few_failures(&self, failed_programs: usize) -> Option<&[String]> {
        let all_have_names = self.failures.len() == self.tally.failed
            && self.failed_programs == failed_programs
            && self.failures.iter().all(|name| !name.contains(' '));
        (all_have_names && (1..=FEW).contains(&self.failures.len())).then_some(&self.failures)
    }

    /// Counts the failed tests as flaky if `again`, a run of them alone, passed.
    pub(crate) fn after(mut self, again: &Self) -> Tally {
        if again.tally.failed == 0 && again.tally.passed >= self.failures.len() {
            self.tally.passed += std::mem::take(&mut self.tally.failed);
            self.tally.flaky = self.failures;
        }
        self.tally
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dccp_dev::rerun;

    fn read(text: &str, success: bool) -> (Tally, Vec<String>) {
        let mut reader = Reader::default();
        let shown = text.lines().filter(|line| reader.line(line));
        let shown = shown.map(str::to_owned).collect();
        (reader.finish(success).tally, shown)
    }

    fn outcome(text: &str, success: bool) -> Outcome {
        let mut reader = Reader::default();
        for line in text.lines() {
            reader.line(line);
        }
        reader.finish(success)
    }

    const RUN: &str = "\
running 3 tests
test a ... ok
test b ... ok
test c ... FAILED

successes:

---- a stdout ----
some chatter
SKIP a: needs root
SKIP a: needs root

successes:
    a
    b

failures:

---- c stdout ----
thread panicked

failures:
    c

test result: FAILED. 2 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s
";

    #[test]
    fn a_skip_is_counted_once_and_not_as_passed() {
        let (tally, shown) = read(RUN, false);
        let expected = Tally {
            passed: 1,
            failed: 1,
            skipped: vec!["a: needs root".into()],
            flaky: Vec::new(),
        };
        assert_eq!(tally, expected);
        assert!(!shown.iter().any(|line| line == "some chatter"));
        assert!(shown.iter().any(|line| line == "thread panicked"));
    }

    #[test]
    fn programs_add_up() {
        let (tally, _) = read(&[RUN, RUN].concat(), false);
        assert_eq!((tally.passed, tally.failed, tally.skipped.len()), (2, 2, 2));
    }

    #[test]
    fn a_crash_without_a_result_is_a_failure() {
        let (tally, _) = read("running 1 test\n", false);
        assert_eq!((tally.passed, tally.failed), (0, 1));
    }

    #[test]
    fn an_ignored_test_is_a_skip() {
        let (tally, _) = read(
            "test result: ok. 4 passed; 0 failed; 1 ignored; 0 measured",
            true,
        );
        assert_eq!((tally.passed, tally.failed, tally.skipped.len()), (4, 0, 1));
    }
    const PASSED: &str = "test result: ok. 1 passed; 0 failed; 0 ignored";
    const FAILED: &str = "test result: FAILED. 0 passed; 1 failed; 0 ignored";

    #[test]
    fn a_failed_test_that_passes_again_is_flaky() {
        let first = outcome(RUN, false);
        assert_eq!(first.few_failures(1), Some(&["c".to_owned()][..]));
        let tally = first.after(&outcome(PASSED, true));
        assert_eq!((tally.passed, tally.failed), (2, 0));
        assert_eq!(tally.flaky, ["c"]);
    }

    #[test]
    fn a_test_that_fails_again_or_does_not_run_again_is_a_failure() {
        for again in [FAILED, "test result: ok. 0 passed; 0 failed; 0 ignored"] {
            let tally = outcome(RUN, false).after(&outcome(again, again != FAILED));
            assert_eq!((tally.passed, tally.failed), (1, 1), "{again}");
            assert!(tally.flaky.is_empty());
        }
    }

    #[test]
    fn many_failures_and_crashes_are_not_tried_again() {
        assert_eq!(
            outcome(&RUN.repeat(FEW + 1), false).few_failures(FEW + 1),
            None
        );
        assert_eq!(outcome("running 1 test\n", false).few_failures(1), None);
        assert_eq!(outcome(PASSED, true).few_failures(0), None);
        // A second program crashed.
        assert_eq!(outcome(RUN, false).few_failures(2), None);
        let document = RUN.replace("---- c ", "---- src/lib.rs - c (line 3) ");
        assert_eq!(outcome(&document, false).few_failures(1), None);
    }

    #[test]
    fn output_of_a_test_that_runs_again_elsewhere_does_not_count() {
        let again = rerun::quoted(&["running 3 tests\n", RUN].concat());
        let nested = RUN.replace("thread panicked\n", &again);
        let outcome = outcome(&nested, false);
        assert_eq!((outcome.tally.passed, outcome.tally.failed), (1, 1));
        assert_eq!(outcome.few_failures(1), Some(&["c".to_owned()][..]));
    }

    #[test]
    fn cargo_tells_how_many_programs_failed() {
        assert_eq!(failed_programs("error: 1 target failed:"), Some(1));
        assert_eq!(failed_programs("error: 12 targets failed:"), Some(12));
        assert_eq!(
            failed_programs("error: test failed, to rerun pass `-p a`"),
            None
        );
    }
}

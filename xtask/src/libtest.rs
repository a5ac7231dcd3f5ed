//! Parses the output of `cargo test -- --show-output`.
//!
//! A test that lacks a prerequisite prints `SKIP name: needs …` and returns. libtest keeps the
//! output of a test that passes to itself unless asked; `--show-output` lists it at the end of
//! each test program, under the test's name, and that is where the skips are found.

use dccp_dev::Tally;

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
    tally: Tally,
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
        if line.starts_with("---- ") && line.ends_with(" stdout ----") {
            self.counted = false;
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

    /// The sum over all test programs. `success` is cargo's own verdict: a program that crashed
    /// or did not build leaves no result.
    pub(crate) fn finish(mut self, success: bool) -> Tally {
        if !success && self.tally.failed == 0 {
            self.tally.failed = 1;
        }
        self.tally
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
        let skips = std::mem::take(&mut self.skips);
        self.tally.passed += count("passed").saturating_sub(skips.len());
        self.tally.failed += count("failed");
        self.tally.skipped.extend(skips);
        for _ in 0..count("ignored") {
            self.tally
                .skipped
                .push("a test: marked as ignored, which the style rules forbid".into());
        }
        self.section = Section::Progress;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str, success: bool) -> (Tally, Vec<String>) {
        let mut reader = Reader::default();
        let shown = text.lines().filter(|line| reader.line(line));
        let shown = shown.map(str::to_owned).collect();
        (reader.finish(success), shown)
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
}

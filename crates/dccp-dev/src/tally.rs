//! Counts passed, failed and skipped tests.

/// The result of a run of tests.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Tests that passed.
    pub passed: usize,
    /// Tests that failed.
    pub failed: usize,
    /// Skipped tests with their reasons: `name: needs …`.
    pub skipped: Vec<String>,
    /// Names of tests among those that passed which did so only when they ran again.
    pub flaky: Vec<String>,
}

impl Tally {
    /// Adds the counts of `other`.
    pub fn add(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.skipped.extend(other.skipped);
        self.flaky.extend(other.flaky);
    }

    /// Prints the skipped and the flaky tests, and the sums. Returns whether all tests passed, or were skipped if
    /// `allow_skip`.
    pub fn conclude(&self, allow_skip: bool) -> bool {
        println!();
        for skip in &self.skipped {
            println!("SKIP {skip}");
        }
        for name in &self.flaky {
            println!("FLAKY {name}: failed at first, passed on its own; its output is above");
        }
        let (passed, failed, skipped) = (self.passed, self.failed, self.skipped.len());
        println!("{passed} passed, {failed} failed, {skipped} skipped");
        failed == 0 && passed + skipped > 0 && (skipped == 0 || allow_skip)
    }
}

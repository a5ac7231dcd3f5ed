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
}

impl Tally {
    /// Adds the counts of `other`.
    pub fn add(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.skipped.extend(other.skipped);
    }

    /// Prints the skipped tests and the sums. Returns whether all tests passed, or were skipped if
    /// `allow_skip`.
    pub fn conclude(&self, allow_skip: bool) -> bool {
        println!();
        for skip in &self.skipped {
            println!("SKIP {skip}");
        }
        let (passed, failed, skipped) = (self.passed, self.failed, self.skipped.len());
        println!("{passed} passed, {failed} failed, {skipped} skipped");
        failed == 0 && passed + skipped > 0 && (skipped == 0 || allow_skip)
    }
}

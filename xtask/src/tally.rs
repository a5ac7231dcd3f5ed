//! What a run of tests came to.

#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    pub(crate) passed: usize,
    pub(crate) failed: usize,
    /// Each with its reason: `name: needs …`.
    pub(crate) skipped: Vec<String>,
}

impl Tally {
    pub(crate) fn add(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.skipped.extend(other.skipped);
    }

    /// Prints the skips and the last line; whether all is well.
    pub(crate) fn conclude(&self, allow_skip: bool) -> bool {
        println!();
        for skip in &self.skipped {
            println!("SKIP {skip}");
        }
        let (passed, failed, skipped) = (self.passed, self.failed, self.skipped.len());
        println!("{passed} passed, {failed} failed, {skipped} skipped");
        failed == 0 && passed > 0 && (skipped == 0 || allow_skip)
    }
}

//! The line on a terminal that shows how far a test is.

use core::time::Duration;
use dccp::{Instant, clock};
use dccp_cli::quantity::show as units;
use std::io::{IsTerminal as _, Write as _, stderr, stdout};

/// The time between two changes of the line.
const PERIOD: Duration = Duration::from_millis(200);
/// The length of the bar.
const BAR: u64 = 40;

/// The line. It is on standard error, and only if both outputs are a terminal.
pub(crate) struct Progress {
    is_on: bool,
    is_visible: bool,
    next: Instant,
}

impl Progress {
    pub(crate) fn new(is_wanted: bool) -> Self {
        Self {
            is_on: is_wanted && stdout().is_terminal() && stderr().is_terminal(),
            is_visible: false,
            next: clock::now(),
        }
    }

    /// Shows the line, but not too often.
    pub(crate) fn show(&mut self, elapsed_ns: u64, duration_ns: u64) {
        let now = clock::now();
        if !self.is_on || now < self.next {
            return;
        }
        self.next = now + PERIOD;
        self.is_visible = true;
        write(&format!("\r\x1b[K{}", line(elapsed_ns, duration_ns)));
    }

    /// Removes the line.
    pub(crate) fn clear(&mut self) {
        if core::mem::take(&mut self.is_visible) {
            write("\r\x1b[K");
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.clear();
    }
}

fn line(elapsed_ns: u64, duration_ns: u64) -> String {
    let elapsed_ns = elapsed_ns.min(duration_ns);
    let share = u128::from(elapsed_ns) * u128::from(BAR) / u128::from(duration_ns.max(1));
    let done = usize::try_from(share).unwrap_or(0);
    let left = usize::try_from(BAR).unwrap_or(0) - done;
    format!(
        " {}{} {} of {} s",
        "#".repeat(done),
        ".".repeat(left),
        units::seconds(elapsed_ns / 100_000_000 * 100_000_000),
        units::seconds(duration_ns)
    )
}

/// A terminal that went away ends nothing.
fn write(text: &str) {
    let mut out = stderr().lock();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bar_grows_with_the_time() {
        let second = 1_000_000_000;
        let text = line(5 * second, 10 * second);
        assert_eq!(
            text,
            format!(" {}{} 5 of 10 s", "#".repeat(20), ".".repeat(20))
        );
        assert!(line(u64::MAX, 1).contains(&"#".repeat(40)));
        assert!(line(0, 0).contains(&".".repeat(40)));
    }
}

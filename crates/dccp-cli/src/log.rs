//! Lines about a service's work on standard output.
//!
//! A pipe may have lost its reader, or the disk may be full. Then lines are lost, and the service goes on.

use core::time::Duration;
use dccp_proto::Instant;
use std::io::Write as _;

/// Lines in a second at most. Peers and programs can cause lines, and must not fill the disk.
const LINES_PER_S: u32 = 200;

/// Writes lines, at most 200 of them in a second.
#[derive(Debug, Default)]
pub struct Log {
    second: Option<Instant>,
    lines: u32,
    suppressed: u64,
}

impl Log {
    /// Writes a line, or counts it as suppressed. A text of a program or peer in it cannot end the line, or act on a terminal.
    pub fn line(&mut self, now: Instant, line: &str) {
        let line = &line.replace(char::is_control, "\u{fffd}");
        match self.admit(now) {
            Some(0) => print(line),
            Some(suppressed) => print(&format!("{suppressed} lines were left out\n{line}")),
            None => {}
        }
    }

    /// Returns the number of lines that were suppressed before this one, or nothing if it is suppressed too.
    fn admit(&mut self, now: Instant) -> Option<u64> {
        if self
            .second
            .is_none_or(|since| now >= since + Duration::from_secs(1))
        {
            self.second = Some(now);
            self.lines = 0;
        }
        if self.lines >= LINES_PER_S {
            self.suppressed += 1;
            return None;
        }
        self.lines += 1;
        Some(core::mem::take(&mut self.suppressed))
    }
}

/// Writes a line, whatever their number.
pub fn print(line: &str) {
    let _ = writeln!(std::io::stdout().lock(), "{line}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_a_second_are_bounded_and_the_others_counted() {
        let start = Instant::from_nanos(0);
        let mut log = Log::default();
        for _ in 0..LINES_PER_S {
            assert_eq!(log.admit(start), Some(0));
        }
        assert_eq!(log.admit(start), None);
        assert_eq!(log.admit(start + Duration::from_millis(999)), None);
        let later = start + Duration::from_secs(1);
        assert_eq!(log.admit(later), Some(2));
        assert_eq!(log.admit(later), Some(0));
    }
}

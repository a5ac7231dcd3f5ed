//! The load of the processors, from `/proc/stat` (`proc_stat(5)`).

use std::fs;

/// A core that is busy for this share of a run may have limited it.
const BUSY: f64 = 0.9;

/// The busy time and all time of each core since the system started, in ticks.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Load(Vec<(u64, u64)>);

impl Load {
    /// The counters now.
    pub(super) fn now() -> Self {
        // Without that file there is no evidence and no warning.
        Self::read(&fs::read_to_string("/proc/stat").unwrap_or_default())
    }

    /// Reads the lines of cores: user, nice, system, idle, iowait, irq, softirq, steal …
    fn read(text: &str) -> Self {
        let cores = text.lines().filter_map(|line| {
            let (_, numbers) = line.strip_prefix("cpu")?.split_once(' ')?;
            let is_core = line.as_bytes().get(3).is_some_and(u8::is_ascii_digit);
            let numbers = numbers.split_whitespace().take(8).map(str::parse);
            let numbers: Vec<u64> = numbers.collect::<Result<_, _>>().ok()?;
            let all: u64 = numbers.iter().sum();
            let idle = numbers.get(3)? + numbers.get(4)?;
            is_core.then_some((all - idle, all))
        });
        Self(cores.collect())
    }

    /// A warning if a core was busy until a later time.
    pub(super) fn complaint(&self, later: &Self) -> Option<String> {
        #[expect(clippy::cast_precision_loss, reason = "ticks are below 2^53")]
        let share = |(now, before): (&(u64, u64), &(u64, u64))| {
            let busy = now.0.saturating_sub(before.0) as f64;
            busy / now.1.saturating_sub(before.1).max(1) as f64
        };
        let shares: Vec<f64> = later.0.iter().zip(&self.0).map(share).collect();
        let is_busy = shares.iter().any(|share| *share >= BUSY);
        let shown = shares.iter().map(|share| format!("{:.0} %", share * 100.0));
        let shown: Vec<String> = shown.collect();
        is_busy.then(|| format!("the processor was busy, core by core: {}", shown.join(", ")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn busy_core_is_reported_with_all_shares() {
        let at = |a: u64, b: u64| {
            let rest = "0 0 0 0 0 0 0 0";
            Load::read(&format!(
                "cpu  1 2 3 4 5 6 7 8 9 10\ncpu0 {a} {a} {a} 100 0 0 0 0 0 0\ncpu1 {b} 0 0 100 0 {rest}\nintr 1\n"
            ))
        };
        assert_eq!(at(10, 5).0, [(30, 130), (5, 105)]);
        let idle = |busy: u64| Load(vec![(busy, 1000), (100, 1000)]);
        assert_eq!(Load(vec![(0, 0), (0, 0)]).complaint(&idle(899)), None);
        assert_eq!(
            Load(vec![(0, 0), (0, 0)]).complaint(&idle(900)).as_deref(),
            Some("the processor was busy, core by core: 90 %, 10 %")
        );
    }
}

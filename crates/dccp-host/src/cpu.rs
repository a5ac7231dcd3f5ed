//! Processor time and interrupts, from `/proc/stat` and `/proc/interrupts`.

use core::time::Duration;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// More cores are not reported.
const CORES_MAX: usize = 256;

/// The use of one core as shares of the time, which add up to 1.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Copy, PartialEq, Debug)]
#[schemars(deny_unknown_fields)]
pub struct Core {
    /// The number of the core.
    pub core: u32,
    /// Programs.
    pub user_ratio: f64,
    /// Programs with low priority.
    pub nice_ratio: f64,
    /// The kernel, for programs.
    pub system_ratio: f64,
    /// Nothing.
    pub idle_ratio: f64,
    /// Nothing, while a program waited for a disk.
    pub iowait_ratio: f64,
    /// Interrupts.
    pub irq_ratio: f64,
    /// Deferred work of interrupts, such as received packets.
    pub softirq_ratio: f64,
    /// Other virtual machines.
    pub steal_ratio: f64,
}

impl Core {
    /// The share of the time that the core had work, or had none to give because another machine used it.
    pub fn busy_ratio(&self) -> f64 {
        1.0 - self.idle_ratio - self.iowait_ratio
    }
}

/// The columns of a core in `/proc/stat`: user, nice, system, idle, iowait, irq, softirq, steal.
pub(crate) type Ticks = [u64; 8];

/// The ticks of each core.
pub(crate) fn ticks(stat: &str) -> BTreeMap<u32, Ticks> {
    let rows = stat.lines().filter_map(|line| {
        // The row of the sum has a space in place of the number.
        let row = line.strip_prefix("cpu")?;
        let mut words = row.split_ascii_whitespace();
        let core = words.next().filter(|_| !row.starts_with(' '))?;
        let mut ticks = Ticks::default();
        for tick in &mut ticks {
            *tick = words.next()?.parse().ok()?;
        }
        Some((core.parse().ok()?, ticks))
    });
    rows.take(CORES_MAX).collect()
}

/// The shares of the time between two readings. A core without a tick in between is left out.
pub(crate) fn shares(now: &BTreeMap<u32, Ticks>, then: &BTreeMap<u32, Ticks>) -> Vec<Core> {
    let core = |(&core, now): (&u32, &Ticks)| {
        let then = then.get(&core)?;
        let ticks: Vec<u64> = (now.iter().zip(then))
            .map(|(now, then)| now.saturating_sub(*then))
            .collect();
        let sum: u64 = ticks.iter().sum();
        let ratio = |column: usize| crate::float(ticks[column]) / crate::float(sum);
        (sum > 0).then(|| Core {
            core,
            user_ratio: ratio(0),
            nice_ratio: ratio(1),
            system_ratio: ratio(2),
            idle_ratio: ratio(3),
            iowait_ratio: ratio(4),
            irq_ratio: ratio(5),
            softirq_ratio: ratio(6),
            steal_ratio: ratio(7),
        })
    };
    now.iter().filter_map(core).collect()
}

/// The number of the core with the most work.
pub(crate) fn busiest(cores: &[Core]) -> Option<u32> {
    let by_work = |a: &&Core, b: &&Core| a.busy_ratio().total_cmp(&b.busy_ratio());
    cores.iter().max_by(by_work).map(|core| core.core)
}

/// Interrupts by core: the sums of the columns of `/proc/interrupts`.
pub(crate) fn interrupts(text: &str) -> Vec<u64> {
    let mut lines = text.lines();
    let columns = lines
        .next()
        .map_or(0, |line| line.split_whitespace().count());
    let mut sums = vec![0_u64; columns.min(CORES_MAX)];
    for line in lines {
        let counts: Vec<u64> = (line.split_ascii_whitespace().skip(1))
            .map_while(|word| word.parse().ok())
            .take(sums.len())
            .collect();
        // Rows of errors have one count for all cores.
        if counts.len() == sums.len() && !line.trim_start().starts_with("ERR:") {
            for (sum, count) in sums.iter_mut().zip(counts) {
                *sum = sum.saturating_add(count);
            }
        }
    }
    sums
}

pub(crate) fn interrupts_since(now: &[u64], then: &[u64]) -> Vec<u64> {
    let pairs = now.iter().zip(then);
    pairs.map(|(now, then)| now.saturating_sub(*then)).collect()
}

/// Ticks of a process: its own, and those of the kernel for it.
pub(crate) type ProcessTicks = [u64; 2];

/// The ticks in `/proc/self/stat`.
pub(crate) fn process_ticks(stat: &str) -> Option<ProcessTicks> {
    // The name in brackets can hold brackets and spaces.
    let (_, fields) = stat.rsplit_once(')')?;
    let mut fields = fields.split_ascii_whitespace().skip(11);
    let mut ticks = || fields.next()?.parse().ok();
    Some([ticks()?, ticks()?])
}

/// The kernel's share of the ticks between two readings.
pub(crate) fn system_share(now: ProcessTicks, then: ProcessTicks) -> f64 {
    let [own, system] = [0, 1].map(|part: usize| now[part].saturating_sub(then[part]));
    if system == 0 {
        return 0.0;
    }
    crate::float(system) / crate::float(own + system)
}

/// The processor time of this process.
#[cfg(unix)]
pub(crate) fn of_process() -> Option<Duration> {
    use rustix::time::{ClockId, clock_gettime};
    let time = clock_gettime(ClockId::ProcessCPUTime);
    let secs = u64::try_from(time.tv_sec).ok()?;
    Some(Duration::new(secs, u32::try_from(time.tv_nsec).ok()?))
}

#[cfg(not(unix))]
pub(crate) fn of_process() -> Option<Duration> {
    None
}

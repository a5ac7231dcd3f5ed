//! The threads of this process, from `/proc/self/task`.

use crate::file;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs;

/// Further threads are not read.
const THREADS_MAX: usize = 1024;

/// How busy the threads were that exist at the end. Threads that ended before do not count.
#[derive(Serialize, Deserialize, JsonSchema, Clone, PartialEq, Debug)]
#[schemars(deny_unknown_fields)]
pub struct Threads {
    /// Their number.
    pub n: u32,
    /// The longest processor time of a thread.
    pub cpu_max_ns: u64,
    /// The greatest share of the time that a thread ran or waited for a core: at 1 the thread had work all the time.
    pub runnable_max_ratio: f64,
    /// The name of that thread.
    pub busiest: String,
}

/// The times of a thread since its start.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Time {
    pub(crate) name: String,
    /// On a core.
    pub(crate) running_ns: u64,
    /// Waiting for a core.
    pub(crate) waiting_ns: u64,
}

/// By thread ID.
pub(crate) type Times = BTreeMap<u32, Time>;

/// The times of all threads; `None` if the kernel does not count them.
pub(crate) fn times() -> Option<Times> {
    let mut times = Times::new();
    for entry in fs::read_dir("/proc/self/task").ok()?.take(THREADS_MAX) {
        let Ok(entry) = entry else { continue };
        let path = entry.path();
        let read = |name: &str| file::read(path.join(name).to_str()?);
        // A thread can end at any time.
        let id = entry.file_name().to_str().and_then(|id| id.parse().ok());
        if let (Some(id), Some(text), Some(name)) = (id, read("schedstat"), read("comm")) {
            times.insert(id, time(&text, name.trim_end())?);
        }
    }
    (!times.is_empty()).then_some(times)
}

/// A thread's `schedstat`: nanoseconds on a core, nanoseconds waiting for one, and the number of slices.
pub(crate) fn time(schedstat: &str, name: &str) -> Option<Time> {
    let mut words = schedstat.split_ascii_whitespace();
    Some(Time {
        name: name.into(),
        running_ns: words.next()?.parse().ok()?,
        waiting_ns: words.next()?.parse().ok()?,
    })
}

/// The busiest threads between two readings; `None` if no time passed.
pub(crate) fn since(now: &Times, then: &Times, wall_ns: u64) -> Option<Threads> {
    let new = Time::default();
    let rises = now.iter().map(|(id, now)| {
        let then = then.get(id).unwrap_or(&new);
        let running = now.running_ns.saturating_sub(then.running_ns);
        let waiting = now.waiting_ns.saturating_sub(then.waiting_ns);
        (running, running.saturating_add(waiting), &now.name)
    });
    let rises: Vec<_> = rises.collect();
    let (_, runnable, busiest) = rises.iter().max_by_key(|(_, runnable, _)| *runnable)?;
    (wall_ns > 0).then(|| Threads {
        n: u32::try_from(now.len()).unwrap_or(u32::MAX),
        cpu_max_ns: rises
            .iter()
            .map(|(running, ..)| *running)
            .max()
            .unwrap_or(0),
        runnable_max_ratio: (crate::float(*runnable) / crate::float(wall_ns)).min(1.0),
        busiest: (*busiest).clone(),
    })
}

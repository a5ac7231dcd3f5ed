//! The host itself.

use crate::file;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::thread;

/// The properties of a host that make two results comparable.
#[derive(Serialize, Deserialize, JsonSchema, Clone, PartialEq, Eq, Debug, Default)]
#[schemars(deny_unknown_fields)]
pub struct Identity {
    /// The kernel: its name, release and machine.
    pub system: String,
    /// Random since the kernel's start: two ends with the same one run on one machine.
    pub boot_id: Option<String>,
    /// The hardware behind the kernel's clock.
    pub clock_source: Option<String>,
    /// Processor cores that this process can use.
    pub cores: u32,
}

impl Identity {
    /// Reads it.
    pub fn read() -> Self {
        let line = |path| file::read(path).map(|text| text.trim_end().to_owned());
        let cores = thread::available_parallelism().map_or(1, usize::from);
        Self {
            system: system(),
            boot_id: line("/proc/sys/kernel/random/boot_id"),
            clock_source: line("/sys/devices/system/clocksource/clocksource0/current_clocksource"),
            cores: u32::try_from(cores).unwrap_or(u32::MAX),
        }
    }
}

#[cfg(unix)]
fn system() -> String {
    let name = rustix::system::uname();
    let text = |s: &core::ffi::CStr| s.to_string_lossy().into_owned();
    format!(
        "{} {} {}",
        text(name.sysname()),
        text(name.release()),
        text(name.machine())
    )
}

#[cfg(not(unix))]
fn system() -> String {
    std::env::consts::OS.into()
}

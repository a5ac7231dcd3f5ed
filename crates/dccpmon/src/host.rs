//! This end's host.

use crate::wire::figures::Host;
use core::time::Duration;
use dccp::proto::time::nanos;
use dccp::{Instant, clock};
use std::collections::BTreeMap;

/// CPU time and wall time of this process from a moment on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Usage {
    cpu: Option<Duration>,
    begin: Instant,
}

impl Usage {
    /// From now on.
    pub(crate) fn begin() -> Self {
        Self {
            cpu: cpu_time(),
            begin: clock::now(),
        }
    }

    /// The host until now.
    pub(crate) fn host(&self, dccp_mib: BTreeMap<String, u64>) -> Host {
        let cpu = self
            .cpu
            .zip(cpu_time())
            .map(|(before, now)| nanos(now.saturating_sub(before)));
        Host {
            version: env!("CARGO_PKG_VERSION").into(),
            system: system(),
            cpu_ns: cpu,
            wall_ns: nanos(clock::now() - self.begin),
            dccp_mib,
        }
    }
}

#[cfg(unix)]
fn cpu_time() -> Option<Duration> {
    use rustix::time::{ClockId, clock_gettime};
    let time = clock_gettime(ClockId::ProcessCPUTime);
    let secs = u64::try_from(time.tv_sec).ok()?;
    Some(Duration::new(secs, u32::try_from(time.tv_nsec).ok()?))
}

#[cfg(not(unix))]
fn cpu_time() -> Option<Duration> {
    None
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

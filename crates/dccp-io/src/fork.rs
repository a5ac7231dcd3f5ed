//! Notices that a process has forked: threads do not survive that, so what a thread ran is gone in the child.

/// Names a process in its line of parents and children.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ProcessGeneration(u32);

impl ProcessGeneration {
    /// That of this process, from now on watched for forks.
    pub fn watched() -> Self {
        #[cfg(target_os = "linux")]
        crate::sys::fork::watch();
        Self::current()
    }

    /// Whether this process is the one that called [`watched`](Self::watched), and no child of it. On Linux this reads one
    /// variable.
    pub fn is_current(self) -> bool {
        self == Self::current()
    }

    #[cfg(target_os = "linux")]
    fn current() -> Self {
        Self(crate::sys::fork::forks())
    }

    #[cfg(not(target_os = "linux"))]
    fn current() -> Self {
        Self(std::process::id())
    }
}

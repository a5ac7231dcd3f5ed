//! Privileges of the calling thread.

/// Whether the thread may administer the network (`CAP_NET_ADMIN`). On other systems it may not, because
/// they have no such capability.
pub(crate) fn administers_network() -> bool {
    #[cfg(target_os = "linux")]
    {
        use rustix::thread::{CapabilitySet, capabilities};
        capabilities(None).is_ok_and(|sets| sets.effective.contains(CapabilitySet::NET_ADMIN))
    }
    #[cfg(not(target_os = "linux"))]
    {
        false
    }
}

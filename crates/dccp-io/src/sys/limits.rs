//! Limits of the process.
#![expect(
    unsafe_code,
    reason = "getrlimit, which safe crates call without looking at its errors"
)]

/// The most descriptors that the process may have open; `None` if the system does not tell, for example because a filter
/// of system calls refuses the question.
pub(crate) fn descriptors() -> Option<u64> {
    let mut limits = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: the kernel fills `limits`, which lives through the call.
    let rc = unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limits) };
    (rc == 0).then_some(limits.rlim_cur)
}

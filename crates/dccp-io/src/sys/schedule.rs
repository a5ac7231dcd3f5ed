//! How the system schedules a thread.
#![expect(
    unsafe_code,
    reason = "sched_setscheduler, which safe crates call only together with a new nice value"
)]

/// Gives this thread the policy `SCHED_BATCH`: when it wakes, it interrupts no other thread, and waits for a free processor
/// or the end of a turn, a few milliseconds at most. So it finds more work at once. Its nice value stays.
///
/// Without this, the thread works as before: a refusal is no error.
pub fn work_in_batches() {
    let param = libc::sched_param { sched_priority: 0 };
    // SAFETY: the kernel reads `param`, which lives through the call.
    let _ = unsafe { libc::sched_setscheduler(0, libc::SCHED_BATCH, &raw const param) };
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The policy is the 39th number behind the name (`proc_pid_stat(5)`).
    fn policy() -> i32 {
        let stat = std::fs::read_to_string("/proc/thread-self/stat").unwrap();
        let (_, numbers) = stat.rsplit_once(") ").unwrap();
        numbers.split(' ').nth(38).unwrap().parse().unwrap()
    }

    #[test]
    fn policy_is_that_of_one_thread() {
        let work = || {
            work_in_batches();
            policy()
        };
        let other = std::thread::spawn(work).join().unwrap();
        assert_eq!([policy(), other], [libc::SCHED_OTHER, libc::SCHED_BATCH]);
    }
}

//! How the system schedules a thread.
#![expect(
    unsafe_code,
    reason = "system calls that safe crates make only together with a new nice value, and the library musl not at all"
)]

/// Gives this thread the policy `SCHED_BATCH`: when it wakes, it interrupts no other thread, and waits for a free processor
/// or the end of a turn, a few milliseconds at most. So it finds more work at once. Its nice value stays.
///
/// A thread that has another policy than the ordinary one keeps it. A refusal is no error: the thread works as before.
pub fn work_in_batches() {
    // SAFETY: the call has no pointer.
    let policy = unsafe { libc::syscall(libc::SYS_sched_getscheduler, 0) };
    if policy == libc::SCHED_OTHER.into() {
        // The kernel's structure `sched_param`.
        let priority: libc::c_int = 0;
        let param = &raw const priority;
        // SAFETY: the kernel reads `priority`, which lives through the call.
        unsafe { libc::syscall(libc::SYS_sched_setscheduler, 0, libc::SCHED_BATCH, param) };
    }
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

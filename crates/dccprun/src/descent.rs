//! Which processes descend from others.

/// Generations that are looked at.
const GENERATIONS_MAX: usize = 64;

/// Whether a process descends from this one. `dccprun` adopts its orphans, so that the chain of parents is whole.
pub(crate) fn is_descendant(pid: u32) -> bool {
    descends(pid, std::process::id())
}

/// Whether a process is another one, or descends from it.
pub(crate) fn descends(mut pid: u32, from: u32) -> bool {
    for _ in 0..GENERATIONS_MAX {
        if pid == from {
            return true;
        }
        let Some(parent) = parent_of(pid) else {
            return false;
        };
        pid = parent;
    }
    false
}

/// The parent of a process; `None`: it has none, or has ended.
fn parent_of(pid: u32) -> Option<u32> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The parent's number stands behind the name, which may contain parentheses, and the state.
    let (_, rest) = stat.rsplit_once(") ")?;
    let parent = rest.split(' ').nth(1)?.parse().ok()?;
    (parent != 0).then_some(parent)
}

//! The limit of open files, which bounds how many flows are possible.

use crate::limits::{FILES, FILES_PER_FLOW};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Raises the limit of this process as far as `flows` flows need. Returns how many are possible.
pub(crate) fn flows_possible(flows: usize) -> usize {
    let need = FILES + FILES_PER_FLOW * flows as u64;
    let limit = getrlimit(Resource::Nofile);
    let mut current = limit.current.unwrap_or(u64::MAX);
    if current < need {
        let raised = limit.maximum.map_or(need, |maximum| maximum.min(need));
        let wanted = Rlimit {
            current: Some(raised),
            ..limit
        };
        if setrlimit(Resource::Nofile, wanted).is_ok() {
            current = raised;
        }
    }
    flows.min(within(current))
}

/// The flows for which `files` open files suffice, at least one.
fn within(files: u64) -> usize {
    let flows = files.saturating_sub(FILES) / FILES_PER_FLOW;
    usize::try_from(flows).unwrap_or(usize::MAX).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flows_follow_from_the_limit_of_files() {
        assert_eq!(within(FILES + 10 * FILES_PER_FLOW), 10);
        assert_eq!(within(FILES + 10 * FILES_PER_FLOW - 1), 9);
        assert_eq!(within(3), 1);
        assert_eq!(flows_possible(1), 1);
    }
}

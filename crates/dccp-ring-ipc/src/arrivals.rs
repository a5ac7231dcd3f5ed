//! Applications that have connected to a server: how many in a second, and who makes place when many request nothing.

use core::time::Duration;
use dccp_proto::Instant;
use std::collections::BTreeMap;

/// The most applications of one user that are accepted in a second. More are refused at once, so that a user who connects
/// in a loop does not keep the server from the others.
const PER_SECOND: u32 = 2000;

/// Counts the applications that connected in the present second, by their users.
#[derive(Debug, Default)]
pub(crate) struct Arrivals {
    since: Instant,
    by_user: BTreeMap<u32, u32>,
}

impl Arrivals {
    /// Counts an application. Returns false if its user had too many.
    pub(crate) fn admit(&mut self, now: Instant, uid: u32) -> bool {
        if now >= self.since + Duration::from_secs(1) {
            self.since = now;
            self.by_user.clear();
        }
        let count = self.by_user.entry(uid).or_default();
        *count = count.saturating_add(1);
        *count <= PER_SECOND
    }
}

/// Chooses the oldest session of the user with the most, of sessions and their users in the order of age.
pub(crate) fn displaced(asking: &[(u64, u32)]) -> Option<u64> {
    let held = |uid: u32| asking.iter().filter(|(_, other)| *other == uid).count();
    let most = asking.iter().map(|(_, uid)| held(*uid)).max()?;
    let oldest = asking.iter().find(|(_, uid)| held(*uid) == most);
    oldest.map(|(key, _)| *key)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn user_with_the_most_silent_applications_loses_the_oldest() {
        assert_eq!(displaced(&[]), None);
        assert_eq!(displaced(&[(4, 7)]), Some(4));
        let asking = [(0, 1000), (2, 7), (3, 7), (5, 1000), (6, 7), (9, 0)];
        assert_eq!(displaced(&asking), Some(2));
    }

    #[test]
    fn users_have_a_number_of_applications_in_each_second() {
        let mut arrivals = Arrivals::default();
        let start = Instant::from_nanos(5_000_000_000);
        let admitted = (0..5000).filter(|_| arrivals.admit(start, 7)).count();
        assert_eq!(admitted, 2000);
        assert!(arrivals.admit(start, 8), "others are not affected");
        assert!(arrivals.admit(start + Duration::from_secs(1), 7));
    }
}

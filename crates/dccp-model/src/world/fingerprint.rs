//! Fingerprints of states.

use super::World;
use super::host::Host;
use core::hash::{Hash, Hasher};
use std::hash::DefaultHasher;

/// Identifies a state: two states with equal fingerprints count as one. Among 10^8 states, two different ones share a
/// fingerprint with a probability of 10^-23.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Fingerprint(pub u128);

/// Two hashes of 64 bits over the same data, with different beginnings.
struct Wide([DefaultHasher; 2]);

impl Wide {
    fn new() -> Self {
        let mut hashers = [DefaultHasher::new(), DefaultHasher::new()];
        hashers[1].write_u8(1);
        Self(hashers)
    }

    fn wide(&self) -> Fingerprint {
        let [low, high] = &self.0;
        Fingerprint(u128::from(high.finish()) << 64 | u128::from(low.finish()))
    }
}

impl Hasher for Wide {
    fn finish(&self) -> u64 {
        self.0[0].finish()
    }

    fn write(&mut self, bytes: &[u8]) {
        for hasher in &mut self.0 {
            hasher.write(bytes);
        }
    }
}

impl World<'_> {
    /// The fingerprint of this state: both ends, the packets on their way, and what may still happen.
    pub fn fingerprint(&self) -> Fingerprint {
        let mut hasher = Wide::new();
        self.left.hash(&mut hasher);
        for host in &self.hosts {
            host.fingerprint(&mut hasher);
        }
        self.network.hash(&mut hasher);
        hasher.wide()
    }
}

impl Host {
    fn fingerprint(&self, hasher: &mut Wide) {
        (self.settings, self.has_closed, self.last_sent).hash(hasher);
        (self.ids.len(), self.endpoint.resting()).hash(hasher);
        (&self.app.sending.waiting, &self.app.sending.fates).hash(hasher);
        let receiving = &self.app.receiving;
        (&receiving.delivered, receiving.forged).hash(hasher);
        let connection = self.connection();
        connection.is_some().hash(hasher);
        if let Some(connection) = connection {
            connection.fingerprint(self.now, hasher);
        }
    }

    /// The fingerprint of what a packet with wrong numbers must not change.
    pub(super) fn input_fingerprint(&self) -> Fingerprint {
        let mut hasher = Wide::new();
        (self.ids.len(), self.endpoint.resting()).hash(&mut hasher);
        (&self.app.sending.waiting, &self.app.sending.fates).hash(&mut hasher);
        let receiving = &self.app.receiving;
        (&receiving.delivered, receiving.forged, receiving.garbled).hash(&mut hasher);
        if let Some(connection) = self.connection() {
            connection.fingerprint_of_input(self.now, &mut hasher);
        }
        hasher.wide()
    }
}

//! The part of a connection's fingerprint that features make up (`conn/fingerprint.rs`).

use super::{Features, Side};
use core::hash::{Hash, Hasher};

impl Features {
    /// Whether a Change of this end waits to be sent or answered, or a Confirm waits to be sent.
    pub(crate) fn is_settled(&self) -> bool {
        self.unsettled().next().is_none() && self.first_confirm().is_none()
    }

    /// Hashes the values in force: they change only with feature options of valid packets.
    pub(crate) fn fingerprint_in_force<H: Hasher>(&self, hasher: &mut H) {
        self.in_force.hash(hasher);
    }

    /// Hashes everything but the times.
    pub(crate) fn fingerprint<H: Hasher>(&self, hasher: &mut H) {
        (&self.in_force, &self.wishes, &self.answered).hash(hasher);
        (self.fgsr, self.fgss).hash(hasher);
        let Some(under_way) = &self.under_way else {
            return false.hash(hasher);
        };
        for negotiation in &under_way.open {
            negotiation.fingerprint(hasher);
        }
        (&under_way.confirms, &under_way.repeated).hash(hasher);
        under_way.is_repeated.hash(hasher);
        for &(side, feature, value) in &under_way.changed {
            (side == Side::Local, feature, value).hash(hasher);
        }
    }
}

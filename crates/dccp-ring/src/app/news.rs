//! What the application hears of the transport, and waiting for it.

use super::Sender;
use crate::bell;
use crate::error::Violation;
use crate::layout::Control;
use crate::mem::Ordering;
use crate::transport::Report;

/// Hearing.
impl Sender {
    /// Gives the reports that wait to `each`, the oldest first, at most `at_most`; how many there were.
    ///
    /// # Errors
    /// When the transport broke the rules.
    pub fn fates(
        &mut self,
        at_most: usize,
        mut each: impl FnMut(Report),
    ) -> Result<usize, Violation> {
        let mut n = 0;
        while n < at_most
            && let Some(at) = self.fates.next(&self.memory)?
        {
            let report = Report {
                tag: self.memory.get(at),
                fate: self.memory.get(at + 1),
                at_ns: self.memory.get(at + 2),
            };
            if !self.fates.advance(&self.memory) {
                break;
            }
            each(report);
            n += 1;
        }
        self.fates.give_back(&self.memory);
        Ok(n)
    }

    /// Reports for which there was no room: their datagrams' fates stay unknown. The transport says so, but
    /// is believed up to 2^48 only: more than there can be, and few enough to be added up.
    pub fn fates_missed(&self) -> u64 {
        let missed = self.memory.atomic(Control::FatesFilled.at() + 1);
        missed.load(Ordering::Relaxed).min(1 << 48)
    }

    /// How many datagrams could be pushed now.
    ///
    /// # Errors
    /// When the transport broke the rules.
    pub fn room(&mut self) -> Result<usize, Violation> {
        self.see_transport()?;
        Ok(self.free.len())
    }

    /// Datagrams in the ring that have not been claimed.
    ///
    /// # Errors
    /// When the transport broke the rules.
    pub fn waiting(&mut self) -> Result<usize, Violation> {
        self.see_transport()?;
        Ok(self.own.user.wrapping_sub(self.transport.kern) as usize)
    }

    /// Before sleeping until there is room: from now on the transport rings the application's bell when
    /// it pays to push again. `false`: there is room already, so do not sleep.
    ///
    /// # Errors
    /// When the transport broke the rules.
    pub fn prepare_to_wait_for_room(&mut self) -> Result<bool, Violation> {
        bell::lie_down(self.memory.atomic(Control::WaitsForRoom.at()));
        self.see_transport()?;
        let has_room = !self.free.is_empty();
        if has_room {
            bell::stand_up(self.memory.atomic(Control::WaitsForRoom.at()));
        }
        Ok(!has_room)
    }

    /// As [`prepare_to_wait_for_room`](Self::prepare_to_wait_for_room), for reports.
    ///
    /// # Errors
    /// When the transport broke the rules.
    pub fn prepare_to_wait_for_fates(&mut self) -> Result<bool, Violation> {
        bell::lie_down(self.memory.atomic(Control::WaitsForFates.at()));
        let has_fates = self.fates.next(&self.memory)?.is_some();
        if has_fates {
            bell::stand_up(self.memory.atomic(Control::WaitsForFates.at()));
        }
        Ok(!has_fates)
    }
}

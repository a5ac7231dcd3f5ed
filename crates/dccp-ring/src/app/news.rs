//! Fates, free room, and waiting for them.

use super::Sender;
use crate::bell;
use crate::error::Violation;
use crate::layout::Control;
use crate::mem::Ordering;
use crate::transport::Report;

/// Reading and waiting.
impl Sender {
    /// Passes at most `at_most` waiting reports to `each`, the oldest first, and returns their number.
    ///
    /// # Errors
    /// When the transport broke the rules.
    pub fn fates(
        &mut self,
        at_most: usize,
        mut each: impl FnMut(Report),
    ) -> Result<usize, Violation> {
        self.adopt_fates()?;
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

    /// Reports that found no room; the fates of their datagrams stay unknown. The count comes from the
    /// transport and is capped at 2^48, which no ring reaches and which is safe to add up.
    pub fn fates_missed(&self) -> u64 {
        let missed = self.memory.atomic(Control::FatesFilled.at() + 1);
        missed.load(Ordering::Relaxed).min(1 << 48)
    }

    /// The number of datagrams that fit now.
    ///
    /// # Errors
    /// When the transport broke the rules.
    pub fn room(&mut self) -> Result<usize, Violation> {
        self.begin()?;
        self.see_transport()?;
        Ok(self.free.len())
    }

    /// Datagrams in the ring that have not been claimed.
    ///
    /// # Errors
    /// When the transport broke the rules.
    pub fn waiting(&mut self) -> Result<usize, Violation> {
        self.begin()?;
        self.see_transport()?;
        Ok(self.own.user.wrapping_sub(self.transport.kern) as usize)
    }

    /// Announces that the application sleeps until there is room: the transport then rings its bell when
    /// enough slots are free. Returns `false` if there is room already: do not sleep.
    ///
    /// # Errors
    /// When the transport broke the rules.
    pub fn prepare_to_wait_for_room(&mut self) -> Result<bool, Violation> {
        self.begin()?;
        bell::announce_sleep(self.memory.atomic(Control::WaitsForRoom.at()));
        self.see_transport()?;
        let has_room = !self.free.is_empty();
        if has_room {
            bell::cancel_sleep(self.memory.atomic(Control::WaitsForRoom.at()));
        }
        Ok(!has_room)
    }

    /// As [`prepare_to_wait_for_room`](Self::prepare_to_wait_for_room), for reports.
    ///
    /// # Errors
    /// When the transport broke the rules.
    pub fn prepare_to_wait_for_fates(&mut self) -> Result<bool, Violation> {
        self.adopt_fates()?;
        bell::announce_sleep(self.memory.atomic(Control::WaitsForFates.at()));
        let has_fates = self.fates.next(&self.memory)?.is_some();
        if has_fates {
            bell::cancel_sleep(self.memory.atomic(Control::WaitsForFates.at()));
        }
        Ok(!has_fates)
    }
}

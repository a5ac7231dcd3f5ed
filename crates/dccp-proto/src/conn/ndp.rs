//! NDP Count: how many packets without data came just before this one (RFC 4340 §7.7).

use crate::wire::{NoSpace, Opt, OptionWriter};

/// The largest count that the option can hold.
const COUNT_MAX: u64 = (1 << 48) - 1;

/// Counts what we send.
#[derive(Clone, Copy, Debug, Default, Hash)]
pub(crate) struct NdpCounter {
    is_enabled: bool,
    /// Packets without data since the last one with data.
    run: u64,
}

impl NdpCounter {
    /// Our Send NDP Count feature has this value (4340-7.7-1). Counting goes on in any case.
    pub(crate) fn set_enabled(&mut self, yes: bool) {
        self.is_enabled = yes;
    }

    /// The count that the next packet must carry, if any (4340-7.7-1).
    pub(crate) fn due(&self) -> Option<u64> {
        (self.is_enabled && self.run > 0).then_some(self.run)
    }

    /// Bytes of the option that the next packet must carry.
    pub(crate) fn option_len(&self) -> usize {
        match self.due().map(Opt::ndp_count) {
            Some(Opt::NdpCount { width, .. }) => 2 + usize::from(width),
            _ => 0,
        }
    }

    /// Writes the option into the next packet, if it must carry one, in its smallest form
    /// (4340-7.7-3).
    ///
    /// # Errors
    /// [`NoSpace`] if it does not fit; then the peer will take the count for zero.
    pub(crate) fn write(&self, writer: &mut OptionWriter) -> Result<(), NoSpace> {
        match self.due() {
            Some(count) => writer.push(&Opt::ndp_count(count)),
            None => Ok(()),
        }
    }

    /// A packet was sent, of a type that carries data or not (4340-7.7-2).
    pub(crate) fn on_sent(&mut self, is_data: bool) {
        self.run = if is_data {
            0
        } else {
            (self.run + 1).min(COUNT_MAX)
        };
    }
}

/// Whether application data was lost in a hole of `hole` packets, if the packet after it says that
/// it followed a run of `count` packets without data; without the option `count` is 0 (4340-7.7-4).
pub(crate) const fn hole_had_data(hole: u64, count: u64) -> bool {
    count < hole
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the counts on packets of these kinds: `N` without data, `D` with data.
    fn counts(kinds: &str) -> Vec<Option<u64>> {
        let mut counter = NdpCounter::default();
        counter.set_enabled(true);
        let each = kinds.chars().map(|kind| {
            let due = counter.due();
            counter.on_sent(kind == 'D');
            due
        });
        each.collect()
    }

    #[test]
    fn the_rfcs_sequence_has_the_rfcs_counts() {
        // 4340-7.7-1, 4340-7.7-4
        let expected = [0, 1, 2, 0, 1, 0, 0, 1, 0, 0, 0, 0, 1, 2];
        let expected: Vec<_> = expected.iter().map(|&n| (n > 0).then_some(n)).collect();
        assert_eq!(counts("NNDNDDNDDDDNND"), expected);
    }

    #[test]
    fn a_hole_had_data_unless_the_count_spans_it() {
        // 4340-7.7-4: in the sequence above, holes before packet 2 (count 2), 7 (1) and 13 (2).
        assert!(!hole_had_data(2, 2), "0 and 1 had none");
        assert!(!hole_had_data(1, 1), "6 had none");
        assert!(hole_had_data(2, 1), "5 had");
        assert!(hole_had_data(3, 2), "10 had");
        assert!(hole_had_data(1, 0));
    }

    #[test]
    fn nothing_is_sent_while_the_feature_is_off_but_counting_goes_on() {
        let mut counter = NdpCounter::default();
        counter.on_sent(false);
        counter.on_sent(false);
        assert_eq!((counter.due(), counter.option_len()), (None, 0));
        let mut writer = OptionWriter::new(8);
        counter.write(&mut writer).unwrap();
        assert!(writer.is_empty());
        counter.set_enabled(true);
        counter.write(&mut writer).unwrap();
        assert_eq!(writer.as_slice(), [37, 3, 2]);
    }

    #[test]
    fn the_smallest_form_is_sent_and_its_length_is_known() {
        // 4340-7.7-3
        for (run, len) in [
            (1, 3),
            (255, 3),
            (256, 4),
            (65_535, 4),
            (65_536, 5),
            ((1 << 40) - 1, 7),
            (1 << 40, 8),
            (COUNT_MAX, 8),
        ] {
            let counter = NdpCounter {
                is_enabled: true,
                run,
            };
            let mut writer = OptionWriter::new(8);
            counter.write(&mut writer).unwrap();
            assert_eq!((counter.option_len(), writer.len()), (len, len), "{run}");
            let mut options = writer.options().iter();
            assert_eq!(options.next(), Some(Opt::ndp_count(run)));
        }
    }

    #[test]
    fn the_count_stops_where_the_option_does() {
        let mut counter = NdpCounter {
            is_enabled: true,
            run: COUNT_MAX - 1,
        };
        counter.on_sent(false);
        counter.on_sent(false);
        assert_eq!(counter.due(), Some(COUNT_MAX));
        counter.on_sent(true);
        assert_eq!(counter.due(), None);
    }
}

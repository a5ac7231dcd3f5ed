//! Losses, duplicates and reordering, by the numbers of datagrams.

/// Which numbers have come.
#[derive(Clone, Debug, Default)]
pub(crate) struct Numbers {
    /// Numbers below this one have been passed.
    pub(crate) passed: u64,
    /// Different numbers that came.
    pub(crate) distinct: u64,
    pub(crate) duplicates: u64,
    /// Numbers that came after a higher one.
    pub(crate) reordered: u64,
    /// Of the last [`WINDOW`] numbers, which have come; a bit each, in a ring.
    seen: Vec<u64>,
}

/// How far back a number is remembered. A number that comes later than that counts as new.
const WINDOW: u64 = 1 << 16;

impl Numbers {
    /// Takes a number; whether it is new.
    pub(super) fn take(&mut self, number: u64) -> bool {
        if self.seen.is_empty() {
            self.seen = vec![0; usize::try_from(WINDOW / 64).unwrap_or(0)];
        }
        if number < self.passed {
            self.reordered += 1;
            if self.passed - number <= WINDOW && !self.set(number) {
                self.duplicates += 1;
                self.reordered -= 1;
                return false;
            }
        } else {
            let skipped = (number - self.passed).min(WINDOW);
            for n in number - skipped..number {
                self.clear(n);
            }
            self.clear(number);
            self.set(number);
            self.passed = number + 1;
        }
        self.distinct += 1;
        true
    }

    /// Numbers that were passed and have not come.
    pub(crate) fn missing(&self) -> u64 {
        self.passed.saturating_sub(self.distinct)
    }

    /// Sets the bit of a number; whether it was clear.
    fn set(&mut self, number: u64) -> bool {
        let (word, bit) = place(number);
        let was_clear = self.seen[word] & bit == 0;
        self.seen[word] |= bit;
        was_clear
    }

    fn clear(&mut self, number: u64) {
        let (word, bit) = place(number);
        self.seen[word] &= !bit;
    }
}

fn place(number: u64) -> (usize, u64) {
    let n = number % WINDOW;
    (usize::try_from(n / 64).unwrap_or(0), 1 << (n % 64))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(numbers: &[u64]) -> Numbers {
        let mut seen = Numbers::default();
        for &n in numbers {
            seen.take(n);
        }
        seen
    }

    #[test]
    fn numbers_are_counted_once() {
        let n = after(&[0, 1, 2, 2, 5, 4, 4]);
        assert_eq!((n.passed, n.distinct, n.missing()), (6, 5, 1));
        assert_eq!((n.duplicates, n.reordered), (2, 1));
    }

    #[test]
    fn a_late_number_is_no_loss() {
        let n = after(&[1, 0, 3, 2]);
        assert_eq!((n.missing(), n.reordered, n.duplicates), (0, 2, 0));
    }

    #[test]
    fn the_ring_forgets_what_is_far_behind() {
        let n = after(&[0, WINDOW, WINDOW + 7, WINDOW]);
        assert_eq!((n.distinct, n.duplicates), (3, 1));
        assert_eq!(n.missing(), WINDOW + 8 - 3);
        let jump = after(&[5, 10 * WINDOW, 10 * WINDOW - 1, 10 * WINDOW - WINDOW]);
        assert_eq!((jump.distinct, jump.reordered), (4, 2));
    }
}

//! What a feedback packet tells a CCID 3 sender (RFC 4342 §6, §8), and what the sender remembers of
//! earlier ones.

use super::loss_intervals::{INTERVALS, Weighed, discount, loss_event_rate};
use crate::cc::Feedback;
use crate::seq::Seq;
use crate::wire::Opt;
use crate::wire::ccid_options::{CcidOpt, LossInterval, LossIntervals};

/// A length that fills its 24 bits means "at least".
const SATURATED: u32 = 0xFF_FFFF;

/// What one feedback packet tells.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Report {
    /// The receive rate in bytes per second.
    pub(crate) x_recv: f64,
    /// The loss event rate.
    pub(crate) p: f64,
    /// A loss event is new, or the loss event rate is higher than before.
    pub(crate) is_worse: bool,
}

/// A loss interval that the peer reported.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Known {
    /// Its first sequence number; unknown behind a saturated length.
    start: Option<Seq>,
    weighed: Weighed,
    /// It begins with a loss: all do but the one before the first event.
    has_loss: bool,
}

/// A list of loss intervals, newest first.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
struct List {
    items: [Option<Known>; INTERVALS],
    len: usize,
}

impl List {
    /// Appends an interval, unless as many as count are there.
    fn push(&mut self, interval: Known) {
        if let Some(to) = self.items.get_mut(self.len) {
            *to = Some(interval);
            self.len += 1;
        }
    }

    fn iter(&self) -> impl DoubleEndedIterator<Item = Known> + Clone {
        self.items.iter().copied().flatten()
    }

    fn weighed(&self) -> impl Iterator<Item = Weighed> + Clone {
        self.iter().map(|k| k.weighed)
    }

    /// Where an interval with this start stands.
    fn position(&self, start: Seq) -> Option<usize> {
        self.iter().position(|k| k.start == Some(start))
    }
}

/// The loss intervals and the loss event rate that the peer reported.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub(crate) struct Reports {
    known: List,
    p: f64,
}

impl Reports {
    /// Reads an acknowledgement; `None` if it is no feedback packet (4342-5-2).
    pub(crate) fn read(&mut self, fb: &Feedback<'_>) -> Option<Report> {
        let mut x_recv = None;
        let mut rate = None;
        for option in fb.options {
            if let Opt::CcidSpecific { kind, data } = option {
                match CcidOpt::decode(3, kind, data) {
                    CcidOpt::ReceiveRate(bytes_per_s) => x_recv = Some(f64::from(bytes_per_s)),
                    CcidOpt::LossEventRate(inverse) => rate = Some(from_inverse(inverse)),
                    _ => {}
                }
            }
        }
        let (p, is_new) = match (LossIntervals::of(fb.options), rate) {
            (Some(told), rate) if fb.elapsed.is_some() => self.learn(fb.ack, told, rate)?,
            // LINUX-12: a peer that sends no Loss Intervals, nor Elapsed Time.
            (None, Some(rate)) => (rate, false),
            _ => return None,
        };
        let report = Report {
            x_recv: x_recv?,
            p,
            is_worse: is_new || p > self.p,
        };
        self.p = p;
        Some(report)
    }

    /// Takes Loss Intervals. Returns the loss event rate and whether a loss event is new, or `None`
    /// if they contradict themselves.
    fn learn(
        &mut self,
        ack: Seq,
        told: LossIntervals<'_>,
        rate: Option<f64>,
    ) -> Option<(f64, bool)> {
        let (list, is_saturated) = parse(ack, told)?;
        let newest = list.iter().next()?;
        let is_new = match (newest.start, self.known.iter().next()) {
            (
                Some(start),
                Some(Known {
                    start: Some(known), ..
                }),
            ) => start.is_after(known),
            // It was too far back to tell where, and no longer is.
            (Some(_), Some(_)) => true,
            (None, Some(_)) => false,
            (_, None) => newest.has_loss,
        };
        self.merge(&list, is_new);
        let p = match (self.p_of_intervals(newest), rate) {
            // Beyond 2^24 packets the intervals only bound p; the other option is wider. Elsewhere the
            // two may differ, and that proves nothing (4342-9.2-1).
            (p, Some(rate)) if is_saturated => p.min(rate),
            (p, _) => p,
        };
        Some((p, is_new))
    }

    /// Puts what is told in front of what is known and older. A receiver may leave out intervals
    /// that it knows to have arrived (4342-8.6-1).
    fn merge(&mut self, told: &List, is_new: bool) {
        let old = self.known;
        // 5348-5.5-1: a new event makes lasting what the open interval took from the closed ones.
        let taken = if is_new { discount(old.weighed()) } else { 1.0 };
        let left = |at: usize, k: Known| k.weighed.discount * if at == 0 { 1.0 } else { taken };
        let mut new = List::default();
        for (place, mut k) in told.iter().enumerate() {
            let at = match k.start {
                Some(start) => old.position(start),
                None => place.checked_sub(usize::from(is_new)),
            };
            if let Some((at, known)) = at.and_then(|at| Some((at, old.iter().nth(at)?))) {
                k.weighed.discount = left(at, known);
            }
            new.push(k);
        }
        let oldest = told.iter().next_back().filter(|k| k.has_loss);
        if let Some(Known {
            start: Some(oldest),
            ..
        }) = oldest
        {
            for (at, mut k) in old.iter().enumerate() {
                if k.start.is_some_and(|start| start.is_before(oldest)) {
                    k.weighed.discount = left(at, k);
                    new.push(k);
                }
            }
        }
        self.known = new;
    }

    fn p_of_intervals(&self, newest: Known) -> f64 {
        if self.known.len == 1 && newest.has_loss {
            // Nothing is known of the time before the event.
            return 1.0 / newest.weighed.length;
        }
        loss_event_rate(self.known.weighed(), discount(self.known.weighed()))
    }
}

/// Finds the place of the newest intervals, and whether a length is saturated. `None` if they
/// cannot be true: all but the very first begin with a loss and have 1 to all of their packets as
/// data (4342-6.1-1, 4342-6.1.1-1).
fn parse(ack: Seq, told: LossIntervals<'_>) -> Option<(List, bool)> {
    let mut list = List::default();
    let mut is_saturated = false;
    let mut end = Some(ack.minus(u64::from(told.skip)));
    for i in told.iter().take(INTERVALS) {
        if list.iter().next_back().is_some_and(|k| !k.has_loss) {
            return None;
        }
        let LossInterval {
            lossless,
            loss,
            data,
            ..
        } = i;
        let length = u64::from(lossless) + u64::from(loss);
        let is_cut = lossless == SATURATED || data == SATURATED;
        is_saturated |= is_cut;
        if loss > 0 && (data == 0 || u64::from(data) > length && !is_cut) {
            return None;
        }
        let start = end.filter(|_| !is_cut).map(|end| end.next().minus(length));
        end = start.map(|start| start.minus(1));
        list.push(Known {
            start,
            weighed: Weighed::new(f64::from(data)),
            has_loss: loss > 0,
        });
    }
    Some((list, is_saturated))
}

/// Loss Event Rate is the inverse of the rate; all ones stand for no loss (RFC 4342 §8.5).
fn from_inverse(inverse: u32) -> f64 {
    match inverse {
        u32::MAX => 0.0,
        n => 1.0 / f64::from(n.max(1)),
    }
}

#[cfg(test)]
mod tests;

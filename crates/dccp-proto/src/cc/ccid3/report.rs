//! The contents of a feedback packet for a CCID 3 sender (RFC 4342 §6, §8), and the sender's record of
//! earlier ones.

use super::loss_intervals::{INTERVALS, Weighed, discount, loss_event_rate};
use super::variant::{Counted, Variant};
use crate::cc::Feedback;
use crate::number::to_f64;
use crate::seq::Seq;
use crate::wire::Opt;
use crate::wire::ccid_options::{CcidOpt, LossInterval, LossIntervals};
use core::time::Duration;

/// A length that fills its 24 bits means "at least".
const SATURATED: u32 = 0xFF_FFFF;

/// The contents of one feedback packet.
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
    /// Data packets.
    data: u32,
    /// Packets that were lost or marked.
    drops: u32,
    /// Whether it lasted two round trips at most, if the variant knows and wants to.
    is_short: Option<bool>,
    /// The share of its weight that remains.
    discount: f64,
    /// It begins with a loss: all do but the one before the first event.
    has_loss: bool,
}

impl Known {
    fn weighed<V: Variant>(&self, is_open: bool) -> Weighed {
        let length = V::length(&Counted {
            data: to_f64(self.data.into()),
            drops: to_f64(self.drops.into()),
            // Unknown, it counts for what is safe.
            is_short: self.has_loss && self.is_short.unwrap_or(true),
            is_open,
        });
        Weighed {
            length,
            discount: self.discount,
        }
    }
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

    /// The weighed form of the intervals; the first is open.
    fn weighed<V: Variant>(&self) -> impl Iterator<Item = Weighed> + Clone {
        let intervals = self.iter().enumerate();
        intervals.map(|(place, k)| k.weighed::<V>(place == 0))
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
    /// Loss events that the peer reported. An event that turns out to be none still counts.
    events: u64,
    /// The peer sends no Loss Intervals, so it reports no loss events.
    has_silent: bool,
}

impl Reports {
    /// The number of loss events that the peer reported, if it reports them.
    pub(crate) fn events(&self) -> Option<u64> {
        (!self.has_silent).then_some(self.events)
    }

    /// Reads an acknowledgement; `None` if it is no feedback packet (4342-5-2). A Data packet is none, so these
    /// options on it are ignored (4342-8-1, 5622-8-1).
    pub(crate) fn read<V: Variant>(
        &mut self,
        fb: &Feedback<'_>,
        variant: &V,
        rtt: Duration,
    ) -> Option<Report> {
        let mut x_recv = None;
        let mut rate = None;
        for option in fb.options {
            if let Opt::CcidSpecific { kind, data } = option {
                match CcidOpt::decode(V::CCID, kind, data) {
                    CcidOpt::ReceiveRate(bytes_per_s) => x_recv = Some(f64::from(bytes_per_s)),
                    CcidOpt::LossEventRate(inverse) => rate = Some(from_inverse(inverse)),
                    _ => {}
                }
            }
        }
        let (p, is_new) = match (LossIntervals::of(fb.options), rate) {
            (Some(told), rate) if fb.elapsed.is_some() => {
                let (list, is_saturated) = parse(fb.ack, told, variant, rtt)?;
                self.learn::<V>(&list, rate.filter(|_| is_saturated))?
            }
            // LINUX-12: a peer that sends no Loss Intervals, nor Elapsed Time.
            (None, Some(rate)) => {
                self.has_silent = true;
                (rate, false)
            }
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

    /// Takes Loss Intervals. Returns the loss event rate, at most `bound`, and whether a loss event is
    /// new.
    fn learn<V: Variant>(&mut self, list: &List, bound: Option<f64>) -> Option<(f64, bool)> {
        let newest = list.iter().next()?;
        let new = self.new_events(list);
        self.events += new;
        let is_new = new > 0;
        self.merge::<V>(list, is_new);
        let p = self.p_of_intervals::<V>(newest);
        // Beyond 2^24 packets the intervals only bound p; the other option is wider. Elsewhere the two may
        // differ, and that proves nothing (4342-9.2-1).
        Some((bound.map_or(p, |rate| p.min(rate)), is_new))
    }

    /// How many loss events of a list are not known yet: its intervals are newest first.
    fn new_events(&self, list: &List) -> u64 {
        let is_new = |told: &Known| match (told.start, self.known.iter().next()) {
            (
                Some(start),
                Some(Known {
                    start: Some(known), ..
                }),
            ) => start.is_after(known),
            // Its start was too far back to be known, and now is known.
            (Some(_), Some(_)) => true,
            (None, Some(_)) => false,
            (_, None) => told.has_loss,
        };
        list.iter().take_while(is_new).count() as u64
    }

    /// Puts the reported intervals in front of the older known ones. A receiver may omit intervals
    /// that it knows to have arrived (4342-8.6-1).
    fn merge<V: Variant>(&mut self, told: &List, is_new: bool) {
        let old = self.known;
        // 5348-5.5-1: a new event makes lasting what the open interval took from the closed ones.
        let taken = if is_new {
            discount(old.weighed::<V>())
        } else {
            1.0
        };
        let left = |at: usize, k: Known| k.discount * if at == 0 { 1.0 } else { taken };
        let mut new = List::default();
        for (place, mut k) in told.iter().enumerate() {
            let at = match k.start {
                Some(start) => old.position(start),
                None => place.checked_sub(usize::from(is_new)),
            };
            if let Some((at, known)) = at.and_then(|at| Some((at, old.iter().nth(at)?))) {
                k.discount = left(at, known);
                // Once an interval is over, its time does not change; and a long one stays long.
                k.is_short = k.is_short.or(known.is_short);
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
                    k.discount = left(at, k);
                    new.push(k);
                }
            }
        }
        self.known = new;
    }

    fn p_of_intervals<V: Variant>(&self, newest: Known) -> f64 {
        if let Some(p) = V::mean_rate(self.known.weighed::<V>()) {
            return p;
        }
        if self.known.len == 1 && newest.has_loss {
            // Nothing is known of the time before the event.
            return 1.0 / newest.weighed::<V>(false).length;
        }
        let discount = discount(self.known.weighed::<V>());
        // The rate is unbounded if all reported intervals have no length.
        loss_event_rate(self.known.weighed::<V>(), discount).min(1.0)
    }
}

/// Finds the place of the newest intervals, and whether a length is saturated. `None` if they
/// cannot be true: all but the very first begin with a loss and have 1 to all of their packets as
/// data (4342-6.1-1, 4342-6.1.1-1).
fn parse<V: Variant>(
    ack: Seq,
    told: LossIntervals<'_>,
    variant: &V,
    rtt: Duration,
) -> Option<(List, bool)> {
    let mut list = List::default();
    let mut is_saturated = false;
    let mut end = Some(ack.minus(u64::from(told.skip)));
    for (i, drops) in told.iter_with_drops().take(INTERVALS) {
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
        // A closed interval lasts until the loss after it.
        let until = if list.len == 0 {
            end
        } else {
            end.map(Seq::next)
        };
        list.push(Known {
            start,
            data,
            drops,
            is_short: start
                .zip(until)
                .and_then(|(from, to)| variant.is_short(from, to, rtt)),
            discount: 1.0,
            has_loss: loss > 0,
        });
        end = start.map(|start| start.minus(1));
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

//! The times of a test: probes before, beside and after the load, and what follows from them.
//!
//! The probes before and after the load relate both clocks, so that one-way delays have an error bound. Those before and
//! beside it show what the load does to the delay of the path.

use super::probe::{self, Delays, Prober};
use crate::cli::Bulk;
use crate::result::FlowResult;
use crate::schema::{Document, Flow, OneWay};
use crate::wire::channel::{Channel, Lost};
use core::time::Duration;
use dccp::clock;
use dccp_stats::{ClockFit, RawDelays, Spread};

/// The probes of a test.
pub(crate) struct Timing {
    idle: Delays,
    /// `None` if the user wants no probes.
    loaded: Option<Prober>,
    after: Delays,
    /// The load, in nanoseconds of this host's clock, until all its packets had arrived or were given up.
    from_ns: u64,
    to_ns: u64,
}

impl Timing {
    /// Probes the idle path for `time`. Returns when the load can begin. Without any time there are no probes, neither
    /// now nor later.
    pub(crate) fn before(channel: &mut Channel, time: Duration) -> Result<Self, Lost> {
        let (idle, loaded) = if time.is_zero() {
            (Delays::default(), None)
        } else {
            (probe::before(channel, time)?, Some(Prober::loaded()))
        };
        let now_ns = clock::now().as_nanos();
        Ok(Self {
            idle,
            loaded,
            after: Delays::default(),
            from_ns: now_ns,
            to_ns: now_ns,
        })
    }

    /// Probes the path beside the load; to be called often.
    pub(crate) fn step(&mut self, channel: &mut Channel) {
        if let Some(prober) = &mut self.loaded {
            prober.step(channel);
        }
    }

    /// Ends the probes beside the load.
    pub(crate) fn close(&mut self, channel: &mut Channel) {
        if let Some(prober) = &mut self.loaded {
            prober.close(channel);
        }
    }

    /// Probes the path after the load. Without an answer the clocks stay unknown.
    pub(crate) fn after(&mut self, channel: &mut Channel) {
        self.to_ns = clock::now().as_nanos();
        if self.loaded.is_none() {
            return;
        }
        self.after = probe::after(channel).unwrap_or_default();
    }

    /// The clocks of both ends during the load.
    pub(crate) fn clocks(&self) -> Clocks {
        let fit = ClockFit::new(&self.idle.probes, &self.after.probes);
        let offset = fit
            .as_ref()
            .map(|fit| fit.offset_between(self.from_ns, self.to_ns));
        Clocks { fit, offset }
    }

    /// Adds the delays and the clocks to the document of the test.
    pub(crate) fn write(self, document: &mut Document, results: &[FlowResult], asked: &Bulk) {
        let clocks = self.clocks();
        let loaded = self.loaded.map(Prober::finish).unwrap_or_default();
        let flows = document.summary.iter_mut().flat_map(|s| &mut s.flows);
        for (flow, result) in flows.zip(results) {
            let arrivals = result.rx.as_ref().and_then(|rx| rx.arrivals.as_ref());
            let delays = arrivals.map(|arrivals| &arrivals.delays);
            let is_reverse = !asked.client_sends(result.id);
            flow.one_way = delays.and_then(|delays| clocks.one_way(delays, is_reverse));
        }
        document.clock = clocks.fit;
        let flows = document.summary.iter().flat_map(|s| &s.flows);
        let own = flows.filter_map(round_trip);
        let slowest = own.max_by(|a, b| a.mean.total_cmp(&b.mean));
        document.idle = probe::phase(&self.idle, &loaded, slowest);
    }
}

/// The clocks of both ends during a test.
pub(crate) struct Clocks {
    fit: Option<ClockFit>,
    /// The offset of the server's clock, and its error.
    offset: Option<(i64, u64)>,
}

impl Clocks {
    /// The delays of one direction; `None` if the clocks are unknown. The client receives if `is_reverse`.
    pub(crate) fn one_way(&self, delays: &RawDelays, is_reverse: bool) -> Option<OneWay> {
        one_way(delays, self.offset?, is_reverse, self.fit.as_ref()?)
    }
}

/// The round trips that a flow itself saw.
fn round_trip(flow: &Flow) -> Option<&Spread> {
    flow.rtt.as_ref()?.network_ns.as_ref()
}

/// One-way delays by the offset of the server's clock and its error. The client receives if `is_reverse`.
fn one_way(
    delays: &RawDelays,
    (offset_ns, error_ns): (i64, u64),
    is_reverse: bool,
    fit: &ClockFit,
) -> Option<OneWay> {
    let receiver_minus_sender = if is_reverse {
        offset_ns.saturating_neg()
    } else {
        offset_ns
    };
    let method = if fit.is_consistent {
        "probes before and after the load"
    } else {
        "probes before and after the load; a clock did not run evenly, so the error is a lower bound"
    };
    Some(OneWay {
        ns: delays.one_way(receiver_minus_sender).spread()?,
        error_ns,
        method: method.into(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use dccp_stats::{Arrival, Arrivals, Probe};

    const SECOND: u64 = 1_000_000_000;
    /// The server's clock minus the client's.
    const OFFSET: u64 = 77 * SECOND;

    /// 10 ms there and 30 ms back.
    fn probe_at(sent_ns: u64) -> Probe {
        let arrived_ns = sent_ns + 10_000_000 + OFFSET;
        Probe {
            sent_ns,
            arrived_ns,
            replied_ns: arrived_ns,
            returned_ns: sent_ns + 40_000_000,
        }
    }

    fn delays(offset_ns: u64, delay_ns: u64) -> RawDelays {
        let mut arrivals = Arrivals::new(0);
        for number in 0..100 {
            let sent_ns = 200 * SECOND + number * 1_000_000;
            arrivals.add(&Arrival {
                number,
                sent_ns,
                arrived_ns: (sent_ns + delay_ns).wrapping_add(offset_ns),
                bytes: 100,
                is_marked: false,
            });
        }
        arrivals.finish(None).delays
    }

    // goal 7: one-way delays lie within the stated error of the true ones, in both directions.
    #[test]
    fn one_way_delays_lie_within_their_error() {
        let fit = ClockFit::new(&[probe_at(SECOND)], &[probe_at(11 * SECOND)]).unwrap();
        let offset = fit.offset_between(SECOND, 11 * SECOND);
        let reverse = OFFSET.wrapping_neg();
        for (is_reverse, clocks, truth) in
            [(false, OFFSET, 10_000_000), (true, reverse, 30_000_000)]
        {
            let found = one_way(&delays(clocks, truth), offset, is_reverse, &fit).unwrap();
            let wrong = found.ns.min.abs_diff(truth);
            assert!(wrong <= found.error_ns, "{found:?}");
            // Half of the round trip.
            assert!((20_000_000..20_100_000).contains(&found.error_ns));
        }
    }
}

//! Tests that are repeated until their mean goodput is known well enough.

use crate::schema::{Interval, Repeat, Summary};
use dccp_stats::{MeanInterval, mean};

/// The most runs of a repeated test.
pub(crate) const RUNS_MAX: u32 = 50;
/// Values that the confidence interval rests on; of longer series, neighbours are joined.
const VALUES_MAX: usize = 10_000;

/// The runs of a test so far.
#[derive(Debug)]
pub(crate) struct Series {
    runs_max: u32,
    /// The series ends when half of the confidence interval divided by the mean is not above this.
    until: Option<f64>,
    seed: u64,
    /// Runs that have ended.
    runs: u32,
    /// The goodput of each run.
    goodputs_bps: Vec<f64>,
    /// The goodput of each interval of all runs.
    intervals_bps: Vec<f64>,
}

impl Series {
    /// At most `runs_max` runs, fewer if the confidence interval is narrow before. The seed is that of the bootstrap.
    pub(crate) fn new(runs_max: u32, until: Option<f64>, seed: u64) -> Self {
        Self {
            runs_max,
            until,
            seed,
            runs: 0,
            goodputs_bps: Vec::new(),
            intervals_bps: Vec::new(),
        }
    }

    /// Takes an interval of the current run. One that an end has not reported does not count.
    pub(crate) fn interval(&mut self, interval: &Interval) {
        let goodputs = interval.flows.iter().map(|flow| flow.goodput_bps);
        if let Some(goodput) = goodputs.sum::<Option<f64>>() {
            self.intervals_bps.push(goodput);
        }
        if self.intervals_bps.len() > VALUES_MAX {
            let joined = self.intervals_bps.chunks(2).filter_map(mean).collect();
            self.intervals_bps = joined;
        }
    }

    /// Ends a run, and says whether another one follows.
    pub(crate) fn run(&mut self, summary: &Summary) -> bool {
        self.runs += 1;
        self.goodputs_bps.extend(summary.goodput_bps);
        self.runs < self.runs_max && !self.is_narrow()
    }

    /// Whether the confidence interval is as narrow as asked for.
    fn is_narrow(&self) -> bool {
        let Some(until) = self.until else {
            return false;
        };
        let error = self.goodput().and_then(|mean| mean.relative_error());
        error.is_some_and(|error| error <= until)
    }

    /// The mean of the intervals' goodputs; `None` for fewer than 8 intervals.
    fn goodput(&self) -> Option<MeanInterval> {
        MeanInterval::new(&self.intervals_bps, self.seed)
    }

    /// The runs; `None` if one was asked for.
    pub(crate) fn finish(self) -> Option<Repeat> {
        (self.runs_max > 1).then(|| Repeat {
            goodput: self.goodput(),
            goodputs_bps: self.goodputs_bps,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::sample;

    /// An interval of one flow with this goodput.
    fn interval(goodput_bps: Option<f64>) -> Interval {
        let mut interval = sample::document().intervals[0].clone();
        interval.flows.truncate(1);
        interval.flows[0].goodput_bps = goodput_bps;
        interval
    }

    /// Runs of ten intervals each, with these goodputs in turn; returns how many ran.
    fn runs(series: &mut Series, goodputs: &[f64]) -> usize {
        let summary = sample::document().summary.unwrap();
        let mut values = goodputs.iter().cycle();
        (1..=1000)
            .find(|_| {
                for value in values.by_ref().take(10) {
                    series.interval(&interval(Some(*value)));
                }
                !series.run(&summary)
            })
            .unwrap()
    }

    // goal 26: a test is repeated until the confidence interval of its goodput is narrow.
    #[test]
    fn repeats_end_when_the_interval_is_narrow() {
        let mut steady = Series::new(RUNS_MAX, Some(0.02), 1);
        assert_eq!(runs(&mut steady, &[1e8]), 1);
        let repeat = steady.finish().unwrap();
        assert_eq!(repeat.goodputs_bps.len(), 1);
        assert_eq!(repeat.goodput.map(|mean| mean.mean), Some(1e8));

        let mut varying = Series::new(RUNS_MAX, Some(0.02), 1);
        let ran = runs(&mut varying, &[9e7, 1.1e8, 1e8, 9.5e7, 1.2e8, 8e7, 1.05e8]);
        assert!((2..RUNS_MAX as usize).contains(&ran), "{ran}");
        let mean = varying.finish().unwrap().goodput.unwrap();
        assert!(mean.relative_error().unwrap() <= 0.02);
    }

    #[test]
    fn repeats_end_at_the_number_asked_for() {
        assert_eq!(runs(&mut Series::new(3, None, 1), &[1e8]), 3);
        // Far apart: no number of runs makes the interval that narrow.
        let mut wild = Series::new(4, Some(1e-6), 1);
        assert_eq!(runs(&mut wild, &[1e6, 1e8, 3e7]), 4);
    }

    #[test]
    fn single_run_is_no_series() {
        let mut series = Series::new(1, None, 1);
        assert_eq!(runs(&mut series, &[1e8]), 1);
        assert_eq!(series.finish(), None);
    }

    #[test]
    fn intervals_without_a_report_do_not_count() {
        let mut series = Series::new(2, None, 1);
        for _ in 0..20 {
            series.interval(&interval(None));
        }
        assert_eq!(series.goodput(), None);
    }

    #[test]
    fn memory_of_a_long_series_is_bounded() {
        let mut series = Series::new(2, None, 1);
        let steady = interval(Some(5.0));
        for _ in 0..30_000 {
            series.interval(&steady);
        }
        assert!(series.intervals_bps.len() <= VALUES_MAX);
        assert_eq!(mean(&series.intervals_bps), Some(5.0));
    }
}

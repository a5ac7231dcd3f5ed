//! Statistics of network measurements.
//!
//! The receiver of a flow passes every packet to [`Arrivals`]. At the end it gives [`ArrivalFigures`]: duplicates, the
//! [`LossPattern`], the [`Order`] of arrivals and the [`Jitter`]. Times are collected in a [`Histogram`] and summed up
//! as a [`Spread`]. [`ClockFit`] relates the clocks of two hosts, so that one-way delays have an error bound.
//! [`MeanInterval`] and [`Line`] state how certain a mean or a straight line is.
//!
//! [`fairness`] and [`asymmetry`] compare several flows; [`stability`] says how steady one is.
//!
//! Nothing here reads a clock or a socket. Values from the peer never panic, and memory is bounded.

mod arrival;
mod arrivals;
mod bootstrap;
mod clock;
mod density;
mod fit;
mod histogram;
mod jitter;
mod loss;
mod numbers;
mod order;
mod share;
mod signed;
mod spread;

pub use arrival::Arrival;
pub use arrivals::{ArrivalFigures, ArrivalInterval, Arrivals, Counts, Novelty};
pub use bootstrap::MeanInterval;
pub use clock::{ClockFit, Probe};
pub use fit::{Line, Step, steps};
pub use histogram::{Bucket, Histogram, InvalidHistogram, VALUE_MAX};
pub use jitter::{Jitter, RawDelays};
pub use loss::{Gilbert, LossPattern, LostRun};
pub use order::Order;
pub use share::{Steadiness, asymmetry, deviation, fairness, mean, stability};
pub use signed::SignedHistogram;
pub use spread::Spread;

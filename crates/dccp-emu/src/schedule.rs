//! A link and how it changes while the emulator runs.

use core::fmt::Debug;
use core::time::Duration;
use dccp_proto::{Instant, Rate};
use dccp_sim::LinkConfig;
use dccp_sim::link::Link;
use dccp_sim::loss::FaultConfig;
use dccp_sim::queue::{Limit, QueueConfig};
use dccp_sim::setting::Impossible;
use std::collections::VecDeque;

/// A new setting of a link.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Alteration {
    /// The rate.
    Rate(Rate),
    /// The one-way delay.
    Delay(Duration),
    /// The room of the queue.
    Queue(Limit),
    /// The share of packets that are lost.
    Loss(f64),
    /// Whether the link works.
    Up(bool),
}

/// Alterations at one time after the start.
#[derive(Clone, PartialEq, Debug)]
pub struct Change {
    /// The time after the start.
    pub at: Duration,
    /// The new settings.
    pub alterations: Vec<Alteration>,
}

/// A direction of a link: its settings at the start, and its changes in the order of time.
#[derive(Clone, PartialEq, Debug)]
pub struct LinkPlan {
    config: LinkConfig,
    changes: VecDeque<Change>,
}

impl From<LinkConfig> for LinkPlan {
    fn from(config: LinkConfig) -> Self {
        Self {
            config,
            changes: VecDeque::new(),
        }
    }
}

impl LinkPlan {
    /// A link with changes.
    ///
    /// # Errors
    /// The first setting that is impossible, at the start or after a change.
    pub fn new(config: LinkConfig, mut changes: Vec<Change>) -> Result<Self, Impossible> {
        config.check()?;
        changes.sort_by_key(|change| change.at);
        let mut after = config.clone();
        for change in &changes {
            for alteration in &change.alterations {
                alter(&mut after, *alteration)?;
            }
            after.check()?;
        }
        Ok(Self {
            config,
            changes: changes.into(),
        })
    }

    /// The settings at the start.
    pub const fn config(&self) -> &LinkConfig {
        &self.config
    }

    /// When the next change is due.
    pub(crate) fn next_at(&self) -> Option<Instant> {
        self.changes.front().map(|change| Instant::ZERO + change.at)
    }

    /// Applies the changes that are due.
    pub(crate) fn apply<T: Copy + Debug + Send + 'static>(
        &mut self,
        now: Instant,
        link: &mut Link<T>,
    ) {
        while self.next_at().is_some_and(|at| at <= now) {
            let Some(change) = self.changes.pop_front() else {
                return;
            };
            for alteration in change.alterations {
                match alteration {
                    Alteration::Rate(rate) => link.set_rate(now, Some(rate)),
                    Alteration::Delay(delay) => link.set_delay(now, delay),
                    Alteration::Queue(limit) => link.set_queue_limit(now, limit),
                    Alteration::Up(is_up) => link.set_up(now, is_up),
                    Alteration::Loss(loss) => {
                        self.config.faults.loss = loss;
                        let faults: FaultConfig = self.config.faults.clone();
                        link.set_faults(now, faults);
                    }
                }
            }
        }
    }
}

fn alter(config: &mut LinkConfig, alteration: Alteration) -> Result<(), Impossible> {
    match alteration {
        Alteration::Rate(_) if matches!(config.queue, QueueConfig::TokenBucket(_)) => {
            return Err(Impossible {
                setting: "a new rate",
                must_be: "left out, because a token bucket keeps its rate",
            });
        }
        Alteration::Rate(rate) => (config.rate, config.trace) = (Some(rate), None),
        Alteration::Delay(delay) => config.delay = delay,
        Alteration::Queue(limit) => config.queue.set_limit(limit),
        Alteration::Loss(loss) => config.faults.loss = loss,
        Alteration::Up(_) => {}
    }
    Ok(())
}

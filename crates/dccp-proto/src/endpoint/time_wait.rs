//! TIMEWAIT: flows whose numbers rest for 2 MSL (RFC 4340 §8.3).

use crate::config::bounds;
use crate::path::Flow;
use crate::time::Instant;
use std::collections::{HashMap, VecDeque};

#[derive(Default)]
pub(super) struct TimeWait {
    // Only looked up, never iterated.
    until: HashMap<Flow, Instant>,
    order: VecDeque<(Instant, Flow)>,
}

impl TimeWait {
    /// Lets a flow rest. Beyond the bound the oldest is forgotten first.
    pub(super) fn add(&mut self, until: Instant, flow: Flow) {
        if self.order.len() >= bounds::TIME_WAIT {
            self.forget_oldest();
        }
        self.until.insert(flow, until);
        self.order.push_back((until, flow));
    }

    /// Whether the flow rests; forgets those whose time has passed.
    pub(super) fn holds(&self, now: Instant, flow: &Flow) -> bool {
        self.until.get(flow).is_some_and(|until| now < *until)
    }

    /// Forgets the flows whose time has passed.
    pub(super) fn sweep(&mut self, now: Instant) {
        while self.order.front().is_some_and(|(until, _)| *until <= now) {
            self.forget_oldest();
        }
    }

    pub(super) fn len(&self) -> usize {
        self.order.len()
    }

    fn forget_oldest(&mut self) {
        if let Some((until, flow)) = self.order.pop_front()
            && self.until.get(&flow) == Some(&until)
        {
            self.until.remove(&flow);
        }
    }
}

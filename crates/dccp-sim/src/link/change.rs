//! Changes of a link at work.

use super::{Link, Token, WhileDown, nanos};
use crate::loss::{FaultConfig, Loss};
use crate::queue::Limit;
use core::cmp::Reverse;
use core::time::Duration;
use dccp_proto::{Instant, Rate};

impl<T: Token> Link<T> {
    /// Changes the rate; a trace ends. Of a packet in transmission the remaining bits go at the new
    /// rate.
    pub fn set_rate(&mut self, now: Instant, rate: Option<Rate>) {
        self.advance(now);
        let planned = self.transmitter.free_at();
        self.transmitter.set_rate(now, rate);
        self.move_last(planned, self.transmitter.free_at());
        self.queue.set_rate(rate);
        (self.config.rate, self.config.trace) = (rate, None);
        self.is_plain = self.has_plain_path();
        self.advance(now);
    }

    /// Changes the delay of packets whose transmission has not begun. They do not overtake others
    /// unless the faults say that packets may.
    pub fn set_delay(&mut self, now: Instant, delay: Duration) {
        self.advance(now);
        self.config.delay = delay;
        self.delay_ns = nanos(delay);
        self.delay_min_ns = self.delay_min_ns.min(self.delay_ns);
    }

    /// Changes the faults that packets meet whose transmission has not begun.
    pub fn set_faults(&mut self, now: Instant, faults: FaultConfig) {
        self.advance(now);
        self.config.faults = faults.clone();
        self.faults.set(faults);
        self.is_plain = self.has_plain_path();
    }

    /// Changes how much may wait. What is too much then is lost from the head of the queue.
    pub fn set_queue_limit(&mut self, now: Instant, limit: Limit) {
        self.advance(now);
        self.config.queue.set_limit(limit);
        self.queue.set_limit(now, limit);
    }

    /// Takes the link down, or up again.
    pub fn set_up(&mut self, now: Instant, is_up: bool) {
        self.advance(now);
        self.is_up = is_up;
        self.is_plain = self.has_plain_path();
        if is_up {
            self.transmitter.rest(now);
            self.advance(now);
        } else if self.config.while_down == WhileDown::Lose {
            self.queue.flush(now, Loss::Outage);
        }
    }

    /// The end of the last transmission has moved: so does the arrival of its packet.
    fn move_last(&mut self, planned: Instant, end: Instant) {
        let shifted = |at: Instant| at + (end - planned) - (planned - end);
        if planned == end {
            return;
        }
        self.busy_ns = (self.busy_ns + end.as_nanos()).saturating_sub(planned.as_nanos());
        if self.is_last_stray {
            let mut strays = core::mem::take(&mut self.strays).into_vec();
            if let Some(Reverse(last)) = strays.iter_mut().max_by_key(|s| s.0.key.1) {
                last.key.0 = shifted(last.key.0);
            }
            self.strays = strays.into();
        } else if let Some(mut last) = self.flight.pop_back() {
            let before = self.flight.back().map_or(Instant::ZERO, |f| f.at);
            last.at = shifted(last.at).max(before);
            self.last_at = last.at;
            self.flight.push_back(last);
        }
    }
}

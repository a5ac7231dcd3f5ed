//! The server's side of `rr`.

use super::{Allowance, End, Test};
use crate::load::echo::{Answers, Echo};
use crate::meter::SAMPLE;
use crate::serve::metrics::Direction;
use crate::serve::rate::RateLimit;
use crate::transport::Flow;
use crate::wire::channel::Lost;
use crate::wire::figures::Interval;
use crate::wire::message::Message;
use core::time::Duration;
use dccp::clock;
use dccp::proto::time::nanos;
use dccp_cli::interrupt;
use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

impl Test<'_> {
    /// Answers requests until the client ends the test, or it has used its time. Gives a line about it.
    pub(super) fn answer(&mut self, flows: &[Arc<dyn Flow>]) -> Result<(String, End), Lost> {
        let mut usage = self.prepared.restarted();
        let answers = Answers {
            token: self.token,
            length: self.request.length_bytes,
            rate_bps: self.request.rate_bps,
        };
        let echoes = flows.iter().map(|flow| Echo::start(flow, answers));
        let mut echoes = echoes
            .collect::<io::Result<Vec<Echo>>>()
            .map_err(|e| Lost::Closed(e.to_string()))?;
        let end = self.watch_answers(&echoes)?;
        usage.end();
        echoes.iter_mut().for_each(Echo::stop);
        let bytes: u64 = echoes.iter().map(Echo::bytes).sum();
        self.metrics.moved(Direction::Sent, bytes);
        self.channel
            .say(&Message::Host(Box::new(usage.host(BTreeMap::new()))))?;
        let line = format!("{} requests answered, {bytes} bytes", answered(&echoes));
        Ok((line, end))
    }

    /// Waits for the end. A message in each interval shows the client that the server lives.
    fn watch_answers(&mut self, echoes: &[Echo]) -> Result<End, Lost> {
        let begin = clock::now();
        let interval = Duration::from_nanos(self.request.interval_ns);
        let mut index = 0;
        let mut t0 = Duration::ZERO;
        let mut allowance = Allowance::of(self.request);
        loop {
            let elapsed = clock::now() - begin;
            let is_spent = allowance.is_spent(elapsed, answered(echoes))
                || self.limit.is_some_and(RateLimit::is_exceeded);
            if is_spent || interrupt::is_pressed() {
                self.channel.say(&Message::Ending)?;
                return Ok(if is_spent { End::Spent } else { End::Regular });
            }
            if elapsed >= t0 + interval {
                self.channel.say(&Message::Interval(Box::new(Interval {
                    flow: 0,
                    index,
                    t0_ns: nanos(t0),
                    t1_ns: nanos(elapsed),
                    tx: None,
                    rx: None,
                })))?;
                t0 = elapsed;
                index += 1;
            }
            match self.channel.poll(clock::now() + SAMPLE)? {
                Some(Message::Stop) => return Ok(End::Regular),
                Some(_) => return Err(Lost::Nonsense),
                None if echoes.iter().all(Echo::is_done) => return Ok(End::Regular),
                None => {}
            }
        }
    }
}

fn answered(echoes: &[Echo]) -> u64 {
    echoes.iter().map(Echo::answered).sum()
}

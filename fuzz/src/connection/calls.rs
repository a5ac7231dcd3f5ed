//! Calls of applications, and the clock.

use super::input::{Input, SERVICE};
use super::{Accepted, DEADLINES_MAX, Flow, PORTS, World};
use dccp_proto::ConnectError;
use std::time::Duration;

impl World {
    /// The flow from an end to the other's listener. There are few, so that flows repeat.
    fn flow(&self, input: &mut Input<'_>, i: usize) -> Flow {
        Flow {
            path: if i == 0 {
                self.path
            } else {
                self.path.reversed()
            },
            local_port: PORTS[i] + input.pick(&[0, 0, 0, 1]),
            remote_port: PORTS[1 - i] + input.pick(&[0, 0, 0, 1]),
        }
    }

    pub(super) fn connect(&mut self, input: &mut Input<'_>, i: usize) {
        let (flow, config) = (self.flow(input, i), input.config());
        match self.ends[i].endpoint.connect(self.now, flow, config) {
            Ok(id) => self.ends[i].ids.push(id),
            Err(error) => assert_eq!(error, ConnectError::FlowInUse),
        }
    }

    /// The end expects the other to connect.
    pub(super) fn invite(&mut self, input: &mut Input<'_>, i: usize) {
        let (flow, config) = (self.flow(input, i), input.config());
        let endpoint = &mut self.ends[i].endpoint;
        if let Ok(id) = endpoint.open_simultaneously(self.now, flow, config) {
            self.ends[i].ids.push(id);
        }
    }

    pub(super) fn listen(&mut self, input: &mut Input<'_>, i: usize) {
        match input.below(4) {
            0 => self.ends[i].endpoint.unlisten(PORTS[i]),
            1 => self.invite(input, i),
            2 => self.ends[i]
                .endpoint
                .set_answers_strangers(input.below(2) == 0),
            _ => {
                let config = input.config();
                // It may listen already.
                let _ = self.ends[i].endpoint.listen(PORTS[i], &[SERVICE], config);
            }
        }
    }

    pub(super) fn push(&mut self, input: &mut Input<'_>, i: usize) {
        let Some((id, conn)) = self.conn(input, i) else {
            return;
        };
        let mps = conn.mps();
        let len = input.pick(&[100, 0, 1, 1000, mps, mps - 1, mps + 1, mps / 2, 70_000]);
        let (count, is_zeros) = (1 + input.below(32), input.below(2) == 0);
        let end = &mut self.ends[i];
        for _ in 0..count {
            end.apps.of(id).push(len, is_zeros);
        }
        end.endpoint.on_data_ready(id);
    }

    pub(super) fn call(&mut self, input: &mut Input<'_>, i: usize) {
        let what = input.below(16);
        // The call may name a connection that ended long ago.
        let n = input.below(8);
        let end = &mut self.ends[i];
        let id = end.ids.iter().rev().nth(n / 2).or(end.ids.last());
        let Some(&id) = id else {
            return;
        };
        let app = end.apps.of(id);
        match what {
            0..=3 => app.take_back_next(),
            4 | 5 => app.answer(Accepted::Yes),
            6 => app.answer(Accepted::Full),
            7 => app.answer(Accepted::NotListening),
            8 | 9 => end.endpoint.close(self.now, id, &mut end.apps),
            10 => end.endpoint.abort(self.now, id, &mut end.apps),
            11 | 12 => end.endpoint.set_slow_receiver(id, n < 4),
            13 => {
                end.endpoint.rediscover_pmtu(self.now, id, &mut end.apps);
            }
            _ => end.endpoint.on_data_ready(id),
        }
    }

    /// Time passes, and every deadline is handled.
    pub(super) fn pass_time(&mut self, input: &mut Input<'_>) {
        let end = self.now + duration(input);
        (0..2).for_each(|i| self.drain(i));
        for _ in 0..DEADLINES_MAX {
            let deadlines = self.ends.iter().filter_map(|e| e.endpoint.poll_timeout());
            let Some(next) = deadlines.min().filter(|at| *at <= end) else {
                break;
            };
            self.now = self.now.max(next);
            let due = self.time_out();
            (0..2).filter(|&i| due[i]).for_each(|i| self.drain(i));
        }
        self.now = end;
    }

    /// Time jumps past deadlines.
    pub(super) fn jump(&mut self, input: &mut Input<'_>) {
        self.now += duration(input);
        // The core's contract requires to drain the outputs before.
        (0..2).for_each(|i| self.drain(i));
        for end in &mut self.ends {
            end.time_out(self.now);
        }
    }

    /// Handles the deadlines that are due. Returns which ends had one: their outputs have to be drained. The outputs
    /// of both ends have been drained before, as the core's contract requires.
    pub(super) fn time_out(&mut self) -> [bool; 2] {
        let now = self.now;
        self.ends.each_mut().map(|end| {
            let is_due = end.is_due(now);
            if is_due {
                end.time_out(now);
            }
            is_due
        })
    }
}

fn duration(input: &mut Input<'_>) -> Duration {
    const US: Duration = Duration::from_micros(1);
    let unit = input.pick(&[
        Duration::from_nanos(1),
        US,
        100 * US,
        1000 * US,
        10_000 * US,
        100_000 * US,
        1_000_000 * US,
        100_000_000 * US,
        3_600_000_000 * US,
    ]);
    unit * input.pick(&[1_u32, 2, 5, 11])
}

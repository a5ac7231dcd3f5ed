//! The server's side of `media`.

use super::{Allowance, End, Test, believable};
use crate::limits::DRAIN_MAX;
use crate::load::classes::{CLASSES, ClassReceiver};
use crate::meter::{QUIET, SAMPLE};
use crate::schema::StampSource;
use crate::serve::metrics::Direction;
use crate::serve::rate::RateLimit;
use crate::transport::Flow;
use crate::wire::channel::Lost;
use crate::wire::figures::FlowTotal;
use crate::wire::figures::RxTotal;
use crate::wire::message::Message;
use dccp::clock;
use dccp_cli::interrupt;
use dccp_stats::ArrivalFigures;
use std::collections::BTreeMap;
use std::sync::Arc;

impl Test<'_> {
    /// Receives packets of all classes until the client ends the test, or it has used its time. Gives a line about it.
    pub(super) fn sink(&mut self, flow: &Arc<dyn Flow>) -> Result<(String, End), Lost> {
        let mut usage = self.prepared.restarted();
        let mut receiver =
            ClassReceiver::start(flow, self.token).map_err(|e| Lost::Closed(e.to_string()))?;
        let (end, packets) = self.watch_sink(&receiver)?;
        usage.end();
        wait_for_rest(&receiver);
        receiver.stop();
        let figures = receiver.finish(&packets);
        let counts = figures.iter().map(|figures| figures.counts);
        let (packets, bytes) = counts.fold((0, 0), |(packets, bytes), counts| {
            (packets + counts.packets, bytes + counts.bytes)
        });
        self.metrics.moved(Direction::Received, bytes);
        let host = Message::Host(Box::new(usage.host(BTreeMap::new())));
        let until = clock::now() + 2 * DRAIN_MAX;
        for (class, figures) in (0..).zip(figures) {
            let total = total(class, figures, flow.stamps());
            let total = Message::Total(Box::new(total));
            self.channel.say_in_turn(&total, until)?;
        }
        self.channel.say_in_turn(&host, until)?;
        let line = format!("media of {CLASSES} classes, received {packets} packets, {bytes} bytes");
        Ok((line, end))
    }

    /// Waits for the end. Gives the packets of each class that the client states.
    fn watch_sink(&mut self, receiver: &ClassReceiver) -> Result<(End, Vec<u64>), Lost> {
        let begin = clock::now();
        let mut allowance = Allowance::of(self.request);
        let mut is_ending = false;
        loop {
            let is_spent = allowance.is_spent(clock::now() - begin, receiver.received())
                || self.limit.is_some_and(RateLimit::is_exceeded);
            if (is_spent || interrupt::is_pressed()) && !core::mem::replace(&mut is_ending, true) {
                self.channel.say(&Message::Ending)?;
            }
            match self.channel.poll(clock::now() + SAMPLE)? {
                Some(Message::Sent { packets }) => return Ok((End::Regular, believable(packets))),
                Some(_) => return Err(Lost::Nonsense),
                None if is_spent => return Ok((End::Spent, Vec::new())),
                None => {}
            }
        }
    }
}

/// Waits until the connection has ended or nothing arrives any more, but not for ever.
fn wait_for_rest(receiver: &ClassReceiver) {
    let begin = clock::now();
    let (mut packets, mut last_at) = (receiver.received(), begin);
    while !receiver.is_done() && clock::now() < begin + DRAIN_MAX {
        std::thread::sleep(SAMPLE);
        if receiver.received() != packets {
            (packets, last_at) = (receiver.received(), clock::now());
        }
        if !receiver.flow.shows_end() && clock::now() - last_at >= QUIET {
            break;
        }
    }
}

fn total(class: u32, arrivals: ArrivalFigures, stamps: Option<StampSource>) -> FlowTotal {
    FlowTotal {
        flow: class,
        tx: None,
        rx: Some(RxTotal {
            stamps,
            ..arrivals.into()
        }),
    }
}

//! One test, from its request to its totals.

use super::seats::{Refusal, Seat};
use crate::host::Usage;
use crate::limits::{
    ANSWER_MAX, DURATION_MAX, FAREWELL_MAX, FLOWS_MAX, IDLE_MAX, IDLE_SLOW_MAX, INTERVAL_MIN,
    OVERTIME_MAX,
};
use crate::load::send::Traffic;
use crate::meter::{self, Meter, SAMPLE};
use crate::wire::channel::{Channel, Lost};
use crate::wire::figures::FlowTotal;
use crate::wire::message::{Message, Setup};
use crate::wire::packet::{LEN_MAX, LEN_MIN};
use core::time::Duration;
use dccp::proto::time::nanos;
use dccp::{DccpAddr, Socket, clock};
use dccp_cli::interrupt;
use dccp_cli::quantity::show as units;
use std::collections::BTreeMap;
use std::sync::Arc;

const STOPPED: Refusal = Refusal {
    reason: "it is shutting down",
    next: "start `dccpmon serve` there again",
};

impl Refusal {
    pub(super) fn message(&self) -> Message {
        Message::Refused {
            reason: self.reason.into(),
            next: self.next.into(),
        }
    }
}

/// A test that has a seat.
pub(super) struct Session {
    pub(super) peer: DccpAddr,
    pub(super) channel: Channel,
    pub(super) setup: Setup,
    pub(super) seat: Seat,
}

impl Session {
    /// Serves the test, and prints a line about it.
    pub(super) fn run(self) {
        let Self {
            peer,
            channel,
            setup,
            seat,
        } = self;
        match serve(channel, setup, &seat) {
            Ok(Some(text)) => println!("test from {peer}: {text}"),
            Ok(None) => println!("test from {peer}: refused"),
            Err(e) => println!("test from {peer}: broken off, {e}"),
        }
        seat.finish();
    }
}

/// Serves one test; returns a line about it, or nothing if the program ends first.
fn serve(mut channel: Channel, setup: Setup, seat: &Seat) -> Result<Option<String>, Lost> {
    channel.say(&Message::Ready { token: seat.token })?;
    let Some(sockets) = gather(&mut channel, &setup, seat)? else {
        channel.say(&STOPPED.message())?;
        channel.flush(clock::now() + ANSWER_MAX)?;
        return Ok(None);
    };
    let mut test = Test {
        channel,
        setup,
        token: seat.token,
    };
    let line = test.run(&sockets);
    // A connection that is still open holds no resource longer than its test.
    for socket in &sockets {
        socket.abort();
    }
    line.map(Some)
}

/// Checks a request against the limits of the server.
pub(super) fn check(setup: &Setup) -> Result<(), Refusal> {
    let longest = nanos(DURATION_MAX);
    let shortest_interval = nanos(INTERVAL_MIN);
    let holds = (1..=FLOWS_MAX).contains(&setup.flows)
        && (1..=longest).contains(&setup.duration_ns)
        && setup.interval_ns >= shortest_interval
        && (LEN_MIN..=LEN_MAX).contains(&setup.length_bytes)
        && setup.rate_bps != Some(0);
    if holds {
        return Ok(());
    }
    Err(Refusal {
        reason: "the test is beyond what it serves",
        next: "ask for an hour at most, 32 flows at most, and intervals of at least 100 ms",
    })
}

/// Waits for the data connections, and for the client to say that it has heard of all; returns none
/// if the program is to end.
fn gather(
    channel: &mut Channel,
    setup: &Setup,
    seat: &Seat,
) -> Result<Option<Vec<Arc<Socket>>>, Lost> {
    let mut joined = BTreeMap::new();
    let until = clock::now() + ANSWER_MAX;
    loop {
        while let Ok((flow, socket)) = seat.joined.try_recv() {
            if flow < setup.flows && !joined.contains_key(&flow) {
                joined.insert(flow, Arc::new(socket));
                channel.say(&Message::Joined { flow })?;
            }
        }
        match channel.poll(clock::now() + SAMPLE)? {
            Some(Message::Start) if joined.len() == setup.flows as usize => {
                return Ok(Some(joined.into_values().collect()));
            }
            Some(_) => return Err(Lost::Nonsense),
            None if interrupt::is_pressed() => return Ok(None),
            None if clock::now() >= until => return Err(Lost::Silent),
            None => {}
        }
    }
}

/// The reason why a test ended.
enum End {
    /// The client or the program ended it.
    Regular,
    /// It has used its time, or carried no data.
    Spent,
}

/// A test that runs.
struct Test {
    channel: Channel,
    setup: Setup,
    token: u64,
}

impl Test {
    fn run(&mut self, sockets: &[Arc<Socket>]) -> Result<String, Lost> {
        let usage = Usage::begin();
        let flows = self
            .start(sockets)
            .map_err(|e| Lost::Closed(e.to_string()))?;
        let mut meter = Meter::new(flows, true);
        let end = self.watch(&mut meter)?;
        if self.setup.is_reverse {
            meter.finish_sending();
            self.channel.say(&Message::Sent)?;
        } else {
            meter.finish_receiving();
        }
        let totals = meter.totals();
        let line = self.line(&totals);
        for total in totals {
            self.channel.say(&Message::Total(Box::new(total)))?;
        }
        self.channel
            .say(&Message::Host(Box::new(usage.host(meter.mib()))))?;
        let until = clock::now()
            + match end {
                End::Regular => ANSWER_MAX,
                End::Spent => FAREWELL_MAX,
            };
        while clock::now() < until {
            match self.channel.poll(until) {
                Ok(Some(Message::Bye)) | Err(_) => break,
                Ok(_) => {}
            }
        }
        Ok(line)
    }

    fn start(&self, sockets: &[Arc<Socket>]) -> std::io::Result<Vec<meter::End>> {
        let duration = Duration::from_nanos(self.setup.duration_ns);
        (0..)
            .zip(sockets)
            .map(|(flow, socket)| {
                if !self.setup.is_reverse {
                    return meter::End::receive(socket, self.token, flow);
                }
                let traffic = Traffic {
                    token: self.token,
                    flow,
                    length: self.setup.length_bytes,
                    rate_bps: self.setup.rate_bps,
                };
                meter::End::send(socket, traffic, duration)
            })
            .collect()
    }

    /// Reports the intervals until the sending end has ended, or the test has used its time.
    fn watch(&mut self, meter: &mut Meter) -> Result<End, Lost> {
        let interval = Duration::from_nanos(self.setup.interval_ns);
        let mut next = interval;
        let mut allowance = Allowance::of(&self.setup);
        let mut is_ending = false;
        loop {
            meter.sample();
            let is_spent = allowance.is_spent(meter.elapsed(), meter.progress());
            if (is_spent || interrupt::is_pressed()) && !core::mem::replace(&mut is_ending, true) {
                self.channel.say(&Message::Ending)?;
            }
            let until = SAMPLE.min(next.saturating_sub(meter.elapsed()));
            let message = self.channel.poll(clock::now() + until)?;
            let is_over = match message {
                Some(Message::Stop | Message::Sent) => true,
                Some(_) => return Err(Lost::Nonsense),
                None => is_spent || meter.is_done() || (is_ending && self.setup.is_reverse),
            };
            let elapsed = meter.elapsed();
            if elapsed >= next || (is_over && elapsed + interval / 2 >= next) {
                next += interval;
                for told in meter.interval() {
                    if !self.channel.is_behind() {
                        self.channel.say(&Message::Interval(told))?;
                    }
                }
            }
            if is_over {
                return Ok(if is_spent { End::Spent } else { End::Regular });
            }
        }
    }

    /// Sums the test up in one line of the server's output.
    fn line(&self, totals: &[FlowTotal]) -> String {
        let time = Duration::from_nanos(self.setup.duration_ns);
        let what = if self.setup.is_reverse {
            "sent"
        } else {
            "received"
        };
        let packets: u64 = totals
            .iter()
            .map(|t| {
                let left = t.tx.as_ref().map(|tx| tx.left);
                left.or(t.rx.as_ref().map(|rx| rx.delivered)).unwrap_or(0)
            })
            .sum();
        let bytes = packets * self.setup.length_bytes as u64;
        format!(
            "{} flow(s), {what} {packets} packets of {} B, {}",
            self.setup.flows,
            self.setup.length_bytes,
            units::rate(crate::result::rate(bytes, time))
        )
    }
}

/// The time that a test may hold its seat.
struct Allowance {
    /// From the start of the test.
    time: Duration,
    /// Without data.
    idle: Duration,
    /// The last progress and its time.
    progress: u64,
    progress_at: Duration,
}

impl Allowance {
    fn of(setup: &Setup) -> Self {
        const BITS_AND_NS: u64 = 8 * 1_000_000_000;
        let gap = setup.rate_bps.map_or(0, |bps| {
            (setup.length_bytes as u64).saturating_mul(BITS_AND_NS) / bps.max(1)
        });
        Self {
            time: Duration::from_nanos(setup.duration_ns) + OVERTIME_MAX,
            idle: Duration::from_nanos(gap.saturating_mul(2)).clamp(IDLE_MAX, IDLE_SLOW_MAX),
            progress: 0,
            progress_at: Duration::ZERO,
        }
    }

    /// Whether the test must end after `elapsed`, with `progress` datagrams.
    fn is_spent(&mut self, elapsed: Duration, progress: u64) -> bool {
        if progress != self.progress {
            (self.progress, self.progress_at) = (progress, elapsed);
        }
        elapsed >= self.time || elapsed >= self.progress_at + self.idle
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn setup(rate_bps: Option<u64>) -> Setup {
        Setup {
            version: String::new(),
            flows: 1,
            duration_ns: 60_000_000_000,
            interval_ns: 1_000_000_000,
            is_reverse: false,
            length_bytes: 1250,
            rate_bps,
        }
    }

    #[test]
    fn test_ends_after_its_time() {
        let at = Duration::from_secs;
        let mut allowance = Allowance::of(&setup(None));
        for second in 0..65 {
            assert!(!allowance.is_spent(at(second), second + 1), "{second}");
        }
        assert!(allowance.is_spent(at(65), 66));
    }

    #[test]
    fn test_without_data_ends_early() {
        let at = Duration::from_secs;
        let mut allowance = Allowance::of(&setup(Some(10_000)));
        assert!(!allowance.is_spent(at(9), 0));
        assert!(!allowance.is_spent(at(9), 1));
        assert!(!allowance.is_spent(at(18), 1));
        assert!(allowance.is_spent(at(19), 1));
        // One datagram each 20 s was asked for.
        let mut slow = Allowance::of(&setup(Some(500)));
        assert!(!slow.is_spent(at(39), 0));
        assert!(slow.is_spent(at(40), 0));
        // A client that names a rate of 1 bit/s holds its seat no longer than a minute.
        let mut slowest = Allowance::of(&setup(Some(1)));
        assert!(!slowest.is_spent(at(59), 0));
        assert!(slowest.is_spent(at(60), 0));
    }
}

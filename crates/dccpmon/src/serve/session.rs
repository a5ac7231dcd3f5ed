//! One test, from its request to its totals.

mod answers;
mod sink;

use super::log::log;
use super::metrics::{Direction, Metrics, Outcome};
use super::policy::Policy;
use super::seats::Seat;
use crate::host::Usage;
use crate::limits::{ANSWER_MAX, FAREWELL_MAX, IDLE_MAX, IDLE_SLOW_MAX, OVERTIME_MAX};
use crate::load::send::Traffic;
use crate::meter::{self, Meter, SAMPLE};
use crate::schema::Transport;
use crate::transport::Flow;
use crate::wire::auth::Exchange;
use crate::wire::channel::{Channel, Lost};
use crate::wire::figures::FlowTotal;
use crate::wire::message::{Message, Mode, Ready, RefusalCode, Refused, Request, Setup};
use core::time::Duration;
use dccp::proto::number::to_f64;
use dccp::proto::time::nanos;
use dccp::{DccpAddr, clock};
use dccp_cli::interrupt;
use dccp_cli::quantity::show as units;
use std::collections::BTreeMap;
use std::sync::Arc;

fn stopped() -> Refused {
    Refused::new(
        RefusalCode::Stopping,
        "the server is shutting down",
        "start `dccpmon serve` there again",
    )
}

fn used_up() -> Refused {
    Refused::new(
        RefusalCode::Limit,
        "the server ends this series: its tests have used the time that the server allows to one client",
        "begin a new one",
    )
}

/// A test that has a seat, and those that follow on the same control connection.
pub(super) struct Session {
    pub(super) peer: DccpAddr,
    pub(super) channel: Channel,
    pub(super) exchange: Exchange,
    pub(super) policy: Arc<Policy>,
    pub(super) request: Request,
    pub(super) seat: Seat,
}

impl Session {
    /// Serves the tests, and prints a line about each.
    pub(super) fn run(mut self) {
        let peer = self.peer;
        let begin = clock::now();
        let mut has_tested = false;
        loop {
            match self.serve() {
                Ok(Some((text, end))) => {
                    has_tested = true;
                    log(&format!("test from {peer}: {text}"));
                    self.seat.metrics().test_ended(match end {
                        End::Spent => Outcome::Limited,
                        End::Regular if interrupt::is_pressed() => Outcome::Stopped,
                        End::Regular => Outcome::Complete,
                    });
                    if let End::Spent = end {
                        self.take_leave();
                        break;
                    }
                }
                Ok(None) => {
                    log(&format!("test from {peer}: refused"));
                    self.seat.metrics().refused(RefusalCode::Stopping);
                    break;
                }
                Err(e) => {
                    log(&format!("test from {peer}: broken off, {e}"));
                    self.seat.metrics().test_ended(Outcome::Lost);
                    break;
                }
            }
            match self.next(clock::now() - begin) {
                Ok(true) => {}
                Ok(false) => break,
                Err(e) => {
                    log(&format!("series from {peer}: broken off, {e}"));
                    break;
                }
            }
        }
        // A server of one test waits for the next client if this one did not get to an end.
        if has_tested {
            self.seat.finish();
        }
    }

    /// Serves one test; returns a line about it, or nothing if the program ends first.
    fn serve(&mut self) -> Result<Option<(String, End)>, Lost> {
        let granted = serde_json::to_string(&self.request).map_err(|_| Lost::Nonsense)?;
        let token = self.seat.token;
        let key = self.policy.key.as_ref();
        let proof = key.map(|key| self.exchange.prove_answer(key, token, &granted).into());
        self.channel.say(&Message::Ready(Ready {
            token,
            granted,
            proof,
        }))?;
        let Some(flows) = gather(&mut self.channel, &self.request, &self.seat)? else {
            self.channel.say(&Message::Refused(stopped()))?;
            self.channel.flush(clock::now() + ANSWER_MAX)?;
            return Ok(None);
        };
        let mut test = Test {
            channel: &mut self.channel,
            request: &self.request,
            rate: self.policy.rate_bps,
            token,
            metrics: self.seat.metrics(),
        };
        let ended = test.run(&flows);
        // A connection that is still open holds no resource longer than its test.
        for flow in &flows {
            flow.abort();
        }
        ended.map(Some)
    }

    /// Repeats the totals until the client has said that it has them, or until [`FAREWELL_MAX`].
    fn take_leave(&mut self) {
        let until = clock::now() + FAREWELL_MAX;
        while clock::now() < until {
            match self.channel.poll(until) {
                Ok(Some(Message::Bye)) | Err(_) => break,
                Ok(_) => {}
            }
        }
    }

    /// Waits for the client's next request. Returns false if it has none. All tests together take no more time than
    /// one may: they have taken `time` so far, pauses included.
    fn next(&mut self, time: Duration) -> Result<bool, Lost> {
        let until = clock::now() + ANSWER_MAX;
        let setup: Setup = loop {
            match self.channel.poll(until)? {
                Some(Message::Setup(setup)) => break setup,
                // A request to end that arrived after the end.
                Some(Message::Stop | Message::Sent { .. }) => {}
                Some(_) | None => return Ok(false),
            }
        };
        let left = self.policy.duration.saturating_sub(time);
        let granted = self.policy.grant(&mut self.exchange, &setup);
        let granted = granted.and_then(|request| {
            if interrupt::is_pressed() {
                return Err(stopped());
            }
            if request.duration_ns > nanos(left) {
                return Err(used_up());
            }
            self.seat.renew(request.transport)?;
            Ok(request)
        });
        match granted {
            Ok(request) => {
                self.request = request;
                Ok(true)
            }
            Err(refused) => {
                self.seat.metrics().refused(refused.code);
                self.channel.say(&Message::Refused(refused))?;
                self.channel.flush(clock::now() + FAREWELL_MAX)?;
                Ok(false)
            }
        }
    }
}

/// Waits for the data connections, and for the client to say that it has heard of all; returns none
/// if the program is to end.
fn gather(
    channel: &mut Channel,
    request: &Request,
    seat: &Seat,
) -> Result<Option<Vec<Arc<dyn Flow>>>, Lost> {
    let mut joined = BTreeMap::new();
    let until = clock::now() + ANSWER_MAX;
    loop {
        while let Ok((id, flow)) = seat.joined.try_recv() {
            if u32::from(id) < request.flows && !joined.contains_key(&id) {
                joined.insert(id, flow);
                channel.say(&Message::Joined { flow: id.into() })?;
            }
        }
        match channel.poll(clock::now() + SAMPLE)? {
            Some(Message::Start) if joined.len() == request.flows as usize => {
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
struct Test<'a> {
    channel: &'a mut Channel,
    request: &'a Request,
    /// Bits per second of all flows together that the server allows.
    rate: Option<u64>,
    token: u64,
    metrics: &'a Metrics,
}

impl Test<'_> {
    fn run(&mut self, flows: &[Arc<dyn Flow>]) -> Result<(String, End), Lost> {
        match (self.request.mode, flows) {
            (Mode::Rr, flows) => return self.answer(flows),
            (Mode::Media, [flow, ..]) => return self.sink(flow),
            _ => {}
        }
        let mut usage = Usage::begin(self.channel.socket());
        let flows = self.start(flows).map_err(|e| Lost::Closed(e.to_string()))?;
        let mut meter = Meter::new(flows, self.request.transport == Transport::Dccp);
        let (end, packets) = self.watch(&mut meter)?;
        usage.end();
        if self.request.is_reverse {
            meter.finish_sending();
            let packets = meter.packets_sent();
            self.channel.say(&Message::Sent { packets })?;
        } else {
            meter.finish_receiving();
        }
        let totals = meter.totals(&packets);
        let counted = total_packets(&totals);
        let direction = if self.request.is_reverse {
            Direction::Sent
        } else {
            Direction::Received
        };
        let bytes = counted * self.request.length_bytes as u64;
        self.metrics.moved(direction, bytes);
        let line = self.line(counted);
        for total in totals {
            self.channel.say(&Message::Total(Box::new(total)))?;
        }
        self.channel
            .say(&Message::Host(Box::new(usage.host(meter.mib()))))?;
        Ok((line, end))
    }

    fn start(&self, flows: &[Arc<dyn Flow>]) -> std::io::Result<Vec<meter::End>> {
        let duration = Duration::from_nanos(self.request.duration_ns);
        (0..)
            .zip(flows)
            .map(|(id, flow)| {
                if !self.request.is_reverse {
                    return meter::End::receive(flow, self.token, id);
                }
                let traffic = Traffic {
                    token: self.token,
                    flow: id,
                    length: self.request.length_bytes,
                    shape: self.request.shape.clone(),
                    seed: self.request.seed.wrapping_add(id.into()),
                    congestion: self.request.congestion.clone(),
                };
                meter::End::send(flow, traffic, duration)
            })
            .collect()
    }

    /// Reports the intervals until the sending end has ended, or the test has used its time. Gives the packets that the
    /// client states for each flow, if it sends.
    fn watch(&mut self, meter: &mut Meter) -> Result<(End, Vec<u64>), Lost> {
        let interval = Duration::from_nanos(self.request.interval_ns);
        let mut next = interval;
        let mut allowance = Allowance::of(self.request);
        let mut guard = RateGuard::new(self.rate, self.request.length_bytes);
        let mut is_ending = false;
        loop {
            meter.sample();
            let (elapsed, progress) = (meter.elapsed(), meter.progress());
            let is_spent =
                allowance.is_spent(elapsed, progress) || guard.is_exceeded(elapsed, progress);
            if (is_spent || interrupt::is_pressed()) && !core::mem::replace(&mut is_ending, true) {
                self.channel.say(&Message::Ending)?;
            }
            let until = SAMPLE.min(next.saturating_sub(meter.elapsed()));
            let message = self.channel.poll(clock::now() + until)?;
            let mut packets = Vec::new();
            let is_over = match message {
                Some(Message::Stop) => true,
                Some(Message::Sent { packets: stated }) => {
                    packets = stated;
                    true
                }
                Some(_) => return Err(Lost::Nonsense),
                None => is_spent || meter.is_done() || (is_ending && self.request.is_reverse),
            };
            let elapsed = meter.elapsed();
            if elapsed >= next || (is_over && elapsed + interval / 2 >= next) {
                next += interval;
                for told in meter.interval() {
                    if !self.channel.is_behind() {
                        self.channel.say(&Message::Interval(Box::new(told)))?;
                    }
                }
            }
            if is_over {
                let end = if is_spent { End::Spent } else { End::Regular };
                return Ok((end, packets));
            }
        }
    }

    /// Sums the test up in one line of the server's output.
    fn line(&self, packets: u64) -> String {
        let time = Duration::from_nanos(self.request.duration_ns);
        let what = if self.request.is_reverse {
            "sent"
        } else {
            "received"
        };
        let bytes = packets * self.request.length_bytes as u64;
        format!(
            "{} flow(s), {what} {packets} packets of {} B, {}",
            self.request.flows,
            self.request.length_bytes,
            units::rate(crate::result::rate(bytes, time))
        )
    }
}

/// Packets that have left this host, or that it has received.
fn total_packets(totals: &[FlowTotal]) -> u64 {
    let packets = totals.iter().map(|t| {
        let left = t.tx.as_ref().map(|tx| tx.left);
        left.or(t.rx.as_ref().map(|rx| rx.delivered)).unwrap_or(0)
    });
    packets.sum()
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
    fn of(request: &Request) -> Self {
        const BITS_AND_NS: u64 = 8 * 1_000_000_000;
        let gap = request.rate_bps.map_or(0, |bps| {
            (request.length_bytes as u64).saturating_mul(BITS_AND_NS) / bps.max(1)
        });
        Self {
            time: Duration::from_nanos(request.duration_ns) + OVERTIME_MAX,
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

/// Finds clients that send faster than they may.
struct RateGuard {
    /// Datagrams of a window.
    at_most: Option<u64>,
    progress: u64,
    since: Duration,
}

impl RateGuard {
    const WINDOW: Duration = Duration::from_secs(2);

    fn new(rate_bps: Option<u64>, length: usize) -> Self {
        // A fifth more than allowed, because a window of the sender is not one of the receiver, and a few datagrams.
        let packets =
            |bps: u64| bps.saturating_mul(12 * Self::WINDOW.as_secs()) / (80 * length as u64) + 16;
        Self {
            at_most: rate_bps.map(packets),
            progress: 0,
            since: Duration::ZERO,
        }
    }

    /// Whether more arrived in the last window than may.
    fn is_exceeded(&mut self, elapsed: Duration, progress: u64) -> bool {
        if elapsed < self.since + Self::WINDOW {
            return false;
        }
        let arrived = progress - core::mem::replace(&mut self.progress, progress);
        // A late look sees more than one window.
        let windows = elapsed.saturating_sub(self.since).as_secs_f64() / Self::WINDOW.as_secs_f64();
        self.since = elapsed;
        self.at_most
            .is_some_and(|most| to_f64(arrived) > to_f64(most) * windows)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::shape::Shape;

    #[test]
    fn rate_above_the_granted_one_is_found_after_two_seconds() {
        let at = Duration::from_secs_f64;
        // 100 packets/s may come.
        let mut guard = RateGuard::new(Some(80_000), 100);
        assert!(!guard.is_exceeded(at(1.9), 1_000));
        assert!(guard.is_exceeded(at(2.0), 1_000));
        let mut guard = RateGuard::new(Some(80_000), 100);
        for seconds in 1..60_u32 {
            assert!(!guard.is_exceeded(at(seconds.into()), u64::from(seconds) * 115));
        }
        assert!(guard.is_exceeded(at(80.0), 59 * 115 + 10_000));
        let mut unlimited = RateGuard::new(None, 100);
        assert!(!unlimited.is_exceeded(at(2.0), u64::MAX));
    }

    fn request(rate_bps: Option<u64>) -> Request {
        Request {
            mode: Mode::Stream,
            transport: Transport::Dccp,
            shape: Shape::Greedy,
            seed: 0,
            congestion: None,
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
        let mut allowance = Allowance::of(&request(None));
        for second in 0..65 {
            assert!(!allowance.is_spent(at(second), second + 1), "{second}");
        }
        assert!(allowance.is_spent(at(65), 66));
    }

    #[test]
    fn test_without_data_ends_early() {
        let at = Duration::from_secs;
        let mut allowance = Allowance::of(&request(Some(10_000)));
        assert!(!allowance.is_spent(at(9), 0));
        assert!(!allowance.is_spent(at(9), 1));
        assert!(!allowance.is_spent(at(18), 1));
        assert!(allowance.is_spent(at(19), 1));
        // One datagram each 20 s was asked for.
        let mut slow = Allowance::of(&request(Some(500)));
        assert!(!slow.is_spent(at(39), 0));
        assert!(slow.is_spent(at(40), 0));
        // A client that names a rate of 1 bit/s holds its seat no longer than a minute.
        let mut slowest = Allowance::of(&request(Some(1)));
        assert!(!slowest.is_spent(at(59), 0));
        assert!(slowest.is_spent(at(60), 0));
    }
}

//! One test, from its request to its totals.

mod answers;
mod sink;

use super::log::log;
use super::metrics::{Direction, Metrics, Outcome};
use super::policy::Policy;
use super::rate::RateLimit;
use super::seats::Seat;
use crate::host::Usage;
use crate::limits::{ANSWER_MAX, DRAIN_MAX, FAREWELL_MAX, IDLE_MAX, IDLE_SLOW_MAX, OVERTIME_MAX};
use crate::load::send::Traffic;
use crate::meter::{self, Meter, SAMPLE};
use crate::schema::Transport;
use crate::transport::Flow;
use crate::wire::auth::Exchange;
use crate::wire::channel::{Channel, Lost};
use crate::wire::figures::FlowTotal;
use crate::wire::message::{Message, Mode, Ready, RefusalCode, Refused, Request, Setup};
use crate::wire::packet::NUMBER_MAX;
use core::time::Duration;
use dccp::proto::time::nanos;
use dccp::{DccpAddr, Instant, clock};
use dccp_cli::interrupt;
use dccp_cli::quantity::show as units;
use std::collections::BTreeMap;
use std::sync::Arc;

pub(super) fn stopped() -> Refused {
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
        let limit = self
            .policy
            .rate_bps
            .map(|bps| Arc::new(RateLimit::new(bps)));
        let mut has_tested = false;
        loop {
            match self.serve(limit.as_ref()) {
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
            match self.next(begin) {
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
    fn serve(&mut self, limit: Option<&Arc<RateLimit>>) -> Result<Option<(String, End)>, Lost> {
        let granted = serde_json::to_string(&self.request).map_err(|_| Lost::Nonsense)?;
        let token = self.seat.token;
        let key = self.policy.key.as_ref();
        let proof = key.map(|key| self.exchange.prove_answer(key, token, &granted).into());
        self.channel.say(&Message::Ready(Ready {
            token,
            granted,
            proof,
        }))?;
        let prepared = Usage::begin(self.channel.socket());
        let Some(flows) = gather(&mut self.channel, &self.request, &self.seat)? else {
            self.channel.say(&Message::Refused(stopped()))?;
            self.channel.flush(clock::now() + ANSWER_MAX)?;
            return Ok(None);
        };
        let flows: Vec<Arc<dyn Flow>> = match limit {
            Some(limit) => flows.into_iter().map(|flow| limit.apply(flow)).collect(),
            None => flows,
        };
        let mut test = Test {
            channel: &mut self.channel,
            request: &self.request,
            limit: limit.map(|limit| &**limit),
            token,
            metrics: self.seat.metrics(),
            prepared,
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
    /// one may, from `begin` on, pauses included.
    fn next(&mut self, begin: Instant) -> Result<bool, Lost> {
        let until = clock::now() + ANSWER_MAX;
        let setup: Setup = loop {
            match self.channel.poll(until)? {
                Some(Message::Setup(setup)) => break setup,
                // A request to end that arrived after the end.
                Some(Message::Stop | Message::Sent { .. }) => {}
                Some(_) | None => return Ok(false),
            }
        };
        let left = self.policy.duration.saturating_sub(clock::now() - begin);
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
            if u32::from(id) < request.connections() && !joined.contains_key(&id) {
                if let Some(bytes) = request.socket_buffer_bytes {
                    let resized = flow.set_buffers(bytes);
                    resized.map_err(|e| Lost::Closed(e.to_string()))?;
                }
                joined.insert(id, flow);
                channel.say(&Message::Joined { flow: id.into() })?;
            }
        }
        match channel.poll(clock::now() + SAMPLE)? {
            Some(Message::Start) if joined.len() == request.connections() as usize => {
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
    /// Of all flows together.
    limit: Option<&'a RateLimit>,
    token: u64,
    metrics: &'a Metrics,
    /// Counts packets since before the client could send any.
    prepared: Usage,
}

impl Test<'_> {
    fn run(&mut self, flows: &[Arc<dyn Flow>]) -> Result<(String, End), Lost> {
        match (self.request.mode, flows) {
            (Mode::Rr, flows) => return self.answer(flows),
            (Mode::Media, [flow, ..]) => return self.sink(flow),
            _ => {}
        }
        let mut usage = self.prepared.restarted();
        let flows = self.start(flows).map_err(|e| Lost::Closed(e.to_string()))?;
        let mut meter = Meter::new(flows, self.request.transport == Transport::Dccp);
        let (end, stated) = self.watch(&mut meter)?;
        usage.end();
        let elapsed = meter.elapsed();
        let stated = match (stated, &end) {
            (None, End::Regular) if !self.request.is_reverse => self.wait_for_count()?,
            (stated, _) => stated.unwrap_or_default(),
        };
        if self.request.is_reverse || self.request.is_both {
            meter.finish_sending();
            let packets = meter.packets_sent();
            self.channel.say(&Message::Sent { packets })?;
        }
        if !self.request.is_reverse {
            meter.finish_receiving();
        }
        let totals = meter.totals(&stated);
        let [sent, received] = Moved::of(&totals, self.request.length_bytes);
        self.metrics.moved(Direction::Sent, sent.bytes);
        self.metrics.moved(Direction::Received, received.bytes);
        let line = self.line(sent, received, elapsed);
        let host = usage.host(meter.mib());
        let until = self.report_until(&meter);
        for total in totals {
            let total = Message::Total(Box::new(total));
            self.channel.say_in_turn(&total, until)?;
        }
        self.channel
            .say_in_turn(&Message::Host(Box::new(host)), until)?;
        Ok((line, end))
    }

    /// The last moment for the totals: a test that ended in time may use the rest of its overtime.
    fn report_until(&self, meter: &Meter) -> Instant {
        let most = Duration::from_nanos(self.request.duration_ns) + OVERTIME_MAX + 2 * DRAIN_MAX;
        clock::now() + most.saturating_sub(meter.elapsed())
    }

    fn start(&self, connections: &[Arc<dyn Flow>]) -> std::io::Result<Vec<meter::End>> {
        let duration = Duration::from_nanos(self.request.duration_ns);
        // The second half of the flows uses shared connections again.
        (0..)
            .zip(connections.iter().cycle().take(self.request.flows as usize))
            .map(|(id, flow)| {
                if self.request.client_sends(id.into()) {
                    return meter::End::receive(flow, self.token, id, self.request.lost_runs);
                }
                let traffic = Traffic {
                    token: self.token,
                    flow: id,
                    length: self.request.length_bytes,
                    shape: self.request.shape.clone(),
                    seed: self.request.seed.wrapping_add(id.into()),
                    packets: None,
                    congestion: self.request.congestion.clone(),
                    has_echoes: self.request.has_echoes,
                    obeys: self.request.obeys,
                };
                meter::End::send(flow, traffic, duration)
            })
            .collect()
    }

    /// Reports the intervals until the sending end has ended, or the test has used its time. Gives the packets that the
    /// client states for each flow, if it has ended the test.
    fn watch(&mut self, meter: &mut Meter) -> Result<(End, Option<Vec<u64>>), Lost> {
        let interval = Duration::from_nanos(self.request.interval_ns);
        let mut next = interval;
        let mut allowance = Allowance::of(self.request);
        let mut is_ending = false;
        loop {
            meter.sample();
            let (elapsed, progress) = (meter.elapsed(), meter.progress());
            let is_spent = allowance.is_spent(elapsed, progress)
                || self.limit.is_some_and(RateLimit::is_exceeded);
            if (is_spent || interrupt::is_pressed()) && !core::mem::replace(&mut is_ending, true) {
                self.channel.say(&Message::Ending)?;
            }
            let until = SAMPLE.min(next.saturating_sub(meter.elapsed()));
            let message = self.channel.poll(clock::now() + until)?;
            let stated = message.map(stated).transpose()?;
            let is_over = match stated {
                Some(_) => true,
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
                return Ok((end, stated));
            }
        }
    }

    /// Waits for the packets that the client states for each flow. Its connections may have ended long before, and then
    /// only the numbers show the loss of the last packets.
    fn wait_for_count(&mut self) -> Result<Vec<u64>, Lost> {
        let message = self.channel.poll(clock::now() + DRAIN_MAX)?;
        message.map_or(Ok(Vec::new()), stated)
    }

    /// Sums the test up in one line of the server's output.
    fn line(&self, sent: Moved, received: Moved, time: Duration) -> String {
        let what = match (self.request.is_reverse, self.request.is_both) {
            (_, true) => format!("sent {} and received {}", sent.packets, received.packets),
            (true, _) => format!("sent {}", sent.packets),
            (false, _) => format!("received {}", received.packets),
        };
        let bytes = sent.bytes + received.bytes;
        format!(
            "{} flow(s), {what} packets of {} B, {}",
            self.request.flows,
            self.request.length_bytes,
            units::rate(crate::result::rate(bytes, time))
        )
    }
}

/// The packets of each flow that a client states when it ends a test.
fn stated(message: Message) -> Result<Vec<u64>, Lost> {
    match message {
        Message::Stop => Ok(Vec::new()),
        Message::Sent { packets } => Ok(believable(packets)),
        _ => Err(Lost::Nonsense),
    }
}

/// The numbers of packets that a client states, without those that no test reaches.
fn believable(stated: Vec<u64>) -> Vec<u64> {
    if stated.iter().all(|packets| *packets <= NUMBER_MAX) {
        stated
    } else {
        Vec::new()
    }
}

/// Data that has left this host, or that it has received.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Moved {
    packets: u64,
    bytes: u64,
}

impl Moved {
    /// The sums of the flows that this host sent and of those that it received. Datagrams leave with `length` bytes, and
    /// may arrive with another length.
    fn of(totals: &[FlowTotal], length: usize) -> [Self; 2] {
        let [mut sent, mut received] = [Self::default(); 2];
        for total in totals {
            match (&total.tx, &total.rx) {
                (Some(tx), _) => {
                    sent.packets += tx.left;
                    sent.bytes += tx.left * length as u64;
                }
                (None, Some(rx)) => {
                    received.packets += rx.delivered;
                    received.bytes += rx.bytes;
                }
                (None, None) => {}
            }
        }
        [sent, received]
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::shape::Shape;

    fn request(rate_bps: Option<u64>) -> Request {
        Request {
            mode: Mode::Stream,
            transport: Transport::Dccp,
            shape: Shape::Greedy,
            seed: 0,
            congestion: None,
            socket_buffer_bytes: None,
            lost_runs: 0,
            flows: 1,
            duration_ns: 60_000_000_000,
            interval_ns: 1_000_000_000,
            is_reverse: false,
            length_bytes: 1250,
            rate_bps,
            is_both: false,
            is_one_connection: false,
            has_echoes: false,
            obeys: false,
        }
    }

    #[test]
    fn impossible_numbers_of_packets_are_not_believed() {
        assert_eq!(believable(vec![5, 7]), [5, 7]);
        assert!(believable(vec![5, u64::MAX]).is_empty());
    }

    #[test]
    fn bytes_are_those_that_arrived() {
        use crate::wire::figures::{RxTotal, TxTotal};
        let received = FlowTotal {
            rx: Some(RxTotal {
                delivered: 2,
                bytes: 3000,
                ..RxTotal::default()
            }),
            ..FlowTotal::default()
        };
        let sent = FlowTotal {
            tx: Some(TxTotal {
                left: 3,
                ..TxTotal::default()
            }),
            ..FlowTotal::default()
        };
        let [sent, received] = Moved::of(&[received, sent], 100);
        assert_eq!((sent.packets, sent.bytes), (3, 300));
        assert_eq!((received.packets, received.bytes), (2, 3000));
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

//! Requests and responses of `rr`: the thread that answers, and the end that asks and takes the time.
//!
//! A request is one packet of kind `Ask`. Behind its head stand the bytes of the response that it asks for. A response
//! has the number of its request, and is cut into packets of kind `Answer`. Behind their heads stands the number of
//! the part.

use super::Thread;
use crate::transport::{BATCH, Flow, FlowError, LOOK, Run};
use crate::wire::packet::{Head, Kind, LEN_MIN};
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use core::time::Duration;
use dccp::{Instant, clock};
use std::io;
use std::sync::Arc;

/// The shortest request, and the shortest part of a response.
pub(crate) const ASK_MIN: usize = LEN_MIN + 4;
/// The longest response.
pub(crate) const RESPONSE_MAX: u32 = 1 << 20;
/// Requests that wait for their answers. Further ones are not answered.
const WAITING_MAX: usize = 64;

/// A request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Ask {
    number: u64,
    response_bytes: u32,
}

impl Ask {
    /// Reads a request of this test for a response of an allowed length.
    fn read(datagram: &[u8], token: u64) -> Option<Self> {
        let (number, response_bytes) = read(Kind::Ask, token, datagram)?;
        let least = u32::try_from(ASK_MIN).unwrap_or(u32::MAX);
        (least..=RESPONSE_MAX)
            .contains(&response_bytes)
            .then_some(Self {
                number,
                response_bytes,
            })
    }
}

/// Writes the head of a packet and the value behind it.
fn write(kind: Kind, token: u64, number: u64, value: u32, datagram: &mut [u8]) {
    let head = Head {
        kind,
        token,
        flow: 0,
        wants_echo: false,
        number,
        sent_ns: clock::now().as_nanos(),
    };
    head.write(datagram);
    datagram[LEN_MIN..ASK_MIN].copy_from_slice(&value.to_be_bytes());
}

/// Reads the number of a packet of this test, and the value behind its head.
fn read(kind: Kind, token: u64, datagram: &[u8]) -> Option<(u64, u32)> {
    let head = Head::read(datagram)?;
    let is_ours = head.kind == kind && head.token == token && head.flow == 0;
    let value = datagram.get(LEN_MIN..)?.first_chunk()?;
    is_ours.then(|| (head.number, u32::from_be_bytes(*value)))
}

/// How a response is cut into packets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Cut {
    /// Packets of the full length.
    full: u32,
    /// Bytes of the last packet if it is shorter, at least [`ASK_MIN`].
    rest: Option<usize>,
}

impl Cut {
    /// Cuts `bytes` into packets of `length` bytes, which is at least [`ASK_MIN`].
    fn new(bytes: u32, length: usize) -> Self {
        let length = u32::try_from(length).unwrap_or(u32::MAX).max(1);
        let rest = (bytes % length) as usize;
        Self {
            full: bytes / length,
            rest: (rest > 0).then_some(rest.max(ASK_MIN)),
        }
    }

    fn packets(self) -> u32 {
        self.full + u32::from(self.rest.is_some())
    }
}

/// The answering end of a flow: a thread.
pub(crate) struct Echo {
    counts: Arc<EchoCounts>,
    thread: Thread,
}

/// Counters of the answering thread.
#[derive(Debug, Default)]
struct EchoCounts {
    /// Requests that were answered.
    answered: AtomicU64,
    /// Bytes of the answers.
    bytes: AtomicU64,
}

/// The test of an answering end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Answers {
    pub(crate) token: u64,
    /// Bytes of the longest packet, at least [`ASK_MIN`].
    pub(crate) length: usize,
    /// Bits per second on average; `None`: no limit.
    pub(crate) rate_bps: Option<u64>,
}

impl Echo {
    /// Begins to answer; ends with the connection, or when [`stop`](Self::stop) is called.
    pub(crate) fn start(flow: &Arc<dyn Flow>, answers: Answers) -> io::Result<Self> {
        let counts = Arc::new(EchoCounts::default());
        let thread = {
            let (flow, counts) = (flow.clone(), counts.clone());
            Thread::spawn("answer", move |is_over| {
                let mut answering = Answering {
                    flow: &*flow,
                    answers,
                    memory: vec![0; answers.length * BATCH],
                    begin: clock::now(),
                    counts: &counts,
                    is_over,
                };
                answering.run();
            })?
        };
        Ok(Self { counts, thread })
    }

    /// Requests that were answered so far.
    pub(crate) fn answered(&self) -> u64 {
        self.counts.answered.load(Ordering::Relaxed)
    }

    /// Bytes of the answers so far.
    pub(crate) fn bytes(&self) -> u64 {
        self.counts.bytes.load(Ordering::Relaxed)
    }

    /// Whether it answers no more.
    pub(crate) fn is_done(&self) -> bool {
        self.thread.is_done()
    }

    /// Makes it stop, and waits for that.
    pub(crate) fn stop(&mut self) {
        self.thread.stop();
    }
}

/// The work of the answering thread.
struct Answering<'a> {
    flow: &'a dyn Flow,
    answers: Answers,
    memory: Vec<u8>,
    begin: Instant,
    counts: &'a EchoCounts,
    is_over: &'a AtomicBool,
}

impl Answering<'_> {
    fn run(&mut self) {
        let mut asks = Vec::with_capacity(WAITING_MAX);
        let token = self.answers.token;
        while !self.is_over() {
            let received = self.flow.recv(&mut |packets| {
                for ask in packets.filter_map(|packet| Ask::read(packet.bytes, token)) {
                    if asks.len() < WAITING_MAX {
                        asks.push(ask);
                    }
                }
            });
            if received.is_err() {
                return;
            }
            for ask in asks.drain(..) {
                self.wait_for_rate();
                if self.answer(ask).is_err() {
                    return;
                }
                self.counts.answered.fetch_add(1, Ordering::Relaxed);
            }
        }
    }

    fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Relaxed)
    }

    /// Waits until the earlier answers do not exceed the rate.
    fn wait_for_rate(&self) {
        let Some(bps) = self.answers.rate_bps else {
            return;
        };
        let bytes = self.counts.bytes.load(Ordering::Relaxed);
        let millis = bytes.saturating_mul(8_000) / bps.max(1);
        let due = self.begin + Duration::from_millis(millis);
        while clock::now() < due && !self.is_over() {
            std::thread::sleep(LOOK.min(due - clock::now()));
        }
    }

    fn answer(&mut self, ask: Ask) -> Result<(), FlowError> {
        let Answers { token, length, .. } = self.answers;
        let cut = Cut::new(ask.response_bytes, length);
        let mut sent = 0;
        while sent < cut.packets() && !self.is_over() {
            let (packets, length) = match cut.rest {
                Some(rest) if sent == cut.full => (1, rest),
                _ => (BATCH.min((cut.full - sent) as usize), length),
            };
            let bytes = &mut self.memory[..packets * length];
            for (datagram, part) in bytes.chunks_mut(length).zip(sent..) {
                write(Kind::Answer, token, ask.number, part, datagram);
            }
            let taken = self.flow.send(&Run { bytes, length })?;
            sent = sent.saturating_add(u32::try_from(taken).unwrap_or(u32::MAX));
            let bytes = (taken * length) as u64;
            self.counts.bytes.fetch_add(bytes, Ordering::Relaxed);
        }
        Ok(())
    }
}

/// The asking end of a flow.
pub(crate) struct Asker<'a> {
    flow: &'a dyn Flow,
    token: u64,
    /// Bytes of the longest packet.
    length: usize,
    timeout: Duration,
    /// The number of the next request.
    number: u64,
    memory: Vec<u8>,
    /// Which parts of the response have arrived.
    seen: Vec<bool>,
}

impl<'a> Asker<'a> {
    /// An end whose requests wait for `timeout` for their responses. `length` is at least [`ASK_MIN`].
    pub(crate) fn new(flow: &'a dyn Flow, token: u64, length: usize, timeout: Duration) -> Self {
        Self {
            flow,
            token,
            length,
            timeout,
            number: 0,
            memory: vec![0; length],
            seen: Vec::new(),
        }
    }

    /// Sends a request, and waits for the whole response. Gives the time between them, or `None` if a part did not
    /// arrive. The lengths are at least [`ASK_MIN`]; that of the request is at most that of a packet.
    pub(crate) fn ask(
        &mut self,
        request_bytes: usize,
        response_bytes: u32,
    ) -> Result<Option<Duration>, FlowError> {
        let number = self.number;
        self.number += 1;
        let mut missing = Cut::new(response_bytes, self.length).packets();
        self.seen.clear();
        self.seen.resize(missing as usize, false);
        let bytes = &mut self.memory[..request_bytes];
        write(Kind::Ask, self.token, number, response_bytes, bytes);
        let run = Run {
            bytes,
            length: request_bytes,
        };
        let begin = clock::now();
        let until = begin + self.timeout;
        while self.flow.send(&run)? == 0 {
            if clock::now() >= until {
                return Ok(None);
            }
        }
        let (token, seen) = (self.token, &mut self.seen);
        let mut last = begin;
        while missing > 0 && clock::now() < until {
            self.flow.recv(&mut |packets| {
                for packet in packets {
                    // Parts of an earlier response that came too late have another number.
                    let answer = read(Kind::Answer, token, packet.bytes);
                    let Some((_, part)) = answer.filter(|answer| answer.0 == number) else {
                        continue;
                    };
                    let seen = seen.get_mut(part as usize);
                    if seen.is_some_and(|seen| !core::mem::replace(seen, true)) {
                        missing -= 1;
                        last = last.max(packet.arrived);
                    }
                }
            })?;
        }
        Ok((missing == 0).then(|| last - begin))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transport::udp::{UdpFlow, bind};
    use std::net::UdpSocket;

    const TOKEN: u64 = 7;

    /// A flow, and the end that answers it.
    fn pair(rate_bps: Option<u64>) -> (UdpFlow, Echo) {
        let listener = bind(([127, 0, 0, 1], 0).into(), true).unwrap();
        let asking = UdpFlow::connect(listener.local_addr().unwrap()).unwrap();
        // The first datagram shows the address of the asking end.
        let run = Run {
            bytes: &[0; 8],
            length: 8,
        };
        asking.send(&run).unwrap();
        let (_, peer) = listener.recv_from(&mut [0; 8]).unwrap();
        let answering: Arc<dyn Flow> =
            Arc::new(UdpFlow::accept(&listener, peer.ip(), peer).unwrap());
        let answers = Answers {
            token: TOKEN,
            length: 200,
            rate_bps,
        };
        (asking, Echo::start(&answering, answers).unwrap())
    }

    #[test]
    fn response_is_cut_into_full_packets_and_a_rest() {
        let rest = |bytes| Cut::new(bytes, 200).rest;
        let packets = |bytes| Cut::new(bytes, 200).packets();
        assert_eq!([36, 200, 201, 400, 1000].map(packets), [1, 1, 2, 2, 5]);
        assert_eq!(
            [150, 200, 350, 201].map(rest),
            [Some(150), None, Some(150), Some(ASK_MIN)]
        );
    }

    #[test]
    fn responses_of_each_length_arrive_whole() {
        let (flow, mut echo) = pair(None);
        let mut asker = Asker::new(&flow, TOKEN, 200, Duration::from_secs(5));
        for bytes in [36, 199, 200, 201, 5_000] {
            let latency = asker.ask(64, bytes).unwrap();
            assert!(latency.is_some_and(|l| l > Duration::ZERO), "{bytes}");
        }
        echo.stop();
        assert_eq!(echo.answered(), 5);
        assert_eq!(echo.bytes(), 36 + 199 + 200 + 200 + 36 + 5_000);
    }

    #[test]
    fn requests_of_others_and_for_too_much_are_not_answered() {
        let (flow, mut echo) = pair(None);
        let timeout = Duration::from_millis(300);
        let mut stranger = Asker::new(&flow, TOKEN + 1, 200, timeout);
        assert_eq!(stranger.ask(64, 100).unwrap(), None);
        let mut asker = Asker::new(&flow, TOKEN, 200, timeout);
        assert_eq!(asker.ask(64, RESPONSE_MAX + 1).unwrap(), None);
        echo.stop();
        assert_eq!((echo.answered(), echo.bytes()), (0, 0));
    }

    #[test]
    fn answers_keep_to_the_rate() {
        // 1,000 bytes at 80 kbit/s take 100 ms.
        let (flow, _echo) = pair(Some(80_000));
        let mut asker = Asker::new(&flow, TOKEN, 200, Duration::from_secs(5));
        let begin = clock::now();
        for _ in 0..4 {
            assert!(asker.ask(64, 1_000).unwrap().is_some());
        }
        assert!(clock::now() - begin >= Duration::from_millis(290));
    }

    #[test]
    fn silent_peer_ends_the_wait() {
        let silent = UdpSocket::bind("127.0.0.1:0").unwrap();
        let flow = UdpFlow::connect(silent.local_addr().unwrap()).unwrap();
        let mut asker = Asker::new(&flow, TOKEN, 200, Duration::from_millis(100));
        assert_eq!(asker.ask(64, 100).unwrap(), None);
    }
}

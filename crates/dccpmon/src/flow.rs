//! The two ends of a flow: a thread that sends numbered datagrams, a thread that counts them.

use crate::packet::{Head, Kind};
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use core::time::Duration;
use dccp::proto::time::nanos;
use dccp::proto::wire::Ecn;
use dccp::{Instant, RecvBatch, RecvError, SendError, SendItem, Socket, clock};
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

/// Datagrams handed over, or taken, in one call.
const BATCH: usize = 64;
/// The longest time between two checks whether a thread must stop.
const LOOK: Duration = Duration::from_millis(100);

/// The data of one sender.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Traffic {
    pub(crate) token: u64,
    pub(crate) flow: u32,
    pub(crate) length: usize,
    /// Bits per second; `None`: as fast as the socket takes them.
    pub(crate) rate_bps: Option<u64>,
}

/// The sending end of a flow.
pub(crate) struct Sender {
    pub(crate) socket: Arc<Socket>,
    pub(crate) counts: Arc<TxCounts>,
    thread: Thread,
}

/// Counters of the sending thread.
#[derive(Debug, Default)]
pub(crate) struct TxCounts {
    /// Datagrams offered to the socket.
    pub(crate) offered: AtomicU64,
    /// Of these, refused by the socket.
    pub(crate) refused: AtomicU64,
    /// Why it sends no more, if that is before its time.
    pub(crate) failure: Mutex<Option<SendError>>,
}

impl Sender {
    /// Begins to send; ends after `duration`, or when [`stop`](Self::stop) is called.
    pub(crate) fn start(
        socket: &Arc<Socket>,
        traffic: Traffic,
        duration: Duration,
    ) -> io::Result<Self> {
        socket.set_send_timeout(Some(LOOK));
        let counts = Arc::new(TxCounts::default());
        let thread = {
            let (socket, counts) = (socket.clone(), counts.clone());
            Thread::spawn("send", move |is_over| {
                let end = clock::now() + duration;
                let is_over = || is_over.load(Ordering::Relaxed) || clock::now() >= end;
                send(&socket, traffic, &counts, &is_over);
            })?
        };
        Ok(Self {
            socket: socket.clone(),
            counts,
            thread,
        })
    }

    /// Whether it sends no more.
    pub(crate) fn is_done(&self) -> bool {
        self.thread.is_done()
    }

    /// Makes it stop, and waits for that.
    pub(crate) fn stop(&mut self) {
        self.thread.stop();
    }

    /// Why it stopped before its time, if it did.
    pub(crate) fn failure(&self) -> Option<SendError> {
        lock(&self.counts.failure).clone()
    }
}

fn send(socket: &Socket, traffic: Traffic, counts: &TxCounts, is_over: &dyn Fn() -> bool) {
    let mut bytes = vec![0; traffic.length * BATCH];
    let mut schedule = traffic
        .rate_bps
        .map(|bps| Schedule::new(clock::now(), traffic.length, bps));
    let mut number = 0;
    while !is_over() {
        let due = schedule.as_mut().map_or(BATCH, |s| s.wait(number));
        for (datagram, number) in bytes.chunks_mut(traffic.length).take(due).zip(number..) {
            let kind = Kind::Data;
            let (token, flow) = (traffic.token, traffic.flow);
            Head {
                kind,
                token,
                flow,
                number,
            }
            .write(datagram);
        }
        let mut items: Vec<SendItem<'_>> = bytes
            .chunks(traffic.length)
            .take(due)
            .map(SendItem::new)
            .collect();
        let outcome = socket.send_batch(&mut items);
        let taken = items.iter().filter(|i| i.result.is_ok()).count() as u64;
        number += taken;
        counts.offered.fetch_add(taken, Ordering::Relaxed);
        match outcome {
            Ok(_) | Err(SendError::TimedOut | SendError::WouldBlock) => {}
            Err(e) => {
                counts.offered.fetch_add(1, Ordering::Relaxed);
                counts.refused.fetch_add(1, Ordering::Relaxed);
                *lock(&counts.failure) = Some(e);
                return;
            }
        }
    }
}

/// When datagrams are due at a constant rate.
struct Schedule {
    begin: Instant,
    gap_ns: u64,
}

impl Schedule {
    fn new(begin: Instant, length: usize, bps: u64) -> Self {
        const BITS_AND_NS: u64 = 8 * 1_000_000_000;
        Self {
            begin,
            gap_ns: (length as u64 * BITS_AND_NS).div_ceil(bps).max(1),
        }
    }

    /// Waits for the datagram with this number, not longer than [`LOOK`]; returns how many are due
    /// (0 if it is too early still).
    fn wait(&mut self, number: u64) -> usize {
        let left = self.due_at(number) - clock::now();
        if !left.is_zero() {
            std::thread::sleep(left.min(LOOK));
        }
        self.due(clock::now(), number)
    }

    /// The number of datagrams that are due, counted from `number`. A delayed sender catches up by one
    /// batch at most.
    fn due(&mut self, now: Instant, number: u64) -> usize {
        let due_at = self.due_at(number);
        if due_at > now {
            return 0;
        }
        let due = nanos(now - due_at) / self.gap_ns + 1;
        let excess = due.saturating_sub(BATCH as u64);
        self.begin += Duration::from_nanos(excess.saturating_mul(self.gap_ns));
        usize::try_from(due - excess).unwrap_or(BATCH)
    }

    fn due_at(&self, number: u64) -> Instant {
        self.begin + Duration::from_nanos(number.saturating_mul(self.gap_ns))
    }
}

/// The receiving end of a flow.
pub(crate) struct Receiver {
    pub(crate) socket: Arc<Socket>,
    counts: Arc<Mutex<RxCounts>>,
    thread: Thread,
}

/// Counters of the receiving thread.
#[derive(Clone, Debug, Default)]
pub(crate) struct RxCounts {
    pub(crate) numbers: Numbers,
    /// Bytes of datagrams that came for the first time.
    pub(crate) bytes: u64,
    /// Datagrams with a congestion mark.
    pub(crate) marked: u64,
    pub(crate) first_at: Option<Instant>,
    pub(crate) last_at: Instant,
}

impl Receiver {
    /// Begins to receive; ends with the connection, or when [`stop`](Self::stop) is called.
    pub(crate) fn start(socket: &Arc<Socket>, token: u64, flow: u32) -> io::Result<Self> {
        socket.set_recv_timeout(Some(LOOK));
        let counts = Arc::new(Mutex::new(RxCounts::default()));
        let thread = {
            let (socket, counts) = (socket.clone(), counts.clone());
            Thread::spawn("receive", move |is_over| {
                receive(&socket, token, flow, &counts, is_over);
            })?
        };
        Ok(Self {
            socket: socket.clone(),
            counts,
            thread,
        })
    }

    /// The counters so far.
    pub(crate) fn counts(&self) -> RxCounts {
        lock(&self.counts).clone()
    }

    /// Different datagrams so far.
    pub(crate) fn received(&self) -> u64 {
        lock(&self.counts).numbers.distinct
    }

    /// Whether it receives no more.
    pub(crate) fn is_done(&self) -> bool {
        self.thread.is_done()
    }

    /// Makes it stop, and waits for that.
    pub(crate) fn stop(&mut self) {
        self.thread.stop();
    }
}

fn receive(socket: &Socket, token: u64, flow: u32, counts: &Mutex<RxCounts>, is_over: &AtomicBool) {
    let mut batch = RecvBatch::new(BATCH);
    while !is_over.load(Ordering::Relaxed) {
        match socket.recv_batch(&mut batch) {
            Ok(_) => {}
            Err(RecvError::TimedOut | RecvError::WouldBlock) => continue,
            Err(_) => return,
        }
        let mut counts = lock(counts);
        for datagram in &batch {
            let Some(head) = Head::read(datagram) else {
                continue;
            };
            if head.kind != Kind::Data || (head.token, head.flow) != (token, flow) {
                continue;
            }
            let meta = datagram.meta();
            counts.marked += u64::from(meta.ecn == Ecn::Ce);
            counts.first_at.get_or_insert(meta.arrived);
            counts.last_at = meta.arrived;
            if counts.numbers.take(head.number) {
                counts.bytes += datagram.len() as u64;
            }
        }
    }
}

/// Which numbers have come.
#[derive(Clone, Debug, Default)]
pub(crate) struct Numbers {
    /// Numbers below this one have been passed.
    pub(crate) passed: u64,
    /// Different numbers that came.
    pub(crate) distinct: u64,
    pub(crate) duplicates: u64,
    /// Numbers that came after a higher one.
    pub(crate) reordered: u64,
    /// Of the last [`WINDOW`] numbers, which have come; a bit each, in a ring.
    seen: Vec<u64>,
}

/// How far back a number is remembered. A number that comes later than that counts as new.
const WINDOW: u64 = 1 << 16;

impl Numbers {
    /// Takes a number; whether it is new.
    fn take(&mut self, number: u64) -> bool {
        if self.seen.is_empty() {
            self.seen = vec![0; usize::try_from(WINDOW / 64).unwrap_or(0)];
        }
        if number < self.passed {
            self.reordered += 1;
            if self.passed - number <= WINDOW && !self.set(number) {
                self.duplicates += 1;
                self.reordered -= 1;
                return false;
            }
        } else {
            let skipped = (number - self.passed).min(WINDOW);
            for n in number - skipped..number {
                self.clear(n);
            }
            self.clear(number);
            self.set(number);
            self.passed = number + 1;
        }
        self.distinct += 1;
        true
    }

    /// Numbers that were passed and have not come.
    pub(crate) fn missing(&self) -> u64 {
        self.passed.saturating_sub(self.distinct)
    }

    /// Sets the bit of a number; whether it was clear.
    fn set(&mut self, number: u64) -> bool {
        let (word, bit) = place(number);
        let was_clear = self.seen[word] & bit == 0;
        self.seen[word] |= bit;
        was_clear
    }

    fn clear(&mut self, number: u64) {
        let (word, bit) = place(number);
        self.seen[word] &= !bit;
    }
}

fn place(number: u64) -> (usize, u64) {
    let n = number % WINDOW;
    (usize::try_from(n / 64).unwrap_or(0), 1 << (n % 64))
}

/// A thread that can be told to stop.
struct Thread {
    is_over: Arc<AtomicBool>,
    handle: Option<JoinHandle<()>>,
}

impl Thread {
    fn spawn(name: &str, run: impl FnOnce(&AtomicBool) + Send + 'static) -> io::Result<Self> {
        let is_over = Arc::new(AtomicBool::new(false));
        let told = is_over.clone();
        let handle = std::thread::Builder::new()
            .name(name.into())
            .spawn(move || run(&told))?;
        Ok(Self {
            is_over,
            handle: Some(handle),
        })
    }

    fn is_done(&self) -> bool {
        self.handle.as_ref().is_none_or(JoinHandle::is_finished)
    }

    fn stop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        if let Some(handle) = self.handle.take() {
            // A panic there has printed its message; the counts are what they are.
            let _ = handle.join();
        }
    }
}

impl Drop for Thread {
    fn drop(&mut self) {
        self.stop();
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(numbers: &[u64]) -> Numbers {
        let mut seen = Numbers::default();
        for &n in numbers {
            seen.take(n);
        }
        seen
    }

    #[test]
    fn numbers_are_counted_once() {
        let n = after(&[0, 1, 2, 2, 5, 4, 4]);
        assert_eq!((n.passed, n.distinct, n.missing()), (6, 5, 1));
        assert_eq!((n.duplicates, n.reordered), (2, 1));
    }

    #[test]
    fn a_late_number_is_no_loss() {
        let n = after(&[1, 0, 3, 2]);
        assert_eq!((n.missing(), n.reordered, n.duplicates), (0, 2, 0));
    }

    #[test]
    fn the_ring_forgets_what_is_far_behind() {
        let n = after(&[0, WINDOW, WINDOW + 7, WINDOW]);
        assert_eq!((n.distinct, n.duplicates), (3, 1));
        assert_eq!(n.missing(), WINDOW + 8 - 3);
        let jump = after(&[5, 10 * WINDOW, 10 * WINDOW - 1, 10 * WINDOW - WINDOW]);
        assert_eq!((jump.distinct, jump.reordered), (4, 2));
    }

    #[test]
    fn a_schedule_that_was_held_up_catches_up_by_one_batch() {
        let begin = Instant::from_nanos(5);
        let at = |ms| begin + Duration::from_millis(ms);
        let mut schedule = Schedule::new(begin, 1250, 10_000_000);
        assert_eq!(schedule.gap_ns, 1_000_000);
        assert_eq!(schedule.due(at(0), 0), 1);
        assert_eq!(schedule.due(at(0), 1), 0);
        assert_eq!(schedule.due(at(3), 1), 3);
        assert_eq!(schedule.due(at(100), 4), BATCH);
        assert_eq!(schedule.due(at(100), 4 + BATCH as u64), 0);
        assert_eq!(schedule.due(at(101), 4 + BATCH as u64), 1);
    }
}

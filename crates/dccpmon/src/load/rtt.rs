//! Echoes of data packets: the round trip from program to program.

use super::{Thread, lock};
use crate::transport::Flow;
use crate::wire::packet::Echo;
use core::sync::atomic::{AtomicBool, Ordering};
use core::time::Duration;
use dccp::{Instant, clock};
use std::io;
use std::sync::{Arc, Mutex};

/// The shortest time between two packets of a flow that ask for an echo.
const ASK_GAP: Duration = Duration::from_millis(5);
/// The shortest time between two echoes of a flow, whatever its sender asks for.
const ECHO_GAP: Duration = Duration::from_micros(2500);
/// Echoes that wait for the next look at the sender.
const WAITING_MAX: usize = 4096;
/// The pause after an error of a flow that goes on.
const PAUSE: Duration = Duration::from_millis(10);

/// Limits how often something happens.
#[derive(Clone, Debug)]
pub(crate) struct Pace {
    gap: Duration,
    next: Option<Instant>,
}

impl Pace {
    /// Of packets that ask for an echo.
    pub(crate) fn of_asks() -> Self {
        Self {
            gap: ASK_GAP,
            next: None,
        }
    }

    /// Of echoes.
    pub(crate) fn of_echoes() -> Self {
        Self {
            gap: ECHO_GAP,
            next: None,
        }
    }

    /// Whether it may happen at `now`; then the next one is due a gap later.
    pub(crate) fn is_due(&mut self, now: Instant) -> bool {
        let is_due = self.next.is_none_or(|next| now >= next);
        if is_due {
            self.next = Some(now + self.gap);
        }
        is_due
    }
}

/// The times of one echo.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct RoundTrip {
    /// From the sending program to the arrival of the echo.
    pub(crate) user: Duration,
    /// Of this, at the receiver.
    pub(crate) receiver: Duration,
}

impl RoundTrip {
    /// Of an echo that arrived at `now_ns` of the clock that has `begin_ns` as the begin of the test; `None` if its
    /// times contradict each other.
    fn of(echo: &Echo, begin_ns: u64, now_ns: u64) -> Option<Self> {
        if echo.sent_ns < begin_ns {
            return None;
        }
        let user = now_ns.checked_sub(echo.sent_ns)?;
        let receiver = echo.echoed_ns.checked_sub(echo.arrived_ns)?;
        (receiver <= user).then_some(Self {
            user: Duration::from_nanos(user),
            receiver: Duration::from_nanos(receiver),
        })
    }

    /// The part between the hosts, if there is no send queue.
    pub(crate) fn network(&self) -> Duration {
        self.user.saturating_sub(self.receiver)
    }
}

/// Receives the echoes of a flow that this end sends.
pub(crate) struct EchoReader {
    waiting: Arc<Mutex<Vec<RoundTrip>>>,
    thread: Thread,
}

impl EchoReader {
    /// Begins to receive; ends with the connection, or when it is dropped.
    pub(crate) fn start(flow: &Arc<dyn Flow>, token: u64, id: u16) -> io::Result<Self> {
        let waiting = Arc::new(Mutex::new(Vec::new()));
        let begin_ns = clock::now().as_nanos();
        let thread = {
            let (flow, waiting) = (flow.clone(), waiting.clone());
            Thread::spawn("echoes", move |is_over| {
                read(&*flow, (token, id), begin_ns, &waiting, is_over);
            })?
        };
        Ok(Self { waiting, thread })
    }

    /// The echoes since the last call.
    pub(crate) fn take(&self) -> Vec<RoundTrip> {
        core::mem::take(&mut *lock(&self.waiting))
    }

    /// Makes it stop, and waits for that.
    pub(crate) fn stop(&mut self) {
        self.thread.stop();
    }
}

fn read(
    flow: &dyn Flow,
    name: (u64, u16),
    begin_ns: u64,
    waiting: &Mutex<Vec<RoundTrip>>,
    is_over: &AtomicBool,
) {
    while !is_over.load(Ordering::Relaxed) {
        let received = flow.recv(&mut |packets| {
            for packet in packets {
                let echo = Echo::read(packet.bytes);
                let echo = echo.filter(|echo| (echo.token, echo.flow) == name);
                let now_ns = packet.arrived.as_nanos();
                let trip = echo.and_then(|echo| RoundTrip::of(&echo, begin_ns, now_ns));
                let mut waiting = lock(waiting);
                if waiting.len() < WAITING_MAX {
                    waiting.extend(trip);
                }
            }
        });
        if received.is_err() {
            if flow.shows_end() {
                return;
            }
            std::thread::sleep(PAUSE);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // goal 6: echoes are at most 200 a second.
    #[test]
    fn asks_are_five_milliseconds_apart() {
        let begin = Instant::from_nanos(7);
        let mut asks = Pace::of_asks();
        let due = (0..1000_u64).filter(|ms| asks.is_due(begin + Duration::from_millis(*ms)));
        assert_eq!(due.count(), 200);
        let mut echoes = Pace::of_echoes();
        let micros = |n| begin + Duration::from_micros(n);
        let due = (0..10_000).filter(|n| echoes.is_due(micros(100 * n)));
        assert_eq!(due.count(), 400);
    }

    #[test]
    fn round_trip_is_split_between_network_and_receiver() {
        let echo = Echo {
            token: 1,
            flow: 0,
            number: 0,
            sent_ns: 1_000,
            // Another clock.
            arrived_ns: 900_000,
            echoed_ns: 900_300,
        };
        let trip = RoundTrip::of(&echo, 500, 2_000).unwrap();
        assert_eq!(trip.user, Duration::from_micros(1));
        assert_eq!(trip.receiver, Duration::from_nanos(300));
        assert_eq!(trip.network(), Duration::from_nanos(700));
        // A peer invents times.
        assert_eq!(RoundTrip::of(&echo, 1_001, 2_000), None);
        assert_eq!(RoundTrip::of(&echo, 500, 999), None);
        assert_eq!(RoundTrip::of(&echo, 500, 1_299), None);
        let backwards = Echo {
            echoed_ns: 899_999,
            ..echo
        };
        assert_eq!(RoundTrip::of(&backwards, 500, 2_000), None);
    }
}

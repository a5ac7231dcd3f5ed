//! Sources at work.

use super::{App, Datagram, Message, Source, Spread, Stamp};
use crate::random::Stream;
use core::f64::consts::TAU;
use core::time::Duration;
use dccp_proto::{Instant, Rate};

/// A source at work. The simulator's hosts use it, and live runs of the lab in real time.
#[derive(Clone, Debug)]
pub struct RunningSource {
    source: Source,
    stamps: bool,
    stream: Stream,
    opened: Instant,
    /// A constant rate counts from the datagram with this number, which was due when it `opened`.
    base: u64,
    /// How many datagrams, or pictures of a film, or requests, it has given.
    given: u64,
    /// When the next one is there.
    next: Option<Instant>,
    /// On and off: when it goes off.
    on_until: Instant,
    /// A film: how much of the picture was given.
    in_picture: usize,
    /// Requests: bytes of the answer that have not come yet.
    awaited: usize,
    important_every: Option<u64>,
    /// How many datagrams it has made.
    made: u64,
}

impl RunningSource {
    /// Starts at the moment when the connection opened.
    pub fn new(app: &App, opened: Instant) -> Self {
        let mut stream = app.random.clone();
        let source = app.source.clone();
        let (first, on_until) = match &source {
            Source::Silent => (None, opened),
            // The first of independent datagrams is as far away as the others are from each other.
            Source::Poisson { interval, .. } => {
                let wait = Spread::Exponential(*interval).draw(&mut stream);
                (Some(opened + wait), opened)
            }
            Source::OnOff { on, .. } => (Some(opened), opened + on.draw(&mut stream)),
            Source::Script(script) => (script.first().map(|(after, _)| opened + *after), opened),
            _ => (Some(opened), opened),
        };
        let mut running = Self {
            source,
            stamps: app.stamps,
            stream,
            opened,
            base: 0,
            given: 0,
            next: first,
            on_until,
            in_picture: 0,
            awaited: 0,
            important_every: app.important_every,
            made: 0,
        };
        if running.count() == 0 {
            running.next = None;
        }
        running
    }

    /// Whether it always has more, as fast as the transport takes it.
    pub fn is_greedy(&self) -> bool {
        matches!(self.source, Source::Bulk { .. })
    }

    /// When the next datagram is there; `None` if there is none any more.
    pub fn next_at(&self) -> Option<Instant> {
        self.next
    }

    /// The next datagram, if it is there by `now`, on a path with this maximum packet size.
    #[inline]
    pub fn poll(&mut self, now: Instant, mps: usize) -> Option<Datagram> {
        let due = self.next.filter(|&at| at <= now)?;
        self.give(due, now, mps)
    }

    /// The datagram that was due then.
    fn give(&mut self, due: Instant, now: Instant, mps: usize) -> Option<Datagram> {
        let ordinary = (self.class(), self.made);
        let (len, (class, picture)) = match &self.source {
            Source::Silent => return None,
            Source::Bulk { len, .. } => (mps.min(*len), ordinary),
            Source::Cbr { len, .. }
            | Source::Poisson { len, .. }
            | Source::OnOff { len, .. }
            | Source::Sine { len, .. } => (*len, ordinary),
            Source::Requests { len, answer, .. } => {
                if self.given == self.count() {
                    // The wait for the last answer has ended.
                    self.next = None;
                    return None;
                }
                self.awaited = *answer;
                (*len, ordinary)
            }
            Source::Frames(film) => {
                let part = film.part(self.given, self.in_picture)?;
                (part.len, (part.class, part.picture))
            }
            Source::Script(script) => {
                let message = script.get(usize::try_from(self.given).ok()?)?.1.clone();
                self.advance(due, now, 0);
                return Some(self.datagram(message, due, ordinary));
            }
        };
        self.advance(due, now, len);
        let message = self.message(due, len, class);
        Some(self.datagram(message, due, (class, picture)))
    }

    /// Lowers a constant rate to `bits_per_s`. Sources of other kinds, and slower ones, keep their rates.
    pub fn slow_to(&mut self, now: Instant, bits_per_s: u64) {
        let Source::Cbr { len, interval, .. } = &mut self.source else {
            return;
        };
        let rate = Rate::over(bits_per_s, Duration::from_secs(8));
        let slower = rate.time_for(*len as u64);
        if slower > *interval {
            *interval = slower;
            self.opened = now;
            self.base = self.given;
            self.next = self.next.map(|_| now + slower);
        }
    }

    /// Takes `bytes` that may belong to an answer.
    pub fn on_received(&mut self, now: Instant, bytes: usize) {
        if self.awaited == 0 || self.next.is_none() {
            return;
        }
        let Source::Requests { think, .. } = &self.source else {
            return;
        };
        self.awaited = self.awaited.saturating_sub(bytes);
        if self.awaited == 0 {
            let pause = think.draw(&mut self.stream);
            let is_last = self.given == self.count();
            self.next = (!is_last).then(|| now + pause);
        }
    }

    fn message(&self, made: Instant, len: usize, class: u8) -> Message {
        if !self.stamps {
            return Message::Zeros(len);
        }
        let stamp = Stamp {
            number: self.made,
            made,
            class,
        };
        Message::Bytes(stamp.datagram(len))
    }

    /// The class of the next datagram, unless it is part of a film.
    fn class(&self) -> u8 {
        let every = self.important_every;
        every.is_some_and(|n| self.made.is_multiple_of(n)).into()
    }

    /// The next datagram, with its class and the number of its picture.
    fn datagram(
        &mut self,
        message: Message,
        made: Instant,
        (class, picture): (u8, u64),
    ) -> Datagram {
        let number = self.made;
        self.made += 1;
        Datagram {
            message,
            number,
            made,
            class,
            picture,
        }
    }

    fn count(&self) -> u64 {
        match &self.source {
            Source::Silent => 0,
            Source::Bulk { count, .. }
            | Source::Cbr { count, .. }
            | Source::Poisson { count, .. }
            | Source::Requests { count, .. } => *count,
            Source::OnOff { .. } | Source::Sine { .. } => u64::MAX,
            Source::Frames(film) => film.count,
            Source::Script(script) => script.len() as u64,
        }
    }

    /// A datagram of `len` bytes, which was due then, is given now: when is the next one there?
    fn advance(&mut self, due: Instant, now: Instant, len: usize) {
        if let Source::Frames(film) = &self.source {
            self.in_picture += len;
            if film.part(self.given, self.in_picture).is_some() {
                return;
            }
            self.in_picture = 0;
        }
        self.given += 1;
        let next = match &self.source {
            Source::Silent => return,
            Source::Bulk { .. } => due,
            Source::Cbr { interval, .. } => self.nth(*interval),
            Source::Frames(film) => self.nth(film.interval),
            Source::Poisson { interval, .. } => {
                due + Spread::Exponential(*interval).draw(&mut self.stream)
            }
            Source::OnOff {
                interval, on, off, ..
            } => {
                let next = due + *interval;
                if next <= self.on_until {
                    next
                } else {
                    let begins = self.on_until + off.draw(&mut self.stream);
                    self.on_until = begins + on.draw(&mut self.stream);
                    begins
                }
            }
            Source::Sine {
                len,
                mean,
                swing,
                period,
            } => {
                let from = (due - self.opened).as_secs_f64();
                let wave = Wave::new(*mean, *swing, *period);
                self.opened + wave.when(self.given.saturating_mul(*len as u64), from)
            }
            Source::Requests { patience, .. } => now + *patience,
            Source::Script(script) => {
                let place = usize::try_from(self.given).unwrap_or(usize::MAX);
                self.next = script.get(place).map(|(after, _)| self.opened + *after);
                return;
            }
        };
        let waits_for_answer = matches!(self.source, Source::Requests { .. });
        self.next = (self.given < self.count() || waits_for_answer).then_some(next);
    }

    /// When the next one comes, of those that come at a constant interval.
    fn nth(&self, interval: Duration) -> Instant {
        let steps = self.given.saturating_sub(self.base);
        let ns = interval.as_nanos().saturating_mul(u128::from(steps));
        self.opened + Duration::from_nanos(u64::try_from(ns).unwrap_or(u64::MAX))
    }
}

/// A rate that swings, in bytes and seconds.
struct Wave {
    mean: f64,
    swing: f64,
    omega: f64,
}

impl Wave {
    fn new(mean: Rate, swing: Rate, period: Duration) -> Self {
        let mean = mean.bytes_per_s();
        Self {
            mean,
            swing: swing.bytes_per_s().min(mean),
            omega: TAU / period.as_secs_f64(),
        }
    }

    /// How many bytes the rate has let through by then.
    fn bytes_by(&self, t: f64) -> f64 {
        self.mean * t + self.swing / self.omega * (1.0 - libm::cos(self.omega * t))
    }

    /// When the wave has let `bytes` through; not before `from`.
    #[expect(
        clippy::cast_precision_loss,
        reason = "byte counts stay far below 2^53"
    )]
    fn when(&self, bytes: u64, from: f64) -> Duration {
        let bytes = bytes as f64;
        let (mut early, mut late) = (from, from);
        // The swing delays no byte by more than what it takes away in half a period.
        late += (bytes - self.bytes_by(from) + 2.0 * self.swing / self.omega).max(0.0) / self.mean;
        // Below a nanosecond after 2^-60 of the bracket.
        for _ in 0..60 {
            let middle = f64::midpoint(early, late);
            if self.bytes_by(middle) < bytes {
                early = middle;
            } else {
                late = middle;
            }
        }
        Duration::try_from_secs_f64(late).unwrap_or(Duration::MAX)
    }
}

#[cfg(test)]
mod tests;

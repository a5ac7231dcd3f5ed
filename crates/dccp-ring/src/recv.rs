//! Received datagrams on their way to the application.

use crate::bell::{self, Bell};
use crate::error::Violation;
use crate::lane::{Consumer, Lane, Producer};
use crate::layout::{ARRIVAL_WORDS, Control, Layout};
use crate::mem::Memory;
use std::sync::Arc;

/// The transport's data about a received datagram.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Arrival {
    /// When it arrived, in nanoseconds of the transport's clock.
    pub at_ns: u64,
    /// A word of the transport's choice; opaque to the ring.
    pub info: u64,
}

/// The result of a delivery.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Delivered {
    /// The datagram is in the ring.
    Yes,
    /// The ring has no free entry.
    Full,
    /// The datagram is longer than an entry.
    TooLong,
}

/// Puts received datagrams into the ring: the transport's side.
#[derive(Debug)]
pub struct Sink {
    memory: Memory,
    arrivals: Producer,
    bytes: u32,
    has_delivered: bool,
    app_bell: Arc<dyn Bell>,
}

/// Takes received datagrams out of the ring: the application's side.
#[derive(Debug)]
pub struct Receiver {
    memory: Memory,
    arrivals: Consumer,
    bytes: u32,
}

const fn lane(layout: &Layout) -> Lane {
    Lane {
        entries: layout.arrivals,
        filled: Control::ArrivalsFilled,
        taken: Control::ArrivalsTaken,
    }
}

impl Sink {
    pub(crate) fn new(memory: &Memory, layout: &Layout, app_bell: Arc<dyn Bell>) -> Self {
        Self {
            memory: memory.clone(),
            arrivals: Producer::new(lane(layout)),
            bytes: layout.arrivals.bytes,
            has_delivered: false,
            app_bell,
        }
    }

    /// Copies a datagram into the ring. The application sees it after [`flush`](Self::flush).
    ///
    /// # Errors
    /// When the application broke the rules.
    pub fn deliver(&mut self, data: &[u8], arrival: Arrival) -> Result<Delivered, Violation> {
        if data.len() > self.bytes as usize {
            return Ok(Delivered::TooLong);
        }
        let Some(at) = self.arrivals.free(&self.memory)? else {
            return Ok(Delivered::Full);
        };
        self.memory.set(at, data.len() as u64);
        self.memory.set(at + 1, arrival.at_ns);
        self.memory.set(at + 2, arrival.info);
        self.memory.write(at + ARRIVAL_WORDS, data);
        self.arrivals.advance();
        self.has_delivered = true;
        Ok(Delivered::Yes)
    }

    /// Datagrams that the application has not taken yet.
    pub fn waiting(&self) -> u32 {
        self.arrivals.not_taken(&self.memory)
    }

    /// Publishes the delivered datagrams and wakes the application if it waits. Call it once per batch.
    pub fn flush(&mut self) {
        if !core::mem::take(&mut self.has_delivered) {
            return;
        }
        self.arrivals.publish(&self.memory);
        let sleeper = self.memory.atomic(Control::WaitsForArrivals.at());
        bell::wake(sleeper, &*self.app_bell);
    }
}

impl Receiver {
    pub(crate) fn new(memory: &Memory, layout: &Layout) -> Self {
        Self {
            memory: memory.clone(),
            arrivals: Consumer::new(lane(layout)),
            bytes: layout.arrivals.bytes,
        }
    }

    /// Copies the oldest datagram into `buf`, truncated to its size, and returns the full length. Returns
    /// `None` if none waits, and always after the transport's process has taken the memory back.
    ///
    /// # Errors
    /// When the transport broke the rules.
    pub fn recv(&mut self, buf: &mut [u8]) -> Result<Option<(usize, Arrival)>, Violation> {
        self.adopt()?;
        let Some(at) = self.arrivals.next(&self.memory)? else {
            return Ok(None);
        };
        let len = self.memory.get(at);
        if len > self.bytes.into() {
            return Err(Violation::Length);
        }
        let len = usize::try_from(len).map_err(|_| Violation::Length)?;
        let arrival = Arrival {
            at_ns: self.memory.get(at + 1),
            info: self.memory.get(at + 2),
        };
        let fits = len.min(buf.len());
        self.memory.read(at + ARRIVAL_WORDS, &mut buf[..fits]);
        if !self.arrivals.advance(&self.memory) {
            return Ok(None);
        }
        self.arrivals.give_back(&self.memory);
        Ok(Some((len, arrival)))
    }

    /// Announces that the application sleeps: the transport then rings its bell for the next datagram.
    /// Returns `false` if one waits already: do not sleep.
    ///
    /// # Errors
    /// When the transport broke the rules.
    pub fn prepare_to_sleep(&mut self) -> Result<bool, Violation> {
        self.adopt()?;
        let sleeper = self.memory.atomic(Control::WaitsForArrivals.at());
        bell::announce_sleep(sleeper);
        let has_news = self.arrivals.next(&self.memory)?.is_some();
        if has_news {
            bell::cancel_sleep(sleeper);
        }
        Ok(!has_news)
    }

    /// Continues behind the datagrams that the application has taken from the memory itself.
    fn adopt(&mut self) -> Result<(), Violation> {
        if self.memory.is_direct() {
            self.arrivals.adopt(&self.memory)?;
        }
        Ok(())
    }
}

//! The layout of a ring's memory, in words of 8 bytes.
//!
//! ```text
//!  header      version and shape, written once
//!  control     one cache line pair for each word that changes, so that writes by one side do not
//!              slow reads of other words
//!  order       two words for each position of the sending lane      ─┐ atomic up to here
//!  slots       a header and data for each slot of the sending lane   ─┘
//!  fates       three words for each report
//!  arrivals    a header and data for each received datagram
//! ```
//!
//! Words have native byte order, because the memory never leaves the machine.

use crate::error::ShapeError;
use crate::index::{AppIndex, START, TransportIndex};
use crate::mem::{LINE, Memory};
use crate::slot::{HEADER_WORDS, PLACE_WORDS};

/// The capacities of a ring. All numbers of entries are powers of two.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Shape {
    /// Datagrams that can wait to be sent.
    pub slots: u32,
    /// The longest of them, in bytes.
    pub slot_bytes: u32,
    /// Fates that can wait to be read.
    pub fates: u32,
    /// Received datagrams that can wait to be read.
    pub arrivals: u32,
    /// The longest of them, in bytes.
    pub arrival_bytes: u32,
}

impl Shape {
    /// Equal numbers of slots in both directions, and four times that number for fates, up to the maximum:
    /// datagrams in flight also need an entry.
    pub const fn new(slots: u32, slot_bytes: u32) -> Self {
        let fates = slots.saturating_mul(4);
        Self {
            slots,
            slot_bytes,
            fates: if fates > ENTRIES_MAX {
                ENTRIES_MAX
            } else {
                fates
            },
            arrivals: slots,
            arrival_bytes: slot_bytes,
        }
    }

    /// The memory that the ring takes, in bytes.
    ///
    /// # Errors
    /// When the shape is invalid.
    pub fn bytes(&self) -> Result<u64, ShapeError> {
        let words = Layout::new(*self)?.words();
        Ok(words as u64 * size_of::<u64>() as u64)
    }

    /// Names of the ring's parts with their places in bytes, and the bytes from one entry to the next. Programs in other
    /// languages compare theirs with them.
    ///
    /// # Errors
    /// When the shape is invalid.
    #[doc(hidden)]
    pub fn parts(&self) -> Result<Vec<(&'static str, usize)>, ShapeError> {
        let layout = Layout::new(*self)?;
        let words = [
            ("app", Control::App.at()),
            ("transport", Control::Transport.at()),
            ("transport_sleeps", Control::TransportSleeps.at()),
            ("waits_for_room", Control::WaitsForRoom.at()),
            ("waits_for_fates", Control::WaitsForFates.at()),
            ("fates_filled", Control::FatesFilled.at()),
            ("fates_taken", Control::FatesTaken.at()),
            ("arrivals_filled", Control::ArrivalsFilled.at()),
            ("arrivals_taken", Control::ArrivalsTaken.at()),
            ("waits_for_arrivals", Control::WaitsForArrivals.at()),
            ("order", layout.order.start),
            ("slots", layout.slots.start),
            ("fates", layout.fates.start),
            ("arrivals", layout.arrivals.start),
            ("end", layout.words()),
            ("order_stride", layout.order.stride),
            ("slot_stride", layout.slots.stride),
            ("fate_stride", layout.fates.stride),
            ("arrival_stride", layout.arrivals.stride),
            ("slot_header", HEADER_WORDS),
            ("arrival_header", ARRIVAL_WORDS),
        ];
        Ok(words
            .map(|(name, word)| (name, word * size_of::<u64>()))
            .into())
    }

    fn check(&self) -> Result<(), ShapeError> {
        let entries = [
            ("slots", self.slots),
            ("fates", self.fates),
            ("arrivals", self.arrivals),
        ];
        for (field, n) in entries {
            if !n.is_power_of_two() || n > ENTRIES_MAX {
                let must_be = "a power of two, at most 65536";
                return Err(ShapeError { field, must_be });
            }
        }
        let lengths = [
            ("slot_bytes", self.slot_bytes),
            ("arrival_bytes", self.arrival_bytes),
        ];
        for (field, n) in lengths {
            if n > BYTES_MAX {
                let must_be = "at most 65535";
                return Err(ShapeError { field, must_be });
            }
        }
        Ok(())
    }
}

/// Maximum number of entries of a lane.
const ENTRIES_MAX: u32 = 1 << 16;
/// Maximum length of an entry: no IP datagram is longer.
const BYTES_MAX: u32 = 65535;

/// The words that change, each in a cache line pair of its own.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Control {
    /// `umod_i` and `user_i`: the application's.
    App,
    /// `kern_i` and `dev_i`: the transport's.
    Transport,
    /// The transport waits for datagrams to send.
    TransportSleeps,
    /// The application waits for room.
    WaitsForRoom,
    /// The application waits for fates.
    WaitsForFates,
    /// Fates written: the transport's. A second word counts those that found no room.
    FatesFilled,
    /// Fates read: the application's.
    FatesTaken,
    /// Received datagrams written: the transport's.
    ArrivalsFilled,
    /// Received datagrams read: the application's.
    ArrivalsTaken,
    /// The application waits for received datagrams.
    WaitsForArrivals,
}

const CONTROLS: usize = Control::WaitsForArrivals as usize + 1;

impl Control {
    /// Its word.
    pub(crate) const fn at(self) -> usize {
        Layout::HEADER + self as usize * LINE
    }
}

/// Entries of one length, one after the other.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Entries {
    start: usize,
    /// Words from one to the next.
    stride: usize,
    /// Number of entries, a power of two.
    pub(crate) count: u32,
    /// Bytes of data in each.
    pub(crate) bytes: u32,
}

impl Entries {
    /// `header` words and `bytes` in each.
    fn new(start: usize, count: u32, header: usize, bytes: u32, align: usize) -> Self {
        let stride = (header + (bytes as usize).div_ceil(8)).next_multiple_of(align);
        Self {
            start,
            stride,
            count,
            bytes,
        }
    }

    /// The first word of the entry for an index that wraps around.
    pub(crate) fn at(&self, index: u32) -> usize {
        self.start + (index & (self.count - 1)) as usize * self.stride
    }

    fn end(&self) -> usize {
        self.start + self.count as usize * self.stride
    }
}

/// The places of a ring's parts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Layout {
    pub(crate) order: Entries,
    pub(crate) slots: Entries,
    pub(crate) fates: Entries,
    pub(crate) arrivals: Entries,
}

/// Words of a report: tag, fate, time.
pub(crate) const REPORT_WORDS: usize = 3;
/// Words before the data of a received datagram: length, time, the transport's info.
pub(crate) const ARRIVAL_WORDS: usize = 3;

impl Layout {
    /// Words before everything else.
    pub(crate) const HEADER: usize = if LINE > 8 { LINE } else { 8 };

    pub(crate) fn new(shape: Shape) -> Result<Self, ShapeError> {
        shape.check()?;
        // Half a line of 128 bytes is one of 64.
        let line = LINE.div_ceil(2);
        let order = Entries::new(
            Control::at(Control::App) + CONTROLS * LINE,
            shape.slots,
            PLACE_WORDS,
            0,
            1,
        );
        let start = order.end().next_multiple_of(line);
        let slots = Entries::new(start, shape.slots, HEADER_WORDS, shape.slot_bytes, line);
        let fates = Entries::new(slots.end(), shape.fates, REPORT_WORDS, 0, 1);
        let start = fates.end().next_multiple_of(line);
        let arrivals = Entries::new(
            start,
            shape.arrivals,
            ARRIVAL_WORDS,
            shape.arrival_bytes,
            line,
        );
        Ok(Self {
            order,
            slots,
            fates,
            arrivals,
        })
    }

    /// Words before the entries: header, control words and order, which both sides access atomically.
    pub(crate) fn atomic_words(&self) -> usize {
        self.slots.at(0)
    }

    /// Words of the entries.
    pub(crate) fn entry_words(&self) -> usize {
        self.words() - self.atomic_words()
    }

    /// Words of the whole ring.
    pub(crate) fn words(&self) -> usize {
        self.arrivals.end()
    }
}

/// Initial contents.
impl Layout {
    /// Writes the initial indexes.
    pub(crate) fn write_indexes(memory: &Memory) {
        let lanes = [
            Control::FatesFilled,
            Control::FatesTaken,
            Control::ArrivalsFilled,
            Control::ArrivalsTaken,
        ];
        let words = [
            (Control::App, AppIndex::START.word()),
            (Control::Transport, TransportIndex::START.word()),
        ];
        let words = words
            .into_iter()
            .chain(lanes.map(|lane| (lane, START.into())));
        for (control, word) in words {
            memory.publish(control.at(), word);
        }
    }
}

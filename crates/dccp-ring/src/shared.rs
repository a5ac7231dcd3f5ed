//! A ring between two processes, in memory that both have mapped.
//!
//! The process with the transport makes the ring and sends its descriptor to the other one, for
//! example over a Unix socket; that one attaches it.

use crate::bell::Bell;
use crate::error::{ShapeError, Violation};
use crate::layout::{Layout, Shape};
use crate::mem::shared::Mapping;
use crate::mem::{Memory, Ordering};
use crate::{App, Transport};
use core::fmt;
use std::error::Error;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

/// Why there is no shared ring.
#[derive(Debug)]
pub enum SharedError {
    /// The ring cannot have this shape.
    Shape(ShapeError),
    /// The system gives no memory, or the descriptor is not that of a sealed file.
    Memory(io::Error),
    /// What was attached is no ring of this version.
    NoRing(Violation),
    /// Somebody has attached the ring before: it has one application.
    Taken,
}

impl fmt::Display for SharedError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Shape(error) => error.fmt(f),
            Self::Memory(error) => write!(f, "no memory for a ring: {error}"),
            Self::NoRing(_) => f.write_str("the memory holds no ring of this version"),
            Self::Taken => f.write_str("the ring has been attached before"),
        }
    }
}

impl Error for SharedError {}

impl From<io::Error> for SharedError {
    fn from(error: io::Error) -> Self {
        Self::Memory(error)
    }
}

/// Makes a ring: the transport's side of it, and the descriptor for the application's process.
///
/// # Errors
/// When the shape cannot be, or the system has no memory.
pub fn create(shape: Shape, app_bell: Arc<dyn Bell>) -> Result<(Transport, OwnedFd), SharedError> {
    let layout = Layout::new(shape).map_err(SharedError::Shape)?;
    let (mapping, fd) = Mapping::create(layout.words())?;
    let memory = Memory::shared(mapping);
    Layout::write_indexes(&memory);
    for (at, word) in (0..).zip(header(&shape)) {
        memory.atomic(at).store(word, Ordering::Relaxed);
    }
    Ok((Transport::new(&memory, &layout, app_bell), fd))
}

/// The application's side of a ring that another process has made. A ring has one such side, ever: a second
/// one would confuse the first, though not the transport.
///
/// # Errors
/// When the descriptor is not that of a ring, or the ring has its application.
pub fn attach(fd: impl AsFd, transport_bell: Arc<dyn Bell>) -> Result<App, SharedError> {
    let mapping = Mapping::attach(fd.as_fd())?;
    let words = mapping.words().len();
    if words < Layout::HEADER {
        return Err(SharedError::NoRing(Violation::Length));
    }
    let memory = Memory::shared(mapping);
    let layout = read_header(&memory).map_err(SharedError::NoRing)?;
    if layout.words() > words {
        return Err(SharedError::NoRing(Violation::Length));
    }
    // Against mistakes only: who is hostile has the memory anyway.
    if memory.atomic(TAKEN).swap(1, Ordering::Relaxed) != 0 {
        return Err(SharedError::Taken);
    }
    Ok(App::new(&memory, &layout, transport_bell))
}

/// The first word of the memory: a name, and the version of the layout.
const MAGIC: u64 = u64::from_be_bytes(*b"DCCPRN\0\x01");

/// The word behind the header: not zero once an application has attached the ring.
const TAKEN: usize = 6;

/// What the memory says about itself.
fn header(shape: &Shape) -> [u64; TAKEN] {
    [
        MAGIC,
        shape.slots.into(),
        shape.slot_bytes.into(),
        shape.fates.into(),
        shape.arrivals.into(),
        shape.arrival_bytes.into(),
    ]
}

/// Reads the header of a ring that somebody else made.
fn read_header(memory: &Memory) -> Result<Layout, Violation> {
    let words = core::array::from_fn(|at| memory.atomic(at).load(Ordering::Relaxed));
    let [_, slots, slot_bytes, fates, arrivals, arrival_bytes] =
        words.map(|word| u32::try_from(word).unwrap_or(u32::MAX));
    let shape = Shape {
        slots,
        slot_bytes,
        fates,
        arrivals,
        arrival_bytes,
    };
    if words != header(&shape) {
        return Err(Violation::Index);
    }
    Layout::new(shape).map_err(|_| Violation::Length)
}

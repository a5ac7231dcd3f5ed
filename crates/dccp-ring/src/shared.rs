//! A ring between two processes, in memory that both map.
//!
//! The transport's process creates the ring and passes its descriptor to the other process, for example
//! over a Unix socket. The other process attaches it.

use crate::bell::Bell;
use crate::error::{ShapeError, Violation};
use crate::layout::{Layout, Shape};
use crate::mem::{Memory, Ordering};
use crate::{App, Transport};
use core::fmt;
use std::error::Error;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

pub use crate::mem::shared::Mapping;
pub use crate::words::{read_words, write_words};

/// Why a shared ring could not be created or attached.
#[derive(Debug)]
pub enum SharedError {
    /// The shape is invalid.
    Shape(ShapeError),
    /// The system has no memory left, or the descriptor is not a sealed file.
    Memory(io::Error),
    /// The memory is not a ring of this version.
    NoRing(Violation),
    /// The ring has been attached before; it takes one application.
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

impl Error for SharedError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Shape(error) => Some(error),
            Self::Memory(error) => Some(error),
            Self::NoRing(error) => Some(error),
            Self::Taken => None,
        }
    }
}

impl From<io::Error> for SharedError {
    fn from(error: io::Error) -> Self {
        Self::Memory(error)
    }
}

/// Creates a ring. Returns the transport's side and the descriptor for the application's process.
///
/// # Errors
/// When the shape is invalid, or the system has no memory.
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

/// Attaches a ring that another process has created and returns the application's side. A ring is attached
/// once: a second application would confuse the first, though not the transport.
///
/// # Errors
/// When the descriptor is not a ring, or the ring has been attached before.
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
    // This prevents mistakes only: a hostile process has the memory anyway.
    if memory.atomic(TAKEN).swap(1, Ordering::Relaxed) != 0 {
        return Err(SharedError::Taken);
    }
    Ok(App::new(&memory, &layout, transport_bell))
}

/// The first word of the memory: a name, and the version of the layout.
const MAGIC: u64 = u64::from_be_bytes(*b"DCCPRN\0\x02");

/// The word behind the header; not zero once an application has attached the ring.
const TAKEN: usize = 6;

/// The header of a ring with this shape.
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

/// Reads and checks the header of a ring that another process created.
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

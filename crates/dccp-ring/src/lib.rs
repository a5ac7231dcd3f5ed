//! Packet rings between an application and a transport. Datagrams that wait to leave can still be
//! revised, withdrawn and reordered, without a system call and without a lock.
//!
//! ```
//! use dccp_ring::{Label, Look, Shape, in_process, silent};
//!
//! let shape = Shape::new(4, 1500);
//! let (mut app, mut transport) = in_process(shape, silent(), silent())?;
//! let old = app.sender.push(b"position 1", Label::default())?;
//! app.sender.push(b"chat", Label::default())?;
//! // Nothing has left yet: it is not too late to say something newer.
//! app.sender.revise(old.ticket, b"position 2", Label::default())?;
//!
//! let mut packet = [0; 1500];
//! let Look::Offer { len } = transport.source.look(0)? else { panic!("two wait") };
//! transport.source.claim_into(&mut packet[..len])?;
//! assert_eq!(&packet[..len], b"position 2");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The memory of a ring belongs to one process ([`in_process`]) or is shared by two (`shared`, on
//! Linux). It holds three lanes, each with one producer and one consumer:
//!
//! | lane | from | to | here |
//! |---|---|---|---|
//! | datagrams to send | [`Sender`] | [`Source`] | ordered by the application until they are claimed |
//! | fates | [`Source`] | [`Sender`] | in batches, with time stamps |
//! | received datagrams | [`Sink`] | [`Receiver`] | in the order of arrival |
//!
//! Neither side trusts the other. Each word of the other side is read once, checked, and only then
//! used; an invalid one is a [`Violation`]. No side sees a reference into the memory: bytes are
//! copied in and copied out. `docs/ring.md` describes the layout, the states and the memory ordering.
//!
//! Nothing is allocated after a ring has been made.

mod app;
mod bell;
mod error;
mod index;
mod lane;
mod layout;
mod mem;
mod recv;
#[cfg(target_os = "linux")]
pub mod shared;
mod slot;
mod transport;
mod words;

pub use app::{Batch, Held, Pushed, Sender, Ticket};
pub use bell::{Bell, silent};
pub use error::{ChangeError, PushError, ShapeError, Violation};
pub use layout::Shape;
pub use recv::{Arrival, Delivered, Receiver, Sink};
pub use slot::Label;
pub use transport::{Claimed, Look, Report, Source};

use layout::Layout;
use mem::Memory;
use std::sync::Arc;

#[cfg(test)]
mod tests;

/// The application's side of a ring. Its parts may be on different threads.
#[derive(Debug)]
pub struct App {
    /// Pushes datagrams and reads their fates.
    pub sender: Sender,
    /// Takes received datagrams.
    pub receiver: Receiver,
}

/// The transport's side of a ring.
#[derive(Debug)]
pub struct Transport {
    /// Claims datagrams that may leave and reports their fates.
    pub source: Source,
    /// Delivers received datagrams.
    pub sink: Sink,
}

/// Creates a ring whose sides are in one process. Each side rings the other's bell when that side sleeps.
///
/// # Errors
/// When the shape is invalid.
pub fn in_process(
    shape: Shape,
    app_bell: Arc<dyn Bell>,
    transport_bell: Arc<dyn Bell>,
) -> Result<(App, Transport), ShapeError> {
    let layout = Layout::new(shape)?;
    let memory = Memory::plain(layout.atomic_words(), layout.entry_words());
    Layout::write_indexes(&memory);
    let app = App::new(&memory, &layout, transport_bell);
    Ok((app, Transport::new(&memory, &layout, app_bell)))
}

impl App {
    fn new(memory: &Memory, layout: &Layout, transport_bell: Arc<dyn Bell>) -> Self {
        Self {
            sender: Sender::new(memory, layout, transport_bell),
            receiver: Receiver::new(memory, layout),
        }
    }
}

impl Transport {
    fn new(memory: &Memory, layout: &Layout, app_bell: Arc<dyn Bell>) -> Self {
        Self {
            source: Source::new(memory, layout, app_bell.clone()),
            sink: Sink::new(memory, layout, app_bell),
        }
    }
}

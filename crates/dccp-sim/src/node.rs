//! Nodes: the machines attached to the network.

pub use crate::ids::NodeId;

use crate::frame::FrameId;
use crate::net::Context;
use core::any::Any;

/// A machine in the network.
///
/// A frame that is given to a node is its own: it must [`deliver`](Context::deliver),
/// [`lose`](Context::lose) or [pass it on](Context::pass_on), or keep its number for later.
pub trait Node: Any {
    /// A frame arrived.
    fn on_frame(&mut self, context: &mut Context<'_>, frame: FrameId);

    /// The wake-up scheduled with [`Context::wake_at`] is due.
    fn on_wake(&mut self, _context: &mut Context<'_>) {}

    /// Checks the invariants of the node. Called after its events.
    ///
    /// # Errors
    /// The broken invariant.
    fn check(&self) -> Result<(), String> {
        Ok(())
    }
}

/// A machine that passes frames on by the shortest way, and has no address of its own.
#[derive(Clone, Copy, Debug, Default)]
pub struct Router;

impl Node for Router {
    fn on_frame(&mut self, context: &mut Context<'_>, frame: FrameId) {
        context.pass_on(frame);
    }
}

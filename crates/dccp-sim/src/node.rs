//! What can be attached to the network.

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

    /// The moment has come that the node asked for with [`Context::wake_at`].
    fn on_wake(&mut self, _context: &mut Context<'_>) {}

    /// Looks for broken promises inside the node. Called after everything that happens to it.
    ///
    /// # Errors
    /// What is wrong.
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

//! Sorting errors by the party that can mend them.

/// The party that can mend an error.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum Fault {
    /// The calling program: the call cannot work as it was made.
    Caller,
    /// The peer, or the network on the way to it.
    Peer,
    /// This computer.
    System,
}

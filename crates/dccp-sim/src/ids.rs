//! The names of nodes and links.

/// Names a node of a world.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct NodeId(pub(crate) u32);

impl NodeId {
    pub(crate) const fn index(self) -> usize {
        self.0 as usize
    }
}

/// Names one direction of a link.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct LinkId(pub(crate) u32);

impl LinkId {
    #[expect(
        clippy::cast_possible_truncation,
        reason = "memory ends before 2^31 links"
    )]
    pub(crate) const fn of(index: usize) -> Self {
        Self(index as u32)
    }

    pub(crate) const fn index(self) -> usize {
        self.0 as usize
    }
}

//! Reads Ack Vector and Data Dropped options as runs of packets, newest first
//! (RFC 4340 §11.4, §11.7).

use crate::wire::{AckCell, AckState, DropBlock, DropCode, Opt, Options};
use core::ops::Range;

/// No cell and no block covers more packets.
const RUN_MAX: u64 = DropBlock::NORMAL_LEN_MAX as u64;

/// Whether an acknowledgement has options of a sort, and whether they can be true.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Validity {
    Absent,
    Valid,
    /// They reach below the first packet of the connection.
    Invalid,
}

/// The reports in the options of an acknowledgement of the packet at position `newest`. Several
/// options of a sort continue one another.
#[derive(Clone, Copy)]
pub(super) struct Reports<'a> {
    options: Options<'a>,
    newest: u64,
}

impl<'a> Reports<'a> {
    pub(super) const fn new(options: Options<'a>, newest: u64) -> Self {
        Self { options, newest }
    }

    /// Whether there are Ack Vectors (4340-11.4-4).
    pub(super) fn vector(&self) -> Validity {
        self.validity(self.cells().map(|cell| cell.len))
    }

    /// Whether there are Data Dropped options (4340-11.7-7).
    pub(super) fn drops(&self) -> Validity {
        self.validity(self.blocks().map(|block| block.len))
    }

    /// The positions that each cell of the vectors covers, with their state.
    pub(super) fn vector_runs(&self) -> impl Iterator<Item = (Range<u64>, AckState)> + use<'a> {
        runs(self.newest, self.cells().map(|cell| (cell.state, cell.len)))
    }

    /// The positions that each block covers, with their Drop Code; none in Normal Blocks.
    pub(super) fn drop_runs(
        &self,
    ) -> impl Iterator<Item = (Range<u64>, Option<DropCode>)> + use<'a> {
        runs(
            self.newest,
            self.blocks().map(|block| (block.code, block.len)),
        )
    }

    fn cells(&self) -> impl Iterator<Item = AckCell> + Clone + use<'a> {
        let cells = |option| match option {
            Opt::AckVector { cells, .. } => Some(cells),
            _ => None,
        };
        let bytes = self.options.iter().filter_map(cells).flatten();
        bytes.map(|&byte| AckCell::from_byte(byte))
    }

    fn blocks(&self) -> impl Iterator<Item = DropBlock> + Clone + use<'a> {
        let blocks = |option| match option {
            Opt::DataDropped(blocks) => Some(blocks),
            _ => None,
        };
        let bytes = self.options.iter().filter_map(blocks).flatten();
        bytes.map(|&byte| DropBlock::from_byte(byte))
    }

    fn validity(&self, lengths: impl Iterator<Item = u8> + Clone) -> Validity {
        let packets = self.newest.saturating_add(1);
        let count = lengths.clone().count() as u64;
        if count == 0 {
            Validity::Absent
        } else if count * RUN_MAX <= packets || lengths.map(u64::from).sum::<u64>() <= packets {
            // Only while the connection is young is the sum formed.
            Validity::Valid
        } else {
            Validity::Invalid
        }
    }
}

fn runs<T>(
    newest: u64,
    lengths: impl Iterator<Item = (T, u8)>,
) -> impl Iterator<Item = (Range<u64>, T)> {
    lengths.scan(newest.saturating_add(1), |end, (said, length)| {
        let run = end.saturating_sub(u64::from(length))..*end;
        *end = run.start;
        Some((run, said))
    })
}

/// Finds the Drop Codes of packets in one pass over the blocks. Requests go from new to old packets.
pub(super) struct DropCursor<I> {
    runs: I,
    /// All packets down to here were requested or are in the current run.
    start: u64,
    code: Option<DropCode>,
}

impl<I: Iterator<Item = (Range<u64>, Option<DropCode>)>> DropCursor<I> {
    pub(super) fn new(runs: I) -> Self {
        Self {
            runs,
            start: u64::MAX,
            code: None,
        }
    }

    /// The Drop Code of the packet at `pos`; none where no block covers it (4340-11.7-3).
    pub(super) fn code_of(&mut self, pos: u64) -> Option<DropCode> {
        while pos < self.start {
            (self.start, self.code) = match self.runs.next() {
                Some((run, code)) => (run.start, code),
                None => (0, None),
            };
        }
        self.code
    }
}

//! What Ack Vector and Data Dropped options say, as runs of packets, newest first
//! (RFC 4340 §11.4, §11.7).

use crate::wire::{Opt, Options};
use core::ops::Range;

/// The low bits of an Ack Vector cell: its run length less one.
const CELL_RUN: u8 = 0x3f;
/// The low bits of a Normal Block: its run length less one.
const NORMAL_RUN: u8 = 0x7f;
/// The low bits of a Drop Block: its run length less one.
const DROP_RUN: u8 = 0x0f;
/// The high bit of a Drop Block.
const IS_DROP: u8 = 0x80;

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
        self.validity(self.cells().map(cell_run))
    }

    /// Whether there are Data Dropped options (4340-11.7-7).
    pub(super) fn drops(&self) -> Validity {
        self.validity(self.blocks().map(block_run))
    }

    /// The positions that each cell of the vectors covers, with its state (0–3).
    pub(super) fn vector_runs(&self) -> impl Iterator<Item = (Range<u64>, u8)> + use<'a> {
        runs(self.newest, self.cells().map(|c| (cell_run(c), c >> 6)))
    }

    /// The positions that each block covers, with its Drop Code; none for Normal Blocks.
    pub(super) fn drop_runs(&self) -> impl Iterator<Item = (Range<u64>, Option<u8>)> + use<'a> {
        let code = |b: u8| (b & IS_DROP != 0).then_some(b >> 4 & 7);
        runs(
            self.newest,
            self.blocks().map(move |b| (block_run(b), code(b))),
        )
    }

    fn cells(&self) -> impl Iterator<Item = u8> + Clone + use<'a> {
        let cells = |o| match o {
            Opt::AckVector { cells, .. } => Some(cells),
            _ => None,
        };
        self.options.iter().filter_map(cells).flatten().copied()
    }

    fn blocks(&self) -> impl Iterator<Item = u8> + Clone + use<'a> {
        let blocks = |o| match o {
            Opt::DataDropped(blocks) => Some(blocks),
            _ => None,
        };
        self.options.iter().filter_map(blocks).flatten().copied()
    }

    fn validity(&self, runs: impl Iterator<Item = u64> + Clone) -> Validity {
        let packets = self.newest.saturating_add(1);
        let count = runs.clone().count() as u64;
        if count == 0 {
            Validity::Absent
        } else if count * LONGEST_RUN <= packets || runs.sum::<u64>() <= packets {
            // The sum is formed only while the connection is young.
            Validity::Valid
        } else {
            Validity::Invalid
        }
    }
}

/// The longest run of a cell or block.
const LONGEST_RUN: u64 = NORMAL_RUN as u64 + 1;

fn cell_run(cell: u8) -> u64 {
    u64::from(cell & CELL_RUN) + 1
}

fn block_run(block: u8) -> u64 {
    let mask = if block & IS_DROP != 0 {
        DROP_RUN
    } else {
        NORMAL_RUN
    };
    u64::from(block & mask) + 1
}

fn runs<T>(
    newest: u64,
    lengths: impl Iterator<Item = (u64, T)>,
) -> impl Iterator<Item = (Range<u64>, T)> {
    lengths.scan(newest.saturating_add(1), |end, (length, what)| {
        let run = end.saturating_sub(length)..*end;
        *end = run.start;
        Some((run, what))
    })
}

/// Finds the Drop Codes of packets asked for from new to old, in one pass over the blocks.
pub(super) struct DropCursor<I> {
    runs: I,
    /// Everything down to here has been asked for or lies in the current run.
    start: u64,
    code: Option<u8>,
}

impl<I: Iterator<Item = (Range<u64>, Option<u8>)>> DropCursor<I> {
    pub(super) fn new(runs: I) -> Self {
        Self {
            runs,
            start: u64::MAX,
            code: None,
        }
    }

    /// The Drop Code of the packet at `pos`; none where no block covers it (4340-11.7-3).
    pub(super) fn code_of(&mut self, pos: u64) -> Option<u8> {
        while pos < self.start {
            (self.start, self.code) = match self.runs.next() {
                Some((run, code)) => (run.start, code),
                None => (0, None),
            };
        }
        self.code
    }
}

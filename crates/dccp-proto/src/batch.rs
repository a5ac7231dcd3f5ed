//! Packets that leave together: one GSO batch.

use crate::path::Path;
use crate::time::Instant;
use crate::wire::{Datagram, Ecn, OptionWriter};
use core::ops::Range;

/// Datagrams for one peer with one ECN mark, all of one length except that the last may be
/// shorter: what a single call can hand to the kernel.
///
/// Datagrams stand one after the other in one buffer, DCCP header first. In a simulation trailing
/// zeros are counted and not stored; on a socket they are written out.
#[derive(Clone, Debug)]
pub struct Batch {
    /// Those in use, and behind them what earlier datagrams have left: memory that need not be zeroed again.
    bytes: Vec<u8>,
    used: usize,
    /// Where datagrams are built whose length is not known before.
    scratch: Vec<u8>,
    /// For the options of the datagram that is being built.
    option_memory: Vec<u8>,
    segments: Vec<Segment>,
    /// Length of each datagram but the last, and of the last; asked for each that joins.
    segment_len: usize,
    last_len: usize,
    destination: Option<(Path, Ecn)>,
    scheduled: Option<Instant>,
    segments_max: usize,
    bytes_max: usize,
    keeps_zeros: bool,
    may_fragment: bool,
}

#[derive(Clone, Copy, Debug)]
struct Segment {
    end: usize,
    zeros: usize,
}

impl Batch {
    /// An empty batch for a socket: at most `segments_max` datagrams and 65,000 bytes.
    pub fn new(segments_max: usize) -> Self {
        Self {
            bytes: Vec::new(),
            used: 0,
            scratch: Vec::new(),
            option_memory: Vec::new(),
            segments: Vec::new(),
            segment_len: 0,
            last_len: 0,
            destination: None,
            scheduled: None,
            segments_max: segments_max.max(1),
            bytes_max: 65_000,
            keeps_zeros: false,
            may_fragment: false,
        }
    }

    /// An empty batch for a simulation: zeros are counted, not stored.
    pub fn for_simulation(segments_max: usize) -> Self {
        Self {
            keeps_zeros: true,
            ..Self::new(segments_max)
        }
    }

    /// Changes how many datagrams it takes. It must be empty.
    pub fn set_segments_max(&mut self, segments_max: usize) {
        debug_assert!(self.is_empty(), "the batch is in use");
        self.segments_max = segments_max;
    }

    /// A writer of options with memory that is to be [given back](Self::keep_option_memory), so that no packet needs
    /// an allocation.
    pub(crate) fn option_writer(&mut self, limit: usize) -> OptionWriter {
        OptionWriter::with_memory(core::mem::take(&mut self.option_memory), limit)
    }

    pub(crate) fn keep_option_memory(&mut self, options: OptionWriter) {
        self.option_memory = options.into_memory();
    }

    /// How many datagrams of `len` bytes it takes when it is empty: one at least.
    pub fn room_for(&self, len: usize) -> usize {
        self.segments_max.min(self.bytes_max / len.max(1)).max(1)
    }

    /// Forgets the datagrams, keeps the memory.
    pub fn clear(&mut self) {
        self.used = 0;
        self.segments.clear();
        self.segment_len = 0;
        self.last_len = 0;
        self.destination = None;
        self.scheduled = None;
        self.may_fragment = false;
    }

    /// Whether there is no datagram.
    pub fn is_empty(&self) -> bool {
        self.segments.is_empty()
    }

    /// How many datagrams there are.
    pub fn len(&self) -> usize {
        self.segments.len()
    }

    /// Where the batch goes and its ECN mark; `None` while empty.
    pub fn destination(&self) -> Option<(&Path, Ecn)> {
        self.destination.as_ref().map(|(path, ecn)| (path, *ecn))
    }

    /// The moment for which its first datagram had to wait, the pacer's mostly: what it leaves later is lateness of
    /// the caller, his timers and his computer. `None` if it waited for something else, or for nothing.
    pub fn scheduled(&self) -> Option<Instant> {
        self.scheduled
    }

    /// A datagram in it had waited for this moment; the first counts.
    pub(crate) fn schedule(&mut self, at: Instant) {
        self.scheduled.get_or_insert(at);
    }

    /// Whether routers may fragment the datagrams (4340-14.2-1).
    pub fn may_fragment(&self) -> bool {
        self.may_fragment
    }

    /// All bytes, datagram after datagram. Complete only for a socket's batch.
    pub fn bytes(&self) -> &[u8] {
        self.bytes.get(..self.used).unwrap_or_default()
    }

    /// Length of each datagram but the last; 0 while empty.
    pub fn segment_len(&self) -> usize {
        self.segment_len
    }

    /// The datagrams in order.
    pub fn datagrams(&self) -> impl Iterator<Item = Datagram<'_>> {
        let mut start = 0;
        self.segments.iter().map(move |s| {
            let bytes = self.bytes.get(start..s.end).unwrap_or_default();
            start = s.end;
            Datagram {
                bytes,
                zeros: s.zeros,
            }
        })
    }

    /// Whether a datagram of `len` bytes for the same peer can join without breaking the rules of a batch.
    pub fn fits(&self, ecn: Ecn, len: usize, may_fragment: bool) -> bool {
        let Some((_, ecn_before)) = self.destination else {
            return true;
        };
        let size = self.segment_len;
        ecn == ecn_before
            && self.may_fragment == may_fragment
            && self.segments.len() < self.segments_max
            && len <= size
            && self.last_len == size
            && (self.segments.len() + 1) * size <= self.bytes_max
    }

    /// Appends a datagram that routers may not fragment, for which [`fits`](Self::fits) was asked before: `write`
    /// fills its place of `len` bytes, all of them, for there are bytes of earlier datagrams; `zeros` bytes of value
    /// zero follow (stored or counted). If `write` returns `false`, nothing is appended. Returns what `write`
    /// returned.
    pub fn push(
        &mut self,
        path: &Path,
        ecn: Ecn,
        len: usize,
        zeros: usize,
        write: impl FnOnce(&mut [u8]) -> bool,
    ) -> bool {
        let is_written = write(self.place(len));
        if is_written {
            self.append(path, ecn, false, (len, zeros));
        }
        is_written
    }

    /// As [`push`](Self::push), for a datagram whose length is not known before: `write` appends its bytes to the
    /// buffer.
    pub fn push_built(
        &mut self,
        path: &Path,
        ecn: Ecn,
        may_fragment: bool,
        zeros: usize,
        write: impl FnOnce(&mut Vec<u8>) -> bool,
    ) -> bool {
        let mut built = core::mem::take(&mut self.scratch);
        built.clear();
        let is_written = write(&mut built);
        if is_written {
            self.place(built.len()).copy_from_slice(&built);
            self.append(path, ecn, may_fragment, (built.len(), zeros));
        }
        self.scratch = built;
        is_written
    }

    /// Where the first `len` bytes of the last datagram are.
    pub(crate) fn last_head(&self, len: usize) -> Range<usize> {
        let before = self.segments.len().checked_sub(2);
        let before = before.and_then(|i| self.segments.get(i));
        let start = before.map_or(0, |s| s.end);
        start..start + len
    }

    /// As [`push`](Self::push), to the same peer and as long as the others; its place begins with the `head` of one
    /// of them.
    #[inline]
    pub(crate) fn push_alike(
        &mut self,
        head: Range<usize>,
        len: usize,
        zeros: usize,
        write: impl FnOnce(&mut [u8]) -> bool,
    ) -> bool {
        debug_assert_eq!(len + zeros, self.segment_len, "as long as the others");
        let place = self.used;
        self.place(len);
        self.bytes.copy_within(head, place);
        let is_written = write(self.place(len));
        if is_written {
            self.take(len, zeros);
        }
        is_written
    }

    /// The next `len` bytes, whatever they hold.
    fn place(&mut self, len: usize) -> &mut [u8] {
        let end = self.used + len;
        if self.bytes.len() < end {
            self.bytes.resize(end.next_power_of_two(), 0);
        }
        self.bytes.get_mut(self.used..end).unwrap_or_default()
    }

    /// The place's bytes are a datagram for this peer, with so many zeros behind it.
    fn append(&mut self, path: &Path, ecn: Ecn, may_fragment: bool, (len, zeros): (usize, usize)) {
        debug_assert!(
            self.destination.is_none_or(|(before, _)| before == *path),
            "one peer"
        );
        self.take(len, zeros);
        if self.destination.is_none() {
            self.segment_len = self.last_len;
            self.destination = Some((*path, ecn));
            self.may_fragment = may_fragment;
        }
    }

    /// The next `len` bytes are a datagram, with so many zeros behind it.
    #[inline]
    fn take(&mut self, len: usize, zeros: usize) {
        self.used += len;
        self.last_len = len + zeros;
        let zeros = if self.keeps_zeros || zeros == 0 {
            zeros
        } else {
            self.place(zeros).fill(0);
            self.used += zeros;
            0
        };
        self.segments.push(Segment {
            end: self.used,
            zeros,
        });
    }

    /// Length of the last datagram in bytes; 0 while empty.
    pub fn last_len(&self) -> usize {
        self.last_len
    }
}

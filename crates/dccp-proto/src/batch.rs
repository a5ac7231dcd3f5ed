//! Packets that leave together: one GSO batch.

use crate::path::Path;
use crate::time::Instant;
use crate::wire::{Datagram, Ecn, OptionWriter};

/// Datagrams for one peer with one ECN mark. All have one length, but the last may be shorter: a
/// single system call can send them.
///
/// Datagrams stand one after the other in one buffer, each beginning with its DCCP header. A
/// simulation counts trailing zeros and does not store them; a socket's batch stores them.
#[derive(Clone, Debug)]
pub struct Batch {
    /// The first `used` bytes are datagrams. The others come from earlier batches; they are kept,
    /// because new memory would have to be zeroed.
    bytes: Vec<u8>,
    used: usize,
    /// A datagram or a header that is being built.
    scratch: Vec<u8>,
    /// The options of the packet that is being built.
    option_memory: Vec<u8>,
    segments: Vec<Segment>,
    /// Length of each datagram but the last.
    segment_len: usize,
    /// Length of the last datagram.
    last_len: usize,
    destination: Option<(Path, Ecn)>,
    scheduled: Option<Instant>,
    segments_max: usize,
    /// Datagrams that the congestion controller permits in this batch.
    permitted: usize,
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
            permitted: usize::MAX,
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

    /// Changes how many datagrams fit. The batch must be empty.
    pub fn set_segments_max(&mut self, segments_max: usize) {
        debug_assert!(self.is_empty(), "the batch is in use");
        self.segments_max = segments_max;
    }

    /// Returns a writer of options that uses memory of the batch, so that no packet allocates.
    /// [`keep_option_memory`](Self::keep_option_memory) gives the memory back.
    pub(crate) fn option_writer(&mut self, limit: usize) -> OptionWriter {
        OptionWriter::with_memory(core::mem::take(&mut self.option_memory), limit)
    }

    pub(crate) fn keep_option_memory(&mut self, options: OptionWriter) {
        self.option_memory = options.into_memory();
    }

    /// Returns `len` bytes for a header, with any content.
    /// [`keep_header_memory`](Self::keep_header_memory) gives them back.
    pub(crate) fn header_memory(&mut self, len: usize) -> Vec<u8> {
        let mut header = core::mem::take(&mut self.scratch);
        header.resize(len, 0);
        header
    }

    pub(crate) fn keep_header_memory(&mut self, header: Vec<u8>) {
        self.scratch = header;
    }

    /// Limits the datagrams of this batch, until it is cleared, to what the congestion controller
    /// permits.
    pub(crate) fn permit(&mut self, datagrams: usize) {
        self.permitted = datagrams;
    }

    /// Whether nothing can join.
    pub(crate) fn is_full(&self) -> bool {
        !self.is_empty() && self.segments.len() >= self.permitted.min(self.segments_max)
    }

    /// Returns how many datagrams of `len` bytes for the same peer can join. The rules of a batch
    /// are: one ECN mark, one length but for the last datagram, which may be shorter, and no
    /// fragmentation. An empty batch has room for one datagram of any length.
    pub fn room_for(&self, ecn: Ecn, len: usize) -> usize {
        let datagrams_max = self.segments_max.min(self.permitted);
        let Some((_, ecn_before)) = self.destination else {
            return datagrams_max.min(self.bytes_max / len.max(1)).max(1);
        };
        let size = self.segment_len;
        if ecn != ecn_before || self.may_fragment || len > size || self.last_len != size {
            return 0;
        }
        let most = datagrams_max.min(self.bytes_max / size.max(1));
        let room = most.saturating_sub(self.segments.len());
        if len < size { room.min(1) } else { room }
    }

    /// Forgets the datagrams, keeps the memory.
    pub fn clear(&mut self) {
        self.used = 0;
        self.segments.clear();
        self.segment_len = 0;
        self.last_len = 0;
        self.destination = None;
        self.scheduled = None;
        self.permitted = usize::MAX;
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

    /// Returns the time for which its first datagram was scheduled, mostly by the pacer. A later
    /// departure is lateness of the caller and its timers. `None` if it was not scheduled.
    pub fn scheduled(&self) -> Option<Instant> {
        self.scheduled
    }

    /// Notes the time for which a datagram of the batch was scheduled. The first call counts.
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

    /// Appends a datagram that routers may not fragment. [`room_for`](Self::room_for) said that it
    /// can join. `write` fills all of its `len` bytes, because they hold bytes of earlier
    /// datagrams. `zeros` zero bytes follow, stored or counted. If `write` returns `false`, nothing
    /// is appended. Returns what `write` returned.
    #[inline]
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
            self.append(len, zeros);
            if self.segments.len() == 1 {
                self.begin(path, ecn, false);
            }
        }
        is_written
    }

    /// Appends a datagram of unknown length. `write` appends its bytes to an empty buffer. Otherwise like
    /// [`push`](Self::push).
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
            self.append(built.len(), zeros);
            if self.segments.len() == 1 {
                self.begin(path, ecn, may_fragment);
            }
        }
        self.scratch = built;
        is_written
    }

    /// Returns the next `len` bytes, with any content.
    fn place(&mut self, len: usize) -> &mut [u8] {
        let end = self.used + len;
        if self.bytes.len() < end {
            self.bytes.resize(end.next_power_of_two(), 0);
        }
        self.bytes.get_mut(self.used..end).unwrap_or_default()
    }

    /// Makes the bytes of [`place`](Self::place) a datagram, followed by `zeros` zero bytes.
    #[expect(
        clippy::inline_always,
        reason = "each packet passes here, and a call makes sending 2 % dearer"
    )]
    #[inline(always)]
    fn append(&mut self, len: usize, zeros: usize) {
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

    /// Sets what the first datagram, which has been appended, decides for the others.
    fn begin(&mut self, path: &Path, ecn: Ecn, may_fragment: bool) {
        self.segment_len = self.last_len;
        self.destination = Some((*path, ecn));
        self.may_fragment = may_fragment;
    }

    /// Length of the last datagram in bytes; 0 while empty.
    pub fn last_len(&self) -> usize {
        self.last_len
    }
}

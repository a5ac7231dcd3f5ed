//! The application at one end of a TCP connection: a stream of bytes, read at once.

use crate::source::{App, Closing, RunningSource, Source};
use dccp_proto::Instant;

/// Writes the datagrams of a source as zero bytes of the stream, each sent at once if the window allows it (no
/// Nagle). The settings of [`App`] on reading and buffers apply to datagrams only.
#[derive(Debug)]
pub(super) struct Stream {
    app: App,
    source: Option<RunningSource>,
    /// Bytes that a bulk source has not written yet.
    bulk: u64,
    is_open: bool,
    has_peer_finished: bool,
}

impl Stream {
    /// An application on a connection that is not open yet.
    pub(super) fn new(app: App) -> Self {
        Self {
            app,
            source: None,
            bulk: 0,
            is_open: false,
            has_peer_finished: false,
        }
    }

    /// The connection is open.
    pub(super) fn open(&mut self, now: Instant) {
        self.is_open = true;
        match self.app.source {
            Source::Bulk { len, count } => self.bulk = count.saturating_mul(len as u64),
            _ => self.source = Some(RunningSource::new(&self.app, now)),
        }
    }

    /// The peer will send no more.
    pub(super) fn on_finish(&mut self) {
        if self.app.closing != Closing::Never {
            self.has_peer_finished = true;
            self.source = None;
            self.bulk = 0;
        }
    }

    /// How many bytes it has written by now, since it was asked last.
    #[inline]
    pub(super) fn poll(&mut self, now: Instant) -> u64 {
        let bulk = core::mem::take(&mut self.bulk);
        if self.next_at().is_some_and(|at| at <= now) {
            bulk + self.poll_source(now)
        } else {
            bulk
        }
    }

    // Apart, as `poll` is called after each segment, and a source that writes is rare.
    #[inline(never)]
    fn poll_source(&mut self, now: Instant) -> u64 {
        let source = self.source.iter_mut();
        let messages = source.flat_map(|s| core::iter::from_fn(|| s.poll(now, usize::MAX)));
        messages.map(|message| message.len() as u64).sum()
    }

    /// When it writes next.
    pub(super) fn next_at(&self) -> Option<Instant> {
        self.source.as_ref().and_then(RunningSource::next_at)
    }

    /// Reads `bytes`, as if in one datagram. Returns how many bytes it sends back.
    #[inline]
    pub(super) fn on_received(&mut self, now: Instant, bytes: u64) -> u64 {
        let len = usize::try_from(bytes).unwrap_or(usize::MAX);
        if let Some(source) = &mut self.source {
            source.on_received(now, len);
        }
        self.app.replies_len(len) as u64
    }

    /// Whether what it has written is all.
    #[inline]
    pub(super) fn is_done(&self) -> bool {
        let has_written = self.is_open && self.next_at().is_none();
        self.has_peer_finished || has_written && self.app.closing == Closing::WhenSent
    }
}

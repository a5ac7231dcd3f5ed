//! The application at one end of a TCP connection: a stream of bytes, read at once.

use crate::source::{App, AtSender, Closing, Log, RunningSource, Source};
use dccp_proto::Instant;

/// Writes the datagrams of a source as zero bytes of the stream, each sent at once if the window allows it (no
/// Nagle). A datagram that the socket has no room for is dropped as a whole. The settings of [`App`] on reading and
/// buffers apply to datagrams only.
#[derive(Debug)]
pub(super) struct Stream {
    app: App,
    source: Option<RunningSource>,
    /// Bytes that a bulk source has not written yet.
    bulk: u64,
    is_open: bool,
    has_peer_finished: bool,
    /// Datagrams that found no room.
    pub(super) dropped: u64,
    pub(super) log: Log,
}

impl Stream {
    /// An application on a connection that is not open yet.
    pub(super) fn new(app: App) -> Self {
        Self {
            log: Log::new(app.logs),
            app,
            source: None,
            bulk: 0,
            is_open: false,
            has_peer_finished: false,
            dropped: 0,
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

    /// How many bytes it has written by now, since it was asked last. The socket has room for `room` bytes; a bulk
    /// source writes all at once.
    #[inline]
    pub(super) fn poll(&mut self, now: Instant, room: u64) -> u64 {
        let bulk = core::mem::take(&mut self.bulk);
        if self.next_at().is_some_and(|at| at <= now) {
            bulk + self.poll_source(now, room)
        } else {
            bulk
        }
    }

    // Apart, as `poll` is called after each segment, and a source that writes is rare.
    #[inline(never)]
    fn poll_source(&mut self, now: Instant, room: u64) -> u64 {
        let mut written = 0;
        while let Some(datagram) = self.source.as_mut().and_then(|s| s.poll(now, usize::MAX)) {
            let len = datagram.message.len() as u64;
            if len <= room - written {
                written += len;
                self.log.offer(&datagram, AtSender::Left(now));
            } else {
                self.log.offer(&datagram, AtSender::Dropped);
                self.dropped += 1;
            }
        }
        written
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
        self.log.arrive_bytes(now, bytes);
        self.app.replies_len(len) as u64
    }

    /// Whether what it has written is all.
    #[inline]
    pub(super) fn is_done(&self) -> bool {
        let has_written = self.is_open && self.next_at().is_none();
        self.has_peer_finished || has_written && self.app.closing == Closing::WhenSent
    }
}

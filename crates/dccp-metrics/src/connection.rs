//! One connection: reads a request, writes the response, then waits for the client to close.

use crate::http::{HEAD_MAX, is_complete};
use core::time::Duration;
use std::io::{self, ErrorKind, Read, Write};
use std::time::Instant;

/// The longest time from accepting a connection to the end of its request.
const REQUEST_TIME: Duration = Duration::from_secs(2);
/// The longest time that a client may take to read the response.
const RESPONSE_TIME: Duration = Duration::from_secs(5);
/// The longest wait for the client to close after the response.
const CLOSE_TIME: Duration = Duration::from_secs(1);
/// The most bytes after a request that are discarded.
const DISCARD_MAX: usize = 65_536;
/// The bytes of one read.
const CHUNK: usize = 512;

/// A stream that does not block, and whose writing half can be closed alone.
pub(crate) trait Stream: Read + Write {
    /// Closes the writing half.
    fn finish(&self) -> io::Result<()>;
}

/// The state of one connection.
pub(crate) struct Connection {
    phase: Phase,
    deadline: Instant,
}

enum Phase {
    /// Reads the head of the request.
    Request { head: Vec<u8> },
    /// Writes the response. `written` of its bytes have left.
    Response { bytes: Vec<u8>, written: usize },
    /// Discards what still comes. If the socket were closed with unread data, the system would send a reset, which
    /// can destroy the response on its way.
    Closing { discarded: usize },
}

impl Connection {
    pub(crate) fn new(now: Instant) -> Self {
        Self {
            phase: Phase::Request { head: Vec::new() },
            deadline: now + REQUEST_TIME,
        }
    }

    /// The time when the connection must be closed, unless [`advance`](Self::advance) moves it.
    pub(crate) fn deadline(&self) -> Instant {
        self.deadline
    }

    /// Reads and writes until the stream would block. Returns false if the connection must be closed.
    pub(crate) fn advance(
        &mut self,
        stream: &mut impl Stream,
        now: Instant,
        respond: impl FnMut(&[u8]) -> Vec<u8>,
    ) -> bool {
        now < self.deadline && self.run(stream, now, respond).unwrap_or(false)
    }

    fn run(
        &mut self,
        stream: &mut impl Stream,
        now: Instant,
        mut respond: impl FnMut(&[u8]) -> Vec<u8>,
    ) -> io::Result<bool> {
        let mut chunk = [0; CHUNK];
        loop {
            match &mut self.phase {
                Phase::Request { head } => {
                    let room = CHUNK.min(HEAD_MAX - head.len());
                    match unless_blocked(|| stream.read(&mut chunk[..room]))? {
                        None => return Ok(true),
                        Some(0) => return Ok(false),
                        Some(len) => head.extend_from_slice(&chunk[..len]),
                    }
                    if is_complete(head) || head.len() == HEAD_MAX {
                        let bytes = respond(head);
                        self.phase = Phase::Response { bytes, written: 0 };
                        self.deadline = now + RESPONSE_TIME;
                    }
                }
                Phase::Response { bytes, written } => {
                    match unless_blocked(|| stream.write(&bytes[*written..]))? {
                        None => return Ok(true),
                        Some(0) => return Ok(false),
                        Some(len) => *written += len,
                    }
                    if *written == bytes.len() {
                        stream.finish()?;
                        self.phase = Phase::Closing { discarded: 0 };
                        self.deadline = now + CLOSE_TIME;
                    }
                }
                Phase::Closing { discarded } => {
                    match unless_blocked(|| stream.read(&mut chunk))? {
                        None => return Ok(true),
                        Some(0) => return Ok(false),
                        Some(len) => *discarded += len,
                    }
                    if *discarded > DISCARD_MAX {
                        return Ok(false);
                    }
                }
            }
        }
    }
}

/// Repeats an interrupted call. Returns its count of bytes, or `None` if it would block.
fn unless_blocked(mut call: impl FnMut() -> io::Result<usize>) -> io::Result<Option<usize>> {
    loop {
        match call() {
            Ok(len) => return Ok(Some(len)),
            Err(e) if e.kind() == ErrorKind::WouldBlock => return Ok(None),
            Err(e) if e.kind() == ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock;
    use core::cell::Cell;

    const REQUEST: &[u8] = b"GET /metrics HTTP/1.1\r\n\r\n";

    /// A peer in memory.
    #[derive(Default)]
    struct Script {
        /// Bytes that arrive, then nothing.
        incoming: Vec<u8>,
        /// The client has closed its writing half.
        is_ended: bool,
        /// Bytes that the client takes now.
        room: usize,
        taken: Vec<u8>,
        is_finished: Cell<bool>,
        /// Calls until one is interrupted.
        interruption: Option<usize>,
    }

    impl Script {
        fn interrupted(&mut self) -> io::Result<()> {
            match &mut self.interruption {
                Some(0) => {
                    self.interruption = None;
                    Err(ErrorKind::Interrupted.into())
                }
                Some(calls) => {
                    *calls -= 1;
                    Ok(())
                }
                None => Ok(()),
            }
        }
    }

    impl Read for Script {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            self.interrupted()?;
            let len = buffer.len().min(self.incoming.len());
            if len == 0 && !self.is_ended {
                return Err(ErrorKind::WouldBlock.into());
            }
            buffer[..len].copy_from_slice(&self.incoming[..len]);
            self.incoming.drain(..len);
            Ok(len)
        }
    }

    impl Write for Script {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.interrupted()?;
            let len = bytes.len().min(self.room);
            if len == 0 {
                return Err(ErrorKind::WouldBlock.into());
            }
            self.room -= len;
            self.taken.extend_from_slice(&bytes[..len]);
            Ok(len)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    impl Stream for Script {
        fn finish(&self) -> io::Result<()> {
            self.is_finished.set(true);
            Ok(())
        }
    }

    fn client(incoming: &[u8], room: usize) -> Script {
        Script {
            incoming: incoming.to_vec(),
            room,
            ..Script::default()
        }
    }

    /// A response that shows the length of the head.
    fn echo(head: &[u8]) -> Vec<u8> {
        format!("head of {}", head.len()).into_bytes()
    }

    #[test]
    fn response_leaves_in_pieces_as_the_client_takes_it() {
        let start = clock::now();
        let mut connection = Connection::new(start);
        let mut peer = client(REQUEST, 5);
        assert!(connection.advance(&mut peer, start, echo));
        assert_eq!(peer.taken, b"head ");
        assert!(!peer.is_finished.get());
        peer.room = 100;
        let later = start + Duration::from_secs(4);
        assert!(connection.advance(&mut peer, later, echo));
        assert_eq!(peer.taken, b"head of 25");
        assert!(peer.is_finished.get());
        peer.is_ended = true;
        assert!(!connection.advance(&mut peer, later, echo));
    }

    #[test]
    fn request_in_single_bytes_ends_at_its_deadline() {
        let start = clock::now();
        let mut connection = Connection::new(start);
        let mut peer = client(b"", 1000);
        let mut ended = None;
        for ms in (0_u64..60_000).step_by(100) {
            peer.incoming.push(b'x');
            if !connection.advance(&mut peer, start + Duration::from_millis(ms), echo) {
                ended = Some(ms);
                break;
            }
        }
        assert_eq!(ended, Some(2000), "bytes must not move the deadline");
        assert!(peer.taken.is_empty());
    }

    #[test]
    fn slow_reader_is_closed_at_its_deadline() {
        let start = clock::now();
        let mut connection = Connection::new(start);
        let mut peer = client(REQUEST, 0);
        let long = |_: &[u8]| vec![b'x'; 1_000_000];
        assert!(connection.advance(&mut peer, start, long));
        let last = start + RESPONSE_TIME.saturating_sub(Duration::from_nanos(1));
        peer.room = 1;
        assert!(connection.advance(&mut peer, last, long));
        assert_eq!(connection.deadline(), start + RESPONSE_TIME);
        peer.room = 1;
        assert!(!connection.advance(&mut peer, start + RESPONSE_TIME, long));
        assert_eq!(peer.taken.len(), 1);
    }

    #[test]
    fn long_head_is_answered_after_its_limit_and_the_rest_is_discarded() {
        let start = clock::now();
        let mut connection = Connection::new(start);
        let mut peer = client(&vec![b'x'; HEAD_MAX + 1000], 1000);
        assert!(connection.advance(&mut peer, start, echo));
        assert_eq!(peer.taken, b"head of 2048");
        assert!(peer.incoming.is_empty());
        // The client goes on sending.
        peer.incoming = vec![b'x'; 10 * DISCARD_MAX];
        assert!(!connection.advance(&mut peer, start, echo));
        assert!(peer.incoming.len() > 8 * DISCARD_MAX);
    }

    #[test]
    fn client_that_does_not_close_is_closed() {
        let start = clock::now();
        let mut connection = Connection::new(start);
        let mut peer = client(REQUEST, 1000);
        assert!(connection.advance(&mut peer, start, echo));
        assert!(connection.advance(&mut peer, start, echo));
        assert!(!connection.advance(&mut peer, start + CLOSE_TIME, echo));
    }

    #[test]
    fn client_that_leaves_before_its_request_is_closed() {
        let start = clock::now();
        let mut connection = Connection::new(start);
        let mut peer = client(b"GET /metr", 1000);
        peer.is_ended = true;
        assert!(!connection.advance(&mut peer, start, echo));
        assert!(peer.taken.is_empty());
    }

    #[test]
    fn interrupted_call_is_repeated() {
        for calls in 0..3 {
            let start = clock::now();
            let mut connection = Connection::new(start);
            let mut peer = client(REQUEST, 1000);
            peer.interruption = Some(calls);
            assert!(connection.advance(&mut peer, start, echo));
            assert_eq!(peer.taken, b"head of 25", "{calls} calls before it");
            assert_eq!(peer.interruption, None);
        }
    }
}

//! `--pcap` and `--qlog`: the packets of this end's data connections, as this program's own stack sees them.
//!
//! ```text
//! engine's thread ── tap: copies the front of each packet ──▶ bounded queue ──▶ writing thread ──▶ files
//! ```

mod writer;

use core::sync::atomic::{AtomicU64, Ordering};
use core::time::Duration;
use dccp::proto::path::Path as NetworkPath;
use dccp::unstable::{PacketTap, TappedPacket};
use dccp::{Ecn, Engine, EngineOptions, Instant};
use dccp_capture::header;
use dccp_cli::Failure;
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::JoinHandle;
use writer::Writer;

/// Packets that wait to be written. Those that do not fit are counted.
const QUEUE: usize = 16_384;
/// The longest wait for the ends of the connections, whose packets are captured, too.
const END: Duration = Duration::from_millis(500);

/// The files of a capture.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Files {
    pub(crate) pcap: Option<PathBuf>,
    /// Bytes of each packet in the pcapng file, from the DCCP header on; at least the header.
    pub(crate) snap: usize,
    pub(crate) qlog: Option<PathBuf>,
}

impl Files {
    /// Whether anything is captured.
    pub(crate) fn is_wanted(&self) -> bool {
        self.pcap.is_some() || self.qlog.is_some()
    }

    fn paths(&self) -> impl Iterator<Item = &PathBuf> {
        self.pcap.iter().chain(&self.qlog)
    }
}

/// The state of a flow's congestion control.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub(crate) struct State {
    pub(crate) rtt: Option<Duration>,
    pub(crate) cwnd_bytes: Option<u64>,
    pub(crate) ssthresh_bytes: Option<u64>,
}

/// A running capture. Connections of its engine are captured.
pub(crate) struct Capture {
    files: Files,
    engine: Engine,
    tap: Arc<Tap>,
    thread: JoinHandle<io::Result<()>>,
}

impl Capture {
    /// Creates the files and begins, if any file is wanted.
    pub(crate) fn start(files: &Files) -> Result<Option<Self>, Failure> {
        if !files.is_wanted() {
            return Ok(None);
        }
        let cannot_start = |e: io::Error| Failure::run(e.to_string(), "check this system's limits");
        let (queue, events) = sync_channel(QUEUE);
        let tap = Arc::new(Tap {
            queue,
            snap: files.snap,
            seen: AtomicU64::new(0),
            missed: AtomicU64::new(0),
        });
        let writer = Writer::create(files)?;
        let thread = std::thread::Builder::new()
            .name("capture".into())
            .spawn(move || writer.write_all(&events))
            .map_err(cannot_start)?;
        let options = EngineOptions::new().tap(tap.clone());
        Ok(Some(Self {
            files: files.clone(),
            engine: Engine::start(&options).map_err(cannot_start)?,
            tap,
            thread,
        }))
    }

    /// The engine whose connections are captured.
    pub(crate) fn engine(&self) -> &Engine {
        &self.engine
    }

    /// Adds the state of a flow. The flow whose connection was opened first has the number 0.
    pub(crate) fn state(&self, flow: usize, at: Instant, state: State) {
        // A missing sample is no loss: the next one follows soon.
        let _ = self.tap.queue.try_send(Event::State { flow, at, state });
    }

    /// Ends the files, after the connections have ended.
    pub(crate) fn finish(self) -> Result<(), Failure> {
        // The packets of connections that do not end in time are not captured.
        let _ = self.engine.wait_idle(END);
        let counts = Counts {
            seen: self.tap.seen.load(Ordering::Relaxed),
            missed: self.tap.missed.load(Ordering::Relaxed),
        };
        // It fails only if the thread has ended with an error, which follows.
        let _ = self.tap.queue.send(Event::End(counts));
        let first = self.files.paths().next().cloned().unwrap_or_default();
        match self.thread.join() {
            Ok(Ok(())) => {}
            Ok(Err(e)) => return Err(Failure::write(&first, &e)),
            Err(_) => {
                return Err(Failure::write(
                    &first,
                    &io::Error::other("its thread failed"),
                ));
            }
        }
        for path in self.files.paths() {
            let part = part(path);
            if part != *path {
                fs::rename(part, path).map_err(|e| Failure::write(path, &e))?;
            }
        }
        if counts.missed > 0 {
            // A closed standard error does not change the outcome.
            let _ = writeln!(
                io::stderr(),
                "note: {} of {} packets came too fast to be captured",
                counts.missed,
                counts.seen
            );
        }
        Ok(())
    }
}

/// Packets of a capture.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Counts {
    seen: u64,
    /// Of these, not in the files, because the writing thread was too slow.
    missed: u64,
}

/// The name of a file until it is complete. A device or a pipe is written in place.
fn part(path: &Path) -> PathBuf {
    if fs::metadata(path).is_ok_and(|about| !about.is_file()) {
        return path.to_owned();
    }
    let mut name = path.as_os_str().to_owned();
    name.push(".part");
    name.into()
}

/// News for the writing thread.
#[derive(Debug)]
enum Event {
    Packet(Captured),
    State {
        flow: usize,
        at: Instant,
        state: State,
    },
    End(Counts),
}

/// The front of a packet.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Captured {
    at: Instant,
    is_sent: bool,
    path: NetworkPath,
    ecn: Ecn,
    may_fragment: bool,
    bytes: Box<[u8]>,
    /// Bytes from the DCCP header on, those that were not captured included.
    len: usize,
}

/// Copies packets on the engine's thread.
#[derive(Debug)]
struct Tap {
    queue: SyncSender<Event>,
    snap: usize,
    seen: AtomicU64,
    missed: AtomicU64,
}

impl PacketTap for Tap {
    fn packet(&self, packet: &TappedPacket<'_>) {
        let bytes = packet.datagram.bytes;
        let front = &bytes[..header::capture_len(bytes, self.snap)];
        let captured = Captured {
            at: packet.at,
            is_sent: packet.is_sent,
            path: packet.path,
            ecn: packet.ecn,
            may_fragment: packet.may_fragment,
            bytes: front.into(),
            len: bytes.len() + packet.datagram.zeros,
        };
        self.seen.fetch_add(1, Ordering::Relaxed);
        if self.queue.try_send(Event::Packet(captured)).is_err() {
            self.missed.fetch_add(1, Ordering::Relaxed);
        }
    }
}

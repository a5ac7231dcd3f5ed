//! A log of each packet in the emulator: lines of text with commas between the columns.

use core::fmt::Write as _;
use dccp_proto::Instant;
use dccp_sim::loss::Loss;
use std::fs::File;
use std::io::{self, BufWriter, Write as _};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

/// The columns.
const HEAD: &str = "time_ns,direction,event,reason,queue_packets,queue_bytes,bytes,first_bytes_hex";
/// Bytes of each packet that the log shows.
const SHOWN: usize = 48;

/// Something happened to a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Event<'a> {
    /// The time.
    pub at: Instant,
    /// The kind of the event.
    pub kind: EventKind,
    /// Packets that wait in the queue, after the event.
    pub queue_packets: usize,
    /// Their bytes.
    pub queue_bytes: usize,
    /// The packet as the emulator carries it: a UDP payload in the relay, an IP packet between TUN devices.
    pub packet: &'a [u8],
}

/// The kinds of events.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EventKind {
    /// The link took it.
    Enqueued,
    /// It is lost.
    Dropped(Loss),
    /// A queue marked it. It leaves the link at the same time.
    Marked,
    /// It left the link.
    Delivered,
    /// It left the link a second time.
    Duplicated,
    /// The system refused it at the far end.
    Refused,
}

impl EventKind {
    /// Its name in the log.
    pub fn name(self) -> &'static str {
        match self {
            Self::Enqueued => "enqueue",
            Self::Dropped(_) => "drop",
            Self::Marked => "mark",
            Self::Delivered => "deliver",
            Self::Duplicated => "duplicate",
            Self::Refused => "refuse",
        }
    }
}

/// Gets each event of a channel.
pub type Observer = Box<dyn FnMut(&Event<'_>) + Send>;

/// The file of a log. Both directions write to it.
#[derive(Clone, Debug)]
pub struct Log {
    shared: Arc<Mutex<Writer>>,
}

#[derive(Debug)]
struct Writer {
    file: BufWriter<File>,
    line: String,
    failure: Option<io::Error>,
}

impl Log {
    /// Creates the file, and writes the names of the columns.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn create(path: &Path) -> io::Result<Self> {
        let mut file = BufWriter::new(File::create(path)?);
        writeln!(file, "{HEAD}")?;
        let writer = Writer {
            file,
            line: String::new(),
            failure: None,
        };
        Ok(Self {
            shared: Arc::new(Mutex::new(writer)),
        })
    }

    /// Writes the events of a channel. `direction` is the name of the channel.
    pub fn observer(&self, direction: &'static str) -> Observer {
        let shared = self.shared.clone();
        Box::new(move |event| {
            let mut writer = shared.lock().unwrap_or_else(PoisonError::into_inner);
            writer.write(direction, event);
        })
    }

    /// Writes what is still in memory.
    ///
    /// # Errors
    /// The first failure since the log was created.
    pub fn finish(&self) -> io::Result<()> {
        let mut writer = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
        writer.failure.take().map_or(Ok(()), Err)?;
        writer.file.flush()
    }
}

impl Writer {
    fn write(&mut self, direction: &str, event: &Event<'_>) {
        let Self {
            file,
            line,
            failure,
        } = self;
        line.clear();
        let reason = match event.kind {
            EventKind::Dropped(loss) => loss.name(),
            _ => "",
        };
        // Writing to memory cannot fail.
        let _ = write!(
            line,
            "{},{direction},{},{reason},{},{},{},",
            event.at.as_nanos(),
            event.kind.name(),
            event.queue_packets,
            event.queue_bytes,
            event.packet.len(),
        );
        for byte in event.packet.iter().take(SHOWN) {
            let _ = write!(line, "{byte:02x}");
        }
        line.push('\n');
        if failure.is_none() {
            *failure = file.write_all(line.as_bytes()).err();
        }
    }
}

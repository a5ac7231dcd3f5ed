//! Traces of single connections, as capture files.

use core::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use core::time::Duration;
use dccp::proto::path::{Flow, Path};
use dccp::proto::time::nanos;
use dccp::unstable::{PacketTap, TappedPacket};
use dccp::{Ecn, Instant, clock};
use dccp_capture::{Direction, header, ip, pcapng};
use std::io::{self, Write};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Packets of a trace that wait to be written. Those that do not fit are counted.
const QUEUE: usize = 4096;
/// Traces at the same time.
pub(crate) const TRACES_MAX: usize = 8;
/// The interval of checks whether to end the trace.
const CHECK: Duration = Duration::from_millis(100);
/// The longest time of a trace after the end of its connection.
const LAST: Duration = Duration::from_secs(1);

/// Copies the packets of traced connections. Without a trace, a packet costs one read of memory.
#[derive(Debug, Default)]
pub(crate) struct Traces {
    number: AtomicUsize,
    list: Mutex<Vec<Target>>,
}

/// A traced connection.
#[derive(Debug)]
struct Target {
    flow: Flow,
    /// Bytes of each packet from the DCCP header on; at least the header.
    snap: usize,
    queue: SyncSender<Captured>,
    counts: Arc<Counts>,
}

#[derive(Debug, Default)]
struct Counts {
    seen: AtomicU64,
    missed: AtomicU64,
}

/// The front of a packet.
#[derive(Debug)]
struct Captured {
    at: Instant,
    is_sent: bool,
    ecn: Ecn,
    may_fragment: bool,
    bytes: Box<[u8]>,
    /// Bytes from the DCCP header on, those that were not captured included.
    len: usize,
}

/// When a trace ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum End {
    Now,
    /// The connection has ended: no packets follow those that wait.
    AfterTheQueue,
}

/// A running trace. Dropping it ends it.
#[derive(Debug)]
pub(crate) struct Trace {
    traces: Arc<Traces>,
    flow: Flow,
    packets: Receiver<Captured>,
    counts: Arc<Counts>,
}

impl Traces {
    /// Begins to trace a connection; `None` if too many traces run.
    pub(crate) fn begin(self: &Arc<Self>, flow: Flow, snap: usize) -> Option<Trace> {
        let mut list = self.lock();
        if list.len() >= TRACES_MAX {
            return None;
        }
        let (queue, packets) = sync_channel(QUEUE);
        let counts = Arc::new(Counts::default());
        list.push(Target {
            flow,
            snap,
            queue,
            counts: counts.clone(),
        });
        self.number.store(list.len(), Ordering::Relaxed);
        Some(Trace {
            traces: self.clone(),
            flow,
            packets,
            counts,
        })
    }

    fn end(&self, counts: &Arc<Counts>) {
        let mut list = self.lock();
        list.retain(|target| !Arc::ptr_eq(&target.counts, counts));
        self.number.store(list.len(), Ordering::Relaxed);
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Target>> {
        // A thread that panicked has left a whole list.
        self.list.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl PacketTap for Traces {
    fn packet(&self, packet: &TappedPacket<'_>) {
        if self.number.load(Ordering::Relaxed) == 0 {
            return;
        }
        let wanted = |target: &&Target| is_of(&target.flow, packet);
        for target in self.lock().iter().filter(wanted) {
            let bytes = packet.datagram.bytes;
            let captured = Captured {
                at: packet.at,
                is_sent: packet.is_sent,
                ecn: packet.ecn,
                may_fragment: packet.may_fragment,
                bytes: bytes[..header::capture_len(bytes, target.snap)].into(),
                len: bytes.len() + packet.datagram.zeros,
            };
            target.counts.seen.fetch_add(1, Ordering::Relaxed);
            if target.queue.try_send(captured).is_err() {
                target.counts.missed.fetch_add(1, Ordering::Relaxed);
            }
        }
    }
}

/// Whether a packet belongs to a connection. Its ports are at the front of its header.
fn is_of(flow: &Flow, packet: &TappedPacket<'_>) -> bool {
    let Some((ports, _)) = packet.datagram.bytes.split_first_chunk::<4>() else {
        return false;
    };
    let [a, b, c, d] = *ports;
    let (source, destination) = (u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d]));
    let (local, remote) = if packet.is_sent {
        (source, destination)
    } else {
        (destination, source)
    };
    packet.path == flow.path && local == flow.local_port && remote == flow.remote_port
}

impl Trace {
    /// Writes packets as pcapng. `end_of` gets the number of packets written, and returns the end when it has come.
    pub(crate) fn write(
        self,
        out: impl Write,
        end_of: impl Fn(u64) -> Option<End>,
    ) -> io::Result<()> {
        let application = format!("dccpd {}", env!("CARGO_PKG_VERSION"));
        let section = pcapng::Section {
            application: Some(&application),
            interface: Some("dccpd"),
            snap: None,
        };
        let unix_time = || u64::try_from(clock::unix_time().as_nanos()).unwrap_or(u64::MAX);
        let (start, start_unix_ns) = (clock::now(), unix_time());
        let mut writer = pcapng::Writer::new(out, &section)?;
        let mut bytes = Vec::new();
        let mut write = |writer: &mut pcapng::Writer<_>, captured: &Captured| {
            bytes.clear();
            let len = datagram(captured, self.flow.path).write(&mut bytes);
            writer.packet(&pcapng::Packet {
                time_ns: start_unix_ns + nanos(captured.at - start),
                bytes: &bytes,
                len,
                direction: Some(if captured.is_sent {
                    Direction::Out
                } else {
                    Direction::In
                }),
                comment: None,
            })
        };
        let mut written = 0;
        let end = loop {
            if let Some(end) = end_of(written) {
                break end;
            }
            let next = self.packets.try_recv();
            if next.is_err() {
                writer.flush()?;
            }
            match next.or_else(|_| self.packets.recv_timeout(CHECK)) {
                Ok(captured) => {
                    write(&mut writer, &captured)?;
                    written += 1;
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break End::Now,
            }
        };
        if end == End::AfterTheQueue {
            // The last packets, with the Reset of the connection, wait there. Those of a peer that goes on may follow for ever.
            let until = clock::now() + LAST;
            while clock::now() < until
                && end_of(written) != Some(End::Now)
                && let Ok(captured) = self.packets.recv_timeout(CHECK)
            {
                write(&mut writer, &captured)?;
                written += 1;
            }
        }
        let statistics = pcapng::Statistics {
            received: self.counts.seen.load(Ordering::Relaxed),
            dropped: self.counts.missed.load(Ordering::Relaxed),
        };
        writer.statistics(unix_time(), statistics)?;
        writer.finish().map(drop)
    }
}

impl Drop for Trace {
    fn drop(&mut self) {
        self.traces.end(&self.counts);
    }
}

/// A captured packet with its addresses, which are seen from this host.
fn datagram(captured: &Captured, path: Path) -> ip::Datagram<'_> {
    let path = if captured.is_sent {
        path
    } else {
        Path {
            local: path.remote,
            remote: path.local,
            encap: path.encap.reversed(),
        }
    };
    ip::Datagram {
        path,
        tos: captured.ecn as u8,
        may_fragment: captured.may_fragment,
        bytes: &captured.bytes,
        zeros: 0,
        missing: captured.len - captured.bytes.len(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::cell::Cell;
    use dccp::unstable::proto::path::{Encap, Path};
    use std::net::Ipv4Addr;

    #[test]
    fn bounds_count_also_after_the_end_of_the_connection() {
        let place = Ipv4Addr::new(192, 0, 2, 1).into();
        let flow = Flow {
            path: Path {
                local: place,
                remote: place,
                encap: Encap::Ip,
            },
            local_port: 5001,
            remote_port: 5002,
        };
        let traces = Arc::new(Traces::default());
        let trace = traces.begin(flow, 100).unwrap();
        for _ in 0..10 {
            let captured = Captured {
                at: clock::now(),
                is_sent: true,
                ecn: Ecn::NotEct,
                may_fragment: false,
                bytes: [0; 16].into(),
                len: 16,
            };
            traces.lock()[0].queue.try_send(captured).unwrap();
        }
        let last = Cell::new(0);
        let end_of = |written| {
            last.set(written);
            Some(if written < 3 {
                End::AfterTheQueue
            } else {
                End::Now
            })
        };
        trace.write(&mut Vec::new(), end_of).unwrap();
        assert_eq!(last.get(), 3);
    }
}

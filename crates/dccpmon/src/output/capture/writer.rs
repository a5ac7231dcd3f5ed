//! The thread that writes the files of a capture. It holds sent packets until their fates are known.

use super::{Captured, Counts, Event, Files, State, part};
use crate::wire::packet::{Head, Kind};
use core::fmt::Write as _;
use core::time::Duration;
use dccp::proto::path::Path as NetworkPath;
use dccp::proto::time::nanos;
use dccp::proto::wire::{Packet, PacketType};
use dccp::{Instant, Seq, clock};
use dccp_capture::fates::{Fate, Fates};
use dccp_capture::{Direction, header, ip, pcapng, qlog};
use dccp_cli::Failure;
use std::collections::{BTreeMap, VecDeque};
use std::fs::File;
use std::io::{self, BufWriter};
use std::path::Path;
use std::sync::mpsc::Receiver;

/// The longest time that a packet waits for its fate.
const HOLD: Duration = Duration::from_secs(3);
/// The most packets that wait.
const HELD_MAX: usize = 65_536;

type Out = BufWriter<File>;

/// The files and what is not written yet.
pub(super) struct Writer {
    pcap: Option<pcapng::Writer<Out>>,
    qlog: Option<qlog::Writer<Out>>,
    /// One moment on both clocks.
    start: Instant,
    start_unix_ns: u64,
    connections: Vec<Connection>,
    /// Packets in the order of capture.
    held: VecDeque<Held>,
    /// How many packets were held before the first of these.
    written: u64,
    /// Memory of a packet, reused.
    bytes: Vec<u8>,
}

/// A connection, seen from this end.
struct Connection {
    path: NetworkPath,
    local_port: u16,
    remote_port: u16,
    fates: Fates,
    /// Positions of held packets by their sequence numbers.
    waiting: BTreeMap<u64, u64>,
    state: State,
}

/// A packet with what is known of it.
struct Held {
    captured: Captured,
    comment: String,
    /// The connection and the sequence number of a packet that waits for its fate.
    waits: Option<(usize, Seq)>,
}

impl Writer {
    /// Creates the files.
    pub(super) fn create(files: &Files) -> Result<Self, Failure> {
        let program = format!("dccpmon {}", env!("CARGO_PKG_VERSION"));
        let start_unix_ns = u64::try_from(clock::unix_time().as_nanos()).unwrap_or(u64::MAX);
        let create = |path: &Path| File::create(part(path)).map(BufWriter::new);
        let pcap = files.pcap.as_deref().map(|path| {
            let section = pcapng::Section {
                application: Some(&program),
                interface: Some("dccp"),
                snap: None,
            };
            create(path)
                .and_then(|file| pcapng::Writer::new(file, &section))
                .map_err(|e| Failure::write(path, &e))
        });
        let qlog = files.qlog.as_deref().map(|path| {
            let description = qlog::Description {
                title: &program,
                vantage_point: qlog::VantagePoint::Client,
                start_ns: start_unix_ns,
            };
            create(path)
                .and_then(|file| qlog::Writer::new(file, &description))
                .map_err(|e| Failure::write(path, &e))
        });
        Ok(Self {
            pcap: pcap.transpose()?,
            qlog: qlog.transpose()?,
            start: clock::now(),
            start_unix_ns,
            connections: Vec::new(),
            held: VecDeque::new(),
            written: 0,
            bytes: Vec::new(),
        })
    }

    /// Writes everything up to the end.
    pub(super) fn write_all(mut self, events: &Receiver<Event>) -> io::Result<()> {
        // It ends without the last event if the program fails to start the engine.
        while let Ok(event) = events.recv() {
            match event {
                Event::Packet(captured) => {
                    let now = captured.at;
                    self.add(captured)?;
                    self.release(Some(now))?;
                }
                Event::State { flow, at, state } => self.state(flow, at, state)?,
                Event::End(counts) => return self.finish(counts),
            }
        }
        Ok(())
    }

    fn finish(mut self, counts: Counts) -> io::Result<()> {
        self.release(None)?;
        if let Some(mut pcap) = self.pcap {
            let statistics = pcapng::Statistics {
                received: counts.seen,
                dropped: counts.missed,
            };
            let now = self.start_unix_ns + nanos(clock::now() - self.start);
            pcap.statistics(now, statistics)?;
            pcap.finish()?;
        }
        if let Some(qlog) = self.qlog {
            qlog.finish()?;
        }
        Ok(())
    }

    fn state(&mut self, flow: usize, at: Instant, state: State) -> io::Result<()> {
        let Some(connection) = self.connections.get_mut(flow) else {
            return Ok(());
        };
        if connection.state == state {
            return Ok(());
        }
        connection.state = state;
        let Some(qlog) = &mut self.qlog else {
            return Ok(());
        };
        let metrics = qlog::Metrics {
            latest_rtt: state.rtt,
            congestion_window_bytes: state.cwnd_bytes,
            ssthresh_bytes: state.ssthresh_bytes,
            ..qlog::Metrics::default()
        };
        qlog.metrics(at - self.start, group(flow), &metrics)
    }

    fn add(&mut self, captured: Captured) -> io::Result<()> {
        let mut held = Held {
            captured,
            comment: String::new(),
            waits: None,
        };
        let Some(packet) = header::read(&held.captured.bytes, held.captured.len) else {
            self.held.push_back(held);
            return Ok(());
        };
        let Captured {
            at, is_sent, len, ..
        } = held.captured;
        let Some(flow) = connection_of(&mut self.connections, &held.captured, &packet) else {
            held.comment = comment(&held.captured, &packet, State::default());
            self.held.push_back(held);
            return Ok(());
        };
        let connection = &mut self.connections[flow];
        let since = at - self.start;
        if let Some(qlog) = &mut self.qlog {
            let direction = direction(is_sent);
            qlog.packet(since, group(flow), direction, &packet, len)?;
        }
        held.comment = comment(&held.captured, &packet, connection.state);
        if is_sent {
            let seq = connection.fates.sent(&packet);
            let position = self.written + self.held.len() as u64;
            connection.waiting.insert(seq.value(), position);
            held.waits = Some((flow, seq));
        } else {
            let mut told = Vec::new();
            let tell = &mut |seq, fate| told.push((seq, fate));
            connection.fates.received(&packet, tell);
            for (seq, fate) in told {
                if let (Fate::Lost, Some(qlog)) = (fate, &mut self.qlog) {
                    qlog.lost(since, group(flow), seq)?;
                }
                let position = connection.waiting.remove(&seq.value());
                let index = position.and_then(|position| position.checked_sub(self.written));
                let index = index.and_then(|index| usize::try_from(index).ok());
                if let Some(sent) = index.and_then(|index| self.held.get_mut(index)) {
                    sent.settle(fate, at);
                }
            }
        }
        self.held.push_back(held);
        Ok(())
    }

    /// Writes the packets at the front that wait no more; all of them without `now`.
    fn release(&mut self, now: Option<Instant>) -> io::Result<()> {
        while let Some(held) = self.held.front() {
            let is_young = |now: Instant| now - held.captured.at < HOLD;
            let must_wait = held.waits.is_some() && now.is_some_and(is_young);
            if must_wait && self.held.len() <= HELD_MAX {
                break;
            }
            let Some(mut held) = self.held.pop_front() else {
                break;
            };
            self.written += 1;
            if let Some((flow, seq)) = held.waits {
                self.connections[flow].waiting.remove(&seq.value());
                held.comment.push_str(" fate unknown");
            }
            self.write(&held)?;
        }
        Ok(())
    }

    fn write(&mut self, held: &Held) -> io::Result<()> {
        let Some(pcap) = &mut self.pcap else {
            return Ok(());
        };
        let captured = &held.captured;
        self.bytes.clear();
        let mut path = captured.path;
        if !captured.is_sent {
            path = path.reversed();
        }
        let datagram = ip::Datagram {
            path,
            tos: captured.ecn as u8,
            may_fragment: captured.may_fragment,
            bytes: &captured.bytes,
            zeros: 0,
            missing: captured.len - captured.bytes.len(),
        };
        let len = datagram.write(&mut self.bytes);
        pcap.packet(&pcapng::Packet {
            time_ns: self.start_unix_ns + nanos(captured.at - self.start),
            bytes: &self.bytes,
            len,
            direction: Some(direction(captured.is_sent)),
            comment: Some(held.comment.as_str()).filter(|comment| !comment.is_empty()),
        })
    }
}

impl Held {
    fn settle(&mut self, fate: Fate, at: Instant) {
        self.waits = None;
        let after = at - self.captured.at;
        // Writing to a text cannot fail.
        let _ = write!(self.comment, " fate {fate}");
        if fate != Fate::Lost {
            let _ = write!(self.comment, " after {:.3} ms", after.as_secs_f64() * 1e3);
        }
    }
}

/// Finds the connection of a packet. Only a Request of this end begins one, so that packets of strangers take no memory.
fn connection_of(
    connections: &mut Vec<Connection>,
    captured: &Captured,
    packet: &Packet<'_>,
) -> Option<usize> {
    let (mut local_port, mut remote_port) = (packet.source_port, packet.dest_port);
    if !captured.is_sent {
        (local_port, remote_port) = (remote_port, local_port);
    }
    let path = captured.path;
    let known = connections
        .iter()
        .position(|c| c.path == path && (c.local_port, c.remote_port) == (local_port, remote_port));
    let is_new = captured.is_sent && packet.kind.packet_type() == PacketType::Request;
    known.or_else(|| {
        if !is_new {
            return None;
        }
        connections.push(Connection {
            path,
            local_port,
            remote_port,
            fates: Fates::default(),
            waiting: BTreeMap::new(),
            state: State::default(),
        });
        Some(connections.len() - 1)
    })
}

/// The part of a comment that is known at once.
fn comment(captured: &Captured, packet: &Packet<'_>, state: State) -> String {
    let mut comment = format!("seq {} ccval {}", packet.seq, packet.ccval);
    // Writing to a text cannot fail.
    if let Some(number) = test_number(captured) {
        let _ = write!(comment, " number {number}");
    }
    if let (true, Some(cwnd)) = (captured.is_sent, state.cwnd_bytes) {
        let _ = write!(comment, " cwnd {cwnd} B");
    }
    comment
}

/// The number of a data packet, if the head behind its DCCP header was captured.
fn test_number(captured: &Captured) -> Option<u64> {
    let header_len = usize::from(*captured.bytes.get(4)?) * 4;
    let head = Head::read(captured.bytes.get(header_len..)?)?;
    (head.kind == Kind::Data).then_some(head.number)
}

/// qlog's name of a connection: the number of the flow, from 1.
fn group(flow: usize) -> u32 {
    u32::try_from(flow + 1).unwrap_or(u32::MAX)
}

fn direction(is_sent: bool) -> Direction {
    if is_sent {
        Direction::Out
    } else {
        Direction::In
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dccp::ServiceCode;
    use dccp::proto::path::Encap;
    use dccp::proto::wire::{ChecksumRule, Kind, Options, Payload, build};

    fn captured(remote: u8, kind: Kind, is_sent: bool) -> Captured {
        let packet = Packet {
            source_port: if is_sent { 7000 } else { 5001 },
            dest_port: if is_sent { 5001 } else { 7000 },
            ccval: 0,
            cscov: 0,
            is_short: false,
            seq: Seq::new(9),
            kind,
            options: Options::default(),
            payload: Payload::Bytes(&[]),
        };
        let mut bytes = Vec::new();
        build(&mut bytes, &packet, ChecksumRule::Udp).unwrap();
        Captured {
            at: clock::now(),
            is_sent,
            path: NetworkPath {
                local: [192, 0, 2, 1].into(),
                remote: [192, 0, 2, remote].into(),
                encap: Encap::Ip,
            },
            ecn: dccp::Ecn::NotEct,
            may_fragment: false,
            len: bytes.len(),
            bytes: bytes.into(),
        }
    }

    #[test]
    fn packets_of_strangers_begin_no_connection() {
        let service = ServiceCode(5);
        let request = Kind::Request { service };
        let response = Kind::Response {
            ack: Seq::new(9),
            service,
        };
        let mut connections = Vec::new();
        let mut find = |captured: &Captured| {
            let packet = header::read(&captured.bytes, captured.len).unwrap();
            connection_of(&mut connections, captured, &packet)
        };
        assert_eq!(find(&captured(2, request, false)), None);
        assert_eq!(find(&captured(2, response, true)), None);
        assert_eq!(find(&captured(3, request, true)), Some(0));
        assert_eq!(find(&captured(3, response, false)), Some(0));
        assert_eq!(find(&captured(2, response, false)), None);
    }
}

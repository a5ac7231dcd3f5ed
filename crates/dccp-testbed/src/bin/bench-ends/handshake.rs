//! Handshakes: a server that accepts, a client that makes as many as it can, and a flood of Requests without an Ack.
//!
//! The client keeps nothing about its connections but their numbers, and sends and receives many packets in a call:
//! what limits is the server.

use crate::report::{Meter, Report, say_ready};
use crate::udp::SILENCE;
use anyhow::{Result, bail, ensure};
use clap::Args;
use dccp::proto::Seq;
use dccp::proto::batch::Batch;
use dccp::proto::path::{Encap, Path};
use dccp::proto::wire::{self, Ecn, Kind, Opt, Options, Packet, Payload, ResetCode, ServiceCode};
use dccp::{Encapsulation, Listener, clock};
use dccp_io::{Carrier, Poller, RecvBuffer, Token, Transport};
use serde::Serialize;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

const PORT: u16 = 5001;
const SERVICE: ServiceCode = ServiceCode(u32::from_be_bytes(*b"BNCH"));
/// The options of a Request, as many bytes as on repeated Requests of a client. A server answers a network with at most
/// 1.5 bytes for each that it gets, and a Response with a cookie is long.
const PADDING: [u8; 140] = [0; 140];
/// Connections that are being made at a time: fewer than those at which a listener asks for cookies.
const AT_ONCE: u16 = 128;
/// Local UDP ports. The flows of each are used once: a server remembers them for minutes.
const SOCKETS: usize = 16;
/// A packet without an answer for this long is lost.
const PATIENCE: Duration = Duration::from_millis(20);

#[derive(Args)]
pub(crate) struct AcceptArgs {
    local: SocketAddr,
}

#[derive(Args)]
pub(crate) struct ConnectArgs {
    remote: SocketAddr,
    /// Seconds
    #[arg(long, default_value_t = 3.0)]
    time: f64,
}

#[derive(Args)]
pub(crate) struct FloodArgs {
    remote: SocketAddr,
    /// How many
    #[arg(long, default_value_t = 100_000)]
    requests: u64,
}

/// The result of a flood.
#[derive(Serialize)]
pub(crate) struct FloodReport {
    requests: u64,
    /// Answers with a cookie.
    cookies: u64,
    /// Answers without.
    half_open: u64,
}

/// Accepts connections until there have been none for a while.
pub(crate) fn accept(args: &AcceptArgs) -> Result<Report> {
    let options = dccp::Options::new()
        .service_code(SERVICE.0.to_be_bytes())
        .backlog(usize::from(AT_ONCE) * 8)
        .recv_timeout(SILENCE);
    let listener = Listener::bind((args.local, PORT), &options)?;
    say_ready();
    let mut meter = Meter::default();
    loop {
        match listener.accept() {
            Ok(_socket) => meter.add(1, 0),
            Err(dccp::AcceptError::TimedOut) if !meter.has_begun() => {}
            Err(dccp::AcceptError::TimedOut) => return meter.report(),
            Err(error) => return Err(error.into()),
        }
    }
}

/// Makes connections and ends them again, until the time is over.
pub(crate) fn connect(args: &ConnectArgs) -> Result<Report> {
    let end = clock::now() + Duration::from_secs_f64(args.time);
    let mut meter = Meter::default();
    let mut clients = Clients::open(args.remote)?;
    while clock::now() < end {
        let Some(client) = clients.next() else {
            bail!("all flows have been used: ask for a shorter time");
        };
        let answered = client.request()?;
        let done = answered.len() as u64;
        client.finish(&answered)?;
        meter.add(done, 0);
    }
    meter.report()
}

/// Sends Requests and forgets them.
pub(crate) fn flood(args: &FloodArgs) -> Result<FloodReport> {
    let mut report = FloodReport {
        requests: 0,
        cookies: 0,
        half_open: 0,
    };
    let mut clients = Clients::open(args.remote)?;
    while report.requests < args.requests {
        let Some(client) = clients.next() else {
            bail!("all flows have been used: ask for fewer Requests");
        };
        for answer in client.request()? {
            if answer.has_cookie {
                report.cookies += 1;
            } else {
                report.half_open += 1;
            }
        }
        report.requests += u64::from(AT_ONCE);
    }
    Ok(report)
}

/// Sockets, and which flows have been used.
struct Clients {
    clients: Vec<Client>,
    turn: usize,
}

impl Clients {
    fn open(remote: SocketAddr) -> Result<Self> {
        let clients = (0..SOCKETS).map(|_| Client::open(remote));
        Ok(Self {
            clients: clients.collect::<Result<_>>()?,
            turn: 0,
        })
    }

    /// The next that has flows left.
    fn next(&mut self) -> Option<&mut Client> {
        self.turn = (self.turn + 1) % self.clients.len();
        let client = &mut self.clients[self.turn];
        client.next_port.checked_add(AT_ONCE)?;
        Some(client)
    }
}

/// One UDP port, and `AT_ONCE` connections at a time over it.
struct Client {
    transport: Box<dyn Transport>,
    path: Path,
    poller: Poller,
    buffer: RecvBuffer,
    batch: Batch,
    /// The first DCCP port not yet used.
    next_port: u16,
}

/// A Response.
#[derive(Clone, Copy)]
struct Answer {
    /// Our DCCP port.
    port: u16,
    seq: Seq,
    has_cookie: bool,
}

/// The initial sequence number of all our connections.
const ISS: Seq = Seq::new(1000);

impl Client {
    fn open(remote: SocketAddr) -> Result<Self> {
        let local = if remote.ip().is_loopback() {
            remote.ip()
        } else {
            Ipv4Addr::UNSPECIFIED.into()
        };
        let carrier = Carrier::new(Encapsulation::Udp, dccp_io::Options::default())?;
        let mut transport = carrier.open(SocketAddr::new(local, 0))?;
        let mut poller = Poller::new(Duration::ZERO)?;
        poller.add(transport.source(), Token(0))?;
        let encap = Encap::Udp {
            local_port: transport.local_addr().port(),
            remote_port: remote.port(),
        };
        Ok(Self {
            path: Path {
                local,
                remote: remote.ip(),
                encap,
            },
            batch: Batch::new(transport.segments_max()),
            transport,
            poller,
            buffer: RecvBuffer::new(),
            next_port: 1,
        })
    }

    /// Sends Requests of `AT_ONCE` new flows, and waits for the answers.
    fn request(&mut self) -> Result<Vec<Answer>> {
        let ports = self.next_port..self.next_port + AT_ONCE;
        self.next_port = ports.end;
        for port in ports.clone() {
            self.push(port, ISS, Kind::Request { service: SERVICE })?;
        }
        self.flush()?;
        let mut answers = Vec::with_capacity(usize::from(AT_ONCE));
        let give_up = clock::now() + PATIENCE;
        while answers.len() < usize::from(AT_ONCE) && clock::now() < give_up {
            let rule = self.path.checksum_rule();
            let may_have_more = self.transport.recv(&mut self.buffer, &mut |received| {
                let packets = received.datagrams.map(|d| wire::parse(&d, rule));
                for packet in packets.flatten() {
                    if packet.ack() == Some(ISS)
                        && matches!(packet.kind, Kind::Response { .. })
                        && ports.contains(&packet.dest_port)
                    {
                        let has_cookie = |opt| matches!(opt, Opt::InitCookie(_));
                        answers.push(Answer {
                            port: packet.dest_port,
                            seq: packet.seq,
                            has_cookie: packet.options.iter().any(has_cookie),
                        });
                    }
                }
            })?;
            if !may_have_more {
                self.poller.wait(Some(PATIENCE), &mut Vec::new())?;
            }
        }
        Ok(answers)
    }

    /// Completes the handshakes, and ends their connections at once.
    fn finish(&mut self, answers: &[Answer]) -> Result<()> {
        for answer in answers {
            self.push(answer.port, ISS.next(), Kind::Ack { ack: answer.seq })?;
        }
        self.flush()?;
        for answer in answers {
            let kind = Kind::Reset {
                ack: answer.seq,
                code: ResetCode::CLOSED,
                data: [0; 3],
            };
            self.push(answer.port, ISS.next().next(), kind)?;
        }
        self.flush()
    }

    fn push(&mut self, port: u16, seq: Seq, kind: Kind) -> Result<()> {
        let options: &[u8] = match kind {
            Kind::Request { .. } => &PADDING,
            _ => &[],
        };
        let packet = Packet {
            source_port: port,
            dest_port: PORT,
            ccval: 0,
            cscov: 0,
            is_short: false,
            seq,
            kind,
            options: Options(options),
            payload: Payload::EMPTY,
        };
        let len = wire::header_len(packet.packet_type(), false, options.len());
        if self.batch.room_for(Ecn::NotEct, len) == 0 {
            self.flush()?;
        }
        let rule = self.path.checksum_rule();
        let is_built = self.batch.push(&self.path, Ecn::NotEct, len, 0, |place| {
            wire::write_header_at(place, &packet).is_ok() && wire::seal(place, 0, rule).is_ok()
        });
        ensure!(is_built, "a {:?} cannot be built", packet.packet_type());
        Ok(())
    }

    fn flush(&mut self) -> Result<()> {
        let mut next = 0;
        while next < self.batch.len() {
            let sent = self.transport.send(&self.batch, next);
            if let Some(dropped) = sent.dropped {
                bail!("the host drops packets: {:?}", dropped.reason);
            }
            next = sent.next;
        }
        self.batch.clear();
        Ok(())
    }
}

//! A peer that behaves like DCCP of the Linux kernel 6.1.
//!
//! It shares no code with our connections beyond reading and writing packets, so that both can be
//! tested against a second opinion. Its behaviour follows captures of the kernel and
//! its sources: LINUX-1 … LINUX-20 of the requirements, cited in the code. For example:
//!
//! - options stand at the end of the option area, the padding in front of them;
//! - preferences are negotiated in the handshake only, numbers (Sequence Window, Ack Ratio) all the
//!   time;
//! - it sends no acknowledgement on a timer, reads no ECN and sends no Elapsed Time;
//! - a Close is answered when the application closes too, and closing drops unsent data.
//!
//! | file | holds |
//! |---|---|
//! | `mod.rs` | the host: ports, sockets by flow, Resets without a socket |
//! | `socket.rs`, `input.rs` | one socket: states, what it sends · what it does with what arrives |
//! | `features.rs`, `ack_vector.rs` | negotiation · Ack Vectors |
//! | `ccid2.rs`, `ccid3.rs` | both halves of each congestion control |

mod ack_vector;
mod ccid2;
mod ccid3;
mod features;
mod input;
mod socket;

use crate::frame::{Content, FrameId, IcmpError};
use crate::loss::Loss;
use crate::net::{Context, Departure};
use crate::node::Node;
use crate::random::Stream;
use crate::report::Report;
use crate::source::App;
use core::time::Duration;
use dccp_proto::path::{Flow, Path};
use dccp_proto::wire::{
    self, Datagram, Ecn, Kind, Options, Packet, PacketType, Payload, ResetCode, ServiceCode,
};
use dccp_proto::{Instant, Seq};
use features::Failure;
use socket::Socket;
use std::collections::BTreeMap;

/// Settings of a Linux host: what `/proc/sys/net/dccp/default` and socket options set.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LinuxConfig {
    /// CCIDs for sending, preferred first. With one only in each direction they count as set by the
    /// application, which changes the handshake.
    pub tx_ccids: Vec<u8>,
    /// CCIDs for receiving, preferred first.
    pub rx_ccids: Vec<u8>,
    /// `seq_window`: the first Sequence Window. It should be 10,000 for CCID 3, which never adapts it.
    pub seq_window: u64,
    /// `request_retries`: how often a Request is repeated.
    pub request_retries: u32,
    /// `tx_qlen`: packets in the send queue of a socket.
    pub tx_qlen: usize,
    /// Checksum Coverage of data, and the least that is accepted.
    pub cscov: Option<u8>,
    /// How long the application takes to close after the peer has (LINUX-7).
    pub close_after: Duration,
    /// MTU of the interface.
    pub mtu: usize,
}

impl Default for LinuxConfig {
    fn default() -> Self {
        Self {
            tx_ccids: vec![2, 3],
            rx_ccids: vec![2, 3],
            seq_window: 100,
            request_retries: 6,
            tx_qlen: 5,
            cscov: None,
            close_after: Duration::from_millis(5),
            mtu: 1500,
        }
    }
}

impl LinuxConfig {
    /// One CCID, set by the application for both directions.
    pub fn with_ccid(ccid: u8) -> Self {
        Self {
            tx_ccids: vec![ccid],
            rx_ccids: vec![ccid],
            seq_window: if ccid == 3 { 10_000 } else { 100 },
            ..Self::default()
        }
    }
}

/// A host with the kernel's DCCP.
#[derive(Debug)]
pub struct LinuxHost {
    config: LinuxConfig,
    listeners: BTreeMap<u16, Listener>,
    sockets: Vec<Socket>,
    /// Sockets that packets can reach.
    by_flow: BTreeMap<Flow, usize>,
    numbers: Option<Stream>,
    scratch: Vec<u8>,
}

#[derive(Debug)]
struct Listener {
    service: ServiceCode,
    app: App,
}

impl LinuxHost {
    /// A host without sockets.
    pub fn new(config: LinuxConfig) -> Self {
        Self {
            config,
            listeners: BTreeMap::new(),
            sockets: Vec::new(),
            by_flow: BTreeMap::new(),
            numbers: None,
            scratch: Vec::new(),
        }
    }

    /// Listens on a port for one Service Code; every connection gets such an application.
    pub fn listen(&mut self, port: u16, service: ServiceCode, app: App) {
        self.listeners.insert(port, Listener { service, app });
    }

    /// Connects, and returns the number of the connection on this host.
    pub fn connect(
        &mut self,
        context: &mut Context<'_>,
        flow: Flow,
        service: ServiceCode,
        app: App,
    ) -> usize {
        let iss = self.initial_number(context);
        let mut socket = Socket::new(flow, false, iss, service, app, self.config.clone());
        socket.connect(context.now());
        self.sockets.push(socket);
        let number = self.sockets.len() - 1;
        self.by_flow.insert(flow, number);
        self.settle(context, number);
        number
    }

    /// The application closes a connection.
    pub fn close(&mut self, context: &mut Context<'_>, number: usize) {
        self.sockets[number].close(context.now());
        self.settle(context, number);
    }

    /// The application closes with `SO_LINGER` 0.
    pub fn abort(&mut self, context: &mut Context<'_>, number: usize) {
        self.sockets[number].abort(context.now());
        self.settle(context, number);
    }

    /// How many connections there have been, accepted ones included, in the order of their begin.
    pub fn connections(&self) -> usize {
        self.sockets.len()
    }

    /// The report of a connection so far.
    pub fn report(&self, number: usize) -> &Report {
        self.sockets[number].report()
    }

    fn initial_number(&mut self, context: &Context<'_>) -> Seq {
        let numbers = &mut self.numbers;
        let numbers = numbers.get_or_insert_with(|| context.stream("initial sequence numbers"));
        Seq::new(numbers.bits())
    }

    fn on_datagram(&mut self, context: &mut Context<'_>, path: Path, packet: &Packet<'_>) {
        let flow = Flow {
            path,
            local_port: packet.dest_port,
            remote_port: packet.source_port,
        };
        let number = match self.by_flow.get(&flow) {
            Some(&number) => number,
            None => match self.accept(context, flow, packet) {
                Ok(number) => number,
                Err(code) => {
                    return self.refuse(context, &flow, packet, Failure::of_code(code));
                }
            },
        };
        let result = self.sockets[number].receive(context.now(), packet);
        if let Err(failure) = result {
            self.refuse(context, &flow, packet, failure);
        }
        self.settle(context, number);
    }

    /// A packet for no socket: a new one, or the code of the Reset that refuses it.
    fn accept(
        &mut self,
        context: &mut Context<'_>,
        flow: Flow,
        packet: &Packet<'_>,
    ) -> Result<usize, ResetCode> {
        let listener = self.listeners.get(&flow.local_port);
        // LINUX-1: a closed port answers "No Connection", never "Connection Refused".
        let (Some(listener), Kind::Request { service }) = (listener, packet.kind) else {
            return Err(ResetCode::NO_CONNECTION);
        };
        if listener.service != service {
            return Err(ResetCode::BAD_SERVICE_CODE);
        }
        let app = listener.app.clone();
        let iss = self.initial_number(context);
        let socket = Socket::new(flow, true, iss, service, app, self.config.clone());
        self.sockets.push(socket);
        let number = self.sockets.len() - 1;
        self.by_flow.insert(flow, number);
        Ok(number)
    }

    /// Answers with a Reset outside of any connection (4340-8.3.1-2).
    fn refuse(
        &mut self,
        context: &mut Context<'_>,
        flow: &Flow,
        packet: &Packet<'_>,
        Failure { code, data }: Failure,
    ) {
        if packet.packet_type() == PacketType::Reset {
            return;
        }
        let reset = Packet {
            source_port: flow.local_port,
            dest_port: flow.remote_port,
            ccval: 0,
            cscov: 0,
            is_short: false,
            seq: packet.ack().map_or(Seq::ZERO, Seq::next),
            kind: Kind::Reset {
                ack: packet.seq,
                code: ResetCode(code),
                data,
            },
            options: Options::EMPTY,
            payload: Payload::EMPTY,
        };
        self.scratch.clear();
        let rule = flow.path.checksum_rule();
        if wire::build(&mut self.scratch, &reset, rule).is_ok() {
            send(context, flow.path, Datagram::new(&self.scratch));
        }
    }

    /// After anything that happened to a socket: sends, forgets it if it is over, sets the timer.
    fn settle(&mut self, context: &mut Context<'_>, number: usize) {
        let socket = &mut self.sockets[number];
        socket.run(context.now());
        let flow = *socket.flow();
        for (bytes, zeros) in socket.take_output() {
            let datagram = Datagram {
                bytes: &bytes,
                zeros,
            };
            send(context, flow.path, datagram);
        }
        if socket.is_over() {
            self.by_flow.remove(&flow);
        }
        let next = self
            .by_flow
            .values()
            .filter_map(|&n| self.sockets[n].next_at());
        context.wake_at(next.min());
    }
}

fn send(context: &mut Context<'_>, path: Path, datagram: Datagram<'_>) {
    context.send(&Departure {
        path,
        // LINUX-20: no ECN.
        ecn: Ecn::NotEct,
        may_fragment: false,
        datagram,
    });
}

impl Node for LinuxHost {
    fn on_frame(&mut self, context: &mut Context<'_>, id: FrameId) {
        let frame = context.frame(id);
        let path = frame.path_of_receiver();
        if !context.is_here(id) {
            return context.lose(id, Loss::Stranger);
        }
        let frame = frame.clone();
        context.deliver(id);
        match frame.content {
            Content::Dccp => {
                if let Ok(packet) = wire::parse(&frame.datagram(), path.checksum_rule()) {
                    self.on_datagram(context, path, &packet);
                }
            }
            Content::Tcp(_) | Content::Udp(_) => {}
            // LINUX-19 in part: an error ends only a connection that is not set up yet.
            Content::Icmp { error, .. } => {
                let IcmpError::Unreachable { .. } = error else {
                    return;
                };
                let requesting = |s: &Socket| s.flow().path == path && s.is_requesting();
                if let Some(number) = self.sockets.iter().position(requesting) {
                    self.sockets[number].give_up();
                    self.settle(context, number);
                }
            }
        }
    }

    fn on_wake(&mut self, context: &mut Context<'_>) {
        let now: Instant = context.now();
        let is_due = |n: &usize| self.sockets[*n].next_at().is_some_and(|at| at <= now);
        let due: Vec<usize> = self.by_flow.values().copied().filter(is_due).collect();
        for number in due {
            self.sockets[number].on_timers(now);
            self.settle(context, number);
        }
    }

    fn check(&self) -> Result<(), String> {
        self.sockets.iter().try_for_each(Socket::check)
    }
}

#[cfg(test)]
mod tests;

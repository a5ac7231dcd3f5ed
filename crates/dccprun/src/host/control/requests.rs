//! The requests, one function each.

use super::info::value_of_connection;
use super::take_data;
use crate::descent::is_descendant;
use crate::host::connection::{self, Caller, Carried};
use crate::host::link::Link;
use crate::host::queue::Queues;
use crate::host::settings::{Stage, check_for_daemon};
use crate::host::table::{Claim, Connection, Phase, Record, unspecified};
use crate::host::{Carrier, Host, errors, own};
use crate::unix::DATAGRAM_MAX;
use core::net::SocketAddr;
use core::num::NonZeroU16;
use dccp::unstable::io::local;
use dccp::{DccpAddr, Options, unstable};
use dccprun_message::option as opt;
use dccprun_message::{Answer, MPS_UNCONNECTED, Op, Request, SocketKey, address, read_address};
use dccprun_queue::{inward, outward};
use std::net::UdpSocket;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::sync::Arc;

/// Ports that are tried where any free one is wanted.
const PORT_ATTEMPTS: usize = 64;

impl Host {
    /// Whether the process at the other end may use this host: it is of the same user, or a descendant, which may have
    /// changed its user.
    pub(in crate::host) fn trusts(&self, socket: &OwnedFd) -> bool {
        let Ok(peer) = local::peer(socket.as_fd()) else {
            return false;
        };
        peer.uid == self.key.uid || is_descendant(peer.pid)
    }

    /// Does what a request asks for. Returns the channel with the answer; `None`: it is answered, or a thread
    /// answers.
    pub(super) fn perform(
        self: &Arc<Self>,
        request: &Request<'_>,
        channel: OwnedFd,
    ) -> Option<(OwnedFd, Result<Answer, i32>)> {
        let key = request.key;
        let result = match request.op {
            Op::Set => self.set(request),
            Op::Get => self.get(request),
            Op::Bind => self.bind(request),
            Op::Listen => return self.listen(key, request.argument, channel),
            Op::LocalName => Ok(self.local_name(key)),
            Op::PeerName => self.peer_name(key),
            Op::TakeError => Ok(self.take_error(key)),
            Op::SendQueue | Op::ReceiveQueue => match self.lend(request, &channel) {
                Ok(()) => return None,
                Err(error) => Err(error),
            },
            Op::Bell => self.send_bell(key),
            Op::Connect => match self.begin(request) {
                Ok(Some(carried)) => return self.start(carried, request, Some(channel)),
                Ok(None) => Ok(Answer::DONE),
                Err(error) => Err(error),
            },
            Op::ConnectLater => match self.begin(request) {
                Ok(Some(carried)) => {
                    self.start(carried, request, None);
                    Err(libc::EINPROGRESS)
                }
                Ok(None) => Ok(Answer::DONE),
                Err(error) => Err(error),
            },
        };
        Some((channel, result))
    }

    fn set(&self, request: &Request<'_>) -> Result<Answer, i32> {
        if matches!(self.carrier, Carrier::Daemon(_)) {
            check_for_daemon(request.argument, request.body)?;
        }
        let mut table = self.table();
        let record = table.entry(request.key)?;
        let stage = stage(record);
        record.settings.set(request.argument, request.body, stage)?;
        Ok(Answer::DONE)
    }

    fn get(&self, request: &Request<'_>) -> Result<Answer, i32> {
        let name = request.argument;
        let room = request
            .body
            .first_chunk()
            .map_or(4, |room| i32::from_ne_bytes(*room));
        let room = usize::try_from(room).map_err(|_| libc::EINVAL)?;
        if room < 4 {
            return Err(libc::EINVAL);
        }
        let mut table = self.table();
        let record = table.get(request.key);
        let settings = record
            .as_ref()
            .map(|r| r.settings.clone())
            .unwrap_or_default();
        if let Some(value) = settings.get(name, room)? {
            return Ok(Answer::body(&value));
        }
        let link = record.and_then(|r| Some(r.connection()?.link.clone()));
        drop(table);
        let value = match name {
            opt::GET_CUR_MPS => {
                let mps = link.map_or(MPS_UNCONNECTED, |link| mps(&*link));
                mps.to_ne_bytes().to_vec()
            }
            // Without a connection, the kernel has no CCIDs.
            _ => value_of_connection(link.as_deref().ok_or(libc::ENOPROTOOPT)?, name, room)?,
        };
        Ok(Answer::body(&value))
    }

    fn bind(&self, request: &Request<'_>) -> Result<Answer, i32> {
        let local = read_address(request.key.family, request.body).ok_or(libc::EINVAL)?;
        // Reports an address that is not this host's.
        UdpSocket::bind(with_port(local, 0)).map_err(|e| errors::of_io(&e))?;
        let settings = self
            .table()
            .get(request.key)
            .map(|record| record.settings.clone());
        let is_v6_only = settings.is_some_and(|settings| settings.is_v6_only);
        let local = self.free_address(Claim {
            address: local,
            is_v6_only,
        })?;
        let mut table = self.table();
        let record = table.entry(request.key)?;
        if record.local.is_some() || !matches!(record.phase, Phase::Idle) {
            return Err(libc::EINVAL);
        }
        record.local = Some(local);
        Ok(Answer::DONE)
    }

    /// The address, with a port that is free if it has none.
    pub(super) fn free_address(&self, mut claim: Claim) -> Result<SocketAddr, i32> {
        if claim.address.port() != 0 {
            self.check_free(claim)?;
            return Ok(claim.address);
        }
        for _ in 0..PORT_ATTEMPTS {
            let mut bytes = [0; 2];
            getrandom::fill(&mut bytes).map_err(|_| libc::EAGAIN)?;
            // RFC 4340 §19.9: the dynamic range.
            claim.address.set_port(0xC000 | u16::from_le_bytes(bytes));
            if self.check_free(claim).is_ok() {
                return Ok(claim.address);
            }
        }
        Err(libc::EADDRINUSE)
    }

    /// Checks that no socket of the program has the address. Those that the program has closed are forgotten.
    fn check_free(&self, claim: Claim) -> Result<(), i32> {
        let holders = self.table().holders(claim);
        let (alive, closed): (Vec<_>, Vec<_>) =
            holders.into_iter().partition(|key| self.is_alive(*key));
        for key in closed {
            let mut table = self.table();
            // A connection's thread, or a listener's, removes it.
            if table
                .get(key)
                .is_some_and(|r| matches!(r.phase, Phase::Idle | Phase::Ended { .. }))
            {
                table.remove(key);
            }
        }
        if alive.is_empty() {
            Ok(())
        } else {
            Err(libc::EADDRINUSE)
        }
    }

    /// Starts the thread of a connection. It answers at the end of the handshake, if the program waits.
    fn start(
        self: &Arc<Self>,
        carried: Carried,
        request: &Request<'_>,
        channel: Option<OwnedFd>,
    ) -> Option<(OwnedFd, Result<Answer, i32>)> {
        let key = carried.key;
        let channel = channel.map(Arc::new);
        let caller = Caller {
            plugs: u32::try_from(request.argument).unwrap_or(0),
            channel: channel.clone(),
        };
        let run = move |host: &Arc<Self>| carried.connect(host, caller);
        if self.spawn("dccprun-out", run).is_ok() {
            return None;
        }
        // The program's socket is closed. A call that waits returns the error.
        let error = if channel.is_some() { 0 } else { libc::ENOBUFS };
        self.table().end(key, error);
        Some((Arc::into_inner(channel?)?, Err(libc::ENOBUFS)))
    }

    /// The connection whose handshake begins; `None`: it is open already.
    fn begin(&self, request: &Request<'_>) -> Result<Option<Carried>, i32> {
        let key = request.key;
        let remote = read_address(key.family, request.body).ok_or(libc::EINVAL)?;
        // The program's end connects before the request.
        take_data(self);
        let data = self.table().take_arrived(key);
        let (settings, local) = {
            let mut table = self.table();
            let record = table.entry(key)?;
            match &mut record.phase {
                Phase::Idle => (record.settings.clone(), record.local),
                Phase::Connecting(_) => return Err(libc::EALREADY),
                Phase::Open { is_told, .. } if !*is_told => {
                    *is_told = true;
                    return Ok(None);
                }
                Phase::Ended { .. } if record.error != 0 => return Err(record.take_error()),
                _ => return Err(libc::EISCONN),
            }
        };
        let data = data.ok_or(libc::ENOTCONN)?;
        let place = with_port(canonical(remote), self.defaults.remote_udp_port);
        let to = DccpAddr::from((place, remote.port()));
        let link = match &self.carrier {
            Carrier::Engine(engine) => {
                let service = settings.service(&self.defaults);
                let options = settings.options(&self.defaults, engine);
                let options = options.service_codes(service.as_slice());
                own::connect(to, &from_local(options, local))
            }
            // The daemon chooses the address of this end.
            Carrier::Daemon(_) if local.is_some() => Err(libc::EADDRNOTAVAIL),
            Carrier::Daemon(daemon) => daemon.connect(to, &settings, &self.defaults),
        };
        let link = link.inspect_err(|_| self.table().end(key, 0))?;
        let queues: Arc<Queues> = Arc::default();
        let mut table = self.table();
        let record = table.entry(key)?;
        record.local = connection::local(&*link, key.family);
        record.phase = Phase::Connecting(Connection {
            link: link.clone(),
            peer: remote,
            is_accepted: false,
            queues: queues.clone(),
        });
        Ok(Some(Carried {
            key,
            link,
            data: Arc::new(data),
            queues,
        }))
    }

    fn local_name(&self, key: SocketKey) -> Answer {
        let mut table = self.table();
        let local = table.get(key).map(|record| record.local());
        Answer::body(&address(local.unwrap_or_else(|| unspecified(key.family))))
    }

    fn peer_name(&self, key: SocketKey) -> Result<Answer, i32> {
        let mut table = self.table();
        let record = table.get(key).ok_or(libc::ENOTCONN)?;
        let (peer, link) = match &record.phase {
            Phase::Open { connection, .. } => (connection.peer, Some(&connection.link)),
            // One that was accepted has had a peer, which accept returns.
            Phase::Ended {
                peer: Some(peer), ..
            } => (*peer, None),
            _ => return Err(libc::ENOTCONN),
        };
        let mps = link.map_or(MPS_UNCONNECTED, |link| mps(&**link));
        let body = [&address(peer)[..], &mps.to_ne_bytes()].concat();
        Ok(Answer::body(&body))
    }

    /// Answers with a queue of a connection.
    fn lend(&self, request: &Request<'_>, channel: &OwnedFd) -> Result<(), i32> {
        let queues = self.queues(request.key)?;
        let send = |descriptor: BorrowedFd<'_>| connection::reply_with(channel, descriptor);
        let lent = match request.op {
            Op::SendQueue => queues.outward.lend(outward::Consumer::create, send),
            _ => queues.inward.lend(inward::Producer::create, send),
        };
        lent.map_err(|e| errors::of_io(&e))
    }

    /// Sends another bell for a connection's received datagrams.
    fn send_bell(&self, key: SocketKey) -> Result<Answer, i32> {
        let queues = self.queues(key)?;
        let rung = queues.send_bell(&self.key.bell());
        rung.map_err(|e| errors::of_io(&e))?;
        Ok(Answer::DONE)
    }

    fn queues(&self, key: SocketKey) -> Result<Arc<Queues>, i32> {
        let mut table = self.table();
        match table.get(key).map(|record| &record.phase) {
            Some(Phase::Open { connection, .. }) => Ok(connection.queues.clone()),
            _ => Err(libc::ENOTCONN),
        }
    }

    fn take_error(&self, key: SocketKey) -> Answer {
        let mut table = self.table();
        let Some(record) = table.get(key) else {
            return Answer::body(&0_i32.to_ne_bytes());
        };
        if let Phase::Open { is_told, .. } = &mut record.phase {
            *is_told = true;
        }
        Answer::body(&record.take_error().to_ne_bytes())
    }
}

/// The greatest length of a datagram that the program may send.
fn mps(link: &dyn Link) -> u32 {
    let mps = link.mps().map(|mps| mps.min(DATAGRAM_MAX));
    mps.and_then(|mps| u32::try_from(mps).ok())
        .unwrap_or(MPS_UNCONNECTED)
}

/// The options of a connection from the address to which the program has bound its socket.
fn from_local(mut options: Options, local: Option<SocketAddr>) -> Options {
    let Some(local) = local else {
        return options;
    };
    if !local.ip().is_unspecified() {
        options = options.bind(with_port(canonical(local), 0));
    }
    match NonZeroU16::new(local.port()) {
        Some(port) => unstable::from_dccp_port(options, port),
        None => options,
    }
}

fn stage(record: &Record) -> Stage {
    match &record.phase {
        Phase::Idle => Stage::Closed,
        Phase::Open { connection, .. } if connection.is_accepted => Stage::Server,
        _ => Stage::Used,
    }
}

pub(super) fn with_port(mut place: SocketAddr, port: u16) -> SocketAddr {
    place.set_port(port);
    place
}

/// An IPv4 address in IPv6 form becomes IPv4.
fn canonical(mut place: SocketAddr) -> SocketAddr {
    if place.ip().to_canonical() != place.ip() {
        place.set_ip(place.ip().to_canonical());
    }
    place
}

//! Listening for connections.

use crate::addr::{DccpAddr, ToDccpAddrs, random_dccp_port};
use crate::command::{Command, Listen};
use crate::engine::Engine;
use crate::error::{AcceptError, BindError, OptionError};
use crate::group::{self, Membership};
use crate::incoming::{Accepted, Incoming, ListenerEvent, ListenerStats};
use crate::limits::ACCEPTED_KEEPALIVE;
use crate::options::Options;
use crate::patience::{Patience, Side, Waited};
#[cfg(unix)]
use crate::signal::ReadyFd;
use crate::socket::Socket;
use core::time::Duration;
use dccp_io::{Carrier, Encapsulation, OpenError};
use dccp_proto::Config;
use dccp_proto::config::bounds;
use std::net::UdpSocket;
use std::sync::Arc;

/// Waits for connections to one DCCP port at one or more addresses.
///
/// Dropping it stops listening and aborts the connections that were not accepted; accepted ones live on.
#[derive(Debug)]
pub struct Listener {
    engine: Engine,
    incoming: Arc<Incoming>,
    locals: Vec<DccpAddr>,
    options: Options,
}

/// DCCP ports tried where any free one is wanted.
const PORT_ATTEMPTS: usize = 64;

impl Listener {
    /// Listens at every address that `addrs` gives. UDP port 0 and DCCP port 0 stand for any that is free:
    /// [`local_addrs`](Self::local_addrs) returns them.
    ///
    /// To serve both families, give both `0.0.0.0` and `[::]`; to serve link-local IPv6 peers too, this host's own
    /// link-local address with its interface.
    ///
    /// # Errors
    /// When an option is not allowed, or an address or port is taken.
    pub fn bind(addrs: impl ToDccpAddrs, options: &Options) -> Result<Self, BindError> {
        let locals = addrs.to_dccp_addrs()?;
        let is_any = locals.iter().any(|local| local.dccp_port == 0);
        for _ in 1..if is_any { PORT_ATTEMPTS } else { 1 } {
            match Self::bind_at(locals.clone(), None, options) {
                Err(BindError::InUse { .. }) => {}
                bound => return bound,
            }
        }
        Self::bind_at(locals, None, options)
    }

    /// Listens at a UDP socket that is bound already, for example one that a service manager opened. DCCP port 0 stands for
    /// any that is free. Datagrams that wait in the socket are received. An IPv6 socket that also serves IPv4 does so here:
    /// IPv4 peers have IPv4 addresses.
    ///
    /// The socket becomes non-blocking and gets the options that DCCP needs; its duplicates in other processes share these.
    /// If it breaks, the engine goes on with a duplicate of it instead of binding a new one, because the address stays in
    /// use while another process holds the socket. [`poll_event`](Self::poll_event) reports both.
    ///
    /// # Errors
    /// When an option is not allowed, or the engine has several threads. When the socket is no UDP socket, is not bound to a
    /// port, or is connected. When a listener or connection of the engine has its address.
    pub fn from_udp_socket(
        socket: UdpSocket,
        dccp_port: u16,
        options: &Options,
    ) -> Result<Self, BindError> {
        if options.encapsulation != Encapsulation::Udp {
            let problem = "must be UDP, which the given socket carries";
            return Err(OptionError::new("encapsulation", problem).into());
        }
        let no_address = |_| OpenError::Unfit("must be a UDP socket");
        let mut local = socket.local_addr().map_err(no_address)?;
        local.set_ip(local.ip().to_canonical());
        Self::bind_at(vec![(local, dccp_port).into()], Some(socket), options)
    }

    /// Listens at these addresses, or at the only one of them with the socket that was given.
    fn bind_at(
        mut locals: Vec<DccpAddr>,
        mut given: Option<UdpSocket>,
        options: &Options,
    ) -> Result<Self, BindError> {
        let is_any = locals.iter().any(|local| local.dccp_port == 0);
        let config = accepting(options.checked_config(bounds::SERVICE_CODES)?);
        if is_any {
            let dccp_port = random_dccp_port()?;
            let unset = locals.iter_mut().filter(|local| local.dccp_port == 0);
            unset.for_each(|local| local.dccp_port = dccp_port);
        }
        let dccp_port = locals.first().ok_or(BindError::NoAddress)?.dccp_port;
        if locals.iter().any(|local| local.dccp_port != dccp_port) {
            return Err(OptionError::new("addrs", "must have one DCCP port").into());
        }
        // 6773-3.8-1: a program with the stack inside leaves this port to a system-wide service.
        let is_reserved = locals.iter().any(|a| a.udp_port == RESERVED_UDP_PORT);
        let is_refused = is_reserved && !options.is_system_service();
        if options.encapsulation == Encapsulation::Udp && is_refused {
            return Err(BindError::ReservedUdpPort);
        }
        let engine = options.engine_or_shared()?;
        if given.is_some() && engine.threads() > 1 {
            let problem =
                "must have one thread for a socket that is given: each thread needs its own";
            return Err(OptionError::new("engine", problem).into());
        }
        let mut listener = Self {
            engine,
            incoming: Arc::new(Incoming::new(
                options.buffers,
                options.waiting,
                options.backlog,
                options.per_source,
            )),
            locals,
            options: options.clone(),
        };
        listener.settle()?;
        let mut sockets = listener.open_shared()?;
        for thread in 0..listener.engine.threads() {
            let locals = listener.locals.iter().map(DccpAddr::udp_addr).collect();
            let engine = listener.engine.at(thread);
            let bound = engine.ask(|reply| {
                Command::Listen(Box::new(Listen {
                    encapsulation: options.encapsulation,
                    gso: options.gso,
                    locals,
                    dccp_port,
                    is_any_port: is_any,
                    services: options.services(),
                    config: config.clone(),
                    incoming: listener.incoming.clone(),
                    thread,
                    sockets: sockets.iter_mut().map(Iterator::next).collect(),
                    given: given.take(),
                    reply,
                }))
            });
            // Where this fails the listener is dropped, and with it the threads that listen already.
            let bound = bound??.into_iter();
            listener.locals = bound.map(|local| (local, dccp_port).into()).collect();
        }
        Ok(listener)
    }

    /// Waits until earlier listeners that were dropped have gone from all threads, if there are several: the last of the
    /// threads lets the others' sockets go, which happens in their next turn.
    fn settle(&self) -> Result<(), BindError> {
        let threads = self.engine.threads();
        if threads == 1 {
            return Ok(());
        }
        for _ in 0..2 {
            for thread in 0..threads {
                self.engine.at(thread).ask(Command::Answer)?;
            }
        }
        Ok(())
    }

    /// Opens a socket for each address and thread, if there are several threads. All are open before the first is used, so
    /// that each flow stays with one thread. None where this engine may have them already.
    fn open_shared(&mut self) -> Result<Vec<std::vec::IntoIter<Membership>>, BindError> {
        let threads = self.engine.threads();
        let mut all = Vec::new();
        for local in &mut self.locals {
            let mut sockets = Vec::new();
            if threads > 1 {
                let carrier =
                    Carrier::new(self.options.encapsulation, dccp_io::Options::default())?;
                match carrier.open_shared(local.udp_addr(), threads) {
                    Ok(transports) => {
                        let udp_port = transports.first().map_or(0, |t| t.local_addr().port());
                        local.udp_port = udp_port;
                        let mailboxes = self.engine.mailboxes();
                        let wake = mailboxes.map(|mailbox| -> group::CloseIdle {
                            Box::new(move || mailbox.push(Command::CloseIdle))
                        });
                        sockets = group::found(transports, wake);
                    }
                    Err(OpenError::InUse(_)) => {}
                    Err(other) => return Err(other.into()),
                }
            }
            all.push(sockets.into_iter());
        }
        Ok(all)
    }

    /// The addresses where it listens, with the ports that it got.
    pub fn local_addrs(&self) -> &[DccpAddr] {
        &self.locals
    }

    /// The next connection whose handshake is complete.
    ///
    /// # Errors
    /// When there is none (in time), or the listener is closed.
    pub fn accept(&self) -> Result<Socket, AcceptError> {
        self.take(self.options.waiting.patience(Side::Recv))
    }

    /// The next connection within `at_most`.
    ///
    /// # Errors
    /// As [`accept`](Self::accept).
    pub fn accept_timeout(&self, at_most: Duration) -> Result<Socket, AcceptError> {
        self.take(Patience::For(at_most))
    }

    /// Whether a call to accept would not wait.
    pub fn is_ready(&self) -> bool {
        self.incoming.is_ready()
    }

    /// Removes and returns the oldest event; `None` if there is none. Never blocks.
    ///
    /// An event comes when the socket at one of the addresses fails ([`ListenerEvent::SocketLost`]), and when a new one
    /// works ([`ListenerEvent::SocketRestored`]). With several threads, each thread's socket has its own events. The
    /// application has nothing to do: the listener and its connections stay, and the engine opens the new socket.
    ///
    /// The listener keeps the newest 16 events. They neither end a waiting [`accept`](Self::accept) nor make
    /// [`ready_fd`](Self::ready_fd) readable. So call this after each `accept`, or each time that
    /// [`accept_timeout`](Self::accept_timeout) times out, in a loop until it returns `None`.
    pub fn poll_event(&self) -> Option<ListenerEvent> {
        self.incoming.pop_event()
    }

    /// Whether this process opened the listener, and no parent of it: in a child other calls may wait for ever.
    #[doc(hidden)]
    pub fn is_of_this_process(&self) -> bool {
        self.engine.is_here()
    }

    /// The connections that this listener has refused because of its limits. Packets that it drops or answers without a
    /// connection are in [`Stats::endpoint`](crate::Stats::endpoint) of its connections.
    pub fn stats(&self) -> ListenerStats {
        self.incoming.stats()
    }

    /// A descriptor that is readable while a connection waits.
    ///
    /// # Errors
    /// When the system has no descriptor left.
    #[cfg(unix)]
    pub fn ready_fd(&self) -> std::io::Result<ReadyFd> {
        self.incoming.ready_fd()
    }

    /// As [`accept`](Self::accept), for tasks.
    #[cfg(feature = "tokio")]
    pub(crate) async fn accepted(&self) -> Result<Socket, AcceptError> {
        Ok(self.socket(&self.incoming.popped().await?))
    }

    fn take(&self, patience: Patience) -> Result<Socket, AcceptError> {
        if !self.engine.is_here() {
            return Err(Waited::EngineGone.into());
        }
        Ok(self.socket(&self.incoming.pop(patience)?))
    }

    fn socket(&self, accepted: &Accepted) -> Socket {
        let engine = self.engine.at(accepted.thread);
        Socket::from_accepted(&engine, accepted, &self.options)
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        for thread in 0..self.engine.threads() {
            let unlisten = Command::Unlisten(self.incoming.clone(), thread);
            self.engine.at(thread).send(unlisten);
        }
    }
}

/// UDP port of a system-wide DCCP service (RFC 6773 §3.8).
const RESERVED_UDP_PORT: u16 = 6511;

/// The settings of connections that come in.
fn accepting(config: Config) -> Config {
    Config {
        keepalive: config.keepalive.or(Some(ACCEPTED_KEEPALIVE)),
        ..config
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_that_come_in_ask_silent_peers_for_a_sign_of_life() {
        let of = |keepalive| {
            let config = Config {
                keepalive,
                ..Config::default()
            };
            accepting(config).keepalive
        };
        assert_eq!(of(None), Some(ACCEPTED_KEEPALIVE));
        assert_eq!(
            of(Some(Duration::from_secs(5))),
            Some(Duration::from_secs(5))
        );
    }
}

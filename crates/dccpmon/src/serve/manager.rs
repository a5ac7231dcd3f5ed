//! The service manager that started the server, for example systemd. It passes UDP sockets (`LISTEN_FDS`), and waits for
//! a message that the server is ready (`NOTIFY_SOCKET`).

use super::log::complain;
use crate::cli::{Family, Serve};
use core::net::SocketAddr;
use dccp::unstable::io::end_reports;
use dccp::{DEFAULT_UDP_PORT, Encapsulation, Listener, Options};
use dccp_cli::Failure;
use listenfd::ListenFd;
use sd_notify::NotifyState;
use socket2::SockRef;
use std::env;
use std::net::UdpSocket;

/// The most sockets that a service manager may pass.
const SOCKETS_MAX: usize = 8;
/// The number of the first descriptor that is passed.
const FIRST: usize = 3;

/// The next step for a descriptor of another kind.
const USE_UDP: &str = "pass bound UDP sockets only: ListenDatagram= in the socket unit";

/// A UDP socket of the service manager.
pub(super) struct Passed {
    /// Its descriptor and name, for messages.
    name: String,
    socket: UdpSocket,
    local: SocketAddr,
}

/// Takes the sockets that the service manager passed to this process; none is usual. Must be called before any thread
/// starts, because it changes the environment.
pub(super) fn take_sockets() -> Result<Vec<Passed>, Failure> {
    // Without it the other variables are meant for another process.
    if env::var_os("LISTEN_PID").is_none() {
        return Ok(Vec::new());
    }
    let names = env::var("LISTEN_FDNAMES").unwrap_or_default();
    let mut names = names.split(':');
    let mut descriptors = ListenFd::from_env();
    let count = descriptors.len();
    if count > SOCKETS_MAX {
        return Err(Failure::run(
            format!("LISTEN_FDS={count}: must be at most {SOCKETS_MAX} sockets"),
            "pass one socket for each address: ListenDatagram= in the socket unit",
        ));
    }
    let mut passed = Vec::new();
    for index in 0..count {
        let name = match names.next().filter(|name| !name.is_empty()) {
            Some(name) => format!("descriptor {} ({name})", FIRST + index),
            None => format!("descriptor {}", FIRST + index),
        };
        let socket = descriptors.take_udp_socket(index).ok().flatten();
        let local = socket.as_ref().and_then(|s| s.local_addr().ok());
        let (Some(socket), Some(local)) = (socket, local) else {
            return Err(Failure::run(
                format!("{name}: must be a UDP socket"),
                USE_UDP,
            ));
        };
        passed.push(Passed {
            name,
            socket,
            local,
        });
    }
    Ok(passed)
}

/// The values of the server with these sockets, whose port replaces the default one.
pub(super) fn with_sockets(asked: &Serve, passed: &[Passed]) -> Result<Serve, Failure> {
    let Some(first) = passed.first() else {
        return Ok(asked.clone());
    };
    let port = first.local.port();
    if let Some(other) = passed.iter().find(|p| p.local.port() != port) {
        return Err(Failure::run(
            format!(
                "{} and {}: must have the same UDP port, not {port} and {}",
                first.name,
                other.name,
                other.local.port()
            ),
            "give all ListenDatagram= of the socket unit the same port",
        ));
    }
    if asked.over == Some(Encapsulation::Ip) {
        return Err(Failure::usage(
            format!("--over ip: must not be given with {}", first.name),
            "leave --over out, or start the server without its socket unit",
        ));
    }
    if port != 0 && ![port, DEFAULT_UDP_PORT].contains(&asked.udp_port) {
        return Err(Failure::usage(
            format!(
                "--port {}: must be {port}, the port of {}",
                asked.udp_port, first.name
            ),
            "leave --port out, or change ListenDatagram= in the socket unit",
        ));
    }
    check_family(asked.family, passed)?;
    Ok(Serve {
        udp_port: port,
        ..asked.clone()
    })
}

/// Checks that `-4` and `-6` agree with the sockets.
fn check_family(family: Family, passed: &[Passed]) -> Result<(), Failure> {
    let (option, is_ipv6) = match family {
        Family::Any => ("", None),
        Family::V4 => ("-4", Some(false)),
        Family::V6 => ("-6", Some(true)),
    };
    let is_other = |p: &&Passed| is_ipv6.is_some_and(|v6| p.local.is_ipv6() != v6);
    if let Some(other) = passed.iter().find(is_other) {
        return Err(Failure::usage(
            format!(
                "{option}: must not be given with {} at {}",
                other.name, other.local
            ),
            format!("leave {option} out, or change ListenDatagram= in the socket unit"),
        ));
    }
    Ok(())
}

impl Passed {
    /// Its address and port, and those of IPv4 if it serves both versions.
    pub(super) fn places(&self) -> Vec<SocketAddr> {
        let mut places = vec![self.local];
        let serves_both = self.local.ip().is_unspecified()
            && SockRef::from(&self.socket)
                .only_v6()
                .is_ok_and(|only| !only);
        if self.local.is_ipv6() && serves_both {
            places.push(([0; 4], self.local.port()).into());
        }
        places
    }

    /// Listens at a duplicate of the socket.
    pub(super) fn listen(&self, dccp_port: u16, options: &Options) -> Result<Listener, Failure> {
        let socket = self
            .socket
            .try_clone()
            .map_err(|e| Failure::run(format!("{}: {e}", self.name), "raise ulimit -n"))?;
        Listener::from_udp_socket(socket, dccp_port, options)
            .map_err(|e| Failure::run(format!("{}: {e}", self.name), USE_UDP))
    }
}

/// After the server has ended the service manager waits for datagrams again, and errors that the socket reports would
/// end its wait.
impl Drop for Passed {
    fn drop(&mut self) {
        // A system that refuses this has not permitted the reports either.
        let _ = end_reports(&self.socket);
    }
}

/// Tells the service manager that clients are served.
pub(super) fn report_ready() {
    report(NotifyState::Ready);
}

/// Tells the service manager that the server ends.
pub(super) fn report_stopping() {
    report(NotifyState::Stopping);
}

/// Sends a message if a service manager waits for it. Without the message the server works, so that an error is only
/// printed.
fn report(state: NotifyState<'_>) {
    if let Err(e) = sd_notify::notify(&[state]) {
        complain(&format!("NOTIFY_SOCKET: the message was not sent: {e}"));
    }
}

//! Opens what a plan needs: the socket for applications, or the listeners.

use super::table::{DOORS, Place};
use crate::cli::{Plan, Side, WhenFull};
use crate::limits::{CONNECT_MAX, DCCP_PORT, DEAD_AFTER, KEEPALIVE, PACKET, SERVICE};
use crate::udp::UdpPort;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use dccp::proto::cc::Ccid;
use dccp::proto::cc::registry::Ccids;
use dccp::{BindError, DEFAULT_UDP_PORT, DccpAddr, Listener, Options, ReadyFd, ToDccpAddrs};
use dccp_cli::Failure;
use mio::unix::SourceFd;
use mio::{Interest, Registry};
use std::os::fd::AsRawFd as _;

/// Where flows begin.
pub(super) enum Door {
    /// The socket where applications send to.
    Connect(UdpPort),
    /// Listeners with the descriptors that are watched.
    Listen(Vec<(Listener, ReadyFd)>),
}

/// A side that is ready to work.
pub(super) struct Opened {
    pub(super) door: Door,
    pub(super) options: Options,
    pub(super) peers: Vec<DccpAddr>,
    /// The first line of the log.
    pub(super) banner: String,
}

/// Opens the sockets of a plan.
///
/// # Errors
/// An address is wrong or taken.
pub(super) fn open(plan: &Plan, registry: &Registry) -> Result<Opened, Failure> {
    let options = options(plan);
    let version = env!("CARGO_PKG_VERSION");
    match &plan.side {
        Side::Connect(peer) => {
            let peers = peers(peer)?;
            let (mut port, local) = UdpPort::bind(plan.udp)
                .and_then(|port| port.local_addr().map(|local| (port, local)))
                .map_err(|e| no_udp(plan, &e))?;
            port.register(registry, Place::Door(0).token())
                .map_err(|e| no_udp(plan, &e))?;
            let to: Vec<String> = peers.iter().map(DccpAddr::to_string).collect();
            let to = to.join(" or ");
            Ok(Opened {
                door: Door::Connect(port),
                options,
                peers,
                banner: format!("dccp-bridge {version} takes UDP at {local} to {to}"),
            })
        }
        Side::Listen(at) => {
            let listeners = listen(at, &options)?;
            let places: Vec<String> = listeners
                .iter()
                .flat_map(Listener::local_addrs)
                .map(DccpAddr::to_string)
                .collect();
            let places = places.join(" and ");
            let watched = listeners.into_iter().enumerate();
            let watched = watched
                .map(|(index, listener)| watch(index, listener, registry))
                .collect::<std::io::Result<Vec<_>>>();
            let watched = watched.map_err(|e| {
                Failure::run(
                    format!("the listener cannot be watched: {e}"),
                    "raise this system's limits of open files",
                )
            })?;
            Ok(Opened {
                door: Door::Listen(watched),
                options,
                peers: Vec::new(),
                banner: format!(
                    "dccp-bridge {version} listens at {places}, UDP to {}",
                    plan.udp
                ),
            })
        }
    }
}

fn watch(
    index: usize,
    listener: Listener,
    registry: &Registry,
) -> std::io::Result<(Listener, ReadyFd)> {
    let ready = listener.ready_fd()?;
    let token = Place::Door(index).token();
    registry.register(&mut SourceFd(&ready.as_raw_fd()), token, Interest::READABLE)?;
    Ok((listener, ready))
}

/// The settings of all connections.
fn options(plan: &Plan) -> Options {
    let all: Vec<u8> = Ccids::default().iter().map(Ccid::number).collect();
    let ccids = match (plan.ccid, &plan.side) {
        (Some(ccid), _) => vec![ccid],
        (None, Side::Connect(_)) => vec![2],
        (None, Side::Listen(_)) => all,
    };
    let when_full = match plan.when_full {
        WhenFull::Oldest => dccp::WhenFull::DropOldest,
        // The bridge drops them itself, before the queue would refuse them.
        WhenFull::Newest => dccp::WhenFull::Error,
    };
    let mut options = Options::new()
        .nonblocking(true)
        .service_code(SERVICE)
        .encapsulation(plan.over)
        .send_ccids(&ccids)
        .recv_ccids(&ccids)
        .lifetime(plan.max_age)
        .send_buffer(plan.queue)
        .send_buffer_bytes(PACKET * plan.queue as u64)
        .keepalive(KEEPALIVE)
        .when_full(when_full)
        .connect_timeout(CONNECT_MAX)
        .dead_after(DEAD_AFTER)
        .backlog(plan.max_flows)
        .connections_per_source(plan.max_flows);
    if let Some(law) = &plan.law {
        options = options.law(law.config.clone());
    }
    options
}

/// The addresses of the other side.
fn peers(text: &str) -> Result<Vec<DccpAddr>, Failure> {
    let whole = with_dccp_port(text);
    let found = whole.as_str().to_dccp_addrs();
    let peers = found.map_err(|e| Failure::usage(format!("--peer {text}: {e}"), e.next_step()))?;
    if peers.is_empty() {
        return Err(Failure::usage(
            format!("--peer {text}: the name has no address"),
            "check the name",
        ));
    }
    Ok(peers)
}

fn with_dccp_port(text: &str) -> String {
    if text.contains('/') {
        text.to_owned()
    } else {
        format!("{text}/{DCCP_PORT}")
    }
}

fn no_udp(plan: &Plan, e: &std::io::Error) -> Failure {
    Failure::run(
        format!("--udp {}: cannot be opened: {e}", plan.udp),
        "choose another port, or an address of this host",
    )
}

/// Listens at these addresses, or at all of this host. A host without IPv6 is no error then.
fn listen(at: &[String], options: &Options) -> Result<Vec<Listener>, Failure> {
    if at.len() > DOORS {
        return Err(Failure::usage(
            format!("--at: must be at most {DOORS} addresses"),
            "write 0.0.0.0:14233/5002 for all IPv4 addresses",
        ));
    }
    let mut listeners = Vec::new();
    for text in at {
        let whole = with_dccp_port(text);
        let listener = Listener::bind(whole.as_str(), options).map_err(|e| {
            let what = format!("--at {text}: {e}");
            match e {
                BindError::Address(_) => Failure::usage(what, e.next_step()),
                _ => Failure::run(what, e.next_step()),
            }
        })?;
        listeners.push(listener);
    }
    if !at.is_empty() {
        return Ok(listeners);
    }
    let mut refusal = None;
    let any: [IpAddr; 2] = [Ipv4Addr::UNSPECIFIED.into(), Ipv6Addr::UNSPECIFIED.into()];
    for ip in any {
        match Listener::bind(DccpAddr::new(ip, DEFAULT_UDP_PORT, DCCP_PORT), options) {
            Ok(listener) => listeners.push(listener),
            Err(e) => refusal = refusal.or(Some(e)),
        }
    }
    match refusal {
        Some(e) if listeners.is_empty() => Err(Failure::run(
            format!("UDP port {DEFAULT_UDP_PORT}: {e}"),
            e.next_step(),
        )),
        _ => Ok(listeners),
    }
}

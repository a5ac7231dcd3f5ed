//! The daemon: starts its parts, then waits for signals.

use crate::admin;
use crate::gatekeeper::Gatekeeper;
use crate::metrics;
use crate::office::Office;
use crate::policy::{Policy, Service};
use crate::trace::Traces;
use core::num::NonZeroUsize;
use core::time::Duration;
use dccp::{DccpAddr, Encapsulation, Engine, EngineOptions, Listener, Options, clock};
use dccp_cli::log::print;
use dccp_cli::{Failure, exit};
use dccp_ring_ipc::{RingLimits, RingServer};
use listenfd::ListenFd;
use sd_notify::NotifyState;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use std::fs::Permissions;
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};

/// The longest time at the end for connections to close.
const CLOSING: Duration = Duration::from_secs(2);

/// Runs the daemon until a signal ends it.
///
/// # Errors
/// The policy is wrong, or the system lacks something that it needs.
pub(crate) fn run(path: &Path) -> Result<u8, Failure> {
    let policy = Policy::read(path)?;
    let service = policy.service.clone();
    let signals = signals()?;
    let sockets = Sockets::take()?;
    let traces = Arc::new(Traces::default());
    let engine = start_engine(&service, traces.clone())?;
    let owned = own_port(&engine, service.udp_port)?;
    if service.protocol_33 {
        check_protocol_33(&engine)?;
    }
    let gatekeeper = Gatekeeper::new(policy, engine.clone());
    let office = Arc::new(Office {
        policy: path.to_owned(),
        rings: lend(&service, sockets.rings, gatekeeper.clone())?,
        gatekeeper,
        engine: engine.clone(),
        traces,
        since: clock::now(),
    });
    let admin = match sockets.admin {
        Some(listener) => listener,
        None => bind_admin(&service.admin_socket)?,
    };
    admin::server::start(admin, office.clone()).map_err(|e| no_thread(&e))?;
    let metrics = match service.metrics {
        Some(at) => Some(metrics::serve(
            at,
            service.connection_metrics,
            office.clone(),
        )?),
        None => None,
    };
    print(&format!(
        "dccpd {} lends DCCP at {} (UDP port {})",
        env!("CARGO_PKG_VERSION"),
        service.socket.display(),
        service.udp_port
    ));
    // Without systemd there is no receiver.
    let _ = sd_notify::notify(&[NotifyState::Ready]);
    wait(&signals, &office);
    let _ = sd_notify::notify(&[NotifyState::Stopping]);
    print("dccpd ends");
    // The connections of all programs close first.
    office.rings.stop();
    drop((metrics, owned));
    // Those that do not close in time are forgotten.
    let _ = engine.wait_idle(CLOSING);
    let _ = std::fs::remove_file(&service.admin_socket);
    Ok(exit::DONE)
}

/// Reads signals until one ends the daemon. Tells the watchdog of systemd that all threads work.
fn wait(signals: &Receiver<i32>, office: &Office) {
    let watchdog = sd_notify::watchdog_enabled();
    let pause = watchdog.map_or(Duration::MAX, |time| time / 3);
    loop {
        match signals.recv_timeout(pause.min(Duration::from_hours(1))) {
            // Its mistakes are in the log.
            Ok(SIGHUP) => drop(office.reload()),
            Ok(_) | Err(RecvTimeoutError::Disconnected) => return,
            Err(RecvTimeoutError::Timeout) => {}
        }
        if watchdog.is_some() && office.works() {
            let _ = sd_notify::notify(&[NotifyState::Watchdog]);
        }
    }
}

/// Signals as they arrive.
fn signals() -> Result<Receiver<i32>, Failure> {
    let failed = |e: io::Error| {
        let what = format!("signals cannot be caught: {e}");
        Failure::run(what, "check this system's limits")
    };
    let mut caught = Signals::new([SIGHUP, SIGINT, SIGTERM]).map_err(failed)?;
    let (sender, signals) = channel();
    let forward = move || {
        for signal in &mut caught {
            if sender.send(signal).is_err() {
                break;
            }
        }
    };
    let thread = std::thread::Builder::new().name("dccpd-signals".into());
    thread.spawn(forward).map_err(failed)?;
    Ok(signals)
}

fn start_engine(service: &Service, traces: Arc<Traces>) -> Result<Engine, Failure> {
    let threads = NonZeroUsize::new(service.threads).unwrap_or(NonZeroUsize::MIN);
    let options = EngineOptions::new()
        .name("dccpd-engine")
        .busy_wait(service.busy_wait)
        .threads(threads)
        .tap(traces);
    Engine::start(&options).map_err(|e| no_thread(&e))
}

/// Keeps the UDP port from other programs, also while there is no other listener. Its Service Code is random, so that no peer connects.
fn own_port(engine: &Engine, udp_port: u16) -> Result<Listener, Failure> {
    let code = getrandom::u32().map_err(|e| no_thread(&io::Error::other(e)))?;
    let options = Options::new()
        .engine(engine)
        .service_code(code.to_be_bytes())
        .backlog(1);
    let options = dccp::unstable::permit_system_port(options);
    let v4 = DccpAddr::new(Ipv4Addr::UNSPECIFIED.into(), udp_port, 0);
    let v6 = DccpAddr::new(Ipv6Addr::UNSPECIFIED.into(), udp_port, 0);
    let both = Listener::bind(&[v6, v4][..], &options);
    // A host without IPv6 has IPv4 only.
    let bound = both.or_else(|_| Listener::bind(v4, &options));
    bound.map_err(|e| {
        let what = format!("UDP port {udp_port} cannot be opened: {e}");
        Failure::run(
            what,
            "stop the program that has it, or change udp-port in the policy",
        )
    })
}

/// Whether this process may use protocol 33.
fn check_protocol_33(engine: &Engine) -> Result<(), Failure> {
    let options = Options::new()
        .engine(engine)
        .encapsulation(Encapsulation::Ip);
    let any = DccpAddr::new(Ipv4Addr::UNSPECIFIED.into(), 0, 0);
    let bound = Listener::bind(any, &options);
    bound.map(drop).map_err(|e| {
        let what = format!("protocol 33 cannot be opened: {e}");
        Failure::run(
            what,
            "give dccpd CAP_NET_RAW, or leave protocol-33 out of the policy",
        )
    })
}

fn lend(
    service: &Service,
    given: Option<OwnedFd>,
    gatekeeper: Gatekeeper,
) -> Result<RingServer, Failure> {
    let limits = RingLimits {
        clients: service.connections,
        memory: service.memory,
    };
    let path = &service.socket;
    let is_given = given.is_some();
    let server = match given {
        Some(socket) => RingServer::from_socket(socket, limits, gatekeeper),
        None => RingServer::bind(path, limits, gatekeeper),
    };
    let server = server.map_err(|e| Failure::run(e.to_string(), e.next_step()))?;
    if !is_given {
        open_to_all(path)?;
    }
    Ok(server)
}

/// Lets all users connect. The policy decides who may do what.
fn open_to_all(path: &Path) -> Result<(), Failure> {
    let opened = std::fs::set_permissions(path, Permissions::from_mode(0o666));
    opened.map_err(|e| Failure::write(path, &e))
}

fn bind_admin(path: &Path) -> Result<UnixListener, Failure> {
    let bind = || UnixListener::bind(path);
    let bound = bind().or_else(|e| match e.kind() {
        // No daemon has it, because this one has the UDP port.
        io::ErrorKind::AddrInUse => std::fs::remove_file(path).and_then(|()| bind()),
        _ => Err(e),
    });
    let listener = bound.map_err(|e| {
        let what = format!("{} cannot be opened: {e}", path.display());
        Failure::run(
            what,
            "check its folder and its permissions, or change admin-socket",
        )
    })?;
    open_to_all(path)?;
    Ok(listener)
}

fn no_thread(e: &io::Error) -> Failure {
    Failure::run(
        format!("the system refuses a thread or a descriptor: {e}"),
        "raise the limits of this process",
    )
}

/// Sockets that systemd has opened.
struct Sockets {
    rings: Option<OwnedFd>,
    admin: Option<UnixListener>,
}

impl Sockets {
    /// Takes the sockets by their kinds.
    fn take() -> Result<Self, Failure> {
        let mut given = ListenFd::from_env();
        let mut sockets = Self {
            rings: None,
            admin: None,
        };
        let (unix, seqpacket) = (nix::libc::AF_UNIX, nix::libc::SOCK_SEQPACKET);
        for index in 0..given.len() {
            if let Ok(Some(fd)) = given.take_custom(index, unix, seqpacket, "SOCK_SEQPACKET") {
                sockets.rings = Some(fd);
            } else if let Ok(Some(listener)) = given.take_unix_listener(index) {
                let blocking = listener.set_nonblocking(false);
                blocking.map_err(|e| no_thread(&e))?;
                sockets.admin = Some(listener);
            } else {
                return Err(Failure::run(
                    "a socket of systemd is of another kind",
                    "write ListenSequentialPacket= and ListenStream= in dccpd.socket",
                ));
            }
        }
        Ok(sockets)
    }
}

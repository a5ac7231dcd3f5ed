//! The daemon: starts its parts, then waits for signals.

use crate::admin;
use crate::admission::Admission;
use crate::daemon::Daemon;
use crate::metrics;
use crate::policy::{Policy, StartSettings, next_of_port};
use crate::trace::Traces;
use crate::users::Owners;
use core::num::NonZeroUsize;
use core::time::Duration;
use dccp::unstable::io::local::refuse_descriptors;
use dccp::{DccpAddr, Encapsulation, Engine, EngineOptions, Listener, Options, clock};
use dccp_cli::log::print;
use dccp_cli::{Failure, exit};
use dccp_ring_ipc::{RingLimits, RingServer};
use listenfd::ListenFd;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use sd_notify::NotifyState;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use std::fs::Permissions;
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::fs::{FileTypeExt as _, PermissionsExt as _};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};

/// The longest time at the end for connections to close.
const CLOSING: Duration = Duration::from_secs(2);

/// Descriptors of one connection: channel, doorbell and events with a duplicate of each, and a UDP socket.
const DESCRIPTORS: usize = 7;
/// Descriptors of the daemon itself.
const OWN_DESCRIPTORS: usize = 64;

/// Runs the daemon until a signal ends it.
///
/// # Errors
/// The policy is wrong, or the system lacks something that it needs.
pub(crate) fn run(path: &Path) -> Result<u8, Failure> {
    let policy = Policy::read(path)?;
    policy.check_rights()?;
    let settings = policy.start.clone();
    let signals = signals()?;
    let sockets = Sockets::take()?;
    let traces = Arc::new(Traces::default());
    let engine = start_engine(&settings, traces.clone())?;
    let owned = own_port(&engine, settings.udp_port)?;
    if settings.over.contains(&Encapsulation::Ip) {
        check_protocol_33(&engine)?;
    }
    let admission = Admission::new(policy, Owners::read(), engine.clone());
    let daemon = Arc::new(Daemon {
        policy: path.to_owned(),
        rings: lend(&settings, sockets.rings, admission.clone())?,
        admission,
        engine: engine.clone(),
        traces,
        since: clock::now(),
    });
    let is_admin_given = sockets.admin.is_some();
    let admin = match sockets.admin {
        Some(listener) => listener,
        None => bind_admin(&settings.admin_socket)?,
    };
    // Closing some descriptors can take long. Systems before Linux 6.16 cannot refuse them.
    let _ = refuse_descriptors(admin.as_fd());
    admin::server::start(admin, daemon.clone()).map_err(|e| no_thread(&e))?;
    let metrics = match settings.metrics {
        Some(at) => Some(metrics::serve(
            at,
            settings.connection_metrics,
            daemon.clone(),
        )?),
        None => None,
    };
    print(&format!(
        "dccpd {} lends DCCP at {} (UDP port {})",
        env!("CARGO_PKG_VERSION"),
        settings.socket.display(),
        settings.udp_port
    ));
    // Without systemd there is no receiver.
    let _ = sd_notify::notify(&[NotifyState::Ready]);
    wait(&signals, &daemon);
    let _ = sd_notify::notify(&[NotifyState::Stopping]);
    print("dccpd ends");
    // The connections of all programs close first.
    daemon.rings.stop();
    drop((metrics, owned));
    // Those that do not close in time are forgotten.
    let _ = engine.wait_idle(CLOSING);
    if !is_admin_given {
        let _ = std::fs::remove_file(&settings.admin_socket);
    }
    Ok(exit::DONE)
}

/// Reads signals until one ends the daemon. Tells the watchdog of systemd that the thread of rings and the engine work.
fn wait(signals: &Receiver<i32>, daemon: &Daemon) {
    let watchdog = sd_notify::watchdog_enabled();
    let pause = watchdog.map_or(Duration::MAX, |time| time / 3);
    loop {
        match signals.recv_timeout(pause.min(Duration::from_hours(1))) {
            // Its mistakes are in the log.
            Ok(SIGHUP) => drop(daemon.reload()),
            Ok(_) | Err(RecvTimeoutError::Disconnected) => return,
            Err(RecvTimeoutError::Timeout) => {}
        }
        if watchdog.is_some() && daemon.works() {
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

fn start_engine(settings: &StartSettings, traces: Arc<Traces>) -> Result<Engine, Failure> {
    let threads = NonZeroUsize::new(settings.threads).unwrap_or(NonZeroUsize::MIN);
    let options = EngineOptions::new()
        .name("dccpd-engine")
        .busy_wait(settings.busy_wait)
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
    let bound = if has_ipv6() {
        Listener::bind(&[v6, v4][..], &options)
    } else {
        print("this host has no IPv6");
        Listener::bind(v4, &options)
    };
    bound.map_err(|e| {
        let what = format!("UDP port {udp_port} cannot be opened: {e}");
        Failure::run(what, next_of_port(&e.into(), "udp-port"))
    })
}

/// Whether the host has IPv6: then it has the address of loopback.
fn has_ipv6() -> bool {
    std::net::UdpSocket::bind((Ipv6Addr::LOCALHOST, 0)).is_ok()
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
            "give dccpd CAP_NET_RAW, or leave ip out of the key over",
        )
    })
}

fn lend(
    settings: &StartSettings,
    given: Option<OwnedFd>,
    admission: Admission,
) -> Result<RingServer, Failure> {
    let limits = RingLimits {
        clients: settings.max_connections.min(places()),
        memory: settings.max_memory,
    };
    let path = &settings.socket;
    let is_given = given.is_some();
    let server = match given {
        Some(socket) => RingServer::from_socket(socket, limits, admission),
        None => RingServer::bind(path, limits, admission),
    };
    let server = server.map_err(|e| Failure::run(e.to_string(), e.next_step()))?;
    if !is_given {
        open_to_all(path)?;
    }
    Ok(server)
}

/// Raises the limit of descriptors as far as this process may. Returns the number of connections that it suffices for.
fn places() -> usize {
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit {
        current: limit.maximum,
        maximum: limit.maximum,
    };
    let _ = setrlimit(Resource::Nofile, raised);
    let Some(most) = getrlimit(Resource::Nofile).current else {
        return usize::MAX;
    };
    let most = usize::try_from(most).unwrap_or(usize::MAX);
    most.saturating_sub(OWN_DESCRIPTORS) / DESCRIPTORS
}

/// Lets all users connect. The policy decides who may do what.
fn open_to_all(path: &Path) -> Result<(), Failure> {
    let opened = std::fs::set_permissions(path, Permissions::from_mode(0o666));
    opened.map_err(|e| Failure::write(path, &e))
}

fn bind_admin(path: &Path) -> Result<UnixListener, Failure> {
    let bind = || UnixListener::bind(path);
    let bound = bind().or_else(|e| {
        if e.kind() == io::ErrorKind::AddrInUse && is_deserted(path) {
            std::fs::remove_file(path)?;
            return bind();
        }
        Err(e)
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

/// Whether a path is a socket that an ended daemon has left.
fn is_deserted(path: &Path) -> bool {
    let is_socket =
        std::fs::symlink_metadata(path).is_ok_and(|about| about.file_type().is_socket());
    let connected = UnixStream::connect(path);
    is_socket && connected.is_err_and(|e| e.kind() == io::ErrorKind::ConnectionRefused)
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

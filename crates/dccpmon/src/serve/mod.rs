//! `dccpmon serve`: the other end of all tests.

mod lobby;
mod log;
mod manager;
mod metrics;
mod policy;
mod queue;
mod rate;
mod seats;
mod session;
mod tcp;
mod third;
mod udp;

use crate::cli::{Family, Serve};
use crate::invite;
use crate::limits::{ANSWER_MAX, source_connections};
use crate::meter::SAMPLE;
use crate::plan::{SERVICE, baseline_port, ccids, data_options};
use core::net::SocketAddr;
use core::time::Duration;
use dccp::proto::number::to_f64;
use dccp::proto::time::nanos;
use dccp::{BindError, Encapsulation, Listener, Options, clock};
use dccp_cli::quantity::show as units;
use dccp_cli::{Failure, exit, interrupt};
use lobby::Lobby;
use log::log;
use manager::Passed;
use policy::Policy;
use queue::Queue;
use seats::Seats;
use std::io;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use tcp::TcpPort;
use udp::UdpListener;

/// The time between two checks whether the listeners work.
const LOOK: Duration = Duration::from_millis(50);

/// The open ports of a server.
struct Ports {
    dccp: Vec<Listener>,
    udp: Vec<UdpListener>,
    tcp: Vec<TcpPort>,
}

/// Serves until Ctrl-C, or for one test; gives the exit code.
pub(crate) fn run(asked: &Serve) -> Result<u8, Failure> {
    // Before any thread starts.
    let passed = manager::take_sockets()?;
    let asked = &manager::with_sockets(asked, &passed)?;
    interrupt::listen()?;
    let policy = Arc::new(Policy::of(asked)?);
    let seats = Arc::new(Seats::new(policy.tests));
    // It serves until it is dropped at the end.
    let metrics = match asked.metrics {
        Some(at) => Some(offer_metrics(at, &seats, policy.tests)?),
        None => None,
    };
    let ports = listen(asked, &passed, &policy, &seats)?;
    if let Some(metrics) = &metrics {
        log(&format!(
            "  metrics: http://{}/metrics",
            metrics.local_addr()
        ));
    }
    let threads = start(ports, asked, &policy, &seats)?;
    manager::report_ready();
    let is_whole = keep_watch(&threads, || {
        interrupt::is_pressed() || asked.is_one_off && seats.has_served()
    });
    manager::report_stopping();
    if !is_whole {
        // The other threads end too.
        interrupt::press();
    }
    for thread in threads {
        // A panic there has printed its message.
        let _ = thread.join();
    }
    // The running tests end, and their clients receive totals of the part that was measured.
    let until = clock::now() + ANSWER_MAX;
    while !seats.are_free() && clock::now() < until {
        thread::sleep(SAMPLE);
    }
    if !is_whole {
        return Err(Failure::run(
            "a listener has ended, so the server cannot be reached",
            "start `dccpmon serve` again",
        ));
    }
    Ok(if interrupt::is_pressed() {
        exit::INTERRUPTED
    } else {
        exit::DONE
    })
}

/// Starts a thread for each open port.
fn start(
    ports: Ports,
    asked: &Serve,
    policy: &Arc<Policy>,
    seats: &Arc<Seats>,
) -> Result<Vec<JoinHandle<()>>, Failure> {
    let mut threads = Vec::new();
    let mut spawn = |name: &str, serve: Box<dyn FnOnce() + Send>| -> Result<(), Failure> {
        let builder = thread::Builder::new().name(name.into());
        threads.push(builder.spawn(serve).map_err(|e| no_thread(&e))?);
        Ok(())
    };
    for port in ports.tcp {
        spawn("accept-tcp", Box::new(move || port.run()))?;
    }
    for listener in ports.udp {
        spawn("accept-udp", Box::new(move || listener.run()))?;
    }
    let queue = Arc::new(Queue::new(asked.queue));
    for listener in ports.dccp {
        let mut lobby = Lobby::new(listener, seats.clone(), policy.clone(), asked.is_one_off)
            .with_queue(queue.clone());
        spawn("accept", Box::new(move || lobby.run()))?;
    }
    Ok(threads)
}

/// Waits until a thread ends. Returns whether it was to end: a server without one of its listeners seems to work, and
/// does not.
fn keep_watch(threads: &[JoinHandle<()>], is_over: impl Fn() -> bool) -> bool {
    while !threads.iter().any(JoinHandle::is_finished) {
        thread::sleep(LOOK);
    }
    is_over()
}

/// Offers the server's counters to Prometheus.
fn offer_metrics(
    at: SocketAddr,
    seats: &Seats,
    tests: u32,
) -> Result<dccp_metrics::Server, Failure> {
    let registry = seats.metrics().registry(tests);
    dccp_metrics::Server::start(at, registry).map_err(|e| {
        Failure::run(
            format!("--metrics {at}: cannot be opened: {e}"),
            "choose another port, or an address of this host",
        )
    })
}

fn no_thread(e: &io::Error) -> Failure {
    Failure::run(e.to_string(), "raise this system's limits of threads")
}

/// Opens what was asked for, and says what is open and how to reach it.
fn listen(
    asked: &Serve,
    passed: &[Passed],
    policy: &Policy,
    seats: &Arc<Seats>,
) -> Result<Ports, Failure> {
    let ccids: Vec<u8> = ccids().map(|(number, _)| number).collect();
    let options = Options::new().service_code(SERVICE);
    let options = data_options(options.send_ccids(&ccids).recv_ccids(&ccids));
    let options = options.connections_per_source(source_connections(policy.tests));
    let mut dccp = Vec::new();
    let mut ways = Vec::new();
    if asked.over != Some(Encapsulation::Ip) {
        let options = options.clone().encapsulation(Encapsulation::Udp);
        let (opened, text) = if passed.is_empty() {
            open(asked, &options, asked.udp_port)?
        } else {
            open_passed(asked, passed, &options)?
        };
        dccp.extend(opened);
        ways.push(format!("DCCP-over-UDP on {text}"));
    }
    if asked.over != Some(Encapsulation::Udp) {
        match open(asked, &options.encapsulation(Encapsulation::Ip), 0) {
            Ok((opened, _)) => {
                dccp.extend(opened);
                ways.push("DCCP on protocol 33".into());
            }
            // The user did not request it with --over: serve without it.
            Err(e) if asked.over.is_none() => {
                ways.push(format!("DCCP on protocol 33 (skipped: {})", e.what));
            }
            Err(e) => return Err(e),
        }
    }
    let places = places(asked, passed);
    let (udp, text) = open_udp(asked, &places, seats);
    log(&format!(
        "dccpmon {} serving {}, DCCP port {}",
        env!("CARGO_PKG_VERSION"),
        ways.join(" and "),
        asked.dccp_port
    ));
    log(&format!("  {text}"));
    let (tcp, text) = open_tcp(asked, &places, seats);
    log(&format!("  {text}"));
    log(&format!("  {}", terms(policy)));
    if let Some(third_party) = &policy.third_party {
        log(&format!(
            "  third-party tests to: {}",
            third_party.destinations
        ));
    }
    for line in invite::lines(asked) {
        log(&line);
    }
    Ok(Ports { dccp, udp, tcp })
}

/// The terms for clients, in one line.
fn terms(policy: &Policy) -> String {
    let time = units::seconds(nanos(policy.duration));
    let rate = policy
        .rate_bps
        .map(|bps| format!(" at {}", units::rate(to_f64(bps))));
    let key = match policy.key {
        Some(_) => "needed",
        None => "none (anyone may test)",
    };
    format!(
        "tests at once: {}    limit: {time} s each{}    key: {key}",
        policy.tests,
        rate.unwrap_or_default()
    )
}

/// Opens the port of tests over UDP, and says so. The server works without it.
fn open_udp(
    asked: &Serve,
    places: &[SocketAddr],
    seats: &Arc<Seats>,
) -> (Vec<UdpListener>, String) {
    let Some(port) = baseline_port(asked.udp_port) else {
        return (Vec::new(), "no tests over UDP: no port follows".into());
    };
    let mut opened = Vec::new();
    let mut refusal = None;
    for place in places {
        let mut local = *place;
        local.set_port(port);
        match UdpListener::new(local, seats.clone(), asked.is_one_off) {
            Ok(listener) => opened.push(listener),
            Err(e) => refusal = Some(e),
        }
    }
    let text = match refusal {
        Some(e) if opened.is_empty() => format!("no tests over UDP: port {port}: {e}"),
        _ => format!("tests over UDP on port {port}"),
    };
    (opened, text)
}

/// Opens the port of tests over TCP, and says so. The server works without it.
fn open_tcp(asked: &Serve, places: &[SocketAddr], seats: &Arc<Seats>) -> (Vec<TcpPort>, String) {
    let port = asked.udp_port;
    let mut opened = Vec::new();
    let mut refusal = None;
    for place in places {
        let mut local = *place;
        local.set_port(port);
        match TcpPort::new(local, seats.clone(), asked.is_one_off) {
            Ok(listener) => opened.push(listener),
            Err(e) => refusal = Some(e),
        }
    }
    let text = match refusal {
        Some(e) if opened.is_empty() => format!("no tests over TCP: port {port}: {e}"),
        _ => format!("tests over TCP on port {port}"),
    };
    (opened, text)
}

/// All addresses of the families asked for.
fn wildcards(family: Family, port: u16) -> Vec<SocketAddr> {
    let v6 = SocketAddr::from(([0; 8], port));
    let v4 = SocketAddr::from(([0; 4], port));
    match family {
        Family::V4 => vec![v4],
        Family::V6 => vec![v6],
        Family::Any => vec![v4, v6],
    }
}

/// The addresses of the server: all of the families asked for, or those of the sockets that were passed.
fn places(asked: &Serve, passed: &[Passed]) -> Vec<SocketAddr> {
    if passed.is_empty() {
        return wildcards(asked.family, asked.udp_port);
    }
    passed.iter().flat_map(Passed::places).collect()
}

/// Listens at the sockets of the service manager.
fn open_passed(
    asked: &Serve,
    passed: &[Passed],
    options: &Options,
) -> Result<(Vec<Listener>, String), Failure> {
    let opened = passed.iter().map(|p| p.listen(asked.dccp_port, options));
    let opened = opened.collect::<Result<Vec<_>, _>>()?;
    let locals = opened.iter().flat_map(Listener::local_addrs);
    let texts: Vec<_> = locals.map(|at| at.udp_addr().to_string()).collect();
    let text = format!("{} of the service manager", texts.join(" and "));
    Ok((opened, text))
}

/// Listens on all addresses of the families asked for; not to have IPv6 is no error.
fn open(asked: &Serve, options: &Options, port: u16) -> Result<(Vec<Listener>, String), Failure> {
    let mut opened = Vec::new();
    let mut places = Vec::new();
    let mut refusal: Option<BindError> = None;
    for local in wildcards(asked.family, port) {
        match Listener::bind((local, asked.dccp_port), options) {
            Ok(listener) => {
                places.extend(
                    listener
                        .local_addrs()
                        .iter()
                        .map(|at| at.udp_addr().to_string()),
                );
                opened.push(listener);
            }
            Err(e) => refusal = refusal.or(Some(e)),
        }
    }
    match refusal {
        Some(e) if opened.is_empty() => Err(Failure::run(e.to_string(), e.next_step())),
        _ => Ok((opened, places.join(" and "))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn listener_that_ends_early_is_noticed() {
        let works = || thread::spawn(|| thread::sleep(Duration::from_secs(5)));
        let panics = || -> JoinHandle<()> { thread::spawn(|| panic!("part of this test")) };
        assert!(!keep_watch(&[works(), panics()], || false));
        let ends = || thread::spawn(|| ());
        assert!(!keep_watch(&[works(), ends()], || false));
        assert!(keep_watch(&[works(), ends()], || true));
    }
}

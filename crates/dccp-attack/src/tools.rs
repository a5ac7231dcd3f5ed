//! Clients that hold the programs of usrdccp without using them.

use crate::ackers::{Acker, part};
use crate::engine::{be_served, listen};
use crate::floods::{join, on_host, requests_to};
use crate::host::{self, Cores, Network, Program, VICTIM, VICTIM_AT_ATTACKER};
use crate::raw::{Content, Flood};
use crate::report::{Attack, Outcome, Scale};
use anyhow::{Context as _, Result, ensure};
use core::sync::atomic::{AtomicBool, Ordering};
use core::time::Duration;
use dccp::{ConnectError, DccpAddr, Socket, clock};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::{Arc, mpsc};

/// Where the programs listen.
const MONITOR_PORT: u16 = 14_240;
const RELAY_PORT: u16 = 14_241;

pub(crate) fn attacks() -> Vec<Attack> {
    vec![
        Attack::real(
            "300 silent clients of dccpmon serve",
            "they hold no threads; an honest client is served",
            silent_clients,
        ),
        Attack::real(
            "four clients of dccpmon serve that only acknowledge",
            "they hold their places for their time; then an honest client is served",
            slow_clients,
        ),
        Attack::real(
            "strangers at dccp-emu relay",
            "an honest client is served",
            strangers,
        ),
    ]
}

/// The program of usrdccp that was built with this one.
fn program(name: &str) -> Result<PathBuf> {
    let path = std::env::current_exe()?.with_file_name(name);
    let shown = path.display();
    ensure!(
        path.exists(),
        "{shown} is missing: run `cargo xtask soak attack`, which builds it"
    );
    Ok(path)
}

/// `dccpmon serve` at the victim.
struct Monitor {
    program: String,
    server: Program,
}

impl Monitor {
    fn start(network: &Network) -> Result<Self> {
        let path = program("dccpmon")?;
        let program = path.to_str().context("a path that is no text")?;
        let port = MONITOR_PORT.to_string();
        let words = [program, "serve", "-4", "--tests", "4", "-p", &port];
        let mut server = Program::spawn(&mut network.victim.command(&words))?;
        let banner = server.line()?;
        ensure!(banner.starts_with("dccpmon "), "{banner}");
        let program = program.to_owned();
        Ok(Self { program, server })
    }

    /// Whether a test from the friend succeeds within `limit`.
    fn serves(&self, network: &Network, limit: Duration) -> Result<bool> {
        let (victim, port) = (VICTIM.to_string(), MONITOR_PORT.to_string());
        let words = [&self.program, &victim, "-p", &port, "-t", "0.5", "-b", "1M"];
        let begin = clock::now();
        loop {
            let mut honest = network.friend.command(&words);
            let honest = honest.stdout(Stdio::null()).stderr(Stdio::null());
            if honest.status()?.success() {
                return Ok(true);
            }
            if clock::now() - begin > limit {
                return Ok(false);
            }
            host::sleep(Duration::from_millis(200));
        }
    }
}

/// Adds addresses to the attacker's host.
fn add_sources(network: &Network, count: u8) -> Result<Vec<SocketAddr>> {
    let address = |n| Ipv4Addr::new(10, 82, 0, 20 + n);
    for n in 0..count {
        let with_prefix = format!("{}/24", address(n));
        network.attacker.add_address("e1", &with_prefix)?;
    }
    let sources = (0..count).map(|n| SocketAddr::new(address(n).into(), 0));
    Ok(sources.collect())
}

/// Clients from six addresses begin a control message and do not end it.
fn silent_clients(_: Scale) -> Result<Outcome> {
    const ADDRESSES: u8 = 6;
    const EACH: usize = 50;
    let (network, cores) = (Network::new()?, Cores::new()?);
    let monitor = Monitor::start(&network)?;
    let memory = monitor.server.resident()?;
    let sources = add_sources(&network, ADDRESSES)?;
    let to = DccpAddr::new(VICTIM_AT_ATTACKER.into(), MONITOR_PORT, 5001);
    let silent = on_host(network.attacker.name(), cores.attacker, move |options| {
        let options = options.service_code(*b"DMON");
        let options = options.connect_timeout(Duration::from_secs(3));
        let mut open = Vec::new();
        for source in sources.iter().cycle().take(EACH * sources.len()) {
            match Socket::connect(to, &options.clone().bind(*source)) {
                Ok(socket) => {
                    socket.send(&part(0, 1, 0, b"{"))?;
                    open.push(socket);
                }
                Err(ConnectError::TooBusy { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(open)
    });
    let open = join(silent)?;
    let threads = monitor.server.threads()?;
    let grown = monitor.server.resident()?.saturating_sub(memory);
    let mut outcome = Outcome::new(u64::from(ADDRESSES) * EACH as u64);
    let opened = open.len() as u64;
    outcome.expect_at_least("connections opened", opened, 64);
    outcome.expect_at_most("threads", threads, 40);
    outcome.expect_at_most("MiB more memory", grown.div_ceil(1 << 20), 16);
    let is_served = monitor.serves(&network, Duration::from_secs(20))?;
    outcome.expect(is_served, "the honest client is not served");
    drop(open);
    monitor.server.kill()?;
    Ok(outcome)
}

/// Four clients of two addresses, because one address never gets the last place.
fn slow_clients(_: Scale) -> Result<Outcome> {
    const TIME: Duration = Duration::from_secs(1);
    let (network, cores) = (Network::new()?, Cores::new()?);
    let monitor = Monitor::start(&network)?;
    let sources = add_sources(&network, 2)?;
    let to = DccpAddr::new(VICTIM_AT_ATTACKER.into(), MONITOR_PORT, 5001);
    let (held, is_held) = mpsc::channel();
    let stop = Arc::new(AtomicBool::new(false));
    let stopping = stop.clone();
    let slow = on_host(network.attacker.name(), cores.attacker, move |options| {
        let options = options.service_code(*b"DMON");
        let options = options.recv_timeout(Duration::from_millis(50));
        let mut ackers = Vec::new();
        for source in [0, 0, 0, 1].map(|n| sources[n]) {
            let options = options.clone().bind(source);
            ackers.push(Acker::begin(to, &options, TIME)?);
        }
        held.send(())?;
        while !stopping.load(Ordering::Relaxed) {
            // The server ends each test.
            ackers.retain_mut(|(acker, _)| acker.acknowledge().is_ok());
            host::sleep(Duration::from_millis(50));
        }
        Ok(())
    });
    // Without an answer the thread has failed, and its error says why.
    let are_held = is_held.recv().is_ok();
    let begin = clock::now();
    let is_served = are_held && monitor.serves(&network, Duration::from_mins(1))?;
    let ms = host::millis_since(begin);
    stop.store(true, Ordering::Relaxed);
    join(slow)?;
    let mut outcome = Outcome::new(4);
    outcome.expect(is_served, "the honest client is not served");
    outcome.note(format!("the honest test ended after {ms} ms"));
    monitor.server.kill()?;
    Ok(outcome)
}

/// Requests from forged addresses fill the relay's table of clients.
fn strangers(scale: Scale) -> Result<Outcome> {
    // A stranger's place is free for the next after two seconds.
    const PER_S: u64 = 500;
    let seconds = match scale {
        Scale::Quick => 4,
        Scale::All => 20,
    };
    let emulator = program("dccp-emu")?;
    let emulator = emulator.to_str().context("a path that is no text")?;
    let (network, cores) = (Network::new()?, Cores::new()?);
    let server = listen(&network, cores)?;
    let at = format!("{VICTIM}:{RELAY_PORT}");
    let words = [
        emulator,
        "relay",
        "--listen",
        &at,
        "--to",
        "127.0.0.1:14233",
    ];
    let mut command = network.victim.command(&words);
    command.stderr(Stdio::null());
    let relay = Program::spawn(&mut command)?;
    host::sleep(Duration::from_millis(500));
    let memory = relay.resident()?;
    let to = DccpAddr::new(VICTIM.into(), RELAY_PORT, 5001);
    let friend = network.friend.name();
    be_served(friend, cores.victim, to).context("without strangers")?;
    let flood = Flood::start(
        network.attacker.name(),
        cores.attacker,
        VICTIM,
        Content::Ip,
        requests_to(RELAY_PORT)?,
        PER_S,
    );
    host::sleep(Duration::from_secs(seconds));
    let (mut answers, mut slowest) = (0, 0);
    for _ in 0..5 {
        match be_served(friend, cores.victim, to) {
            Ok(ms) => slowest = slowest.max(ms),
            Err(_) => break,
        }
        answers += 1;
    }
    let mut outcome = Outcome::new(flood.sent());
    outcome.note(format!("{} packets/s reached", flood.rate()));
    flood.stop()?;
    outcome.expect_at_least("of 5 clients served", answers, 5);
    outcome.note(format!("{slowest} ms for the slowest"));
    let grown = relay.resident()?.saturating_sub(memory).div_ceil(1 << 20);
    outcome.expect_at_most("MiB more memory", grown, 64);
    relay.kill()?;
    server.finish()?;
    Ok(outcome)
}

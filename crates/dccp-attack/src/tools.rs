//! Clients that hold the programs of usrdccp without using them.

use crate::engine::{be_served, listen};
use crate::floods::{join, on_host, requests_to};
use crate::host::{self, Cores, Network, Program, VICTIM, VICTIM_AT_ATTACKER};
use crate::raw::{Content, Flood};
use crate::report::{Attack, Outcome, Scale};
use anyhow::{Context as _, Result, ensure};
use core::time::Duration;
use dccp::{ConnectError, DccpAddr, Socket};
use dccp_dev::shell;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::process::Stdio;

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
            "strangers at dccp-emu relay",
            "an honest client is served",
            strangers,
        ),
    ]
}

/// Builds a program beside this one.
fn program(name: &str) -> Result<PathBuf> {
    let profile = if cfg!(debug_assertions) {
        ""
    } else {
        " --release"
    };
    shell::run(&mut shell::command_line(&format!(
        "cargo build --quiet{profile} --package {name}"
    )))?;
    let own = std::env::current_exe()?;
    let path = own.with_file_name(name);
    ensure!(path.exists(), "{} is missing", path.display());
    Ok(path)
}

/// Clients from six addresses begin a control message and do not end it.
fn silent_clients(_: Scale) -> Result<Outcome> {
    const ADDRESSES: u8 = 6;
    const EACH: usize = 50;
    let monitor = program("dccpmon")?;
    let monitor = monitor.to_str().context("a path that is no text")?;
    let (network, cores) = (Network::new()?, Cores::new()?);
    let port = MONITOR_PORT.to_string();
    let mut serve = network
        .victim
        .command(&[monitor, "serve", "-4", "-p", &port]);
    let mut server = Program::spawn(&mut serve)?;
    let banner = server.line()?;
    ensure!(banner.starts_with("dccpmon "), "{banner}");
    let memory = server.resident()?;
    let sources: Vec<_> = (0..ADDRESSES)
        .map(|n| Ipv4Addr::new(10, 82, 0, 20 + n))
        .collect();
    for source in &sources {
        network
            .attacker
            .add_address("e1", &format!("{source}/24"))?;
    }
    let to = DccpAddr::new(VICTIM_AT_ATTACKER.into(), MONITOR_PORT, 5001);
    let silent = on_host(network.attacker.name(), cores.attacker, move |options| {
        let options = options.service_code(*b"DMON");
        let mut open = Vec::new();
        for source in sources
            .into_iter()
            .cycle()
            .take(EACH * usize::from(ADDRESSES))
        {
            let options = options.clone().bind(SocketAddr::new(source.into(), 0));
            let options = options.connect_timeout(Duration::from_secs(3));
            match Socket::connect(to, &options) {
                Ok(socket) => {
                    socket.send(b"DC\x01\x00\x00\x00\x00\x01\x00\x00\x00\x00{")?;
                    open.push(socket);
                }
                Err(ConnectError::TooBusy { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(open)
    });
    let open = join(silent)?;
    let threads = server.threads()?;
    let grown = server.resident()?.saturating_sub(memory).div_ceil(1 << 20);
    let mut outcome = Outcome::new(u64::from(ADDRESSES) * EACH as u64);
    let opened = open.len() as u64;
    outcome.expect_at_least("connections opened", opened, 64);
    outcome.expect_at_most("threads", threads, 40);
    outcome.expect_at_most("MiB more memory", grown, 16);
    let victim = VICTIM.to_string();
    let words = [monitor, &victim, "-p", &port, "-t", "0.5", "-b", "1M"];
    let mut tries = 0;
    let is_served = loop {
        tries += 1;
        let mut honest = network.friend.command(&words);
        let honest = honest.stdout(Stdio::null()).stderr(Stdio::null());
        let status = honest.status()?;
        if status.success() || tries == 3 {
            break status.success();
        }
        host::sleep(Duration::from_secs(1));
    };
    outcome.expect(is_served, "the honest client is not served");
    outcome.note(format!("served at try {tries}"));
    drop(open);
    server.kill()?;
    Ok(outcome)
}

/// Requests from forged addresses fill the relay's table of clients.
fn strangers(scale: Scale) -> Result<Outcome> {
    let seconds = match scale {
        Scale::Quick => 2,
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
        5000,
    );
    host::sleep(Duration::from_secs(seconds));
    let (mut answers, mut slowest) = (0, 0);
    for _ in 0..5 {
        if let Ok(ms) = be_served(friend, cores.victim, to) {
            answers += 1;
            slowest = slowest.max(ms);
        }
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

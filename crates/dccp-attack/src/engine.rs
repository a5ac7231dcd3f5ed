//! Peers that use more than their share of a listener and its engine.

use crate::floods::{join, on_host};
use crate::host::{
    self, ATTACKER, Cores, Network, PORTS, Program, VICTIM, VICTIM_AT_ATTACKER, number,
};
use crate::report::{Attack, Outcome, Scale};
use crate::victim::{ECHO, HOLD, LEN, SERVICE};
use anyhow::{Context as _, Result, ensure};
use core::sync::atomic::{AtomicU64, Ordering};
use core::time::Duration;
use dccp::{ConnectError, DccpAddr, Options, Socket, clock};
use serde_json::json;
use std::io::BufRead as _;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::thread;

const MIB: u64 = 1 << 20;

pub(crate) fn attacks() -> Vec<Attack> {
    vec![
        Attack::real(
            "connections opened and closed in turn",
            "descriptors, threads and memory of both ends stay bounded",
            cycles,
        ),
        Attack::real(
            "80 connections from one address",
            "64 stay, the others are turned away; another address is served",
            many_of_one_address,
        ),
        Attack::real(
            "data to applications that never read",
            "the address has its budget of 16 MiB; another address is served",
            never_read,
        ),
    ]
}

/// The address of the listener as the friend or the attacker reaches it.
fn victim_at(ip: Ipv4Addr) -> DccpAddr {
    DccpAddr::new(ip.into(), PORTS.0, PORTS.1)
}

/// Starts a listener at all addresses.
pub(crate) fn listen(network: &Network, cores: Cores) -> Result<Program> {
    let any = victim_at(Ipv4Addr::UNSPECIFIED).to_string();
    let words = ["victim", &any, &cores.victim.to_string()];
    Program::start(&network.victim, &words)
}

/// Connects as an honest client from `host`. Returns the milliseconds until the answer.
pub(crate) fn be_served(host: &str, core: usize, to: DccpAddr) -> Result<u64> {
    let thread = on_host(host, core, move |options| {
        let begin = clock::now();
        echo(to, &options.service_code(SERVICE))?;
        Ok(host::millis_since(begin))
    });
    join(thread).context("the honest client was not served")
}

/// Opens a connection, gets an answer and closes.
fn echo(to: DccpAddr, options: &Options) -> Result<()> {
    let socket = Socket::connect(to, options)?;
    socket.send(ECHO)?;
    ensure!(socket.recv(&mut [0; 100])? == ECHO.len(), "another answer");
    socket.close()?;
    Ok(())
}

/// Connects again and again, and answers each line of the standard input with the number of connections.
pub(crate) fn connect_in_turn(to: DccpAddr) -> Result<()> {
    let done = Arc::new(AtomicU64::new(0));
    let counter = done.clone();
    thread::spawn(move || {
        let options = Options::new().service_code(SERVICE);
        let options = options.recv_timeout(Duration::from_secs(20));
        loop {
            if let Err(error) = echo(to, &options) {
                eprintln!("a connection failed: {error:#}");
                std::process::exit(1);
            }
            counter.fetch_add(1, Ordering::Relaxed);
        }
    });
    for line in std::io::stdin().lock().lines() {
        line?;
        println!("{}", json!({"done": done.load(Ordering::Relaxed)}));
    }
    Ok(())
}

fn cycles(scale: Scale) -> Result<Outcome> {
    let all = match scale {
        Scale::Quick => 2000,
        Scale::All => 100_000,
    };
    let (network, cores) = (Network::new()?, Cores::new()?);
    let server = listen(&network, cores)?;
    let words = [
        "connect",
        &victim_at(VICTIM).to_string(),
        &cores.attacker.to_string(),
    ];
    let mut client = Program::start(&network.friend, &words)?;
    // By now each port that rests is one of a limited number.
    wait_for(&mut client, all / 2)?;
    let before = [server.resident()?, client.resident()?];
    wait_for(&mut client, all)?;
    let mut outcome = Outcome::new(all);
    for ((name, program), before) in [("server", &server), ("client", &client)]
        .into_iter()
        .zip(before)
    {
        let grown = program.resident()?.saturating_sub(before).div_ceil(MIB);
        let (descriptors, threads) = (program.descriptors()?, program.threads()?);
        outcome.expect_at_most(&format!("MiB more at the {name}"), grown, 8);
        outcome.expect_at_most(&format!("descriptors at the {name}"), descriptors, 400);
        outcome.expect_at_most(&format!("threads at the {name}"), threads, 40);
    }
    Ok(outcome)
}

fn wait_for(client: &mut Program, connections: u64) -> Result<()> {
    while number(&client.ask()?, "done")? < connections {
        host::sleep(Duration::from_millis(20));
    }
    Ok(())
}

fn many_of_one_address(_: Scale) -> Result<Outcome> {
    const CLIENTS: u64 = 80;
    let (network, cores) = (Network::new()?, Cores::new()?);
    let server = listen(&network, cores)?;
    let mut outcome = Outcome::new(CLIENTS);
    let friend = network.friend.name().to_owned();
    let many = on_host(network.attacker.name(), cores.attacker, move |options| {
        let options = options.service_code(SERVICE);
        let to = victim_at(VICTIM_AT_ATTACKER);
        let mut clients = Vec::new();
        for _ in 0..CLIENTS {
            // The listener turns a client away during its handshake or right after it.
            match Socket::connect(to, &options) {
                Ok(socket) => {
                    let _ = socket.send(HOLD);
                    clients.push(socket);
                }
                Err(ConnectError::TooBusy { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
        be_served(&friend, cores.victim, victim_at(VICTIM))?;
        host::sleep(Duration::from_millis(500));
        let is_open = |client: &&Socket| client.close_reason().is_none();
        Ok(clients.iter().filter(is_open).count() as u64)
    });
    let open = join(many)?;
    outcome.expect(open == 64, "not 64 connections are open");
    outcome.note(format!("{open} connections open"));
    outcome.note("1 other client served");
    server.finish()?;
    Ok(outcome)
}

/// Fills the receive buffers of connections whose application does not read.
fn never_read(scale: Scale) -> Result<Outcome> {
    const CLIENTS: u64 = 60;
    let per_client: u64 = match scale {
        Scale::Quick => 2000,
        Scale::All => 50_000,
    };
    let (network, cores) = (Network::new()?, Cores::new()?);
    let server = listen(&network, cores)?;
    be_served(network.friend.name(), cores.victim, victim_at(VICTIM))?;
    let before = server.resident()?;
    let mut outcome = Outcome::new(CLIENTS * per_client);
    let filling = on_host(network.attacker.name(), cores.attacker, move |options| {
        let options = options.service_code(SERVICE);
        let connect = |_| -> Result<Socket> {
            let local = SocketAddr::new(ATTACKER.into(), 0);
            let to = victim_at(VICTIM_AT_ATTACKER);
            let socket = Socket::connect(to, &options.clone().bind(local))?;
            socket.send(HOLD)?;
            Ok(socket)
        };
        let open: Result<Vec<Socket>> = (0..CLIENTS).map(connect).collect();
        let open = open?;
        for _ in 0..per_client {
            for socket in &open {
                socket.send_zeros(LEN)?;
            }
        }
        Ok(open)
    });
    let open = join(filling)?;
    be_served(network.friend.name(), cores.victim, victim_at(VICTIM))?;
    let grown = server.resident()?.saturating_sub(before).div_ceil(MIB);
    // The datagrams' 16 MiB, and the memory of threads and connections.
    outcome.expect_at_most("MiB more memory", grown, 32);
    outcome.note("1 other client served");
    drop(open);
    server.finish()?;
    Ok(outcome)
}

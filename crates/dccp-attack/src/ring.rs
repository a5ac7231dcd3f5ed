//! Hostile applications of a ring server: they write random words into their rings, read nothing, request nothing
//! and die, while another application sends.

use crate::host::{self, Cores, Program, number};
use crate::random::Random;
use crate::report::{Attack, Outcome, Scale};
use crate::victim::{DOWNLOAD, SERVICE, UPLOAD};
use anyhow::{Context as _, Result, bail};
use core::sync::atomic::{AtomicU64, Ordering};
use core::time::Duration;
use dccp::packet_ring::{Label, PushError, Shape};
use dccp::{DccpAddr, Options, clock};
use dccp_netns::Namespace;
use dccp_ring_ipc::{RingCaller, RingClient, RingLimits, RingRequest, RingServer};
use serde_json::json;
use socket2::{Domain, SockAddr, Socket, Type};
use std::fs::{File, OpenOptions};
use std::io::BufRead as _;
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::sync::Arc;
use std::thread;

/// Datagrams of the honest application in a second, and their bytes.
const PER_S: u64 = 2000;
const LEN: u32 = 1000;
/// Connections of a hostile application.
const CONNECTIONS: usize = 8;
/// Callers that request nothing.
const SILENT: usize = 100;

pub(crate) fn attacks() -> Vec<Attack> {
    vec![Attack::real(
        "hostile applications of a ring server",
        "the server lives; another application keeps 90 % of its rate; a new one is served",
        run,
    )]
}

fn run(scale: Scale) -> Result<Outcome> {
    let rounds = match scale {
        Scale::Quick => 6,
        Scale::All => 100,
    };
    for _ in 1..3 {
        match attempt(rounds) {
            Ok(outcome) if outcome.holds() => return Ok(outcome),
            Ok(outcome) => eprintln!("again, because: {}", outcome.verdict()),
            Err(error) => eprintln!("again, because: {error:#}"),
        }
    }
    attempt(rounds)
}

fn attempt(rounds: u64) -> Result<Outcome> {
    anyhow::ensure!(
        nix::unistd::geteuid().is_root(),
        "needs root, for namespaces"
    );
    let host = Namespace::new("ring")?;
    let cores = Cores::new()?;
    let core = cores.victim.to_string();
    let attackers = cores.attacker.to_string();
    let path = std::env::temp_dir().join(format!("dccp-attack-{}", std::process::id()));
    let socket = path.to_str().context("a path that is no text")?;
    let mut sink = Program::start(&host, &["victim", "127.0.0.1:14233/5001", &core])?;
    let others = "127.0.0.1:14234/5001";
    let _others = Program::start(&host, &["victim", others, &core])?;
    let mut server = Program::start(&host, &["ring-server", socket, &core])?;
    let words = ["ring-app", socket, "127.0.0.1:14233/5001", &core];
    let mut app = Program::start(&host, &words)?;
    let mut rate = |time| -> Result<u64> {
        let (begin, before) = (clock::now(), number(&sink.ask()?, "bytes")?);
        host::sleep(time);
        let bytes = number(&sink.ask()?, "bytes")? - before;
        Ok(bytes * 8 / host::millis_since(begin).max(1))
    };
    rate(Duration::from_millis(500))?;
    let usual = rate(Duration::from_secs(2))?;
    let memory = server.resident()?;
    let silent: Vec<Socket> = (0..SILENT).filter_map(|_| call(&path).ok()).collect();
    let mut hostile_rate = 0;
    for seed in 0..rounds {
        let words = [
            "ring-hostile",
            socket,
            others,
            &attackers,
            &seed.to_string(),
        ];
        let hostile = Program::start(&host, &words)?;
        hostile_rate += rate(Duration::from_millis(500))?;
        hostile.kill()?;
    }
    let hostile_rate = hostile_rate / rounds;
    let words = ["ring-app", socket, "127.0.0.1:14233/5001", &core];
    let mut newcomer = Program::start(&host, &words)?;
    host::sleep(Duration::from_millis(500));
    let mut outcome = Outcome::new(rounds * CONNECTIONS as u64);
    outcome.note(format!("{} silent callers", silent.len()));
    outcome.note(format!("{usual} kbit/s without the attack"));
    let share = hostile_rate * 100 / usual.max(1);
    outcome.expect_at_least("% of the rate", share, 90);
    let sent = number(&newcomer.ask()?, "sent")?;
    outcome.expect_at_least("datagrams of a new application", sent, 1);
    let grown = server.resident()?.saturating_sub(memory).div_ceil(1 << 20);
    outcome.expect_at_most("MiB more memory", grown, 16);
    server.ask().context("the server has ended")?;
    app.ask().context("the honest application has ended")?;
    drop((app, newcomer));
    server.finish()?;
    // The server may have removed it.
    let _ = std::fs::remove_file(&path);
    Ok(outcome)
}

/// Connects to a ring server and requests nothing.
fn call(path: &Path) -> Result<Socket> {
    let socket = Socket::new(Domain::UNIX, Type::SEQPACKET, None)?;
    socket.set_nonblocking(true)?;
    socket.connect(&SockAddr::unix(path)?)?;
    Ok(socket)
}

/// Serves rings until the input ends.
pub(crate) fn serve(path: &str) -> Result<()> {
    let policy = |_: &RingCaller, _: &RingRequest| Ok(Options::new());
    let _server = RingServer::bind(path, RingLimits::default(), policy)?;
    for line in std::io::stdin().lock().lines() {
        line?;
        println!("{{}}");
    }
    Ok(())
}

fn connect(path: &str, peer: DccpAddr) -> Result<RingClient> {
    let request = RingRequest::new(peer, Shape::new(64, LEN)).service_code(SERVICE);
    let mut ring = RingClient::connect_timeout(path, &request, Duration::from_secs(20))?;
    ring.set_timeout(Some(Duration::from_secs(20)));
    Ok(ring)
}

/// Sends `PER_S` datagrams a second until the input ends.
pub(crate) fn send(path: &str, peer: DccpAddr) -> Result<()> {
    let mut ring = connect(path, peer)?;
    let sent = Arc::new(AtomicU64::new(0));
    let counter = sent.clone();
    ring.sender().push(UPLOAD, Label::default())?;
    thread::spawn(move || {
        if let Err(error) = send_on(&mut ring, &counter) {
            eprintln!("the honest application: {error:#}");
            std::process::exit(1);
        }
    });
    for line in std::io::stdin().lock().lines() {
        line?;
        println!("{}", json!({"sent": sent.load(Ordering::Relaxed)}));
    }
    Ok(())
}

fn send_on(ring: &mut RingClient, sent: &AtomicU64) -> Result<()> {
    let begin = clock::now();
    loop {
        let due = u128::from(PER_S) * (clock::now() - begin).as_nanos() / 1_000_000_000;
        while u128::from(sent.load(Ordering::Relaxed)) < due {
            match ring.sender().push(&[7; LEN as usize], Label::default()) {
                Ok(_) => _ = sent.fetch_add(1, Ordering::Relaxed),
                Err(PushError::Full) => ring.wait_for_room()?,
                Err(error) => bail!(error),
            }
        }
        host::sleep(Duration::from_millis(1));
    }
}

/// Opens connections, and writes random words into their shared memory until it is killed.
pub(crate) fn attack(path: &str, peer: DccpAddr, seed: u64) -> Result<()> {
    let mut rings: Vec<RingClient> = (0..CONNECTIONS)
        .map(|_| connect(path, peer))
        .collect::<Result<_>>()?;
    for ring in &mut rings {
        // The peer sends, and nothing here reads.
        ring.sender().push(DOWNLOAD, Label::default())?;
    }
    println!("{{}}");
    host::sleep(Duration::from_millis(50));
    let places = shared_memory()?;
    anyhow::ensure!(!places.is_empty(), "no ring is mapped");
    let memory = OpenOptions::new().write(true).open("/proc/self/mem")?;
    let mut random = Random::new(seed);
    loop {
        for &(begin, end) in &places {
            scribble(&memory, begin, end, &mut random)?;
        }
    }
}

/// Writes into the indexes at the begin of a ring, which the server trusts least, and into any other word.
fn scribble(memory: &File, begin: u64, end: u64, random: &mut Random) -> Result<()> {
    const INDEXES: usize = 64;
    let words = usize::try_from((end - begin) / 8)?;
    for _ in 0..16 {
        let among = if random.below(2) == 0 {
            words
        } else {
            INDEXES.min(words)
        };
        let at = begin + 8 * random.below(among) as u64;
        // Small numbers pass the first checks.
        let shift = random.below(64);
        let word = random.next() >> shift;
        memory.write_all_at(&word.to_le_bytes(), at)?;
    }
    Ok(())
}

/// Begin and end of each ring in this process.
fn shared_memory() -> Result<Vec<(u64, u64)>> {
    let maps = std::fs::read_to_string("/proc/self/maps")?;
    let lines = maps.lines().filter(|line| line.contains("memfd:dccp-ring"));
    let place = |line: &str| -> Result<(u64, u64)> {
        let range = line.split(' ').next().unwrap_or_default();
        let (begin, end) = range.split_once('-').context("a line of maps")?;
        Ok((
            u64::from_str_radix(begin, 16)?,
            u64::from_str_radix(end, 16)?,
        ))
    };
    lines.map(place).collect()
}

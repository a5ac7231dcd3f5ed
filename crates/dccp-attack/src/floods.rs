//! Floods against real sockets while a transfer of 100 Mbit/s goes on.
//!
//! The attacker has a core and a link of its own, so that the figures show what the flood costs the victim, and not
//! what it costs to make. The kernel handles each packet on the core that sends it.

use crate::host::{self, Cores, FRIEND, Network, PORTS, Program, VICTIM, number};
use crate::random::Random;
use crate::raw::{Content, Flood, fill_udp_checksum, internet_sum, ip_header, udp_header};
use crate::report::{Attack, Outcome, Scale};
use crate::strangers;
use crate::victim::{DOWNLOAD, ECHO, LEN, SERVICE, UPLOAD};
use anyhow::{Result, bail};
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use core::time::Duration;
use dccp::{DccpAddr, Engine, EngineOptions, Options, Socket, clock};
use dccp_proto::wire::{self, ChecksumRule};
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::thread::{self, JoinHandle};

/// The friend's UDP port, which the attacker knows.
const FRIENDS: u16 = 40_000;
/// Different packets of a flood.
const PACKETS: usize = 65_536;
/// Runs of an attack: other programs can slow a short run down.
const TRIES: usize = 3;
const MIB: u64 = 1 << 20;

pub(crate) fn attacks() -> Vec<Attack> {
    let promise = "the transfer keeps 90 % of its rate, memory grows by less than 8 MiB, \
                   a new client is served within a second, the port stays";
    let attack = |name, run| Attack::real(name, promise, run);
    vec![
        attack("50,000 ICMP errors/s, victim receives", |scale| {
            run(scale, 50_000, UPLOAD, icmp_errors)
        }),
        attack("100,000 ICMP errors/s, victim receives", |scale| {
            run(scale, 100_000, UPLOAD, icmp_errors)
        }),
        attack("500,000 ICMP errors/s, victim receives", |scale| {
            run(scale, 500_000, UPLOAD, icmp_errors)
        }),
        attack("100,000 ICMP errors/s, victim sends", |scale| {
            run(scale, 100_000, DOWNLOAD, icmp_errors)
        }),
        attack("500,000 ICMP errors/s, victim sends", |scale| {
            run(scale, 500_000, DOWNLOAD, icmp_errors)
        }),
        attack("10,000 Requests/s from forged addresses", |scale| {
            run(scale, 10_000, UPLOAD, requests)
        }),
        attack("50,000 Requests/s from forged addresses", |scale| {
            run(scale, 50_000, UPLOAD, requests)
        })
        .only_in_all(),
        attack("100,000 Requests/s from forged addresses", |scale| {
            run(scale, 100_000, UPLOAD, requests)
        })
        .only_in_all(),
        attack("200,000 Requests/s from forged addresses", |scale| {
            run(scale, 200_000, UPLOAD, requests)
        })
        .only_in_all(),
    ]
}

/// Makes the packets of a flood. The argument is the friend's DCCP port.
type Ammunition = fn(u16) -> Result<(Content, Vec<Vec<u8>>)>;

fn run(scale: Scale, per_s: u64, way: &'static [u8], packets: Ammunition) -> Result<Outcome> {
    let seconds = match scale {
        Scale::Quick => 3,
        Scale::All => 10,
    };
    for _ in 1..TRIES {
        match attempt(seconds, per_s, way, packets) {
            Ok(outcome) if outcome.holds() => return Ok(outcome),
            Ok(outcome) => eprintln!("again, because: {}", outcome.verdict()),
            Err(error) => eprintln!("again, because: {error:#}"),
        }
    }
    attempt(seconds, per_s, way, packets)
}

/// Compares the rate of a transfer without and with a flood of `seconds`.
fn attempt(seconds: u64, per_s: u64, way: &'static [u8], packets: Ammunition) -> Result<Outcome> {
    let network = Network::new()?;
    let cores = Cores::new()?;
    let address = DccpAddr::new(VICTIM.into(), PORTS.0, PORTS.1);
    let core = cores.victim.to_string();
    let words = ["victim", &address.to_string(), &core];
    let mut victim = Program::start(&network.victim, &words)?;
    let transfer = Transfer::start(network.friend.name(), cores.victim, address, way);
    let rate = |victim: &mut Program, time| -> Result<u64> {
        let (begin, before) = (clock::now(), transfer.bytes(victim)?);
        host::sleep(time);
        let bytes = transfer.bytes(victim)? - before;
        let ms = host::millis_since(begin);
        Ok(bytes * 8 / ms.max(1))
    };
    // The first second fills the link and the victim's buffers.
    rate(&mut victim, Duration::from_secs(1))?;
    let usual = rate(&mut victim, Duration::from_secs(2))?;
    let memory = victim.resident()?;
    let port = u16::try_from(number(&victim.ask()?, "peer")?)?;
    let (content, packets) = packets(port)?;
    let attacker = network.attacker.name();
    let flood = Flood::start(attacker, cores.attacker, VICTIM, content, packets, per_s);
    host::sleep(Duration::from_millis(300));
    let probes = Probes::start(network.friend.name(), cores.victim, address);
    let (mut bytes, mut most) = (0, memory);
    for _ in 0..seconds {
        bytes += rate(&mut victim, Duration::from_secs(1))?;
        most = most.max(victim.resident()?);
    }
    let flooded = bytes / seconds;
    let (served, longest) = probes.stop()?;
    let (sent, reached) = (flood.sent(), flood.rate());
    flood.stop()?;
    let counted = victim.ask()?;
    let [lost, icmp, pauses, strangers] =
        ["lost", "icmp", "pauses", "strangers"].map(|name| number(&counted, name));
    let (lost, icmp, strangers) = (lost?, icmp?, strangers?);
    transfer.stop()?;
    victim.finish()?;

    let mut outcome = Outcome::new(sent);
    // A loaded machine makes fewer, but no promise is tested without a flood.
    outcome.expect_at_least("packets/s reached", reached, per_s / 20);
    match content {
        Content::Icmp => {
            outcome.expect_at_least("ICMP errors read", icmp, 100);
            outcome.note(format!("{} pauses of reading them", pauses?));
        }
        Content::Ip => {
            outcome.expect_at_least("Requests read", strangers, sent / 20);
        }
    }
    outcome.note(format!("{usual} kbit/s without the flood"));
    outcome.note(format!("{flooded} kbit/s with it"));
    let share = flooded * 100 / usual.max(1);
    outcome.expect_at_least("% of the rate", share, 90);
    let grown = (most - memory).div_ceil(MIB);
    outcome.expect_at_most("MiB more memory", grown, 8);
    outcome.expect_at_least("new clients served", served, 1);
    outcome.expect_at_most("ms for the slowest", longest, 1000);
    outcome.expect_at_most("ports lost", lost, 0);
    Ok(outcome)
}

/// The friend's transfer.
struct Transfer {
    is_upload: bool,
    stop: Arc<AtomicBool>,
    received: Arc<AtomicU64>,
    thread: JoinHandle<Result<()>>,
}

impl Transfer {
    fn start(host: &str, core: usize, to: DccpAddr, way: &'static [u8]) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let received = Arc::new(AtomicU64::new(0));
        let (stopping, counter) = (stop.clone(), received.clone());
        let is_upload = way == UPLOAD;
        let thread = on_host(host, core, move |options| {
            let local = (IpAddr::from(FRIEND), FRIENDS).into();
            let options = options.service_code(SERVICE).bind(local);
            let socket = Socket::connect(to, &options)?;
            socket.send(way)?;
            let mut buffer = [0; 2000];
            while !stopping.load(Ordering::Relaxed) {
                if is_upload {
                    socket.send_zeros(LEN)?;
                } else {
                    let len = socket.recv(&mut buffer)?;
                    counter.fetch_add(len as u64, Ordering::Relaxed);
                }
            }
            socket.withdraw_queued();
            socket.close()?;
            Ok(())
        });
        Self {
            is_upload,
            stop,
            received,
            thread,
        }
    }

    /// Bytes that have arrived.
    fn bytes(&self, victim: &mut Program) -> Result<u64> {
        if self.is_upload {
            return number(&victim.ask()?, "bytes");
        }
        Ok(self.received.load(Ordering::Relaxed))
    }

    fn stop(self) -> Result<()> {
        self.stop.store(true, Ordering::Relaxed);
        join(self.thread)
    }
}

/// Clients that connect one after another.
struct Probes {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<Result<(u64, u64)>>,
}

impl Probes {
    fn start(host: &str, core: usize, to: DccpAddr) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let stopping = stop.clone();
        let thread = on_host(host, core, move |options| {
            let options = options.service_code(SERVICE);
            let (mut served, mut longest) = (0, 0);
            while !stopping.load(Ordering::Relaxed) {
                let begin = clock::now();
                let socket = Socket::connect(to, &options)?;
                socket.send(ECHO)?;
                socket.recv(&mut [0; 100])?;
                served += 1;
                longest = longest.max(host::millis_since(begin));
                socket.close()?;
                host::sleep(Duration::from_millis(200));
            }
            Ok((served, longest))
        });
        Self { stop, thread }
    }

    /// Returns the number of clients served, and the milliseconds of the slowest.
    fn stop(self) -> Result<(u64, u64)> {
        self.stop.store(true, Ordering::Relaxed);
        join(self.thread)
    }
}

/// Runs `work` in a namespace with an engine of its own, which shares its core.
pub(crate) fn on_host<T: Send + 'static>(
    host: &str,
    core: usize,
    work: impl FnOnce(Options) -> Result<T> + Send + 'static,
) -> JoinHandle<Result<T>> {
    let host = host.to_owned();
    thread::spawn(move || {
        dccp_netns::inside(&host, move || {
            host::pin(core)?;
            let engine = Engine::start(&EngineOptions::new())?;
            let patience = Duration::from_secs(20);
            let options = Options::new()
                .recv_timeout(patience)
                .send_timeout(patience)
                .engine(&engine);
            work(options)
        })?
    })
}

pub(crate) fn join<T>(thread: JoinHandle<Result<T>>) -> Result<T> {
    match thread.join() {
        Ok(result) => result,
        Err(_) => bail!("a thread of the attack panicked"),
    }
}

/// ICMP errors of four kinds, which quote the victim's flow with wrong sequence numbers.
fn icmp_errors(port: u16) -> Result<(Content, Vec<Vec<u8>>)> {
    // Port unreachable, host unreachable, "Too Big" with 552 bytes, TTL exceeded.
    const KINDS: [(u8, u8, u16); 4] = [(3, 3, 0), (3, 1, 0), (3, 4, 552), (11, 0, 0)];
    let mut random = Random::new(8);
    let message = |n: usize| -> Result<Vec<u8>> {
        let (kind, code, mtu) = KINDS[n % KINDS.len()];
        let [high, low] = mtu.to_be_bytes();
        let mut message = vec![kind, code, 0, 0, 0, 0, high, low];
        message.extend(ip_header(17, VICTIM, FRIEND, 24)?);
        message.extend(udp_header(PORTS.0, FRIENDS, 16)?);
        message.extend([PORTS.1.to_be_bytes(), port.to_be_bytes()].concat());
        // Data offset 4, a DCCP-Data packet with a long sequence number.
        message.extend([4, 0, 0, 0, (2 << 1) | 1, 0]);
        message.extend(&random.next().to_be_bytes()[2..]);
        let checksum = internet_sum(&message);
        message[2..4].copy_from_slice(&checksum);
        Ok(message)
    };
    let messages: Result<_> = (0..PACKETS).map(message).collect();
    Ok((Content::Icmp, messages?))
}

/// Requests to the victim.
fn requests(_: u16) -> Result<(Content, Vec<Vec<u8>>)> {
    Ok((Content::Ip, requests_to(PORTS.0)?))
}

/// Requests to a UDP port of the victim from 198.18.0.0/15.
pub(crate) fn requests_to(udp_port: u16) -> Result<Vec<Vec<u8>>> {
    let mut random = Random::new(9);
    let packet = |_| -> Result<Vec<u8>> {
        let [a, b, c, ..] = random.next().to_le_bytes();
        let from = Ipv4Addr::new(198, 18 + (a & 1), b, c);
        let request = strangers::request(&mut random);
        let mut dccp = Vec::new();
        wire::build(&mut dccp, &request, ChecksumRule::Udp)?;
        let mut udp = udp_header(random.next_u16() | 1, udp_port, dccp.len())?;
        // 6773-3.3-1: a UDP checksum of 0 is dropped.
        fill_udp_checksum(&mut udp, from, VICTIM, &dccp);
        let ip = ip_header(17, from, VICTIM, udp.len() + dccp.len())?;
        Ok([&ip[..], &udp, &dccp].concat())
    };
    (0..PACKETS).map(packet).collect()
}

//! The command line, and the plain values that it stands for.

use clap::{Args, Parser, Subcommand, ValueEnum};
use core::time::Duration;
use dccp_cli::quantity;
use dccp_emu::schedule::{Alteration, Change, LinkPlan};
use dccp_proto::{Instant, Rate};
use dccp_sim::loss::{FaultConfig, Jitter, Outage};
use dccp_sim::queue::{
    CoDelConfig, DropTailConfig, DualPi2Config, FqCoDelConfig, Limit, PieConfig, QueueConfig,
    RedConfig, TokenBucketConfig,
};
use dccp_sim::rate_trace::RateTrace;
use dccp_sim::{LinkConfig, Seed};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::str::FromStr;

/// A link in real time: rate, delay, queue, loss.
#[derive(Parser, Debug)]
#[command(version, max_term_width = 100)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Subcommand, Debug)]
pub(crate) enum Command {
    /// Relay UDP datagrams between clients and one server; needs no privileges.
    Relay {
        /// Address that clients send to.
        #[arg(long, value_name = "ADDRESS:PORT")]
        listen: SocketAddr,
        /// Address of the server.
        #[arg(long, value_name = "ADDRESS:PORT")]
        to: SocketAddr,
        #[command(flatten)]
        link: Link,
    },
    /// Carry IP packets between two TUN devices (Linux, root).
    Tun {
        /// First end: `[namespace/]device,address/prefix[,address/prefix]`.
        #[arg(long, value_name = "END")]
        left: TunEnd,
        /// Second end, likewise.
        #[arg(long, value_name = "END")]
        right: TunEnd,
        #[command(flatten)]
        link: Link,
    },
}

/// Active queue management with its default settings.
#[derive(ValueEnum, Clone, Copy, Debug)]
enum Aqm {
    /// RED with the thresholds that ns-2 finds for the rate.
    Red,
    /// `CoDel` (RFC 8289).
    Codel,
    /// A `CoDel` queue per flow (RFC 8290).
    #[value(name = "fq_codel")]
    FqCodel,
    /// PIE (RFC 8033).
    Pie,
    /// `DualPI2` (RFC 9332).
    Dualpi2,
}

impl Aqm {
    /// The queue in front of a link of this rate.
    fn queue(self, rate: Option<Rate>, mean_packet: usize) -> QueueConfig {
        let red = |rate| RedConfig::automatic(rate, mean_packet);
        match self {
            Self::Red => QueueConfig::Red(RedConfig {
                ecn: true,
                ..rate.map_or(RedConfig::default(), red)
            }),
            Self::Codel => QueueConfig::CoDel(CoDelConfig::default()),
            Self::FqCodel => QueueConfig::FqCoDel(FqCoDelConfig::default()),
            Self::Pie => QueueConfig::Pie(PieConfig::default()),
            Self::Dualpi2 => QueueConfig::DualPi2(DualPi2Config::default()),
        }
    }
}

/// Settings of the link. Those of the way back are the same unless given.
#[derive(Args, Debug)]
pub(crate) struct Link {
    /// Bits per second of IP packets, for example 50M; none: no limit.
    #[arg(long, value_parser = rate)]
    rate: Option<Rate>,
    /// One-way delay, for example 20ms.
    #[arg(long, value_parser = time, default_value = "0ms")]
    delay: Duration,
    /// Size of a token bucket, for example 10KB. The link itself is faster; packets leave at the rate, with bursts of
    /// this size.
    #[arg(long, value_parser = size, requires = "rate", conflicts_with_all = ["aqm", "mark_at"])]
    burst: Option<usize>,
    /// Queue in packets (100p) or bytes (64KiB).
    #[arg(long, value_parser = limit, default_value = "1000p")]
    queue: Limit,
    /// Mark ECN-capable packets that find a queue of at least this size.
    #[arg(long, value_parser = limit, conflicts_with = "aqm")]
    mark_at: Option<Limit>,
    /// Manage the queues of both ways; ECN-capable packets are marked instead of dropped early.
    #[arg(long, value_enum, requires = "rate")]
    aqm: Option<Aqm>,
    /// Share of packets lost, each independently, for example 1%.
    #[arg(long, value_parser = share, default_value = "0")]
    loss: f64,
    /// Share of packets that arrive twice.
    #[arg(long, value_parser = share, default_value = "0")]
    duplicate: f64,
    /// Share of packets with a flipped bit.
    #[arg(long, value_parser = share, default_value = "0")]
    corrupt: f64,
    /// Share of packets held back by --reorder-by, so that others overtake them.
    #[arg(long, value_parser = share, default_value = "0")]
    reorder: f64,
    /// How long such packets are held back.
    #[arg(long, value_parser = time, default_value = "5ms")]
    reorder_by: Duration,
    /// Random extra delay up to this; packets stay in order.
    #[arg(long, value_parser = time, default_value = "0ms")]
    jitter: Duration,
    /// Largest IP packet in bytes.
    #[arg(long, value_parser = mtu, default_value = "1500")]
    mtu: usize,
    /// Rate of the way back.
    #[arg(long, value_parser = rate)]
    back_rate: Option<Rate>,
    /// Delay of the way back.
    #[arg(long, value_parser = time)]
    back_delay: Option<Duration>,
    /// Queue of the way back.
    #[arg(long, value_parser = limit)]
    back_queue: Option<Limit>,
    /// Loss of the way back.
    #[arg(long, value_parser = share)]
    back_loss: Option<f64>,
    /// File in mahimahi's format with the rate of the way there.
    #[arg(long, value_name = "FILE", value_parser = trace, conflicts_with_all = ["rate", "burst"])]
    trace: Option<RateTrace>,
    /// File with the rate of the way back.
    #[arg(long, value_name = "FILE", value_parser = trace, conflicts_with_all = ["back_rate", "burst"])]
    back_trace: Option<RateTrace>,
    /// New settings of both ways at a time after the start, for example
    /// `10s:rate=5M,delay=50ms,queue=50p,loss=1%,up=no`. Can be repeated.
    #[arg(long, value_name = "CHANGE", value_parser = change)]
    change: Vec<Change>,
    /// New settings of the way back only.
    #[arg(long, value_name = "CHANGE", value_parser = change)]
    back_change: Vec<Change>,
    /// Lose all packets of both ways in a span of time after the start, for example `10s..12s`. Can be repeated.
    #[arg(long, value_name = "SPAN", value_parser = outage)]
    outage: Vec<Outage>,
    /// Seed of all random choices.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Busy-wait for this long before each packet is due: exact timing, at the cost of CPU.
    #[arg(long, value_parser = time, default_value = "0ms")]
    pub(crate) busy_wait: Duration,
    /// Write a line for each event of a packet: time, direction, event, reason of a loss, queue, bytes, first bytes.
    #[arg(long, value_name = "FILE")]
    pub(crate) log: Option<PathBuf>,
    /// End by itself after this time; none: run until interrupted.
    #[arg(long, value_parser = time_or_seconds)]
    pub(crate) duration: Option<Duration>,
}

impl Link {
    /// The links there and back.
    ///
    /// # Errors
    /// Settings that are impossible together.
    pub(crate) fn plans(&self) -> Result<[LinkPlan; 2], String> {
        let forward = LinkConfig {
            rate: self.line_rate(self.rate),
            trace: self.trace.clone(),
            delay: self.delay,
            queue: self.queue_of(self.rate, self.queue),
            mtu: self.mtu,
            faults: FaultConfig {
                loss: self.loss,
                duplicate: self.duplicate,
                corrupt: self.corrupt,
                reorder: self.reorder,
                reorder_by: self.reorder_by,
                jitter: Jitter::Uniform(self.jitter),
                outages: self.outage.clone(),
                ..FaultConfig::default()
            },
            ..LinkConfig::default()
        };
        let mut back = forward.clone();
        let back_rate = self.back_rate.or(self.rate);
        back.rate = self.line_rate(back_rate);
        back.trace.clone_from(&self.back_trace);
        back.delay = self.back_delay.unwrap_or(back.delay);
        back.queue = self.queue_of(back_rate, self.back_queue.unwrap_or(self.queue));
        back.faults.loss = self.back_loss.unwrap_or(back.faults.loss);
        let back_changes = [&self.change[..], &self.back_change[..]].concat();
        let plan = |config, changes| LinkPlan::new(config, changes).map_err(|e| e.to_string());
        Ok([
            plan(forward, self.change.clone())?,
            plan(back, back_changes)?,
        ])
    }

    /// The rate of the transmitter: none if a token bucket limits the rate.
    fn line_rate(&self, rate: Option<Rate>) -> Option<Rate> {
        rate.filter(|_| self.burst.is_none())
    }

    fn queue_of(&self, rate: Option<Rate>, limit: Limit) -> QueueConfig {
        if let (Some(burst), Some(rate)) = (self.burst, rate) {
            return QueueConfig::TokenBucket(TokenBucketConfig { rate, burst, limit });
        }
        let mark_at = self.mark_at;
        let Some(aqm) = self.aqm else {
            return QueueConfig::DropTail(DropTailConfig { limit, mark_at });
        };
        let mut queue = aqm.queue(rate, self.mtu);
        queue.set_limit(limit);
        queue
    }

    pub(crate) fn seed(&self) -> Seed {
        Seed(self.seed)
    }
}

fn told(error: &quantity::QuantityError) -> String {
    format!("{error}; {}", error.next_step())
}

#[expect(clippy::cast_precision_loss, reason = "no link has 2^53 bit/s")]
fn rate(text: &str) -> Result<Rate, String> {
    match quantity::rate_bits_per_s(text).map_err(|e| told(&e))? {
        0 => Err("a link of 0 bit/s carries nothing".into()),
        bits => Ok(Rate::from_bytes_per_s(bits as f64 / 8.0)),
    }
}

/// An IP packet can have its headers at least, and no more than its length field says.
fn mtu(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(bytes) if (68..=65_535).contains(&bytes) => Ok(bytes),
        _ => Err("write 68 to 65535 bytes".into()),
    }
}

fn time(text: &str) -> Result<Duration, String> {
    quantity::time(text).map_err(|e| told(&e))
}

fn time_or_seconds(text: &str) -> Result<Duration, String> {
    quantity::time_or_seconds(text).map_err(|e| told(&e))
}

fn share(text: &str) -> Result<f64, String> {
    quantity::share(text).map_err(|e| told(&e))
}

fn size(text: &str) -> Result<usize, String> {
    let bytes = quantity::size_bytes(text).map_err(|e| told(&e))?;
    usize::try_from(bytes).map_err(|e| e.to_string())
}

fn limit(text: &str) -> Result<Limit, String> {
    if let Some(packets) = text.strip_suffix('p') {
        let n = packets
            .parse()
            .map_err(|_| format!("'{text}' is not a number of packets; write 100p"))?;
        return Ok(Limit::Packets(n));
    }
    size(text).map(Limit::Bytes)
}

fn trace(file: &str) -> Result<RateTrace, String> {
    let text = std::fs::read_to_string(file).map_err(|e| format!("it cannot be read: {e}"))?;
    RateTrace::parse(&text).map_err(|e| e.to_string().replace('\n', "; "))
}

fn outage(text: &str) -> Result<Outage, String> {
    let (start, end) = text.split_once("..").ok_or("write 10s..12s")?;
    let (start, end) = (time(start)?, time(end)?);
    if end <= start {
        return Err("write the earlier time first".into());
    }
    let instant = |at| Instant::ZERO + at;
    Ok(Outage {
        start: instant(start),
        end: instant(end),
    })
}

/// Reads `10s:rate=5M,delay=50ms`.
fn change(text: &str) -> Result<Change, String> {
    const FORM: &str = "write 10s:rate=5M,delay=50ms,queue=50p,loss=1%,up=no";
    let (at, settings) = text.split_once(':').ok_or(FORM)?;
    let alteration = |setting: &str| match setting.split_once('=').ok_or(FORM)? {
        ("rate", value) => rate(value).map(Alteration::Rate),
        ("delay", value) => time(value).map(Alteration::Delay),
        ("queue", value) => limit(value).map(Alteration::Queue),
        ("loss", value) => share(value).map(Alteration::Loss),
        ("up", "yes") => Ok(Alteration::Up(true)),
        ("up", "no") => Ok(Alteration::Up(false)),
        (key, _) => Err(format!("'{key}' is not a setting that changes; {FORM}")),
    };
    Ok(Change {
        at: time(at)?,
        alterations: settings
            .split(',')
            .map(alteration)
            .collect::<Result<_, String>>()?,
    })
}

/// One end of a tunnel.
#[derive(Clone, Debug)]
pub(crate) struct TunEnd(#[cfg(target_os = "linux")] pub(crate) dccp_emu::tun::End);

#[cfg(not(target_os = "linux"))]
impl FromStr for TunEnd {
    type Err = String;

    fn from_str(_: &str) -> Result<Self, String> {
        Ok(Self())
    }
}

#[cfg(target_os = "linux")]
impl FromStr for TunEnd {
    type Err = String;

    /// Reads `[namespace/]device,address/prefix[,…]`.
    fn from_str(text: &str) -> Result<Self, String> {
        const FORM: &str = "write an end as namespace/device,address/prefix";
        let mut parts = text.split(',');
        let place = parts.next().unwrap_or_default();
        let (namespace, device) = match place.split_once('/') {
            Some((namespace, device)) => (Some(namespace.to_owned()), device),
            None => (None, place),
        };
        if device.is_empty() || device.len() > 15 {
            return Err(format!(
                "'{place}' names no device of 1 to 15 characters; {FORM}"
            ));
        }
        let addresses = parts.map(address).collect::<Result<Vec<_>, _>>()?;
        if addresses.is_empty() {
            return Err(format!("it has no address; {FORM}"));
        }
        Ok(Self(dccp_emu::tun::End {
            namespace,
            device: device.to_owned(),
            addresses,
        }))
    }
}

#[cfg(target_os = "linux")]
fn address(text: &str) -> Result<(std::net::IpAddr, u8), String> {
    let wrong = || format!("'{text}' is not an address with a prefix, such as 10.9.0.1/24");
    let (address, prefix) = text.split_once('/').ok_or_else(wrong)?;
    let address: std::net::IpAddr = address.parse().map_err(|_| wrong())?;
    let prefix: u8 = prefix.parse().map_err(|_| wrong())?;
    let longest = if address.is_ipv6() { 128 } else { 32 };
    if prefix > longest {
        Err(wrong())
    } else {
        Ok((address, prefix))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn links(words: &str) -> [LinkConfig; 2] {
        let fixed = "dccp-emu relay --listen 127.0.0.1:0 --to 127.0.0.1:9 ";
        let line = format!("{fixed}{words}");
        match Cli::parse_from(line.split(' ')).command {
            Command::Relay { link, .. } | Command::Tun { link, .. } => {
                link.plans().unwrap().map(|plan| plan.config().clone())
            }
        }
    }

    #[test]
    fn change_alters_both_ways_and_back_change_one() {
        let change = change("10s:rate=5M,delay=50ms,queue=50p,loss=1%,up=no").unwrap();
        assert_eq!(change.at, Duration::from_secs(10));
        assert_eq!(
            change.alterations,
            [
                Alteration::Rate(Rate::from_bytes_per_s(625e3)),
                Alteration::Delay(Duration::from_millis(50)),
                Alteration::Queue(Limit::Packets(50)),
                Alteration::Loss(0.01),
                Alteration::Up(false),
            ]
        );
        for wrong in ["10s", "10s:up=maybe", "rate=5M", "x:rate=5M", "1s:mtu=5"] {
            assert!(super::change(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_token_bucket_keeps_to_the_rate_on_a_link_without_one() {
        let [forward, back] = links("--rate 400kbit --burst 10KB --queue 20p --back-rate 1Mbit");
        for (link, bits_per_s) in [(forward, 400e3), (back, 1e6)] {
            let bucket = TokenBucketConfig {
                rate: Rate::from_bytes_per_s(bits_per_s / 8.0),
                burst: 10_000,
                limit: Limit::Packets(20),
            };
            assert_eq!(link.queue, QueueConfig::TokenBucket(bucket));
            assert_eq!(link.rate, None);
        }
        let [plain, _] = links("--rate 400kbit --queue 20p");
        assert_eq!(plain.queue, QueueConfig::drop_tail(Limit::Packets(20)));
        assert!(plain.rate.is_some());
    }
}

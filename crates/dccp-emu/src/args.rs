//! The command line, and the plain values that it stands for.

use clap::{Args, Parser, Subcommand, ValueEnum};
use core::time::Duration;
use dccp_cli::quantity;
use dccp_proto::Rate;
use dccp_sim::loss::{FaultConfig, Jitter};
use dccp_sim::queue::{
    CoDelConfig, DropTailConfig, DualPi2Config, FqCoDelConfig, Limit, PieConfig, QueueConfig,
    RedConfig, TokenBucketConfig,
};
use dccp_sim::{LinkConfig, Seed};
use std::net::SocketAddr;

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
        left: String,
        /// Second end, likewise.
        #[arg(long, value_name = "END")]
        right: String,
        #[command(flatten)]
        link: Link,
    },
}

/// What manages the queues, with its usual settings.
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
    /// A token bucket of so many bytes, for example 10KB: the link is faster, and what leaves keeps to the rate apart
    /// from such bursts.
    #[arg(long, value_parser = size, requires = "rate", conflicts_with_all = ["aqm", "mark_at"])]
    burst: Option<usize>,
    /// Queue in packets (100p) or bytes (64KiB).
    #[arg(long, value_parser = limit, default_value = "1000p")]
    queue: Limit,
    /// Mark ECN-capable packets that find so much in the queue.
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
    /// Seed of all random choices.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Stop sleeping so long before a packet's moment, for exact timing at the cost of CPU.
    #[arg(long, value_parser = time, default_value = "0ms")]
    pub(crate) busy_wait: Duration,
    /// End by itself after this time; none: run until interrupted.
    #[arg(long, value_parser = time_or_seconds)]
    pub(crate) duration: Option<Duration>,
}

impl Link {
    /// The links there and back.
    ///
    /// # Errors
    /// What is wrong with them together.
    pub(crate) fn configs(&self) -> Result<[LinkConfig; 2], String> {
        let forward = LinkConfig {
            rate: self.line_rate(self.rate),
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
                ..FaultConfig::default()
            },
            ..LinkConfig::default()
        };
        let mut back = forward.clone();
        let back_rate = self.back_rate.or(self.rate);
        back.rate = self.line_rate(back_rate);
        back.delay = self.back_delay.unwrap_or(back.delay);
        back.queue = self.queue_of(back_rate, self.back_queue.unwrap_or(self.queue));
        back.faults.loss = self.back_loss.unwrap_or(back.faults.loss);
        for config in [&forward, &back] {
            config.check().map_err(|e| e.to_string())?;
        }
        Ok([forward, back])
    }

    /// How fast packets go over the link: where a token bucket keeps to the rate, at once.
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
            .map_err(|_| format!("`{text}` is no number of packets; write 100p"))?;
        return Ok(Limit::Packets(n));
    }
    size(text).map(Limit::Bytes)
}

/// Reads `[namespace/]device,address/prefix[,…]`.
#[cfg(target_os = "linux")]
pub(crate) fn end(text: &str) -> Result<dccp_emu::tun::End, String> {
    let mut parts = text.split(',');
    let place = parts.next().unwrap_or_default();
    let (namespace, device) = match place.split_once('/') {
        Some((namespace, device)) => (Some(namespace.to_owned()), device),
        None => (None, place),
    };
    if device.is_empty() || device.len() > 15 {
        return Err(format!("`{place}` names no device of 1 to 15 characters"));
    }
    let addresses = parts.map(address).collect::<Result<Vec<_>, _>>()?;
    if addresses.is_empty() {
        return Err(format!("`{text}` has no address"));
    }
    Ok(dccp_emu::tun::End {
        namespace,
        device: device.to_owned(),
        addresses,
    })
}

#[cfg(target_os = "linux")]
fn address(text: &str) -> Result<(std::net::IpAddr, u8), String> {
    let wrong = || format!("`{text}` is no address with a prefix, such as 10.9.0.1/24");
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
            Command::Relay { link, .. } | Command::Tun { link, .. } => link.configs().unwrap(),
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

//! The settings, as the peers' programs take them: `name=value` words. Flows of one kind may be
//! written together, `1000*dccp/reno`.

use core::str::FromStr;
use core::time::Duration;
use dccp_cli::law;
use dccp_proto::cc::law::LawConfig;
use dccp_proto::cc::registry::Ccids;

/// The transport of a flow.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Transport {
    /// The simulator's TCP with a law.
    Tcp(LawConfig),
    /// Our DCCP with CCID 2 and a law.
    Ccid2(LawConfig),
    /// DCCP with CCID 3, ours or another of the list.
    Ccid3(Ccids),
}

/// One flow.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Flow {
    /// As it was written.
    pub(crate) name: String,
    pub(crate) transport: Transport,
    pub(crate) start: Duration,
}

/// All settings.
#[derive(Clone, PartialEq, Debug)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a word of the command line"
)]
pub(crate) struct Settings {
    /// The bottleneck's rate in Mbit/s.
    pub(crate) rate: f64,
    /// Round trip without any queue, in milliseconds.
    pub(crate) rtt: f64,
    /// Packets that wait at the bottleneck at most, the one in transmission not counted.
    pub(crate) queue: usize,
    /// Virtual seconds in all, and how many of them are left out of the figures.
    pub(crate) time: f64,
    pub(crate) warmup: f64,
    /// Bytes of an IP packet that carries data.
    pub(crate) packet: usize,
    /// Data packets per acknowledgement.
    pub(crate) ack: u16,
    /// Packets that a flow has in flight at most.
    pub(crate) window: u32,
    /// Where the first slow start ends, in packets; 0: at the first loss.
    pub(crate) ssthresh: u32,
    /// Whether CCID 2 spreads the packets that an acknowledgement frees.
    pub(crate) pacing: bool,
    /// Whether TCP halves its flight until a loss is recovered.
    pub(crate) halved: bool,
    /// Whether its timeout takes a sample from every acknowledgement.
    pub(crate) every_ack: bool,
    /// Whether it stays doubled until new data are acknowledged.
    pub(crate) keeps_backoff: bool,
    pub(crate) seed: u64,
    pub(crate) flows: Vec<Flow>,
}

impl Settings {
    /// Reads the words of the command line.
    pub(crate) fn read(words: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut settings = Self {
            rate: 100.0,
            rtt: 70.0,
            queue: 583,
            time: 60.0,
            warmup: 0.0,
            packet: 1500,
            ack: 1,
            window: 100_000,
            ssthresh: 0,
            pacing: false,
            halved: false,
            every_ack: false,
            keeps_backoff: false,
            seed: 1,
            flows: Vec::new(),
        };
        for word in words {
            let (name, value) = word
                .split_once('=')
                .ok_or_else(|| format!("{word}: a setting is name=value"))?;
            settings
                .set(name, value)
                .map_err(|why| format!("{word}: {why}"))?;
        }
        if settings.warmup >= settings.time {
            return Err("the warm-up must end before the run".to_owned());
        }
        if settings.flows.is_empty() {
            return Err("flows=LAW@START,… is missing".to_owned());
        }
        Ok(settings)
    }

    fn set(&mut self, name: &str, value: &str) -> Result<(), String> {
        match name {
            "rate" => self.rate = positive(value)?,
            "rtt" => self.rtt = positive(value)?,
            "queue" => self.queue = number(value)?,
            "time" => self.time = positive(value)?,
            "warmup" => self.warmup = number(value)?,
            "packet" => self.packet = number(value)?,
            "ack" => self.ack = number(value)?,
            "window" => self.window = number(value)?,
            "ssthresh" => self.ssthresh = number(value)?,
            "pacing" => self.pacing = yes_no(value)?,
            "halved" => self.halved = yes_no(value)?,
            "every_ack" => self.every_ack = yes_no(value)?,
            "keeps_backoff" => self.keeps_backoff = yes_no(value)?,
            "seed" => self.seed = number(value)?,
            // Options of a law have commas of their own.
            "flows" => {
                for kind in value.split(';') {
                    let (count, flow) = kind.split_once('*').unwrap_or(("1", kind));
                    let flow = read_flow(flow)?;
                    let flows = core::iter::repeat_n(flow, number(count)?);
                    self.flows.extend(flows);
                }
            }
            _ => return Err("there is no such setting".to_owned()),
        }
        Ok(())
    }
}

fn number<T: FromStr>(value: &str) -> Result<T, String> {
    value.parse().map_err(|_| "not such a number".to_owned())
}

fn yes_no(value: &str) -> Result<bool, String> {
    match value {
        "yes" => Ok(true),
        "no" => Ok(false),
        _ => Err("is yes or no".to_owned()),
    }
}

fn positive(value: &str) -> Result<f64, String> {
    let value: f64 = number(value)?;
    if value > 0.0 && value.is_finite() {
        Ok(value)
    } else {
        Err("must be above zero".to_owned())
    }
}

/// `TRANSPORT/LAW[:OPTIONS][@SECONDS]`, where the transport is `tcp` or `dccp`. `dccp/tfrc` and `dccp/tfrc-ns2` are
/// CCID 3.
fn read_flow(text: &str) -> Result<Flow, String> {
    let (name, start) = text.split_once('@').unwrap_or((text, "0"));
    let start = Duration::try_from_secs_f64(number(start)?).map_err(|e| e.to_string())?;
    let transport = match name.split_once('/') {
        Some(("tcp", name)) => {
            Transport::Tcp(law::parse_for_tcp(name).map_err(|e| e.to_string())?.config)
        }
        Some(("dccp", "tfrc")) => Transport::Ccid3(Ccids::default()),
        Some(("dccp", name)) if dccp_historic::ccid(name).is_some() => {
            Transport::Ccid3(dccp_historic::ccid(name).unwrap_or_default())
        }
        Some(("dccp", name)) => {
            Transport::Ccid2(law::parse(name).map_err(|e| e.to_string())?.config)
        }
        _ => return Err("a flow is tcp/LAW@START, dccp/LAW@START or dccp/tfrc@START".to_owned()),
    };
    Ok(Flow {
        name: name.to_owned(),
        transport,
        start,
    })
}

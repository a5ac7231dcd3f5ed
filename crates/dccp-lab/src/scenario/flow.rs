//! `[[flow]]`: who sends what to whom, carried by what, and when.

use super::document::{Entry, Item};
use super::fields::Fields;
use super::link::span;
use super::mistake::{Mistake, Place};
use super::plan::{Flow, Kind, Transport};
use super::read;
use super::topology::node;
use super::traffic::{Traffic, traffic};
use core::time::Duration;
use dccp_cli::law::{self, NamedLaw};
use dccp_proto::Config;
use dccp_proto::cc::registry::Ccids;
use dccp_sim::{Seed, tcp};

pub(super) const KNOWN: &[&str] = &[
    "id",
    "from",
    "to",
    "kind",
    "transport",
    "cc",
    "tfrc",
    "window",
    "ack_ratio",
    "ecn",
    "pacing",
    "size",
    "rate",
    "shape",
    "amount",
    "app_limit",
    "every",
    "on",
    "off",
    "pareto_shape",
    "pattern",
    "pictures",
    "answer",
    "think",
    "patience",
    "start",
    "stagger",
    "stop",
    "important",
    "late_choice",
    "ring",
];

/// Keys that belong to the transport, not to the kind of a flow.
const OF_TRANSPORTS: &[&str] = &["tfrc", "window", "ack_ratio", "ecn", "pacing"];

/// The name of our CCID 3.
const OUR_TFRC: &str = "tfrc";

/// Streams under one name.
const STREAMS_MAX: usize = 10_000;

/// One flow. What is drawn by chance comes from a stream of the flow's own.
/// Also the bytes of its largest packets, if it cannot make them smaller.
pub(crate) fn flow(
    section: &Item,
    nodes: &[String],
    seed: Seed,
) -> Result<(Flow, Option<Packet>), Mistake> {
    let fields = Fields::of_item(section, "a flow", KNOWN)?;
    for later in ["app_limit", "important", "late_choice", "ring"] {
        fields.not_yet(later)?;
    }
    let id = fields.need("id", read::name)?;
    let from = fields.need("from", |item| node(item, nodes))?;
    let to = fields.need("to", |item| node(item, nodes))?;
    if from == to {
        let place = fields.item("to").map_or(fields.place(), |item| &item.place);
        return Err(Mistake::new(
            place,
            format!("{id} would send to itself"),
            "write two different nodes",
        ));
    }
    let traffic = traffic(&fields, seed.stream(&format!("flow {id} traffic")))?;
    let (law, streams) = congestion_control(&fields)?;
    let law_text = law.as_ref().map(|(law, _)| law.to_string());
    let transport = transport(&fields, law, &traffic)?;
    let (starts, stop) = times(&fields, &id, streams, seed)?;
    fields.done(&format!("a flow of kind {}", traffic.word))?;
    let packet = packet(&transport, &traffic);
    let flow = Flow {
        id,
        from,
        to,
        transport,
        law: law_text,
        kind: traffic.kind,
        sender: traffic.sender,
        receiver: traffic.receiver,
        starts,
        stop,
    };
    Ok((flow, packet))
}

/// The largest packets of a flow.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Packet {
    /// Bytes of data.
    pub(crate) data: usize,
    /// Bytes beside the data that the transport keeps free.
    pub(crate) headers: usize,
}

/// `None`: it takes the size that the path has.
fn packet(transport: &Transport, traffic: &Traffic) -> Option<Packet> {
    // IPv4 with UDP; with TCP and its timestamps; with DCCP and room for its options.
    const UDP: usize = 28;
    const TCP: usize = 52;
    const DCCP: usize = 56;
    let (data, headers) = match transport {
        Transport::Udp => (traffic.size, UDP),
        Transport::Tcp(config) => (usize::from(config.mss), TCP),
        Transport::Dccp(_) if traffic.kind == Kind::Bulk => return None,
        Transport::Dccp(_) => (traffic.size, DCCP),
    };
    Some(Packet { data, headers })
}

/// A law, and where it is chosen.
type Chosen<'a> = (NamedLaw, &'a Entry);

/// `cc = "reno*16"`: the law, and how many streams go under the flow's name.
fn congestion_control<'a>(fields: &Fields<'a>) -> Result<(Option<Chosen<'a>>, usize), Mistake> {
    let Some(entry) = fields.entry("cc") else {
        return Ok((None, 1));
    };
    let text = read::text(&entry.item)?;
    let (law, streams) = match text.rsplit_once('*') {
        None => (text, 1),
        Some((law, number)) => {
            let number = number.parse().ok();
            let number = number.filter(|n| (1..=STREAMS_MAX).contains(n));
            let number = number.ok_or_else(|| {
                Mistake::new(
                    &entry.item.place,
                    format!("'{text}': the number of streams is none"),
                    format!("write {law}*2 to {law}*{STREAMS_MAX}"),
                )
            })?;
            (law, number)
        }
    };
    let is_tcp = fields.get("transport", read::text)? == Some("tcp");
    let read_law = if is_tcp {
        law::parse_for_tcp
    } else {
        law::parse
    };
    let law = read_law(law)
        .map_err(|error| Mistake::new(&entry.item.place, error.problem, error.next))?;
    Ok((Some((law, entry)), streams))
}

fn transport(
    fields: &Fields<'_>,
    law: Option<Chosen<'_>>,
    traffic: &Traffic,
) -> Result<Transport, Mistake> {
    let usual = if ["udp", "ping", "rr"].contains(&traffic.word) {
        "udp"
    } else {
        "dccp/ccid2"
    };
    let item = fields.item("transport");
    let place = item.map_or(fields.place(), |item| &item.place);
    let name = item.map_or(Ok(usual), read::text)?;
    let transport = match (name, law) {
        ("udp", None) if traffic.kind == Kind::Bulk => Err(Mistake::new(
            place,
            "nothing limits a bulk flow over UDP",
            "write kind = \"udp\" and a shape",
        )),
        ("udp", None) => Ok(Transport::Udp),
        ("udp", Some((_, entry))) => Err(Mistake::new(
            &entry.place,
            "UDP has no congestion control",
            "leave cc out, or write transport = \"dccp/ccid2\" or \"tcp\"",
        )),
        ("tcp", law) => tcp(fields, law.map(|(law, _)| law), traffic.size).map(Transport::Tcp),
        (later, _) if later.ends_with("+ring") => {
            Err(Mistake::not_yet(place, &format!("transport {later}")))
        }
        ("dccp/ccid2", law) => {
            let law = law.map(|(law, _)| law);
            dccp(fields, 2, law, traffic.size).map(|config| Transport::Dccp(Box::new(config)))
        }
        (text, law) => {
            let ccid = text.strip_prefix("dccp/ccid").and_then(|n| n.parse().ok());
            let Some(ccid) = ccid.filter(|&ccid| Ccids::default().find(ccid).is_some()) else {
                return Err(unknown(place, text));
            };
            if let Some((_, entry)) = law {
                let what = format!("{text} has a congestion control of its own");
                let next = "leave cc out, or take dccp/ccid2 or tcp";
                return Err(Mistake::new(&entry.place, what, next));
            }
            dccp(fields, ccid, None, traffic.size).map(|config| Transport::Dccp(Box::new(config)))
        }
    }?;
    fields.done_with(OF_TRANSPORTS, &format!("transport {name}"))?;
    Ok(transport)
}

fn unknown(place: &Place, text: &str) -> Mistake {
    let mut known = vec!["tcp".to_owned(), "udp".to_owned()];
    let ccids = Ccids::default();
    known.extend(ccids.iter().map(|c| format!("dccp/ccid{}", c.number())));
    let known: Vec<&str> = known.iter().map(String::as_str).collect();
    Mistake::unknown(place, "transport", text, &known)
}

fn dccp(
    fields: &Fields<'_>,
    ccid: u8,
    law: Option<NamedLaw>,
    size: usize,
) -> Result<Config, Mistake> {
    let default = Config::default();
    let common = Config {
        tx_ccids: vec![ccid],
        rx_ccids: vec![ccid],
        ecn: fields.get("ecn", read::flag)?.unwrap_or(default.ecn),
        ..default
    };
    if ccid == 3 {
        return Ok(Config {
            ccids: fields.get("tfrc", tfrc)?.unwrap_or_default(),
            ..common
        });
    }
    if ccid != 2 {
        // CCIDs 3 and 4 have no window and no Ack Ratio, and are paced always.
        return Ok(common);
    }
    Ok(Config {
        law: law.map_or(common.law, |law| law.config),
        max_window: fields.get("window", |item| window(item, size))?,
        ack_ratio: ack_ratio(fields)?,
        pacing: fields.get("pacing", read::flag)?.unwrap_or(common.pacing),
        ..common
    })
}

/// `tfrc = "tfrc-ns2"`: CCID 3 as another program has it.
fn tfrc(item: &Item) -> Result<Ccids, Mistake> {
    let name = read::text(item)?;
    if name == OUR_TFRC {
        return Ok(Ccids::default());
    }
    let known = [&[OUR_TFRC], dccp_historic::CCID_NAMES].concat();
    dccp_historic::ccid(name).ok_or_else(|| Mistake::unknown(&item.place, "TFRC", name, &known))
}

fn tcp(fields: &Fields<'_>, law: Option<NamedLaw>, size: usize) -> Result<tcp::Config, Mistake> {
    // What is left of a packet of 1500 bytes beside the headers and timestamps.
    const MSS_MAX: usize = 1448;
    let default = match law {
        Some(law) => tcp::Config::with_law(law.config).map_err(|error| {
            let next = "leave slow_start out, or write slow_start=standard";
            Mistake::new(fields.place(), error.to_string(), next)
        })?,
        None => tcp::Config::default(),
    };
    let mss = size.min(MSS_MAX);
    let ack_every = ack_ratio(fields)?.map(u32::from);
    Ok(tcp::Config {
        mss: u16::try_from(mss).unwrap_or(default.mss),
        max_window: fields.get("window", |item| window(item, mss))?,
        ack_every: ack_every.unwrap_or(default.ack_every),
        ecn: fields.get("ecn", read::flag)?.unwrap_or(default.ecn),
        is_paced: fields
            .get("pacing", read::flag)?
            .unwrap_or(default.is_paced),
        ..default
    })
}

fn ack_ratio(fields: &Fields<'_>) -> Result<Option<u16>, Mistake> {
    let ratio = fields.get("ack_ratio", read::whole(1..=u64::from(u16::MAX)))?;
    Ok(ratio.and_then(|ratio| u16::try_from(ratio).ok()))
}

/// `window = "4MiB"`: the largest window, in packets of the flow's size.
fn window(item: &Item, size: usize) -> Result<u32, Mistake> {
    let packets = read::size(item)? / size as u64;
    match u32::try_from(packets) {
        Ok(packets) if packets > 0 => Ok(packets),
        _ => Err(Mistake::new(
            &item.place,
            format!("a window of {packets} packets of {size} bytes is not possible"),
            "write 64KiB to 1GiB",
        )),
    }
}

/// When each stream begins, and when all stop.
fn times(
    fields: &Fields<'_>,
    id: &str,
    streams: usize,
    seed: Seed,
) -> Result<(Vec<Duration>, Option<Duration>), Mistake> {
    let stagger = fields.get("stagger", read::time)?.unwrap_or_default();
    let mut chance = seed.stream(&format!("flow {id} start"));
    let mut starts = Vec::with_capacity(streams);
    for n in 0..streams {
        let start = match fields.item("start") {
            None => Duration::ZERO,
            Some(item) if read::text(item)?.contains("..") => {
                let (least, most) = span(item)?;
                let spread =
                    u64::try_from(most.saturating_sub(least).as_nanos()).unwrap_or(u64::MAX);
                least + Duration::from_nanos(chance.below(spread))
            }
            Some(item) => read::time(item)?,
        };
        let waits = u32::try_from(n).unwrap_or(u32::MAX);
        starts.push(start + stagger.saturating_mul(waits));
    }
    let stop = fields.get("stop", read::time)?;
    let last = starts.iter().max().copied().unwrap_or_default();
    match (stop, fields.item("stop")) {
        (Some(stop), Some(item)) if stop <= last => Err(Mistake::new(
            &item.place,
            format!(
                "{id} stops at {} and begins at {}",
                seconds(stop),
                seconds(last)
            ),
            "let it stop after it begins",
        )),
        _ => Ok((starts, stop)),
    }
}

/// A time in seconds without needless digits.
pub(crate) fn seconds(time: Duration) -> String {
    format!("{}s", time.as_secs_f64())
}

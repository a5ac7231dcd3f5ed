//! `[[flow]]`: the ends of a flow, what carries it, and when.

use super::document::{Item, refuse};
use super::keys::{Counted, DataChecksum, FlowKeys, FlowKind, SafeUdpProfile};
use super::nodes;
use super::numbers::Whole;
use super::plan::{Coverage, Flow, Kind, Transport};
use super::traffic::{Traffic, traffic};
use super::values::{At, Size, Start, Transport as Carrier};
use crate::mistake::{Mistake, Mistakes};
use core::time::Duration;
use dccp_cli::law::{Laws, NamedLaw};
use dccp_historic::Inputs;
use dccp_proto::Config;
use dccp_proto::cc::registry::Ccids;
use dccp_proto::cc::safeudp::{self, Profile, SafeUdpConfig};
use dccp_sim::source::{App, Reading};
use dccp_sim::{Seed, tcp};

/// The name of our CCID 3.
const OUR_TFRC: &str = "tfrc";

/// Settings of laws with a window: CCID 2 and TCP.
const OF_WINDOWS: &[&str] = &[
    "cc",
    "window",
    "ack_ratio",
    "ecn",
    "pacing",
    "count",
    "clock_granularity",
];

/// Settings of CCID 3.
const OF_CCID_3: &[&str] = &["tfrc", "ecn"];

/// Settings of CCID 248.
const OF_SAFE_UDP: &[&str] = &["profile", "obeys", "ecn"];

/// Settings of every flow over DCCP.
const OF_DATAGRAMS: &[&str] = &[
    "read_rate",
    "receive_buffer",
    "slow_receiver",
    "coverage",
    "data_checksum",
];

/// The settings of transports.
const OF_TRANSPORTS: &[&[&str]] = &[OF_WINDOWS, OF_CCID_3, OF_SAFE_UDP, OF_DATAGRAMS];

/// Whether one of the lists has this key.
fn have(lists: &[&[&str]], key: &str) -> bool {
    lists.iter().any(|list| list.contains(&key))
}

/// Settings of the receiving application's buffer, which matter only if data wait in it.
const KEYS_OF_BUFFERS: &[&str] = &["receive_buffer", "slow_receiver"];

impl Carrier {
    /// Whether flows of this transport have this setting.
    fn has(self, key: &str) -> bool {
        let lists: &[&[&str]] = match self {
            Self::Dccp(2) => &[OF_WINDOWS, OF_DATAGRAMS],
            Self::Tcp => &[OF_WINDOWS],
            Self::Dccp(3) => &[OF_CCID_3, OF_DATAGRAMS],
            Self::Dccp(safeudp::NUMBER) => &[OF_SAFE_UDP, OF_DATAGRAMS],
            Self::Dccp(_) => &[&["ecn"], OF_DATAGRAMS],
            Self::Udp => &[],
        };
        have(lists, key)
    }

    /// The transport of flows of this kind, unless the file names one.
    const fn of(kind: FlowKind) -> Self {
        match kind {
            FlowKind::Udp | FlowKind::Ping | FlowKind::Rr => Self::Udp,
            _ => Self::Dccp(2),
        }
    }
}

/// Finds the mistakes of a flow's section that concern several of its keys.
pub(crate) fn check(keys: &At<FlowKeys>, table: &Item<'_>, mistakes: &mut Mistakes) {
    let kind = keys.kind.unwrap_or_default();
    let is_of_others = |key: &str| {
        let of_kinds = FlowKind::ALL.iter().any(|kind| kind.keys().contains(&key));
        of_kinds && !kind.keys().contains(&key)
    };
    let owner = format!("a flow of kind {}", kind.word());
    refuse(table, &owner, is_of_others, mistakes);
    let carrier = carrier(keys);
    let is_of_others = |key: &str| have(OF_TRANSPORTS, key) && !carrier.has(key);
    refuse(
        table,
        &format!("transport {carrier}"),
        is_of_others,
        mistakes,
    );
    // Over another transport the keys were refused above.
    if keys.read_rate.is_none() && matches!(carrier, Carrier::Dccp(_)) {
        let is_of_buffer = |key: &str| KEYS_OF_BUFFERS.contains(&key);
        refuse(table, "a flow without read_rate", is_of_buffer, mistakes);
    }
    if let (FlowKind::Bulk, Carrier::Udp | Carrier::Dccp(safeudp::NUMBER), Some(name)) =
        (kind, carrier, &keys.transport)
    {
        let what = format!("nothing limits a bulk flow over {carrier}");
        mistakes.add(Mistake::new(
            &name.place,
            what,
            "write kind = \"cbr\" and a rate",
        ));
    }
}

fn carrier(keys: &FlowKeys) -> Carrier {
    let kind = keys.kind.unwrap_or_default();
    keys.transport
        .as_ref()
        .map_or(Carrier::of(kind), |name| name.value)
}

/// One flow. Its random numbers come from a stream of its own. Also returns the size of its largest packets,
/// if the flow cannot make them smaller.
pub(crate) fn flow(
    keys: &At<FlowKeys>,
    nodes: &[String],
    laws: &Laws,
    seed: Seed,
) -> Result<(Flow, Option<Packet>), Mistake> {
    let id = keys.id.0.clone();
    let from = nodes::find(&keys.from, &keys.from.place, nodes)?;
    let to = nodes::find(&keys.to, &keys.to.place, nodes)?;
    if from == to {
        let what = format!("{id} would send to itself");
        return Err(Mistake::new(
            &keys.to.place,
            what,
            "write two different nodes",
        ));
    }
    let random = seed.stream(&format!("flow {id} traffic"));
    let mut traffic = traffic(keys, random)?;
    set_reading(keys, &mut traffic.receiver);
    traffic.sender.obeys = keys.obeys.unwrap_or(false);
    check_stamps(keys, &traffic)?;
    let law = law(keys, laws)?;
    let law_text = law.as_ref().map(NamedLaw::to_string);
    let transport = transport(keys, law, &traffic)?;
    let packet = packet(&transport, &traffic);
    let (starts, stop) = times(keys, &id, seed)?;
    let flow = Flow {
        id,
        from,
        to,
        transport,
        law: law_text,
        inputs: inputs(keys),
        kind: traffic.kind,
        sender: traffic.sender,
        receiver: traffic.receiver,
        deadline: keys.deadline.map(|time| time.0),
        starts,
        stop,
    };
    Ok((flow, packet))
}

/// Sets how the receiving application reads.
fn set_reading(keys: &FlowKeys, receiver: &mut App) {
    if let Some(rate) = keys.read_rate {
        receiver.reading = Reading::AtRate(rate.0);
    }
    if let Some(room) = keys.receive_buffer {
        receiver.receive_buffer = room.0;
    }
    receiver.slow_receiver = keys.slow_receiver.unwrap_or(false);
}

/// Refuses stamps that errors could change: the times and numbers of a flow would be wrong.
fn check_stamps(keys: &FlowKeys, traffic: &Traffic) -> Result<(), Mistake> {
    match &keys.coverage {
        Some(coverage)
            if coverage.value == Coverage::Header
                && keys.data_checksum != Some(DataChecksum::Drop)
                && traffic.sender.stamps =>
        {
            let what = "errors could change the numbers and times that this flow's datagrams carry";
            let next = "write full, or data_checksum = \"drop\"";
            Err(Mistake::new(&coverage.place, what, next))
        }
        _ => Ok(()),
    }
}

/// The largest packets of a flow.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Packet {
    /// Bytes of data.
    pub(crate) data: usize,
    /// Bytes that the transport reserves beside the data.
    pub(crate) headers: usize,
}

/// `None`: the flow adapts to the size that the path has.
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

/// The law that `cc` names, read as the flow's transport understands it.
fn law(keys: &FlowKeys, laws: &Laws) -> Result<Option<NamedLaw>, Mistake> {
    let read = match carrier(keys) {
        Carrier::Tcp => Laws::parse_for_tcp,
        Carrier::Dccp(_) | Carrier::Udp => Laws::parse,
    };
    let law = keys.cc.as_ref().map(|cc| {
        read(laws, &cc.law).map_err(|error| Mistake::new(&cc.place, error.problem, error.next))
    });
    law.transpose()
}

fn transport(
    keys: &FlowKeys,
    law: Option<NamedLaw>,
    traffic: &Traffic,
) -> Result<Transport, Mistake> {
    match carrier(keys) {
        Carrier::Udp => Ok(Transport::Udp),
        Carrier::Tcp => tcp(keys, law, traffic.size).map(Transport::Tcp),
        Carrier::Dccp(ccid) => {
            let config = dccp(keys, ccid, law, traffic.size)?;
            Ok(Transport::Dccp(Box::new(config)))
        }
    }
}

fn dccp(keys: &FlowKeys, ccid: u8, law: Option<NamedLaw>, size: usize) -> Result<Config, Mistake> {
    let default = Config::default();
    let ccids = keys.tfrc.as_ref().map(ccids).transpose()?;
    let window = keys.window.as_ref().map(|bytes| window(bytes, size));
    let coverage = (keys.coverage.as_ref()).map_or(Coverage::Full, |coverage| coverage.value);
    let checksum = keys.data_checksum.unwrap_or_default();
    Ok(Config {
        // 4340-9.2.1-1: both ends have these settings, so the receiver accepts what the sender covers.
        send_cscov: coverage.cscov(),
        min_cscov: coverage.cscov(),
        data_checksum: checksum != DataChecksum::None,
        deliver_corrupt: checksum == DataChecksum::Deliver,
        tx_ccids: vec![ccid],
        rx_ccids: vec![ccid],
        ccids: ccids.unwrap_or_default(),
        ecn: keys.ecn.unwrap_or(default.ecn),
        safe_udp: SafeUdpConfig {
            profile: match keys.profile {
                Some(SafeUdpProfile::Provisioned) => Profile::Provisioned,
                Some(SafeUdpProfile::Shared) | None => Profile::Shared,
            },
            ..default.safe_udp
        },
        law: inputs(keys).of(law.map_or(default.law, |law| law.config)),
        max_window: window.transpose()?,
        ack_ratio: keys.ack_ratio.map(Whole::to),
        pacing: keys.pacing.unwrap_or(default.pacing),
        // Both ends are honest, and neither ns-2 nor Linux withholds sequence numbers.
        audit: false,
        ..default
    })
}

/// The inputs of the flow's law.
fn inputs(keys: &FlowKeys) -> Inputs {
    Inputs {
        counts_acks: keys.count == Some(Counted::Acks),
        tick: keys.clock_granularity.map_or(Duration::ZERO, |tick| tick.0),
    }
}

/// `tfrc = "tfrc-ns2"`: the CCIDs with another program's CCID 3.
fn ccids(name: &At<String>) -> Result<Ccids, Mistake> {
    if name.value == OUR_TFRC {
        return Ok(Ccids::default());
    }
    let known = [&[OUR_TFRC], dccp_historic::CCID_NAMES].concat();
    dccp_historic::ccid(&name.value)
        .ok_or_else(|| Mistake::unknown(&name.place, "TFRC", &name.value, &known))
}

fn tcp(keys: &FlowKeys, law: Option<NamedLaw>, size: usize) -> Result<tcp::Config, Mistake> {
    // A packet of 1500 bytes less the headers and timestamps.
    const MSS_MAX: usize = 1448;
    let default = match (law, &keys.cc) {
        (Some(law), Some(cc)) => tcp::Config::with_law(law.config).map_err(|error| {
            let next = "leave slow_start out, or write slow_start=standard";
            Mistake::new(&cc.place, error.to_string(), next)
        })?,
        _ => tcp::Config::default(),
    };
    let mss = size.min(MSS_MAX);
    let window = keys.window.as_ref().map(|bytes| window(bytes, mss));
    Ok(tcp::Config {
        law: inputs(keys).of(default.law),
        mss: u16::try_from(mss).unwrap_or(default.mss),
        max_window: window.transpose()?,
        send_buffer: keys.ring.as_ref().map(|ring| (ring.0 * size) as u64),
        ack_every: keys.ack_ratio.map_or(default.ack_every, Whole::to),
        ecn: keys.ecn.unwrap_or(default.ecn),
        is_paced: keys.pacing.unwrap_or(default.is_paced),
        ..default
    })
}

/// `window = "4MiB"`: the largest window, in packets of the flow's size.
fn window(bytes: &At<Size>, size: usize) -> Result<u32, Mistake> {
    let packets = bytes.0 / size as u64;
    match u32::try_from(packets) {
        Ok(packets) if packets > 0 => Ok(packets),
        _ => {
            let what = format!("a window of {packets} packets of {size} bytes is not possible");
            Err(Mistake::new(&bytes.place, what, "write 64KiB to 1GiB"))
        }
    }
}

/// The times when each stream begins, and when all stop.
fn times(
    keys: &FlowKeys,
    id: &str,
    seed: Seed,
) -> Result<(Vec<Duration>, Option<Duration>), Mistake> {
    let streams = keys.cc.as_ref().map_or(1, |cc| cc.streams);
    let stagger = keys.stagger.map_or(Duration::ZERO, |time| time.0);
    let mut random = seed.stream(&format!("flow {id} start"));
    let mut starts = Vec::with_capacity(streams);
    for n in 0..streams {
        let start = match keys.start {
            None => Duration::ZERO,
            Some(Start::At(time)) => time,
            Some(Start::Within(span)) => {
                let width = span.end.saturating_sub(span.begin).as_nanos();
                let width = u64::try_from(width).unwrap_or(u64::MAX);
                span.begin + Duration::from_nanos(random.below(width))
            }
        };
        let n = u32::try_from(n).unwrap_or(u32::MAX);
        starts.push(start + stagger.saturating_mul(n));
    }
    let last = starts.iter().max().copied().unwrap_or_default();
    match &keys.stop {
        Some(stop) if stop.0 <= last => {
            let (stop_s, last_s) = (stop.0.as_secs_f64(), last.as_secs_f64());
            let what = format!("{id} stops at {stop_s}s and begins at {last_s}s");
            Err(Mistake::new(&stop.place, what, "write a later stop"))
        }
        stop => Ok((starts, stop.as_ref().map(|stop| stop.0))),
    }
}

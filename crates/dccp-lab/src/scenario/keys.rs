//! The keys of scenario files. The comments of this module are the text of `docs/scenario-keys.md`: a test
//! generates that page from these types.

mod bench;
mod expect;
mod flow;
mod trace;
mod variables;

pub(crate) use bench::{BenchKeys, BenchKind};
pub(crate) use expect::{AssertKeys, FigureKeys, PublishedKeys};
pub(crate) use flow::{Counted, DataChecksum, FlowKeys, FlowKind, LateChoice, SafeUdpProfile};
pub(crate) use trace::{PresetName, Trace, TraceKeys};
pub(crate) use variables::{DefineKeys, DrawKeys, QuickKeys};

use super::numbers::{Number, Share, Whole};
use super::values::{
    Amount, At, Drift, LinkRate, Mtu, Name, OneOrMany, Period, QueueSize, ShortTime, Size, Time,
    TimeSpan,
};
use crate::metrics::Metric;
use core::fmt;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::value::{MapAccessDeserializer, StrDeserializer};
use serde::de::{Error, IgnoredAny, IntoDeserializer as _, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// A whole number of things, at least one.
pub(crate) type Count = Whole<1, 1_000_000>;

/// The file.
#[derive(Deserialize, JsonSchema, Debug)]
#[serde(deny_unknown_fields)]
pub(crate) struct File {
    /// The version of the format.
    #[expect(dead_code, reason = "there is one version, which deserializing checks")]
    pub(crate) schema: FormatVersion,
    /// The name in results.
    pub(crate) name: Name,
    /// Where the experiment was published.
    pub(crate) source: Option<String>,
    /// The source of all random numbers.
    pub(crate) seed: Whole<0, { i64::MAX.unsigned_abs() }>,
    /// A measurement of this machine, in place of a network and its traffic.
    pub(crate) bench: Option<At<BenchKeys>>,
    /// Required: The nodes.
    pub(crate) topology: Option<At<Topology>>,
    /// The links between nodes.
    #[serde(default)]
    pub(crate) link: Sections<LinkKeys>,
    /// Routes other than those with the fewest links.
    #[serde(default)]
    pub(crate) route: Sections<RouteKeys>,
    /// Processors, interfaces and clocks. Default: hosts take no time, and their clocks are right.
    #[serde(default)]
    pub(crate) host: Sections<HostKeys>,
    /// The traffic between nodes.
    #[serde(default)]
    pub(crate) flow: Sections<FlowKeys>,
    /// Variables and their values. The file is run once for each combination.
    #[expect(
        dead_code,
        reason = "`matrix.rs` reads its values as they stand in the file"
    )]
    pub(crate) matrix: Option<MatrixKeys>,
    /// Values that `${name}` stands for.
    #[expect(dead_code, reason = "`names.rs` reads it as it stands in the file")]
    #[schemars(with = "Option<DefineKeys>")]
    pub(crate) define: Option<IgnoredAny>,
    /// Variables with random values, others in each repetition: a table (see `[draw]`) for each.
    #[expect(dead_code, reason = "`draw.rs` reads it as it stands in the file")]
    #[schemars(with = "Option<BTreeMap<String, DrawKeys>>")]
    pub(crate) draw: Option<IgnoredAny>,
    /// Parts of the experiment. Default: one, with all flows at their times.
    #[serde(default)]
    pub(crate) phase: Sections<PhaseKeys>,
    /// Durations and results.
    pub(crate) measure: Option<At<MeasureKeys>>,
    /// Statements about the results.
    #[serde(default)]
    pub(crate) assert: Sections<AssertKeys>,
    /// Published tables, to be shown beside ours.
    #[serde(default)]
    pub(crate) published: Sections<PublishedKeys>,
    /// Heat maps of the pages of results. Default: the pages choose their variables.
    #[serde(default)]
    pub(crate) figure: Sections<FigureKeys>,
    /// Values for `--quick`.
    #[expect(dead_code, reason = "`scale.rs` reads it as it stands in the file")]
    pub(crate) quick: Option<QuickKeys>,
}

/// Repeated sections: `[[link]]`.
pub(crate) type Sections<T> = Vec<At<T>>;

/// The version of the format.
#[derive(Deserialize, JsonSchema, Clone, Copy, PartialEq, Eq, Debug)]
#[schemars(inline)]
pub(crate) enum FormatVersion {
    #[serde(rename = "dccplab/1")]
    One,
}

/// `[topology]`
#[derive(Deserialize, JsonSchema, Debug)]
#[serde(deny_unknown_fields)]
pub(crate) struct Topology {
    /// All nodes. Nodes at an end of a flow are hosts, the others are routers.
    pub(crate) nodes: At<OneOrMany<Name>>,
}

/// `[[link]]`
#[derive(Deserialize, JsonSchema, Default, Debug)]
#[serde(deny_unknown_fields)]
pub(crate) struct LinkKeys {
    /// The name in results. Default: `from-to`.
    pub(crate) id: Option<At<Name>>,
    /// Required: One end; a list makes a link for each pair of ends.
    pub(crate) from: Option<At<OneOrMany<String>>>,
    /// Required: The other end.
    pub(crate) to: Option<At<OneOrMany<String>>>,
    /// Keys that differ in the direction from `to` to `from`: any of this table but `id`, `from`, `to`, `back`.
    pub(crate) back: Option<At<Box<Self>>>,
    /// The rate, 8bit to 10Tbit. Default: no limit, and no queue.
    pub(crate) rate: Option<LinkRate>,
    /// The time that a packet takes after it has left the transmitter. Default: 0s.
    pub(crate) delay: Option<At<Time>>,
    /// Twice the delay, in place of `delay`.
    pub(crate) rtt: Option<At<Time>>,
    /// The largest packet. Default: 1500B.
    pub(crate) mtu: Option<Mtu>,
    /// Drops packets above the MTU without an ICMP message. Default: false.
    pub(crate) pmtu_black_hole: Option<bool>,
    /// The room of the queue. Default: 1000p; `fq_codel` 10240p, dualpi2 10000p.
    pub(crate) queue: Option<At<QueueSize>>,
    /// The name of the queue discipline, or a table with its settings. Default: droptail.
    pub(crate) aqm: Option<At<Aqm>>,
    /// droptail: the queue length above which packets are marked. Default: none.
    pub(crate) mark_at: Option<At<QueueSize>>,
    /// tbf, required: the size of the bucket.
    pub(crate) burst: Option<At<Size>>,
    /// tbf: the longest waiting time, in place of `queue`.
    pub(crate) latency: Option<At<Period>>,
    /// The share of packets that are lost. Default: 0.
    pub(crate) loss: Option<Share>,
    /// The share of packets that arrive with an error. Default: 0.
    pub(crate) corrupt: Option<Share>,
    /// The probability of an error per bit. Default: 0.
    pub(crate) ber: Option<Number<0, 1>>,
    /// Losses in bursts. Default: none.
    pub(crate) ge: Option<At<BurstKeys>>,
    /// The share of packets that arrive twice. Default: 0.
    pub(crate) duplicate: Option<Share>,
    /// The share of packets that are held back, so that others overtake them. Default: 0.
    pub(crate) reorder: Option<At<Share>>,
    /// The time for which they are held back. Required with `reorder`.
    pub(crate) reorder_by: Option<At<Time>>,
    /// The largest random extra delay; packets stay in order. Default: 0s.
    pub(crate) jitter: Option<Time>,
    /// Times without service. Default: none.
    pub(crate) outages: Option<At<OneOrMany<TimeSpan>>>,
    /// The rate over time, in place of `rate`: a file in mahimahi's format beside the scenario, `preset:NAME`, or a
    /// table (`link-presets.md`). Presets also have a delay and a queue, unless the link has.
    pub(crate) trace: Option<At<Trace>>,
    /// Changes during the run, in the order of time. Default: none.
    pub(crate) changes: Option<At<OneOrMany<ChangeKeys>>>,
}

/// `aqm`
#[derive(Deserialize, JsonSchema, Debug)]
#[serde(deny_unknown_fields)]
pub(crate) struct AqmKeys {
    /// The queue discipline.
    pub(crate) kind: AqmKind,
    /// red, codel, `fq_codel`, pie: marks packets of ECN-capable flows. Default: red false, else true.
    pub(crate) ecn: Option<bool>,
    /// codel, `fq_codel`, pie, dualpi2: the delay to aim for. Default: 5ms; pie and dualpi2 15ms.
    pub(crate) target: Option<Period>,
    /// codel, `fq_codel`: the time above the target before the first drop. Default: 100ms.
    pub(crate) interval: Option<Period>,
    /// pie, dualpi2: the time between updates of the probability. Default: 15ms.
    pub(crate) update: Option<Period>,
    /// `fq_codel`: the number of queues. Default: 1024.
    pub(crate) flows: Option<Whole<1, 65_536>>,
    /// `fq_codel`: bytes per queue and round. Default: 1514.
    pub(crate) quantum: Option<Whole<1, 65_536>>,
    /// red: the lower threshold in packets. Default: as ns-2 computes it for the rate.
    pub(crate) min: Option<Number<0, 1_000_000_000>>,
    /// red: the upper threshold in packets. Default: as ns-2 computes it for the rate.
    pub(crate) max: Option<Number<0, 1_000_000_000>>,
    /// red: the probability at the upper threshold. Default: 0.1.
    pub(crate) max_p: Option<Number<0, 1>>,
    /// red: the weight of a new sample of the queue. Default: as ns-2 computes it for the rate.
    pub(crate) weight: Option<Number<0, 1>>,
    /// red: raises the probability gradually above the upper threshold. Default: true.
    pub(crate) gentle: Option<bool>,
    /// red: adapts `max_p`. Default: false.
    pub(crate) adaptive: Option<bool>,
    /// pie, dualpi2: the gain of the delay's error, in Hz. Default: pie 0.125, dualpi2 0.15.
    pub(crate) alpha: Option<Number<0, 1_000_000>>,
    /// pie, dualpi2: the gain of the delay's trend, in Hz. Default: pie 1.25, dualpi2 3.
    pub(crate) beta: Option<Number<0, 1_000_000>>,
    /// dualpi2: the ratio of marking to dropping. Default: 2.
    pub(crate) coupling: Option<Number<0, 1000>>,
    /// dualpi2: the delay above which all packets are marked. Default: a ramp from 0.8 to 1.2 ms.
    pub(crate) step: Option<Period>,
}

/// A queue discipline.
#[derive(Deserialize, JsonSchema, Clone, Copy, PartialEq, Eq, Debug)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub(crate) enum AqmKind {
    Droptail,
    Tbf,
    Red,
    Codel,
    FqCodel,
    Pie,
    Dualpi2,
}

/// A queue discipline: its name alone, or a table.
#[derive(Debug)]
pub(crate) struct Aqm(pub(crate) AqmKeys);

struct AqmVisitor;

impl<'de> Visitor<'de> for AqmVisitor {
    type Value = Aqm;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("aqm = \"codel\" or { kind = \"codel\", … }")
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<Aqm, E> {
        let name: StrDeserializer<'_, E> = name.into_deserializer();
        AqmKind::deserialize(name).map(|kind| Aqm(AqmKeys::plain(kind)))
    }

    fn visit_map<A: MapAccess<'de>>(self, table: A) -> Result<Aqm, A::Error> {
        AqmKeys::deserialize(MapAccessDeserializer::new(table)).map(Aqm)
    }
}

impl<'de> Deserialize<'de> for Aqm {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(AqmVisitor)
    }
}

impl JsonSchema for Aqm {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Aqm".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        generator.subschema_for::<AqmKeys>();
        json_schema!({ "title": "a kind, or a table (see `aqm`)" })
    }
}

impl AqmKeys {
    pub(crate) fn plain(kind: AqmKind) -> Self {
        Self {
            kind,
            ecn: None,
            target: None,
            interval: None,
            update: None,
            flows: None,
            quantum: None,
            min: None,
            max: None,
            max_p: None,
            weight: None,
            gentle: None,
            adaptive: None,
            alpha: None,
            beta: None,
            coupling: None,
            step: None,
        }
    }
}

/// `ge`
#[derive(Deserialize, JsonSchema, Debug)]
#[serde(deny_unknown_fields)]
pub(crate) struct BurstKeys {
    /// The share of packets that are lost; with `burst`, in place of the four others.
    pub(crate) loss: Option<Share>,
    /// The mean length of a burst in packets.
    pub(crate) burst: Option<Number<1000, 1_000_000>>,
    /// The probability per packet that a burst begins.
    pub(crate) to_bad: Option<Share>,
    /// The probability per packet that a burst ends.
    pub(crate) to_good: Option<Share>,
    /// The share of packets that are lost outside bursts. Default: 0.
    pub(crate) loss_in_good: Option<Share>,
    /// The share of packets that are lost in bursts. Default: 1.
    pub(crate) loss_in_bad: Option<Share>,
}

/// `changes`
#[derive(Deserialize, JsonSchema, Debug)]
#[serde(deny_unknown_fields)]
pub(crate) struct ChangeKeys {
    /// The time of the change.
    pub(crate) at: At<Period>,
    /// The rate from then on.
    pub(crate) rate: Option<At<LinkRate>>,
    /// The delay from then on.
    pub(crate) delay: Option<Time>,
    /// The room of the queue from then on.
    pub(crate) queue: Option<At<QueueSize>>,
    /// Whether the link works from then on.
    pub(crate) up: Option<bool>,
}

/// `[[route]]`
#[derive(Deserialize, JsonSchema, Debug)]
#[serde(deny_unknown_fields)]
pub(crate) struct RouteKeys {
    /// The node that forwards.
    pub(crate) at: At<String>,
    /// The destination.
    pub(crate) to: At<String>,
    /// The neighbour of `at` that gets the packets.
    pub(crate) via: At<String>,
}

/// `[[host]]`
#[derive(Deserialize, JsonSchema, Debug)]
#[serde(deny_unknown_fields)]
pub(crate) struct HostKeys {
    /// A node at an end of a flow, or a list of them.
    pub(crate) node: At<OneOrMany<String>>,
    /// Processor time to send a packet. Default: 0s; dccp2007 10.5us.
    pub(crate) send_cost: Option<ShortTime>,
    /// Processor time to receive a packet. Default: 0s.
    pub(crate) receive_cost: Option<ShortTime>,
    /// The time from an arrival at an idle host to the first instruction. Default: 0s.
    pub(crate) wakeup: Option<ShortTime>,
    /// Received packets that the interface hands over at a time. Default: 64; with `cpu_model` 1.
    pub(crate) batch: Option<Count>,
    /// Packets that a transport sends at a time. Default: 64.
    pub(crate) quantum: Option<Count>,
    /// Received packets that wait for the processor, at most. Default: 1000; sack2003 300.
    pub(crate) backlog: Option<Count>,
    /// The kernel whose costs are the defaults of other keys; see "Hosts of 2003 and 2007" in `scenarios.md`. Default: none.
    pub(crate) cpu_model: Option<CpuModel>,
    /// Processor time of an acknowledgement at the sender of the data. Default: 0s; sack2003 5us.
    pub(crate) ack_cost: Option<ShortTime>,
    /// With `cpu_model`: the same for each packet in flight. Default: sack2003 10ns, dccp2007 160ns.
    pub(crate) walk_cost: Option<At<ShortTime>>,
    /// The memory for received packets. Default: no limit.
    pub(crate) memory: Option<At<MemoryKeys>>,
    /// The reaction of a sender when the interface is full. Default: wait.
    pub(crate) local_congestion: Option<LocalCongestion>,
    /// The room of the queues where links leave this host. Default: that of the link.
    pub(crate) txqueuelen: Option<At<QueueSize>>,
    /// The host's clock. Default: right.
    pub(crate) clock: Option<ClockKeys>,
}

/// The reaction of a sender when its interface is full.
#[derive(Deserialize, JsonSchema, Clone, Copy, PartialEq, Eq, Debug)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub(crate) enum LocalCongestion {
    Wait,
    Drop,
    Event,
}

/// A kernel whose acknowledgements cost more the more packets are in flight.
#[derive(Deserialize, JsonSchema, Clone, Copy, PartialEq, Eq, Debug)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub(crate) enum CpuModel {
    Sack2003,
    Dccp2007,
}

/// `memory`
#[derive(Deserialize, JsonSchema, Debug)]
#[serde(deny_unknown_fields)]
pub(crate) struct MemoryKeys {
    /// The size of a buffer, which holds one packet.
    pub(crate) buffer: Amount,
    /// The size of the pool of buffers.
    pub(crate) pool: Amount,
    /// The time between two refills of the pool.
    pub(crate) refill: Period,
}

/// `clock`
#[derive(Deserialize, JsonSchema, Debug)]
#[serde(deny_unknown_fields)]
pub(crate) struct ClockKeys {
    /// The clock's lead at the beginning. Default: 0s.
    pub(crate) offset: Option<ShortTime>,
    /// The clock's rate less that of a right clock. Default: 0ppm.
    pub(crate) drift: Option<Drift>,
    /// The step of the clock's readings. Default: 0s.
    pub(crate) granularity: Option<ShortTime>,
}

/// `[matrix]`
///
/// Each other key is a variable with a list of values.
#[derive(Deserialize, JsonSchema, Debug)]
#[expect(
    dead_code,
    reason = "`matrix.rs` reads its values as they stand in the file"
)]
pub(crate) struct MatrixKeys {
    /// A table of variables and values, or a list of such tables: only cells that agree with one of them are run. Default: all.
    #[schemars(with = "Option<Vec<BTreeMap<String, String>>>")]
    pub(crate) only: Option<IgnoredAny>,
    /// "unordered": of two variables with the same values, (a, b) and (b, a) are one cell. Default: two.
    pub(crate) pairs: Option<Pairs>,
}

/// Whether (a, b) and (b, a) are one cell.
#[derive(Deserialize, JsonSchema, Clone, Copy, PartialEq, Eq, Debug)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub(crate) enum Pairs {
    Unordered,
}

/// `[[phase]]`
#[derive(Deserialize, JsonSchema, Debug)]
#[serde(deny_unknown_fields)]
pub(crate) struct PhaseKeys {
    /// The name in results.
    pub(crate) name: Name,
    /// `each-alone`: a run for each flow, from 0 s on, with all probes. `schedule`: one run of all flows.
    pub(crate) run: PhaseRun,
    /// The time of a run. Default: that of `[measure]`; each-alone: required.
    pub(crate) duration: Option<Period>,
}

/// The flows that run together.
#[derive(Deserialize, JsonSchema, Clone, Copy, PartialEq, Eq, Debug)]
#[serde(rename_all = "kebab-case")]
#[schemars(inline)]
pub(crate) enum PhaseRun {
    EachAlone,
    Schedule,
}

/// `[measure]`
#[derive(Deserialize, JsonSchema, Default, Debug)]
#[serde(deny_unknown_fields)]
pub(crate) struct MeasureKeys {
    /// The time of a run, up to 720h. Default: until the last flow stops.
    pub(crate) duration: Option<Period>,
    /// The length of the intervals of series. Default: 1s.
    pub(crate) interval: Option<Period>,
    /// The time at the beginning that summaries leave out. Default: 0s.
    pub(crate) discard: Option<Time>,
    /// The columns of the table. Default: goodput, loss, rtt.transport, cwnd, queue, utilisation, stability.
    pub(crate) metrics: Option<At<OneOrMany<Metric>>>,
    /// Runs of each cell, each with a seed of its own. Default: 1.
    #[expect(
        dead_code,
        reason = "`Head` reads it, because it must be known before variables are drawn"
    )]
    pub(crate) repeat: Option<Whole<1, 10_000>>,
    /// Links whose utilisation is recorded as a series. Default: none.
    pub(crate) link_util: Option<LinkUtilKeys>,
}

/// `link_util`
#[derive(Deserialize, JsonSchema, Debug)]
#[serde(deny_unknown_fields)]
pub(crate) struct LinkUtilKeys {
    /// The ids of the links.
    pub(crate) links: At<OneOrMany<String>>,
    /// The interval of the series.
    pub(crate) every: Period,
}

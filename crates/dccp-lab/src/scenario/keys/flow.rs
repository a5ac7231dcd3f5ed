//! `[[flow]]`: the traffic between two nodes.

use super::super::numbers::{Number, Whole};
use super::super::plan::Coverage;
use super::super::values::{
    Amount, At, CongestionControl, DatagramSize, LinkRate, Name, Pattern, Period, RingSize, Shape,
    Size, Start, Time, Transport,
};
use schemars::JsonSchema;
use serde::Deserialize;

/// `[[flow]]`
#[derive(Deserialize, JsonSchema, Debug)]
#[serde(deny_unknown_fields)]
pub(crate) struct FlowKeys {
    /// The name in results.
    pub(crate) id: Name,
    /// The sending node.
    pub(crate) from: At<String>,
    /// The receiving node.
    pub(crate) to: At<String>,
    /// See "Kinds of flow" in `scenarios.md`. Default: bulk.
    pub(crate) kind: Option<FlowKind>,
    /// The transport. Default: dccp/ccid2; kinds udp, ping and rr: udp.
    pub(crate) transport: Option<At<Transport>>,
    /// CCID 2, TCP: the law and the number of streams. Default: reno.
    pub(crate) cc: Option<At<CongestionControl>>,
    /// CCID 248: `shared`, or `provisioned` where the operator has reserved the rate. Default: shared.
    pub(crate) profile: Option<SafeUdpProfile>,
    /// CCID 248, kind cbr: the application lowers its rate to the advised one, and does not raise it again. Default: false.
    pub(crate) obeys: Option<bool>,
    /// CCID 3: `tfrc`, or `tfrc-ns2` for that of ns-2. Default: tfrc.
    pub(crate) tfrc: Option<At<String>>,
    /// CCID 2, TCP: the largest window. Default: no limit.
    pub(crate) window: Option<At<Size>>,
    /// CCID 2, TCP: packets per acknowledgement. Default: CCID 2 adapts it; TCP 2.
    pub(crate) ack_ratio: Option<Whole<1, 65_535>>,
    /// DCCP, TCP: sends ECN-capable packets. Default: DCCP true, TCP false.
    pub(crate) ecn: Option<bool>,
    /// CCID 2, TCP: spreads packets over the round trip. Default: CCID 2 true, TCP false.
    pub(crate) pacing: Option<bool>,
    /// CCID 2, TCP: what the law counts for growth after slow start. Default: packets.
    pub(crate) count: Option<Counted>,
    /// CCID 2, TCP: delays that the law gets are rounded up to a multiple of this. Default: they are exact.
    pub(crate) clock_granularity: Option<Period>,
    /// Bytes of data in a datagram. Default: 1460B; DCCP but bulk 1444B; ping, rr, requests 64B.
    pub(crate) size: Option<DatagramSize>,
    /// bulk: bytes to send in all. Default: no end.
    pub(crate) amount: Option<Amount>,
    /// cbr, poisson, onoff, exponential, pareto, required: the rate of data.
    pub(crate) rate: Option<At<LinkRate>>,
    /// udp, sine, required: the rate over time. For sine, the prefix `sine:` may be left out.
    pub(crate) shape: Option<At<Shape>>,
    /// ping, rr, media: the time between datagrams or pictures. Default: 100ms; media 40ms.
    pub(crate) every: Option<Period>,
    /// onoff, exponential, pareto, required: the mean time of sending.
    pub(crate) on: Option<Period>,
    /// onoff, exponential, pareto, required: the mean time of silence.
    pub(crate) off: Option<Period>,
    /// pareto: the shape of the distribution. Default: 1.5.
    pub(crate) pareto_shape: Option<Number<1010, 100>>,
    /// media: the order of pictures. Default: IBBPBBPBBPBB.
    pub(crate) pattern: Option<Pattern>,
    /// media, required: the sizes of I, P and B pictures.
    pub(crate) pictures: Option<At<Vec<Amount>>>,
    /// cbr, poisson: which datagrams are important. Default: none. Of media, I and P pictures are.
    pub(crate) important: Option<ImportantKeys>,
    /// cbr, poisson, media: datagrams that may wait at the sender. DCCP: those that have not left. TCP: the bytes of as
    /// many, unacknowledged ones included. UDP: none waits. Default: DCCP 256p; TCP no limit.
    pub(crate) ring: Option<At<RingSize>>,
    /// cbr, poisson, media: over DCCP, `prefer-important` lets important datagrams leave first, drops the oldest of the
    /// least important from a full ring, and drops those that miss the `deadline`. TCP and UDP cannot take back what
    /// was written: without room the new datagram is dropped. Default: none.
    pub(crate) late_choice: Option<LateChoice>,
    /// media: the age at which a picture must be complete to be usable. Default: none. See `late_choice`.
    pub(crate) deadline: Option<Period>,
    /// requests, required: the size of an answer.
    pub(crate) answer: Option<Amount>,
    /// requests: the mean pause between an answer and the next request. Default: 0s.
    pub(crate) think: Option<Time>,
    /// requests: the time after which a request without an answer is given up. Default: 3s.
    pub(crate) patience: Option<Period>,
    /// DCCP: the rate at which the receiving application reads data. Default: it reads at once.
    pub(crate) read_rate: Option<LinkRate>,
    /// DCCP, with `read_rate`: datagrams that may wait until the application reads them. The receiver drops others with
    /// Drop Code 2. Default: 1000p.
    pub(crate) receive_buffer: Option<RingSize>,
    /// DCCP, with `read_rate`: the receiver sends Slow Receiver while its buffer is at least half full. Default: false.
    pub(crate) slow_receiver: Option<bool>,
    /// DCCP: what the checksum of a data packet covers. `header` leaves the data out, which the receiver accepts. Default: full.
    pub(crate) coverage: Option<At<Coverage>>,
    /// DCCP: data have a Data Checksum. If it does not match, the receiver drops the datagram (Drop Code 3), or delivers it
    /// marked as corrupt (Drop Code 7). Default: none.
    pub(crate) data_checksum: Option<DataChecksum>,
    /// When the flow begins; in a span, each stream at a random time. Default: 0s.
    pub(crate) start: Option<Start>,
    /// The time between the beginnings of two streams. Default: 0s.
    pub(crate) stagger: Option<Time>,
    /// When the flow ends. Default: at the end of the run.
    pub(crate) stop: Option<At<Time>>,
}

/// `important`
#[derive(Deserialize, JsonSchema, Debug)]
#[serde(deny_unknown_fields)]
pub(crate) struct ImportantKeys {
    /// One in this number of datagrams is important, the first for a start.
    pub(crate) every: Whole<1, 1_000_000>,
}

/// The network that CCID 248 assumes.
#[derive(Deserialize, JsonSchema, Clone, Copy, PartialEq, Eq, Debug)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub(crate) enum SafeUdpProfile {
    Shared,
    Provisioned,
}

/// The unit of a window's growth.
#[derive(Deserialize, JsonSchema, Clone, Copy, PartialEq, Eq, Debug)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub(crate) enum Counted {
    Packets,
    Acks,
}

/// Whether data have a Data Checksum, and what the receiver does with corrupt data.
#[derive(Deserialize, JsonSchema, Clone, Copy, PartialEq, Eq, Default, Debug)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub(crate) enum DataChecksum {
    #[default]
    None,
    Drop,
    Deliver,
}

/// The choice among datagrams that wait at a sender.
#[derive(Deserialize, JsonSchema, Clone, Copy, PartialEq, Eq, Default, Debug)]
#[serde(rename_all = "kebab-case")]
#[schemars(inline)]
pub(crate) enum LateChoice {
    #[default]
    None,
    PreferImportant,
}

/// The traffic of a flow.
#[derive(Deserialize, JsonSchema, Clone, Copy, PartialEq, Eq, Default, Debug)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub(crate) enum FlowKind {
    #[default]
    Bulk,
    Udp,
    Cbr,
    Poisson,
    OnOff,
    Exponential,
    Pareto,
    Sine,
    Media,
    Ping,
    Rr,
    Requests,
}

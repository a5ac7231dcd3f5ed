//! Units of counters and gauges.

/// The unit of a counter or a gauge.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[expect(missing_docs, reason = "the names say it")]
pub enum Unit {
    Packets,
    Datagrams,
    Bytes,
    BytesPerSecond,
    Seconds,
    Ratio,
    Connections,
    Listeners,
    Events,
}

impl Unit {
    /// The unit in words.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Packets => "packets",
            Self::Datagrams => "datagrams",
            Self::Bytes => "bytes",
            Self::BytesPerSecond => "bytes per second",
            Self::Seconds => "seconds",
            Self::Ratio => "ratio",
            Self::Connections => "connections",
            Self::Listeners => "listeners",
            Self::Events => "events",
        }
    }

    /// The unit as the end of a name. Prometheus demands it for base units; what is counted stands in the name itself.
    pub fn suffix(self) -> Option<&'static str> {
        match self {
            Self::Bytes => Some("bytes"),
            Self::BytesPerSecond => Some("bytes_per_second"),
            Self::Seconds => Some("seconds"),
            Self::Ratio => Some("ratio"),
            Self::Packets
            | Self::Datagrams
            | Self::Connections
            | Self::Listeners
            | Self::Events => None,
        }
    }

    /// `name` with the unit as its end.
    pub(crate) fn name(self, name: &str) -> String {
        match self.suffix() {
            Some(suffix) => format!("{name}_{suffix}"),
            None => name.into(),
        }
    }
}

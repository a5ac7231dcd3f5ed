//! Counters of the network, from files below `/proc/net`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Counters that only rise.
macro_rules! counters {
    ($(#[$about:meta])* $name:ident { $($(#[$what:meta])* $field:ident,)+ }) => {
        $(#[$about])*
        #[derive(Serialize, Deserialize, JsonSchema, Clone, PartialEq, Eq, Debug, Default)]
        #[schemars(deny_unknown_fields)]
        pub struct $name { $($(#[$what])* pub $field: u64,)+ }

        impl $name {
            /// The increase since earlier counters.
            pub(crate) fn since(&self, earlier: &Self) -> Self {
                Self { $($field: self.$field.saturating_sub(earlier.$field),)+ }
            }
        }
    };
}

counters! {
    /// UDP over IPv4 and IPv6.
    Udp {
        /// Datagrams that programs received.
        in_datagrams,
        /// Datagrams to ports without a socket.
        no_ports,
        /// Datagrams that were not delivered for any other reason.
        in_errors,
        /// Datagrams that programs sent.
        out_datagrams,
        /// Datagrams that found a full receive buffer.
        rcvbuf_errors,
        /// Datagrams that found a full send buffer.
        sndbuf_errors,
        /// Datagrams with a wrong checksum.
        in_csum_errors,
    }
}

counters! {
    /// IPv4 and IPv6.
    Ip {
        /// Packets that came from interfaces.
        in_receives,
        /// Received packets that were dropped for lack of memory and the like.
        in_discards,
        /// Packets that protocols asked to send.
        out_requests,
        /// Packets that were dropped before an interface took them.
        out_discards,
        /// Packets without a route.
        out_no_routes,
    }
}

/// The queue between interfaces and protocols. Its counters are those of the machine, in all network namespaces.
#[derive(Serialize, Deserialize, JsonSchema, Clone, PartialEq, Eq, Debug)]
#[schemars(deny_unknown_fields)]
pub struct Softnet {
    /// Packets that left the queue.
    pub processed: u64,
    /// Packets that found the queue full (`net.core.netdev_max_backlog`).
    pub dropped: u64,
    /// How often the kernel stopped before the queue was empty (`net.core.netdev_budget`).
    pub time_squeeze: u64,
}

/// One interface.
#[derive(Serialize, Deserialize, JsonSchema, Clone, PartialEq, Eq, Debug, Default)]
#[schemars(deny_unknown_fields)]
pub struct Interface {
    /// Its name.
    pub name: String,
    /// Received packets.
    pub rx_packets: u64,
    /// Sent packets.
    pub tx_packets: u64,
    /// Received bytes with the headers of the link.
    pub rx_bytes: u64,
    /// Sent bytes with the headers of the link.
    pub tx_bytes: u64,
    /// Received packets that the kernel dropped. It counts those dropped in the queue behind the interface (`softnet`)
    /// here too, and packets that no protocol takes.
    pub rx_drop: u64,
    /// Packets that the kernel dropped instead of sending them.
    pub tx_drop: u64,
    /// Received packets that found the interface's ring full.
    pub rx_fifo: u64,
    /// Packets that overran the interface while it sent them.
    pub tx_fifo: u64,
    /// Received packets with errors.
    pub rx_errs: u64,
    /// Errors while sending.
    pub tx_errs: u64,
}

impl Interface {
    pub(crate) fn since(&self, earlier: &Self) -> Self {
        let since = |field: fn(&Self) -> u64| field(self).saturating_sub(field(earlier));
        Self {
            name: self.name.clone(),
            rx_packets: since(|i| i.rx_packets),
            tx_packets: since(|i| i.tx_packets),
            rx_bytes: since(|i| i.rx_bytes),
            tx_bytes: since(|i| i.tx_bytes),
            rx_drop: since(|i| i.rx_drop),
            tx_drop: since(|i| i.tx_drop),
            rx_fifo: since(|i| i.rx_fifo),
            tx_fifo: since(|i| i.tx_fifo),
            rx_errs: since(|i| i.rx_errs),
            tx_errs: since(|i| i.tx_errs),
        }
    }
}

/// An interface's row of `/proc/net/dev`.
pub(crate) fn interface(dev: &str, name: &str) -> Option<Interface> {
    let mut rows = dev.lines().filter_map(|line| line.rsplit_once(':'));
    let (_, row) = rows.find(|(found, _)| found.trim() == name)?;
    let columns: Vec<u64> = (row.split_ascii_whitespace())
        .map_while(|word| word.parse().ok())
        .collect();
    // Receive: bytes packets errs drop fifo frame compressed multicast. Transmit: bytes packets errs drop fifo …
    let &[
        rx_bytes,
        rx_packets,
        rx_errs,
        rx_drop,
        rx_fifo,
        _,
        _,
        _,
        tx_bytes,
        tx_packets,
        tx_errs,
        tx_drop,
        tx_fifo,
        ..,
    ] = &columns[..]
    else {
        return None;
    };
    Some(Interface {
        name: name.into(),
        rx_packets,
        tx_packets,
        rx_bytes,
        tx_bytes,
        rx_drop,
        tx_drop,
        rx_fifo,
        tx_fifo,
        rx_errs,
        tx_errs,
    })
}

/// Processed, dropped and `time_squeeze` by core. They are 32 bits wide and wrap.
pub(crate) type SoftnetRows = BTreeMap<u32, [u32; 3]>;

/// The rows of `/proc/net/softnet_stat`: hexadecimal columns. The 13th is the core. Older kernels lack it, and
/// have a row for every core.
pub(crate) fn softnet(text: &str) -> SoftnetRows {
    let rows = text.lines().zip(0..).filter_map(|(line, row)| {
        let columns: Vec<u32> = (line.split_ascii_whitespace())
            .map_while(|word| u32::from_str_radix(word, 16).ok())
            .collect();
        let &[processed, dropped, time_squeeze, ..] = &columns[..] else {
            return None;
        };
        let core = columns.get(12).copied().unwrap_or(row);
        Some((core, [processed, dropped, time_squeeze]))
    });
    rows.collect()
}

/// The increase over all cores.
pub(crate) fn softnet_since(now: &SoftnetRows, then: &SoftnetRows) -> Softnet {
    let sum = |column: usize| {
        let rises = now.iter().map(|(core, now)| {
            let then = then.get(core).map_or(0, |then| then[column]);
            u64::from(now[column].wrapping_sub(then))
        });
        rises.sum()
    };
    Softnet {
        processed: sum(0),
        dropped: sum(1),
        time_squeeze: sum(2),
    }
}

/// The files `snmp` (IPv4) and `snmp6` (IPv6).
#[derive(Debug)]
pub(crate) struct Mib {
    v4: String,
    /// Empty without IPv6.
    v6: String,
}

impl Mib {
    /// `None` without `snmp`.
    pub(crate) fn new(snmp: Option<String>, snmp6: Option<String>) -> Option<Self> {
        Some(Self {
            v4: snmp?,
            v6: snmp6.unwrap_or_default(),
        })
    }

    pub(crate) fn udp(&self) -> Udp {
        let sum = |name| self.sum("Udp", name);
        Udp {
            in_datagrams: sum("InDatagrams"),
            no_ports: sum("NoPorts"),
            in_errors: sum("InErrors"),
            out_datagrams: sum("OutDatagrams"),
            rcvbuf_errors: sum("RcvbufErrors"),
            sndbuf_errors: sum("SndbufErrors"),
            in_csum_errors: sum("InCsumErrors"),
        }
    }

    pub(crate) fn ip(&self) -> Ip {
        let sum = |name| self.sum("Ip", name);
        Ip {
            in_receives: sum("InReceives"),
            in_discards: sum("InDiscards"),
            out_requests: sum("OutRequests"),
            out_discards: sum("OutDiscards"),
            out_no_routes: sum("OutNoRoutes"),
        }
    }

    /// A counter of both versions of IP.
    fn sum(&self, protocol: &str, name: &str) -> u64 {
        let v4 = self.v4(protocol, name).unwrap_or(0);
        v4.saturating_add(self.v6(protocol, name).unwrap_or(0))
    }

    /// `snmp` has a line with the names and a line with the values for each protocol.
    fn v4(&self, protocol: &str, name: &str) -> Option<u64> {
        let mut lines = (self.v4.lines()).filter_map(|line| {
            let (found, words) = line.split_once(':')?;
            (found == protocol).then(|| words.split_ascii_whitespace())
        });
        let (mut names, mut values) = (lines.next()?, lines.next()?);
        values
            .nth(names.position(|found| found == name)?)?
            .parse()
            .ok()
    }

    /// `snmp6` has a line for each counter.
    fn v6(&self, protocol: &str, name: &str) -> Option<u64> {
        let name = format!("{protocol}6{name}");
        let mut lines = (self.v6.lines()).map(str::split_ascii_whitespace);
        let mut words = lines.find(|words| words.clone().next() == Some(name.as_str()))?;
        words.nth(1)?.parse().ok()
    }
}

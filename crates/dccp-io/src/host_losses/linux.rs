//! The counters of Linux.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read as _;

use crate::netlink::{self, GET_LINK, LINK_HEADER, NEW_LINK, Tables, find, link_header, long};

/// Interfaces whose rings are counted at most.
const INTERFACES: usize = 64;
/// No file is read beyond this many bytes.
const TEXT_MAX: u64 = 1 << 20;

/// Attributes of an interface: its name, and its statistics of 64 bits.
const LINK_NAME: u16 = 3;
const LINK_STATS: u16 = 23;
/// The places of `rx_fifo_errors` and `rx_missed_errors` in the statistics (`if_link.h`).
const FIFO: usize = 14;
const MISSED: usize = 15;

/// The counters as they were read last.
#[derive(Debug, Default)]
pub(super) struct Counts {
    /// Drops in the backlog of each processor, modulo 2^32; `None` before the first reading.
    backlogs: Option<Vec<u32>>,
    /// Drops in the ring of each interface, by its name.
    rings: BTreeMap<String, u64>,
    /// Kept open, because each socket of a process costs one of its descriptors.
    tables: Option<Tables>,
}

impl Counts {
    /// Reads the counters. Returns the drops since the reading before; 0 the first time.
    pub(super) fn advance(&mut self) -> u64 {
        self.advance_backlogs() + self.advance_rings()
    }

    fn advance_backlogs(&mut self) -> u64 {
        let Some(now) = text("softnet_stat").map(|text| backlogs(&text)) else {
            return 0;
        };
        let then = self.backlogs.replace(now.clone()).unwrap_or_default();
        if then.len() != now.len() {
            // Rows move when a processor goes on or off.
            return 0;
        }
        let pairs = now.into_iter().zip(then);
        pairs
            .map(|(now, then)| now.wrapping_sub(then))
            // A step back: another processor has the row now.
            .filter(|rise| i32::try_from(*rise).is_ok())
            .map(u64::from)
            .sum()
    }

    fn advance_rings(&mut self) -> u64 {
        if self.tables.is_none() {
            self.tables = Tables::open().ok();
        }
        let (Some(tables), Some(dev)) = (&self.tables, text("dev")) else {
            return 0;
        };
        let now: BTreeMap<_, _> = (interfaces(&dev).take(INTERFACES))
            .filter_map(|name| Some((name.to_owned(), ring(tables, name)?)))
            .collect();
        let then = core::mem::take(&mut self.rings);
        let rises = now.iter().map(|(name, &now)| {
            // An interface that came meanwhile begins here.
            let then = then.get(name).copied().unwrap_or(now);
            now.saturating_sub(then)
        });
        let sum = rises.sum();
        self.rings = now;
        sum
    }
}

/// A file about the network of the calling thread.
fn text(name: &str) -> Option<String> {
    let file = File::open(format!("/proc/thread-self/net/{name}")).ok()?;
    let mut text = String::new();
    file.take(TEXT_MAX).read_to_string(&mut text).ok()?;
    Some(text)
}

/// The drops of each processor in `softnet_stat`: the second of its hexadecimal columns. Processors that are off have no row.
fn backlogs(text: &str) -> Vec<u32> {
    let dropped = |line: &str| {
        let column = line.split_ascii_whitespace().nth(1)?;
        u32::from_str_radix(column, 16).ok()
    };
    text.lines().filter_map(dropped).collect()
}

/// The names in `/proc/net/dev`, without the loopback, which has no ring.
fn interfaces(dev: &str) -> impl Iterator<Item = &str> {
    let names = dev.lines().filter_map(|line| line.rsplit_once(':'));
    names
        .map(|(name, _)| name.trim())
        .filter(|name| *name != "lo")
}

/// Packets that found no room in the ring of an interface, or that it missed otherwise.
fn ring(tables: &Tables, name: &str) -> Option<u64> {
    let mut body = link_header(0).to_vec();
    let name: Vec<u8> = name.bytes().chain([0]).collect();
    netlink::push(&mut body, LINK_NAME, &name);
    let link = tables.ask(GET_LINK, 0, &body, NEW_LINK)?;
    let stats = find(&link, LINK_HEADER, LINK_STATS)?;
    let count = |place: usize| long(stats.get(8 * place..)?);
    Some(count(FIFO)? + count(MISSED)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn backlogs_are_the_second_column_and_wrap() {
        let then = backlogs("0000000a ffffffff 00000000\n0000000b 00000002 00000000\n");
        assert_eq!(then, [u32::MAX, 2]);
        assert_eq!(backlogs("nonsense\n\n1 zz\n"), [0; 0]);
    }

    #[test]
    fn interfaces_are_named_but_the_loopback() {
        let dev = "Inter-|   Receive\n face |bytes\n    lo: 1 2\n  eth0: 3 4\nveth:1: 5 6\n";
        assert_eq!(interfaces(dev).collect::<Vec<_>>(), ["eth0", "veth:1"]);
    }

    #[test]
    fn kernel_tells_the_drops_of_an_interface() {
        let tables = Tables::open().expect("a socket");
        assert!(ring(&tables, "lo").is_some());
        assert_eq!(ring(&tables, "no-such-link"), None);
    }

    #[test]
    fn first_reading_is_the_beginning() {
        let mut counts = Counts::default();
        assert_eq!(counts.advance(), 0);
        let backlogs = counts.backlogs.as_mut().expect("softnet_stat");
        backlogs[0] = backlogs[0].wrapping_sub(3);
        // Other programs of this host may drop packets meanwhile.
        assert!(counts.advance() >= 3);
    }
}

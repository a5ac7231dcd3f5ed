//! The path between our program and the guest.
//!
//! ```text
//! clean:   our program — tap — guest
//! lossy:   our program — TUN — dccp-emu — TUN — router — tap — guest
//!          namespace …-far            | guest's namespace |
//! ```
//!
//! On the lossy path the emulator drops packets from us, and the guest's own netem drops packets from the
//! guest: two generators that share no code. Neither delays, so that the cells are short.

use anyhow::{Context, Result, bail, ensure};
use serde::Deserialize;

use super::cells::{Cell, Plan};
use super::guest::Guest;
use dccp_dev::shell::{self, Background, command};
use dccp_netns::{Namespace, command as in_namespace};

/// Where our program runs, and what its packets meet on their way.
pub(super) struct Link {
    /// The namespace of our program.
    pub(super) netns: String,
    /// Our program's address.
    pub(super) ours: &'static str,
    /// The guest's address.
    pub(super) linux: &'static str,
    lossy: Option<Lossy>,
}

/// The emulator, and the host beyond it.
struct Lossy {
    emulator: Emulator,
    _far: Namespace,
}

/// The shares of packets lost on the way to the guest and on the way back.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Losses {
    pub(super) out: f64,
    pub(super) back: f64,
}

impl Link {
    pub(super) fn set_up(guest: &Guest, cell: &Cell) -> Result<Self> {
        let is_lossy = cell.plan == Plan::Loss;
        let (ours, linux) = match (is_lossy, cell.is_v6) {
            (false, false) => ("10.33.0.1", "10.33.0.2"),
            (false, true) => ("fd33:4340::1", "fd33:4340::2"),
            (true, false) => ("10.33.1.2", "10.33.0.2"),
            (true, true) => ("fd33:4340:1::2", "fd33:4340::2"),
        };
        let (netns, lossy) = if is_lossy {
            let far = Namespace::new("far")?;
            let emulator = Emulator::start(guest, &far)?;
            far.ip(&["route", "add", "default", "dev", "emu0"])?;
            far.ip(&["-6", "route", "add", "default", "dev", "emu0"])?;
            guest.shell(GUEST_ROUTES)?;
            guest.shell("tc qdisc replace dev eth0 root netem limit 10000 loss 1%")?;
            (
                far.name().to_owned(),
                Some(Lossy {
                    emulator,
                    _far: far,
                }),
            )
        } else {
            (guest.namespace().to_owned(), None)
        };
        Ok(Self {
            netns,
            ours,
            linux,
            lossy,
        })
    }

    /// Ends the losses and returns them, if there were any.
    pub(super) fn finish(self, guest: &Guest) -> Result<Option<Losses>> {
        let Some(lossy) = self.lossy else {
            return Ok(None);
        };
        let out = lossy.emulator.finish()?;
        let back =
            netem_loss(&guest.shell("tc -s qdisc show dev eth0; tc qdisc del dev eth0 root")?)?;
        Ok(Some(Losses { out, back }))
    }
}

const GUEST_ROUTES: &str = "ip route replace 10.33.1.0/24 via 10.33.0.1; \
    ip -6 route replace fd33:4340:1::/64 via fd33:4340::1";

/// A running `dccp-emu`.
struct Emulator(Background);

/// Its last line.
#[derive(Deserialize)]
struct Report {
    forward: Direction,
}

#[derive(Deserialize)]
struct Direction {
    #[serde(rename = "offered_packets")]
    offered: u64,
    #[serde(rename = "delivered_packets")]
    delivered: u64,
    /// Packets that the emulator had no room for.
    #[serde(rename = "overflow_packets")]
    overflow: u64,
    #[serde(rename = "refused_packets")]
    refused: u64,
}

impl Emulator {
    /// Joins `far` to the guest's namespace, which becomes a router.
    fn start(guest: &Guest, far: &Namespace) -> Result<Self> {
        for family in ["ipv4.ip_forward=1", "ipv6.conf.all.forwarding=1"] {
            let set = ["sysctl", "-qw", &format!("net.{family}")];
            shell::output(&mut in_namespace(guest.namespace(), &set))?;
        }
        let left = format!("{}/emu0,10.33.1.2/24,fd33:4340:1::2/64", far.name());
        let right = format!("{}/emu1,10.33.1.1/24,fd33:4340:1::1/64", guest.namespace());
        let words = [
            "target/debug/dccp-emu",
            "tun",
            "--left",
            &left,
            "--right",
            &right,
            "--loss",
            "1%",
            "--back-loss",
            "0",
        ];
        Ok(Self(Background::start(command(&words), "ready")?))
    }

    /// Ends it and returns the share that it lost.
    fn finish(self) -> Result<f64> {
        let rest = self.0.interrupt()?;
        let last = rest.lines().last().context("dccp-emu does not report")?;
        let report: Report = serde_json::from_str(last).with_context(|| last.to_owned())?;
        let Direction {
            offered,
            delivered,
            overflow,
            refused,
        } = report.forward;
        let own = overflow + refused;
        ensure!(
            own == 0,
            "dccp-emu lost {own} packets that it should have carried"
        );
        share(offered - delivered, offered)
    }
}

/// The share that netem dropped, from `Sent 3 bytes 2 pkt (dropped 1, …)`.
fn netem_loss(statistics: &str) -> Result<f64> {
    let before = |mark: &str| {
        let (start, _) = statistics.split_once(mark)?;
        start.rsplit(' ').next()?.parse::<u64>().ok()
    };
    let dropped = statistics.split_once("(dropped ").and_then(|(_, rest)| {
        let (number, _) = rest.split_once(',')?;
        number.parse::<u64>().ok()
    });
    let (Some(sent), Some(dropped)) = (before(" pkt ("), dropped) else {
        bail!("tc prints {statistics}");
    };
    share(dropped, sent + dropped)
}

#[expect(clippy::cast_precision_loss, reason = "for people")]
fn share(part: u64, whole: u64) -> Result<f64> {
    ensure!(whole > 0, "nothing was sent");
    Ok(part as f64 / whole as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn netems_counters_are_read() {
        let text = "qdisc netem 8001: root refcnt 2 limit 1000 loss 1%\n \
            Sent 20000 bytes 198 pkt (dropped 2, overlimits 0 requeues 0)\n backlog 0b 0p requeues 0\n";
        assert!((netem_loss(text).unwrap() - 0.01).abs() < 1e-9);
        assert!(netem_loss("qdisc noqueue").is_err());
    }
}

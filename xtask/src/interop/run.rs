//! Runs one cell.

use std::time::Duration;

use anyhow::{Context, Result};

use super::capture::{self, Capture};
use super::cells::{Cell, Plan};
use super::guest::Guest;
use super::link::Link;
use super::peer::{Line, Peer};
use super::verdict::{self, Ends};
use crate::shell::command;

const PORT: u16 = 5001;
const PEER: &str = "target/debug/examples/peer";

/// Runs it and judges what came of it; a note for the table. What both ends said and what the
/// guest's devices counted is in `target/interop/NAME.log`.
pub(super) fn cell(guest: &Guest, cell: &Cell) -> Result<String> {
    let link = Link::set_up(guest, cell)?;
    // The kernel never adapts the Sequence Window with CCID 3.
    let window = if cell.ccid == 3 { 10000 } else { 100 };
    guest.shell(&format!(
        "echo {window} > /proc/sys/net/dccp/default/seq_window"
    ))?;
    let capture = Capture::start(&cell.name())?;
    let ends = converse(guest, &link, cell);
    let packets = capture.finish()?;
    let ends = ends?;
    write_log(guest, cell, &ends)?;
    capture::check(&packets)?;
    verdict::judge(cell, &ends, &packets)
}

fn write_log(guest: &Guest, cell: &Cell, ends: &Ends) -> Result<()> {
    let both = [("us", &ends.ours), ("Linux", &ends.linux)];
    let said = both.iter().flat_map(|(name, lines)| {
        let lines = lines.iter();
        lines.map(move |line| format!("{name}: {line:?}\n"))
    });
    let counted = guest
        .shell("tc -s qdisc show dev eth0; ip -s link show dev eth0; cat /proc/net/softnet_stat")?;
    let log: String = said.chain([counted]).collect();
    std::fs::write(format!("target/interop/{}.log", cell.name()), log)?;
    Ok(())
}

/// Starts both ends and waits for them.
fn converse(guest: &Guest, link: &Link, cell: &Cell) -> Result<Ends> {
    let ours = || {
        Peer::spawn(
            "our peer",
            our_peer(link, &arguments(cell, link, cell.we_connect))?,
        )
    };
    let linux = || {
        Peer::spawn(
            "dccp-peer",
            guest.peer(&arguments(cell, link, !cell.we_connect)),
        )
    };
    let is_refused = matches!(cell.plan, Plan::WrongService | Plan::ClosedPort);
    let silence = Duration::from_secs(30);
    let finish = |mut listener: Peer,
                  start_connector: &dyn Fn() -> Result<Peer>|
     -> Result<[Vec<Line>; 2]> {
        listener.wait_until_listening()?;
        let connector = start_connector()?.wait_for_end(silence)?;
        // Nobody came through to a listener that refused.
        let listener = if is_refused {
            Vec::new()
        } else {
            listener.wait_for_end(silence)?
        };
        Ok([connector, listener])
    };
    if cell.we_connect {
        let [ours, linux] = finish(linux()?, &ours)?;
        Ok(Ends { ours, linux })
    } else {
        let [linux, ours] = finish(ours()?, &linux)?;
        Ok(Ends { ours, linux })
    }
}

fn our_peer(link: &Link, args: &[String]) -> Result<std::process::Command> {
    let program = std::fs::canonicalize(PEER).context(PEER)?;
    let mut peer = command(&["ip", "netns", "exec", link.netns]);
    peer.arg(program).args(args);
    Ok(peer)
}

/// The options of one end; both programs take the same.
fn arguments(cell: &Cell, link: &Link, connects: bool) -> Vec<String> {
    let is_ours = connects == cell.we_connect;
    let port = PORT + u16::from(cell.plan == Plan::ClosedPort && connects);
    let end = if connects {
        let to = if is_ours { link.linux } else { link.ours };
        format!("connect {to} {port}")
    } else {
        let at = if is_ours { link.ours } else { link.linux };
        format!("listen {port} --bind {at} --source --conns 1")
    };
    let service = 42 + u32::from(cell.plan == Plan::WrongService && connects);
    let traffic = match cell.plan {
        Plan::Clean => "--count 500 --rate 250",
        Plan::Loss => "--count 5000 --rate 0",
        Plan::Renegotiation => "--count 10000 --rate 0",
        Plan::Long => "--duration 600 --rate 125",
        Plan::Coverage => "--count 200 --rate 200 --cscov 1 --min-cscov 1",
        Plan::WrongService | Plan::ClosedPort | Plan::WeClose | Plan::LinuxCloses => {
            "--count 50 --rate 100"
        }
    };
    let closes = match cell.plan {
        Plan::WeClose => is_ours,
        Plan::LinuxCloses => !is_ours,
        _ => connects,
    };
    let wait = if closes { 1 } else { 30 };
    let (ccid, size) = (cell.ccid, cell.size);
    let args =
        format!("{end} --service {service} --ccid {ccid} --size {size} {traffic} --wait {wait}");
    args.split(' ').map(str::to_owned).collect()
}

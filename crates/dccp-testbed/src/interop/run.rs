//! Runs one cell.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result};

use super::capture::{self, Capture};
use super::cells::{Cell, Plan};
use super::guest::{self, Guest};
use super::link::Link;
use super::peer::Peer;
use super::verdict::{self, Ends};
use dccp_dev::shell;
use dccp_netns::command as in_namespace;

const PORT: u16 = 5001;
const PEER: &str = "target/debug/dccp-peer";

/// Longest time between two lines of an end: both report once a second.
const SILENCE: Duration = Duration::from_secs(30);

/// Runs a cell and judges the result. Returns a note for the table. The output of both ends and the
/// counters of the devices between them go to `target/interop/NAME.log`.
pub(super) fn cell(guest: &Guest, cell: &Cell) -> Result<String> {
    let link = Link::set_up(guest, cell)?;
    // The kernel never adapts the Sequence Window with CCID 3.
    let window = if cell.ccid == 3 { 10000 } else { 100 };
    guest.shell(&format!(
        "echo {window} > /proc/sys/net/dccp/default/seq_window"
    ))?;
    let log = log_of(cell);
    std::fs::write(&log, "")?;
    let capture = Capture::start(guest, &cell.name())?;
    let ends = converse(guest, &link, cell);
    let packets = capture.finish()?;
    append(&log, &device_counters(guest)?)?;
    let losses = link.finish(guest)?;
    capture::check(&packets)?;
    let note = verdict::judge(cell, &ends?, &packets)?;
    match losses {
        Some(losses) => Ok(format!("{note}; {}", verdict::losses(losses)?)),
        None => Ok(note),
    }
}

fn log_of(cell: &Cell) -> PathBuf {
    PathBuf::from(format!("target/interop/{}.log", cell.name()))
}

fn append(log: &Path, text: &str) -> Result<()> {
    let mut log = File::options().append(true).open(log)?;
    Ok(log.write_all(text.as_bytes())?)
}

/// Both ends of the tap device, and what the guest lost on it.
fn device_counters(guest: &Guest) -> Result<String> {
    let inside = guest
        .shell("tc -s qdisc show dev eth0; ip -s link show dev eth0; cat /proc/net/softnet_stat")?;
    let tap = ["ip", "-s", "link", "show", "dev", guest::TAP];
    let outside = shell::output(&mut in_namespace(guest.namespace(), &tap))?;
    Ok(inside + &outside)
}

/// Starts both ends and waits for them.
fn converse(guest: &Guest, link: &Link, cell: &Cell) -> Result<Ends> {
    let start = |connects: bool| {
        let args = arguments(cell, link, connects);
        if connects == cell.we_connect {
            Peer::spawn("our peer", our_peer(link, &args)?, &log_of(cell))
        } else {
            Peer::spawn("dccp-peer", guest.peer(&args), &log_of(cell))
        }
    };
    let mut listener = start(false)?;
    listener.wait_until_listening()?;
    let connector = start(true)?.wait_for_end(SILENCE)?;
    // A listener that refused has no connection to report.
    let is_refused = matches!(cell.plan, Plan::WrongService | Plan::ClosedPort);
    let listener = if is_refused {
        Vec::new()
    } else {
        listener.wait_for_end(SILENCE)?
    };
    let (ours, linux) = if cell.we_connect {
        (connector, listener)
    } else {
        (listener, connector)
    };
    Ok(Ends { ours, linux })
}

fn our_peer(link: &Link, args: &[String]) -> Result<Command> {
    let program = std::fs::canonicalize(PEER).context(PEER)?;
    let mut peer = in_namespace(&link.netns, &[program]);
    peer.args(args);
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
        Plan::Loss => "--count 4000 --rate 800",
        Plan::Renegotiation => "--count 6000 --rate 2000",
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
    let wait = if closes { 2 } else { 30 };
    let (ccid, size) = (cell.ccid, cell.size);
    let args =
        format!("{end} --service {service} --ccid {ccid} --size {size} {traffic} --wait {wait}");
    args.split(' ').map(str::to_owned).collect()
}

//! Checks the result of a cell.

use anyhow::{Context, Result, bail, ensure};

use super::capture::{Packet, kind};
use super::cells::{Cell, Plan};
use super::link::Losses;
use super::peer::{Line, Summary};

/// The output of the two ends.
pub(super) struct Ends {
    pub(super) ours: Vec<Line>,
    pub(super) linux: Vec<Line>,
}

/// Change L, Confirm R: options 32 and 35; features Sequence Window and Ack Ratio: 3 and 5.
const CHANGE_L: u8 = 32;
const CONFIRM_R: u8 = 35;
const MOVING_FEATURES: [u8; 2] = [3, 5];

/// Fails, or returns a note for the table.
pub(super) fn judge(cell: &Cell, ends: &Ends, packets: &[Packet]) -> Result<String> {
    match cell.plan {
        Plan::WrongService => refused(cell, ends, packets, 8, "EBADRQC"),
        Plan::ClosedPort if cell.we_connect => refused(cell, ends, packets, 3, "ECONNREFUSED"),
        Plan::ClosedPort => refused(cell, ends, packets, 7, "ECONNREFUSED"),
        Plan::Clean | Plan::WeClose | Plan::LinuxCloses => all_arrived(cell, ends),
        Plan::Coverage => {
            covered_headers_only(packets)?;
            all_arrived(cell, ends)
        }
        Plan::Long => {
            let note = all_arrived(cell, ends)?;
            for end in [&ends.ours, &ends.linux] {
                let sent = summary(end)?.sent;
                ensure!(sent > 1 << 16, "only {sent} messages sent");
            }
            Ok(note)
        }
        Plan::Loss => most_arrived(cell, ends, 3),
        Plan::Renegotiation => {
            let changes = renegotiated(packets)?;
            // While the kernel's own Sequence Window is small, it refuses what acknowledges late.
            let arrived = most_arrived(cell, ends, 10)?;
            Ok(format!("{arrived}, {changes} changes"))
        }
    }
}

/// Every message arrived, in both directions, and the connection was closed properly.
fn all_arrived(cell: &Cell, ends: &Ends) -> Result<String> {
    let (ours, linux) = closed_properly(cell, ends)?;
    for (name, from, to) in [("us", &ours, &linux), ("Linux", &linux, &ours)] {
        let (sent, received) = (from.sent, to.received);
        ensure!(
            received == sent,
            "{received} of {sent} messages from {name} arrived"
        );
        ensure!(
            to.lost == Some(0),
            "gaps although all arrived: {:?}",
            to.lost
        );
    }
    Ok(format!("{} out, {} back", ours.sent, linux.sent))
}

/// At most `missing_max` percent are missing.
fn most_arrived(cell: &Cell, ends: &Ends, missing_max: u64) -> Result<String> {
    let (ours, linux) = closed_properly(cell, ends)?;
    for (name, from, to) in [("us", &ours, &linux), ("Linux", &linux, &ours)] {
        let (sent, received) = (from.sent, to.received);
        let missing = sent
            .checked_sub(received)
            .context("more arrived than was sent")?;
        ensure!(
            missing * 100 <= sent * missing_max,
            "{received} of {sent} messages from {name} arrived"
        );
        let gaps = to.lost.context("messages without numbers")?;
        ensure!(
            gaps <= missing,
            "{gaps} gaps, but only {missing} messages missing"
        );
    }
    let (out, back) = (linux.received, ours.received);
    Ok(format!(
        "{out} of {} out, {back} of {} back",
        ours.sent, linux.sent
    ))
}

/// About 1 % was lost each way.
pub(super) fn losses(Losses { out, back }: Losses) -> Result<String> {
    for share in [out, back] {
        ensure!(
            (0.005..=0.02).contains(&share),
            "{:.2} % lost",
            share * 100.0
        );
    }
    Ok(format!(
        "lost {:.2} % out, {:.2} % back",
        out * 100.0,
        back * 100.0
    ))
}

/// CCIDs as wanted, data both ways, a close by the one end that the other one saw, no damage.
fn closed_properly(cell: &Cell, ends: &Ends) -> Result<(Summary, Summary)> {
    let (ours, linux) = (summary(&ends.ours)?, summary(&ends.linux)?);
    for end in [&ends.ours, &ends.linux] {
        let ccids = end.iter().find_map(|line| match line {
            Line::Connected { tx_ccid, rx_ccid } => Some((*tx_ccid, *rx_ccid)),
            _ => None,
        });
        ensure!(ccids == Some((cell.ccid, cell.ccid)), "CCIDs {ccids:?}");
    }
    for summary in [&ours, &linux] {
        ensure!(summary.error.is_none(), "ended with {:?}", summary.error);
        ensure!(
            summary.damaged == 0 && summary.duplicates == 0,
            "damaged or doubled: {summary:?}"
        );
        ensure!(summary.sent > 0, "nothing sent: {summary:?}");
    }
    let we_close = match cell.plan {
        Plan::WeClose => true,
        Plan::LinuxCloses => false,
        _ => cell.we_connect,
    };
    let expected = if we_close {
        ("local", "peer")
    } else {
        ("peer", "local")
    };
    let seen = (ours.end.as_str(), linux.end.as_str());
    ensure!(seen == expected, "ended by {seen:?}, us and Linux");
    Ok((ours, linux))
}

/// The connection was refused by a Reset with this code, and the connecting end knows.
fn refused(cell: &Cell, ends: &Ends, packets: &[Packet], code: u8, errno: &str) -> Result<String> {
    let reset = packets
        .iter()
        .find(|packet| packet.kind == kind::RESET)
        .context("no Reset")?;
    ensure!(
        reset.is_linux == cell.we_connect,
        "the wrong end sent the Reset"
    );
    ensure!(
        reset.reset_code == Some(code),
        "Reset {:?}",
        reset.reset_code
    );
    let connector = if cell.we_connect {
        &ends.ours
    } else {
        &ends.linux
    };
    let Some(Line::Error { call, error }) = connector.last() else {
        bail!("no error at the connecting end: {:?}", connector.last());
    };
    ensure!(
        call == "connect" && error == errno,
        "{call}() failed with {error}"
    );
    Ok(format!("Reset {code}, {errno}"))
}

/// Data packets of both ends say Checksum Coverage 1.
fn covered_headers_only(packets: &[Packet]) -> Result<()> {
    for is_linux in [false, true] {
        let mut data = packets.iter().filter(|packet| {
            packet.is_linux == is_linux && matches!(packet.kind, kind::DATA | kind::DATA_ACK)
        });
        ensure!(
            data.all(|packet| packet.coverage == 1),
            "data with another coverage, Linux: {is_linux}"
        );
    }
    Ok(())
}

/// The kernel changed features while data flowed, and we confirmed; how often it asked.
fn renegotiated(packets: &[Packet]) -> Result<usize> {
    let moving = |packet: &&Packet| {
        packet
            .features
            .iter()
            .any(|feature| MOVING_FEATURES.contains(feature))
    };
    let open = packets
        .iter()
        .filter(|packet| !matches!(packet.kind, kind::REQUEST | kind::RESPONSE))
        .filter(moving);
    let count = |is_linux: bool, option: u8| {
        let of_one = open.clone().filter(|packet| packet.is_linux == is_linux);
        of_one
            .filter(|packet| packet.options.contains(&option))
            .count()
    };
    let (changes, confirms) = (count(true, CHANGE_L), count(false, CONFIRM_R));
    ensure!(changes > 0, "the kernel changed nothing");
    ensure!(confirms > 0, "we confirmed none of {changes} changes");
    Ok(changes)
}

fn summary(lines: &[Line]) -> Result<Summary> {
    let found = lines.iter().rev().find_map(|line| match line {
        Line::Summary(summary) => Some(summary.clone()),
        _ => None,
    });
    found.with_context(|| format!("no summary; last: {:?}", lines.last()))
}

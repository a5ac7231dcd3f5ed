//! Captures the packets on the tap device and reads them with `tshark`.

use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, bail};

use super::guest::{Guest, TAP};
use dccp_dev::shell::{self, command};

/// A running capture.
pub(super) struct Capture {
    child: Child,
    file: PathBuf,
}

/// A packet of a capture.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Packet {
    /// Sent by the guest; otherwise by us.
    pub(super) is_linux: bool,
    pub(super) kind: u8,
    pub(super) options: Vec<u8>,
    pub(super) features: Vec<u8>,
    pub(super) coverage: u8,
    pub(super) reset_code: Option<u8>,
    /// The error that `tshark` reports.
    complaint: Option<String>,
}

/// Packet types (RFC 4340 §5.1).
pub(super) mod kind {
    pub(in crate::interop) const REQUEST: u8 = 0;
    pub(in crate::interop) const RESPONSE: u8 = 1;
    pub(in crate::interop) const DATA: u8 = 2;
    pub(in crate::interop) const DATA_ACK: u8 = 4;
    pub(in crate::interop) const RESET: u8 = 7;
}

const FIELDS: [&str; 10] = [
    "ip.src",
    "ipv6.src",
    "dccp.type",
    "dccp.option_type",
    "dccp.feature_number",
    "dccp.cscov",
    "dccp.reset_code",
    "dccp.checksum.status",
    "_ws.malformed",
    "_ws.expert.message",
];

/// The value of `dccp.checksum.status` of a correct checksum.
const GOOD: &str = "1";

impl Capture {
    /// Starts to capture into `target/interop/NAME.pcap`.
    pub(super) fn start(guest: &Guest, name: &str) -> Result<Self> {
        let file = PathBuf::from(format!("target/interop/{name}.pcap"));
        let tcpdump = ["tcpdump", "-Z", "root", "-i", TAP, "-U", "--immediate-mode"];
        let mut tcpdump = dccp_netns::command(guest.namespace(), &tcpdump);
        tcpdump
            .args(["-B", "16384", "-w"])
            .arg(&file)
            .arg("ip proto 33 or ip6 proto 33");
        let _ = std::fs::remove_file(&file);
        let child = tcpdump
            .stdin(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .context("tcpdump")?;
        for _ in 0..50 {
            if file.metadata().is_ok_and(|data| data.len() > 0) {
                return Ok(Self { child, file });
            }
            thread::sleep(Duration::from_millis(100));
        }
        bail!("tcpdump does not start");
    }

    /// Ends it and reads the packets.
    pub(super) fn finish(mut self) -> Result<Vec<Packet>> {
        thread::sleep(Duration::from_millis(200));
        shell::output(&mut command(&["kill", &self.child.id().to_string()]))?;
        self.child.wait()?;
        let mut tshark = command(&[
            "tshark",
            "-o",
            "dccp.check_checksum:TRUE",
            "-T",
            "fields",
            "-E",
            "separator=|",
            "-r",
        ]);
        tshark.arg(&self.file);
        for field in FIELDS {
            tshark.args(["-e", field]);
        }
        shell::output(&mut tshark)?.lines().map(packet).collect()
    }
}

impl Drop for Capture {
    fn drop(&mut self) {
        // Both fail only where it has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Fails if `tshark` finds anything wrong with any packet.
pub(super) fn check(packets: &[Packet]) -> Result<()> {
    for (n, packet) in (1..).zip(packets) {
        if let Some(complaint) = &packet.complaint {
            let sender = if packet.is_linux { "the kernel" } else { "us" };
            bail!("tshark on packet {n}, by {sender}: {complaint}");
        }
    }
    Ok(())
}

fn packet(line: &str) -> Result<Packet> {
    let fields: Vec<_> = line.split('|').collect();
    let [
        v4,
        v6,
        kind,
        options,
        features,
        coverage,
        reset,
        checksum,
        malformed,
        expert @ ..,
    ] = &fields[..]
    else {
        bail!("tshark prints {line}");
    };
    let numbers = |list: &str| {
        list.split(',')
            .filter_map(|number| number.parse().ok())
            .collect()
    };
    let complaint = if *checksum == GOOD {
        let said = [&[*malformed], expert].concat().concat();
        (!said.is_empty()).then_some(said)
    } else {
        Some(format!("checksum status {checksum}"))
    };
    Ok(Packet {
        is_linux: *v4 == "10.33.0.2" || *v6 == "fd33:4340::2",
        kind: kind
            .parse()
            .with_context(|| format!("tshark prints {line}"))?,
        options: numbers(options),
        features: numbers(features),
        coverage: coverage.parse().unwrap_or(0),
        reset_code: reset.parse().ok(),
        complaint,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_tshark_becomes_a_packet() {
        let good = packet("10.33.0.2||4|38,32,32|3,5|1||1||").unwrap();
        assert!(good.is_linux && good.complaint.is_none());
        assert_eq!((good.kind, good.coverage, good.reset_code), (4, 1, None));
        assert_eq!(
            (good.options, good.features),
            (vec![38, 32, 32], vec![3, 5])
        );
        let reset = packet("|fd33:4340::1|7|||0|3|1||").unwrap();
        assert!(!reset.is_linux);
        assert_eq!(reset.reset_code, Some(3));
    }

    #[test]
    fn complaints_are_kept() {
        let of = |line| check(&[packet(line).unwrap()]).unwrap_err().to_string();
        assert!(of("10.33.0.1||4|||0||0||").contains("checksum status 0"));
        assert!(of("10.33.0.1||4|||0||1||odd length").contains("by us: odd length"));
    }
}

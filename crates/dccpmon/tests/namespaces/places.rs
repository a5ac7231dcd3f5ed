//! Drops in the backlog and in the interfaces of hosts: the ledger against what the kernel counted there.

use crate::hosts::{Hosts, drops, set, slow_down};
use crate::truth::limit;
use dccp_netns::Namespace;
use dccpmon::schema::Ledger;
use serde_json::Value;
use std::fs::{read_dir, read_to_string};
use std::path::Path;
use std::process::Command;
use std::thread::available_parallelism;

/// How often a test is repeated while other programs of the machine disturb it.
const ATTEMPTS: usize = 10;
/// Packets that a flow sends at once in the test of the backlog. Its send buffer holds more of them.
const BURST: u64 = 200;

/// Packets that the backlog of a core holds, and also the receive queue of a tunnel.
fn backlog() -> u64 {
    let text = read_to_string("/proc/sys/net/core/netdev_max_backlog").unwrap();
    text.trim().parse().unwrap()
}

/// Keeps threads of the kernel on the first core.
fn pin(name: &str) {
    let processes = read_dir("/proc").unwrap().map(Result::unwrap);
    let is_meant = |path: &Path| {
        let found = read_to_string(path.join("comm"));
        found.is_ok_and(|found| found.starts_with(name))
    };
    for path in processes
        .map(|entry| entry.path())
        .filter(|path| is_meant(path))
    {
        let process = path.file_name().unwrap();
        let mut taskset = Command::new("taskset");
        let output = taskset.args(["-p", "-c", "0"]).arg(process).output();
        assert!(output.unwrap().status.success(), "{}", process.display());
    }
}

/// The ledger of all flows.
fn ledger(document: &Value) -> Ledger {
    let flows = document["summary"]["flows"].as_array().unwrap();
    let of = |flow: &Value| serde_json::from_value(flow["ledger"].clone()).unwrap();
    let ledgers: Vec<Ledger> = flows.iter().map(of).collect();
    Ledger::sum(ledgers.iter())
}

/// Measures until the ledger has most losses at one place, and the others as unknown. That can take several attempts while
/// other programs disturb the machine: a drop that other traffic may have caused stays unknown, and a test can break off.
/// `measure` gives the drops of the device too. A few of them can be packets that control the test.
fn repeated(mut measure: impl FnMut() -> Option<(Ledger, u64)>, place: fn(&Ledger) -> u64) {
    let mut seen = Vec::new();
    for (ledger, truth) in (0..ATTEMPTS).filter_map(|_| measure()) {
        let (lost, placed) = (ledger.lost(), place(&ledger));
        assert!(ledger.is_closed(), "{ledger:?}");
        assert!(placed <= truth, "{truth}: {ledger:?}");
        let is_whole = lost > 50 && lost.abs_diff(truth) <= truth / 20;
        if is_whole && placed >= lost / 2 && placed + ledger.unknown == lost {
            return;
        }
        seen.push((ledger, truth));
    }
    panic!("{seen:?}");
}

// goal 18: what the backlog of a core of the receiving host drops is lost there. The sending host does not learn of it,
// because the receiving device passes packets to another core.
#[test]
fn truth_of_a_full_backlog() {
    const TEST: &str = "truth_of_a_full_backlog";
    let flows = backlog() * 8 / 5 / BURST;
    if available_parallelism().unwrap().get() < 2 || flows > 64 {
        println!("SKIP {TEST}: needs two cores and a usual net.core.netdev_max_backlog");
        return;
    }
    let Some(mut hosts) = Hosts::alone(TEST) else {
        return;
    };
    hosts.connect();
    let ethtool = |host: &Namespace, feature, state| {
        let words = ["ethtool", "-K", "eth0", feature, state];
        let output = host.command(&words).output().unwrap();
        assert!(output.status.success(), "{words:?}: {output:?}");
    };
    ethtool(&hosts.server, "gro", "on");
    ethtool(&hosts.client, "tso", "off");
    set(&hosts.server, "eth0/queues/rx-0/rps_cpus", "2");
    slow_down(&hosts.server, "eth0");
    let _server = hosts.serve(&[]);
    hosts.runner = &["taskset", "-c", "0"];
    let (flows, burst) = (flows.to_string(), format!("{BURST}/250ms"));
    let words = [
        "-u", "-t", "1.2", "-l", "100", "-P", &flows, "--burst", &burst,
    ];
    let measure = || {
        let before = drops(&hosts.server, "eth0")[0];
        let ledger = ledger(&hosts.try_document(&words)?);
        Some((ledger, drops(&hosts.server, "eth0")[0] - before))
    };
    repeated(measure, |ledger| ledger.lost_receiver_softnet);
}

// goal 18: what the receive queue of an interface drops is lost there.
#[test]
fn truth_of_a_full_receive_queue() {
    const TEST: &str = "truth_of_a_full_receive_queue";
    if Hosts::alone(TEST).is_none() {
        return;
    }
    // A fifth more than the queue holds. More drops could be those of other traffic: the interface counts what it drops as
    // received too. A sender that the machine slows down needs larger bursts, but not much larger ones.
    let mut burst = backlog() * 6 / 5;
    let measure = || {
        let mut hosts = Hosts::alone(TEST)?;
        hosts.connect();
        hosts.tunnel();
        // A thread of the kernel takes the packets out of the tunnel's queue. It has no lock against another core that
        // puts packets in, and can then leave them there for ever.
        set(&hosts.server, "vx0/threaded", "1");
        pin("napi/vx0");
        slow_down(&hosts.server, "vx0");
        let _server = hosts.serve(&[]);
        hosts.runner = &["taskset", "-c", "0"];
        let text = format!("{burst}/400ms");
        let words = ["-u", "-t", "1.5", "-l", "100", "--burst", &text];
        let before = drops(&hosts.server, "vx0")[0];
        let ledger = ledger(&hosts.try_document(&words)?);
        if ledger.lost() * 5 > ledger.sent {
            burst -= backlog() / 8;
        } else {
            burst += backlog() / 4;
        }
        Some((ledger, drops(&hosts.server, "vx0")[0] - before))
    };
    repeated(measure, |ledger| ledger.lost_receiver_interface);
}

// goal 18: what the interface of the sending host drops is lost there. The program does not learn of it, because the tunnel
// takes each packet.
#[test]
fn truth_of_a_token_bucket_below_a_tunnel() {
    /// The port of the data behind the headers of the tunnel.
    const TUNNELLED: &str = "u16 0x379a 0xffff at 72";
    let Some(mut hosts) = Hosts::alone("truth_of_a_token_bucket_below_a_tunnel") else {
        return;
    };
    hosts.connect();
    hosts.tunnel();
    let _server = hosts.serve(&[]);
    limit(&hosts.client, "eth0", TUNNELLED);
    let words = ["-u", "-t", "1", "-b", "30M", "-l", "1000"];
    let measure = || {
        let before = drops(&hosts.client, "vx0")[1];
        let ledger = ledger(&hosts.try_document(&words)?);
        Some((ledger, drops(&hosts.client, "vx0")[1] - before))
    };
    repeated(measure, |ledger| ledger.lost_sender_interface);
}

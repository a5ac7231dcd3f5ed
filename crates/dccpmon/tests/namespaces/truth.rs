//! The ledger of tests over UDP against what the kernel's queues did.

use crate::hosts::Hosts;
use dccp_netns::Namespace;
use dccpmon::schema::Document;
use serde_json::Value;

/// The data of a test over UDP, for filters.
const DATA: &str = "ip dport 14234 0xffff";

/// Limits the data of tests over UDP that leave a device, by the kernel's token bucket. All else passes.
pub(crate) fn limit(host: &Namespace, device: &str, data: &str) {
    for words in [
        "qdisc add dev DEVICE root handle 1: htb default 1 r2q 1000",
        "class add dev DEVICE parent 1: classid 1:1 htb rate 1gbit quantum 60000",
        "class add dev DEVICE parent 1: classid 1:2 htb rate 1gbit quantum 60000",
        "qdisc add dev DEVICE parent 1:2 handle 2: tbf rate 20mbit burst 5kb limit 30000",
        "filter add dev DEVICE parent 1: protocol ip u32 match MATCH flowid 1:2",
    ] {
        let words = words.replace("DEVICE", device).replace("MATCH", data);
        let words: Vec<&str> = ["tc"].into_iter().chain(words.split(' ')).collect();
        let output = host.command(&words).output().unwrap();
        assert!(output.status.success(), "{words:?}: {output:?}");
    }
}

/// The packets that the token bucket dropped.
fn drops(host: &Namespace, device: &str) -> u64 {
    let words = ["tc", "-s", "-j", "qdisc", "show", "dev", device];
    let output = host.command(&words).output().unwrap();
    let list: Value = serde_json::from_slice(&output.stdout).unwrap();
    let bucket = list.as_array().unwrap().iter().find(|q| q["kind"] == "tbf");
    bucket.unwrap()["drops"].as_u64().unwrap()
}

// goal 18: what a full queue of the sending host drops is lost there.
#[test]
fn truth_of_a_token_bucket() {
    let Some(hosts) = Hosts::new("truth_of_a_token_bucket") else {
        return;
    };
    hosts.connect();
    let server = hosts.serve(&[]);
    limit(&hosts.client, "eth0", DATA);
    let arguments = ["-u", "-t", "1", "-b", "30M", "-l", "1000"];
    let document = hosts.document(&arguments);
    drop(server);
    let document: Document = serde_json::from_value(document).unwrap();
    let flow = document.summary.unwrap().flows.remove(0);
    let ledger = flow.ledger.unwrap();
    let dropped = drops(&hosts.client, "eth0");
    assert!(dropped > 100, "{ledger:?}");
    assert_eq!(ledger.lost_sender_queue, dropped, "{ledger:?}");
    assert_eq!(ledger.lost_network, 0, "{ledger:?}");
}

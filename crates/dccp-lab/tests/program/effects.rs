//! Keys of scenario files by their effect: the real program on small networks.

use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::Command;

/// The cells of the results of a scenario: `name` is its own, `text` what follows its head.
fn cells(name: &str, text: &str) -> Vec<Value> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let (scenario, json) = (
        folder.join(format!("{name}.toml")),
        folder.join(format!("{name}.json")),
    );
    let head = format!("schema = \"dccplab/1\"\nname = \"{name}\"\nseed = 1\n");
    fs::write(&scenario, head + text).expect("a scenario");
    let output = Command::new(env!("CARGO_BIN_EXE_dccplab"))
        .arg("run")
        .args([&scenario, Path::new("--json"), &json])
        .output()
        .expect("the program starts");
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let text = fs::read_to_string(json).expect("results");
    let document: Value = serde_json::from_str(&text).expect("JSON");
    document["cells"].as_array().expect("cells").clone()
}

/// A number of packets of a cell's first flow.
fn count(cell: &Value, key: &str) -> u64 {
    let value = &cell["summary"]["flows"][0][key];
    value.as_u64().expect("a count")
}

/// Mbit/s of the first flow in each interval.
fn goodput(cell: &Value) -> Vec<f64> {
    let column = cell["series"]["flows"][0]["goodput_bps"].as_array();
    let column = column.expect("a column").iter();
    column.map(|v| v.as_f64().expect("it") / 1e6).collect()
}

// goal 65: topologies beyond one bottleneck.
#[test]
fn a_route_leads_around_a_slow_link() {
    let cells = cells(
        "route",
        r#"
[topology]
nodes = ["a", "r", "s", "b"]
[[link]]
from = "r"
to = ["a", "s"]
rate = "20Mbit"
delay = "1ms"
[[link]]
from = "s"
to = "b"
rate = "20Mbit"
[[link]]
from = "r"
to = "b"
rate = "2Mbit"
[[route]]
at = "r"
to = "b"
via = "${via}"
[matrix]
via = ["b", "s"]
[[flow]]
id = "load"
from = "a"
to = "b"
stop = "10s"
"#,
    );
    for (cell, range) in cells.iter().zip([1.8..2.0, 18.0..20.0]) {
        let last = *goodput(cell).last().expect("an interval");
        assert!(range.contains(&last), "{last} of {range:?}");
    }
    assert_eq!(cells.len(), 2);
}

#[test]
fn packets_are_as_large_as_the_interface_takes_unless_the_file_has_a_size() {
    let cells = cells(
        "mtu",
        r#"
[topology]
nodes = ["a", "b"]
[[link]]
from = "a"
to = "b"
rate = "100Mbit"
delay = "1ms"
mtu = "${mtu}"
[matrix]
mtu = ["1500B", "8960B"]
transport = ["dccp/ccid2", "dccp/ccid3"]
[[flow]]
id = "full"
from = "a"
to = "b"
transport = "${transport}"
stop = "2s"
[[flow]]
id = "sized"
from = "a"
to = "b"
transport = "${transport}"
size = "1000B"
stop = "2s"
"#,
    );
    assert_eq!(cells.len(), 4);
    for cell in &cells {
        let of = |flow: usize, key: &str| {
            let value = &cell["summary"]["flows"][flow][key];
            value.as_f64().expect("a number")
        };
        let size = |flow| of(flow, "delivered_bytes") / of(flow, "delivered_packets");
        let mtu = if cell["variables"]["mtu"] == "1500B" {
            1500.0
        } else {
            8960.0
        };
        // Headers and options take the rest.
        assert!((mtu - 80.0..mtu).contains(&size(0)), "{}", size(0));
        assert!((size(1) - 1000.0).abs() < 1e-9, "{}", size(1));
    }
}

#[test]
fn a_link_changes_when_the_file_says_so() {
    let cells = cells(
        "changes",
        r#"
[topology]
nodes = ["a", "b"]
[[link]]
from = "a"
to = "b"
rate = "20Mbit"
delay = "10ms"
queue = "100p"
changes = [
  { at = "5s", rate = "4Mbit" },
  { at = "10s", delay = "40ms", queue = "10p" },
  { at = "20s", up = false },
  { at = "23s", up = true },
]
back = { changes = [] }
[[flow]]
id = "load"
from = "a"
to = "b"
stop = "30s"
"#,
    );
    let goodput = goodput(&cells[0]);
    // In the fourth and the ninth second, and while the link is down.
    for (n, range) in [(3, 18.0..20.0), (8, 3.6..4.0), (21, 0.0..0.001)] {
        assert!(range.contains(&goodput[n]), "{n}: {}", goodput[n]);
    }
    let sent_again: f64 = goodput[23..].iter().sum();
    assert!(sent_again > 4.0, "{sent_again}");
    let link = &cells[0]["series"]["links"][0]["queue_packets_max"];
    let longest = |n: usize| link[n].as_u64().expect("a count");
    assert!(longest(8) > 50 && longest(15) <= 10, "{link}");
    let rtt = cells[0]["series"]["flows"][0]["rtt_ns"][15].as_u64();
    assert!(rtt > Some(50_000_000) && rtt < Some(90_000_000), "{rtt:?}");
}

#[test]
fn a_host_is_as_fast_as_its_processor_and_its_interface_as_long_as_the_file_says() {
    let cells = cells(
        "host",
        r#"
[topology]
nodes = ["a", "b"]
[[link]]
from = "a"
to = "b"
rate = "100Mbit"
delay = "2ms"
[[host]]
node = "a"
send_cost = "${cost}"
txqueuelen = "20p"
local_congestion = "${full}"
clock = { offset = "2s", drift = "100ppm" }
[matrix]
cost = ["0s", "1ms"]
full = ["wait", "drop"]
[[flow]]
id = "load"
from = "a"
to = "b"
size = "1000B"
stop = "10s"
"#,
    );
    let last = |cell: &Value| *goodput(cell).last().expect("an interval");
    let busy = |cell: &Value| cell["summary"]["hosts"][0]["processor_ns"].as_u64();
    let queue = |cell: &Value| cell["summary"]["links"][0]["queue_packets_max"].as_u64();
    let overflow =
        |cell: &Value| cell["summary"]["links"][0]["lost_packets"]["queue_full"].as_u64();
    let [wait, dropped, slow, _] = &cells[..] else {
        panic!("{} cells", cells.len());
    };
    assert!(last(wait) > 90.0, "{}", last(wait));
    assert_eq!(
        (busy(wait), queue(wait), overflow(wait)),
        (Some(0), Some(20), None)
    );
    assert!(overflow(dropped) > Some(0), "{dropped}");
    assert_eq!(queue(dropped), Some(20));
    // A thousand packets of a thousand bytes in a second, fewer those that carry no data.
    assert!((7.5..8.01).contains(&last(slow)), "{}", last(slow));
    assert!(busy(slow) > Some(9_500_000_000), "{:?}", busy(slow));
}

// E24: the pool lasts 36.6 ms at 78,333 packets/s, and the receiving host counts what it loses.
#[test]
fn a_pool_of_buffers_loses_packets_if_its_refill_comes_later_than_the_pool_lasts() {
    let cells = cells(
        "memory",
        r#"
[topology]
nodes = ["a", "b"]
[[link]]
from = "a"
to = "b"
rate = "1Gbit"
[[host]]
node = "b"
memory = { pool = "5741KiB", buffer = "2KiB", refill = "${pause}" }
[matrix]
pause = ["36ms", "38ms"]
[[flow]]
id = "load"
from = "a"
to = "b"
kind = "cbr"
transport = "udp"
size = "1444B"
rate = "904.903Mbit"
stop = "1s"
"#,
    );
    let lost = |cell: &Value| cell["summary"]["hosts"][0]["lost_packets"]["no_buffer"].as_u64();
    let [early, late] = &cells[..] else {
        panic!("{} cells", cells.len());
    };
    assert_eq!(lost(early), None, "{}", early["summary"]["hosts"]);
    // Of 2976 packets in 38 ms, 2870 find a buffer.
    assert!(
        lost(late) > Some(2600) && lost(late) < Some(2800),
        "{:?}",
        lost(late)
    );
}

#[test]
fn a_model_of_a_processor_has_the_costs_of_its_year_unless_the_file_has_others() {
    let cells = cells(
        "models",
        r#"
[topology]
nodes = ["a", "b"]
[[link]]
from = "a"
to = "b"
rate = "10Mbit"
rtt = "100ms"
[[host]]
node = "a"
cpu_model = "${model}"
walk_cost = "${walk}"
[matrix]
model = ["dccp2007", "sack2003"]
walk = ["0s", "1us"]
[[flow]]
id = "load"
from = "a"
to = "b"
ack_ratio = 2
stop = "5s"
"#,
    );
    let busy = |n: usize| {
        let cell = &cells[n]["summary"];
        let busy = cell["hosts"][0]["processor_ns"].as_f64().expect("a time");
        busy / cell["flows"][0]["sent_packets"].as_f64().expect("a count")
    };
    // For each packet 10.5 µs. With each second one, a microsecond for each packet in flight: at least 40.
    assert!((10_500.0..12_000.0).contains(&busy(0)), "{}", busy(0));
    assert!(busy(1) > 10_500.0 + 20_000.0, "{}", busy(1));
    // DCCP has no SACK: 5 µs for each second packet.
    assert!((2_000.0..3_500.0).contains(&busy(2)), "{}", busy(2));
    assert!((busy(2) - busy(3)).abs() < 1e-9);
}

#[test]
fn a_law_counts_acknowledgements_and_coarse_round_trips_where_the_file_says_so() {
    let cells = cells(
        "inputs",
        r#"
[topology]
nodes = ["a", "b"]
[[link]]
from = "a"
to = "b"
rate = "100Mbit"
rtt = "9ms"
queue = "400p"
[matrix]
transport = ["tcp", "dccp/ccid2"]
law = ["scalable:initial_ssthresh=20", "fast:alpha=40"]
count = ["packets", "acks"]
tick = ["1ns", "10ms"]
only = [{ count = "packets" }, { law = "scalable:initial_ssthresh=20", tick = "1ns" }]
[[flow]]
id = "load"
from = "a"
to = "b"
transport = "${transport}"
cc = "${law}"
count = "${count}"
clock_granularity = "${tick}"
ack_ratio = 2
ecn = false
stop = "5s"
[measure]
interval = "100ms"
"#,
    );
    let of = |values: [&str; 4]| {
        let is_wanted = |cell: &&Value| {
            let names = ["transport", "law", "count", "tick"];
            names
                .iter()
                .zip(values)
                .all(|(name, v)| cell["variables"][name] == v)
        };
        &cells.iter().find(is_wanted).expect("a cell")["series"]
    };
    for transport in ["tcp", "dccp/ccid2"] {
        let window = |count| {
            let series = of([transport, "scalable:initial_ssthresh=20", count, "1ns"]);
            series["flows"][0]["cwnd_packets"][9]
                .as_f64()
                .expect("a window")
        };
        // In a second of about 100 round trips the window grows by 1 % per round trip, or by half of that.
        let (packets, acks) = (window("packets"), window("acks"));
        assert!(packets > 1.3 * acks, "{transport}: {packets} {acks}");
        let queue = |tick| {
            let series = of([transport, "fast:alpha=40", "packets", tick]);
            let queue = series["links"][0]["queue_packets_mean"]
                .as_array()
                .expect("a column");
            let last = queue[30..].iter().map(|v| v.as_f64().expect("a queue"));
            last.sum::<f64>() / 20.0
        };
        // 40 packets in the queue are 4.8 ms. With a clock of 10 ms, the ninth packet makes the round trip 20 ms.
        let (fine, coarse) = (queue("1ns"), queue("10ms"));
        assert!((30.0..50.0).contains(&fine), "{transport}: {fine}");
        assert!((coarse - fine).abs() > 8.0, "{transport}: {fine} {coarse}");
    }
}

#[test]
fn ccid_3_is_that_of_ns_2_where_the_file_says_so() {
    // Slow start with one packet of 1444 bytes per round trip of 100 ms, not three: sent at 100, 200, 300 and 400 ms,
    // four have come in the first half of a second. It doubles every second round trip.
    let cells = cells(
        "rules",
        r#"
[topology]
nodes = ["a", "b"]
[[link]]
from = "a"
to = "b"
rate = "20Mbit"
delay = "50ms"
[[flow]]
id = "load"
from = "a"
to = "b"
transport = "dccp/ccid3"
tfrc = "${tfrc}"
stop = "2s"
[matrix]
tfrc = ["tfrc-ns2", "tfrc"]
[measure]
interval = "500ms"
"#,
    );
    let [old, new] = [&cells[0], &cells[1]].map(goodput);
    assert!(
        (old[0] - 4.0 * 1444.0 * 8.0 / 0.5e6).abs() < 1e-9,
        "{old:?}"
    );
    assert_eq!(old.len(), 4);
    assert!(
        old.iter().zip(&new).all(|(old, new)| old < &(new / 2.0)),
        "{old:?} {new:?}"
    );
}

// RFC 4340 §11.6, §11.7: Slow Receiver and Drop Code 2.
#[test]
fn an_application_reads_at_its_rate_and_reports_that_it_is_slow() {
    let cells = cells(
        "reading",
        r#"
[topology]
nodes = ["a", "b"]
[[link]]
from = "a"
to = "b"
rate = "10Mbit"
rtt = "10ms"
[matrix]
room = ["10p", "100p"]
slow = [false, true]
[[flow]]
id = "load"
from = "a"
to = "b"
kind = "cbr"
rate = "2Mbit"
size = "1000B"
read_rate = "1Mbit"
receive_buffer = "${room}"
slow_receiver = "${slow}"
stop = "10s"
"#,
    );
    let of = |n: usize, key: &str| count(&cells[n], key);
    for (n, room) in [10, 10, 100, 100].into_iter().enumerate() {
        let read = of(n, "delivered_packets");
        assert!((1200..=1250).contains(&read), "{n}: {read}");
        let is_slow = of(n, "slow_receiver_packets") > 0;
        assert_eq!(is_slow, n % 2 == 1, "{n}");
        // The others wait, or are on the path.
        let dropped = of(n, "dropped_by_receiver_packets");
        let rest = of(n, "sent_packets") - read - dropped;
        assert!(rest <= room + 20, "{n}: {rest} {dropped}");
        assert!(dropped > 0, "{n}");
    }
}

// RFC 4340 §9.2, §9.3: partial coverage, Data Checksum, Drop Codes 3 and 7.
#[test]
fn corrupt_data_are_delivered_or_reported_as_the_file_says() {
    let cells = cells(
        "coverage",
        r#"
[topology]
nodes = ["a", "b"]
[[link]]
from = "a"
to = "b"
rate = "10Mbit"
rtt = "10ms"
ber = 1e-5
back = { ber = 0.0 }
[define.data]
covered = { coverage = "full", checksum = "none" }
open = { coverage = "header", checksum = "none" }
drop = { coverage = "header", checksum = "drop" }
deliver = { coverage = "header", checksum = "deliver" }
[matrix]
data = ["covered", "open", "drop", "deliver"]
[[flow]]
id = "load"
from = "a"
to = "b"
kind = "cbr"
rate = "200kbit"
size = "1000B"
coverage = "${data.coverage}"
data_checksum = "${data.checksum}"
stop = "40s"
"#,
    );
    let of = |n: usize, key: &str| count(&cells[n], key);
    let keys = [
        "delivered_corrupt_packets",
        "reported_corrupt_packets",
        "dropped_by_receiver_packets",
    ];
    let counts = |n| keys.map(|key| of(n, key));
    // Of 1000 datagrams 8 % have an error in their data.
    let is_usual = |count: u64| (50..=110).contains(&count);
    assert_eq!(counts(0), [0, 0, 0]);
    assert!(is_usual(of(0, "lost_packets")), "{}", of(0, "lost_packets"));
    let [corrupt, ..] = counts(1);
    assert!(is_usual(corrupt) && counts(1)[1..] == [0, 0], "{corrupt}");
    let [delivered, reported, dropped] = counts(2);
    assert!(
        delivered == 0 && is_usual(reported) && reported == dropped,
        "{:?}",
        counts(2)
    );
    let [delivered, reported, dropped] = counts(3);
    assert!(
        is_usual(delivered) && reported.abs_diff(delivered) <= 1 && dropped == 0,
        "{:?}",
        counts(3)
    );
}

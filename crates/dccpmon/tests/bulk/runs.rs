//! Tests that run to their end.

use crate::support::{PROGRAM, Server, assert_exact, number, read};
use std::process::Command;

// goal 2: DCCP over UDP and over IP, with each CCID.
#[test]
fn both_congestion_controls_carry_data() {
    let server = Server::start("udp");
    for ccid in ["2", "3"] {
        let document = server.json(&["-t", "1", "-i", "0.5", "--ccid", ccid]);
        assert_eq!(document["status"], "complete");
        assert_eq!(document["negotiated"][0]["ccid"].to_string(), ccid);
        assert_exact(&document);
        let flow = &document["summary"]["flows"][0];
        assert!(number(&flow["ledger"]["delivered"]) > 100, "{flow:#}");
        assert!(number(&flow["rtt"]["network_ns"]["n"]) > 50, "{flow:#}");
        assert_eq!(document["intervals"].as_array().unwrap().len(), 2);
        let mib = &document["hosts"]["server"]["dccp"];
        assert_eq!(number(&mib["DCCPPassiveOpens"]), 1);
    }
}

// goal 6: echoes measure from program to program, and the parts are in the same result.
#[test]
fn stream_measures_from_program_to_program() {
    let server = Server::start("udp");
    for direction in [&[][..], &["-R"]] {
        let mut command = Command::new(PROGRAM);
        command.args(["stream", "127.0.0.1", "-p", &server.port]);
        command.args(["-t", "1", "-b", "2M", "-l", "1000", "-J"]);
        let document = read(&command.args(direction).output().unwrap());
        assert_eq!(document["kind"], "stream");
        assert_exact(&document);
        let rtt = &document["summary"]["flows"][0]["rtt"];
        assert_eq!(rtt["source"], "acknowledgements and echoes");
        let n = number(&rtt["user_ns"]["n"]);
        assert!((50..=201).contains(&n), "{rtt:#}");
        for part in ["send_queue_ns", "network_ns", "receiver_ns"] {
            assert!(number(&rtt[part]["n"]) > 20, "{part}: {rtt:#}");
        }
    }
}

// goal 31: samples of the window with their times.
#[test]
fn samples_follow_the_window() {
    let server = Server::start("udp");
    let document = server.json(&["-t", "1", "-P", "2", "--sample", "20ms"]);
    assert_exact(&document);
    let samples = document["samples"].as_array().unwrap();
    // 50 points of time with two flows each; a busy machine looks less often.
    assert!((20..=102).contains(&samples.len()), "{}", samples.len());
    let of_flow = |id: u64| {
        let own = samples.iter().filter(move |s| number(&s["flow"]) == id);
        own.collect::<Vec<_>>()
    };
    for flow in [of_flow(1), of_flow(2)] {
        let times: Vec<u64> = flow.iter().map(|s| number(&s["at_ns"])).collect();
        assert!(times.windows(2).all(|pair| pair[0] < pair[1]), "{times:?}");
        let last = flow.last().unwrap();
        assert!(last["cwnd_packets"].as_f64().unwrap() >= 1.0, "{last:#}");
        assert!(number(&last["rtt_ns"]) > 0, "{last:#}");
    }
    let without = server.json(&["-t", "0.2"]);
    assert!(without["samples"].is_null());
}

// goal 15: flows of unlike kinds run side by side.
#[test]
fn unlike_flows_run_side_by_side() {
    let server = Server::start("udp");
    let flows = ["--flow", "ccid=3,rate=1M", "--flow", "rate=2M,law=cubic"];
    let document = server.json(&[&["-t", "1", "-l", "1000"][..], &flows].concat());
    assert_eq!(document["status"], "complete");
    assert_exact(&document);
    for (index, (ccid, bps)) in [(3, 1_000_000), (2, 2_000_000)].into_iter().enumerate() {
        let requested = &document["requested"]["flows"][index];
        assert_eq!(number(&requested["rate_bps"]), bps);
        assert_eq!(number(&document["negotiated"][index]["ccid"]), ccid);
        let ledger = &document["summary"]["flows"][index]["ledger"];
        let offered = number(&ledger["offered"]) * 8000;
        assert!(
            (bps * 9 / 10..=bps * 11 / 10).contains(&offered),
            "{ledger:#}"
        );
    }
    assert_eq!(document["negotiated"][1]["cc"], "cubic");
    assert!(document["negotiated"][0]["cc"].is_null());
}

// goal 14: both ends send at the same time, each over connections of its own.
#[test]
fn both_directions_are_measured_at_once() {
    let server = Server::start("udp");
    for transport in ["dccp", "udp"] {
        let load = ["-t", "1", "-b", "2M", "-l", "1000"];
        let document = server.json(&[&load[..], &["--bidir", "--transport", transport]].concat());
        assert_eq!(document["status"], "complete");
        assert_eq!(document["requested"]["direction"], "both");
        let flows = document["summary"]["flows"].as_array().unwrap();
        assert_eq!(flows.len(), 2);
        for flow in flows {
            let ledger = &flow["ledger"];
            assert!((230..=275).contains(&number(&ledger["sent"])), "{flow:#}");
            assert_eq!(ledger["delivered"], ledger["sent"], "{flow:#}");
        }
        assert!(document["summary"]["asymmetry"].as_f64().unwrap().abs() < 0.1);
        for interval in document["intervals"].as_array().unwrap() {
            assert_eq!(interval["flows"].as_array().unwrap().len(), 2);
        }
    }
}

/// Its sender leaves 10 ms between packets, as RFC 4828 wants for a flow of small ones.
#[test]
fn ccid_4_carries_data() {
    let server = Server::start("udp");
    for direction in [&[][..], &["-R"]] {
        let document = server.json(&[&["-t", "1", "--ccid", "4"][..], direction].concat());
        assert_eq!(document["status"], "complete");
        assert_eq!(document["negotiated"][0]["ccid"].to_string(), "4");
        assert_exact(&document);
        let flow = &document["summary"]["flows"][0];
        let delivered = number(&flow["ledger"]["delivered"]);
        assert!((50..=110).contains(&delivered), "{flow:#}");
    }
}

#[test]
fn the_law_that_was_asked_for_governs_and_is_named() {
    let server = Server::start("udp");
    let law = "cubic:fast_convergence=no";
    let document = server.json(&["-t", "1", "--law", law]);
    assert_eq!(document["requested"]["flows"][0]["cc"], law);
    assert_eq!(document["negotiated"][0]["cc"], "cubic");
    assert_exact(&document);
    let document = server.json(&["-t", "1", "--ccid", "3"]);
    assert!(document["requested"]["flows"][0]["cc"].is_null());
    assert!(document["negotiated"][0]["cc"].is_null());
}

#[test]
fn a_rate_is_kept_and_named_as_the_limit() {
    let server = Server::start("udp");
    let document = server.json(&["-t", "1", "-b", "2M", "-l", "1000"]);
    assert_exact(&document);
    let flow = &document["summary"]["flows"][0];
    let sent = number(&flow["ledger"]["sent"]);
    // A busy machine ends the second late.
    assert!(
        (240..=275).contains(&sent),
        "{sent} packets in a second at 250 per second"
    );
    assert_eq!(flow["limited_by"]["verdict"], "application");
}

#[test]
fn the_server_sends_in_reverse() {
    let server = Server::start("udp");
    let document = server.json(&["-t", "1", "-b", "10M", "-R"]);
    assert_eq!(document["status"], "complete");
    assert_eq!(document["requested"]["direction"], "reverse");
    assert_exact(&document);
    let flow = &document["summary"]["flows"][0];
    assert!(number(&flow["ledger"]["delivered"]) > 500, "{flow:#}");
    let opens = &document["hosts"]["client"]["dccp"]["DCCPActiveOpens"];
    assert_eq!(number(opens), 1);
}

#[test]
fn flows_run_side_by_side() {
    let server = Server::start("udp");
    let document = server.json(&["-t", "1", "-b", "5M", "-P", "2"]);
    assert_exact(&document);
    let flows = document["summary"]["flows"].as_array().unwrap();
    assert_eq!(flows.len(), 2);
    // goal 27: equal flows have equal shares.
    let summary = &document["summary"];
    assert!(
        summary["fairness_jain"].as_f64().unwrap() > 0.9,
        "{summary:#}"
    );
    assert!(
        summary["asymmetry"].as_f64().unwrap().abs() < 0.5,
        "{summary:#}"
    );
    assert!(
        flows
            .iter()
            .all(|f| number(&f["ledger"]["delivered"]) > 200),
        "{flows:#?}"
    );
    for interval in document["intervals"].as_array().unwrap() {
        assert_eq!(interval["flows"].as_array().unwrap().len(), 2);
    }
}

#[test]
fn the_table_says_what_was_measured() {
    let server = Server::start("udp");
    let output = server.test(&["-t", "1", "-i", "0.5", "-b", "10M"]);
    assert_eq!(output.status.code(), Some(0));
    let text = String::from_utf8(output.stdout).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert!(
        lines[0].starts_with("plan  bulk, DCCP CCID 2 (cc=reno), 1 flow, 1 s, 1400 B packets"),
        "{text}"
    );
    assert!(lines[1].starts_with("      each, to "), "{text}");
    assert!(lines[2].starts_with("[ID] interval s"), "{text}");
    assert!(lines[3].starts_with("[ 1] 0-0.5 "), "{text}");
    assert!(lines[4].starts_with("[ 1] 0.5-1 "), "{text}");
    for begin in [
        " total        1.00 s",
        " where lost   network ",
        " RTT ",
        " CPU ",
        " limited by ",
    ] {
        assert!(
            lines.iter().any(|l| l.starts_with(begin)),
            "{begin} in {text}"
        );
    }
}

// goal 29: the processor time of each core at both ends.
// goal 30: counters of the interface, UDP, IP and DCCP at both ends.
#[cfg(target_os = "linux")]
#[test]
fn both_hosts_show_their_cores_and_counters() {
    let server = Server::start("udp");
    let document = server.json(&["-t", "1", "-b", "2M", "-l", "1000"]);
    let sent = number(&document["summary"]["flows"][0]["ledger"]["sent"]);
    for (end, opens) in [
        ("client", "DCCPActiveOpens"),
        ("server", "DCCPPassiveOpens"),
    ] {
        let host = &document["hosts"][end];
        assert!(number(&host["process_cpu_ns"]) > 0, "{host:#}");
        let cores = host["cores"].as_array().unwrap();
        assert!(!cores.is_empty());
        for core in cores {
            let ratio = |name: &str| core[name].as_f64().unwrap();
            assert!((0.0..=1.001).contains(&(ratio("user_ratio") + ratio("idle_ratio"))));
        }
        assert_eq!(host["interface"]["name"], "lo");
        for (layer, counter) in [
            ("interface", "rx_packets"),
            ("udp", "in_datagrams"),
            ("ip", "in_receives"),
        ] {
            assert!(number(&host[layer][counter]) >= sent, "{host:#}");
        }
        assert_eq!(number(&host["dccp"][opens]), 1);
    }
}

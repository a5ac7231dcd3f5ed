//! CCID 248: what its sender sees is in the result, and what it drops is counted at its own place.

use crate::network::Network;
use crate::support::{PROGRAM, Server, assert_exact, client, number, read};
use core::time::Duration;
use dccp::Rate;
use dccp_sim::LinkConfig;
use dccp_sim::queue::{Limit, QueueConfig};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::process::{Command, Output, Stdio};
use std::thread;

/// A link of 8 Mbit/s and 20 ms there and back together.
fn narrow() -> LinkConfig {
    LinkConfig {
        rate: Some(Rate::from_bytes_per_s(1e6)),
        delay: Duration::from_millis(10),
        queue: QueueConfig::drop_tail(Limit::Packets(30)),
        ..LinkConfig::default()
    }
}

/// A client of a server behind these links, there and back.
fn over(links: [LinkConfig; 2], arguments: &[&str]) -> Output {
    // The limit is above the rate of the tests, and its flows pass the conclusions on.
    let server = Server::start_with("udp", &["--rate-limit", "30M"]);
    let network = Network::between(&server, links, None);
    let output = client(&network.port, arguments).output().unwrap();
    network.end();
    output
}

/// The flows of a document. Each datagram is in one place.
fn flows(document: &Value) -> &[Value] {
    assert_exact(document);
    document["summary"]["flows"].as_array().unwrap()
}

/// The names of the conclusions of a flow.
fn conclusions(flow: &Value) -> Vec<&str> {
    let all = flow["safe_udp"]["conclusions"].as_array().unwrap();
    all.iter()
        .map(|one| one["code"].as_str().unwrap())
        .collect()
}

#[test]
fn clean_path_is_clear_in_all_directions() {
    let server = Server::start("udp");
    for direction in [
        &[][..],
        &["-R"],
        &["--bidir"],
        &["--bidir", "--one-connection"],
    ] {
        let words = ["-t", "1", "-b", "4M", "--ccid", "safeudp"];
        let document = server.json(&[&words, direction].concat());
        assert_eq!(document["status"], "complete", "{document:#}");
        assert_eq!(document["requested"]["flows"][0]["ccid"], 248);
        let flows = flows(&document);
        assert_eq!(
            flows.len(),
            if direction.contains(&"--bidir") { 2 } else { 1 }
        );
        for flow in flows {
            let of = &flow["safe_udp"];
            assert!(
                of["time_ns"]["clear"].as_u64() > Some(500_000_000),
                "{flow:#}"
            );
            assert_eq!(of["missing"]["network_packets"], 0, "{flow:#}");
            assert_eq!(of["dropped_packets"], 0, "{flow:#}");
            assert_eq!(flow["ledger"]["dropped_ccid"], 0, "{flow:#}");
        }
        for agreed in document["negotiated"].as_array().unwrap() {
            assert_eq!(agreed["ccid"], 248);
        }
        let intervals = document["intervals"].as_array().unwrap();
        let last = intervals.last().unwrap()["flows"].as_array().unwrap();
        assert!(
            last.iter().all(|flow| flow["safe_udp"]["state"] == "clear"),
            "{last:#?}"
        );
    }
}

#[test]
fn flows_without_ccid_248_have_none_of_its_figures() {
    let server = Server::start("udp");
    let document = server.json(&[
        "-t",
        "1",
        "--flow",
        "ccid=248,rate=2M",
        "--flow",
        "ccid=3,rate=2M",
    ]);
    let flows = flows(&document);
    assert!(flows[0]["safe_udp"].is_object(), "{:#}", flows[0]);
    assert!(flows[1]["safe_udp"].is_null(), "{:#}", flows[1]);
    let interval = &document["intervals"][0]["flows"];
    assert!(interval[0]["safe_udp"].is_object() && interval[1]["safe_udp"].is_null());
}

// The server's sender reports the same as the client's.
#[test]
fn narrow_link_shows_advice_enforcement_and_drops_of_the_ccid() {
    for direction in [&[][..], &["-R"]] {
        let words = ["-t", "4", "-b", "16M", "--ccid", "248", "-J"];
        let output = over([narrow(), narrow()], &[&words, direction].concat());
        let document = read(&output);
        assert_eq!(document["status"], "complete", "{document:#}");
        let flow = &flows(&document)[0];
        let of = &flow["safe_udp"];
        for state in ["advisory", "enforce"] {
            assert!(of["time_ns"][state].as_u64() > Some(100_000_000), "{of:#}");
        }
        let all = conclusions(flow);
        assert!(
            all.contains(&"congestion") && all.contains(&"limited"),
            "{all:?}"
        );
        let advised = of["advised_min_bps"].as_f64().unwrap();
        assert!((1e6..9e6).contains(&advised), "{of:#}");
        let ledger = &flow["ledger"];
        let dropped = number(&ledger["dropped_ccid"]);
        assert!(dropped > 500, "{flow:#}");
        assert_eq!(of["dropped_packets"], dropped);
        let sum = |of: fn(&Value) -> &Value| -> u64 {
            let intervals = document["intervals"].as_array().unwrap();
            intervals
                .iter()
                .map(|one| number(of(&one["flows"][0])))
                .sum()
        };
        let in_intervals = sum(|flow| &flow["safe_udp"]["dropped_packets"]);
        assert!(
            in_intervals > dropped / 2 && in_intervals <= dropped,
            "{document:#}"
        );
        // The numbers of dropped datagrams are missing at the receiver, but not as losses.
        let lost = sum(|flow| &flow["lost_packets"]);
        assert!(
            lost <= number(&ledger["lost_network"]) + number(&ledger["unknown"]),
            "{flow:#}"
        );
        assert!(flow["loss_pattern"].is_null());
        let missing = &of["missing"];
        assert!(number(&missing["network_packets"]) > 50, "{missing:#}");
        assert_eq!(missing["sending_host_packets"], 0, "{missing:#}");
        assert_eq!(missing["receiving_host_packets"], 0, "{missing:#}");
        let limit = &flow["limited_by"];
        assert_eq!(limit["verdict"], "congestion_control", "{limit:#}");
    }
}

#[test]
fn obedient_sender_slows_down_and_returns_in_steps() {
    for direction in [&[][..], &["-R"]] {
        let words = ["-t", "7", "-b", "16M", "--ccid", "248", "--obey", "-J"];
        let document = read(&over([narrow(), narrow()], &[&words, direction].concat()));
        let flow = &flows(&document)[0];
        let of = &flow["safe_udp"];
        let obeyed = of["obeyed_min_bps"].as_f64().unwrap();
        assert!((1e6..9e6).contains(&obeyed), "{of:#}");
        // The start-up may drop some.
        assert!(number(&flow["ledger"]["dropped_ccid"]) < 100, "{flow:#}");
        let all = conclusions(flow);
        assert!(
            all.contains(&"complied") && !all.contains(&"limited"),
            "{all:?}"
        );
        // It returns in steps.
        let sent: Vec<u64> = (document["intervals"].as_array().unwrap().iter())
            .map(|one| number(&one["flows"][0]["sent_packets"]))
            .collect();
        let before_last = sent[..sent.len() - 1].iter().enumerate();
        let (at, least) = before_last.min_by_key(|(_, n)| **n).unwrap();
        let mut later = sent[at..].iter();
        assert!(later.any(|n| n * 10 > least * 12), "{sent:?}");
    }
}

#[test]
fn table_names_advice_drops_and_places() {
    let words = ["-t", "3", "-b", "16M", "--ccid", "248"];
    let output = over([narrow(), narrow()], &words);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    for part in [
        "adv/cap  drops net/host state\n",
        " ENFORCE\n",
        "\n SafeUDP      ",
        " s congestion: at most ",
        "congestion control ",
    ] {
        assert!(text.contains(part), "no {part}: {text}");
    }
    assert!(
        text.lines().all(|line| line.chars().count() <= 80),
        "{text}"
    );
}

/// A test of 12 s whose peer process stops from 3 s to 8 s. It sends so slowly that the Sequence Window does not end
/// sending before the circuit breaker does.
fn silenced(server: &Server, direction: &[&str]) -> Output {
    let words = [
        "-t", "12", "-b", "0.3M", "--ccid", "248", "--idle", "0", "-J",
    ];
    let mut test = client(&server.port, &[&words, direction].concat());
    let child = test.stdout(Stdio::piped()).spawn().unwrap();
    let peer = if direction.is_empty() {
        &server.child
    } else {
        &child
    };
    let peer = Pid::from_child(peer);
    thread::sleep(Duration::from_secs(3));
    kill_process(peer, Signal::STOP).unwrap();
    thread::sleep(Duration::from_secs(5));
    kill_process(peer, Signal::CONT).unwrap();
    child.wait_with_output().unwrap()
}

// A peer that is silent opens the breaker for good. The server's breaker does the same as the client's.
#[test]
fn circuit_breaker_ends_the_test_and_names_its_cause() {
    for direction in [&[][..], &["-R"]] {
        let server = Server::start("udp");
        let output = silenced(&server, direction);
        let document = read(&output);
        let error = &document["error"];
        assert_eq!(output.status.code(), Some(5), "{error:#}");
        assert_eq!(document["status"], "incomplete");
        let flow = &flows(&document)[0];
        let of = &flow["safe_udp"];
        let trips = of["trips"].as_array().unwrap();
        assert_eq!(trips.len(), 1, "{of:#}");
        assert_eq!(trips[0]["cause"], "feedback", "{of:#}");
        assert_eq!(of["ended"]["cause"], "feedback");
        assert!(number(&of["ended"]["hold_ns"]) >= 1_000_000_000, "{of:#}");
        let what = error["what"].as_str().unwrap();
        let wanted = "the circuit breaker of CCID 248 ended the connection (feedback): no new one";
        assert!(what.starts_with(wanted), "{what}");
        assert_eq!(flow["broken"], what);
        assert!(
            error["next"].as_str().unwrap().contains("--obey"),
            "{error:#}"
        );
        assert!(conclusions(flow).contains(&"refused"), "{of:#}");
        // The results so far are kept.
        assert!(number(&flow["ledger"]["delivered"]) > 30, "{flow:#}");
        assert!(document["intervals"].as_array().unwrap().len() > 1);
        // The endpoint of the server goes on, and remembers the hold. That of the client ended with its process.
        if !direction.is_empty() {
            let next = server.test(&["-t", "1", "-b", "0.3M", "--ccid", "248", "-R"]);
            assert_eq!(next.status.code(), Some(1));
            let text = String::from_utf8(next.stderr).unwrap();
            assert!(
                text.contains("does not take CCID 248 now: a circuit breaker holds it back"),
                "{text}"
            );
            assert_eq!(
                server.test(&["-t", "1", "-b", "0.3M"]).status.code(),
                Some(0)
            );
        }
    }
}

#[test]
fn modes_without_a_rate_refuse_ccid_248() {
    let run = |words: &[&str]| {
        let output = Command::new(PROGRAM)
            .args(words)
            .args(["--ccid", "248"])
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(2), "{words:?}");
        String::from_utf8(output.stderr).unwrap()
    };
    for (mode, why) in [
        (
            "rr",
            "requests wait for responses and have no rate of their own",
        ),
        (
            "media",
            "it delays no packet, so none waits in the ring to be chosen",
        ),
        (
            "sweep",
            "each point is a new connection, which its start-up would limit",
        ),
    ] {
        let text = run(&[mode, "127.0.0.1"]);
        let wanted = format!(
            "error: --ccid 248: {why}\n next: choose 2, 3 or 4, or run `dccpmon HOST --ccid 248 -b RATE`"
        );
        assert!(text.contains(&wanted), "{text}");
    }
    let text = run(&["send", "127.0.0.1"]);
    assert!(
        text.contains("error: --ccid 248: it needs data with a rate of their own\n"),
        "{text}"
    );
}

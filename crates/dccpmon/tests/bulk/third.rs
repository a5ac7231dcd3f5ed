//! Third-party tests: a client has the server A measure to the server B.

use crate::support::{PROGRAM, Server, assert_exact, number, read, scrape};
use crate::terms::KeyFile;
use core::time::Duration;
use dccp::clock;
use dccp_dev::openmetrics::value;
use serde_json::Value;
use std::net::SocketAddr;
use std::process::{Child, Command, Output, Stdio};
use std::thread;

/// The two servers. A may measure to this host.
struct Servers {
    a: Server,
    b: Server,
    /// The metrics of both.
    metrics: [SocketAddr; 2],
}

impl Servers {
    fn start() -> Self {
        Self::start_with(&["--third-party", "127.0.0.1"])
    }

    /// With these words for A.
    fn start_with(more: &[&str]) -> Self {
        let metrics = ["--metrics", "127.0.0.1:0"];
        let mut a = Server::start_with("udp", &[more, &metrics].concat());
        let mut b = Server::start_with("udp", &metrics);
        let metrics = [a.metrics(), b.metrics()];
        Self { a, b, metrics }
    }

    /// A client that has A measure to B.
    fn client(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(PROGRAM);
        command.args(["--from", &format!("127.0.0.1:{}", self.a.port)]);
        command
            .args(["--to", "127.0.0.1", "-p", &self.b.port])
            .args(arguments);
        command
    }

    fn run(&self, arguments: &[&str]) -> Output {
        self.client(arguments).output().unwrap()
    }

    fn spawn(&self, arguments: &[&str]) -> Child {
        let mut client = self.client(arguments);
        client.stdout(Stdio::piped()).stderr(Stdio::piped());
        client.spawn().unwrap()
    }

    /// Waits until the servers run this many tests each.
    fn wait_for(&self, tests: [u64; 2]) {
        let tests = tests.map(|count| count.to_string());
        let until = clock::now() + Duration::from_secs(40);
        loop {
            let running = |at| whole(value(&scrape(at), "dccpmon_server_tests_running", &[]));
            let running = self.metrics.map(running);
            if running == tests {
                return;
            }
            assert!(clock::now() < until, "{running:?} tests run");
            thread::sleep(Duration::from_millis(100));
        }
    }

    /// Payload that the servers have sent and received.
    fn bytes(&self, direction: &str) -> [String; 2] {
        let labels = [("direction", direction)];
        let bytes = |at| whole(value(&scrape(at), "dccpmon_server_bytes_total", &labels));
        self.metrics.map(bytes)
    }
}

/// A count, as text.
fn whole(value: Option<f64>) -> String {
    value.unwrap().to_string()
}

fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap()
}

#[track_caller]
fn assert_lines(output: &Output, code: i32, what: &str, next: &str) {
    assert_eq!(
        text(output.stderr.clone()),
        format!("error: {what}\n next: {next}\n")
    );
    assert_eq!(output.status.code(), Some(code));
}

// goal 16: A measures to B, and the client has the result of both.
#[test]
fn one_server_measures_to_another() {
    let servers = Servers::start();
    let output = servers.run(&["-t", "1", "-i", "0.5", "-b", "2M", "-l", "1000", "-J"]);
    let document = read(&output);
    assert_eq!(output.status.code(), Some(0), "{document:#}");
    assert_eq!(text(output.stderr), "");
    assert_eq!(document["status"], "complete");
    let requested = &document["requested"];
    let from = format!("127.0.0.1:{}", servers.a.port);
    assert_eq!(requested["from"], *from);
    assert_eq!(requested["host"], "127.0.0.1");
    assert_eq!(requested["udp_port"].to_string(), servers.b.port);
    assert_eq!(document["record"]["argv"][1], "--from");
    assert_exact(&document);
    let flow = &document["summary"]["flows"][0];
    let sent = number(&flow["ledger"]["sent"]);
    assert!((230..=275).contains(&sent), "{flow:#}");
    assert_eq!(document["intervals"].as_array().unwrap().len(), 2);
    for end in ["client", "server"] {
        assert!(number(&document["hosts"][end]["process_cpu_ns"]) > 0);
        assert!(!document["ends"][end].is_null());
    }
    // The data went from A to B, and the client had none.
    let delivered = number(&flow["received_bytes"]);
    assert_eq!(
        servers.bytes("received"),
        ["0".into(), delivered.to_string()]
    );
    assert_eq!(
        servers.bytes("sent"),
        [(sent * 1000).to_string(), "0".into()]
    );
    servers.wait_for([0, 0]);
}

// goal 16: the options of a test pass on.
#[test]
fn each_transport_and_direction_passes_on() {
    let servers = Servers::start();
    for (arguments, transport, direction) in [
        (&["-R", "--ccid", "3"][..], "dccp", "reverse"),
        (&["-u", "-b", "2M", "-P", "2"], "udp", "forward"),
        (&["--bidir", "--law", "cubic"], "dccp", "both"),
        (&["--tcp"], "tcp", "forward"),
        (
            &["--flow", "ccid=3,rate=1M", "--flow", "rate=2M,law=cubic"],
            "dccp",
            "forward",
        ),
    ] {
        let output = servers.run(&[&["-t", "0.5", "-J"], arguments].concat());
        let document = read(&output);
        assert_eq!(output.status.code(), Some(0), "{document:#}");
        let requested = &document["requested"];
        assert_eq!(requested["transport"], transport);
        assert_eq!(requested["direction"], direction);
        let flows = document["summary"]["flows"].as_array().unwrap();
        assert_eq!(flows.len(), requested["flows"].as_array().unwrap().len());
        for flow in flows {
            assert!(number(&flow["received_bytes"]) > 0, "{flow:#}");
        }
        let agreed = &document["negotiated"];
        for (flow, asked) in requested["flows"].as_array().unwrap().iter().enumerate() {
            assert_eq!(agreed[flow]["ccid"], asked["ccid"], "{document:#}");
        }
    }
}

// goal 16: the table, the saved document and the assertions are those of any test.
#[test]
fn result_has_all_forms() {
    let servers = Servers::start();
    let file = std::env::temp_dir().join(format!("dccpmon-third-{}.json", std::process::id()));
    let save = file.to_str().unwrap();
    let load = ["-t", "1", "-b", "2M", "-l", "1000"];
    let output = servers.run(&[&load[..], &["--save", save, "--assert", "goodput>1G"]].concat());
    let saved: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    std::fs::remove_file(&file).unwrap();
    assert_eq!(output.status.code(), Some(3));
    assert_eq!(saved["exit_code"], 3);
    assert_exact(&saved);
    let table = text(output.stdout);
    let words = table.split_whitespace().collect::<Vec<_>>().join(" ");
    let plan = format!("with 127.0.0.1:{} as the client", servers.a.port);
    assert!(words.contains(&plan), "{table}");
    for begin in ["[ 1] 0-1 ", " total ", " where lost ", " limited by "] {
        assert!(
            table.lines().any(|line| line.starts_with(begin)),
            "{begin}: {table}"
        );
    }
    let stream = servers.run(&["-t", "0.3", "-b", "1M", "--json-stream"]);
    let lines = text(stream.stdout);
    let events = lines.lines().map(|line| {
        let line: Value = serde_json::from_str(line).unwrap();
        line["event"].as_str().unwrap().to_owned()
    });
    assert_eq!(events.collect::<Vec<_>>(), ["start", "interval", "summary"]);
}

// goal 16: a server runs such tests only if its operator permits them.
// goal 56: it sends nothing to hosts that the operator does not permit.
#[test]
fn hosts_that_are_not_permitted_are_refused() {
    let next = "start it with `dccpmon serve --third-party`, or run dccpmon on that host";
    let off = Servers::start_with(&[]);
    assert_lines(
        &off.run(&[]),
        4,
        "the server runs no third-party tests",
        next,
    );
    let document = read(&off.run(&["-J"]));
    assert_eq!(document["status"], "refused");
    let next = "check the name, or permit it there: `dccpmon serve --third-party 127.0.0.1`";
    let public = Servers::start_with(&["--third-party"]);
    let what = "the server measures to public addresses only, and 127.0.0.1 has none";
    assert_lines(&public.run(&[]), 4, what, next);
    let listed = Servers::start_with(&["--third-party", "192.0.2.0/24,b.example"]);
    let what = "the server measures to the hosts of its list only, and 127.0.0.1 is none of them";
    assert_lines(&listed.run(&[]), 4, what, next);
    // Such a test has not reached the other server.
    assert_eq!(listed.bytes("received"), ["0", "0"]);
    listed.wait_for([0, 0]);
}

// goal 16: the limits of A hold for its tests to others.
#[test]
fn limits_of_the_measuring_server_hold() {
    let limits = [
        "--third-party",
        "127.0.0.1",
        "--time-limit",
        "1s",
        "--rate-limit",
        "2M",
    ];
    let servers = Servers::start_with(&limits);
    let output = servers.run(&["-t", "5", "-P", "2", "-J"]);
    assert_eq!(output.status.code(), Some(0));
    let document = read(&output);
    let from = format!("127.0.0.1:{}", servers.a.port);
    assert_eq!(
        text(output.stderr),
        format!(
            "note: {from}: server allows 1 s (asked 5 s)\n\
             note: {from}: server allows 1.00 Mbit/s per flow (asked no limit)\n"
        )
    );
    assert_eq!(document["granted"]["lowered"].as_array().unwrap().len(), 2);
    assert!(number(&document["summary"]["duration_ns"]) < 2_000_000_000);
    let goodput = document["summary"]["goodput_bps"].as_f64().unwrap();
    assert!(goodput < 2_200_000.0, "{goodput}");
    let what = format!("{from}: server allows 1 s (asked 5 s)");
    let next = "ask for less, or leave --strict out";
    assert_lines(&servers.run(&["-t", "5", "--strict"]), 4, &what, next);
    let burst = servers.run(&["--flow", "shape=burst:100000/1h"]);
    let what = "the server allows each flow 2.00 Mbit/s, and bursts of 100ms at that rate";
    let next = "ask for smaller bursts, or for a constant rate with -b";
    assert_lines(&burst, 4, what, next);
}

// goal 56: a server with a key measures for clients with the key only, and to servers with the key only.
#[test]
fn key_is_that_of_both_servers() {
    let key = KeyFile::new("third", "0123456789abcdef");
    let key = ["--key-file", key.as_argument()];
    let permit = ["--third-party", "127.0.0.1"];
    let both = Servers {
        b: Server::start_with("udp", &key),
        ..Servers::start_with(&[permit, key].concat())
    };
    let load = ["-t", "0.3", "-b", "1M"];
    let output = both.run(&[&load[..], &key].concat());
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let what = "the server wants a key";
    let next = "pass --key-file FILE with the server's key";
    assert_lines(&both.run(&load), 4, what, next);
    let one = Servers::start_with(&[permit, key].concat());
    let what = format!(
        "127.0.0.1:{}: the server asks for no key, so it does not show that it has yours",
        one.a.port
    );
    let next = "start both servers with the same --key-file, or both without";
    assert_lines(&one.run(&[&load[..], &key].concat()), 1, &what, next);
}

// goal 16: an error of A has its name.
#[test]
fn missing_server_is_named_by_the_one_that_misses_it() {
    let mut servers = Servers::start();
    servers.b.child.kill().unwrap();
    servers.b.child.wait().unwrap();
    let output = servers.run(&["-t", "1"]);
    let port = &servers.b.port;
    let what = format!(
        "127.0.0.1:{}: nothing listens at 127.0.0.1 port {port} (ICMP type 3 code 3)",
        servers.a.port
    );
    let next = "start `dccpmon serve` there, or check the port";
    assert_lines(&output, 1, &what, next);
}

// goal 16: Ctrl-C gets the result of both servers.
// goal 52: it does so in third-party tests too.
#[cfg(unix)]
#[test]
fn ctrl_c_ends_a_third_party_test_in_order() {
    use rustix::process::{Pid, Signal, kill_process};
    let servers = Servers::start();
    let client = servers.spawn(&["-t", "60", "-b", "5M", "-J"]);
    servers.wait_for([1, 1]);
    thread::sleep(Duration::from_millis(2500));
    kill_process(Pid::from_child(&client), Signal::INT).unwrap();
    let output = client.wait_with_output().unwrap();
    let document = read(&output);
    assert_eq!(output.status.code(), Some(130), "{document:#}");
    assert_eq!(document["status"], "interrupted");
    assert!(!document["hosts"]["server"].is_null());
    assert_exact(&document);
    assert!(!document["intervals"].as_array().unwrap().is_empty());
    servers.wait_for([0, 0]);
}

// goal 16: a client that vanishes frees A and B.
// goal 57: the place at each server is free again.
#[test]
fn vanished_client_frees_both_servers() {
    let servers = Servers::start();
    let mut client = servers.spawn(&["-t", "60", "-b", "1M"]);
    servers.wait_for([1, 1]);
    client.kill().unwrap();
    client.wait().unwrap();
    servers.wait_for([0, 0]);
    let output = servers.run(&["-t", "0.3", "-b", "1M"]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
}

// goal 57: what A had reported stays, and B is free again.
#[test]
fn vanished_measuring_server_leaves_its_intervals() {
    let mut servers = Servers::start();
    let client = servers.spawn(&["-t", "60", "-b", "1M", "-i", "0.5", "-J"]);
    servers.wait_for([1, 1]);
    thread::sleep(Duration::from_millis(2500));
    servers.a.child.kill().unwrap();
    servers.a.child.wait().unwrap();
    let output = client.wait_with_output().unwrap();
    let document = read(&output);
    assert_eq!(output.status.code(), Some(5), "{document:#}");
    assert_eq!(document["status"], "incomplete");
    assert!(!document["intervals"].as_array().unwrap().is_empty());
    // The process of the test has lost its server, and ends.
    let until = clock::now() + Duration::from_secs(40);
    let name = "dccpmon_server_tests_running";
    let running = || value(&scrape(servers.metrics[1]), name, &[]);
    while running() != Some(0.0) {
        assert!(clock::now() < until);
        thread::sleep(Duration::from_millis(100));
    }
}

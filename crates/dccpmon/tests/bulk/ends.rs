//! Mistakes, refusals and other ways to end: the two lines and the exit code.

use crate::support::{
    PROGRAM, Server, assert_exact, client, document_after_kill, free_port, number, read,
};
use core::time::Duration;
use std::io::Read as _;
use std::net::UdpSocket;
use std::process::{Child, Command, Output, Stdio};

#[test]
fn wrong_command_line_yields_two_lines_and_code_2() {
    let output = Command::new(PROGRAM)
        .args(["h", "-t", "5x"])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2));
    let text = "error: --time 5x: 'x' is not a unit of time\n next: write 5s, 5m or 5 (seconds)\n";
    assert_eq!(String::from_utf8(output.stderr).unwrap(), text);
    assert!(output.stdout.is_empty());
}

#[test]
fn closed_port_yields_two_lines_and_code_1() {
    let port = free_port();
    let output = client(&port, &[]).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let text = String::from_utf8(output.stderr).unwrap();
    assert_eq!(
        text,
        format!(
            "error: nothing listens at 127.0.0.1 port {port} (ICMP type 3 code 3)\n \
             next: start `dccpmon serve` there, or check the port\n"
        )
    );
}

#[test]
fn unknown_host_is_reported_as_json_too() {
    let output = Command::new(PROGRAM)
        .args(["nobody.invalid", "-J"])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    let document = read(&output);
    let what = document["error"]["what"].as_str().unwrap();
    let begin = "the name nobody.invalid cannot be looked up: ";
    assert!(what.starts_with(begin), "{what}");
    // The system's own words follow.
    let next = "check the spelling, or write the address itself";
    let lines = format!("error: {what}\n next: {next}\n");
    assert_eq!(String::from_utf8(output.stderr).unwrap(), lines);
}

#[test]
fn silent_host_yields_two_lines_and_code_1() {
    // The socket receives the packets and never answers.
    let silent = UdpSocket::bind("127.0.0.1:0").unwrap();
    let port = silent.local_addr().unwrap().port().to_string();
    let output = client(&port, &["-J"]).output().unwrap();
    let document = read(&output);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(
        (&document["status"], &document["exit_code"]),
        (&"failed".into(), &1.into())
    );
    let text = String::from_utf8(output.stderr).unwrap();
    let begin =
        format!("error: nothing answers at 127.0.0.1 port {port} (3 DCCP-Request packets in 5.");
    assert!(text.starts_with(&begin), "{text}");
    let end = format!(
        "\n next: is `dccpmon serve` running there? `dccpmon ping 127.0.0.1 -p {port}` tells whether the port is filtered or closed\n"
    );
    assert!(text.ends_with(&end), "{text}");
}

#[test]
fn too_many_tests_are_refused_with_code_4() {
    let server = Server::start_with("udp", &["--tests", "4"]);
    // The fourth place is for another address.
    let running: Vec<Child> = (0..3)
        .map(|_| {
            client(&server.port, &["-t", "4", "-b", "100K"])
                .stdout(Stdio::null())
                .spawn()
                .unwrap()
        })
        .collect();
    std::thread::sleep(Duration::from_millis(1500));
    let output = server.test(&["-t", "1"]);
    for mut child in running {
        assert_eq!(child.wait().unwrap().code(), Some(0));
    }
    assert_eq!(output.status.code(), Some(4));
    let text = String::from_utf8(output.stderr).unwrap();
    assert_eq!(
        text,
        "error: the server is busy: its last free place is kept for other addresses, and yours runs a test\n \
         next: wait until your other test has ended, and try again\n"
    );
}

#[test]
fn a_one_off_server_ends_after_its_test() {
    let mut server = Server::start_with("udp", &["-1"]);
    assert_eq!(
        server
            .test(&["-t", "0.5", "-i", "0.5", "-b", "1M"])
            .status
            .code(),
        Some(0)
    );
    assert_eq!(server.child.wait().unwrap().code(), Some(0));
}

// goal 36: the document of an interrupted test is valid and whole.
// goal 52: it has the summary of both ends.
#[cfg(unix)]
#[test]
fn ctrl_c_prints_the_whole_summary() {
    let server = Server::start("udp");
    let mut child = client(&server.port, &["-t", "60", "-b", "5M", "-J"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    std::thread::sleep(Duration::from_millis(1500));
    interrupt(&child);
    let mut stdout = Vec::new();
    child
        .stdout
        .take()
        .unwrap()
        .read_to_end(&mut stdout)
        .unwrap();
    let status = child.wait().unwrap();
    let stderr = Vec::new();
    let document = read(&Output {
        status,
        stdout,
        stderr,
    });
    assert_eq!(status.code(), Some(130));
    assert_eq!(document["status"], "interrupted");
    assert!(!document["hosts"]["server"].is_null());
    assert_exact(&document);
}

/// The part of an interval before Ctrl-C has both halves, or the sender's.
#[cfg(unix)]
#[test]
fn interrupted_interval_has_the_senders_half() {
    let server = Server::start("udp");
    let child = client(&server.port, &["-t", "60", "-i", "2", "-b", "5M", "-J"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    std::thread::sleep(Duration::from_millis(1500));
    interrupt(&child);
    let document = read(&child.wait_with_output().unwrap());
    let intervals = document["intervals"].as_array().unwrap();
    assert!(!intervals.is_empty(), "{document:#}");
    for interval in intervals {
        let sent = number(&interval["flows"][0]["sent_packets"]);
        assert!(sent > 100, "{interval:#}");
    }
}

#[cfg(unix)]
#[test]
fn ctrl_c_ends_an_attempt_to_connect() {
    // The socket receives the packets and never answers.
    let silent = UdpSocket::bind("127.0.0.1:0").unwrap();
    let port = silent.local_addr().unwrap().port().to_string();
    let child = client(&port, &["-J"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    std::thread::sleep(Duration::from_millis(500));
    interrupt(&child);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130));
    let document = read(&output);
    assert_eq!(
        (&document["status"], &document["exit_code"]),
        (&"interrupted".into(), &130.into())
    );
    assert_eq!(
        String::from_utf8(output.stderr).unwrap(),
        "error: interrupted before the test began\n next: start it again\n"
    );
}

// goal 57: the client keeps its half of the result.
#[test]
fn a_server_that_vanishes_leaves_half_a_result_and_code_5() {
    let document = document_after_kill(&["-b", "5M"]);
    assert_eq!(document["status"], "incomplete");
    assert_exact(&document);
    let flow = &document["summary"]["flows"][0];
    assert!(number(&flow["ledger"]["delivered"]) > 100, "{flow:#}");
}

// The kernel's acknowledgements tell what a server over TCP got, although it did not report.
#[test]
fn vanished_server_over_tcp_leaves_what_it_acknowledged() {
    let document = document_after_kill(&["-b", "5M", "--tcp"]);
    let flow = &document["summary"]["flows"][0];
    assert!(number(&flow["received_bytes"]) > 100_000, "{flow:#}");
    assert!(
        flow["goodput_bps"].as_f64().unwrap() > 100_000.0,
        "{flow:#}"
    );
}

// Over UDP nothing says what arrived: that is unknown, not zero.
#[test]
fn vanished_server_over_udp_leaves_the_goodput_unknown() {
    let document = document_after_kill(&["-b", "5M", "--udp"]);
    let summary = &document["summary"];
    let flow = &summary["flows"][0];
    assert!(number(&flow["ledger"]["sent"]) > 100, "{flow:#}");
    for unknown in [
        &summary["goodput_bps"],
        &flow["goodput_bps"],
        &flow["received_bytes"],
    ] {
        assert!(unknown.is_null(), "{document:#}");
    }
}

#[cfg(unix)]
#[test]
fn a_server_that_is_stopped_ends_its_tests_with_totals() {
    for more in [&[][..], &["-R"]] {
        let mut server = Server::start("udp");
        let arguments = [&["-t", "30", "-b", "5M", "-J"], more].concat();
        let child = client(&server.port, &arguments)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        std::thread::sleep(Duration::from_millis(1500));
        interrupt(&server.child);
        assert_eq!(server.child.wait().unwrap().code(), Some(130));
        let output = child.wait_with_output().unwrap();
        let document = read(&output);
        assert_eq!(output.status.code(), Some(5));
        assert_eq!(document["status"], "incomplete");
        assert!(!document["hosts"]["server"].is_null());
        assert_exact(&document);
        let flow = &document["summary"]["flows"][0];
        let delivered = number(&flow["ledger"]["delivered"]);
        assert!(delivered > 100, "{flow:#}");
        assert_eq!(number(&flow["received_bytes"]), delivered * 1400);
        // The figures count over the time that was measured.
        let seconds = number(&document["summary"]["duration_ns"]) / 1_000_000_000;
        assert!(seconds < 10, "{document:#}");
    }
}

#[cfg(unix)]
fn interrupt(child: &Child) {
    use rustix::process::{Pid, Signal, kill_process};
    kill_process(Pid::from_child(child), Signal::INT).unwrap();
}

//! Sweeps over packet sizes and spacings.

use crate::link::over_link;
use crate::support::{PROGRAM, Server, free_port, number, read};
use core::time::Duration;
use dccp::Rate;
use dccp_sim::LinkConfig;
use dccp_sim::queue::{Limit, QueueConfig};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

fn sweep(port: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new(PROGRAM);
    command
        .args(["sweep", "127.0.0.1", "-p", port])
        .args(arguments);
    command
}

fn empty_file(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_file(&path);
    path
}

fn lines(path: &Path) -> Vec<String> {
    let text = fs::read_to_string(path).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

// goal 4: a sweep that was killed goes on with the points that are missing.
#[test]
fn sweep_resumes_where_it_was_killed() {
    let server = Server::start("udp");
    let out = empty_file("sweep.ndjson");
    let arguments = [
        "--size",
        "100..400/100",
        "--spacing",
        "1ms",
        "--count",
        "40",
        "--out",
        out.to_str().unwrap(),
    ];
    let mut killed = sweep(&server.port, &arguments)
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    while lines(&out).len() < 2 {
        assert!(killed.try_wait().unwrap().is_none(), "it ends too early");
        std::thread::sleep(Duration::from_millis(5));
    }
    killed.kill().unwrap();
    killed.wait().unwrap();
    let kept = lines(&out);
    // The rest of a line that was being written.
    fs::write(&out, kept.join("\n") + "\n{\"requested\":").unwrap();

    let output = sweep(
        &server.port,
        &[&arguments[..], &["--resume", "-J"]].concat(),
    )
    .output();
    let document = read(&output.unwrap());
    assert_eq!(document["kind"], "sweep");
    assert_eq!(document["status"], "complete");
    let points = document["points"].as_array().unwrap();
    let sizes: Vec<u64> = points.iter().map(|p| number(&p["packet_bytes"])).collect();
    assert_eq!(sizes, [100, 200, 300, 400]);
    for point in points {
        assert_eq!(number(&point["sent_packets"]), 40, "{point:#}");
        assert_eq!(number(&point["delivered_packets"]), 40, "{point:#}");
        assert_eq!(number(&point["asked_gap_ns"]), 1_000_000);
        let gap_ns = point["gap_ns"].as_f64().unwrap();
        assert!(gap_ns >= 990_000.0, "{point:#}");
    }
    let all = lines(&out);
    assert_eq!(all.len(), 4);
    assert_eq!(all[..kept.len()], kept, "known points are not played again");
}

// goal 4: the search finds the rate of the link.
#[test]
fn knee_is_the_rate_of_the_link() {
    let link = LinkConfig {
        rate: Some(Rate::from_bytes_per_s(2_500_000.0)),
        delay: Duration::from_millis(1),
        queue: QueueConfig::drop_tail(Limit::Packets(50)),
        ..LinkConfig::default()
    };
    let arguments = ["--knee", "--size", "1000", "--count", "400", "-J"];
    let output = over_link(&link, |port| sweep(port, &arguments).output().unwrap());
    let document = read(&output);
    let rate = document["knees"][0]["user_bps"].as_f64();
    let rate = rate.unwrap_or_else(|| panic!("{document:#}"));
    // The link's 20 Mbit/s are 18.9 Mbit/s of data. The queue hides an excess of 50 in 400 packets; on a busy machine late
    // packets look like a full link.
    assert!((13e6..22e6).contains(&rate), "{rate}, {document:#}");
}

#[test]
fn table_of_a_sweep_fits_eighty_columns() {
    let server = Server::start("udp");
    let arguments = ["--spacing", "0us..100us/100us", "--count", "200"];
    let output = sweep(&server.port, &arguments).output().unwrap();
    let table = String::from_utf8(output.stdout).unwrap();
    assert_eq!(table.lines().count(), 4, "{table}");
    for line in table.lines() {
        assert!(line.len() <= 80, "{line}");
    }
}

#[test]
fn mistake_in_a_range_is_explained() {
    for (arguments, text) in [
        (
            ["--size", "100..50/10"],
            "error: --size 100..50/10: must rise\n next: write --size 64..1400/100\n",
        ),
        (
            ["--spacing", "20"],
            "error: --spacing 20: '20' needs a unit of time\n next: write 5s, 20ms, 40us, 5m or 1h\n",
        ),
        (
            ["--transport", "tcp"],
            "error: --transport tcp: TCP carries a stream of bytes, and this mode measures packets\n next: write --transport dccp or --transport udp\n",
        ),
        (
            ["--size", "100..200"],
            "error: --size 100..200: a range needs a step\n next: write --size 64..1400/100\n",
        ),
    ] {
        let output = sweep("9", &arguments).output().unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stderr), text);
        assert_eq!(output.status.code(), Some(2));
    }
}

#[test]
fn grid_has_a_point_for_each_combination() {
    let server = Server::start("udp");
    let arguments = [
        "--size",
        "200..400/200",
        "--spacing",
        "200us..400us/200us",
        "--count",
        "20",
        "-J",
    ];
    let document = read(&sweep(&server.port, &arguments).output().unwrap());
    let points = document["points"].as_array().unwrap();
    let keys = points.iter().map(|point: &Value| {
        let key = |name: &str| number(&point[name]);
        (key("packet_bytes"), key("asked_gap_ns") / 1_000)
    });
    let expected = [(200, 200), (200, 400), (400, 200), (400, 400)];
    assert_eq!(keys.collect::<Vec<_>>(), expected);
}

// goal 36: a sweep that cannot run has a document too.
#[test]
fn sweep_without_a_server_has_a_document() {
    let output = sweep(&free_port(), &["-J"]).output().unwrap();
    let document = read(&output);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    assert_eq!(document["status"], "failed");
    assert_eq!(document["exit_code"], 1);
    let what = document["error"]["what"].as_str().unwrap();
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(
        text.starts_with(&format!("error: {what}\n next: ")),
        "{text}"
    );
}

// goal 57: a sweep keeps the points that it has when the server vanishes.
#[test]
fn sweep_keeps_its_points_when_the_server_vanishes() {
    let mut server = Server::start("udp");
    let out = empty_file("sweep-vanished.ndjson");
    let arguments = [
        "--size",
        "100..1300/100",
        "--spacing",
        "1ms",
        "--count",
        "300",
        "-J",
        "--out",
        out.to_str().unwrap(),
    ];
    let child = sweep(&server.port, &arguments)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    while lines(&out).len() < 2 {
        std::thread::sleep(Duration::from_millis(5));
    }
    server.child.kill().unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(5), "{output:?}");
    let document = read(&output);
    assert_eq!(document["status"], "incomplete");
    assert_eq!(document["exit_code"], 5);
    assert!(document["error"]["what"].is_string(), "{document:#}");
    let points = document["points"].as_array().unwrap();
    assert!((2..13).contains(&points.len()), "{document:#}");
    for point in points {
        assert_eq!(number(&point["delivered_packets"]), 300, "{point:#}");
    }
    // The point that broke off is not among those that `--resume` takes.
    assert_eq!(lines(&out).len(), points.len());
}

// The file of points can hold anything.
#[test]
fn file_without_points_is_not_resumed() {
    let out = empty_file("sweep-hostile.ndjson");
    let point = r#"{"packet_bytes":1400,"asked_gap_ns":0,"gap_ns":null,"sent_packets":18446744073709551615,"delivered_packets":0,"offered_bps":null,"sent_bps":null,"received_bps":null,"wire_bps":null,"lost_network_packets":18446744073709551615,"lost_host_packets":1,"unknown_packets":1,"held_ratio":null,"jitter":null,"client_cpu_ratio":null,"server_cpu_ratio":null}"#;
    let question = r#"{"host":"127.0.0.1","udp_port":9,"transport":"dccp","over":"udp","ccid":2,"cc":"reno","packets":1000,"packet_bytes":1400,"shape":"greedy"}"#;
    let huge = format!("{{\"requested\":{question},\"point\":{point}}}\n");
    for (text, why) in [
        (huge.as_bytes(), "a number is too great"),
        (b"\xff\n", "stream did not contain valid UTF-8"),
        (b"{}\n", "missing field `requested` at line 1 column 2"),
    ] {
        fs::write(&out, text).unwrap();
        let words = ["--resume", "--out", out.to_str().unwrap()];
        let output = sweep("9", &words).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        let path = out.display();
        assert_eq!(
            String::from_utf8_lossy(&output.stderr),
            format!(
                "error: {path}: holds no points of a sweep ({why})\n \
                 next: write another file, or leave --resume out\n"
            )
        );
        assert_eq!(fs::read(&out).unwrap(), text, "the file stays as it is");
    }
}

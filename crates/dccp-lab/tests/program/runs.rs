//! The real program on small scenarios: same bits whatever the threads, the schema, what is measured.

use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

pub(crate) const SMALL: &str = "tests/scenarios/small.toml";

pub(crate) fn dccplab(words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_dccplab"));
    command.current_dir(env!("CARGO_MANIFEST_DIR")).args(words);
    command
}

pub(crate) fn run(words: &[&str]) -> Output {
    dccplab(words).output().expect("the program starts")
}

/// A file of this test alone, which is not there yet.
pub(crate) fn fresh(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    for ending in ["", ".partial"] {
        let _ = fs::remove_file(format!("{}{ending}", path.display()));
    }
    path
}

pub(crate) fn read(path: &Path) -> Value {
    let text = fs::read_to_string(path).expect("results");
    serde_json::from_str(&text).expect("JSON")
}

/// Runs the small scenario and gives the bytes of its results.
fn results(name: &str, words: &[&str]) -> Vec<u8> {
    let path = fresh(name);
    let json = path.display().to_string();
    let output = run(&[&["run", SMALL, "--json", &json], words].concat());
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    fs::read(path).expect("results")
}

#[test]
fn results_do_not_depend_on_threads() {
    let one = results("one.json", &["--jobs", "1"]);
    let two = results("two.json", &["--jobs", "2"]);
    assert!(one == two, "same bytes");
}

/// `tests/scenarios/small.hash` is the hash of the measured values. A change of the protocol changes it;
/// `UPDATE=1` writes it.
// goal 68: results are repeatable.
#[test]
fn results_are_the_same_bits_on_any_machine() {
    let bytes = results("bits.json", &[]);
    let document: Value = serde_json::from_slice(&bytes).expect("JSON");
    let cells = document["cells"].as_array().expect("cells");
    // Keys also hold what changes nothing here, such as settings that are new.
    let measured: Vec<_> = cells
        .iter()
        .map(|c| (&c["summary"], &c["series"]))
        .collect();
    let hash = blake3::hash(format!("{measured:?}").as_bytes()).to_hex();
    let stored = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scenarios/small.hash");
    if std::env::var_os("UPDATE").is_some() {
        fs::write(&stored, format!("{hash}\n")).expect("the hash is written");
    }
    let stored = fs::read_to_string(stored).expect("a stored hash");
    assert_eq!(stored.trim_end(), hash.as_str());
}

#[test]
fn results_follow_the_schema() {
    let schema = include_str!("../../schema/dccplab-result-1.json");
    let schema = serde_json::from_str(schema).expect("JSON");
    let validator = jsonschema::validator_for(&schema).expect("a schema");
    let document = results("schema.json", &[]);
    let document: Value = serde_json::from_slice(&document).expect("JSON");
    let errors: Vec<String> = validator
        .iter_errors(&document)
        .map(|e| format!("{}: {e}", e.instance_path()))
        .collect();
    assert!(errors.is_empty(), "{errors:#?}");
    let cells = document["cells"].as_array().expect("cells");
    assert_eq!(cells.len(), 3);
    let summary = &cells[0]["summary"];
    // Five flows, five links of two directions each.
    assert_eq!(summary["flows"].as_array().map(Vec::len), Some(5));
    assert_eq!(summary["links"].as_array().map(Vec::len), Some(10));
    let (f, a) = (&summary["fairness"], &summary["asymmetry"]);
    let (f, a) = (f.as_f64().expect("F"), a.as_f64().expect("A"));
    assert!((f - 1.0 / (1.0 + a * a)).abs() < 1e-12, "{f} {a}");
    // Twice 10 ms, and twice the time that a ping takes to leave.
    let ping = summary["flows"][4]["rtt_ping_ns"]["min"].as_u64();
    assert!(
        ping.is_some_and(|ns| (20_000_000..20_600_000).contains(&ns)),
        "{ping:?}"
    );
}

// goal 64: flows start and stop on a schedule.
#[test]
fn stopped_flow_sends_nothing() {
    let document = results("stopped.json", &[]);
    let document: Value = serde_json::from_slice(&document).expect("JSON");
    for cell in document["cells"].as_array().expect("cells") {
        let goodput = cell["series"]["flows"][0]["goodput_bps"]
            .as_array()
            .expect("a column");
        // It stops at 21 s; what was on the way arrives.
        let last = goodput.last().and_then(Value::as_f64);
        assert!(last.is_some_and(|bps| bps < 600_000.0), "{last:?}");
        assert!(cell["summary"]["flows"][0]["broken"].is_null());
    }
}

#[test]
fn a_capture_is_of_one_cell() {
    let path = fresh("capture.pcapng");
    let pcap = path.display().to_string();
    let output = run(&["run", SMALL, "--pcap", &pcap]);
    assert_eq!(output.status.code(), Some(2));
    let said = String::from_utf8(output.stderr).expect("text");
    assert!(
        said.contains("a capture is of one cell, not of 3"),
        "{said}"
    );
    let output = run(&["run", SMALL, "--pcap", &pcap, "--cell", "reno"]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert!(fs::metadata(&path).expect("a capture").len() > 100_000);
}

#[test]
fn tables_and_pictures_are_made() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("pictures");
    let out = folder.display().to_string();
    let output = run(&["run", SMALL, "--out", &out, "--cell", "fast"]);
    assert_eq!(output.status.code(), Some(0));
    let table = String::from_utf8(output.stdout).expect("text");
    let lines: Vec<&str> = table.lines().collect();
    assert_eq!(lines.len(), 6, "{table}");
    assert!(lines[0].trim_start().starts_with("flow"), "{table}");
    assert!(lines[1].starts_with("fast  first"), "{table}");
    let svg = fs::read_to_string(folder.join("fast.svg")).expect("a picture");
    for text in [
        "small: fast",
        "window, packets",
        "round trip, ms",
        "queue, packets",
    ] {
        assert!(svg.contains(text), "{text}");
    }
}

#[test]
fn a_cell_that_is_not_there_is_a_mistake() {
    let output = run(&["run", SMALL, "--cell", "law=vegas"]);
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(
        String::from_utf8(output.stderr).expect("text"),
        "error: --cell law=vegas: there is no such cell\n next: `dccplab check FILE` lists them\n"
    );
}

// goal 63: a matrix of parameters.
#[test]
fn every_scenario_of_the_project_is_one() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
    let files = |folder: &Path| fs::read_dir(folder).expect("a folder");
    let all = files(&folder).chain(files(&folder.join("agreement")));
    let mut count = 0;
    for file in all {
        let path = file.expect("a file").path();
        // The experiments of the papers are part of the program, which has a test of its own.
        if path.is_dir() {
            continue;
        }
        let path = path.display().to_string();
        let output = run(&["check", &path]);
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        count += 1;
    }
    assert!(count >= 10, "{count} scenarios");
}

/// A scenario of two hosts, a link and one flow, in a file of the test's own.
fn pair(name: &str, link: &str, flow: &str, measure: &str) -> String {
    let text = format!(
        "schema = \"dccplab/1\"\nname = \"n\"\nseed = 1\n[topology]\nnodes = [\"a\", \"b\"]\n\
        [[link]]\nfrom = \"a\"\nto = \"b\"\n{link}\n\
        [[flow]]\nid = \"f\"\nfrom = \"a\"\nto = \"b\"\n{flow}\n[measure]\n{measure}\n"
    );
    let path = fresh(&format!("{name}.toml"));
    fs::write(&path, text).expect("a scenario");
    path.display().to_string()
}

fn summary(name: &str, link: &str, flow: &str, measure: &str) -> Value {
    let (file, path) = (pair(name, link, flow, measure), fresh(name));
    let output = run(&["run", &file, "--json", &path.display().to_string()]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    read(&path)["cells"][0]["summary"].take()
}

#[test]
fn goodput_is_never_above_the_rate_of_a_link() {
    // The queue at the stop of the flow takes another second.
    for transport in ["dccp/ccid2", "tcp"] {
        let summary = summary(
            "deep_queue",
            "rate = \"10Mbit\"\ndelay = \"10ms\"\nqueue = \"100000p\"",
            &format!("transport = \"{transport}\"\nstop = \"5s\""),
            "duration = \"20s\"",
        );
        let goodput = summary["flows"][0]["throughput_bps"].as_f64();
        assert!(goodput > Some(9e6) && goodput < Some(1e7), "{goodput:?}");
    }
}

#[test]
fn a_packet_that_is_being_sent_counts_for_the_time_that_has_passed() {
    let summary = summary(
        "slow_link",
        "rate = \"8bit\"",
        "kind = \"udp\"\nshape = \"cbr:8kbit\"",
        "duration = \"10s\"",
    );
    assert_eq!(summary["links"][0]["utilisation"].as_f64(), Some(1.0));
}

#[test]
fn every_rhythm_gets_through_over_dccp_without_a_size() {
    for kind in ["cbr", "poisson"] {
        let flow = format!("kind = \"{kind}\"\nrate = \"1Mbit\"\ntransport = \"dccp/ccid3\"");
        let summary = summary(kind, "rate = \"10Mbit\"", &flow, "duration = \"20s\"");
        let goodput = summary["flows"][0]["throughput_bps"].as_f64();
        assert!(goodput > Some(8e5) && goodput < Some(1.2e6), "{goodput:?}");
        assert_eq!(summary["flows"][0]["loss"].as_f64(), Some(0.0));
    }
}

/// A link that loses each hundredth packet.
const LOSSY: &str = "rate = \"2Mbit\"\ndelay = \"10ms\"\nloss = \"1%\"\nback = { loss = \"0%\" }";

#[test]
fn reported_losses_match_known_losses() {
    for (transport, has_events, has_duplicates) in [
        ("transport = \"dccp/ccid2\"", true, false),
        ("transport = \"dccp/ccid3\"", true, false),
        ("transport = \"dccp/ccid4\"\nsize = \"100B\"", true, false),
        ("transport = \"tcp\"", true, true),
        ("kind = \"udp\"\nshape = \"cbr:1Mbit\"", false, false),
    ] {
        // Also of a flow that has stopped, whose connection is no more.
        for stop in ["", "stop = \"20s\"\n"] {
            let flow = format!("{transport}\n{stop}");
            let summary = summary("lossy", LOSSY, &flow, "duration = \"30s\"");
            let (flow, link) = (&summary["flows"][0], &summary["links"][0]);
            let number = |key: &str| flow[key].as_u64();
            let dropped = (link["lost_packets"].as_object().into_iter().flatten())
                .filter_map(|(_, n)| n.as_u64())
                .sum::<u64>();
            // Packets without data are lost, too, and a timeout of TCP takes too many for lost.
            let lost = number("lost_packets").unwrap_or(0);
            let least = if has_duplicates { dropped } else { lost };
            assert!(
                lost > 5 && (least..=2 * lost).contains(&dropped),
                "{dropped} {flow}"
            );
            assert!(flow["loss"].as_f64() > Some(0.005), "{flow}");
            assert_eq!(number("loss_events") > Some(2), has_events, "{flow}");
            assert_eq!(flow["loss_events"].is_null(), !has_events, "{flow}");
            assert_eq!(number("duplicate_acks") > Some(2), has_duplicates, "{flow}");
            assert_eq!(flow["duplicate_acks"].is_null(), !has_duplicates, "{flow}");
            assert_eq!(number("marked_packets"), Some(0), "{flow}");
        }
    }
}

#[test]
fn answers_count_as_goodput() {
    for transport in ["dccp/ccid2", "tcp", "udp"] {
        let flow = format!(
            "kind = \"requests\"\nsize = \"100B\"\nanswer = \"10kB\"\ntransport = \"{transport}\""
        );
        let link = "rate = \"2Mbit\"\ndelay = \"10ms\"";
        let summary = summary("answers", link, &flow, "duration = \"20s\"");
        let flow = &summary["flows"][0];
        let bytes = |key: &str| flow[key].as_f64().unwrap_or(0.0);
        let (asked, answered) = (bytes("delivered_bytes"), bytes("answered_bytes"));
        assert!(
            asked > 0.0 && (answered / asked - 100.0).abs() < 2.0,
            "{flow}"
        );
        let all = (asked + answered) * 8.0 / 20.0;
        assert!((bytes("throughput_bps") - all).abs() < 1.0, "{flow}");
        let bins = flow["goodput_5s_bps"].as_array().map_or(0.0, |bins| {
            bins.iter().filter_map(Value::as_f64).sum::<f64>() / 4.0
        });
        assert!((bins - all).abs() < 1.0, "{flow}");
    }
}

#[test]
fn single_bin_has_no_stability() {
    let link = "rate = \"2Mbit\"\ndelay = \"10ms\"";
    let of = |duration: &str| {
        let measure = format!("duration = \"{duration}\"");
        summary("steady", link, "", &measure)["flows"][0]["stability"].take()
    };
    assert!(of("9s").is_null());
    assert!(of("10s").is_number());
}

#[test]
fn streams_of_a_flow_are_independent() {
    let flow = "kind = \"poisson\"\nrate = \"1Mbit\"\ncc = \"reno*4\"";
    let summary = summary("crowd", "rate = \"1Gbit\"", flow, "duration = \"20s\"");
    // In step, three of four would wait each time; and the handshakes are at one moment.
    let mean = summary["links"][0]["queue_packets_mean"].as_f64();
    assert!(mean.is_some_and(|packets| packets < 0.001), "{mean:?}");
}

#[test]
fn results_do_not_replace_a_special_file() {
    let folder = env!("CARGO_TARGET_TMPDIR");
    let output = run(&["run", SMALL, "--json", folder]);
    assert_eq!(output.status.code(), Some(2));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.ends_with("is not a regular file\n next: write the results to a new file\n"));
}

#[test]
fn closed_standard_output_is_no_failure() {
    let mut child = dccplab(&["check", SMALL])
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .expect("the program starts");
    drop(child.stdout.take());
    let output = child.wait_with_output().expect("it ends");
    assert_eq!((output.status.code(), output.stderr.len()), (Some(0), 0));
}

/// The round trips of a link that becomes fast after 10 s, summed up without the first `discard`: of a probe at their
/// 99th percentile, and of the transport at the greatest.
fn slowest_round_trips(name: &str, discard: &str) -> [u64; 2] {
    let link = "rate = \"10Mbit\"\ndelay = \"100ms\"\n\
        changes = [{ at = \"10s\", delay = \"10ms\" }]\nback = { delay = \"10ms\" }";
    let flow = "transport = \"dccp/ccid2\"\nkind = \"cbr\"\nrate = \"1Mbit\"\n\
        [[flow]]\nid = \"ping\"\nfrom = \"a\"\nto = \"b\"\nkind = \"ping\"";
    let measure = format!("duration = \"20s\"\ndiscard = \"{discard}\"");
    let summary = summary(name, link, flow, &measure);
    ["rtt_transport_ns", "rtt_ping_ns"].map(|key| {
        let flows = summary["flows"].as_array().expect("flows");
        let found = flows.iter().find_map(|flow| flow[key]["max"].as_u64());
        found.unwrap_or_else(|| panic!("{key}: {summary}"))
    })
}

#[test]
fn discard_leaves_early_round_trips_out_of_the_summary() {
    let of_all = slowest_round_trips("discard_nothing", "0s");
    assert!(of_all.iter().all(|ns| *ns > 100_000_000), "{of_all:?}");
    let later = slowest_round_trips("discard_11s", "11s");
    assert!(later.iter().all(|ns| *ns < 100_000_000), "{later:?}");
}

#[test]
fn json_dash_prints_the_results_and_writes_no_file() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("json_dash");
    fs::create_dir_all(&folder).expect("a folder");
    let scenario = Path::new(env!("CARGO_MANIFEST_DIR")).join(SMALL);
    let scenario = scenario.display().to_string();
    let words = ["run", &scenario, "--cell", "reno", "--json", "-"];
    let output = dccplab(&words).current_dir(&folder).output();
    let output = output.expect("the program starts");
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let document: Value = serde_json::from_slice(&output.stdout).expect("JSON only");
    assert_eq!(document["cells"].as_array().map(Vec::len), Some(1));
    let files = fs::read_dir(&folder).expect("the folder").count();
    assert_eq!(files, 0, "no file named -");
    let output = run(&[&words[..], &["--resume"]].concat());
    assert_eq!(output.status.code(), Some(2));
    let said = String::from_utf8(output.stderr).expect("text");
    assert!(said.contains("write --json FILE"), "{said}");
}

/// The captured and the original length of each packet in a pcapng file.
fn packet_lengths(path: &Path) -> Vec<(u32, u32)> {
    /// The type of an Enhanced Packet Block.
    const PACKET: u32 = 6;
    let bytes = fs::read(path).expect("a capture");
    let number = |at: usize| {
        let four = bytes[at..].first_chunk().expect("four bytes");
        u32::from_le_bytes(*four)
    };
    let mut packets = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        if number(at) == PACKET {
            packets.push((number(at + 20), number(at + 24)));
        }
        at += number(at + 4) as usize;
    }
    packets
}

#[test]
fn snap_cuts_captured_packets_and_keeps_their_lengths() {
    let [whole, cut] = ["whole.pcapng", "cut.pcapng"].map(fresh);
    let (all, part) = (whole.display().to_string(), cut.display().to_string());
    let words = ["run", SMALL, "--cell", "reno", "--pcap"];
    for options in [&[&*all][..], &[&*part, "--snap", "64"]] {
        let output = run(&[&words[..], options].concat());
        assert_eq!(output.status.code(), Some(0), "{output:?}");
    }
    let (whole, cut) = (packet_lengths(&whole), packet_lengths(&cut));
    assert!(whole.iter().any(|(captured, _)| *captured > 1000));
    let expected: Vec<_> = whole
        .iter()
        .map(|(_, len)| ((*len).min(64), *len))
        .collect();
    assert!(cut == expected, "same packets, at most 64 bytes of each");
}

/// The scenarios of `docs/safeudp.md`: each has assertions, and all hold.
#[test]
fn scenarios_of_safeudp_hold() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
    let entries = fs::read_dir(folder).expect("the folder");
    let paths = entries.map(|entry| entry.expect("an entry").path());
    let is_ours = |path: &PathBuf| path.display().to_string().contains("/safeudp-");
    let ours: Vec<PathBuf> = paths.filter(is_ours).collect();
    assert!(ours.len() >= 14, "{ours:?}");
    for path in ours {
        let output = run(&["run", &path.display().to_string()]);
        assert_eq!(output.status.code(), Some(0), "{path:?}: {output:?}");
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(said.contains("\nholds "), "{path:?}: {said}");
    }
}

//! Runs in network namespaces: beside the simulator, as an ordinary user, after SIGKILL, and after Ctrl-C.

#![cfg(target_os = "linux")]

use dccp_netns::Namespace;
use serde_json::Value;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::sleep;
use std::time::Duration;

const BOTH: &str = "tests/scenarios/live.toml";
const SAFE_UDP: &str = "tests/scenarios/live-safeudp.toml";
const OF_KERNEL: &str = "tests/scenarios/live-user.toml";

/// Tests in real time run one after another: they share processors and names.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether this process may create namespaces; if not, says that a test is skipped.
fn is_root(test: &str) -> bool {
    let made = Namespace::new("test");
    if let Err(error) = &made {
        println!("SKIP {test}: needs root and network namespaces: {error}");
    }
    made.is_ok()
}

fn dccplab(words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_dccplab"));
    command.current_dir(env!("CARGO_MANIFEST_DIR")).args(words);
    command
}

fn document(output: &Output) -> Value {
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    serde_json::from_slice(&output.stdout).expect("JSON")
}

fn number(value: &Value) -> f64 {
    value
        .as_f64()
        .unwrap_or_else(|| panic!("{value} is no number"))
}

/// The namespaces that a process has made.
fn namespaces_of(process: u32) -> Vec<String> {
    let output = Command::new("ip")
        .args(["netns", "list"])
        .output()
        .expect("ip");
    let list = String::from_utf8(output.stdout).expect("text");
    let names = list.lines().filter_map(|line| line.split(' ').next());
    let is_own = |name: &&str| name.starts_with(&format!("usrdccp-{process}-"));
    names.filter(is_own).map(str::to_owned).collect()
}

/// Starts a live run, and waits until its namespaces are there.
fn started(words: &[&str], namespaces: usize) -> Child {
    let mut command = dccplab(words);
    let mut child = command.stdout(Stdio::null()).spawn().expect("it starts");
    while namespaces_of(child.id()).len() < namespaces {
        assert!(child.try_wait().expect("a child").is_none(), "it has ended");
        sleep(Duration::from_millis(20));
    }
    child
}

fn signal(child: &Child, name: &str) {
    let process = child.id().to_string();
    let status = Command::new("kill").args([name, &process]).status();
    assert!(status.expect("kill").success());
}

// Experiment engine L: the same scenario in both, compared loosely, because other tests load the machine.
#[test]
fn live_run_resembles_the_simulator() {
    let _alone = alone();
    if !is_root("live_run_resembles_the_simulator") {
        return;
    }
    let play = |backend: &str| {
        let words = ["run", BOTH, "--backend", backend, "--json", "-"];
        document(&dccplab(&words).output().expect("the program starts"))
    };
    let (sim, live) = (play("sim"), play("live"));
    let schema = serde_json::from_str(include_str!("../schema/dccplab-result-1.json"));
    let validator = jsonschema::validator_for(&schema.expect("JSON")).expect("a schema");
    let errors: Vec<String> = validator
        .iter_errors(&live)
        .map(|e| e.to_string())
        .collect();
    assert!(errors.is_empty(), "{errors:#?}");
    assert_eq!(live["record"]["backend"], "live");
    assert_ne!(live["cells"][0]["key"], sim["cells"][0]["key"]);
    for document in [&sim, &live] {
        assert_eq!(document["assertions"][0]["mark"], "holds", "{document}");
    }
    let [sim, live] = [&sim, &live].map(|document| &document["cells"][0]["summary"]);
    let goodput = |summary: &Value, flow: usize| {
        number(&summary["flows"][flow]["throughput_after_discard_bps"])
    };
    let near = |what: &str, of: &dyn Fn(&Value) -> f64, within: f64| {
        let (sim, live) = (of(sim), of(live));
        let ratio = live / sim;
        assert!((ratio - 1.0).abs() < within, "{what}: {live} beside {sim}");
    };
    near("both bulk flows", &|s| goodput(s, 0) + goodput(s, 1), 0.2);
    near("constant rate", &|s| goodput(s, 2), 0.1);
    near(
        "utilisation",
        &|s| number(&s["links"][2]["utilisation"]),
        0.2,
    );
    // The shortest one depends on the first moments, before the queue fills.
    near(
        "median ping",
        &|s| number(&s["flows"][3]["rtt_ping_ns"]["p50"]),
        0.2,
    );
    for flow in 0..4 {
        let flow = &live["flows"][flow];
        assert!(flow["broken"].is_null(), "{flow}");
        assert!(number(&flow["delivered_packets"]) > 50.0, "{flow}");
    }
    // The neck drops packets, and the senders notice.
    assert!(
        number(&live["links"][2]["lost_packets"]["queue_full"]) > 0.0,
        "{live}"
    );
    assert!(number(&live["flows"][0]["lost_packets"]) > 0.0, "{live}");
    // Only the simulator knows these.
    assert!(live["events"].is_null());
    let host = |summary: &Value| {
        let host = &summary["hosts"][0];
        (host["processor_ns"].clone(), host["lost_packets"].clone())
    };
    assert_eq!(host(sim), (0.into(), serde_json::json!({})));
    assert_eq!(host(live), (Value::Null, Value::Null));
}

#[test]
fn safe_udp_is_advised_and_its_reader_is_slow_live_as_in_the_simulator() {
    let _alone = alone();
    if !is_root("safe_udp_is_advised_and_its_reader_is_slow_live_as_in_the_simulator") {
        return;
    }
    for backend in ["sim", "live"] {
        let words = ["run", SAFE_UDP, "--backend", backend, "--json", "-"];
        let document = document(&dccplab(&words).output().expect("the program starts"));
        let flow = |n: usize| &document["cells"][0]["summary"]["flows"][n];
        let count = |n: usize, name: &str| number(&flow(n)[name]);
        // Its receiver reports Drop Code 2, and the control slows down before much of it is dropped.
        assert!(count(0, "dropped_by_receiver_packets") > 0.0, "{backend}");
        assert!(count(1, "lost_packets") > 0.0, "{backend}");
        let assertions = document["assertions"].as_array().expect("a list");
        assert_eq!(assertions.len(), 4);
        for assertion in assertions {
            assert_eq!(assertion["mark"], "holds", "{backend}: {assertion}");
        }
    }
}

#[test]
fn live_run_works_without_root() {
    let _alone = alone();
    let folder = Folder::new("user");
    let program = folder.0.join("dccplab");
    // A copy by this process could not be started while another test's child has its descriptor.
    let mut install = Command::new("install");
    let installed = install.arg(env!("CARGO_BIN_EXE_dccplab")).arg(&program);
    assert!(installed.status().expect("install").success());
    let scenario = Path::new(env!("CARGO_MANIFEST_DIR")).join(OF_KERNEL);
    fs::copy(scenario, folder.0.join("f.toml")).expect("a copy");
    let (program, file) = (program.display().to_string(), folder.0.join("f.toml"));
    let file = file.display().to_string();
    let mut words = vec![&*program, "run", &file, "--backend", "live", "--json", "-"];
    if rustix::process::geteuid().is_root() {
        let user = [
            "setpriv",
            "--reuid",
            "65534",
            "--regid",
            "65534",
            "--clear-groups",
        ];
        words.splice(0..0, user);
    }
    let output = Command::new(words[0])
        .args(&words[1..])
        .output()
        .expect("it starts");
    let said = String::from_utf8_lossy(&output.stderr);
    if said.contains("need user namespaces") {
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        assert!(said.contains("\n next: "), "{said}");
        println!("SKIP live_run_works_without_root: {said}");
        return;
    }
    let document = document(&output);
    for cell in document["cells"].as_array().expect("cells") {
        let flows = &cell["summary"]["flows"];
        let sum = number(&flows[0]["throughput_bps"]) + number(&flows[1]["throughput_bps"]);
        // At most the link's rate, less headers.
        assert!((4e6..10e6).contains(&sum), "{cell}");
        let busy = number(&cell["summary"]["links"][0]["utilisation"]);
        assert!((0.5..1.02).contains(&busy), "{cell}");
    }
}

#[test]
fn namespaces_of_a_killed_run_are_removed_and_no_others() {
    let _alone = alone();
    let test = "namespaces_of_a_killed_run_are_removed_and_no_others";
    if !is_root(test) {
        return;
    }
    let own = Namespace::new("stays").expect("a namespace");
    let mut child = started(&["run", BOTH, "--backend", "live"], 4);
    signal(&child, "-KILL");
    child.wait().expect("a child");
    let left = namespaces_of(child.id());
    assert_eq!(left.len(), 4, "{left:?}");
    let output = dccplab(&["clean"]).output().expect("the program starts");
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let said = String::from_utf8(output.stdout).expect("text");
    for name in left {
        assert!(said.contains(&format!("removed {name}\n")), "{said}");
    }
    assert_eq!(namespaces_of(child.id()), Vec::<String>::new());
    assert!(Path::new(dccp_netns::NAMES).join(own.name()).exists());
}

#[test]
fn interrupted_run_keeps_finished_cells_and_removes_its_network() {
    let _alone = alone();
    let test = "interrupted_run_keeps_finished_cells_and_removes_its_network";
    if !is_root(test) {
        return;
    }
    let folder = Folder::new("interrupt");
    let json = folder.0.join("r.json");
    let file = json.display().to_string();
    let mut child = started(&["run", OF_KERNEL, "--backend", "live", "--json", &file], 3);
    let partial = PathBuf::from(format!("{file}.partial"));
    // A line of the first cell is there when the second one runs.
    while fs::read_to_string(&partial).map_or(0, |text| text.len()) == 0 {
        sleep(Duration::from_millis(20));
    }
    signal(&child, "-INT");
    assert_eq!(child.wait().expect("a child").code(), Some(130));
    assert_eq!(namespaces_of(child.id()), Vec::<String>::new());
    let document: Value = serde_json::from_slice(&fs::read(&json).expect("results")).expect("JSON");
    assert_eq!(document["status"], "interrupted");
    assert_eq!(document["cells"].as_array().map(Vec::len), Some(1));
}

// Whether they agree depends on the load of the machine.
#[test]
fn comparison_has_a_row_for_each_quantity_and_a_picture() {
    let _alone = alone();
    if !is_root("comparison_has_a_row_for_each_quantity_and_a_picture") {
        return;
    }
    let folder = Folder::new("agree");
    let out = folder.0.display().to_string();
    let agree = || {
        dccplab(&["agree", OF_KERNEL, "--out", &out])
            .output()
            .expect("it starts")
    };
    let output = agree();
    assert!(matches!(output.status.code(), Some(0 | 3)), "{output:?}");
    let table = String::from_utf8_lossy(&output.stdout).into_owned();
    let rows = table
        .lines()
        .filter(|line| line.ends_with("agrees") || line.ends_with("differs"));
    // Goodput and loss of two flows, and the delay of their queue.
    assert_eq!(rows.count(), 5, "{table}");
    let svg = fs::read_to_string(folder.0.join("agreement.svg")).expect("a picture");
    assert!(svg.contains("queueing delay (0.80–1.20)"), "{svg}");
    // The second time, both results are there already.
    let again = agree();
    assert_eq!(again.stdout, output.stdout);
    assert!(
        String::from_utf8_lossy(&again.stderr).contains("2 of 2 cells"),
        "{again:?}"
    );
}

#[test]
fn what_live_runs_cannot_do_is_refused_before_the_start() {
    let folder = Folder::new("refused");
    let file = folder.0.join("f.toml");
    let scenario = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(OF_KERNEL));
    let host = "[[host]]\nnode = \"a\"\nreceive_cost = \"1us\"\n";
    fs::write(&file, scenario.expect("a scenario") + host).expect("a file");
    let file = file.display().to_string();
    for (words, begin) in [
        (
            vec![&*file],
            "error: [[host]] receive_cost: host a is this machine",
        ),
        (vec![OF_KERNEL, "--jobs", "2"], "error: --jobs: "),
        (vec![OF_KERNEL, "--pcap", "p"], "error: --pcap: "),
    ] {
        let words = [&["run"], &words[..], &["--backend", "live"]].concat();
        let output = dccplab(&words).output().expect("the program starts");
        let said = String::from_utf8(output.stderr).expect("text");
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(
            said.starts_with(begin) && said.contains("\n next: "),
            "{said}"
        );
    }
    // A comparison does not simulate what it cannot play live.
    let out = folder.0.join("results");
    let agree = dccplab(&["agree", &file, "--out", &out.display().to_string()]).output();
    assert_eq!(agree.expect("the program starts").status.code(), Some(2));
    assert!(!out.exists());
}

#[test]
fn missing_programs_are_named_before_the_start() {
    let mut run = dccplab(&["run", OF_KERNEL, "--backend", "live"]);
    let output = run.env("PATH", "").output().expect("the program starts");
    let said = String::from_utf8(output.stderr).expect("text");
    let end = "\n next: install iproute2\n";
    assert!(
        said.starts_with("error: ip: ") && said.ends_with(end),
        "{said}"
    );
}

/// A folder that all users may read, until it is dropped.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let name = format!("dccplab-{name}-{}", std::process::id());
        let path = std::env::temp_dir().join(name);
        fs::create_dir_all(&path).expect("a folder");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("permissions");
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // A folder that stays is in the system's place for such files.
        let _ = fs::remove_dir_all(&self.0);
    }
}

//! The systemd units: their syntax, the service's rights, and whether the server can run with them.

use crate::support::{PROGRAM, free_port};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

const UNIT: &str = include_str!("../../../../contrib/systemd/dccpmon.service");
const SOCKET: &str = include_str!("../../../../contrib/systemd/dccpmon.socket");

/// The values of a key, in the order of the unit.
fn values(key: &str) -> Vec<&'static str> {
    let lines = UNIT.lines().filter_map(|line| line.split_once('='));
    lines
        .filter(|(name, _)| *name == key)
        .map(|(_, value)| value)
        .collect()
}

/// A copy of the units that start the program under test, because systemd checks that the program exists. Returns the
/// path of the service's.
fn copy(folder: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(folder);
    fs::create_dir_all(&folder).unwrap();
    let path = folder.join("dccpmon.service");
    let text = UNIT.replace(
        "ExecStart=/usr/bin/dccpmon ",
        &format!("ExecStart={PROGRAM} "),
    );
    assert_ne!(text, UNIT);
    fs::write(&path, text).unwrap();
    fs::write(folder.join("dccpmon.socket"), SOCKET).unwrap();
    path
}

/// Runs a program. Returns `None` if it is not installed.
fn run(program: &str, arguments: &[&str]) -> Option<Output> {
    Command::new(program).args(arguments).output().ok()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn units_are_valid() {
    let service = copy("verify");
    for unit in [service.clone(), service.with_extension("socket")] {
        let unit = unit.to_str().unwrap();
        let Some(checked) = run("systemd-analyze", &["--man=no", "verify", unit]) else {
            println!("SKIP units_are_valid: needs systemd-analyze");
            return;
        };
        // An unknown key is only a warning. Those about units of this host are not ours.
        let warnings = text(&checked.stderr);
        assert!(!warnings.contains("dccpmon."), "{warnings}");
        assert!(checked.status.success());
    }
}

#[test]
fn socket_unit_has_the_default_port() {
    let port = default_port();
    assert!(SOCKET.contains(&format!("\nListenDatagram={port}\n")));
}

/// The UDP port of a server without options, from its help.
fn default_port() -> String {
    let help = Command::new(PROGRAM).args(["serve", "--help"]).output();
    let help = text(&help.unwrap().stdout);
    let line = help.lines().find(|line| line.contains("--port")).unwrap();
    let (_, port) = line.split_once("[default: ").unwrap();
    port.trim_end_matches(']').to_owned()
}

#[test]
fn unit_gives_few_rights() {
    let unit = copy("security");
    let unit = unit.to_str().unwrap();
    // The threshold is an exposure of 1.5 of 10.
    let arguments = ["security", "--offline=true", "--threshold=15", unit];
    let Some(checked) = run("systemd-analyze", &arguments) else {
        println!("SKIP unit_gives_few_rights: needs systemd-analyze");
        return;
    };
    let report = text(&checked.stdout) + &text(&checked.stderr);
    assert!(checked.status.success(), "{report}");
}

#[test]
fn program_accepts_the_arguments_of_the_unit() {
    let [start] = values("ExecStart")[..] else {
        panic!("one ExecStart");
    };
    let mut words = start.split(' ');
    assert_eq!(words.next(), Some("/usr/bin/dccpmon"));
    let output = Command::new(PROGRAM)
        .args(words)
        .arg("--limits")
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(text(&output.stdout).starts_with("limits of `dccpmon serve`"));
}

/// Runs a server for one test under `strace`, and compares its system calls with those that the unit permits.
#[test]
fn unit_permits_every_system_call_of_the_server() {
    let name = "unit_permits_every_system_call_of_the_server";
    let groups = run("systemd-analyze", &["syscall-filter"]);
    let (Some(groups), Some(_)) = (groups, run("strace", &["-V"])) else {
        println!("SKIP {name}: needs systemd-analyze and strace");
        return;
    };
    let permitted = permitted(&groups_of(&text(&groups.stdout)));
    let Some(used) = calls_of_a_server() else {
        println!("SKIP {name}: strace may not trace here");
        return;
    };
    assert!(used.contains("recvmmsg"), "{used:?}");
    let refused: Vec<_> = used.difference(&permitted).collect();
    assert!(refused.is_empty(), "the unit refuses {refused:?}");
}

/// Reads the list that systemd-analyze prints: a group per block, then its members.
fn groups_of(list: &str) -> BTreeMap<String, Vec<String>> {
    let mut groups: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut group = String::new();
    for line in list.lines() {
        if line.starts_with('@') {
            line.clone_into(&mut group);
        } else if line.starts_with("    ") && !line.trim().starts_with('#') {
            let members = groups.entry(group.clone()).or_default();
            members.push(line.trim().to_owned());
        } else if line.starts_with('#') {
            // A list of calls without a group follows.
            group.clear();
        }
    }
    groups
}

/// The calls that the lines `SystemCallFilter=` permit together.
fn permitted(groups: &BTreeMap<String, Vec<String>>) -> BTreeSet<String> {
    let mut permitted = BTreeSet::new();
    add(&mut permitted, groups, "@default");
    for filter in values("SystemCallFilter") {
        let mut named = BTreeSet::new();
        for name in filter.trim_start_matches('~').split(' ') {
            add(&mut named, groups, name);
        }
        if filter.starts_with('~') {
            permitted.retain(|call| !named.contains(call));
        } else {
            permitted.extend(named);
        }
    }
    permitted
}

fn add(calls: &mut BTreeSet<String>, groups: &BTreeMap<String, Vec<String>>, name: &str) {
    if name.starts_with('@') {
        let members = groups.get(name).expect("a group that systemd knows");
        for member in members {
            add(calls, groups, member);
        }
    } else {
        calls.insert(name.to_owned());
    }
}

/// The names of the system calls of a server for one test. Returns `None` if strace has no permission.
fn calls_of_a_server() -> Option<BTreeSet<String>> {
    let log = Path::new(env!("CARGO_TARGET_TMPDIR")).join("server.strace");
    let port = free_port();
    let messages = Path::new(env!("CARGO_TARGET_TMPDIR")).join("traced.notify");
    let _ = fs::remove_file(&messages);
    let _manager = UnixDatagram::bind(&messages).unwrap();
    let mut tracer = Command::new("strace")
        .env("NOTIFY_SOCKET", &messages)
        .args(["-f", "-qq", "-s", "0", "-o", log.to_str().unwrap()])
        .args([PROGRAM, "serve", "-4", "-1", "--over", "udp", "-p", &port])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut output = BufReader::new(tracer.stdout.take().unwrap());
    let mut banner = String::new();
    output.read_line(&mut banner).unwrap();
    if banner.is_empty() {
        tracer.wait().unwrap();
        return None;
    }
    let client = Command::new(PROGRAM)
        .args(["127.0.0.1", "-p", &port, "-t", "0.3", "-R"])
        .output()
        .unwrap();
    assert!(client.status.success(), "{}", text(&client.stderr));
    tracer.wait().unwrap();
    let log = fs::read_to_string(log).unwrap();
    Some(log.lines().filter_map(call).collect())
}

/// The call in a line such as `123 openat(AT_FDCWD, …`. Lines about signals and ends of threads have none.
fn call(line: &str) -> Option<String> {
    let (_, rest) = line.split_once(' ')?;
    let rest = rest.trim_start();
    let (name, _) = rest.split_once('(')?;
    let is_name = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    let is_call = !name.is_empty() && name.chars().all(is_name);
    // The first call starts the program, which systemd does before it filters.
    (is_call && name != "execve").then(|| name.to_owned())
}

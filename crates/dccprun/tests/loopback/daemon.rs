//! Programs whose connections go over the host's daemon, each test in a network of its own.

use crate::support::{Running, client, dccp_peer, dccprun, over_daemon, queues, server, word};
use dccp_dev::rerun::is_inside;
use dccp_dev::shell::Background;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

/// Lets every user do everything here.
const OPEN: &str = "
[[rule]]
users = [\"*\"]
connect = [\"*\"]
listen = [\"*\"]
ccids = [2, 3, 4]
max-connections = 500
";

/// Parts of `client.c` that use nothing that a daemon does not have.
const PARTS: [&str; 12] = [
    "echo",
    "nonblocking",
    "select",
    "edge",
    "fork",
    "exec",
    "sendmsg",
    "emsgsize",
    "shutdown",
    "closed",
    "aborted",
    "drain",
];

/// The daemon in a folder of its own. Dropping it kills it.
struct Daemon {
    folder: PathBuf,
    process: Option<Background>,
}

impl Daemon {
    fn start(name: &str, policy: &str) -> Self {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
        let mut daemon = Self {
            folder,
            process: None,
        };
        daemon.write(policy);
        daemon.restart();
        daemon
    }

    fn write(&self, policy: &str) {
        let [socket, admin] =
            ["socket", "admin"].map(|name| self.folder.join(name).display().to_string());
        let text = format!("socket = \"{socket}\"\nadmin-socket = \"{admin}\"\n{policy}");
        fs::write(self.folder.join("policy.toml"), text).unwrap();
    }

    /// Changes the policy of the daemon while it runs.
    fn reload(&self, policy: &str) {
        self.write(policy);
        let id = self.process.as_ref().unwrap().id().to_string();
        let status = Command::new("kill").args(["-s", "HUP", &id]).status();
        assert!(status.unwrap().success());
    }

    fn program() -> &'static Path {
        static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
        let tmp = Path::new(env!("CARGO_TARGET_TMPDIR"));
        PROGRAM.get_or_init(|| dccp_dev::daemon::build(tmp).unwrap())
    }

    fn restart(&mut self) {
        let mut command = Command::new(Self::program());
        command.arg("--policy").arg(self.folder.join("policy.toml"));
        self.process = Some(Background::start(command, "lends DCCP").unwrap());
    }

    /// `dccprun` with this daemon.
    fn run(&self, words: &[&str]) -> Command {
        let option = format!("--daemon={}", self.folder.join("socket").display());
        dccprun(&[&[option.as_str()], words].concat())
    }

    fn kill(&mut self) {
        self.process = None;
    }
}

fn output(mut command: Command) -> Output {
    let output = command.output().unwrap();
    println!("{}", String::from_utf8_lossy(&output.stdout));
    println!("{}", String::from_utf8_lossy(&output.stderr));
    output
}

/// Echoes of `dccp-peer` through a daemon: 500 datagrams, none of them lost. `options` are those of `dccprun`.
fn check_echoes(daemon: &Daemon, options: &[&str], address: &str, common: &[&str], rate: &str) {
    let peer = word(dccp_peer());
    let listen = [
        "listen", "5001", "--bind", address, "--echo", "--conns", "1",
    ];
    let listener = Running::start(daemon.run(&[options, &[peer], &listen, common].concat()));
    listener.wait_for("listening");
    let connect = [
        "connect", address, "5001", "--echo", "--count", "500", "--rate", rate,
    ];
    let output = output(daemon.run(&[options, &[peer], &connect, common].concat()));
    assert!(output.status.success());
    let text = String::from_utf8(output.stdout).unwrap();
    let summary = text.lines().find(|line| line.contains("summary")).unwrap();
    for part in ["\"sent\":500", "\"received\":500", "\"lost\":0"] {
        assert!(summary.contains(part), "{summary}");
    }
    let there = listener.wait_for("summary");
    assert!(there.contains("\"end\":\"peer\""), "{there}");
    assert_eq!(listener.end(), Some(0));
}

#[test]
fn echoes_come_back_over_the_daemon() {
    if !is_inside("daemon::echoes_come_back_over_the_daemon", "") {
        return;
    }
    let policy = format!("over = [\"udp\", \"ip\"]\n{OPEN}");
    let daemon = Daemon::start("echoes", &policy);
    let service = ["--service", "SC:VIDE"];
    check_echoes(&daemon, &[], "127.0.0.1", &service, "2000");
    check_echoes(&daemon, &["--raw"], "127.0.0.1", &service, "2000");
    check_echoes(
        &daemon,
        &["--law", "cubic"],
        "127.0.0.1",
        &["--size", "1000"],
        "500",
    );
    check_echoes(
        &daemon,
        &[],
        "::1",
        &["--ccid", "3", "--size", "1000", "--txqlen", "20"],
        "500",
    );
}

#[test]
fn calls_behave_over_the_daemon() {
    if !is_inside("daemon::calls_behave_over_the_daemon", "") {
        return;
    }
    let daemon = Daemon::start("calls", OPEN);
    // The listener at [::] has connections of both families.
    for (listen, address, port) in [
        ("127.0.0.1", "127.0.0.1", "5001"),
        ("::", "::1", "5003"),
        ("::", "127.0.0.1", "5005"),
    ] {
        let listener = [word(server()), listen, port, "100", "-"];
        let listener = Running::start(daemon.run(&listener));
        listener.wait_for("ready");
        for part in PARTS {
            println!("{address} {part}");
            let output = output(daemon.run(&[word(client()), address, port, part]));
            assert!(output.status.success(), "{address} {part}");
        }
    }
    for part in ["refused", "nonblocking-refused"] {
        let output = output(daemon.run(&[word(client()), "127.0.0.1", "5999", part]));
        assert!(output.status.success(), "{part}");
    }
}

#[test]
fn datagrams_above_a_lower_path_mtu_are_refused_over_the_daemon() {
    let name = "daemon::datagrams_above_a_lower_path_mtu_are_refused_over_the_daemon";
    if !is_inside(name, "") {
        return;
    }
    let daemon = Daemon::start("narrow", OPEN);
    let listener = [word(server()), "127.0.0.1", "5001", "1", "-"];
    let listener = Running::start(daemon.run(&listener));
    listener.wait_for("ready");
    let output = output(daemon.run(&[word(queues()), "127.0.0.1", "5001", "narrow"]));
    assert!(output.status.success());
    assert_eq!(listener.end(), Some(0));
}

/// Runs a part of `daemon.c`, which succeeds. Returns what `dccprun` and the program have written to standard error.
fn check_part(daemon: &Daemon, options: &[&str], part: &str) -> String {
    let words = [word(over_daemon()), "5001", part];
    let output = output(daemon.run(&[options, &words].concat()));
    assert!(output.status.success(), "{part}");
    String::from_utf8(output.stderr).unwrap()
}

#[test]
fn what_the_policy_refuses_is_eacces_and_explained() {
    if !is_inside(
        "daemon::what_the_policy_refuses_is_eacces_and_explained",
        "",
    ) {
        return;
    }
    let daemon = Daemon::start("denied", "[[rule]]\nusers = [\"*\"]\n");
    let explained = check_part(&daemon, &[], "denied");
    for verb in ["connect to", "listen at"] {
        let reason = format!("policy does not let this user {verb} 127.0.0.1");
        assert!(explained.contains(&reason), "{explained}");
    }
}

#[test]
fn settings_that_a_daemon_lacks_are_refused() {
    if !is_inside("daemon::settings_that_a_daemon_lacks_are_refused", "") {
        return;
    }
    check_part(&Daemon::start("lacking", OPEN), &[], "lacking");
}

#[test]
fn full_direction_does_not_stop_the_other_one() {
    if !is_inside("daemon::full_direction_does_not_stop_the_other_one", "") {
        return;
    }
    let slow = format!("{OPEN}max-rate = \"1M\"\n");
    check_part(&Daemon::start("full", &slow), &[], "full");
}

#[test]
fn connections_beyond_the_bound_wait() {
    if !is_inside("daemon::connections_beyond_the_bound_wait", "") {
        return;
    }
    let daemon = Daemon::start("bounded", OPEN);
    let explained = check_part(&daemon, &["--connections", "1"], "bounded");
    assert!(explained.contains("--connections"), "{explained}");
}

#[test]
fn killed_daemon_is_an_error_at_both_ends_and_listeners_outlive_it() {
    let name = "daemon::killed_daemon_is_an_error_at_both_ends_and_listeners_outlive_it";
    if !is_inside(name, "") {
        return;
    }
    let mut daemon = Daemon::start("killed", OPEN);
    let running = Running::start(daemon.run(&[word(over_daemon()), "5001", "killed"]));
    running.wait_for("ready");
    daemon.kill();
    running.wait_for("gone");
    daemon.restart();
    assert_eq!(running.end(), Some(0));
}

#[test]
fn listener_goes_on_once_the_policy_permits_it_again() {
    let name = "daemon::listener_goes_on_once_the_policy_permits_it_again";
    if !is_inside(name, "") {
        return;
    }
    let daemon = Daemon::start("revoked", OPEN);
    let running = Running::start(daemon.run(&[word(over_daemon()), "5001", "revoked"]));
    running.wait_for("ready");
    daemon.reload(&OPEN.replace("listen = ", "# listen = "));
    running.wait_for("gone");
    daemon.reload(OPEN);
    assert_eq!(running.end(), Some(0));
}

#[test]
fn without_a_daemon_the_program_does_not_start() {
    let mut command = dccprun(&["--daemon=/nonexistent/dccpd", "echo", "started"]);
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(125));
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!(error.lines().count(), 2, "{error}");
    assert!(error.contains("/nonexistent/dccpd"), "{error}");
    assert!(error.contains("start dccpd"), "{error}");
    assert!(output.stdout.is_empty());
}

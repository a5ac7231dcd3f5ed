//! Signals between a terminal, `dccprun` and the program, and programs that go to the background.

use crate::support::{
    Running, dccprun, eventually, free_port, listening, plugin, run_client, signals, word,
};
use rustix::process::geteuid;
use std::io::Write as _;
use std::os::unix::process::CommandExt as _;
use std::process::{Command, Stdio};

fn kill(signal: &str, id: u32) {
    let id = id.to_string();
    let status = Command::new("kill").args(["-s", signal, &id]).status();
    assert!(status.unwrap().success(), "{signal}");
}

/// Whether a process has been stopped.
fn is_stopped(id: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).unwrap();
    let (_, state) = stat.rsplit_once(") ").unwrap();
    state.starts_with('T')
}

/// Runs a program as a job of its own.
fn job(words: &[&str]) -> Command {
    let mut command = dccprun(words);
    command.process_group(0);
    command
}

#[test]
fn signal_of_the_program_to_its_group_arrives_once() {
    let output = job(&[word(signals()), "group"]).output().unwrap();
    assert!(output.status.success(), "{output:?}");
}

/// The words of a shell that runs a program under `dccprun` in its own place.
fn exec_line(words: &[&str]) -> String {
    let ordinary = dccprun(words);
    let words = [ordinary.get_program()]
        .into_iter()
        .chain(ordinary.get_args());
    let words: Vec<_> = words.map(|word| word.to_str().unwrap()).collect();
    format!("exec {}", words.join(" "))
}

#[test]
fn signal_of_another_child_goes_on_to_the_program() {
    // The child is older than the host, which takes its place.
    let line = exec_line(&["sleep", "60"]);
    let script = format!("pid=$$; (sleep 0.5; kill -TERM $pid) & {line}");
    let mut shell = Command::new("sh");
    let status = shell.args(["-c", &script]).process_group(0).status();
    assert_eq!(status.unwrap().code(), Some(128 + 15));
}

#[test]
fn program_that_goes_on_keeps_its_host_running() {
    let running = Running::start(job(&[word(signals()), "stubborn"]));
    running.wait_for("ready");
    kill("TSTP", running.id());
    running.wait_for("arrived");
    assert!(!is_stopped(running.id()));
    kill("TERM", running.id());
    assert_eq!(running.end(), Some(128 + 15));
}

#[test]
fn host_stops_and_continues_with_the_program() {
    let running = Running::start(job(&["sh", "-c", "echo ready; exec sleep 60"]));
    running.wait_for("ready");
    for _ in 0..2 {
        kill("TSTP", running.id());
        eventually("the job stops", || is_stopped(running.id()));
        kill("CONT", running.id());
        eventually("the job goes on", || !is_stopped(running.id()));
    }
    kill("TERM", running.id());
    assert_eq!(running.end(), Some(128 + 15));
}

#[test]
fn interrupt_of_the_terminal_reaches_a_program_that_has_left_its_group() {
    let mut terminal = Command::new("script");
    terminal.args(["-qec", &exec_line(&[word(signals()), "leave"]), "/dev/null"]);
    let running = Running::start_with(terminal, Stdio::piped());
    running.wait_for("ready");
    running.input().write_all(b"\x03").unwrap();
    assert_eq!(running.end(), Some(128 + 2));
}

#[test]
fn shell_sees_a_program_stop_that_stops_itself() {
    let mut terminal = Command::new("script");
    terminal.args(["-qec", "bash --norc --noprofile -i", "/dev/null"]);
    let running = Running::start_with(terminal, Stdio::piped());
    let line = exec_line(&[word(signals()), "suspend"]);
    let say = |text: &str| running.input().write_all(text.as_bytes()).unwrap();
    say(&format!("({line})\n"));
    running.wait_for("ready");
    say("\x1a");
    running.wait_for("Stopped");
    say("fg\n");
    running.wait_for("continued");
    say("exit 7\n");
    assert_eq!(running.end(), Some(7));
}

#[test]
fn first_calls_need_no_lock_of_the_loader() {
    let load = "import ctypes, sys; ctypes.CDLL(sys.argv[1])";
    let output = dccprun(&["python3", "-c", load, word(plugin())]).output();
    let output = output.unwrap();
    assert!(output.status.success(), "{output:?}");
}

/// Runs a part that becomes a server in the background, and receives what it sends.
fn check_background(part: &str) {
    let udp_port = free_port();
    let words = [word(listening()), "127.0.0.1", part];
    let server = Running::start(dccprun(&[&["--udp-port", &udp_port][..], &words].concat()));
    server.wait_for("ready");
    let words = [word(listening()), "127.0.0.1", "greeted"];
    assert!(run_client(&udp_port, &words).status.success());
    assert_eq!(server.end(), Some(0));
}

#[test]
fn server_in_the_background_may_be_late() {
    check_background("late");
}

#[test]
fn server_in_the_background_may_have_given_its_user_up() {
    if !geteuid().is_root() {
        println!("SKIP server_in_the_background_may_have_given_its_user_up: needs root");
        return;
    }
    check_background("dropped");
}

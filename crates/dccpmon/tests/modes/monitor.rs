//! `dccpmon monitor` against a server on this host.

use crate::support::{PROGRAM, Server, metrics_address, scrape};
use core::time::Duration;
use dccp_dev::openmetrics::{Family, value};
use dccpmon::schema::{Document, Status};
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// Writes the file of a monitor with one test to the server. Gives its path and the folder of its history.
fn file(name: &str, server: &Server, more: &str) -> (PathBuf, PathBuf) {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    let (path, history) = (folder.join("monitor.toml"), folder.join("history"));
    let port = &server.port;
    let text = format!(
        "[[test]]\nname = \"office\"\nhost = \"127.0.0.1\"\nevery = \"24h\"\n\
         args = [\"-p\", \"{port}\", \"-t\", \"0.3\", \"-b\", \"1M\"]\n\
         [history]\ndir = '{}'\n{more}",
        history.display()
    );
    fs::write(&path, text).unwrap();
    (path, history)
}

/// A monitor that runs until it is dropped.
pub(crate) struct Monitor {
    child: Child,
    output: BufReader<std::process::ChildStdout>,
}

impl Monitor {
    /// Starts it with metrics. `name` is that of its folder.
    pub(crate) fn start(name: &str, server: &Server) -> Self {
        let (path, _) = file(name, server, "[metrics]\nlisten = \"127.0.0.1:0\"\n");
        let mut child = Command::new(PROGRAM)
            .arg("monitor")
            .arg(path)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        Self { child, output }
    }

    pub(crate) fn metrics(&mut self) -> SocketAddr {
        metrics_address(&mut self.output)
    }

    /// Reads its output up to the result of a test.
    pub(crate) fn wait(&mut self) {
        let mut line = String::new();
        while !line.starts_with("office  ") {
            line.clear();
            assert_ne!(self.output.read_line(&mut line).unwrap(), 0);
        }
        assert!(line.starts_with("office  complete  "), "{line}");
    }
}

impl Drop for Monitor {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn monitor_stores_a_result_of_each_test() {
    let server = Server::start("udp");
    let (path, history) = file("monitor-once", &server, "");
    for runs in 1..=2 {
        let mut monitor = Command::new(PROGRAM);
        monitor.args(["monitor", "--once"]).arg(&path);
        let output = monitor.output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(text.contains("\noffice  complete  "), "{text}");
        let stored = fs::read_to_string(history.join("office.ndjson")).unwrap();
        let documents = stored
            .lines()
            .map(|line| serde_json::from_str(line).unwrap());
        let documents: Vec<Document> = documents.collect();
        assert_eq!(documents.len(), runs);
        assert!(documents.iter().all(|d| d.status == Status::Complete));
    }
    // So that a script sees a failed assertion.
    let text = fs::read_to_string(&path).unwrap();
    let text = text.replace("\"1M\"]", "\"1M\", \"--assert\", \"goodput>5M\"]");
    let asserting = path.with_file_name("asserting.toml");
    fs::write(&asserting, text).unwrap();
    let mut monitor = Command::new(PROGRAM);
    monitor.args(["monitor", "--once"]).arg(&asserting);
    let output = monitor.output().unwrap();
    assert_eq!(output.status.code(), Some(3), "{output:?}");
    drop(server);
    // A failed run is stored too, and the exit code says so.
    let mut monitor = Command::new(PROGRAM);
    let output = monitor
        .args(["monitor", "--once"])
        .arg(&path)
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(5), "{output:?}");
    let stored = fs::read_to_string(history.join("office.ndjson")).unwrap();
    let last: Document = serde_json::from_str(stored.lines().last().unwrap()).unwrap();
    assert_eq!(last.status, Status::Failed);
}

// goal 47: metrics are valid text, and a scrape starts no test.
#[test]
fn metrics_are_valid_text_and_a_scrape_starts_no_test() {
    let mut server = Server::start_with("udp", &["--metrics", "127.0.0.1:0"]);
    let mut monitor = Monitor::start("monitor-metrics", &server);
    let (of_server, of_monitor) = (server.metrics(), monitor.metrics());
    monitor.wait();
    let tests = |found: &[Family]| {
        let labels = [
            ("test", "office"),
            ("peer", "127.0.0.1"),
            ("status", "complete"),
        ];
        value(found, "dccpmon_tests_total", &labels)
    };
    for _ in 0..20 {
        assert_eq!(tests(&scrape(of_monitor)), Some(1.0));
    }
    let found = scrape(of_monitor);
    let labels = [("test", "office"), ("peer", "127.0.0.1")];
    let goodput = value(&found, "dccpmon_goodput_bits_per_second", &labels);
    assert!(goodput.is_some_and(|bps| bps > 0.0), "{goodput:?}");
    // The server counts a test when its client has said farewell.
    let complete = [("outcome", "complete")];
    let counted = (0..100).find_map(|_| {
        std::thread::sleep(Duration::from_millis(20));
        let found = scrape(of_server);
        value(&found, "dccpmon_server_tests_total", &complete).filter(|tests| *tests > 0.0)
    });
    assert_eq!(counted, Some(1.0));
}

#[test]
fn wrong_file_yields_two_lines() {
    let mut monitor = Command::new(PROGRAM);
    let output = monitor.args(["monitor", "/nowhere.toml"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(
        text.starts_with("error: /nowhere.toml cannot be read: "),
        "{text}"
    );
    assert!(
        text.ends_with("\n next: check the name of the file\n"),
        "{text}"
    );
    let output = Command::new(PROGRAM).arg("monitor").output().unwrap();
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(
        text.starts_with("error: monitor: a file is missing\n next: "),
        "{text}"
    );
}

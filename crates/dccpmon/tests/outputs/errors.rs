//! Each mistake and each failure: what it is, and what to do next.

use crate::folder;
use crate::support::{PROGRAM, Server, client, free_port, read};
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

#[track_caller]
fn assert_lines(output: &Output, code: i32, what: &str, next: &str) {
    let text = String::from_utf8_lossy(&output.stderr);
    assert_eq!(text, format!("error: {what}\n next: {next}\n"));
    assert_eq!(output.status.code(), Some(code), "{text}");
}

// goal 49: each mistake has a cause and a next step.
// goal 51: a wrong command line ends with 2.
#[test]
fn errors_are_two_lines() {
    let mistakes: [(&[&str], &str, &str); 6] = [
        (
            &["h", "--time", "5x"],
            "--time 5x: 'x' is not a unit of time",
            "write 5s, 5m or 5 (seconds)",
        ),
        (
            &["h", "--assert", "latncy<5ms"],
            "--assert latncy<5ms: there is no such figure",
            "did you mean rtt.p50? `dccpmon export --figures` lists them",
        ),
        (
            &["h", "--timee", "5"],
            "--timee: there is no such option",
            "did you mean --time?",
        ),
        (
            &["h", "-4", "-6"],
            "-4 and -6 exclude each other",
            "leave both out to use what the host's name gives",
        ),
        (
            &["serve", "--tests", "0"],
            "--tests 0: must be a whole number from 1 to 1024",
            "write for example 1",
        ),
        (
            &["compare", "a.json"],
            "compare: a file is missing",
            "`dccpmon compare --help` lists the options",
        ),
    ];
    for (words, what, next) in mistakes {
        let output = Command::new(PROGRAM).args(words).output().unwrap();
        assert_lines(&output, 2, what, next);
        assert!(output.stdout.is_empty(), "{output:?}");
    }
    // Files are opened first, so that a wrong name costs no test.
    let page = folder("pages").join("page.html");
    let page = page.to_str().unwrap();
    let files = ["h", "--save", "/nonexistent/x", "--html", page];
    let output = Command::new(PROGRAM).args(files).output().unwrap();
    assert_lines(
        &output,
        1,
        "/nonexistent/x cannot be written: No such file or directory (os error 2)",
        "check the folder and the space on the disk",
    );
    let output = Command::new(PROGRAM)
        .args(["h", "--save", page, "--html", page])
        .output()
        .unwrap();
    assert_lines(
        &output,
        2,
        "--save and --html name the same file",
        "give each a name of its own",
    );
    let missing = folder("errors").join("none.json");
    let missing = missing.to_str().unwrap();
    let output = Command::new(PROGRAM)
        .args(["export", missing])
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{text}");
    assert_eq!(text.lines().count(), 2, "{text}");
}

#[test]
fn failures_of_the_network_are_two_lines() {
    let port = free_port();
    #[cfg(target_os = "linux")]
    assert_lines(
        &client(&port, &[]).output().unwrap(),
        1,
        &format!("nothing listens at 127.0.0.1 port {port} (ICMP type 3 code 3)"),
        "start `dccpmon serve` there, or check the port",
    );
    let server = Server::start_with("udp", &["--time-limit", "3s"]);
    let port = &server.port;
    assert_lines(
        &server.test(&["--dccp-port", "9"]),
        1,
        &format!("127.0.0.1 port {port} answers, but not for DCCP port 9"),
        "start `dccpmon serve` there, or check --dccp-port",
    );
    assert_lines(
        &server.test(&["-t", "5", "--strict"]),
        4,
        "server allows 3 s (asked 5 s)",
        "ask for less, or leave --strict out",
    );
    // Its only seat is free, while the server above may still wait for the client that has just ended.
    let server = Server::start_with("udp", &["--tests", "1"]);
    let mut running = client(&server.port, &["-t", "2", "-b", "100K"]);
    let mut running = running.stdout(Stdio::null()).spawn().unwrap();
    std::thread::sleep(Duration::from_secs(1));
    assert_lines(
        &server.test(&["-t", "1"]),
        4,
        "the server is busy: 1 of 1 tests run",
        "wait until one has ended, and try again",
    );
    assert_eq!(running.wait().unwrap().code(), Some(0));
}

// goal 36: a wrong file yields a document too.
#[test]
fn wrong_files_yield_a_document() {
    for (words, code) in [
        (["--save", "/nonexistent/x"], 1),
        (["--baseline", "/nonexistent/x"], 2),
    ] {
        let output = Command::new(PROGRAM)
            .args(["h", "-J"])
            .args(words)
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(code), "{output:?}");
        let document = read(&output);
        assert_eq!(document["status"], "failed");
        assert_eq!(document["exit_code"], code);
    }
}

// The name of a file need not be a text.
#[cfg(unix)]
#[test]
fn words_that_are_no_text_are_recorded_as_well_as_possible() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt as _;
    let mut path = folder("no-text").into_os_string();
    path.push(OsStr::from_bytes(b"/\xff.json"));
    let output = Command::new(PROGRAM)
        .args(["127.0.0.1", "-p", &free_port(), "-J", "--save"])
        .arg(&path)
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let document = read(&output);
    let words = document["record"]["argv"].as_array().unwrap();
    let last = words.last().and_then(|word| word.as_str()).unwrap();
    assert!(last.ends_with("/\u{fffd}.json"), "{last}");
    assert!(Path::new(&path).exists());
}

// A full disk under the messages does not change the exit code.
#[cfg(target_os = "linux")]
#[test]
fn full_standard_error_keeps_the_exit_code() {
    let full = std::fs::File::options().write(true).open("/dev/full");
    let output = Command::new(PROGRAM)
        .args(["h", "-t", "0"])
        .stderr(full.unwrap())
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2));
}

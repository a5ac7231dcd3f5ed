//! Assertions, baselines and comparisons: their texts and exit codes.

use crate::folder;
use crate::support::{PROGRAM, Server};
use dccpmon::schema::Document;
use std::path::Path;
use std::process::{Command, Output};

fn lines(bytes: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(bytes);
    text.lines().map(str::to_owned).collect()
}

/// A run of a fixed rate, saved.
fn save(server: &Server, file: &Path, more: &[&str]) -> Output {
    let fixed = [
        "-t",
        "0.5",
        "-i",
        "0.5",
        "-b",
        "2M",
        "--save",
        file.to_str().unwrap(),
    ];
    server.test(&[&fixed, more].concat())
}

// goal 48: an assertion or a baseline that does not hold ends the program with 3.
#[test]
fn failed_assertion_ends_with_3() {
    let server = Server::start("udp");
    let scratch = folder("assert");
    let file = scratch.join("run.json");
    let output = save(
        &server,
        &file,
        &["--assert", "goodput>1M", "--assert", "loss<=100%"],
    );
    assert_eq!(output.status.code(), Some(0));
    let asserts = ["--assert", "goodput>900M", "--assert", "loss<=100%"];
    let output = server.test(&[&["-t", "0.5", "-b", "2M"], &asserts[..]].concat());
    assert_eq!(output.status.code(), Some(3));
    let text = lines(&output.stdout);
    let [.., failed, held] = text.as_slice() else {
        panic!("{text:?}");
    };
    assert!(failed.starts_with("FAIL goodput>900M: "), "{failed}");
    assert!(held.starts_with("ok   loss<=100%: "), "{held}");
    let quiet = ["-t", "0.5", "-b", "2M", "-q", "--assert", "loss<=100%"];
    let output = server.test(&quiet);
    assert_eq!(output.status.code(), Some(0));
    assert!(
        matches!(lines(&output.stdout).as_slice(), [line] if line.starts_with("ok   loss<=100%"))
    );
    let saved: Document = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    assert!(
        saved
            .assertions
            .unwrap()
            .iter()
            .all(|outcome| outcome.holds)
    );
    // A baseline with ten times the goodput.
    let mut faster = serde_json::from_slice::<Document>(&std::fs::read(&file).unwrap()).unwrap();
    let goodput = &mut faster.summary.as_mut().unwrap().goodput_bps;
    *goodput = goodput.map(|bps| bps * 10.0);
    std::fs::write(&file, serde_json::to_string(&faster).unwrap()).unwrap();
    let slow = [
        "-t",
        "0.5",
        "-i",
        "0.5",
        "-b",
        "2M",
        "-J",
        "--baseline",
        file.to_str().unwrap(),
    ];
    let output = server.test(&slow);
    assert_eq!(output.status.code(), Some(3));
    let document: Document = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(document.exit_code, 3);
    let outcomes = document.assertions.unwrap();
    assert!(
        outcomes
            .iter()
            .any(|o| !o.holds && o.text.starts_with("goodput>="))
    );
    assert!(
        lines(&output.stderr)
            .iter()
            .any(|line| line.starts_with("FAIL goodput"))
    );
    let other = server.test(&["-R", "-b", "2M", "--baseline", file.to_str().unwrap()]);
    assert_eq!(other.status.code(), Some(2));
    let shown = file.display();
    assert_eq!(
        String::from_utf8(other.stderr).unwrap(),
        format!(
            "error: --baseline {shown}: that test differs in the direction\n next: compare like with like, or save a baseline of this test\n"
        )
    );
}

#[test]
fn wrong_checks_yield_two_lines_and_code_2() {
    for (arguments, wanted) in [
        (
            &["h", "--assert", "latncy<5ms"][..],
            "error: --assert latncy<5ms: there is no such figure\n next: did you mean rtt.p50? `dccpmon export --figures` lists them\n",
        ),
        (
            &["h", "--baseline", "/no/such/file"],
            "error: /no/such/file cannot be read: No such file or directory (os error 2)\n next: check the name of the file\n",
        ),
        (
            &["h", "--baseline", "/dev/null"],
            "error: /dev/null: is no result of dccpmon (EOF while parsing a value at line 1 column 0)\n next: write one with `dccpmon HOST --save FILE`\n",
        ),
        (
            &["h", "--format", "xml"],
            "error: --format xml: there is no such choice\n next: choose one of table, live, json, json-stream, csv, gnuplot, udpmon, udpmon-rows, html, iperf3, none\n",
        ),
        (
            &["h", "-J", "--format", "csv"],
            "error: --json and --format exclude each other\n next: leave one of them out\n",
        ),
        (
            &["compare", "only-one"],
            "error: compare: a file is missing\n next: `dccpmon compare --help` lists the options\n",
        ),
    ] {
        let output = Command::new(PROGRAM).args(arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert_eq!(String::from_utf8(output.stderr).unwrap(), wanted);
    }
}

// goal 46: `compare` refuses tests of different set-ups unless it is forced.
#[test]
fn unlike_runs_are_compared_only_by_force() {
    let server = Server::start("udp");
    let scratch = folder("compare");
    let [a, b, c] = ["a", "b", "c"].map(|name| scratch.join(name));
    save(&server, &a, &[]);
    save(&server, &b, &[]);
    save(&server, &c, &["-R"]);
    let page = scratch.join("page.html");
    let compare = |files: [&Path; 2], more: &[&str]| {
        let mut command = Command::new(PROGRAM);
        command.arg("compare").args(files).args(more);
        command.output().unwrap()
    };
    let output = compare([&a, &b], &["--html", page.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(0));
    let text = lines(&output.stdout);
    assert!(
        text.iter().all(|line| line.chars().count() <= 80),
        "{text:?}"
    );
    assert!(
        text.iter().any(|line| line.starts_with("goodput ")),
        "{text:?}"
    );
    assert!(std::fs::read_to_string(&page).unwrap().contains("goodput"));
    let output = compare([&a, &c], &[]);
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(
        String::from_utf8(output.stderr).unwrap(),
        "error: the tests differ in the direction\n next: compare like with like, or add --force\n"
    );
    let output = compare([&a, &c], &["--force"]);
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(
        lines(&output.stdout)[0],
        "The tests differ in the direction."
    );
}

//! Careless commands, Ctrl-C and kills lose no results, inputs or cells of other runs.

use super::runs::{SMALL, dccplab, fresh, read, run};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread::sleep;
use std::time::Duration;

// goal 67: a run is resumed.
#[test]
fn resumed_run_plays_missing_cells_only() {
    let path = fresh("resumed.json");
    let json = path.display().to_string();
    let output = run(&["run", SMALL, "--json", &json, "--cell", "law=cubic"]);
    assert_eq!(output.status.code(), Some(0));
    let mut document = read(&path);
    assert_eq!(document["cells"].as_array().map(Vec::len), Some(1));
    // Marked, to be known again.
    document["cells"][0]["summary"]["events"] = 42.into();
    fs::write(&path, document.to_string()).expect("marked results");
    let output = run(&["run", SMALL, "--json", &json, "--resume"]);
    assert_eq!(output.status.code(), Some(0));
    let resumed = read(&path);
    let events = |n: usize| resumed["cells"][n]["summary"]["events"].as_u64();
    assert_eq!(resumed["cells"].as_array().map(Vec::len), Some(3));
    assert_eq!(events(1), Some(42), "kept");
    assert!(events(0) > Some(42) && events(2) > Some(42), "played");
}

/// The error of a run that is refused.
fn refused(words: &[&str]) -> String {
    let output = run(words);
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    String::from_utf8(output.stderr).expect("text")
}

#[test]
fn resumed_run_of_one_cell_keeps_the_others() {
    let path = fresh("parts.json");
    let json = path.display().to_string();
    let cells = || read(&path)["cells"].as_array().map(Vec::len);
    for (law, expected) in [("cubic", 1), ("reno", 2)] {
        let cell = format!("law={law}");
        let output = run(&["run", SMALL, "--json", &json, "--resume", "--cell", &cell]);
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        assert_eq!(cells(), Some(expected));
    }
    // Of another version of the scenario no cell fits.
    let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(SMALL)).expect("it");
    let other = fresh("parts.toml");
    fs::write(&other, text.replace("seed", "# Another one.\nseed")).expect("the same");
    let said = run(&[
        "run",
        &other.display().to_string(),
        "--json",
        &json,
        "--resume",
    ]);
    assert_eq!((said.status.code(), cells()), (Some(0), Some(3)));
    let changed = text.replace("9ms", "8ms");
    assert_ne!(changed, text);
    fs::write(&other, changed).expect("another one");
    let said = refused(&[
        "run",
        &other.display().to_string(),
        "--json",
        &json,
        "--resume",
    ]);
    let what = "holds cells that this scenario does not have here, which this run would replace";
    assert!(
        said.starts_with(&format!("error: {json} {what}\n")),
        "{said}"
    );
    assert_eq!(cells(), Some(3));
    let companion = PathBuf::from(format!("{json}.partial"));
    assert!(!companion.exists(), "a run that is refused leaves nothing");
}

#[test]
fn no_file_of_a_command_is_written_over_another() {
    let json = fresh("same.json").display().to_string();
    let said = refused(&["run", SMALL, "--json", &json, "--csv", &json]);
    let what = format!("error: {json}: --csv would be the same file as --json\n");
    assert_eq!(said, what + " next: name another file\n");
    let said = refused(&["run", SMALL, "--parquet", SMALL]);
    assert!(
        said.contains("the scenario would be the same file as --parquet"),
        "{said}"
    );
    let said = refused(&["agree", SMALL, SMALL]);
    assert!(said.contains("two scenarios have this name"), "{said}");
    fs::write(&json, "{}").expect("a file");
    let said = refused(&["report", &json, "--html", &json]);
    assert!(said.starts_with("error: "), "{said}");
    assert_eq!(fs::read_to_string(&json).expect("it"), "{}");
}

#[test]
fn cells_of_a_stopped_or_of_another_run_are_not_lost() {
    let path = fresh("stopped-before.json");
    let json = path.display().to_string();
    let partial = format!("{json}.partial");
    fs::write(&partial, "a line\n").expect("a file");
    let said = refused(&["run", SMALL, "--json", &json]);
    let what = format!("error: {partial} holds the finished cells of a run that was stopped\n");
    assert_eq!(said, what + " next: add --resume to go on, or remove it\n");
    let held = File::open(&partial).expect("the same file");
    held.lock().expect("another run's lock");
    let said = refused(&["run", SMALL, "--json", &json, "--resume"]);
    assert!(
        said.contains(&format!("error: {json}: another run writes this file\n")),
        "{said}"
    );
    assert_eq!(fs::read_to_string(&partial).expect("it"), "a line\n");
}

#[test]
fn resume_refuses_other_files() {
    let path = fresh("foreign.json");
    let json = path.display().to_string();
    let other = serde_json::json!({ "schema": "dccplab-result/1", "record": { "name": "other" } });
    let next = "name another file, or leave --resume out to replace this one";
    for (text, what) in [
        ("[1, 2]\n".to_owned(), "holds no results of dccplab"),
        ("{\"a\": 1}\n".to_owned(), "holds no results of dccplab"),
        (
            other.to_string(),
            "holds results of another scenario, \"other\"",
        ),
    ] {
        fs::write(&path, &text).expect("a foreign file");
        let output = run(&["run", SMALL, "--json", &json, "--resume"]);
        assert_eq!(output.status.code(), Some(2));
        let said = String::from_utf8(output.stderr).expect("text");
        assert_eq!(said, format!("error: {json} {what}\n next: {next}\n"));
        assert_eq!(fs::read_to_string(&path).expect("it"), text, "untouched");
    }
    fs::write(&path, "no JSON").expect("a foreign file");
    let output = run(&["run", SMALL, "--json", &json, "--resume"]);
    let said = String::from_utf8(output.stderr).expect("text");
    assert!(said.contains("holds no results: ") && said.ends_with(&format!(" next: {next}\n")));
    assert_eq!(fs::read_to_string(&path).expect("it"), "no JSON");
}

#[cfg(unix)]
#[test]
fn ctrl_c_keeps_finished_cells() {
    finished_cells_are_kept_at("-INT");
}

#[cfg(unix)]
#[test]
fn a_request_to_terminate_keeps_them_too() {
    finished_cells_are_kept_at("-TERM");
}

#[cfg(unix)]
fn finished_cells_are_kept_at(signal: &str) {
    let scenario = fresh(&format!("long{signal}.toml"));
    let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(SMALL)).expect("it");
    let long = text.replace("[measure]", "[measure]\nrepeat = 300");
    fs::write(&scenario, long).expect("a long scenario");
    let path = fresh(&format!("interrupted{signal}.json"));
    let (scenario, json) = (scenario.display().to_string(), path.display().to_string());
    let words = ["run", &scenario, "--json", &json];
    let mut child = dccplab(&words)
        .stdout(std::process::Stdio::null())
        .spawn()
        .expect("the program starts");
    let partial = PathBuf::from(format!("{json}.partial"));
    let has_cell = || fs::read_to_string(&partial).is_ok_and(|text| text.contains('\n'));
    while !has_cell() {
        assert!(child.try_wait().expect("a child").is_none(), "it runs");
        sleep(Duration::from_millis(20));
    }
    let pid = child.id().to_string();
    let status = Command::new("kill").args([signal, &pid]).status();
    assert!(status.expect("kill").success());
    assert_eq!(child.wait().expect("an end").code(), Some(130));
    let document = read(&path);
    assert_eq!(document["status"], "interrupted");
    assert_eq!(document["exit_code"], 130);
    let cells = document["cells"].as_array().map_or(0, Vec::len);
    assert!((1..900).contains(&cells), "{cells}");
    assert!(!partial.exists(), "its cells are in the document");
}

//! Tests that run themselves again in another process, with limits or a network of its own.

use std::env;
use std::process::Command;

use crate::shell;

/// Set in the environment of a test that runs in a namespace of its own.
const INSIDE: &str = "USRDCCP_INSIDE";

/// Runs the test `name` of this program again by means of `runner`, which gets the program and its arguments. `mark` is
/// set in its environment, so that the test recognises this run.
///
/// # Panics
/// If the test does not pass.
pub fn run(runner: &mut Command, name: &str, mark: &str) {
    let output = runner
        .arg(env::current_exe().expect("this program has a path"))
        .args([name, "--exact", "--nocapture"])
        .env(mark, "1")
        .output()
        .expect("the runner starts");
    let out = String::from_utf8_lossy(&output.stdout);
    let err = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success() && out.contains("1 passed"),
        "\n{}{}",
        quoted(&out),
        quoted(&err)
    );
}

/// Marks each line of a run inside a test, so that its results are not counted as results of other tests.
pub fn quoted(output: &str) -> String {
    output
        .lines()
        .flat_map(|line| ["  | ", line, "\n"])
        .collect()
}

/// Whether this process is in a network namespace of its own. If not, runs the test `name` again inside a new one, after
/// the shell commands `setup`. Where that cannot be, prints so. The namespace vanishes with the process.
///
/// # Panics
/// If the test does not pass there.
pub fn is_inside(name: &str, setup: &str) -> bool {
    if env::var_os(INSIDE).is_some() {
        return true;
    }
    let ways = ["unshare --net", "unshare --net --map-root-user"];
    let can = |way: &str| {
        shell::succeeds(&mut shell::command_line(&format!(
            "{way} ip link set lo up"
        )))
    };
    let Some(way) = ways.into_iter().find(|way| can(way)) else {
        println!("SKIP {name}: needs unshare and ip, and root or unprivileged user namespaces");
        return false;
    };
    let script = format!("ip link set lo up\n{setup}\nexec \"$0\" \"$@\"");
    let mut inside = shell::command_line(way);
    run(inside.args(["sh", "-ec", &script]), name, INSIDE);
    false
}

//! The output in `docs/admin.md` is that of the programs.

use crate::support::{Daemon, OPEN, exchange, is_inside};
use std::fs;
use std::process::Command;

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/admin.md");
/// The command that prints this page new.
const HINT: &str = "UPDATE=1 cargo test -p dccpd --test daemon docs";

/// Replaces the output below each `$ COMMAND` of the page.
fn with_outputs(page: &str, outputs: &[(&str, String)]) -> String {
    let mut page = page.to_owned();
    for (command, output) in outputs {
        let head = format!("```text\n$ {command}\n");
        let start = page.find(&head).expect(command) + head.len();
        let end = start + page[start..].find("```").expect(command);
        page.replace_range(start..end, output);
    }
    page
}

/// A text whose numbers, prefixes of units and spaces do not count: a busy machine has lower rates.
fn shape(text: &str) -> String {
    let plain = ["kbit", "Mbit", "Gbit"]
        .iter()
        .fold(text.to_owned(), |text, unit| text.replace(unit, "bit"));
    let digits = plain
        .chars()
        .map(|c| if c.is_ascii_digit() { '0' } else { c });
    let mut shape = String::new();
    for c in digits {
        let is_repeated = matches!(c, '0' | ' ') && shape.ends_with(c);
        if !is_repeated && c != '.' {
            shape.push(c);
        }
    }
    shape
}

#[test]
fn page_for_administrators_shows_what_the_programs_print() {
    if !is_inside("docs::page_for_administrators_shows_what_the_programs_print") {
        return;
    }
    let daemon = Daemon::start("docs", OPEN);
    let _listener = daemon.listen("0.0.0.0:0/5004").unwrap();
    let (mut client, mut server) = daemon.pair();
    for _ in 0..50 {
        exchange(&mut client, &mut server);
    }
    let example = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../contrib/dccpd/dccpd.toml"
    );
    let mut check = Command::new(env!("CARGO_BIN_EXE_dccpd"));
    let checked = check.arg("check").arg(example).output().unwrap();
    let checked = String::from_utf8(checked.stdout).unwrap();
    let checked = checked.replace(example, "/etc/dccpd.toml");

    // The user of the tests is called alice here.
    let user = Command::new("id").arg("-un").output().unwrap().stdout;
    let user = String::from_utf8(user).unwrap();
    let user = user.trim();
    let connections = daemon.show(&["connections"]);
    let connections = connections.replace(&format!("  {user} ("), "  alice (");
    let listeners = daemon
        .show(&["listeners"])
        .replace(&format!("  {user} "), "  alice ");
    let counters = daemon.show(&["counters"]);
    let counters = counters
        .lines()
        .filter(|line| line.starts_with("datagrams"));
    let counters: Vec<&str> = counters.collect();
    let outputs = [
        ("dccpd check /etc/dccpd.toml", checked),
        ("dccpctl connections", connections),
        ("dccpctl listeners", listeners),
        (
            "dccpctl counters | grep ^datagrams",
            counters.join("\n") + "\n",
        ),
    ];
    let page = fs::read_to_string(PAGE).unwrap();
    let new = with_outputs(&page, &outputs);
    if std::env::var_os("UPDATE").is_some() {
        fs::write(PAGE, &new).unwrap();
        return;
    }
    println!("{new}");
    assert!(shape(&page) == shape(&new), "renew docs/admin.md: {HINT}");
}

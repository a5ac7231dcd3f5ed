//! The systemd units and the configuration files beside them.

use crate::support::{PROGRAM, Side};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const LISTEN: &str = include_str!("../../../../contrib/systemd/dccp-bridge-listen@.service");
const CONNECT: &str = include_str!("../../../../contrib/systemd/dccp-bridge-connect@.service");
const ENCODER: &str = include_str!("../../../../contrib/bridge/encoder.toml");
const PLAYER: &str = include_str!("../../../../contrib/bridge/player.toml");

/// Copies of the units that start the program under test, because systemd checks that the program exists.
fn copies(folder: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(folder);
    fs::create_dir_all(&folder).unwrap();
    let units = [("listen", LISTEN), ("connect", CONNECT)];
    let copies = units.map(|(side, unit)| {
        let start = format!("ExecStart=/usr/bin/dccp-bridge {side} --config ");
        let text = unit.replace(&start, &format!("ExecStart={PROGRAM} {side} --config "));
        assert_ne!(text, unit);
        let path = folder.join(format!("dccp-bridge-{side}@test.service"));
        fs::write(&path, text).unwrap();
        path
    });
    copies.into()
}

/// Runs systemd-analyze for each unit; false if it is not installed. `rejects` finds what is wrong in its output.
fn analyze(folder: &str, words: &[&str]) -> bool {
    for unit in copies(folder) {
        let analysis = Command::new("systemd-analyze")
            .args(words)
            .arg(&unit)
            .output();
        let Ok(output) = analysis else {
            println!("SKIP {folder}: needs systemd-analyze");
            return false;
        };
        let text = [output.stdout, output.stderr].concat();
        let text = String::from_utf8_lossy(&text).into_owned();
        assert!(output.status.success(), "{text}");
        // An unknown key is only a warning.
        assert!(!text.contains("Unknown"), "{text}");
    }
    true
}

#[test]
fn units_are_valid() {
    analyze("units_are_valid", &["--man=no", "verify"]);
}

#[test]
fn units_give_few_rights() {
    // The threshold is an exposure of 1.5 of 10.
    let words = ["security", "--offline=true", "--threshold=15"];
    analyze("units_give_few_rights", &words);
}

/// Starts a side with a file like that of `text`, with ports that are free and rates in a folder of the test.
fn start(side: &str, text: &str, changes: &[(&str, &str)]) -> Side {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("files-{side}"));
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    let mut text = text.replace("/run/dccp-bridge/connect-encoder", folder.to_str().unwrap());
    for (from, to) in changes {
        assert!(text.contains(from), "{from}");
        text = text.replace(from, to);
    }
    let file = folder.join("bridge.toml");
    fs::write(&file, text).unwrap();
    Side::start(&[side, "--config", file.to_str().unwrap()])
}

#[test]
fn programs_start_with_the_example_files() {
    let metrics = ("127.0.0.1:9235", "127.0.0.1:0");
    let at = (
        "[\"0.0.0.0:14233/5002\", \"[::]:14233/5002\"]",
        "\"127.0.0.1:0/0\"",
    );
    let player = start("listen", PLAYER, &[metrics, at]);
    let udp = ("\"127.0.0.1:5004\"", "\"127.0.0.1:0\"");
    let peer = player.place();
    let changes = [metrics, udp, ("192.0.2.10", &peer)];
    let encoder = start("connect", ENCODER, &changes);
    assert!(
        encoder.banner.ends_with(&format!("to {peer}")),
        "{}",
        encoder.banner
    );
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("files-connect");
    for file in ["rate.json", "rate.sock"] {
        assert!(folder.join(file).exists(), "{file}");
    }
}

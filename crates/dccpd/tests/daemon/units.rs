//! The systemd units.

use std::fs;
use std::path::Path;
use std::process::Command;

const UNITS: [(&str, &str); 2] = [
    (
        "dccpd.service",
        include_str!("../../../../contrib/systemd/dccpd.service"),
    ),
    (
        "dccpd.socket",
        include_str!("../../../../contrib/systemd/dccpd.socket"),
    ),
];

/// Runs systemd-analyze for a unit beside the other one. The copies start the program under test, because systemd checks
/// that the program exists.
fn analyze(folder: &str, words: &[&str], name: &str) {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(folder);
    fs::create_dir_all(&folder).unwrap();
    for (name, unit) in UNITS {
        let text = unit.replace("/usr/bin/dccpd", env!("CARGO_BIN_EXE_dccpd"));
        let text = text.replace("/usr/bin/dccpctl", env!("CARGO_BIN_EXE_dccpctl"));
        fs::write(folder.join(name), text).unwrap();
    }
    let mut analyze = Command::new("systemd-analyze");
    analyze.args(words).arg(folder.join(name));
    let Ok(output) = analyze.output() else {
        println!("SKIP {name}: needs systemd-analyze");
        return;
    };
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8_lossy(&text);
    assert!(output.status.success(), "{text}");
    // An unknown key is only a warning.
    assert!(!text.contains("Unknown"), "{text}");
}

#[test]
fn units_are_valid() {
    for (name, _) in UNITS {
        analyze("units_are_valid", &["--man=no", "verify"], name);
    }
}

#[test]
fn service_has_few_rights() {
    // The threshold is an exposure of 1.5 of 10.
    let words = ["security", "--offline=true", "--threshold=15"];
    analyze("service_has_few_rights", &words, "dccpd.service");
}

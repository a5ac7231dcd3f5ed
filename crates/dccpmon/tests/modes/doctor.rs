//! `dccpmon doctor` on this host.

use crate::support::PROGRAM;
use serde_json::Value;
use std::process::Command;

// goal 59: as text and as JSON; it changes nothing and needs no rights.
#[test]
fn doctor_shows_this_hosts_settings() {
    let output = Command::new(PROGRAM).arg("doctor").output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.starts_with("dccpmon doctor  "), "{text}");
    assert!(text.ends_with(" unknown; nothing was changed\n"), "{text}");

    let output = Command::new(PROGRAM)
        .args(["doctor", "-J"])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(document["schema"], "dccpmon-doctor/1");
    let checks = document["checks"].as_array().unwrap();
    assert!(checks.len() >= 20, "{document:#}");
    for check in checks {
        let state = check["state"].as_str().unwrap();
        assert!(["ok", "hint", "unknown"].contains(&state), "{check}");
        assert_eq!(check["value"].is_null(), state == "unknown", "{check}");
    }
}

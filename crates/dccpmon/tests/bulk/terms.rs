//! The terms of a server: the version, the key and the limits.

use crate::acker::Acker;
use crate::support::{Server, number, read};
use serde_json::json;
use std::fs;
use std::path::{Path, PathBuf};

/// A file that is removed when dropped.
pub(crate) struct KeyFile(PathBuf);

impl KeyFile {
    pub(crate) fn new(name: &str, key: &str) -> Self {
        let name = format!("dccpmon-test-{}-{name}", std::process::id());
        let path = std::env::temp_dir().join(name);
        fs::write(&path, key).unwrap();
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        }
        Self(path)
    }

    pub(crate) fn as_argument(&self) -> &str {
        Path::to_str(&self.0).unwrap()
    }
}

impl Drop for KeyFile {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

// goal 56: only clients with the key are served.
#[test]
fn wrong_key_is_refused() {
    let right = KeyFile::new("right", "0123456789abcdef");
    let wrong = KeyFile::new("wrong", "0123456789abcdeg");
    let server = Server::start_with("udp", &["--key-file", right.as_argument()]);
    let run = |more: &[&str]| {
        let output = server.test(&[&["-t", "0.3", "-b", "1M"], more].concat());
        let text = String::from_utf8(output.stderr).unwrap();
        (output.status.code(), text)
    };
    let (code, text) = run(&[]);
    assert_eq!(code, Some(4));
    assert_eq!(
        text,
        "error: the server wants a key\n next: pass --key-file FILE with the server's key\n"
    );
    let (code, text) = run(&["--key-file", wrong.as_argument()]);
    assert_eq!(code, Some(4));
    assert_eq!(
        text,
        "error: the server refused the key\n next: pass --key-file FILE with the server's key\n"
    );
    let (code, text) = run(&["--key-file", right.as_argument()]);
    assert_eq!((code, text.as_str()), (Some(0), ""));
}

// goal 56: a host that says that it has no key is not taken for the server whose key the user has.
#[test]
fn server_without_the_key_is_not_used() {
    let key = KeyFile::new("own", "0123456789abcdef");
    let server = Server::start("udp");
    let output = server.test(&["-t", "0.3", "-b", "1M", "--key-file", key.as_argument()]);
    assert_eq!(output.status.code(), Some(1));
    let text = String::from_utf8(output.stderr).unwrap();
    assert_eq!(
        text,
        "error: the server asks for no key, so it does not show that it has yours\n \
         next: check that this host is the server that you mean, or leave --key-file out\n"
    );
}

// goal 56: the server's limits are lower than what was asked for, and the client says so.
#[test]
fn limits_are_lowered_and_shown() {
    let server = Server::start_with("udp", &["--time-limit", "1s", "--rate-limit", "2M"]);
    let output = server.test(&["-t", "5", "-J", "-P", "2"]);
    assert_eq!(output.status.code(), Some(0));
    let document = read(&output);
    let text = String::from_utf8(output.stderr).unwrap();
    assert_eq!(
        text,
        "note: server allows 1 s (asked 5 s)\n\
         note: server allows 1.00 Mbit/s per flow (asked no limit)\n"
    );
    assert!(number(&document["summary"]["duration_ns"]) < 2_000_000_000);
    assert_eq!(document["requested"]["duration_ns"], 5_000_000_000_u64);
    let granted = &document["granted"];
    assert_eq!(granted["duration_ns"], 1_000_000_000);
    assert_eq!(granted["rate_bps"], 1_000_000);
    assert_eq!(granted["limits"]["rate_bps"], 2_000_000);
    assert_eq!(granted["lowered"].as_array().unwrap().len(), 2);
    let output = server.test(&["-t", "5", "--strict"]);
    assert_eq!(output.status.code(), Some(4));
    let text = String::from_utf8(output.stderr).unwrap();
    assert_eq!(
        text,
        "error: server allows 1 s (asked 5 s)\n next: ask for less, or leave --strict out\n"
    );
}

// goal 58: the refusal names the versions of both ends.
#[test]
fn other_versions_are_refused() {
    let server = Server::start("udp");
    let mut newer = Acker::connect(&server, 2);
    newer.say(&json!({
        "message": "hello", "protocol": {"min": 3, "max": 4}, "program": "9", "nonce": "0".repeat(32),
    }));
    let refused = newer.hear("refused");
    assert_eq!(refused["code"], "version");
    assert_eq!(
        refused["reason"],
        "the server speaks version 2 of the protocol, this program versions 3 to 4"
    );
    // Programs before version 2 began with the request.
    let mut older = Acker::connect(&server, 2);
    older.say(&json!({"message": "setup", "version": "0.1.0", "flows": 1}));
    let refused = older.hear("refused");
    assert_eq!(refused["code"], "version");
    assert_eq!(refused["next"], "install the same version at both ends");
}

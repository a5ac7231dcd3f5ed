//! Errors of the program: two lines and an exit code.

use crate::support::PROGRAM;
use std::net::UdpSocket;
use std::process::Command;

/// Runs the program, which must fail. Returns its exit code and what it printed.
fn fails(words: &[&str]) -> (i32, String) {
    let output = Command::new(PROGRAM).args(words).output().unwrap();
    let text = String::from_utf8(output.stderr).unwrap();
    assert_eq!(text.lines().count(), 2, "{text}");
    assert!(
        text.starts_with("error: ") && text.contains("\n next: "),
        "{text}"
    );
    (output.status.code().unwrap(), text)
}

#[test]
fn address_that_is_taken_is_named() {
    let taken = UdpSocket::bind("127.0.0.1:0").unwrap();
    let at = taken.local_addr().unwrap().to_string();
    let words = ["connect", "--udp", &at, "--peer", "127.0.0.1"];
    let (code, text) = fails(&words);
    assert_eq!(code, 1);
    assert!(
        text.contains(&format!("--udp {at}: cannot be opened")),
        "{text}"
    );
    let place = format!("{at}/5002");
    let (code, text) = fails(&["listen", "--at", &place, "--udp", "127.0.0.1:9"]);
    assert_eq!(code, 1);
    assert!(text.contains(&format!("--at {place}: ")), "{text}");
}

#[test]
fn wrong_addresses_are_errors_of_the_command_line() {
    let udp = ["connect", "--udp", "127.0.0.1:0", "--peer"];
    for peer in ["127.0.0.1:x", "127.0.0.1:99999/5", "127.0.0.1/x"] {
        let (code, text) = fails(&[&udp[..], &[peer]].concat());
        assert_eq!(code, 2, "{text}");
        assert!(text.contains(&format!("--peer {peer}: ")), "{text}");
    }
    let (code, text) = fails(&["listen", "--at", "here/5", "--udp", "127.0.0.1:9"]);
    assert!(code > 0 && text.contains("--at here/5: "), "{text}");
}

#[test]
fn places_of_rates_that_cannot_be_opened_are_named() {
    let udp = ["connect", "--udp", "127.0.0.1:0", "--peer", "127.0.0.1"];
    for (option, place, what) in [
        ("--rate-file", "no/such/folder", "cannot be written"),
        ("--rate-socket", "no/such/folder", "cannot be opened"),
        ("--rate-socket", "Cargo.toml", "is there and is no socket"),
        ("--metrics", "192.0.2.1:9", "cannot be opened"),
    ] {
        let (code, text) = fails(&[&udp[..], &[option, place]].concat());
        assert_eq!(code, 1, "{text}");
        assert!(text.contains(what), "{option} {place}: {text}");
    }
}

#[test]
fn help_and_pages_exist() {
    let help = Command::new(PROGRAM).arg("--help").output().unwrap();
    assert!(help.status.success());
    assert!(String::from_utf8(help.stdout).unwrap().contains("listen"));
    for shell in ["bash", "zsh", "fish"] {
        let script = Command::new(PROGRAM).args(["completions", shell]).output();
        let script = script.unwrap();
        assert!(script.status.success());
        assert!(
            String::from_utf8(script.stdout)
                .unwrap()
                .contains("max-age")
        );
    }
    let folder = std::env::temp_dir().join(format!("dccp-bridge-man-{}", std::process::id()));
    let man = Command::new(PROGRAM).arg("man").arg(&folder).output();
    assert!(man.unwrap().status.success());
    for page in [
        "dccp-bridge.1",
        "dccp-bridge-listen.1",
        "dccp-bridge-connect.1",
    ] {
        assert!(folder.join(page).is_file(), "{page}");
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

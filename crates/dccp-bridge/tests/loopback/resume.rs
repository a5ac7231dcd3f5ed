//! One side is killed and starts again.

use crate::support::{Bridge, Side, app, ask, echo, settle, start_connect};

#[test]
fn flows_resume_after_the_listening_side_was_killed() {
    let target = echo("127.0.0.1");
    let Bridge { listen, connect } = Bridge::start(target, &[], &[]);
    let (first, second) = (app("127.0.0.1"), app("127.0.0.1"));
    let at = connect.udp();
    ask(&first, at, b"first");
    ask(&second, at, b"second");
    let place = listen.place();
    listen.kill();
    settle(&first);
    first.send_to(b"into the void", at).unwrap();
    let words = ["listen", "--at", &place, "--udp", &target.to_string()];
    let _listen = Side::start(&words);
    assert!(!ask(&first, at, b"first again").is_empty());
    assert!(!ask(&second, at, b"second again").is_empty());
    connect.wait_for(" ended: ");
    connect.wait_for("connected to");
}

#[test]
fn flows_resume_after_the_connecting_side_was_killed() {
    let target = echo("127.0.0.1");
    let Bridge { listen, connect } = Bridge::start(target, &["--idle", "3s"], &[]);
    let socket = app("127.0.0.1");
    let at = connect.udp();
    ask(&socket, at, b"first");
    connect.kill();
    let connect = start_connect(&at.to_string(), &listen.place(), &[]);
    settle(&socket);
    assert!(!ask(&socket, at, b"again").is_empty());
    connect.wait_for("flow 1 (");
    // The flow of the killed program has no traffic any more.
    listen.wait_for("flow 1 ");
    let ended = listen.wait_for("ended: ");
    assert!(ended.starts_with("flow 1 "), "{ended}");
}

#[test]
fn flow_connects_when_the_listening_side_starts_later() {
    let target = echo("127.0.0.1");
    let Bridge { listen, connect } = Bridge::start(target, &[], &[]);
    let place = listen.place();
    listen.kill();
    let (socket, at) = (app("127.0.0.1"), connect.udp());
    socket.send_to(b"nobody listens", at).unwrap();
    let line = connect.wait_for("no connection to");
    assert!(line.ends_with("; next attempt after 0.25 s"), "{line}");
    let _listen = Side::start(&["listen", "--at", &place, "--udp", &target.to_string()]);
    assert_eq!(ask(&socket, at, b"now it does"), b"now it does");
}

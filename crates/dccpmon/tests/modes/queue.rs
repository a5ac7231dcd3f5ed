//! Clients that wait while a server is busy.

use crate::support::{Server, client};
use std::process::Stdio;

// goal 55: a client with --wait learns its position, and its test runs when a seat is free.
#[test]
fn patient_client_waits_in_the_queue() {
    let server = Server::start_with("udp", &["--tests", "1", "--queue", "3"]);
    let mut first = client(&server.port, &["--wait", "-t", "2", "-b", "1M"]);
    let mut first = first.stdout(Stdio::null()).spawn().unwrap();
    // The seat is taken when a client without --wait is refused.
    let refused = (0..20).find_map(|_| {
        let refused = server.test(&["-t", "0.1", "-b", "1M"]);
        (refused.status.code() == Some(4)).then_some(refused)
    });
    let text = String::from_utf8(refused.unwrap().stderr).unwrap();
    let next = " next: try again, or wait in its queue with --wait\n";
    assert!(text.ends_with(next), "{text}");

    let patient = server.test(&["--wait", "-t", "0.3", "-b", "1M"]);
    assert_eq!(patient.status.code(), Some(0), "{patient:?}");
    let notes = String::from_utf8(patient.stderr).unwrap();
    let last = "note: position 1 in the server's queue\n";
    assert!(notes.ends_with(last), "{notes}");
    assert_eq!(first.wait().unwrap().code(), Some(0));
}

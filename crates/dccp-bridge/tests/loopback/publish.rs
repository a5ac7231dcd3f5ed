//! Rates for encoders: a file, a Unix socket, and metrics.

use crate::support::{Bridge, PATIENCE, app, ask, echo, metric};
use std::io::{BufRead as _, BufReader};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;

/// A path below the temporary folder, which is free.
fn path(name: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!("dccp-bridge-{}-{name}", std::process::id()));
    let _ = std::fs::remove_file(&path);
    path
}

#[test]
fn rates_are_published_in_three_forms() {
    let (file, socket) = (path("rates.json"), path("rates.sock"));
    let [file_word, socket_word] = [&file, &socket].map(|path| path.to_str().unwrap());
    let words = [
        "--rate-file",
        file_word,
        "--rate-socket",
        socket_word,
        "--metrics",
        "127.0.0.1:0",
    ];
    let bridge = Bridge::start(echo("127.0.0.1"), &[], &words);
    let metrics = bridge.connect.metrics_address();
    let empty = std::fs::read_to_string(&file).unwrap();
    assert_eq!(empty, "{\"allowed_bps\":null,\"flows\":[]}\n");

    let mut client = BufReader::new(UnixStream::connect(&socket).unwrap());
    client.get_ref().set_read_timeout(Some(PATIENCE)).unwrap();
    ask(&app("127.0.0.1"), bridge.connect.udp(), b"datagram");
    let mut line = String::new();
    while !line.contains("\"level\":\"clear\"") {
        line.clear();
        assert!(
            client.read_line(&mut line).unwrap() > 0,
            "the socket stays open"
        );
    }
    let rate = metric(metrics, "allowed_bits_per_second", ("flow", "0"), 1.0);
    assert!(rate > 0.0);
    metric(metrics, "datagrams_total", ("direction", "to_peer"), 1.0);
    metric(metrics, "datagrams_total", ("direction", "to_app"), 1.0);
    let text = std::fs::read_to_string(&file).unwrap();
    let whole = text.starts_with("{\"allowed_bps\":") && text.ends_with("}\n");
    assert!(whole, "{text}");
}

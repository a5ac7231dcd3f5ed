//! Clients of the server, honest and hostile, over loopback.

#![expect(clippy::unwrap_used, reason = "helpers of tests may panic as tests do")]

use core::net::SocketAddr;
use core::time::Duration;
use dccp_dev::openmetrics::{self, Family, value};
use dccp_metrics::Server;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family as Labelled;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::Registry;
use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::thread;

/// Longer than any time that the server allows.
const PATIENCE: Duration = Duration::from_secs(20);

fn start(registry: Registry) -> Server {
    Server::start(([127, 0, 0, 1], 0).into(), registry).unwrap()
}

fn connect(server: &Server) -> TcpStream {
    let stream = TcpStream::connect(server.local_addr()).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream
}

/// Everything that arrives until the server closes; an error if it does so with a reset.
fn rest(stream: &mut TcpStream) -> std::io::Result<String> {
    let mut text = String::new();
    stream.read_to_string(&mut text)?;
    Ok(text)
}

fn get(server: &Server, path: &str) -> String {
    let mut stream = connect(server);
    write!(stream, "GET {path} HTTP/1.1\r\nHost: a\r\n\r\n").unwrap();
    rest(&mut stream).unwrap()
}

fn scrape(server: &Server) -> Vec<Family> {
    let response = get(server, "/metrics");
    let (head, body) = response.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("HTTP/1.1 200 OK\r\n"), "{head}");
    openmetrics::parse(body).unwrap()
}

#[test]
fn scrape_is_valid_text_with_the_values_of_now() {
    let tests = Labelled::<[(&'static str, String); 2], Counter>::default();
    let goodput = Gauge::<f64, core::sync::atomic::AtomicU64>::default();
    let rtt = Histogram::new(exponential_buckets(0.001, 2.0, 10));
    let mut registry = Registry::with_prefix("example");
    registry.register("tests", "Tests that ended", tests.clone());
    registry.register("goodput_bits_per_second", "Last result", goodput.clone());
    registry.register("rtt_seconds", "Round trips", rtt.clone());
    let server = start(registry);

    let labels = |peer: &str| [("status", "ok".into()), ("peer", peer.into())];
    let strange = "a \"b\" \\ c\nexample_tests_total 9 {}";
    tests.get_or_create(&labels("h")).inc();
    tests.get_or_create(&labels(strange)).inc_by(2);
    goodput.set(1.5e9);
    for seconds in [0.0005, 0.01, 100.0] {
        rtt.observe(seconds);
    }
    let found = scrape(&server);
    let count = |peer| {
        value(
            &found,
            "example_tests_total",
            &[("status", "ok"), ("peer", peer)],
        )
    };
    assert_eq!(count("h"), Some(1.0));
    assert_eq!(count(strange), Some(2.0));
    assert_eq!(
        value(&found, "example_goodput_bits_per_second", &[]),
        Some(1.5e9)
    );
    assert_eq!(value(&found, "example_rtt_seconds_count", &[]), Some(3.0));
    let buckets = found.iter().flat_map(|family| &family.samples);
    assert_eq!(
        buckets.filter(|s| s.labels.contains_key("le")).count(),
        11,
        "ten buckets and +Inf"
    );

    tests.get_or_create(&labels("h")).inc();
    let found = scrape(&server);
    let labels = [("status", "ok"), ("peer", "h")];
    assert_eq!(value(&found, "example_tests_total", &labels), Some(2.0));
}

#[test]
fn health_and_refusals_are_answered() {
    let server = start(Registry::default());
    assert!(get(&server, "/health").ends_with("\r\n\r\nok\n"));
    assert!(get(&server, "/").starts_with("HTTP/1.1 404 "));
    let mut stream = connect(&server);
    stream
        .write_all(b"DELETE /metrics HTTP/1.1\r\n\r\n")
        .unwrap();
    let refused = rest(&mut stream).unwrap();
    assert!(refused.starts_with("HTTP/1.1 405 "), "{refused}");
    assert!(refused.contains("\r\nAllow: GET\r\n"), "{refused}");
}

#[test]
fn long_response_arrives_whole_at_a_slow_reader() {
    let many = Labelled::<[(&'static str, u32); 1], Gauge>::default();
    for number in 0..50_000 {
        many.get_or_create(&[("number", number)]).set(1);
    }
    let mut registry = Registry::default();
    registry.register("many", "Many series", many);
    let server = start(registry);
    let mut stream = connect(&server);
    stream.write_all(b"GET /metrics HTTP/1.1\r\n\r\n").unwrap();
    thread::sleep(Duration::from_millis(200));
    let response = rest(&mut stream).unwrap();
    let (head, body) = response.split_once("\r\n\r\n").unwrap();
    let length = format!("\r\nContent-Length: {}\r\n", body.len());
    assert!(head.contains(&length), "{head}");
    let families = openmetrics::parse(body).unwrap();
    assert_eq!(families[0].samples.len(), 50_000);
}

#[test]
fn slow_request_is_closed_and_hinders_no_scrape() {
    let server = start(Registry::default());
    let mut slow = connect(&server);
    let still_open = |stream: &mut TcpStream| {
        stream
            .set_read_timeout(Some(Duration::from_millis(100)))
            .unwrap();
        match stream.read(&mut [0]) {
            Ok(len) => {
                assert_eq!(len, 0, "a response to half a request");
                false
            }
            Err(e) => matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut),
        }
    };
    // The server allows 2 s. The loop allows 20 s because the machine may be busy.
    let mut rounds = 0;
    while rounds < 200 && slow.write_all(b"x").is_ok() && still_open(&mut slow) {
        assert!(scrape(&server).is_empty());
        rounds += 1;
    }
    assert!(rounds < 200, "the server waits for ever");
}

#[test]
fn long_head_is_refused_with_a_response() {
    let server = start(Registry::default());
    let mut stream = connect(&server);
    stream.write_all(b"GET /metrics HTTP/1.1\r\nA: ").unwrap();
    // Some of it arrives after the response: that must not destroy it.
    stream.write_all("x".repeat(20_000).as_bytes()).unwrap();
    let refused = rest(&mut stream).unwrap();
    assert!(refused.starts_with("HTTP/1.1 431 "), "{refused}");
}

#[test]
fn silent_connections_of_one_source_do_not_block_a_scrape() {
    let server = start(Registry::default());
    let mut silent = Vec::new();
    for _ in 0..100 {
        silent.push(connect(&server));
        if silent.len() % 10 == 0 {
            assert!(scrape(&server).is_empty());
        }
    }
}

/// On Linux every address of 127.0.0.0/8 is this host.
#[cfg(target_os = "linux")]
#[test]
fn many_connections_of_one_source_close_none_of_another() {
    let server = start(Registry::default());
    let mut honest = connect(&server);
    honest.write_all(b"GET /health HT").unwrap();
    let other_source = SocketAddr::from(([127, 0, 0, 2], 0));
    let mut hostile = Vec::new();
    for _ in 0..100 {
        let socket =
            socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None).unwrap();
        socket.bind(&other_source.into()).unwrap();
        socket.connect(&server.local_addr().into()).unwrap();
        hostile.push(socket);
    }
    // The server accepts in order, so a response to the newest shows that it has seen all.
    let mut newest = TcpStream::from(hostile.pop().unwrap());
    newest.set_read_timeout(Some(PATIENCE)).unwrap();
    newest.write_all(b"GET /health HTTP/1.1\r\n\r\n").unwrap();
    assert!(rest(&mut newest).unwrap().ends_with("ok\n"));
    honest.write_all(b"TP/1.1\r\n\r\n").unwrap();
    assert!(rest(&mut honest).unwrap().ends_with("ok\n"));
    // The oldest of the hostile ones was closed.
    let mut oldest = TcpStream::from(hostile.swap_remove(0));
    oldest.set_nonblocking(true).unwrap();
    let read = oldest.read(&mut [0]);
    let is_closed = match &read {
        Ok(len) => *len == 0,
        Err(e) => e.kind() == ErrorKind::ConnectionReset,
    };
    assert!(is_closed, "{read:?}");
}

#[test]
fn dropped_server_gives_its_port_and_connections_back() {
    let server = start(Registry::default());
    let at = server.local_addr();
    let mut open = connect(&server);
    drop(server);
    assert_eq!(rest(&mut open).unwrap_or_default(), "");
    assert!(TcpStream::connect(at).is_err());
    let again = Server::start(at, Registry::default()).unwrap();
    assert!(scrape(&again).is_empty());
}

#[test]
fn address_in_use_is_an_error() {
    let first = start(Registry::default());
    let second = Server::start(first.local_addr(), Registry::default());
    assert_eq!(second.unwrap_err().kind(), ErrorKind::AddrInUse);
}

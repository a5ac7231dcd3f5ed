//! Datagrams that a bridge carries, and those that it drops.

use crate::support::{Bridge, Side, app, ask, echo, metric, settle};
use core::time::Duration;
use socket2::SockRef;
use std::net::UdpSocket;

/// Sends datagrams of these lengths, each with a number, and checks that they come back as they are.
fn exchange(bridge: &Bridge, ip: &str) {
    let at = bridge.connect.udp();
    let socket = app(ip);
    ask(&socket, at, b"first");
    settle(&socket);
    socket
        .set_read_timeout(Some(Duration::from_secs(30)))
        .unwrap();
    let mut buf = [0; 2048];
    for (number, len) in (0u8..).zip([1, 20, 1000, 1, 1400, 1400, 2, 0, 600]) {
        let datagram = vec![number; len];
        socket.send_to(&datagram, at).unwrap();
        let (got, from) = socket.recv_from(&mut buf).unwrap();
        assert_eq!(from, at);
        assert_eq!(buf[..got], datagram, "datagram {number}");
    }
}

#[test]
fn datagrams_pass_unchanged_with_each_ccid() {
    for ccid in ["2", "3", "4"] {
        let bridge = Bridge::start(echo("127.0.0.1"), &[], &["--ccid", ccid]);
        exchange(&bridge, "127.0.0.1");
    }
}

#[test]
fn datagrams_pass_with_a_law_on_each_side() {
    let law = ["--law", "cubic"];
    let bridge = Bridge::start(echo("127.0.0.1"), &law, &law);
    exchange(&bridge, "127.0.0.1");
}

#[test]
fn ipv6_is_carried_as_ipv4_is() {
    if UdpSocket::bind("[::1]:0").is_err() {
        println!("SKIP ipv6_is_carried_as_ipv4_is: this host has no IPv6");
        return;
    }
    let bridge = Bridge::start(echo("[::1]"), &[], &[]);
    exchange(&bridge, "[::1]");
}

#[test]
fn hundred_flows_stay_apart() {
    let bridge = Bridge::start(echo("127.0.0.1"), &[], &[]);
    let at = bridge.connect.udp();
    let apps: Vec<UdpSocket> = (0..100).map(|_| app("127.0.0.1")).collect();
    for round in 0..3 {
        for (number, app) in apps.iter().enumerate() {
            let question = format!("{round}:{number}");
            let answer = ask(app, at, question.as_bytes());
            assert!(
                answer.ends_with(format!(":{number}").as_bytes()),
                "{answer:?}"
            );
        }
    }
}

#[test]
fn flow_beyond_the_limit_is_dropped_and_reported() {
    let connect = ["--max-flows", "1", "--metrics", "127.0.0.1:0"];
    let bridge = Bridge::start(echo("127.0.0.1"), &[], &connect);
    let metrics = bridge.connect.metrics_address();
    let (first, second) = (app("127.0.0.1"), app("127.0.0.1"));
    let at = bridge.connect.udp();
    ask(&first, at, b"first");
    second.send_to(b"second", at).unwrap();
    metric(metrics, "dropped_total", ("reason", "no_flow"), 1.0);
    bridge
        .connect
        .wait_for("datagrams of further programs were dropped: --max-flows 1");
}

#[test]
fn listening_side_refuses_connections_beyond_the_limit() {
    let bridge = Bridge::start(echo("127.0.0.1"), &["--max-flows", "1"], &[]);
    let (first, second) = (app("127.0.0.1"), app("127.0.0.1"));
    let at = bridge.connect.udp();
    ask(&first, at, b"first");
    second.send_to(b"second", at).unwrap();
    bridge
        .listen
        .wait_for("connections were refused: --max-flows 1");
    ask(&first, at, b"still there");
}

#[test]
fn datagram_larger_than_a_packet_is_counted_and_reported() {
    let bridge = Bridge::start(echo("127.0.0.1"), &[], &["--metrics", "127.0.0.1:0"]);
    let metrics = bridge.connect.metrics_address();
    let (socket, at) = (app("127.0.0.1"), bridge.connect.udp());
    ask(&socket, at, b"first");
    for _ in 0..5 {
        socket.send_to(&[7; 9_000], at).unwrap();
    }
    metric(metrics, "dropped_total", ("reason", "too_big"), 5.0);
    let line = bridge
        .connect
        .wait_for("are larger than the path's packets");
    assert!(line.contains("the last has 9000 bytes"), "{line}");
    ask(&socket, at, b"small ones pass");
    let lines = bridge.connect.lines();
    let reports = lines.iter().filter(|line| line.contains("are larger"));
    assert!(reports.count() <= 1, "{lines:?}");
}

#[test]
fn idle_flow_ends_and_begins_again() {
    let idle = ["--idle", "500ms"];
    let bridge = Bridge::start(echo("127.0.0.1"), &[], &idle);
    let (socket, at) = (app("127.0.0.1"), bridge.connect.udp());
    ask(&socket, at, b"first");
    bridge.connect.wait_for("flow 1 (127.0.0.1:");
    bridge.connect.wait_for("ended: idle for 0.5 s");
    bridge.listen.wait_for("ended: ");
    settle(&socket);
    ask(&socket, at, b"again");
    bridge.connect.wait_for("flow 2 (127.0.0.1:");
}

#[test]
fn flow_of_a_listening_side_ends_when_it_is_idle() {
    let bridge = Bridge::start(echo("127.0.0.1"), &["--idle", "500ms"], &[]);
    let (socket, at) = (app("127.0.0.1"), bridge.connect.udp());
    ask(&socket, at, b"first");
    bridge.listen.wait_for("ended: idle for 0.5 s");
    settle(&socket);
    ask(&socket, at, b"again");
}

#[test]
fn ecn_of_applications_ends_at_the_bridge() {
    let receiver = app("127.0.0.1");
    SockRef::from(&receiver).set_recv_tos_v4(true).unwrap();
    let target = receiver.local_addr().unwrap();
    let bridge = Bridge::start(target, &[], &["--metrics", "127.0.0.1:0"]);
    let metrics = bridge.connect.metrics_address();
    let (socket, at) = (app("127.0.0.1"), bridge.connect.udp());
    let tos = SockRef::from(&socket);
    // The handshake is over before the datagrams that count.
    tos.set_tos_v4(0).unwrap();
    socket.send_to(b"first", at).unwrap();
    let mut buf = [0; 100];
    assert_eq!(receiver.recv(&mut buf).unwrap(), 5);
    // A mark of congestion cannot be handed on, so the datagram is lost instead.
    for (ecn, text) in [(2, b"ect 0"), (3, b"marks"), (1, b"ect 1")] {
        tos.set_tos_v4(ecn).unwrap();
        socket.send_to(text, at).unwrap();
    }
    for text in [b"ect 0", b"ect 1"] {
        assert_eq!(receiver.recv(&mut buf).unwrap(), 5);
        assert_eq!(&buf[..5], text);
    }
    metric(metrics, "dropped_total", ("reason", "congestion_mark"), 1.0);
}

#[test]
fn bridge_needs_no_root() {
    use std::os::unix::fs::PermissionsExt as _;
    use std::os::unix::process::CommandExt as _;
    if !dccp_dev::shell::is_root() {
        // Then all other tests have shown it.
        return;
    }
    let folder = std::env::temp_dir().join(format!("dccp-bridge-{}", std::process::id()));
    std::fs::create_dir(&folder).unwrap();
    let program = folder.join("dccp-bridge");
    // A copy by this process could not be started while another test's child has its descriptor.
    let mut install = std::process::Command::new("install");
    let installed = install.arg(crate::support::PROGRAM).arg(&program).status();
    assert!(installed.unwrap().success());
    for path in [&folder, &program] {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    let start = |words: &[&str]| {
        let mut command = std::process::Command::new(&program);
        command.args(words).uid(65_534).gid(65_534);
        Side::spawn(command)
    };
    let target = echo("127.0.0.1").to_string();
    let listen = start(&["listen", "--at", "127.0.0.1:0/0", "--udp", &target]);
    let connect = start(&["connect", "--udp", "127.0.0.1:0", "--peer", &listen.place()]);
    let bridge = Bridge { listen, connect };
    exchange(&bridge, "127.0.0.1");
    std::fs::remove_dir_all(&folder).unwrap();
}

//! The policy: what it permits, refuses and caps.

use crate::support::{Daemon, OPEN, SHAPE, eventually, exchange, is_inside, refusal};
use dccp::packet_ring::{Label, Shape};
use dccp::{Encapsulation, clock};
use dccp_ring_ipc::{RingClient, RingListenRequest, RingRequest};
use std::process::Command;
use std::time::Duration;

#[test]
fn programs_connect_through_the_daemon() {
    if !is_inside("policy::programs_connect_through_the_daemon") {
        return;
    }
    let daemon = Daemon::start("connects", OPEN);
    let (mut client, mut server) = daemon.pair();
    exchange(&mut client, &mut server);
    exchange(&mut server, &mut client);
    assert_eq!(client.peer_addr().udp_port, 6511);
    assert_eq!(server.local_addr(), client.peer_addr());
    client.close(crate::support::PATIENCE).unwrap();
    let rest = daemon.end();
    assert!(rest.contains("dccpd ends"), "{rest}");
}

#[test]
fn listeners_at_several_addresses_share_the_port() {
    if !is_inside("policy::listeners_at_several_addresses_share_the_port") {
        return;
    }
    let daemon = Daemon::start("several", OPEN);
    let mut one = daemon.listen("127.0.0.1:6511/5001").unwrap();
    let _all = daemon.listen("0.0.0.0:0/5002").unwrap();
    let _six = daemon.listen("[::1]:0/5001").unwrap();
    let mut client = daemon.connect("127.0.0.1:6511/5001").unwrap();
    exchange(&mut client, &mut one.accept().unwrap());
    drop(daemon.connect("[::1]:6511/5001").unwrap());
    drop(daemon.connect("127.0.0.1:6511/5002").unwrap());
    let why = refusal(daemon.listen("127.0.0.1:14233/5003"));
    assert_eq!(why, "this host listens at UDP port 6511, not 14233");
}

#[test]
fn one_address_has_as_many_connections_as_the_policy_says() {
    if !is_inside("policy::one_address_has_as_many_connections_as_the_policy_says") {
        return;
    }
    let ip = ["address", "add", "192.0.2.1/32", "dev", "lo"];
    assert!(Command::new("ip").args(ip).status().unwrap().success());
    let policy = format!("max-connections-per-address = 2\n{OPEN}");
    let daemon = Daemon::start("address", &policy);
    let _listener = daemon.listen("0.0.0.0:0/5001").unwrap();
    let connect = || daemon.connect("192.0.2.1:6511/5001");
    let _held = [connect().unwrap(), connect().unwrap()];
    // The bound counts when the handshake completes, so this one connects, and is reset.
    let reason = match connect() {
        Ok(mut client) => client.recv(&mut [0; 1400]).unwrap_err().to_string(),
        Err(error) => error.to_string(),
    };
    assert!(reason.contains("Too Busy"), "{reason}");
}

#[test]
fn requests_beyond_the_policy_are_refused() {
    if !is_inside("policy::requests_beyond_the_policy_are_refused") {
        return;
    }
    let rule = "
        [[rule]]
        users = [\"*\"]
        connect = [\"127.0.0.0/8 5001-5002\"]
        listen = [\"5001\"]
        ccids = [2]
        allowed-laws = [\"cubic\"]
        max-connections = 3
        max-ring-memory = \"1M\"
    ";
    let daemon = Daemon::start("refused", rule);
    let to = "127.0.0.1:6511/5001";
    let request = || RingRequest::new(to.parse().unwrap(), SHAPE);
    let cases: [(_, &str); 6] = [
        (
            RingRequest::new("127.0.0.1:6511/5003".parse().unwrap(), SHAPE),
            "the host's policy does not let this user connect to 127.0.0.1:6511/5003",
        ),
        (request().ccid(3), "the host's policy does not allow CCID 3"),
        (
            request().law("reno"),
            "the host's policy does not allow the law reno",
        ),
        (request().law("cubic:nothing=1"), "nothing"),
        (
            request().encapsulation(Encapsulation::Ip),
            "the host's policy does not allow DCCP over ip",
        ),
        (
            RingRequest::new(to.parse().unwrap(), Shape::new(4096, 1400)),
            "the host's policy allows 1048576",
        ),
    ];
    for (request, expected) in cases {
        let why = refusal(daemon.connect_by(&request));
        assert!(why.contains(expected), "{why}");
    }
    let why = refusal(daemon.listen("127.0.0.1:0/5002"));
    assert_eq!(
        why,
        "the host's policy does not let this user listen at 127.0.0.1:0/5002"
    );
    let many = RingListenRequest::new("127.0.0.1:0/5001".parse().unwrap(), SHAPE);
    let why = refusal(daemon.listen_to(&many));
    assert_eq!(
        why,
        "this user has 0 connections and asks for 17 more, and the host's policy allows 3"
    );
    // The share of a listener comes back when it ends.
    for _ in 0..5 {
        eventually(|| daemon.listen_to(&many.clone().connections(1)).ok());
    }
    eventually(|| daemon.listeners().is_empty().then_some(()));
    // A listener for one connection and a connection fit.
    let mut listener = daemon.listen_to(&many.connections(1)).unwrap();
    let client = daemon.connect_by(&request().law("cubic").ccid(2)).unwrap();
    let _server = listener.accept().unwrap();
    let why = refusal(daemon.connect_by(&request()));
    assert_eq!(
        why,
        "this user has 3 connections and asks for 1 more, and the host's policy allows 3"
    );
    drop(client);
    eventually(|| daemon.connect_by(&request()).ok());
}

#[test]
fn user_without_a_rule_may_do_nothing() {
    if !is_inside("policy::user_without_a_rule_may_do_nothing") {
        return;
    }
    let daemon = Daemon::start("no-rule", "[[rule]]\nusers = [\"4242\"]\nconnect = [\"*\"]");
    let why = refusal(daemon.connect("127.0.0.1:6511/5001"));
    assert!(
        why.starts_with("no rule of the host's policy names the user "),
        "{why}"
    );
}

#[test]
fn changed_policy_counts_after_a_signal_or_a_command() {
    if !is_inside("policy::changed_policy_counts_after_a_signal_or_a_command") {
        return;
    }
    let daemon = Daemon::start("reload", OPEN);
    let (mut client, mut server) = daemon.pair();
    daemon.write_policy("");
    daemon.signal("HUP");
    eventually(|| {
        let error = daemon.connect("127.0.0.1:6511/5001").err()?;
        error.to_string().contains("no rule").then_some(())
    });
    // Connections that are there go on.
    exchange(&mut client, &mut server);
    daemon.write_policy("[[rule]]\nusers = \"all\"");
    let output = daemon.control(&["reload"]);
    assert_eq!(output.status.code(), Some(4));
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(
        error.contains("line 4: ") && error.contains("\n next: "),
        "{error}"
    );
    daemon.write_policy(OPEN);
    assert_eq!(daemon.show(&["reload"]), "the policy is in force\n");
    daemon.pair();
    daemon.write_policy(&format!("udp-port = 7000\n{OPEN}"));
    assert!(daemon.show(&["reload"]).contains("after a restart"));
}

#[test]
fn listener_whose_user_may_listen_no_more_ends() {
    if !is_inside("policy::listener_whose_user_may_listen_no_more_ends") {
        return;
    }
    let daemon = Daemon::start("no-more", OPEN);
    let mut listener = daemon.listen("127.0.0.1:0/5001").unwrap();
    let connect = || daemon.connect("127.0.0.1:6511/5001");
    let mut client = connect().unwrap();
    let mut server = listener.accept().unwrap();
    daemon.write_policy("[[rule]]\nusers = [\"*\"]\nconnect = [\"*\"]");
    daemon.show(&["reload"]);
    let _waits = connect().unwrap();
    let why = listener.accept().unwrap_err().to_string();
    assert!(
        why.contains("does not let this user listen at 127.0.0.1:0/5001"),
        "{why}"
    );
    assert_eq!(listener.accept().unwrap_err().to_string(), why);
    eventually(|| daemon.listeners().is_empty().then_some(()));
    exchange(&mut client, &mut server);
}

#[test]
fn carrier_that_a_new_policy_adds_counts_after_a_restart() {
    if !is_inside("policy::carrier_that_a_new_policy_adds_counts_after_a_restart") {
        return;
    }
    let mut daemon = Daemon::start("carrier", OPEN);
    daemon.write_policy(&format!("over = [\"udp\", \"ip\"]\n{OPEN}"));
    let output = daemon.control(&["reload"]);
    if String::from_utf8_lossy(&output.stderr).contains("CAP_NET_RAW") {
        println!("SKIP: needs the right to use protocol 33");
        return;
    }
    let to = "127.0.0.1:0/5001".parse().unwrap();
    let over_ip = RingListenRequest::new(to, SHAPE).encapsulation(Encapsulation::Ip);
    let why = refusal(daemon.listen_to(&over_ip));
    assert_eq!(why, "the host's policy does not allow DCCP over ip");
    daemon.kill();
    daemon.restart();
    daemon.listen_to(&over_ip).unwrap();
}

#[test]
fn policy_that_needs_a_missing_right_does_not_come_into_force() {
    if !is_inside("policy::policy_that_needs_a_missing_right_does_not_come_into_force") {
        return;
    }
    let unprivileged = || {
        let mut command = Command::new("setpriv");
        command.args(["--bounding-set", "-net_admin"]);
        command.arg(env!("CARGO_BIN_EXE_dccpd"));
        command
    };
    let mut daemon = Daemon::start("rights", OPEN);
    daemon.restart_by(unprivileged());
    daemon.write_policy(&format!("{OPEN}safeudp-profile = \"provisioned\"\n"));
    let output = daemon.control(&["reload"]);
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(error.contains("CAP_NET_ADMIN"), "{error}");
    daemon.pair();
    daemon.kill();
    let mut again = unprivileged();
    let ended = again.arg("--policy").arg(daemon.policy()).output().unwrap();
    assert_eq!(ended.status.code(), Some(2));
}

/// Fills rings for some time. Returns the bits that arrive within it, and the time.
fn arrived(pairs: &mut [(RingClient, RingClient)], time: Duration) -> (u64, Duration) {
    let begin = clock::now();
    let mut bits = 0;
    let mut buf = [0; 1400];
    while (clock::now() - begin) < time {
        for (client, server) in &mut *pairs {
            while client.sender().push(&[0; 1000], Label::default()).is_ok() {}
            client.recv_fates(&mut Vec::new(), 1000).unwrap();
            server.set_timeout(Some(Duration::ZERO));
            while let Ok(len) = server.recv(&mut buf) {
                bits += 8 * len as u64;
            }
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    (bits, (clock::now() - begin))
}

#[test]
fn connections_of_a_user_share_the_cap_and_a_new_cap_counts_at_once() {
    if !is_inside("policy::connections_of_a_user_share_the_cap_and_a_new_cap_counts_at_once") {
        return;
    }
    let daemon = Daemon::start("cap", &format!("{OPEN}max-rate = \"2M\"\n"));
    let mut listener = daemon.listen("127.0.0.1:0/5001").unwrap();
    let mut pair = || {
        let client = daemon.connect("127.0.0.1:6511/5001").unwrap();
        (client, listener.accept().unwrap())
    };
    let mut pairs = [pair(), pair()];
    let (bits, time) = arrived(&mut pairs, Duration::from_millis(500));
    let most = |rate: f64, time: Duration| rate * (time.as_secs_f64() + 0.05);
    #[expect(clippy::cast_precision_loss, reason = "few bits")]
    let bits = bits as f64;
    assert!(
        bits > 0.0 && bits <= most(2e6, time),
        "{bits} bits in {time:?}"
    );
    // Without a cap the same connections send more in the same time.
    daemon.write_policy(OPEN);
    daemon.show(&["reload"]);
    let (more, _) = arrived(&mut pairs, Duration::from_millis(500));
    #[expect(clippy::cast_precision_loss, reason = "few bits")]
    let more = more as f64;
    assert!(more > 2.0 * bits, "{more} after {bits} bits");
    // The cap of all users counts for those connections too.
    daemon.write_policy(&format!("max-rate = \"1M\"\n{OPEN}"));
    daemon.show(&["reload"]);
    arrived(&mut pairs, Duration::from_millis(300));
    let (least, time) = arrived(&mut pairs, Duration::from_millis(500));
    #[expect(clippy::cast_precision_loss, reason = "few bits")]
    let least = least as f64;
    assert!(least <= most(1e6, time), "{least} bits in {time:?}");
}

#[test]
fn check_shows_a_policy_or_its_mistake() {
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("check");
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join("policy.toml");
    let check = |text: &str| {
        std::fs::write(&file, text).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_dccpd"));
        command.arg("check").arg(&file).output().unwrap()
    };
    let output = check(OPEN);
    assert!(output.status.success());
    let shown = String::from_utf8(output.stdout).unwrap();
    for line in [
        "rule 1: users *",
        "  connect to *",
        "  CCID 2, 3, 4, 248",
        "  each user: 5000 connections, 4.19 MB for a ring, no cap",
    ] {
        assert!(shown.lines().any(|other| other == line), "{shown}");
    }
    let output = check("udp-port = 0");
    assert_eq!(output.status.code(), Some(2));
    let error = String::from_utf8(output.stderr).unwrap();
    let path = file.display();
    let expected = format!(
        "error: {path}: udp-port: 0: must be from 1 to 65535\n next: write udp-port = 6511\n"
    );
    assert_eq!(error, expected);
}

#[test]
fn example_of_a_policy_is_valid() {
    let example = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../contrib/dccpd/dccpd.toml"
    );
    let mut command = Command::new(env!("CARGO_BIN_EXE_dccpd"));
    let output = command.arg("check").arg(example).output().unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

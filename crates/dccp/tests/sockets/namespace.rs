//! DCCP over IP needs raw sockets: each test runs itself again in a process inside a new network
//! namespace, which vanishes with it.

use crate::{PORT, options};
use dccp::{CloseReason, ConnectError, Encapsulation, Listener, RecvError, Socket};
use std::env;
use std::process::{Command, Stdio};

const INSIDE: &str = "DCCP_SOCKETS_INSIDE";

/// Whether this process is inside the namespace. If not, the test `name` is run inside a new one;
/// where that cannot be, it says so.
fn is_inside(name: &str) -> bool {
    if env::var_os(INSIDE).is_some() {
        return true;
    }
    let Some(unshare) = unshare() else {
        println!("SKIP {name}: needs unshare and ip, and root or unprivileged user namespaces");
        return false;
    };
    let output = Command::new("unshare")
        .args(unshare)
        .args(["sh", "-ec", "ip link set lo up; exec \"$0\" \"$@\""])
        .arg(env::current_exe().unwrap())
        .args([name, "--exact", "--nocapture"])
        .env(INSIDE, "1")
        .output()
        .unwrap();
    let out = String::from_utf8_lossy(&output.stdout);
    let err = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success() && out.contains("1 passed"),
        "{out}\n{err}"
    );
    false
}

/// Arguments with which `unshare` makes a namespace here.
fn unshare() -> Option<&'static [&'static str]> {
    const WAYS: [&[&str]; 2] = [&["--net"], &["--net", "--map-root-user"]];
    WAYS.into_iter().find(|way| {
        Command::new("unshare")
            .args(*way)
            .args(["ip", "link", "set", "lo", "up"])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .is_ok_and(|s| s.success())
    })
}

#[test]
fn sockets_work_over_ip() {
    if !is_inside("namespace::sockets_work_over_ip") {
        return;
    }
    let options = options().encapsulation(Encapsulation::Ip);
    for host in ["127.0.0.1:0", "[::1]:0"] {
        let listener = Listener::bind((host, PORT), &options).unwrap();
        let clients: Vec<Socket> = (0..3)
            .map(|_| Socket::connect((host, PORT), &options).unwrap())
            .collect();
        let servers: Vec<Socket> = (0..3).map(|_| listener.accept().unwrap()).collect();
        drop(listener);
        let mut buf = [0; 2000];
        for client in &clients {
            for _ in 0..100 {
                client.send(&[5; 1000]).unwrap();
            }
        }
        for server in &servers {
            for _ in 0..100 {
                assert_eq!(server.recv(&mut buf), Ok(1000));
                assert_eq!(buf[..1000], [5; 1000]);
            }
        }
        for client in &clients {
            assert_eq!(client.close(), Ok(CloseReason::Local));
        }
        for server in &servers {
            assert_eq!(
                server.recv(&mut buf),
                Err(RecvError::Closed(CloseReason::Peer))
            );
            assert_eq!(server.peer_addr().udp_port, 0);
        }
    }
}

#[test]
fn partial_checksums_reach_the_wire() {
    if !is_inside("namespace::partial_checksums_reach_the_wire") {
        return;
    }
    let options = options()
        .encapsulation(Encapsulation::Ip)
        .checksum_coverage(1)
        .min_checksum_coverage(1);
    let listener = Listener::bind(("127.0.0.1:0", PORT), &options).unwrap();
    let client = Socket::connect(("127.0.0.1:0", PORT), &options).unwrap();
    let server = listener.accept().unwrap();
    client.send(&[9; 500]).unwrap();
    let mut buf = [0; 500];
    assert_eq!(server.recv(&mut buf), Ok(500));
    assert_eq!(client.snapshot().unwrap().cscov, 1);
}

#[test]
fn link_local_peers_are_reached_by_their_interface() {
    if !is_inside("namespace::link_local_peers_are_reached_by_their_interface") {
        return;
    }
    let status = Command::new("ip")
        .args(["address", "add", "fe80::1/64", "dev", "lo", "nodad"])
        .status()
        .unwrap();
    assert!(status.success());
    // The loopback is interface 1.
    let listener = Listener::bind(("[fe80::1%1]:0", PORT), &options()).unwrap();
    let place = listener.local_addrs()[0];
    assert!(place.to_string().starts_with("[fe80::1%1]:"), "{place}");
    let client = Socket::connect(place, &options()).unwrap();
    let server = listener.accept().unwrap();
    assert_eq!(client.peer_addr(), place);
    let back = server.peer_addr().to_string();
    assert!(back.starts_with("[fe80::1%1]:"), "{back}");
    client.send(b"near").unwrap();
    assert_eq!(server.recv(&mut [0; 10]), Ok(4));
    server.send(b"by").unwrap();
    assert_eq!(client.recv(&mut [0; 10]), Ok(2));
    let over_ip = options().encapsulation(Encapsulation::Ip);
    let error = Socket::connect(place, &over_ip).unwrap_err();
    assert!(matches!(error, ConnectError::LinkLocal { .. }), "{error:?}");
}

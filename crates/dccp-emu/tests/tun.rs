//! The link between two TUN devices in network namespaces that the test makes and removes.

#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use core::time::Duration;
use dccp_emu::tun::{End, Tunnel};
use dccp_netns::Namespace;
use dccp_proto::Rate;
use dccp_sim::{LinkConfig, Seed};
use std::fs::File;
use std::net::UdpSocket;
use std::thread;
use std::time::Duration as StdDuration;

/// Two namespaces; `None`, after a line that says so, where the system does not permit them.
fn namespaces(test: &str) -> Option<[Namespace; 2]> {
    let has_tun = File::options()
        .read(true)
        .write(true)
        .open("/dev/net/tun")
        .is_ok();
    let made = Namespace::new("emu-a").and_then(|a| Ok([a, Namespace::new("emu-b")?]));
    let made = made.ok().filter(|_| has_tun);
    if made.is_none() {
        println!("SKIP {test}: needs root, network namespaces and /dev/net/tun");
    }
    made
}

fn socket(namespace: &str, address: &'static str) -> UdpSocket {
    let bind = move || UdpSocket::bind(address).unwrap();
    let socket = dccp_netns::inside(namespace, bind).unwrap();
    socket
        .set_read_timeout(Some(StdDuration::from_secs(5)))
        .unwrap();
    socket
}

#[test]
fn packets_cross_from_one_namespace_to_the_other_over_both_ip_versions() {
    let test = "packets_cross_from_one_namespace_to_the_other_over_both_ip_versions";
    let Some(namespaces) = namespaces(test) else {
        return;
    };
    let [a, b] = namespaces.each_ref().map(Namespace::name);
    let end = |namespace: &str, device: &str, host: u8| End {
        namespace: Some(namespace.to_owned()),
        device: device.to_owned(),
        addresses: vec![
            (format!("10.99.0.{host}").parse().unwrap(), 24),
            (format!("fd99::{host}").parse().unwrap(), 64),
        ],
    };
    let link = LinkConfig {
        rate: Some(Rate::from_bytes_per_s(12.5e6)),
        delay: Duration::from_millis(5),
        ..LinkConfig::default()
    };
    let ends = [end(a, "emu0", 1), end(b, "emu1", 2)];
    let links = [link.clone(), link];
    let tunnel = Tunnel::start(ends, links, Seed(1), Duration::ZERO).unwrap();
    // A new IPv6 address may not be used before duplicate address detection is over.
    thread::sleep(StdDuration::from_millis(2500));
    for (here, there) in [
        ("10.99.0.1:7000", "10.99.0.2:7000"),
        ("[fd99::1]:7000", "[fd99::2]:7000"),
    ] {
        let (left, right) = (socket(a, here), socket(b, there));
        for n in 0..50_u8 {
            left.send_to(&[n; 1000], there).unwrap();
        }
        let mut buffer = [0; 2000];
        for n in 0..50_u8 {
            let (len, from) = right.recv_from(&mut buffer).unwrap();
            assert_eq!((len, buffer[0]), (1000, n));
            right.send_to(&buffer[..len], from).unwrap();
        }
        for n in 0..50_u8 {
            assert_eq!(left.recv(&mut buffer).unwrap(), 1000);
            assert_eq!(buffer[0], n);
        }
    }
    let report = tunnel.report();
    assert!(report.forward.delivered_packets >= 100, "{report:?}");
    assert!(report.back.delivered_packets >= 100, "{report:?}");
    assert_eq!(
        report.forward.overflow_packets + report.forward.refused_packets,
        0
    );
    assert!(tunnel.is_running());
    tunnel.stop().unwrap();
}

#[test]
fn a_namespace_that_does_not_exist_is_named_in_the_error() {
    let end = |device: &str| End {
        namespace: Some("no-such-namespace".to_owned()),
        device: device.to_owned(),
        addresses: vec![("10.98.0.1".parse().unwrap(), 24)],
    };
    let links = [LinkConfig::default(), LinkConfig::default()];
    let started = Tunnel::start([end("x0"), end("x1")], links, Seed(1), Duration::ZERO);
    let error = started.err().unwrap().to_string();
    assert!(error.contains("no-such-namespace"), "{error}");
}

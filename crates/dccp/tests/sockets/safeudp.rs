//! CCID 248 over real sockets.

use crate::{options, pair, until};
use core::time::Duration;
use dccp::safeudp::{Cause, NUMBER, Profile, SafeUdpConfig, SendCode};
use dccp::{ConnectError, Engine, EngineOptions, Fate, Options, Socket, SourceReply};
#[cfg(target_os = "linux")]
use rustix::thread::{CapabilitySet, CapabilitySets, capabilities, set_capabilities};
use std::thread::sleep;

#[test]
fn datagrams_arrive_at_the_rate_of_the_application() {
    let options = options().ccid(NUMBER).fate_buffer(1000);
    let (client, server) = pair(&options, &options);
    let mut buf = [0; 100];
    for n in 0..200_u8 {
        client.send(&[n]).unwrap();
        let len = server.recv(&mut buf).unwrap();
        assert_eq!(buf[..len], [n]);
    }
    let snapshot = client.snapshot().unwrap();
    assert_eq!((snapshot.tx_ccid, snapshot.rx_ccid), (NUMBER, NUMBER));
    assert!(matches!(snapshot.tx.phase, Some("start_up" | "clear")));
}

#[test]
fn send_code_is_that_of_ccid_248_only() {
    for (ccid, is_reported) in [(NUMBER, true), (2, false)] {
        let options = options().ccid(ccid);
        let (client, server) = pair(&options, &options);
        client.send(b"one").unwrap();
        server.recv(&mut [0; 10]).unwrap();
        assert_eq!(client.send_code().is_some(), is_reported, "CCID {ccid}");
        // Ten packets of the first round trip may leave.
        assert!(client.send_code().is_none_or(|code| code.is_sent()));
    }
}

#[test]
fn burst_beyond_the_start_up_is_limited_and_each_datagram_has_a_fate() {
    let options = options().ccid(NUMBER).fate_buffer(10_000).send_buffer(4000);
    let (client, server) = pair(&options, &options);
    for _ in 0..3000 {
        client.send(&[0; 1000]).unwrap();
    }
    until(
        "the start-up drops",
        || matches!(client.send_code(), Some(SendCode::Dropped { dropped, .. }) if dropped > 0),
    );
    client.close().unwrap();
    let mut received = 0;
    let mut buf = [0; 2000];
    while server.recv(&mut buf).is_ok() {
        received += 1;
    }
    let mut reports = Vec::new();
    client.recv_fates(&mut reports, usize::MAX);
    let of = |fate| reports.iter().filter(|report| report.fate == fate).count();
    assert_eq!(reports.len(), 3000);
    assert!(of(Fate::Limited) > 0, "nothing was limited");
    assert!(received >= 10 && received >= of(Fate::Acked), "{received}");
}

fn provisioned() -> Options {
    let settings = SafeUdpConfig {
        profile: Profile::Provisioned,
        declared_rate: Some(100_000_000),
        ..SafeUdpConfig::default()
    };
    options().ccid(NUMBER).safe_udp(settings)
}

#[cfg(target_os = "linux")]
#[test]
fn provisioned_profile_needs_a_privilege() {
    let sets = capabilities(None).unwrap();
    let effective = sets.effective - CapabilitySet::NET_ADMIN;
    // Of this thread alone.
    set_capabilities(None, CapabilitySets { effective, ..sets }).unwrap();
    let error = Socket::connect("127.0.0.1:1/1", &provisioned()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "option safe_udp: the provisioned profile needs the capability CAP_NET_ADMIN"
    );
}

#[cfg(target_os = "linux")]
#[test]
fn provisioned_profile_has_no_start_up() {
    let effective = capabilities(None).unwrap().effective;
    if !effective.contains(CapabilitySet::NET_ADMIN) {
        println!(
            "SKIP safeudp::provisioned_profile_has_no_start_up: needs the capability CAP_NET_ADMIN"
        );
        return;
    }
    let options = provisioned();
    let (client, server) = pair(&options, &options);
    client.send(b"first").unwrap();
    assert_eq!(server.recv(&mut [0; 100]).unwrap(), 5);
    assert_eq!(client.snapshot().unwrap().tx.phase, Some("clear"));
}

#[test]
fn open_breaker_keeps_other_sockets_of_the_engine_from_the_peer() {
    let engine = || Engine::start(&EngineOptions::new()).unwrap();
    let own = options().ccid(NUMBER).engine(&engine());
    let (client, server) = pair(&own, &options().ccid(NUMBER).engine(&engine()));
    client.send(b"first").unwrap();
    server.recv(&mut [0; 10]).unwrap();
    // The peer's engine does nothing else meanwhile.
    server.set_datagram_source(|_, _| {
        sleep(Duration::from_secs(3));
        SourceReply::Nothing
    });
    until("the breaker opens", || {
        // The error is the end of the connection.
        let _ = client.send(&[0; 100]);
        client.close_reason().is_some()
    });
    let code = client.send_code();
    let Some(SendCode::Refused { cause, .. }) = code else {
        panic!("{code:?}");
    };
    assert_eq!(cause, Cause::Feedback);
    let again = Socket::connect(client.peer_addr(), &own);
    assert!(
        matches!(again, Err(ConnectError::HeldOff { .. })),
        "{again:?}"
    );
    let other = own.clone().ccid(2).nonblocking(true);
    assert!(Socket::connect(client.peer_addr(), &other).is_ok());
}

#[test]
fn impossible_settings_are_refused_by_name() {
    let settings = SafeUdpConfig {
        loss_limit: Some(0),
        ..SafeUdpConfig::default()
    };
    let options = options().ccid(NUMBER).safe_udp(settings);
    let error = Socket::connect("127.0.0.1:1/1", &options).unwrap_err();
    assert!(error.to_string().contains("loss limit"), "{error}");
}

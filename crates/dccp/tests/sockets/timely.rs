//! Messages, target rates, and many sockets closed at once.

use crate::{PATIENCE, options, patient_options};
use core::time::Duration;
use dccp::message::{MessageError, MessageOptions, MessageSocket, with_messages};
use dccp::{Fate, Options, RateCap, RecvError, Socket, clock};

/// A connected pair with the same options.
fn pair(options: &Options) -> (Socket, Socket) {
    crate::pair(options, options)
}

fn messages(options: Options) -> (MessageSocket, MessageSocket) {
    let (client, server) = pair(&with_messages(options, *b"tst"));
    (
        MessageSocket::new(client).unwrap(),
        MessageSocket::new(server).unwrap(),
    )
}

#[test]
fn messages_larger_than_a_packet_arrive() {
    let (client, server) = messages(patient_options());
    for n in 0..20_u8 {
        let data = vec![n; usize::from(n) * 1500];
        let tagged = MessageOptions::new().tag(u64::from(n));
        client.send(data, tagged).unwrap();
    }
    for n in 0..20_u8 {
        let message = server.recv().unwrap();
        assert_eq!(message.data, vec![n; usize::from(n) * 1500]);
    }
    let mut reports = Vec::new();
    let begin = clock::now();
    while reports.len() < 20 {
        assert!((clock::now() - begin) < PATIENCE, "{reports:?}");
        client.recv_fates(&mut reports, usize::MAX);
    }
    assert!(reports.iter().all(|r| r.fate == Fate::Acked), "{reports:?}");
    client.close(PATIENCE).unwrap();
    let after = client.send(vec![], MessageOptions::new());
    assert!(matches!(after, Err(MessageError::Closed(_))));
}

#[test]
fn closing_sends_the_messages_that_wait() {
    let (client, server) = messages(patient_options());
    client
        .send(vec![7; 300_000], MessageOptions::new())
        .unwrap();
    client.close(PATIENCE).unwrap();
    assert_eq!(server.recv().unwrap().data.len(), 300_000);
}

#[test]
fn connections_without_messages_are_refused() {
    let (client, _server) = pair(&options());
    assert!(MessageSocket::new(client).is_err());
}

#[test]
fn fillers_reach_the_target_and_yield_to_data() {
    let (client, server) = pair(&options());
    // 100 fillers of 100 bytes a second.
    client.set_target_rate(80_000, &[0; 100]);
    let begin = clock::now();
    let mut fillers = 0;
    while fillers < 50 {
        fillers += u32::from(server.recv_datagram().unwrap().bytes().len() == 100);
    }
    // A busy machine may take longer. 20 ms of credit may leave at once.
    let elapsed = clock::now() - begin;
    assert!(elapsed > Duration::from_millis(400), "{elapsed:?}");
    client.set_target_rate(0, &[]);
    client.send(b"data").unwrap();
    while server.recv_datagram().unwrap().bytes() != b"data" {}
    let counts = client.stats().unwrap().sent;
    assert!(counts.fillers >= 50 && counts.pushed == counts.fillers + 1);
}

#[test]
fn many_sockets_close_within_one_deadline() {
    let pairs: Vec<_> = (0..10).map(|_| pair(&options())).collect();
    let begin = clock::now();
    let clients = pairs.iter().map(|(client, _)| client);
    assert_eq!(Socket::close_all(clients, PATIENCE), 0);
    assert!((clock::now() - begin) < PATIENCE);
}

#[test]
fn last_heard_follows_the_packets_of_the_peer() {
    let (client, server) = pair(&options());
    let before = client.last_heard().unwrap();
    std::thread::sleep(Duration::from_millis(5));
    server.send(b"here").unwrap();
    client.recv_datagram().unwrap();
    assert!(client.last_heard().unwrap() > before);
}

#[test]
fn fillers_do_not_prolong_the_wait_for_a_message() {
    let timeout = Duration::from_millis(100);
    let server = with_messages(Options::new(), *b"tst").recv_timeout(timeout);
    let client = with_messages(Options::new(), *b"tst").recv_timeout(PATIENCE);
    let (client, server) = crate::pair(&client, &server);
    let (client, server) = (
        MessageSocket::new(client).unwrap(),
        MessageSocket::new(server).unwrap(),
    );
    // A filler about every 8 ms, for as long as `recv` waits.
    client.set_target_rate(1_000_000);
    assert_eq!(server.recv().unwrap_err(), RecvError::TimedOut);
}

#[test]
fn fillers_longer_than_a_packet_do_not_stop_the_engine() {
    let (client, server) = pair(&patient_options().mtu(576));
    client.set_target_rate(1_000_000, &[0; 1000]);
    client.send(b"data").unwrap();
    assert_eq!(server.recv_datagram().unwrap().bytes(), b"data");
    assert_eq!(client.stats().unwrap().sent.fillers, 0);
}

#[test]
fn messages_have_fates_whatever_the_options_of_the_socket() {
    let code = dccp::message::service_code(*b"tst").0.to_be_bytes();
    let (client, server) = pair(&patient_options().service_code(code));
    let client = MessageSocket::new(client).unwrap();
    client.send(vec![1; 10], MessageOptions::new()).unwrap();
    server.recv_datagram().unwrap();
    let mut reports = Vec::new();
    crate::until("a fate", || {
        client.recv_fates(&mut reports, 1);
        !reports.is_empty()
    });
    assert_eq!(reports[0].fate, Fate::Acked);
}

#[test]
fn connections_with_one_cap_share_its_rate() {
    const BITS_PER_S: u64 = 2_000_000;
    const DATAGRAMS: usize = 30;
    let cap = RateCap::new(BITS_PER_S);
    let capped = patient_options().rate_cap(&cap);
    let pairs: Vec<_> = (0..2)
        .map(|_| crate::pair(&capped, &patient_options()))
        .collect();
    let begin = clock::now();
    for (client, _) in &pairs {
        for _ in 0..DATAGRAMS {
            client.send(&[0; 1000]).unwrap();
        }
    }
    for (_, server) in &pairs {
        for _ in 0..DATAGRAMS {
            assert_eq!(server.recv_datagram().unwrap().len(), 1000);
        }
    }
    let nanos = u64::try_from((clock::now() - begin).as_nanos()).unwrap();
    let sent = 2 * DATAGRAMS as u64 * 8000;
    // Those of 10 ms may leave at once.
    let most = BITS_PER_S * (nanos + 10_000_000) / 1_000_000_000 + 8000;
    assert!(sent <= most, "{sent} bits in {nanos} ns");
}

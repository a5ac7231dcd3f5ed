//! How connections open (RFC 4340 §8.1).

use core::time::Duration;
use dccp_proto::CloseReason;
use dccp_proto::wire::{PacketType, ResetCode, ServiceCode};
use dccp_sim::pair::{End, Pair, Profile, Setup, for_both_peers};
use dccp_sim::rule::{Action, Rule};
use dccp_sim::source::App;

const SECOND: Duration = Duration::from_secs(1);

/// The first words of each line of the trace: way and packet type.
fn packets(pair: &Pair) -> Vec<String> {
    let two = |l: String| l.split(' ').take(2).collect::<Vec<_>>().join(" ");
    pair.lines().into_iter().map(two).collect()
}

#[test]
fn three_packets_open_a_connection() {
    for_both_peers(|peer| {
        let mut pair = Pair::start(Setup::with_server(peer), App::default(), App::default());
        pair.run_for(SECOND);
        assert_eq!(
            packets(&pair)[..3],
            [
                "client>server Request",
                "server>client Response",
                "client>server Ack"
            ]
        );
        let (client, server) = (pair.report(End::Client), pair.report(End::Server));
        assert_eq!(client.opened.unwrap().as_nanos(), 40_000_000);
        assert_eq!(server.opened.unwrap().as_nanos(), 60_000_000);
    });
    for_both_peers(|peer| {
        let mut pair = Pair::start(Setup::with_client(peer), App::default(), App::default());
        pair.run_for(SECOND);
        assert!(pair.report(End::Server).opened.is_some());
    });
}

#[test]
fn any_packet_of_the_handshake_may_be_lost() {
    // 4340-8.1.1-1, 4340-8.1.3-3, 4340-8.1.5-2
    for lost in [PacketType::Request, PacketType::Response, PacketType::Ack] {
        for_both_peers(|peer| {
            let mut pair = Pair::new(Setup::with_server(peer));
            for link in [pair.there, pair.back] {
                let rule = Rule::new(Action::Drop).of_type(lost).nth(1);
                pair.world.add_rule(link, rule);
            }
            pair.listen(App::default());
            pair.connect(App::bulk(100, 10));
            assert!(pair.run_until_closed(30 * SECOND), "{lost:?} lost");
            assert_eq!(pair.report(End::Server).received, 10, "{lost:?} lost");
        });
    }
}

#[test]
fn requests_back_off_from_one_second() {
    // 4340-8.1.1-1
    let mut pair = Pair::new(Setup::default());
    pair.world.add_rule(pair.there, Rule::new(Action::Drop));
    pair.connect(App::default());
    pair.run_for(8 * SECOND);
    let trace = pair.world.trace();
    let times: Vec<&str> = trace.lines().map(|l| l[..10].trim()).collect();
    assert_eq!(times, ["0.000", "1000.000", "3000.000", "7000.000"]);
}

#[test]
fn a_closed_port_refuses() {
    // AMB-1: ours says "Connection Refused", Linux "No Connection"; a client takes either.
    for (peer, code) in [
        (Profile::ours(), ResetCode::CONNECTION_REFUSED),
        (Profile::linux(), ResetCode::NO_CONNECTION),
    ] {
        let mut pair = Pair::new(Setup::with_server(peer));
        pair.connect(App::default());
        pair.run_for(SECOND);
        let report = pair.report(End::Client);
        assert!(
            matches!(report.close_reason(), Some(CloseReason::Reset { code: c, .. }) if *c == code),
            "{:?}",
            report.close_reason()
        );
    }
}

#[test]
fn an_unknown_service_code_is_refused() {
    // 4340-8.1.2-2
    for_both_peers(|peer| {
        let mut pair = Pair::new(Setup::with_server(peer));
        pair.listen(App::default());
        let rule = Rule::edit(|frame| {
            let other = ServiceCode(43).0.to_be_bytes();
            frame.bytes[16..20].copy_from_slice(&other);
            // The checksum covers the Service Code: 43 − 42 = 1.
            let sum = u16::from_be_bytes([frame.bytes[6], frame.bytes[7]]);
            frame.bytes[6..8].copy_from_slice(&(sum - 1).to_be_bytes());
        });
        pair.world
            .add_rule(pair.there, rule.of_type(PacketType::Request));
        pair.connect(App::default());
        pair.run_for(SECOND);
        assert_eq!(
            pair.report(End::Client).reset,
            Some(ResetCode::BAD_SERVICE_CODE)
        );
    });
}

#[test]
fn a_connection_opens_without_data_in_either_direction() {
    // AMB-11: the client leaves PARTOPEN although an idle server sends nothing of its own.
    for_both_peers(|peer| {
        let mut pair = Pair::start(Setup::with_server(peer), App::default(), App::default());
        pair.run_for(Duration::from_mins(20));
        assert!(!pair.report(End::Client).is_over);
        assert!(!pair.report(End::Server).is_over);
    });
}

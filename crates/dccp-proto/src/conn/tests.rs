//! A connection as it begins, for the tests of its parts.

use super::{Birth, Connection, Role};
use crate::config::Config;
use crate::path::{Encap, Flow, Path};
use crate::seq::Seq;
use crate::time::Instant;
use crate::wire::options::Opt;
use crate::wire::{Kind, OptionWriter, Options, Packet, Payload, ResetCode, ServiceCode};
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

pub(super) const START: Instant = Instant::from_nanos(5_000_000_000);
pub(super) const ISS: Seq = Seq::new(1000);

/// A client in REQUEST that has sent nothing yet.
pub(super) fn client(config: Config) -> Connection {
    let ip = IpAddr::V4(Ipv4Addr::LOCALHOST);
    let path = Path {
        local: ip,
        remote: ip,
        encap: Encap::Ip,
    };
    Connection::client(Birth {
        now: START,
        flow: Flow {
            path,
            local_port: 1,
            remote_port: 2,
        },
        role: Role::Client,
        config: Arc::new(config),
        service: ServiceCode::NONE,
        iss: ISS,
    })
}

/// Settings that leave nothing to negotiate.
pub(super) fn config() -> Config {
    Config {
        tx_ccids: vec![2],
        rx_ccids: vec![2],
        ..Config::default()
    }
}

/// An Ack of the peer with these options.
pub(super) fn ack(options: &OptionWriter) -> Packet<'_> {
    Packet {
        source_port: 2,
        dest_port: 1,
        ccval: 0,
        cscov: 0,
        is_short: false,
        seq: Seq::new(7),
        kind: Kind::Ack { ack: ISS },
        options: Options(options.as_slice()),
        payload: Payload::EMPTY,
    }
}

#[test]
fn options_from_128_on_belong_to_the_ccid_of_one_half_connection() {
    // 4340-10.3-1: below 192 to that of our receiver, from there on to that of our sender. CCID 3 knows
    // 128 (RTT Estimate) and 192 (Loss Event Rate), CCID 2 neither, and what is Mandatory must be known.
    for (tx, rx, kind, is_known) in [
        (3, 2, 192, true),
        (3, 2, 128, false),
        (2, 3, 192, false),
        (2, 3, 128, true),
    ] {
        let mut conn = client(Config {
            tx_ccids: vec![tx],
            rx_ccids: vec![rx],
            ..Config::default()
        });
        let mut w = OptionWriter::new(100);
        let option = Opt::CcidSpecific {
            kind,
            data: if kind == 192 { &[0; 4] } else { &[0; 3] },
        };
        assert!(w.push_mandatory(&option).is_ok());
        let refused = conn.process_options(START, &ack(&w)).err();
        let code = (!is_known).then_some(ResetCode::MANDATORY_ERROR);
        assert_eq!(refused.map(|r| r.code), code, "{tx} {rx} {kind}");
    }
}

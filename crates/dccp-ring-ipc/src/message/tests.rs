use super::*;
use core::time::Duration;
use dccp_proto::wire::ResetCode;
use dccp_proto::{CloseReason, RateHint};

fn client_messages() -> Vec<ClientMessage> {
    let shape = Shape {
        slots: 1,
        slot_bytes: 2,
        fates: 3,
        arrivals: u32::MAX,
        arrival_bytes: 5,
    };
    let remotes = [
        "192.0.2.1:14233/5001",
        "[2001:db8::1]:7/1",
        "[fe80::1%9]:1/2",
    ];
    let lend = remotes.map(|remote| {
        let request = RingRequest::new(remote.parse().unwrap(), shape);
        ClientMessage::Lend(request.service_code(*b"TEST").law("cubic"))
    });
    let listen = ["0.0.0.0:14233/5001", "[::]:0/0", "[fe80::1%9]:1/2"].map(|local| {
        let request = RingListenRequest::new(local.parse().unwrap(), shape);
        ClientMessage::Listen(request.connections(7))
    });
    let mut most = RingListenRequest::new("192.0.2.1:7/1".parse().unwrap(), shape).ccid(3);
    for code in (0..).take(bounds::SERVICE_CODES) {
        most = most.service_code([code, 0, 0, 1]);
    }
    let mut messages = vec![
        ClientMessage::Close,
        ClientMessage::Abort,
        ClientMessage::Accept,
    ];
    messages.extend(lend.clone());
    messages.extend(lend.map(|lend| match lend {
        ClientMessage::Lend(request) => ClientMessage::Lend(request.ccid(3)),
        other => other,
    }));
    messages.extend(listen);
    messages.push(ClientMessage::Listen(most));
    messages
}

fn server_messages() -> Vec<ServerMessage> {
    let reset = CloseReason::Reset {
        code: ResetCode::TOO_BUSY,
        data: [1, 2, 3],
        text: "später".into(),
    };
    let reasons = [
        CloseReason::Local,
        CloseReason::Peer,
        reset,
        CloseReason::Aborted(ResetCode::ABORTED),
        CloseReason::TimedOut,
        CloseReason::Unreachable { kind: 3, code: 1 },
    ];
    let events = [
        Event::Connected,
        Event::Mps(1400),
        Event::PeerClosed,
        Event::PeerNotListening,
        Event::SlowReceiver,
        Event::Rate(RateHint {
            bits_per_s: 1 << 40,
            delivered_bits_per_s: Some(1 << 39),
            is_app_limited: true,
            wait: Duration::from_millis(7),
        }),
        Event::Silent {
            silent_for: Duration::from_secs(20),
        },
        Event::Unreachable { kind: 3, code: 3 },
        Event::SocketLost { os_error: 9 },
        Event::SocketRestored,
        Event::Misreport,
    ];
    let events = events.into_iter().chain(reasons.map(Event::Closed));
    let events = events.map(|event| ServerMessage::Event(event, Some(1400)));
    let others = [
        ServerMessage::Lent("127.0.0.1:7/8".parse().unwrap()),
        ServerMessage::Refused("no".into()),
        ServerMessage::Revoked("no more".into()),
        ServerMessage::Event(Event::Connected, None),
        ServerMessage::Listening("[::]:14233/5001".parse().unwrap()),
        ServerMessage::Accepted {
            local: "192.0.2.9:6511/5001".parse().unwrap(),
            peer: "[fe80::1%9]:14233/5001".parse().unwrap(),
            service: ServiceCode(7),
            mps: Some(1400),
        },
        ServerMessage::Accepted {
            local: "192.0.2.9:6511/5001".parse().unwrap(),
            peer: "192.0.2.1:0/7".parse().unwrap(),
            service: ServiceCode::NONE,
            mps: None,
        },
    ];
    events.chain(others).collect()
}

#[test]
fn built_messages_are_parsed_unchanged() {
    for message in client_messages() {
        let bytes = message.build();
        assert!(bytes.len() <= MESSAGE_MAX);
        assert_eq!(ClientMessage::parse(&bytes), Some(message));
    }
    for message in server_messages() {
        assert_eq!(ServerMessage::parse(&message.build()), Some(message));
    }
}

#[test]
fn longer_or_shorter_message_is_invalid() {
    for message in client_messages() {
        let mut bytes = message.build();
        bytes.push(0);
        assert_eq!(ClientMessage::parse(&bytes), None, "{message:?}");
        for len in 0..bytes.len() - 1 {
            // A list of Service Codes may end sooner, but each is whole.
            if !matches!(message, ClientMessage::Listen(_)) || len % 4 != (bytes.len() - 1) % 4 {
                assert_eq!(ClientMessage::parse(&bytes[..len]), None, "{message:?}");
            }
        }
    }
    for message in server_messages() {
        if let ServerMessage::Lent(_)
        | ServerMessage::Listening(_)
        | ServerMessage::Accepted { .. } = message
        {
            let mut bytes = message.build();
            assert_eq!(
                ServerMessage::parse(&bytes[..bytes.len() - 1]),
                None,
                "{message:?}"
            );
            bytes.push(0);
            assert_eq!(ServerMessage::parse(&bytes), None, "{message:?}");
        }
    }
    assert_eq!(ServerMessage::parse(&[]), None);
    assert_eq!(ServerMessage::parse(&[2, 0, 0, 0, 0, 1, 0, 0, 0]), None);
    assert_eq!(ServerMessage::parse(&[2, 0, 0, 0]), None);
}

#[test]
fn message_with_impossible_values_is_invalid() {
    let is_lend = |message: &ClientMessage| matches!(message, ClientMessage::Lend(_));
    let lend = client_messages().into_iter().find(is_lend);
    let good = lend.expect("the one over IPv4").build();
    let family = 1 + MAGIC.len();
    // Another protocol, another version, no family, an address that is not of the family, a scope.
    for (at, value) in [
        (3, 0),
        (8, 1),
        (family, 5),
        (family + 1, 1),
        (family + 17, 1),
    ] {
        let mut bytes = good.clone();
        bytes[at] = value;
        assert_eq!(ClientMessage::parse(&bytes), None, "{at}");
    }
    // More Service Codes than a listener can serve.
    let Some(ClientMessage::Listen(mut most)) = client_messages().pop() else {
        panic!("the one with all that there can be");
    };
    most.services.push(ServiceCode(0));
    assert_eq!(
        ClientMessage::parse(&ClientMessage::Listen(most).build()),
        None
    );
}

#[test]
fn repeated_service_code_is_dropped() {
    let Some(ClientMessage::Listen(most)) = client_messages().pop() else {
        panic!("the one with all that there can be");
    };
    let expected = ClientMessage::Listen(most.clone());
    let mut bytes = expected.build();
    bytes.extend(most.services[0].0.to_le_bytes());
    // The list is full before the repeated code.
    assert_eq!(ClientMessage::parse(&bytes), None);
    let mut fewer = most;
    fewer.services.truncate(2);
    let mut bytes = ClientMessage::Listen(fewer.clone()).build();
    bytes.extend(fewer.services[0].0.to_le_bytes());
    assert_eq!(
        ClientMessage::parse(&bytes),
        Some(ClientMessage::Listen(fewer))
    );
}

#[test]
fn texts_are_clipped() {
    let refusal = ServerMessage::Refused("ä".repeat(500)).build();
    assert!(refusal.len() <= MESSAGE_MAX);
    assert_eq!(
        ServerMessage::parse(&refusal),
        Some(ServerMessage::Refused("ä".repeat(100)))
    );
}

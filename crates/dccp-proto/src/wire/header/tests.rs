use super::*;

#[test]
fn packet_types_have_the_properties_of_the_table() {
    // 4340-5.1-4, 4340-5.1-5, 4340-7.7-2; table 1.1 of the requirements
    use PacketType::{
        Ack, Close, CloseReq, Data, DataAck, Listen, Request, Reset, Response, Sync, SyncAck,
    };
    for (number, packet_type, has_ack, is_data, short_len, long_len) in [
        (0, Request, false, true, None, 20),
        (1, Response, true, true, None, 28),
        (2, Data, false, true, Some(12), 16),
        (3, Ack, true, false, Some(16), 24),
        (4, DataAck, true, true, Some(16), 24),
        (5, CloseReq, true, false, None, 24),
        (6, Close, true, false, None, 24),
        (7, Reset, true, false, None, 28),
        (8, Sync, true, false, None, 24),
        (9, SyncAck, true, false, None, 24),
        (10, Listen, false, false, None, 20),
    ] {
        assert_eq!(PacketType::from_number(number), Some(packet_type));
        assert_eq!(packet_type as u8, number);
        assert_eq!(PacketType::ALL[usize::from(number)], packet_type);
        assert_eq!(packet_type.has_ack(), has_ack, "{packet_type:?}");
        assert_eq!(packet_type.is_data(), is_data, "{packet_type:?}");
        assert_eq!(
            packet_type.may_be_short(),
            short_len.is_some(),
            "{packet_type:?}"
        );
        assert_eq!(packet_type.header_len(false), long_len, "{packet_type:?}");
        if let Some(len) = short_len {
            assert_eq!(packet_type.header_len(true), len, "{packet_type:?}");
        }
    }
    assert!((11..=255).all(|n| PacketType::from_number(n).is_none()));
}

#[test]
fn kinds_give_and_take_their_acknowledgement_number() {
    let ack = Seq::new(7);
    let service = ServiceCode(1);
    let reset = |ack| Kind::Reset {
        ack,
        code: ResetCode::CLOSED,
        data: [1, 2, 3],
    };
    for (kind, packet_type) in [
        (Kind::Response { ack, service }, PacketType::Response),
        (Kind::Ack { ack }, PacketType::Ack),
        (Kind::DataAck { ack }, PacketType::DataAck),
        (Kind::CloseReq { ack }, PacketType::CloseReq),
        (Kind::Close { ack }, PacketType::Close),
        (reset(ack), PacketType::Reset),
        (Kind::Sync { ack }, PacketType::Sync),
        (Kind::SyncAck { ack }, PacketType::SyncAck),
    ] {
        assert_eq!(kind.packet_type(), packet_type);
        assert_eq!(kind.ack(), Some(ack));
        let other = kind.with_ack(Seq::new(9));
        assert_eq!(other.packet_type(), packet_type);
        assert_eq!(other.ack(), Some(Seq::new(9)));
    }
    assert_eq!(reset(ack).with_ack(Seq::new(9)), reset(Seq::new(9)));
    for (kind, packet_type) in [
        (Kind::Request { service }, PacketType::Request),
        (Kind::Data, PacketType::Data),
        (Kind::Listen { service }, PacketType::Listen),
    ] {
        assert_eq!(kind.packet_type(), packet_type);
        assert_eq!(kind.ack(), None);
        assert_eq!(kind.with_ack(ack), kind);
    }
}

#[test]
fn reset_codes_have_the_numbers_and_names_of_the_table() {
    // Table 1.2 of the requirements, AMB-7
    for (number, code, text) in [
        (0, ResetCode::UNSPECIFIED, "Unspecified (0)"),
        (1, ResetCode::CLOSED, "Closed (1)"),
        (2, ResetCode::ABORTED, "Aborted (2)"),
        (3, ResetCode::NO_CONNECTION, "No Connection (3)"),
        (4, ResetCode::PACKET_ERROR, "Packet Error (4)"),
        (5, ResetCode::OPTION_ERROR, "Option Error (5)"),
        (6, ResetCode::MANDATORY_ERROR, "Mandatory Error (6)"),
        (7, ResetCode::CONNECTION_REFUSED, "Connection Refused (7)"),
        (8, ResetCode::BAD_SERVICE_CODE, "Bad Service Code (8)"),
        (9, ResetCode::TOO_BUSY, "Too Busy (9)"),
        (10, ResetCode::BAD_INIT_COOKIE, "Bad Init Cookie (10)"),
        (11, ResetCode::AGGRESSION_PENALTY, "Aggression Penalty (11)"),
        (
            12,
            ResetCode::ENCAPSULATED_PORT_REUSE,
            "Encapsulated Port Reuse (12)",
        ),
        (
            13,
            ResetCode::ABRUPT_MP_TERMINATION,
            "Abrupt MP Termination (13)",
        ),
        (14, ResetCode(14), "unassigned (14)"),
        (127, ResetCode(127), "unassigned (127)"),
        (128, ResetCode(128), "CCID-specific (128)"),
        (255, ResetCode(255), "CCID-specific (255)"),
    ] {
        assert_eq!(code.0, number);
        assert_eq!(code.to_string(), text);
        assert_eq!(format!("{code:?}"), text);
    }
}

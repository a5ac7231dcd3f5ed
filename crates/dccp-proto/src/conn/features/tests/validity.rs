//! Unknown, invalid, Mandatory; features of a CCID.

use super::*;
use crate::wire::ResetCode;
use PacketType as P;
use Side::{Local, Remote};

fn option_error(data: [u8; 3]) -> Result<(), Refusal> {
    let code = ResetCode::OPTION_ERROR;
    Err(Refusal { code, data })
}

fn mandatory_error(data: [u8; 3]) -> Result<(), Refusal> {
    let code = ResetCode::MANDATORY_ERROR;
    Err(Refusal { code, data })
}

#[test]
fn invalid_and_unknown_changes_get_an_empty_confirm_or_if_mandatory_a_reset() {
    // 4340-6.2-2, 4340-6.6.7-1, 4340-6.6.8-1, 4340-6.6.8-2, 4340-6.6.9-1, 4340-5.6-4, erratum 1049;
    // 4340-10.3-3: the last is of CCID 2, which has none.
    let table: [(&[u8], [u8; 3], [u8; 3]); 12] = [
        (&[32, 4, 126, 5], [35, 3, 126], [32, 126, 5]),
        (&[34, 4, 126, 5], [33, 3, 126], [34, 126, 5]),
        (&[32, 4, 0, 1], [35, 3, 0], [32, 0, 1]),
        (&[32, 4, 10, 0x10], [35, 3, 10], [32, 10, 0x10]),
        (&[32, 3, 1], [35, 3, 1], [32, 1, 0]),
        (&[34, 3, 1], [33, 3, 1], [34, 1, 0]),
        (&[32, 4, 5, 9], [35, 3, 5], [32, 5, 9]),
        (&[32, 6, 5, 0, 0, 9], [35, 3, 5], [32, 5, 0]),
        (&[32, 9, 3, 0, 0, 0, 0, 0, 31], [35, 3, 3], [32, 3, 0]),
        (&[32, 9, 3, 0x40, 0, 0, 0, 0, 0], [35, 3, 3], [32, 3, 0x40]),
        (&[34, 5, 5, 0, 4], [33, 3, 5], [34, 5, 0]),
        (&[32, 4, 192, 1], [35, 3, 192], [32, 192, 1]),
    ];
    for (change, confirm, data) in table {
        let mut a = End::server();
        assert_eq!(a.hear(change), Ok(()));
        assert_eq!(a.ack(), confirm, "{change:?}");
        assert_eq!(a.changes(), []);
        let mut a = End::server();
        assert_eq!(a.hear(&[&[1], change].concat()), mandatory_error(data));
    }
}

#[test]
fn values_at_the_edge_are_valid() {
    // 4340-6.6.8-2, AMB-4: Sequence Window 32 … 2^46−1, Ack Ratio 0 … 65535
    for (change, feature, value) in [
        (&[32_u8, 9, 3, 0, 0, 0, 0, 0, 32][..], WINDOW, 32),
        (
            &[32, 9, 3, 0x3F, 255, 255, 255, 255, 255],
            WINDOW,
            (1 << 46) - 1,
        ),
        (&[32, 5, 5, 0, 0], RATIO, 0),
        (&[32, 5, 5, 255, 255], RATIO, 0xFFFF),
    ] {
        let mut a = End::server();
        a.hear(&[&[1], change].concat()).unwrap();
        let mut confirm = change.to_vec();
        confirm[0] = 35;
        assert_eq!(a.ack(), confirm);
        assert_eq!(a.f.value(Remote, feature), value);
    }
}

#[test]
fn our_own_numbers_are_brought_into_range() {
    let mut a = End::client();
    a.f.change_number(WINDOW, 100);
    assert_eq!(a.ack(), [], "that is the value already");
    a.f.change_number(WINDOW, 31);
    a.f.change_number(RATIO, 0x1_0000);
    assert_eq!(a.ack(), [32, 9, 3, 0, 0, 0, 0, 0, 32, 32, 5, 5, 255, 255]);
}

#[test]
fn a_mandatory_change_without_a_common_entry_resets() {
    // 4340-6.6.9-1
    let mut a = End::server();
    assert_eq!(a.hear(&[1, 32, 5, 1, 9, 8]), mandatory_error([32, 1, 9]));
    // Unknown values beside a known one are no error (4340-6.6.8-2).
    let mut a = End::server();
    assert_eq!(a.hear(&[1, 32, 5, 1, 9, 2]), Ok(()));
    assert_eq!(a.ack(), [35, 5, 1, 2, 2]);
}

#[test]
fn all_that_linux_declares_mandatory_is_accepted() {
    // LINUX-C1, 4340-6.4-1
    let mut a = End::server();
    a.f.prefer(Local, CCID, &[2, 3]);
    a.f.prefer(Remote, CCID, &[2, 3]);
    a.hear(&[
        32, 4, 1, 3, 34, 4, 1, 3, // CCID 3 both ways, then its dependants
        1, 32, 4, 2, 0, 1, 32, 4, 4, 1, 1, 34, 4, 7, 1, 1, 34, 4, 6, 1, 1, 32, 4, 192, 1, 1, 34, 4,
        192, 1,
    ])
    .unwrap();
    let response = a.send(P::Response);
    assert_eq!(response.bytes.len(), 8 * 6);
    assert_eq!(a.values(CCID), [3, 3]);
    assert_eq!(a.values(Feature::AllowShortSeqnos), [0, 0]);
    assert_eq!(a.values(Feature::EcnIncapable), [0, 1]);
    assert_eq!(a.values(NDP), [1, 0]);
    assert_eq!(a.values(Feature::SendAckVector), [1, 0]);
    assert_eq!(a.values(LOSS_RATE), [1, 1]);
}

#[test]
fn wrong_confirms_reset() {
    // 4340-6.6.8-1, 4340-6.6.8-2, 4340-6.6.2-1
    let table: [(&[u8], bool); 12] = [
        (&[35, 7, 1, 3, 2, 3, 9], true), // the server's list would choose 2
        (&[35, 5, 1, 9, 9], true),       // neither on our list nor the old value
        (&[35, 4, 1, 9], true),
        (&[35, 5, 1, 3, 3], false),
        (&[35, 4, 1, 3], false),
        (&[35, 5, 1, 2, 9], false), // nothing in common: the old value
        (&[35, 3, 1], false),       // LINUX-6
        (&[35, 3, 3], true),
        (&[35, 4, 3, 64], true),
        (&[35, 9, 3, 0, 0, 0, 0, 0, 65], true),
        (&[35, 9, 3, 0, 0, 0, 0, 0, 64], false),
        (&[35, 3, 5], false), // Ack Ratio need not be understood
    ];
    for (confirm, is_wrong) in table {
        let mut a = End::client();
        a.f.change(Local, CCID, &[3, 2], false);
        a.f.change_number(WINDOW, 64);
        a.f.change_number(RATIO, 64);
        a.ack();
        let data = [confirm[0], confirm[2], confirm.get(3).copied().unwrap_or(0)];
        let result = if is_wrong { option_error(data) } else { Ok(()) };
        assert_eq!(a.hear(confirm), result, "{confirm:?}");
    }
}

#[test]
fn a_declined_change_keeps_the_value() {
    // 4340-6.6.2-1, LINUX-6
    let mut a = End::client();
    a.f.change(Local, CCID, &[3], false);
    a.f.change_number(RATIO, 64);
    a.ack();
    a.hear(&[35, 3, 1, 35, 3, 5]).unwrap();
    assert_eq!(a.f.value(Local, CCID), 2);
    assert_eq!(a.f.value(Local, RATIO), 2);
    assert!(!a.f.is_negotiating(Local, CCID));
    assert!(!a.f.is_negotiating(Local, RATIO));
    assert_eq!(a.ack(), []);
}

#[test]
fn a_mandatory_change_of_ours_accepts_no_refusal() {
    // 4340-6.6.9-1: the peer should have reset.
    for confirm in [&[35_u8, 3, 1][..], &[35, 5, 1, 2, 9], &[35, 4, 1, 2]] {
        let mut a = End::client();
        a.f.change(Local, CCID, &[3], true);
        a.ack();
        let value = confirm.get(3).copied().unwrap_or(0);
        assert_eq!(a.hear(confirm), option_error([35, 1, value]));
    }
}

#[test]
fn unexpected_confirms_are_ignored() {
    // 4340-6.6.7-2, 4340-6.6.8-2, 4340-6.6.9-2
    let mut a = End::client();
    a.hear(&[
        33, 5, 1, 3, 3, 1, 35, 4, 77, 1, 35, 9, 3, 0, 0, 0, 0, 0, 1, 33, 3, 2,
    ])
    .unwrap();
    assert_eq!(a.ack(), []);
    assert_eq!(a.changes(), []);
}

#[test]
fn mandatory_before_a_confirm_changes_nothing() {
    // 4340-6.6.9-2
    let mut a = End::client();
    a.f.change_number(RATIO, 9);
    a.ack();
    a.hear(&[1, 35, 5, 5, 0, 9]).unwrap();
    assert_eq!(a.f.value(Local, RATIO), 9);
}

#[test]
fn a_late_answer_to_an_earlier_change_is_no_error() {
    // LINUX-5: two Confirms for one Change that was repeated, the second after the next Change
    let mut a = End::client();
    a.f.change_number(RATIO, 4);
    a.ack();
    a.wait(Duration::from_secs(1));
    assert_eq!(a.ack(), [32, 5, 5, 0, 4]);
    a.hear(&[35, 5, 5, 0, 4]).unwrap();
    a.f.change_number(RATIO, 8);
    assert_eq!(a.ack(), [32, 5, 5, 0, 8]);
    a.hear(&[35, 5, 5, 0, 4]).unwrap();
    assert!(a.f.is_negotiating(Local, RATIO));
    assert_eq!(a.f.value(Local, RATIO), 4);
    // One more might be, but not two.
    assert_eq!(a.hear(&[35, 5, 5, 0, 7]), Ok(()));
    assert_eq!(a.hear(&[35, 5, 5, 0, 7]), option_error([35, 5, 0]));
}

#[test]
fn late_answer_that_looked_like_the_last_one_is_found_out() {
    // 4340-6.6.4-2: the server ignores the third Change, which a later packet overtakes.
    let (mut a, mut b) = End::pair();
    let mut sent = Vec::new();
    for number in [4, 8, 4] {
        a.f.change_number(RATIO, number);
        for _ in 0..2 {
            sent.push(a.send(PacketType::Ack));
            a.now = a.f.poll_timeout().unwrap();
        }
    }
    let last = sent.len() - 2;
    sent[..last].iter().for_each(|p| b.recv(p).unwrap());
    b.gsr = a.gss;
    let answer = b.send(PacketType::Ack);
    a.recv(&answer).unwrap();
    assert_eq!((a.f.value(Local, RATIO), b.f.value(Remote, RATIO)), (4, 8));
    // So it asks again.
    a.wait(Duration::from_secs(1));
    let again = a.send(PacketType::Ack);
    assert_eq!(again.bytes, [32, 5, 5, 0, 4]);
    b.recv(&again).unwrap();
    b.wait(Duration::from_secs(1));
    let answer = b.send(PacketType::Ack);
    a.recv(&answer).unwrap();
    assert_eq!((a.f.value(Local, RATIO), b.f.value(Remote, RATIO)), (4, 4));
    assert!(!a.f.is_negotiating(Local, RATIO));
}

#[test]
fn ccid_features_belong_to_the_half_connection_of_their_sender() {
    // 4340-10.3-1: the feature rows of the RFC's table. We are A; A-to-B has CCID 3, B-to-A CCID 2.
    for (option, answer) in [
        (&[34_u8, 4, 128, 1][..], &[33_u8, 6, 128, 1, 0, 1][..]), // B > A Change R(128): A-to-B
        (&[32, 4, 192, 1], &[35, 6, 192, 1, 0, 1]),               // B > A Change L(192): A-to-B
        (&[32, 4, 128, 1], &[35, 3, 128]),                        // B > A Change L(128): B-to-A
        (&[34, 4, 192, 1], &[33, 3, 192]),                        // B > A Change R(192): B-to-A
    ] {
        let mut a = End::server();
        a.f.prefer(Local, CCID, &[3]);
        a.hear(&[34, 4, 1, 3]).unwrap();
        a.ack();
        assert_eq!(a.values(CCID), [3, 2]);
        a.hear(option).unwrap();
        assert_eq!(a.ack(), answer, "{option:?}");
    }
    // And what A itself may ask for.
    for (side, feature, change) in [
        (Local, Feature::SendRttEstimate, &[32_u8, 4, 128, 1][..]), // A > B Change L(128): A-to-B
        (Remote, LOSS_RATE, &[34, 4, 192, 1]),                      // A > B Change R(192): A-to-B
        (Remote, Feature::SendRttEstimate, &[]),                    // A > B Change R(128): B-to-A
        (Local, LOSS_RATE, &[]),                                    // A > B Change L(192): B-to-A
    ] {
        let mut a = End::server();
        a.f.prefer(Local, CCID, &[3]);
        a.hear(&[34, 4, 1, 3]).unwrap();
        a.ack();
        a.f.change(side, feature, &[1], false);
        assert_eq!(a.ack(), change);
        // A Change that must not be sent causes no packets.
        assert_eq!(a.f.poll_timeout().is_some(), !change.is_empty());
    }
}

#[test]
fn a_ccid_that_is_only_acceptable_gives_no_meaning_to_its_features() {
    // 4340-10.3-1
    let mut a = End::server();
    a.f.prefer(Local, CCID, &[2, 3]);
    a.hear(&[32, 4, 192, 1]).unwrap();
    assert_eq!(a.ack(), [35, 3, 192]);
    // Nor does a negotiation without it.
    a.f.change(Local, CCID, &[2], false);
    a.ack();
    a.hear(&[32, 4, 192, 1]).unwrap();
    assert_eq!(a.ack(), [35, 3, 192]);
}

#[test]
fn ccid_features_wait_for_their_ccid() {
    // 4340-10.3-2
    let mut a = End::client();
    a.f.change(Local, CCID, &[3, 2], false);
    a.f.change(Remote, LOSS_RATE, &[1], false);
    // Also where only they would fit.
    assert_eq!(a.send_within(P::Request, 4).bytes, []);
    assert_eq!(a.send(P::Request).bytes, [32, 5, 1, 3, 2]);
    a.hear(&[35, 5, 1, 3, 3]).unwrap();
    assert_eq!(a.ack(), [34, 4, 192, 1]);
    // Right behind a Mandatory Change that leaves no doubt they need not wait.
    let mut a = End::client();
    a.f.change(Local, CCID, &[3, 4], true);
    a.f.change(Remote, LOSS_RATE, &[1], false);
    assert_eq!(a.send(P::Request).bytes, [1, 32, 5, 1, 3, 4, 34, 4, 192, 1]);
    let mut a = End::client();
    a.f.change(Local, CCID, &[3, 2], true);
    a.f.change(Remote, LOSS_RATE, &[1], false);
    assert_eq!(a.send(P::Request).bytes, [1, 32, 5, 1, 3, 2]);
    // While we offer a CCID, the peer may already speak of its features.
    a.hear(&[32, 4, 192, 1, 35, 5, 1, 3, 3]).unwrap();
    assert_eq!(a.ack(), [35, 5, 192, 1, 1]);
    assert_eq!(a.f.value(Remote, LOSS_RATE), 1);
}

#[test]
fn features_start_with_the_values_of_the_rfc() {
    // 4340-6.4-1
    let a = End::client();
    for (feature, value) in [
        (CCID, 2),
        (Feature::AllowShortSeqnos, 0),
        (WINDOW, 100),
        (Feature::EcnIncapable, 0),
        (RATIO, 2),
        (Feature::SendAckVector, 0),
        (NDP, 0),
        (Feature::MinChecksumCoverage, 0),
        (Feature::CheckDataChecksum, 0),
        (Feature::SendRttEstimate, 0),
        (LOSS_RATE, 0),
    ] {
        assert_eq!(a.values(feature), [value, value], "{feature:?}");
    }
}

#[test]
fn by_default_a_peer_may_demand_any_coverage_and_get_only_the_full_one() {
    let mut a = End::server();
    a.hear(&[34, 5, 8, 3, 0, 32, 4, 8, 15]).unwrap();
    a.ack();
    assert_eq!(a.values(Feature::MinChecksumCoverage), [0, 15]);
}

#[test]
fn change_without_a_value_is_answered_by_an_empty_confirm() {
    // 4340-6.6.8-1: of either kind.
    for (change, confirm) in [([32, 3, 7], [35, 3, 7]), ([34, 3, 7], [33, 3, 7])] {
        let mut a = End::client();
        a.hear(&change).unwrap();
        assert_eq!(a.ack(), confirm);
        assert_eq!(a.values(NDP), [0, 0]);
    }
}

#[test]
fn empty_confirm_of_a_required_feature_resets_in_strict_mode() {
    // 4340-6.6.7-3; of others it is a refusal.
    for (feature, is_wrong) in [(CCID, true), (NDP, false)] {
        let mut a = End::client();
        a.f.set_strict(true);
        a.f.change(Local, feature, &[3, 2, 1, 0], false);
        a.ack();
        let number = feature.number();
        let result = if is_wrong {
            option_error([35, number, 0])
        } else {
            Ok(())
        };
        assert_eq!(a.hear(&[35, 3, number]), result);
    }
}

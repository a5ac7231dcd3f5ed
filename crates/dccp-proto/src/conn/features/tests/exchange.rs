//! The exchange of options: reconciliation, states, order.

use super::*;
use crate::config::bounds::{FEATURE_VALUES, PENDING_CONFIRMS};
use PacketType as P;
use Side::{Local, Remote};

#[test]
fn options_are_written_as_the_rfc_shows_them() {
    // 4340-6.1-1, 4340-6.3.1-3: the byte examples of RFC 4340 §6.5
    let mut a = End::client();
    a.f.change(Local, CCID, &[2, 3], false);
    a.f.change_number(WINDOW, 1024);
    assert_eq!(a.ack(), [32, 5, 1, 2, 3, 32, 9, 3, 0, 0, 0, 0, 4, 0]);

    let mut a = End::client();
    a.f.change(Remote, CCID, &[3, 2], true);
    assert_eq!(a.ack(), [1, 34, 5, 1, 3, 2]);

    let mut a = End::server();
    a.f.prefer(Local, CCID, &[2, 3]);
    a.f.prefer(Remote, CCID, &[3, 2]);
    a.hear(&[34, 5, 1, 2, 3]).unwrap();
    a.hear(&[32, 5, 1, 2, 3]).unwrap();
    a.hear(&[32, 9, 3, 0, 0, 0, 0, 4, 0]).unwrap();
    assert_eq!(
        a.ack(),
        [
            33, 6, 1, 2, 2, 3, // Confirm L(CCID, 2, 2 3)
            35, 6, 1, 3, 3, 2, // Confirm R(CCID, 3, 3 2)
            35, 9, 3, 0, 0, 0, 0, 4, 0,
        ]
    );
}

#[test]
fn the_servers_order_decides() {
    // 4340-6.3.1-1: both roles, both initiators, duplicates included
    let table: [(&[u8], &[u8], Option<u64>); 8] = [
        (&[2], &[2], Some(2)),
        (&[3, 2], &[2, 3], Some(3)),
        (&[2, 3], &[3, 2], Some(2)),
        (&[4, 3, 2], &[2, 3], Some(3)),
        (&[3, 3, 2, 3], &[2, 2], Some(2)),
        (&[200, 3], &[3, 200, 3], Some(200)),
        (&[3], &[4], None),
        (&[9, 8], &[7, 6, 5], None),
    ];
    for (servers, clients, agreed) in table {
        for server_asks in [false, true] {
            let (mut client, mut server) = End::pair();
            client.f.prefer(Local, CCID, clients);
            server.f.prefer(Remote, CCID, servers);
            let first = if server_asks {
                server.f.change(Remote, CCID, servers, false);
                let change = server.send(P::Ack);
                client.recv(&change).unwrap();
                client.send(P::Ack)
            } else {
                client.f.change(Local, CCID, clients, false);
                let change = client.send(P::Ack);
                server.recv(&change).unwrap();
                server.send(P::Ack)
            };
            if server_asks {
                server.recv(&first).unwrap();
            } else {
                client.recv(&first).unwrap();
            }
            // 4340-6.3.1-2: without a common entry, the value stays and is confirmed.
            let value = agreed.unwrap_or(2);
            assert_eq!(
                client.f.value(Local, CCID),
                value,
                "{servers:?} {clients:?}"
            );
            assert_eq!(
                server.f.value(Remote, CCID),
                value,
                "{servers:?} {clients:?}"
            );
            assert!(!client.f.is_negotiating(Local, CCID));
            assert!(!server.f.is_negotiating(Remote, CCID));
            let confirmer = if server_asks { clients } else { servers };
            let value = u8::try_from(value).unwrap();
            assert_eq!(first.bytes[3..], [&[value], confirmer].concat());
            assert_eq!(first.bytes[0], if server_asks { 33 } else { 35 });
        }
    }
}

#[test]
fn without_a_common_entry_the_current_value_is_confirmed() {
    // 4340-6.3.1-2: "previous" is what the Confirms before this one say, not the initial value.
    let mut server = End::server();
    server.f.prefer(Remote, CCID, &[3, 2]);
    server.hear(&[32, 4, 1, 3, 32, 4, 1, 9]).unwrap();
    assert_eq!(server.f.agreed(Remote, CCID), 3);
    assert_eq!(server.ack(), [35, 6, 1, 3, 3, 2, 35, 6, 1, 3, 3, 2]);
    assert_eq!(server.f.value(Remote, CCID), 3);
}

#[test]
fn the_change_sender_waits_and_the_confirm_sender_switches_as_it_sends() {
    // 4340-6.6.1-2
    let (mut client, mut server) = End::pair();
    client.f.change_number(WINDOW, 500);
    let request = client.send(P::Request);
    assert_eq!(client.values(WINDOW), [100, 100]);
    server.recv(&request).unwrap();
    assert_eq!(server.values(WINDOW), [100, 100]);
    assert_eq!(server.f.agreed(Remote, WINDOW), 500);
    assert_eq!(server.changes(), []);
    let response = server.send(P::Response);
    assert_eq!(server.values(WINDOW), [100, 500]);
    assert_eq!(server.changes(), [(Remote, WINDOW, 500)]);
    client.recv(&response).unwrap();
    assert_eq!(client.values(WINDOW), [500, 100]);
    assert_eq!(client.changes(), [(Local, WINDOW, 500)]);
}

#[test]
fn values_that_took_effect_are_reported_in_order_and_once() {
    let mut a = End::server();
    a.f.prefer(Remote, CCID, &[3, 2]);
    a.hear(&[32, 5, 5, 0, 4]).unwrap();
    a.hear(&[32, 4, 1, 3]).unwrap();
    a.hear(&[32, 5, 5, 0, 6]).unwrap();
    a.ack();
    assert_eq!(a.changes(), [(Remote, CCID, 3), (Remote, RATIO, 6)]);
    // A value that is confirmed again is no change.
    a.hear(&[32, 5, 5, 0, 6]).unwrap();
    a.ack();
    assert_eq!(a.changes(), []);
}

#[test]
fn every_change_gets_one_confirm_in_order() {
    // 4340-6.6.1-1, 4340-6.6.1-4, 4340-6.2-1
    let mut a = End::server();
    a.hear(&[32, 5, 5, 0, 4, 32, 4, 99, 7, 32, 5, 5, 0, 6])
        .unwrap();
    assert_eq!(a.ack(), [35, 5, 5, 0, 4, 35, 3, 99, 35, 5, 5, 0, 6]);
    assert_eq!(a.ack(), []);
    assert_eq!(a.f.value(Remote, RATIO), 6);
    // Repeated by the peer: confirmed again.
    a.hear(&[32, 5, 5, 0, 6]).unwrap();
    assert_eq!(a.ack(), [35, 5, 5, 0, 6]);
}

#[test]
fn a_confirm_needs_a_packet_that_acknowledges_the_change() {
    // 4340-6.6.1-1, 4340-6-1
    let mut a = End::server();
    a.hear(&[32, 5, 5, 0, 4]).unwrap();
    assert_eq!(a.send(P::Data).bytes, []);
    assert_eq!(a.send(P::Request).bytes, []);
    // A Sync about an older packet.
    let asked_by = a.gsr;
    a.gsr = asked_by.minus(1);
    assert_eq!(a.send(P::Sync).bytes, []);
    a.gsr = asked_by;
    assert_eq!(a.send(P::Sync).bytes, [35, 5, 5, 0, 4]);
}

#[test]
fn changes_leave_only_on_packets_that_may_carry_them() {
    // 4340-6-1
    for (packet_type, carries) in [
        (P::Request, true),
        (P::Response, true),
        (P::Data, false),
        (P::Ack, true),
        (P::DataAck, true),
        (P::CloseReq, false),
        (P::Close, false),
        (P::Reset, false),
        (P::Sync, true),
        (P::SyncAck, true),
        (P::Listen, false),
    ] {
        let mut a = End::client();
        a.f.change_number(RATIO, 7);
        assert_eq!(
            !a.send(packet_type).bytes.is_empty(),
            carries,
            "{packet_type:?}"
        );
    }
}

#[test]
fn only_the_location_of_an_nn_feature_says_its_value() {
    // 4340-6.3.2-1, 4340-6.3.2-2
    let mut a = End::server();
    a.hear(&[34, 9, 3, 0, 0, 0, 0, 4, 0]).unwrap();
    assert_eq!(a.ack(), [33, 3, 3]);
    a.f.change_number(WINDOW, 64);
    assert_eq!(a.ack(), [32, 9, 3, 0, 0, 0, 0, 0, 64]);
    a.hear(&[33, 9, 3, 0, 0, 0, 0, 4, 0]).unwrap();
    assert_eq!(a.values(WINDOW), [100, 100]);
    assert!(a.f.is_negotiating(Local, WINDOW));
}

#[test]
fn crossing_changes_of_the_ccid_agree_for_all_lists() {
    // 4340-6.6.6-1: all ordered selections of three CCIDs, each end asking at the same time, with
    // either Confirm lost or none.
    let lists: [&[u8]; 15] = [
        &[2],
        &[3],
        &[4],
        &[2, 3],
        &[3, 2],
        &[2, 4],
        &[4, 2],
        &[3, 4],
        &[4, 3],
        &[2, 3, 4],
        &[2, 4, 3],
        &[3, 2, 4],
        &[3, 4, 2],
        &[4, 2, 3],
        &[4, 3, 2],
    ];
    for servers in lists {
        for clients in lists {
            for loses in [None, Some(0), Some(1)] {
                let (mut client, mut server) = End::pair();
                client.f.change(Local, CCID, clients, false);
                server.f.change(Remote, CCID, servers, false);
                let (c, s) = (client.send(P::Ack), server.send(P::Ack));
                server.recv(&c).unwrap();
                client.recv(&s).unwrap();
                let (c, s) = (client.send(P::Ack), server.send(P::Ack));
                if loses != Some(0) {
                    server.recv(&c).unwrap();
                }
                if loses != Some(1) {
                    client.recv(&s).unwrap();
                }
                let agreed = servers.iter().find(|v| clients.contains(v)).copied();
                let agreed = u64::from(agreed.unwrap_or(2));
                assert_eq!(
                    client.f.value(Local, CCID),
                    agreed,
                    "{servers:?} {clients:?}"
                );
                assert_eq!(
                    server.f.value(Remote, CCID),
                    agreed,
                    "{servers:?} {clients:?}"
                );
                assert!(!client.f.is_negotiating(Local, CCID));
                assert!(!server.f.is_negotiating(Remote, CCID));
            }
        }
    }
}

#[test]
fn a_mandatory_change_outlives_a_crossing_that_did_not_meet_it() {
    // 4340-6.6.9-1: a mandatory value is requested again, so that the peer accepts or resets.
    let mut a = End::server();
    a.f.change(Local, Feature::EcnIncapable, &[1], true);
    a.hear(&[34, 4, 4, 0]).unwrap();
    assert_eq!(a.ack(), [33, 5, 4, 0, 1, 1, 32, 4, 4, 1]);
    assert!(a.f.is_negotiating(Local, Feature::EcnIncapable));
}

#[test]
fn our_wish_is_granted_by_a_change_that_comes_first() {
    // 4340-6.6.2-1: still STABLE, because our Change has not left
    let mut a = End::server();
    a.f.change(Local, CCID, &[3, 2], false);
    a.hear(&[34, 5, 1, 2, 3]).unwrap();
    assert_eq!(a.ack(), [33, 6, 1, 3, 3, 2]);
    assert!(!a.f.is_negotiating(Local, CCID));
}

#[test]
fn new_preferences_wait_for_the_answer_to_the_old() {
    // 4340-6.6.5-1, AMB-5: what is being negotiated stays.
    let mut a = End::client();
    a.f.change(Local, CCID, &[2, 3], false);
    assert_eq!(a.ack(), [32, 5, 1, 2, 3]);
    let first = a.gss;
    a.f.change(Local, CCID, &[4], false);
    a.f.change(Local, CCID, &[2, 3], false);
    a.f.change(Local, CCID, &[3], false);
    assert_eq!(a.ack(), []);
    a.wait(Duration::from_millis(400));
    assert_eq!(a.ack(), [32, 5, 1, 2, 3]);
    assert_eq!(a.f.fgss, first);
    a.hear(&[35, 5, 1, 2, 2]).unwrap();
    assert!(a.f.is_negotiating(Local, CCID));
    assert_eq!(a.ack(), [32, 4, 1, 3]);
    assert_eq!(a.f.fgss, a.gss);
    a.hear(&[35, 5, 1, 3, 3]).unwrap();
    assert_eq!(a.f.value(Local, CCID), 3);
    assert!(!a.f.is_negotiating(Local, CCID));
}

#[test]
fn a_crossing_change_is_reconciled_with_what_was_sent() {
    // 4340-6.6.6-1: the server's list contains 3; the next Change contains the client's new preference.
    let mut a = End::client();
    a.f.change(Local, CCID, &[2, 3], false);
    a.ack();
    a.f.change(Local, CCID, &[2], false);
    a.hear(&[34, 5, 1, 3, 2]).unwrap();
    assert_eq!(a.ack(), [33, 6, 1, 3, 2, 3, 32, 4, 1, 2]);
    // Mandatory or not is part of what was sent.
    let mut a = End::client();
    a.f.change(Local, CCID, &[2], false);
    a.ack();
    a.f.change(Local, CCID, &[2], true);
    a.hear(&[35, 5, 1, 2, 2]).unwrap();
    assert_eq!(a.ack(), [1, 32, 4, 1, 2]);
}

#[test]
fn a_change_without_an_answer_is_given_up_for_another() {
    // 4340-6.6.2-1, 4340-6.6.5-1: UNSTABLE after eight transmissions
    let mut a = End::client();
    a.f.change(Local, CCID, &[2, 3], false);
    for _ in 0..7 {
        assert_eq!(a.ack(), [32, 5, 1, 2, 3]);
        a.now = a.f.poll_timeout().unwrap();
    }
    a.f.change(Local, CCID, &[3, 2], false);
    // Still CHANGING: the eighth transmission has the new list.
    assert_eq!(a.ack(), [32, 5, 1, 3, 2]);
    assert_eq!(a.f.fgss, a.gss);
    for _ in 0..7 {
        a.now = a.f.poll_timeout().unwrap();
        assert_eq!(a.ack(), [32, 5, 1, 3, 2]);
    }
    a.f.change(Local, CCID, &[4], false);
    // UNSTABLE: neither a Change nor a Confirm counts until the new list has left.
    a.hear(&[34, 4, 1, 3, 35, 5, 1, 3, 3]).unwrap();
    assert!(a.f.is_negotiating(Local, CCID));
    assert_eq!(a.f.value(Local, CCID), 2);
    assert_eq!(a.ack(), [32, 4, 1, 4]);
    a.hear(&[35, 5, 1, 4, 4]).unwrap();
    assert_eq!(a.f.value(Local, CCID), 4);
    assert!(!a.f.is_negotiating(Local, CCID));
}

#[test]
fn preferences_may_change_without_a_negotiation() {
    let mut a = End::client();
    a.f.prefer(Local, CCID, &[4]);
    assert_eq!(a.ack(), []);
    a.hear(&[34, 5, 1, 2, 4]).unwrap();
    assert_eq!(a.ack(), [33, 5, 1, 4, 4]);
    // During one, another follows if there is something new.
    a.f.change(Local, CCID, &[2], false);
    assert_eq!(a.ack(), [32, 4, 1, 2]);
    a.f.prefer(Local, CCID, &[2]);
    a.hear(&[35, 5, 1, 2, 2]).unwrap();
    assert!(!a.f.is_negotiating(Local, CCID));
    a.f.change(Local, CCID, &[4], false);
    a.ack();
    a.f.prefer(Local, CCID, &[3]);
    a.hear(&[35, 5, 1, 4, 4]).unwrap();
    assert_eq!(a.f.value(Local, CCID), 4);
    assert_eq!(a.ack(), [32, 4, 1, 3]);
}

#[test]
fn a_repeated_change_gets_the_same_answer() {
    // 4340-6.6.1-1: the peer stops at the first that arrives.
    let mut a = End::server();
    a.f.prefer(Local, CCID, &[3, 2]);
    let before = a.gss;
    a.hear(&[34, 5, 1, 2, 3]).unwrap();
    assert_eq!(a.ack(), [33, 6, 1, 3, 3, 2]);
    a.f.change(Local, CCID, &[2], false);
    // Of each feature the last is remembered.
    a.hear(&[34, 4, 7, 1, 32, 4, 1, 2]).unwrap();
    assert_eq!(
        a.ack(),
        [33, 6, 7, 1, 0, 1, 35, 5, 1, 2, 2, 32, 4, 1, 2] // ours is the last
    );
    // The same again, and another that left before our answer can have arrived.
    for change in [[34, 5, 1, 2, 3], [34, 5, 1, 3, 2]] {
        let (seq, ack) = (a.gsr.next(), Some(before));
        let bytes = change.to_vec();
        a.recv(&Sent { seq, ack, bytes }).unwrap();
        let answer = a.ack();
        assert_eq!(answer[..6], [33, 6, 1, 3, 3, 2]);
        assert!(a.f.is_negotiating(Local, CCID));
    }
    // Another, sent when our answers had arrived, is reconciled with our current preferences.
    let mut a = End::server();
    a.f.prefer(Local, CCID, &[3, 2]);
    a.hear(&[34, 5, 1, 2, 3]).unwrap();
    a.ack();
    a.f.prefer(Local, CCID, &[2]);
    a.hear(&[34, 5, 1, 3, 2]).unwrap();
    assert_eq!(a.ack(), [33, 5, 1, 2, 2]);
    // And an own negotiation in between makes the same Change a new one.
    a.f.change(Local, CCID, &[3, 2], false);
    a.ack();
    a.hear(&[35, 5, 1, 3, 3]).unwrap();
    a.hear(&[34, 5, 1, 3, 2]).unwrap();
    assert_eq!(a.ack(), [33, 6, 1, 3, 3, 2]);
}

#[test]
fn an_accepted_answer_overtakes_a_confirm_that_waits() {
    let mut a = End::server();
    a.f.prefer(Local, CCID, &[2]);
    a.hear(&[34, 4, 1, 4]).unwrap();
    assert_eq!(a.ack(), [33, 5, 1, 2, 2]);
    a.f.change(Local, CCID, &[3], false);
    a.ack();
    a.hear(&[34, 4, 1, 4]).unwrap();
    a.hear(&[35, 5, 1, 3, 3]).unwrap();
    assert_eq!(a.f.agreed(Local, CCID), 3);
    assert_eq!(a.ack(), [33, 5, 1, 2, 2]);
    assert_eq!(a.f.value(Local, CCID), 3);
}

#[test]
fn the_old_value_may_be_the_one_before_a_lost_confirm() {
    // 4340-6.3.1-2: our Confirm of 3 was lost, so the peer still has 2.
    let mut a = End::server();
    a.f.prefer(Remote, CCID, &[3]);
    a.hear(&[32, 4, 1, 3]).unwrap();
    a.ack();
    a.f.change(Remote, CCID, &[4], false);
    a.ack();
    a.hear(&[33, 5, 1, 2, 3]).unwrap();
    assert_eq!(a.f.value(Remote, CCID), 2);
    assert_eq!(a.changes(), [(Remote, CCID, 2)]);
}

#[test]
fn old_changes_and_confirms_are_ignored() {
    // 4340-6.6.4-1, 4340-6.6.4-2, 4340-6.6.4-3
    let mut a = End::server();
    let isr = a.gsr;
    a.hear_as(isr.minus(1), &[32, 5, 5, 0, 9]).unwrap();
    assert_eq!(a.ack(), []);
    a.hear_as(isr, &[32, 5, 5, 0, 8]).unwrap();
    assert_eq!(a.ack(), [35, 5, 5, 0, 8]);
    a.hear_as(isr.plus(5), &[32, 5, 5, 0, 5]).unwrap();
    a.ack();
    // A duplicate, and one that comes late; even Mandatory ones do no harm (4340-6.6.9-1).
    a.hear_as(isr.plus(5), &[32, 5, 5, 0, 4]).unwrap();
    a.hear_as(isr.plus(4), &[1, 32, 4, 1, 77]).unwrap();
    assert_eq!(a.ack(), []);
    assert_eq!(a.f.value(Remote, RATIO), 5);

    a.f.change_number(RATIO, 3);
    a.ack();
    a.hear_as(isr.plus(5), &[35, 5, 5, 0, 3]).unwrap();
    assert_eq!(a.f.value(Local, RATIO), 2);
    let fgss = a.gss;
    for (ack, value) in [(None, 2), (Some(fgss.minus(1)), 2), (Some(fgss), 3)] {
        let seq = a.gsr.next();
        let bytes = vec![35, 5, 5, 0, 3];
        a.recv(&Sent { seq, ack, bytes }).unwrap();
        assert_eq!(a.f.value(Local, RATIO), value);
    }
}

#[test]
fn old_and_new_stay_apart_across_half_of_the_number_space() {
    // 4340-6.6.4-4, erratum 974
    let mut a = End::client();
    a.f.change_number(RATIO, 3);
    a.ack();
    a.hear(&[35, 5, 5, 0, 3]).unwrap();
    for _ in 0..5 {
        let (gsr, gss) = (a.gsr.plus(1 << 45), a.gss.plus(1 << 45));
        (a.gsr, a.gss) = (gsr, gss);
        a.f.after_packet(gsr, gss);
        assert!(!a.f.fgss.is_after(gss));
        assert!(!a.f.fgsr.unwrap().is_after(gsr));
    }
    a.f.change_number(RATIO, 4);
    assert_eq!(a.ack(), [32, 5, 5, 0, 4]);
    a.hear(&[35, 5, 5, 0, 4, 32, 5, 5, 0, 9]).unwrap();
    assert_eq!(a.values(RATIO), [4, 2]);
    assert_eq!(a.ack(), [35, 5, 5, 0, 9]);

    // Only a number that is now ahead is moved, to exactly Wmax behind.
    let w_max = (1 << 46) - 1;
    let (received, sent) = (a.f.fgsr.unwrap(), a.f.fgss);
    a.f.after_packet(received, sent);
    assert_eq!((a.f.fgsr, a.f.fgss), (Some(received), sent));
    a.f.after_packet(received.minus(1), sent.minus(1));
    assert_eq!(a.f.fgsr, Some(received.minus(1).minus(w_max)));
    assert_eq!(a.f.fgss, sent.minus(1).minus(w_max));
}

#[test]
fn what_does_not_fit_leaves_with_the_next_packet() {
    let mut a = End::server();
    a.hear(&[32, 5, 5, 0, 4, 32, 9, 3, 0, 0, 0, 0, 4, 0])
        .unwrap();
    a.f.change(Local, CCID, &[2, 3, 4], true);
    a.f.change_number(RATIO, 7);
    // The first Confirm fits; the second does not, and the order is kept. So does Ack Ratio.
    assert_eq!(
        a.send_within(P::Ack, 13).bytes,
        [35, 5, 5, 0, 4, 1, 32, 6, 1, 2, 3, 4]
    );
    a.hear(&[35, 5, 1, 2, 2]).unwrap();
    assert_eq!(
        a.send_within(P::Ack, 13).bytes,
        [35, 9, 3, 0, 0, 0, 0, 4, 0]
    );
    assert_eq!(a.send_within(P::Ack, 13).bytes, [32, 5, 5, 0, 7]);
    // Mandatory does not leave without its Change.
    a.f.change(Local, NDP, &[1], true);
    a.hear(&[35, 5, 5, 0, 7]).unwrap();
    assert_eq!(a.send_within(P::Ack, 4).bytes, []);
    assert_eq!(a.send_within(P::Ack, 5).bytes, [1, 32, 4, 7, 1]);
}

#[test]
fn memory_is_bounded() {
    // 4340-18-4: Changes beyond the bound count as lost, long lists are cut.
    let mut a = End::server();
    for _ in 0..PENDING_CONFIRMS {
        a.hear(&[32, 4, 126, 1]).unwrap();
    }
    a.hear(&[32, 4, 127, 1, 32, 5, 5, 0, 4]).unwrap();
    let mut answers = a.ack();
    assert_eq!(answers.len(), 3 * PENDING_CONFIRMS);
    answers.dedup();
    assert_eq!(answers.chunks(3).next(), Some(&[35, 3, 126][..]));
    assert_eq!(a.f.value(Remote, RATIO), 2);

    let long: Vec<u8> = (0..=252).collect();
    a.f.prefer(Remote, CCID, &long);
    let mut change = vec![32, 255, 1];
    change.extend(long.iter().rev().take(252));
    a.hear(&change).unwrap();
    let answer = a.ack();
    assert_eq!(answer.len(), 4 + FEATURE_VALUES);
    assert_eq!(answer[3..6], [1, 0, 1]);
    assert_eq!(answer.last(), Some(&31));
}

//! The transport sees the labels of datagrams.

use super::*;

#[test]
fn claimed_datagram_carries_its_label() {
    let (mut app, mut transport) = ring(2);
    let label = Label {
        tag: u64::MAX,
        priority: 255,
        deadline_ns: Some(u64::MAX - 1),
        key: Some(0),
    };
    let data: Vec<u8> = (0..16).collect();
    for len in 0..=16 {
        app.sender.push(&data[..len], label).unwrap();
        app.sender.push(&data[..len], Label::default()).unwrap();
        assert_eq!(
            claim(&mut transport.source),
            Some((data[..len].to_vec(), label))
        );
        let plain = Some((data[..len].to_vec(), Label::default()));
        assert_eq!(claim(&mut transport.source), plain);
    }
}

#[test]
fn offer_shows_whether_the_datagram_has_a_priority() {
    let (mut app, mut transport) = ring(4);
    let with = |priority| Label {
        priority,
        ..Label::default()
    };
    let ticket = app.sender.push(&[7; 16], with(1)).unwrap().ticket;
    app.sender.push(&[7; 3], with(0)).unwrap();
    assert!(!transport.source.is_offer_important());
    for (priority, is_important) in [(1, true), (0, false), (255, true)] {
        app.sender.revise(ticket, &[7; 16], with(priority)).unwrap();
        assert_eq!(transport.source.look(0), Ok(Look::Offer { len: 16 }));
        assert_eq!(transport.source.is_offer_important(), is_important);
    }
    claim(&mut transport.source);
    assert_eq!(transport.source.look(0), Ok(Look::Offer { len: 3 }));
    assert!(!transport.source.is_offer_important());
}

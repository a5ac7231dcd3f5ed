//! Ack Vectors and Data Dropped: what is valid, how reports merge, what each code means.

use super::*;

#[test]
fn reports_merge_as_the_rfc_says() {
    // 4340-11.4.1-1: packet 0 is reported twice, with two later packets received at most.
    for (old, new, is_acked, is_marked) in [
        ('0', '0', true, false),
        ('0', '1', true, true),
        ('0', '3', true, false),
        ('1', '0', false, true),
        ('1', '1', false, true),
        ('1', '3', false, true),
        ('3', '0', true, false),
        ('3', '1', false, true),
        ('3', '3', false, false),
        ('2', '2', false, false), // 4340-11.4-6
        ('2', '0', true, false),
    ] {
        let mut flow = Flow::new("d..");
        let options = [vector(&format!("0{old}")), vector(&format!("00{new}"))];
        let first = flow.ack(1, &options[0]);
        let second = flow.ack(2, &options[1]);
        let acked = first.acked.packets + second.acked.packets;
        let marked = first.marked.packets + second.marked.packets;
        assert_eq!(
            (acked, marked),
            (u32::from(is_acked), u32::from(is_marked)),
            "{old}{new}"
        );
        let congested = first.congestion.or(second.congestion).is_some();
        assert_eq!(congested, is_marked, "{old}{new}");
        assert_eq!(
            second.pipe,
            u32::from(!is_acked && !is_marked),
            "{old}{new}"
        );
    }
}

#[test]
fn a_first_report_is_the_fate_whatever_follows() {
    let mut flow = Flow::new("d..");
    flow.ack(1, &vector("00"));
    flow.ack(2, &vector("001"));
    assert_eq!(flow.take_fates(), [(0, Acked)]);
}

#[test]
fn run_lengths_and_several_vectors_continue_one_another() {
    // 4340-11.4-2: the RFC's example 0,192,3,64,5, here in two options; 100 is packet 12.
    let mut flow = Flow::new("ddddddddddddd");
    let mut options = option(38, &[0, 192]);
    options.extend(option(39, &[3, 64, 5]));
    let fb = flow.ack(12, &options);
    assert_eq!((fb.acked, fb.marked), (packets(11), packets(1)));
    let fates = flow.take_fates();
    assert!(
        fates
            .iter()
            .all(|&(i, f)| f == if i == 6 { AckedCe } else { Acked })
    );
    let open = (0..13).find(|i| fates.iter().all(|(slot, _)| slot != i));
    assert_eq!(open, Some(11));
}

#[test]
fn packet_outside_all_vectors_counts_as_not_received() {
    // 4340-11.4-5
    let mut flow = Flow::new("ddddd");
    let fb = flow.ack(3, &vector("00"));
    assert_eq!((fb.acked.packets, fb.lost.packets), (2, 0));
    let fb = flow.ack(4, &vector("000"));
    assert_eq!((fb.acked.packets, fb.lost.packets), (1, 2));
}

#[test]
fn a_later_shorter_vector_takes_nothing_back() {
    let mut flow = Flow::new("dddddd");
    flow.ack(2, &vector("000"));
    let fb = flow.ack(5, &vector("0"));
    assert_eq!((fb.acked.packets, fb.lost.packets, fb.pipe), (1, 0, 2));
    let fb = flow.ack(5, &vector("0333"));
    assert_eq!((fb.acked.packets, fb.lost.packets, fb.pipe), (0, 0, 2));
}

#[test]
fn a_vector_below_the_first_packet_is_ignored() {
    // 4340-11.4-4
    let mut flow = Flow::new("dddd");
    let fb = flow.ack(3, &option(38, &[4]));
    assert_eq!(
        (fb.acked.packets, fb.pipe),
        (1, 3),
        "only the packet that is named"
    );
    assert_eq!(flow.flight.oddities().invalid_vectors, 1);
    let fb = flow.ack(3, &option(38, &[3]));
    assert_eq!(
        (fb.acked.packets, fb.pipe),
        (3, 0),
        "down to the first is right"
    );
    assert_eq!(flow.flight.oddities().invalid_vectors, 1);
}

#[test]
fn a_vector_of_few_long_cells_below_the_first_packet_is_ignored() {
    // 4340-11.4-4: 192 packets are covered, of 140 that were sent.
    let mut flow = Flow::new(&"d".repeat(140));
    let fb = flow.ack(139, &option(38, &[63, 63, 63]));
    assert_eq!((fb.acked.packets, fb.pipe), (1, 139));
    assert_eq!(flow.flight.oddities().invalid_vectors, 1);
}

#[test]
fn a_long_vector_late_in_the_connection_is_valid() {
    let mut flow = Flow::new(&"d".repeat(128));
    let fb = flow.ack(127, &option(38, &[63, 63]));
    assert_eq!(
        (fb.acked.packets, flow.flight.oddities().invalid_vectors),
        (128, 0)
    );
    let mut flow = Flow::new(&"d".repeat(127));
    let fb = flow.ack(126, &option(38, &[63, 63]));
    assert_eq!(
        (fb.acked.packets, flow.flight.oddities().invalid_vectors),
        (1, 1)
    );
}

#[test]
fn the_named_packet_is_received_even_if_its_cell_denies_it() {
    // 4340-11.4-2
    let mut flow = Flow::new("dd");
    let fb = flow.ack(1, &vector("30"));
    assert_eq!((fb.acked.packets, fb.pipe), (2, 0));
}

#[test]
fn an_acknowledgement_without_its_vector_infers_no_loss() {
    let mut flow = Flow::new("dddddd");
    for i in [2, 4, 5] {
        let fb = flow.ack(i, &[]);
        assert_eq!((fb.acked.packets, fb.lost.packets), (1, 0));
    }
    // This vector says nothing of packet 3: only what is below packet 1 is decided.
    let fb = flow.ack(1, &vector("0"));
    assert_eq!((fb.acked.packets, fb.lost.packets, fb.pipe), (1, 1, 1));
    assert_eq!(fb.congestion, Some(flow.seq(0)));
}

#[test]
fn without_vectors_an_acknowledgement_tells_of_one_packet() {
    let mut flow = Flow::new("dddd");
    flow.flight.expect_vectors(false);
    let fb = flow.ack(2, &[]);
    assert_eq!((fb.acked, fb.lost.packets, fb.pipe), (packets(1), 0, 1));
    assert_eq!(flow.take_fates(), [(0, Sent), (1, Sent), (2, Acked)]);
    // A reordered acknowledgement still counts, but the fates are already reported.
    let fb = flow.ack(0, &[]);
    assert_eq!((fb.acked, fb.pipe), (packets(1), 1));
    assert_eq!(flow.take_fates(), []);
    flow.flight.on_timeout();
    flow.send("d");
    let fb = flow.ack(4, &[]);
    assert_eq!((fb.acked, fb.pipe), (packets(1), 0));
    assert_eq!(flow.take_fates(), [(3, Sent), (4, Acked)]);
}

#[test]
fn a_vector_that_was_not_requested_is_read() {
    let mut flow = Flow::new("dddd");
    flow.flight.expect_vectors(false);
    let fb = flow.ack(3, &vector("0003"));
    assert_eq!((fb.acked.packets, fb.lost.packets, fb.pipe), (3, 1, 0));
}

#[test]
fn each_drop_code_has_its_count_and_its_fate() {
    // 4340-11.7.2-4, 4340-11.7-2
    for code in 0..8 {
        let mut flow = Flow::new("ddd");
        let options = [vector("000"), option(40, &[0, 0x80 | code << 4])].concat();
        let fb = flow.ack(2, &options);
        let expected = Drops {
            protocol: u32::from(code == 0),
            not_listening: u32::from(code == 1),
            receive_buffer: u32::from(code == 2),
            corrupt: u32::from(code >= 3),
        };
        assert_eq!(fb.drops, expected, "code {code}");
        assert_eq!(
            fb.congestion,
            (code >= 3).then(|| flow.seq(1)),
            "code {code}"
        );
        assert_eq!((fb.acked, fb.pipe), (packets(3), 0), "it was received");
        assert_eq!(
            flow.take_fates(),
            [(0, Acked), (1, RxDropped(code)), (2, Acked)]
        );
    }
}

#[test]
fn a_drop_is_counted_once_and_never_changed() {
    // 4340-11.7-7
    let mut flow = Flow::new("dd.");
    let codes = [
        option(40, &[0xa0]),
        option(40, &[0, 0xa0]),
        option(40, &[0, 0, 0xb0]),
    ];
    let fb = flow.ack(0, &codes[0]);
    assert_eq!(
        (fb.drops.receive_buffer, flow.take_fates()),
        (1, vec![(0, RxDropped(2))])
    );
    let options = [vector("00"), codes[1].clone()].concat();
    assert_eq!(flow.ack(1, &options).drops, Drops::default());
    let options = [vector("000"), codes[2].clone()].concat();
    let fb = flow.ack(2, &options);
    assert_eq!((fb.drops, fb.congestion), (Drops::default(), None));
}

#[test]
fn a_packet_dropped_after_it_was_acknowledged_counts_but_keeps_its_fate() {
    let mut flow = Flow::new("d.");
    flow.ack(0, &vector("0"));
    let options = [vector("00"), option(40, &[0, 0xa0])].concat();
    let fb = flow.ack(1, &options);
    assert_eq!((fb.drops.receive_buffer, fb.acked.packets), (1, 0));
    assert_eq!(flow.take_fates(), [(0, Acked)]);
}

#[test]
fn a_drop_of_a_packet_that_the_vector_lacks_is_ignored() {
    // 4340-11.7-3, 4340-11.7-7
    let mut flow = Flow::new("ddd");
    let options = [vector("030"), option(40, &[0, 0xb1])].concat();
    let fb = flow.ack(2, &options);
    assert_eq!((fb.drops.corrupt, fb.congestion), (1, Some(flow.seq(0))));
    assert_eq!(flow.take_fates(), [(0, RxDropped(3)), (2, Acked)]);
}

#[test]
fn blocks_follow_one_another_with_their_runs() {
    // 4340-11.7-1: blocks 0,160,3,162 at packet 8: 8 normal, 7 dropped, 6–3 normal, 2–0 dropped.
    let mut flow = Flow::new("ddddddddd");
    let options = [
        option(38, &[8]),
        option(40, &[0, 160]),
        option(40, &[3, 162]),
    ]
    .concat();
    let fb = flow.ack(8, &options);
    assert_eq!(fb.drops.receive_buffer, 4);
    let dropped: Vec<u32> = flow
        .take_fates()
        .iter()
        .filter(|(_, f)| *f == RxDropped(2))
        .map(|&(i, _)| i)
        .collect();
    assert_eq!(dropped, [0, 1, 2, 7]);
}

#[test]
fn blocks_below_the_first_packet_are_ignored() {
    // 4340-11.7-7
    let mut flow = Flow::new("dd");
    let options = [vector("00"), option(40, &[0xb2])].concat();
    let fb = flow.ack(1, &options);
    assert_eq!(
        (fb.drops, flow.flight.oddities().invalid_drops),
        (Drops::default(), 1)
    );
    assert_eq!(flow.take_fates(), [(0, Acked), (1, Acked)]);
    let mut flow = Flow::new("dd");
    let options = [vector("00"), option(40, &[0xb1])].concat();
    let fb = flow.ack(1, &options);
    assert_eq!(
        (fb.drops.corrupt, flow.flight.oddities().invalid_drops),
        (2, 0)
    );
}

#[test]
fn without_a_vector_a_drop_block_is_a_receipt() {
    let mut flow = Flow::new("dddd");
    flow.flight.expect_vectors(false);
    let fb = flow.ack(3, &option(40, &[0, 0x90, 0]));
    assert_eq!(
        (fb.acked.packets, fb.drops.not_listening, fb.pipe),
        (2, 1, 0)
    );
    assert_eq!(
        flow.take_fates(),
        [(0, Sent), (1, Sent), (2, RxDropped(1)), (3, Acked)]
    );
}

#[test]
fn old_reports_are_read_once_per_round_trip() {
    let spurious = |flow: &Flow| flow.flight.oddities().spurious_losses;
    let mut flow = Flow::new("ddddd");
    flow.ack(4, &vector("00003")); // packet 0 is lost, and the first round trip is over
    flow.ack(4, &vector("00003")); // the deep read of the second
    flow.ack(4, &vector("00000")); // packet 0 is below what is decided
    assert_eq!(spurious(&flow), 0);
    flow.send("d");
    flow.ack(5, &vector("000000")); // the second round trip is over
    assert_eq!(spurious(&flow), 0);
    flow.ack(5, &vector("000000")); // the deep read of the third
    assert_eq!(spurious(&flow), 1);
}

#[test]
fn records_outlive_their_decision_by_a_round_trip() {
    let mut flow = Flow::new("dddd");
    flow.ack(3, &vector("0003"));
    flow.send("d");
    flow.ack(4, &vector("0"));
    assert_eq!(flow.ack(0, &[]).ack_sent_at, Some(ms(0)));
    flow.send("d");
    flow.ack(5, &vector("0"));
    assert_eq!(flow.ack(2, &[]).ack_sent_at, None, "forgotten");
    assert_eq!(flow.ack(3, &[]).ack_sent_at, Some(ms(3)), "not decided");
}

/// The last acknowledgement's report on datagrams longer than 100 bytes.
fn large(flow: &Flow) -> (usize, u32, usize) {
    let news = flow.flight.large_news();
    (news.received_len, news.gone, news.gone_len)
}

fn flow_of(lens: &[usize]) -> Flow {
    let mut flow = Flow::new("");
    flow.flight.set_large_len(100);
    for &len in lens {
        flow.send_one(ms(0), true, len);
    }
    flow
}

#[test]
fn large_datagrams_that_are_lost_are_counted_separately() {
    let mut flow = flow_of(&[100, 101, 300, 20, 50, 40, 60]);
    assert_eq!(large(&flow), (0, 0, usize::MAX));
    assert_eq!(flow.flight.large_in_flight().gone, 2);
    flow.ack(5, &vector("0"));
    assert_eq!(large(&flow), (40, 0, usize::MAX));
    flow.ack(6, &vector("000"));
    assert_eq!(large(&flow), (60, 2, 101), "100 bytes are not large");
    assert_eq!(flow.flight.large_in_flight().gone, 0);
    flow.ack(6, &vector("000"));
    assert_eq!(large(&flow), (0, 0, usize::MAX), "told once");
}

#[test]
fn large_datagrams_that_pass_unreported_are_gone_too() {
    let mut flow = flow_of(&[200, 150, 90, 170, 160]);
    flow.flight.expect_vectors(false);
    flow.ack(3, &[]);
    assert_eq!(large(&flow), (170, 2, 150));
    assert_eq!(flow.flight.large_in_flight().gone, 1);
    flow.flight.on_timeout();
    assert_eq!(flow.flight.large_in_flight().gone, 0);
}

#[test]
fn drop_code_of_a_marked_packet_counts() {
    // 4340-11.7-2, 4340-11.7.2-4: one packet is reported as marked and as dropped.
    let mut flow = Flow::new("ddd");
    let options = [vector("010"), option(40, &[0, 0x80 | 2 << 4])].concat();
    let fb = flow.ack(2, &options);
    assert_eq!((fb.acked, fb.marked), (packets(2), packets(1)));
    assert_eq!(fb.drops.receive_buffer, 1);
    assert_eq!(flow.take_fates()[1], (1, RxDropped(2)));
}

#[test]
fn withheld_number_reported_as_received_is_congestion() {
    // 4340-12.3-2
    for (cells, verdict, congestion) in [
        // Four received, one not, one received.
        (&[0x03, 0xC0, 0x00][..], WithheldReport::NotReceived, None),
        (&[0x05], WithheldReport::Received, Some(1)),
        // The mark of a packet that never left is false, too.
        (&[0x03, 0x40, 0x00], WithheldReport::Received, Some(1)),
    ] {
        let mut flow = Flow::new("d");
        let seq = flow.withhold();
        flow.send("dddd");
        assert_eq!(flow.flight.report_on_withheld(seq), WithheldReport::None);
        let len = 2 + u8::try_from(cells.len()).unwrap();
        let options = [&[38, len][..], cells].concat();
        let feedback = flow.ack(5, &options);
        assert_eq!(
            feedback.congestion,
            congestion.map(|i| flow.seq(i)),
            "{cells:?}"
        );
        assert_eq!((feedback.acked.packets, feedback.lost.packets), (5, 0));
        assert_eq!(flow.flight.report_on_withheld(seq), verdict, "{cells:?}");
    }
}

#[test]
fn acknowledgement_of_withheld_number_is_congestion() {
    // 4340-12.3-2: the acknowledgement number alone is a report, too.
    let mut flow = Flow::new("d");
    let seq = flow.withhold();
    assert_eq!(flow.ack(1, &[]).congestion, Some(seq));
}

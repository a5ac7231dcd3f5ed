//! Unit tests; against a model in `model.rs`.

use super::*;
use crate::config::bounds::{ACK_RECORDS, MISSING_PACKETS};
use crate::wire::Options;

mod model;

const ROOM: usize = 1008;

/// A vector under test with the numbers of our own packets.
struct Receiver {
    v: AckVector,
    own: Seq,
}

impl Receiver {
    fn new() -> Self {
        Self {
            v: AckVector::default(),
            own: Seq::new(58),
        }
    }

    fn hear(&mut self, seqs: impl IntoIterator<Item = u64>) {
        for seq in seqs {
            self.v.on_packet(Seq::new(seq), Ecn::Ect0);
        }
    }

    fn hear_as(&mut self, seq: u64, ecn: Ecn) {
        self.v.on_packet(Seq::new(seq), ecn);
    }

    /// The option bytes of our next packet.
    fn report(&mut self) -> Vec<u8> {
        self.report_within(ROOM)
    }

    fn report_within(&mut self, room: usize) -> Vec<u8> {
        let mut w = OptionWriter::new(room);
        self.own = self.own.next();
        let wrote = self.v.write(self.own, &mut w);
        assert_eq!(wrote, !w.is_empty());
        w.as_slice().to_vec()
    }

    /// The peer acknowledges our packet `back` before the last.
    fn acked(&mut self, back: u64) {
        self.v.on_acked(self.own.minus(back));
    }
}

#[test]
fn the_example_of_the_rfc() {
    // 4340-11.4-1, 4340-11.4-2
    let mut r = Receiver::new();
    r.hear(88..=93);
    r.hear_as(94, Ecn::Ce);
    r.hear([95, 96, 97, 98, 100]);
    assert_eq!(r.v.newest(), Some(Seq::new(100)));
    assert_eq!(r.report(), [38, 7, 0, 192, 3, 64, 5]);
}

#[test]
fn the_example_of_appendix_a() {
    // 4340-A-1: packet 2 has the nonce.
    let mut r = Receiver::new();
    r.hear([0]);
    r.hear_as(1, Ecn::Ce);
    r.hear_as(2, Ecn::Ect1);
    r.hear([3]);
    assert_eq!(r.report(), [39, 5, 1, 64, 0]);
    r.hear([4, 5, 6, 10]);
    assert_eq!(r.report(), [39, 7, 0, 194, 4, 64, 0]);
    r.acked(1);
    assert_eq!(r.report(), [38, 5, 0, 194, 2]);
    // The second report covered everything that has arrived.
    r.acked(1);
    assert_eq!(r.report(), [38, 3, 0]);
    r.hear([12]);
    assert_eq!(r.report(), [38, 5, 0, 192, 0]);
}

#[test]
fn a_late_packet_is_reported_before_it_is_forgotten() {
    // 4340-A-1: the acknowledged report said that 9 was missing.
    let mut r = Receiver::new();
    r.hear([4, 5, 6, 10]);
    assert_eq!(r.report(), [38, 5, 0, 194, 2]);
    r.hear_as(9, Ecn::Ect0);
    r.acked(0);
    assert_eq!(r.report(), [38, 3, 1]);
    r.acked(0);
    assert_eq!(r.report(), [38, 3, 0]);
    // Now 9 is too old.
    r.hear_as(9, Ecn::Ce);
    assert_eq!(r.report(), [38, 3, 0]);
}

#[test]
fn arrivals_merge_with_what_is_known() {
    // 4340-11.4.1-2; stored state × arrival → state
    let table = [
        (Ecn::Ect0, Ecn::Ect0, 0),
        (Ecn::Ect0, Ecn::Ce, 1),
        (Ecn::Ect1, Ecn::Ce, 1),
        (Ecn::Ce, Ecn::Ect0, 1),
        (Ecn::Ce, Ecn::Ce, 1),
        (Ecn::NotEct, Ecn::Ect1, 0),
    ];
    for (first, second, state) in table {
        let mut r = Receiver::new();
        r.hear([1, 2, 4, 5]);
        r.hear_as(3, first);
        let before = r.report();
        r.hear_as(3, second);
        let after = r.report();
        if state == 1 {
            assert_eq!(after, [38, 5, 1, 64, 1]);
        } else {
            assert_eq!(after, before);
        }
    }
}

#[test]
fn the_nonce_echo_sums_unmarked_nonces() {
    // 4340-12.2-1, AMB-10, 4340-11.4-3
    let mut r = Receiver::new();
    r.hear(1..=5);
    assert_eq!(r.report(), [38, 3, 4]);
    r.hear_as(6, Ecn::Ect1);
    assert_eq!(r.report(), [39, 3, 5]);
    r.hear_as(8, Ecn::Ect1);
    assert_eq!(r.report(), [38, 5, 0, 192, 5]);
    r.hear_as(7, Ecn::Ect1);
    assert_eq!(r.report(), [39, 3, 7]);
    r.hear_as(9, Ecn::Ce);
    assert_eq!(r.report(), [39, 4, 64, 7]);
    // A marked packet has no nonce any more.
    r.hear_as(7, Ecn::Ce);
    assert_eq!(r.report(), [38, 6, 64, 0, 64, 5]);
}

#[test]
fn runs_of_64_fill_a_cell() {
    let mut r = Receiver::new();
    r.hear(0..64);
    assert_eq!((r.report(), r.v.len_cells()), (vec![38, 3, 63], 1));
    r.hear([64]);
    assert_eq!((r.report(), r.v.len_cells()), (vec![38, 4, 0, 63], 2));
    // 65 are missing.
    r.hear([130]);
    assert_eq!(r.report(), [38, 7, 0, 192, 255, 0, 63]);
    assert_eq!(r.v.len_cells(), 5);
}

#[test]
fn late_packets_join_their_neighbours_where_there_is_room() {
    let cells = |late: &[u64]| {
        let mut r = Receiver::new();
        r.hear([0, 1, 5, 6]);
        r.hear(late.iter().copied());
        (r.v.len_cells(), r.report()[2..].to_vec())
    };
    assert_eq!(cells(&[]), (3, vec![1, 194, 1]));
    assert_eq!(cells(&[4]), (3, vec![2, 193, 1]));
    assert_eq!(cells(&[2]), (3, vec![1, 193, 2]));
    assert_eq!(cells(&[3]), (5, vec![1, 192, 0, 192, 1]));
    assert_eq!(cells(&[3, 4]), (3, vec![3, 192, 1]));
    assert_eq!(cells(&[3, 2]), (3, vec![1, 192, 3]));
    assert_eq!(cells(&[4, 2, 3]), (1, vec![6]));

    // A hole between two cells whose sum does not fit into one.
    let mut r = Receiver::new();
    r.hear((0..63).chain(64..127));
    r.hear([63]);
    assert_eq!(r.report(), [38, 4, 63, 62]);
    let mut r = Receiver::new();
    r.hear((0..64).chain(65..129));
    r.hear([64]);
    assert_eq!(r.report(), [38, 5, 63, 0, 63]);
}

#[test]
fn a_vector_has_the_newest_cells_that_fit() {
    // 4340-11.4.2-1
    let mut r = Receiver::new();
    r.hear((0..20).map(|n| 2 * n));
    let whole = r.report();
    assert_eq!(whole.len(), 2 + 39);
    assert_eq!(r.v.option_len(), 2 + 39);
    for room in 0..=whole.len() + 3 {
        let part = r.report_within(room);
        let len = if room < 3 { 0 } else { room.min(whole.len()) };
        assert_eq!(part.len(), len);
        assert_eq!(part.get(2..), whole.get(2..len));
    }
    // Nothing was written, so nothing was reported.
    r.hear([40]);
    assert_eq!(r.report_within(2), []);
    r.acked(0);
    assert_eq!(r.v.len_cells(), 41);
}

#[test]
fn long_vectors_are_split_with_a_nonce_sum_each() {
    // 4340-A-2, 4340-12.2-1: each cell one packet; packet 0, the oldest, has a nonce, and so has the
    // newest of the second option.
    let mut r = Receiver::new();
    r.hear_as(0, Ecn::Ect1);
    for seq in 1..600 {
        let ecn = match seq {
            346 => Ecn::Ect1,
            n if n % 2 == 0 => Ecn::Ect0,
            _ => Ecn::Ce,
        };
        r.hear_as(seq, ecn);
    }
    let bytes = r.report();
    assert_eq!(r.v.option_len(), bytes.len());
    let kinds: Vec<_> = Options(&bytes)
        .iter()
        .map(|o| match o {
            Opt::AckVector { nonce, cells } => (nonce, cells.len()),
            _ => panic!("{o:?}"),
        })
        .collect();
    assert_eq!(kinds, [(false, 253), (true, 253), (true, 94)]);
    // Both options need their header.
    assert_eq!(r.report_within(255).len(), 255);
    assert_eq!(r.report_within(256).len(), 255);
    assert_eq!(r.report_within(257).len(), 255);
    assert_eq!(r.report_within(258).len(), 258);
}

#[test]
fn a_window_without_loss_takes_a_cell_per_64_packets_and_shrinks() {
    // 4340-11.1-2, 4340-11.4.2-1: 10^5 packets, an acknowledgement for two, one acknowledged of 100
    let mut r = Receiver::new();
    let mut cells_max = 0;
    for seq in 0..100_000 {
        r.hear([seq]);
        if seq % 2 == 1 {
            r.report();
        }
        if seq % 200 == 199 {
            r.acked(0);
            assert_eq!(r.v.packets, 1);
        }
        cells_max = cells_max.max(r.v.len_cells());
    }
    assert_eq!(cells_max, 4);
}

#[test]
fn an_acknowledgement_from_a_round_trip_ago_is_still_understood() {
    // 10,000 packets in flight, an acknowledgement for each two: far more reports than records.
    let mut r = Receiver::new();
    for seq in 0..200_000 {
        r.hear([seq]);
        if seq % 2 == 1 {
            r.report();
        }
        if seq % 1000 == 999 && seq > 10_000 {
            r.acked(5000);
        }
    }
    assert!(r.v.packets < 10_000 + 1000 + 10_000 / 64, "{}", r.v.packets);
}

#[test]
fn reports_between_other_packets_are_found_again() {
    // Every other packet of ours carries no vector; its acknowledgement says nothing about one.
    let mut r = Receiver::new();
    r.hear(0..10);
    r.report();
    r.own = r.own.next();
    r.acked(0);
    assert_eq!(r.v.packets, 10);
    r.acked(1);
    assert_eq!(r.v.packets, 1);
}

#[test]
fn the_oldest_reports_are_forgotten_first() {
    // 4340-18-4: each report has more news than a 128th, so each has a record of its own.
    let mut r = Receiver::new();
    let mut newest = 0;
    let mut heard = Vec::new();
    for _ in 0..=ACK_RECORDS {
        newest += 100 + newest / 100;
        heard.push(newest);
        r.hear([newest]);
        r.own = r.own.next();
        r.report();
    }
    let all = r.v.packets;
    r.acked(2 * ACK_RECORDS as u64);
    assert_eq!(r.v.packets, all);
    r.acked(2 * ACK_RECORDS as u64 - 2);
    assert_eq!(r.v.packets, newest - heard[1]);
}

#[test]
fn numbers_wrap() {
    // 4340-3.1-2
    let mut r = Receiver::new();
    r.own = Seq::new((1 << 48) - 2);
    let base = (1 << 48) - 3;
    r.hear([base, base + 1, base + 3, base + 4]);
    r.report();
    r.hear([base + 5]);
    r.hear([base + 2]);
    assert_eq!(r.report(), [38, 3, 5]);
    assert_eq!(r.own, Seq::ZERO);
    r.acked(1);
    assert_eq!(r.report(), [38, 3, 3]);
    r.acked(1);
    assert_eq!(r.report(), [38, 3, 0]);
    assert_eq!(r.v.newest(), Some(Seq::new(2)));
}

#[test]
fn memory_is_bounded_through_an_overshoot() {
    // 4340-18-4: 16,667 packets; every other burst of one to eight is lost, none of our
    // acknowledgements acknowledged; again and again.
    let mut r = Receiver::new();
    let mut seq = 0;
    for burst in 0..60_000_u64 {
        let len = 1 + burst * 7 % 8;
        if burst % 2 == 0 {
            r.hear(seq..seq + len);
            r.report();
        }
        seq += len;
        assert!(r.v.len_cells() <= ACK_VECTOR_CELLS);
    }
    assert_eq!(r.v.len_cells(), ACK_VECTOR_CELLS);
    let bytes = r.report();
    assert_eq!(bytes.len(), 1008);
    // The report is true: compare it cell by cell.
    let total: u64 = r.v.cells.iter().map(|c| c.len()).sum();
    assert_eq!(total, r.v.packets);
    // A record may cover a 128th less than the report.
    r.acked(0);
    assert!(r.v.len_cells() <= ACK_VECTOR_CELLS / 128);
}

#[test]
fn late_packets_do_not_break_the_bound() {
    let mut r = Receiver::new();
    r.hear((0..ACK_VECTOR_CELLS as u64 / 2).map(|n| 4 * n));
    r.hear([4 * (ACK_VECTOR_CELLS as u64 / 2)]);
    assert_eq!(r.v.len_cells(), ACK_VECTOR_CELLS);
    let newest = r.v.newest().unwrap().value();
    let packets = r.v.packets;
    // Splits a cell of three missing packets: two cells more, two less at the end.
    r.hear_as(newest - 2, Ecn::Ect0);
    assert_eq!(r.v.len_cells(), ACK_VECTOR_CELLS);
    assert_eq!(r.v.packets, packets - 4);
}

#[test]
fn a_late_packet_searches_a_bounded_part() {
    // 4340-18-4: each second packet is missing, so each has a cell of its own.
    let mut r = Receiver::new();
    r.hear((0..10_000).map(|n| 2 * n));
    let newest = r.v.newest().unwrap().value();
    let searched = SEARCHED_CELLS as u64;
    let before = r.v.cells.clone();
    r.hear([newest - searched - 1]);
    assert_eq!(r.v.cells, before);
    r.hear([newest - searched + 1]);
    assert_eq!(r.v.cells.len(), before.len() - 2);
}

#[test]
fn a_gap_that_no_report_can_hold_clears_the_vector() {
    // 4340-18-4: the cost of a packet is bounded by what one report can hold.
    let widest = MISSING_PACKETS;
    let mut r = Receiver::new();
    r.hear([0, 1]);
    r.hear([widest + 2]);
    assert_eq!((r.v.len_cells(), r.v.packets), (1002, widest + 3));
    assert_eq!(r.report().len(), ROOM);
    let mut r = Receiver::new();
    r.hear([0, 1]);
    r.hear([widest + 3]);
    assert_eq!((r.v.len_cells(), r.v.packets), (1, 1));
    r.hear([1, 2]);
    assert_eq!((r.v.len_cells(), r.v.packets), (1, 1), "too old");
    r.hear([(1 << 47) - 1]);
    assert_eq!((r.v.len_cells(), r.v.packets), (1, 1));
}

#[test]
fn a_rollback_forgets_the_newest_packets() {
    // 4340-7.5.4-10
    for (gap, newest, report) in [
        (0, 7, vec![38, 4, 0xC3, 3]),
        (100, 7, vec![38, 4, 0xC3, 3]),
        (0, 2, vec![38, 3, 2]),
        (MISSING_PACKETS, 7, vec![]),
    ] {
        let mut r = Receiver::new();
        r.hear([0, 1, 2, 3, 8 + gap]);
        r.report();
        r.v.roll_back(Seq::new(newest));
        assert_eq!(r.report(), report, "{gap} {newest}");
        r.acked(0);
        r.hear([newest + 1]);
        assert_eq!(r.v.newest(), Some(Seq::new(newest + 1)));
        let packets: u64 = r.v.cells.iter().map(|c| c.len()).sum();
        assert_eq!(r.v.packets, packets);
    }
}

#[test]
fn before_the_first_packet_there_is_nothing() {
    let mut r = Receiver::new();
    assert_eq!(r.v.newest(), None);
    assert_eq!(r.report(), []);
    r.acked(0);
    // Any number can be the first, also one half of the space behind zero.
    r.hear([(1 << 47) + 5]);
    assert_eq!(r.report(), [38, 3, 0]);
}

use super::*;
use crate::wire::Options;
use proptest::prelude::*;
use std::collections::BTreeMap;

const ROOM: usize = 1008;
const BUFFER: DropCode = DropCode::RECEIVE_BUFFER;
const CORRUPT: DropCode = DropCode::CORRUPT;

fn drops(seqs: impl IntoIterator<Item = u64>, code: DropCode) -> DataDropped {
    let mut d = DataDropped::default();
    for seq in seqs {
        d.on_drop(Seq::new(seq), code);
    }
    d
}

fn report(d: &mut DataDropped, own: u64, ack: u64) -> Vec<u8> {
    report_within(d, own, ack, ROOM)
}

fn report_within(d: &mut DataDropped, own: u64, ack: u64, room: usize) -> Vec<u8> {
    let mut w = OptionWriter::new(ROOM);
    let wrote = d.write(Seq::new(own), Seq::new(ack), &mut w, room);
    assert_eq!(wrote, !w.is_empty());
    w.as_slice().to_vec()
}

#[test]
fn the_example_of_the_rfc() {
    // 4340-11.7-1, 4340-11.7-2: with the count corrected
    let mut d = drops([99, 94, 93, 92], BUFFER);
    assert_eq!(report(&mut d, 1, 100), [40, 6, 0, 160, 3, 162]);
}

#[test]
fn nothing_is_written_when_everything_is_normal() {
    // 4340-11.7-6
    let mut d = DataDropped::default();
    assert!(d.runs.is_empty());
    assert_eq!(report(&mut d, 1, 100), []);
    d.on_drop(Seq::new(100), CORRUPT);
    assert!(!d.runs.is_empty());
    assert_eq!(report(&mut d, 2, 100), [40, 3, 0xB0]);
}

#[test]
fn reports_repeat_until_one_of_them_is_acknowledged() {
    // 4340-11.7-6
    let mut d = drops([10, 11], BUFFER);
    assert_eq!(report(&mut d, 1, 12), [40, 4, 0, 0xA1]);
    d.on_drop(Seq::new(13), CORRUPT);
    assert_eq!(report(&mut d, 2, 14), [40, 6, 0, 0xB0, 0, 0xA1]);
    d.on_acked(Seq::new(1));
    assert_eq!(report(&mut d, 3, 15), [40, 4, 1, 0xB0]);
    d.on_acked(Seq::new(2));
    assert!(d.runs.is_empty());
}

#[test]
fn an_acknowledgement_may_end_within_a_run() {
    let mut d = drops([10, 11], BUFFER);
    report(&mut d, 1, 11);
    d.on_drop(Seq::new(12), BUFFER);
    d.on_acked(Seq::new(1));
    assert_eq!(report(&mut d, 2, 12), [40, 3, 0xA0]);
}

#[test]
fn a_drop_that_is_found_late_is_reported_before_it_is_forgotten() {
    let mut d = drops([10], BUFFER);
    report(&mut d, 1, 20);
    d.on_drop(Seq::new(15), BUFFER);
    d.on_acked(Seq::new(1));
    assert_eq!(report(&mut d, 2, 20), [40, 4, 4, 0xA0]);
    d.on_acked(Seq::new(2));
    assert!(d.runs.is_empty());
}

#[test]
fn a_drop_keeps_its_code() {
    // 4340-11.7-8
    let mut d = drops([9, 10, 11], CORRUPT);
    d.on_drop(Seq::new(10), DropCode::DELIVERED_CORRUPT);
    assert_eq!(report(&mut d, 1, 11), [40, 3, 0xB2]);
}

#[test]
fn neighbours_with_one_code_are_one_run() {
    for order in [
        [1, 2, 3],
        [1, 3, 2],
        [2, 1, 3],
        [2, 3, 1],
        [3, 1, 2],
        [3, 2, 1],
    ] {
        let mut d = drops(order, BUFFER);
        assert_eq!(d.runs.len(), 1);
        assert_eq!(report(&mut d, 1, 3), [40, 3, 0xA2]);
    }
    let mut d = drops([1, 3], BUFFER);
    d.on_drop(Seq::new(2), CORRUPT);
    assert_eq!(report(&mut d, 1, 3), [40, 5, 0xA0, 0xB0, 0xA0]);
}

#[test]
fn long_runs_take_several_blocks() {
    // 4340-11.7-1: 128 to a Normal Block, 16 to a Drop Block
    let mut d = drops(1..=17, BUFFER);
    assert_eq!(report(&mut d, 1, 17), [40, 4, 0xAF, 0xA0]);
    assert_eq!(report(&mut d, 2, 17 + 128), [40, 5, 127, 0xAF, 0xA0]);
    assert_eq!(report(&mut d, 3, 17 + 129), [40, 6, 127, 0, 0xAF, 0xA0]);
}

#[test]
fn only_the_newest_blocks_that_fit_are_written() {
    let mut d = drops((0..300).map(|n| 2 * n), BUFFER);
    for (room, len) in [
        (0, 0),
        (2, 0),
        (3, 3),
        (4, 3),
        (5, 5),
        (255, 255),
        (256, 255),
        (258, 255),
        (259, 259),
    ] {
        assert_eq!(report_within(&mut d, 1, 598, room).len(), len, "{room}");
    }
    // 300 Drop and 299 Normal Blocks in three options
    assert_eq!(report(&mut d, 2, 598).len(), 599 + 3 * 2);
}

#[test]
fn drop_without_room_is_reported_later() {
    let mut d = drops([10], BUFFER);
    assert_eq!(report_within(&mut d, 1, 10, 2), []);
    d.on_acked(Seq::new(1));
    assert_eq!(report(&mut d, 2, 10), [40, 3, 0xA0]);
}

#[test]
fn memory_and_reach_are_bounded() {
    // 4340-18-4
    let mut d = drops((0..2000).map(|n| 2 * n), BUFFER);
    assert_eq!(d.runs.len(), DATA_DROPPED_RUNS);
    assert_eq!(d.runs.front().map(|r| r.newest), Some(Seq::new(3998)));
    // Drops that no option can reach are removed.
    assert_eq!(report(&mut d, 1, 3998 + 1008 * 128 - 1).len(), 0);
    assert!(!d.runs.is_empty());
    assert_eq!(report(&mut d, 1, 3998 + 1008 * 128).len(), 0);
    assert!(d.runs.is_empty());
}

#[test]
fn drops_newer_than_the_acknowledged_packet_wait() {
    let mut d = drops([5, 9], BUFFER);
    assert_eq!(report(&mut d, 1, 7), [40, 4, 1, 0xA0]);
    d.on_acked(Seq::new(1));
    assert_eq!(report(&mut d, 2, 9), [40, 3, 0xA0]);
}

proptest! {
    #[test]
    fn reports_say_what_was_dropped(
        base in prop_oneof![Just(0), Just((1_u64 << 48) - 150)],
        drops in prop::collection::vec((0..300_u64, 0..8_u8), 1..200),
    ) {
        let mut d = DataDropped::default();
        let mut model = BTreeMap::new();
        for (at, code) in drops {
            let code = DropCode::from_number(code).unwrap();
            d.on_drop(Seq::new(base + at), code);
            model.entry(at).or_insert(code);
        }
        let bytes = report(&mut d, 1, base + 310);
        let mut said = BTreeMap::new();
        for run in Options(&bytes).drop_runs(Seq::new(base + 310)) {
            let first = run.oldest.steps_from(Seq::new(base));
            for at in first..=run.newest.steps_from(Seq::new(base)) {
                if let Some(code) = run.said {
                    said.insert(at, code);
                }
            }
        }
        prop_assert_eq!(said, model);
    }
}

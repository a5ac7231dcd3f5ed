//! In steady state packets need no new memory: neither to send nor to receive them, nor their acknowledgements.

#[path = "../examples/transfer/end.rs"]
mod end;

use end::{BEGIN, End, PACKETS_PER_TURN, TURN};
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};
use std::alloc::System;
use std::collections::VecDeque;

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// Turns of a round trip.
const ROUND_TRIP: usize = 25;
/// When all memory has been used once, and what is counted from there on.
const STEADY: u64 = 60_000;
const PACKETS: u64 = 40_000;

#[test]
fn packets_need_no_new_memory() {
    let (mut sender, mut receiver) = (End::new(1, 2), End::new(2, 1));
    receiver.listen(End::config());
    sender.connect(BEGIN, 40_000, End::config());
    let mut link: VecDeque<_> = vec![Vec::new(); ROUND_TRIP].into();
    let mut batches = Vec::new();
    let mut steady = None;
    let window = ROUND_TRIP as u64 * PACKETS_PER_TURN;
    for turn in 0..10_000 {
        let now = BEGIN + TURN * turn;
        sender.outbox.limit = sender.outbox.told + window;
        sender.turn(now, &mut batches, &mut || true);
        link.push_back(batches);
        batches = link.pop_front().unwrap();
        receiver.turn(now, &mut batches, &mut || true);
        sender.reuse_batches_of(&mut receiver);
        if sender.outbox.told >= STEADY + PACKETS {
            break;
        }
        if steady.is_none() && sender.outbox.told >= STEADY {
            steady = Some(Region::new(ALLOCATOR));
        }
    }
    assert!(sender.outbox.told >= STEADY + PACKETS);
    let change = steady.unwrap().change();
    let allocations = change.allocations + change.reallocations;
    // A table may grow by and by, but not with the packets.
    assert!(
        allocations < 20,
        "{allocations} allocations for {PACKETS} packets"
    );
}

//! Memory of idle and busy connections, and allocations per packet.

#[path = "end.rs"]
mod end;

use core::time::Duration;
use end::{BEGIN, End, PACKETS_PER_TURN, TURN};
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};
use std::alloc::System;
use std::collections::VecDeque;
use std::sync::Arc;

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// Number of connections over which the memory of an idle one is averaged.
const CONNECTIONS: u16 = 1000;
/// Packets in flight, and of the whole transfer.
const WINDOW: u64 = 10_000;
const PACKETS: u64 = 300_000;

/// Bytes that one end of an idle connection keeps.
pub(crate) fn idle() -> usize {
    let (mut client, mut server) = (End::new(1, 2), End::new(2, 1));
    server.listen(End::config());
    // As a listener's connections do, those of the client share their settings.
    let config = Arc::new(End::config());
    let before = Region::new(ALLOCATOR);
    let mut batches = Vec::new();
    let mut now = BEGIN;
    let mut wait = |client: &mut End, server: &mut End, turns, step| {
        for _ in 0..turns {
            client.turn(now, &mut batches, &mut || true);
            server.turn(now, &mut batches, &mut || true);
            now += step;
        }
        now
    };
    let mut begin = BEGIN;
    for port in 0..CONNECTIONS {
        client.connect(begin, 40_000 + port, config.clone());
        // No more at a time than a listener keeps half-open.
        begin = wait(&mut client, &mut server, 3, TURN);
    }
    // Completes later negotiations and delayed work.
    wait(&mut client, &mut server, 200, Duration::from_millis(10));
    let connections = (client.endpoint.connections(), server.endpoint.connections());
    let all = usize::from(CONNECTIONS);
    assert_eq!(connections, (all, all), "each has its connection");
    drop(batches);
    client.spare = Vec::new();
    server.spare = Vec::new();
    kept(&before) / (2 * all)
}

/// Bytes that both ends of a connection keep with a full window in flight, and allocations per packet once it has
/// been full.
pub(crate) fn busy() -> (usize, f64) {
    let before = Region::new(ALLOCATOR);
    let (mut sender, mut receiver) = (End::new(1, 2), End::new(2, 1));
    receiver.listen(End::config());
    sender.connect(BEGIN, 40_000, End::config());
    let turns = usize::try_from(WINDOW / PACKETS_PER_TURN).unwrap_or_default();
    let mut link: VecDeque<_> = vec![Vec::new(); turns].into();
    let mut back = Vec::new();
    let mut steady = None;
    for turn in 0.. {
        let now = BEGIN + TURN * turn;
        sender.outbox.limit = PACKETS.min(sender.outbox.told + WINDOW);
        sender.turn(now, &mut back, &mut || true);
        link.push_back(back);
        back = link.pop_front().unwrap_or_default();
        receiver.turn(now, &mut back, &mut || true);
        sender.reuse_batches_of(&mut receiver);
        if steady.is_none() && sender.outbox.told >= PACKETS / 2 {
            steady = Some((Region::new(ALLOCATOR), sender.outbox.told));
        }
        if sender.outbox.limit == PACKETS {
            break;
        }
    }
    let allocations = steady.map_or(f64::NAN, |(region, told)| {
        let change = region.change();
        let allocations = change.allocations + change.reallocations;
        #[expect(clippy::cast_precision_loss, reason = "some thousands")]
        let per_packet = allocations as f64 / (sender.outbox.told - told) as f64;
        per_packet
    });
    // The network's memory does not count.
    drop((link, back));
    sender.spare = Vec::new();
    receiver.spare = Vec::new();
    (kept(&before), allocations)
}

/// Bytes allocated since then and not given back.
fn kept(before: &Region<'_, System>) -> usize {
    let change = before.change();
    change
        .bytes_allocated
        .saturating_sub(change.bytes_deallocated)
}

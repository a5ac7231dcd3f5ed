//! What connections keep in memory is bounded, idle and busy.

#[path = "../examples/transfer/memory.rs"]
mod memory;

/// One test, for the allocator counts for all.
#[test]
fn connections_keep_little() {
    let idle = memory::idle();
    assert!(idle <= 4096, "{idle} bytes at an end of an idle connection");
    let (busy, _) = memory::busy();
    assert!(
        busy <= 1 << 20,
        "{busy} bytes with 10,000 packets in flight"
    );
}

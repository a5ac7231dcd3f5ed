//! The memory of idle and busy connections is bounded.

#[path = "../examples/transfer/memory.rs"]
mod memory;

/// One test only, because the allocator counts for the whole program.
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

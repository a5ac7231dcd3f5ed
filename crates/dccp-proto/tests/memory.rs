//! Bounds the memory of an idle and of a busy connection.

#[path = "../examples/transfer/memory.rs"]
mod memory;

/// One test, because the allocator counts for all threads.
#[test]
fn connection_keeps_4_kib_idle_and_1_mib_busy() {
    let idle = memory::idle();
    assert!(idle <= 4096, "{idle} bytes at an end of an idle connection");
    let (busy, _) = memory::busy();
    assert!(
        busy <= 1 << 20,
        "{busy} bytes with 10,000 packets in flight"
    );
}

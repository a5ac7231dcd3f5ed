//! What connections keep in memory, idle and busy, and how often a packet needs new memory: one line of JSON.

#[path = "transfer/memory.rs"]
mod memory;

fn main() {
    let idle = memory::idle();
    let (busy, allocations) = memory::busy();
    println!(
        r#"{{"idle_bytes":{idle},"busy_bytes":{busy},"allocations_per_packet":{allocations}}}"#
    );
}

//! Memory of idle and busy connections, and allocations per packet: one line of JSON.

#[path = "transfer/memory.rs"]
mod memory;

fn main() {
    let idle = memory::idle();
    let (busy, allocations) = memory::busy();
    println!(
        r#"{{"idle_bytes":{idle},"busy_bytes":{busy},"allocations_per_packet":{allocations}}}"#
    );
}

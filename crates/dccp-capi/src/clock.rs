//! Clock.

#![expect(unsafe_code, reason = "functions with names that C can call")]

/// Returns the time of deadlines, fates and arrivals in nanoseconds. On Linux the clock is CLOCK_MONOTONIC, which all
/// processes share. Elsewhere its origin is the first call in the process.
#[unsafe(no_mangle)]
pub extern "C" fn dccp_now_ns() -> u64 {
    dccp::clock::now().as_nanos()
}

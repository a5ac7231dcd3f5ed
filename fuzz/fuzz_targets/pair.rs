#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| usrdccp_fuzz::pair::run(data));

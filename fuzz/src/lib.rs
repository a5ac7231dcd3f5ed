//! What the fuzz targets do, as plain functions: `fuzz_targets/` calls them with what libFuzzer
//! invents, `crates/dccp-proto/tests/corpus.rs` with the files in `corpus/`.

pub mod connection;
pub mod options;
pub mod packet;

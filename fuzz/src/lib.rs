//! What the fuzz targets do, as plain functions: `fuzz_targets/` calls them with what libFuzzer
//! invents, `tests/corpus.rs` of `dccp-proto` and `dccp-ring` with the files in `corpus/`.

pub mod connection;
pub mod options;
pub mod packet;
pub mod ring;

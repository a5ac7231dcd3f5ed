//! What the fuzz targets do, as plain functions: `fuzz_targets/` calls them with what libFuzzer
//! invents, `tests/corpus.rs` of `dccp-proto`, `dccp-ring` and `dccp` with the files in `corpus/`.

pub mod connection;
pub mod options;
pub mod packet;
pub mod ring;
pub mod ring_messages;

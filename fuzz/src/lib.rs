//! The bodies of the fuzz targets as plain functions. `fuzz_targets/` calls them with libFuzzer's input,
//! `tests/corpus.rs` of the crates under test with the files in `corpus/`.

pub mod connection;
pub mod messages;
pub mod options;
pub mod packet;
pub mod pair;
pub mod ring;
pub mod ring_messages;

//! The library as C programs see it.

#![expect(clippy::unwrap_used, reason = "helpers of tests panic as tests do")]

mod compile;
mod cplusplus;
mod header;
mod manual;
mod parse;
mod programs;
#[cfg(target_os = "linux")]
mod ring;

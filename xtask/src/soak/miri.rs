//! `cargo xtask soak miri`: the packet ring's tests in Miri, which finds undefined behaviour and data
//! races, and plays weak memory.

use anyhow::Result;

use crate::shell::{self, command};

/// 64 and 32 bit, little and big endian.
const TARGETS: [&str; 3] = [
    "x86_64-unknown-linux-gnu",
    "i686-unknown-linux-gnu",
    "s390x-unknown-linux-gnu",
];

/// The tests draw their seeds from the system. None of the code that Miri runs is unsafe, so that
/// borrows need no second look, which takes most of the time.
const FLAGS: &str = "-Zmiri-disable-isolation -Zmiri-disable-stacked-borrows";

pub(super) fn run() -> Result<bool> {
    let add = "rustup component add --toolchain nightly miri rust-src";
    shell::run(&mut command(&add.split(' ').collect::<Vec<_>>()))?;
    for target in TARGETS {
        let test = "cargo +nightly miri test --package dccp-ring --lib --target";
        let mut test = command(&test.split(' ').collect::<Vec<_>>());
        test.arg(target).env("MIRIFLAGS", FLAGS);
        shell::run(&mut test)?;
    }
    Ok(true)
}

//! `cargo xtask soak miri`: the packet ring's tests in Miri, which finds undefined behaviour and data
//! races, and plays weak memory; and those of the core where bytes and widths matter and that Miri can play in seconds.

use anyhow::Result;

use dccp_dev::shell;

/// 64 and 32 bit, little and big endian.
const TARGETS: [&str; 3] = [
    "x86_64-unknown-linux-gnu",
    "i686-unknown-linux-gnu",
    "s390x-unknown-linux-gnu",
];

/// Modules of the core. Most others have tests that play millions of packets, or sums over 64 KiB.
const CORE: [&str; 5] = [
    "conn::seqno::",
    "conn::state::",
    "conn::timers::",
    "wire::header::",
    "wire::options::",
];

/// The tests draw their seeds from the system. None of the code that Miri runs is unsafe, so that
/// borrows need no second look, which takes most of the time.
const FLAGS: &str = "-Zmiri-disable-isolation -Zmiri-disable-stacked-borrows";

pub(super) fn run() -> Result<bool> {
    let add = "rustup component add --toolchain nightly miri rust-src";
    shell::run(&mut shell::command_line(add))?;
    for target in TARGETS {
        for (package, modules) in [("dccp-ring", &[][..]), ("dccp-proto", &CORE)] {
            let test = "cargo +nightly miri test --lib --package";
            let mut test = shell::command_line(test);
            test.args([package, "--target", target, "--"]).args(modules);
            shell::run(test.env("MIRIFLAGS", FLAGS))?;
        }
    }
    Ok(true)
}

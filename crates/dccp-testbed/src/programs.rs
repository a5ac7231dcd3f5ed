//! The programs that experiments start: built when an experiment needs them.

use anyhow::Result;
use dccp_dev::shell;

/// Ends of transfers, ours and others'.
pub(crate) const BENCH_ENDS: &str = "-p dccp-testbed --bin bench-ends --features quic";
/// One dumbbell in our simulator.
pub(crate) const DUMBBELL: &str = "-p dccp-testbed --bin dumbbell";
/// The bridge for programs that speak UDP.
pub(crate) const BRIDGE: &str = "-p dccp-bridge";
/// The service of a host.
pub(crate) const DAEMON: &str = "-p dccpd --bin dccpd";
/// Runs programs for the kernel's DCCP.
pub(crate) const DCCPRUN: &str = "-p dccprun";
/// Packet rings.
pub(crate) const RING_BENCH: &str = "-p dccp-testbed --bin ring-bench";
/// One end of a connection for the interoperability tests.
pub(crate) const PEER: &str = "-p dccp-testbed --bin dccp-peer";
/// The link emulator.
pub(crate) const EMULATOR: &str = "-p dccp-emu";
/// The measuring program.
pub(crate) const MONITOR: &str = "-p dccpmon";

/// Builds a program into `target/release`.
pub(crate) fn build(program: &str) -> Result<()> {
    let line = format!("cargo build --quiet --release {program}");
    shell::run(&mut shell::command_line(&line))
}

/// Builds a program into `target/debug`, beside what the tests have built.
pub(crate) fn build_debug(program: &str) -> Result<()> {
    let line = format!("cargo build --quiet {program}");
    shell::run(&mut shell::command_line(&line))
}

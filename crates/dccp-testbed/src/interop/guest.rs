//! The guest with the kernel's DCCP, by way of `interop/linux/guest.sh`.

use std::process::{Command, Stdio};

use anyhow::Result;

use dccp_dev::shell::{self, command};

const SCRIPT: &str = "interop/linux/guest.sh";

/// The network namespace at the host's end of the guest's tap device.
pub(super) const NETNS: &str = "usrdccp";
/// The tap device in it.
pub(super) const TAP: &str = "tap0";

/// A running guest; it ends when this is dropped.
pub(super) struct Guest(());

impl Guest {
    /// Builds what is not there yet, clears away a guest that a killed run has left, and boots.
    pub(super) fn start() -> Result<Self> {
        shell::run(&mut command(&[SCRIPT, "build"]))?;
        shell::run(&mut command(&[SCRIPT, "stop"]))?;
        shell::run(&mut command(&[SCRIPT, "run"]))?;
        Ok(Self(()))
    }

    /// Runs a shell command in the guest and returns its output.
    #[expect(clippy::unused_self, reason = "there is a guest to run it in")]
    pub(super) fn shell(&self, script: &str) -> Result<String> {
        shell::output(&mut command(&[SCRIPT, "sh", "--timeout", "20", script]))
    }

    /// The command that runs `dccp-peer` in the guest; it gets SIGTERM when its caller ends.
    #[expect(clippy::unused_self, reason = "there is a guest to run it in")]
    pub(super) fn peer(&self, args: &[String]) -> Command {
        let mut peer = command(&[SCRIPT, "exec", "--", "dccp-peer"]);
        peer.args(args);
        peer
    }
}

impl Drop for Guest {
    fn drop(&mut self) {
        let stopped = command(&[SCRIPT, "stop"]).stdin(Stdio::null()).status();
        if !stopped.is_ok_and(|status| status.success()) {
            eprintln!("{SCRIPT} stop failed: the guest may still run");
        }
    }
}

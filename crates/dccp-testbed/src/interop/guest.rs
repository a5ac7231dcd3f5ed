//! The guest with the kernel's DCCP, started by `interop/linux/guest.sh`.

use std::process::{Command, Stdio};

use anyhow::Result;

use dccp_dev::shell::{self, command};

const SCRIPT: &str = "interop/linux/guest.sh";

/// The tap device at the host's end, in the guest's namespace.
pub(super) const TAP: &str = "tap0";

/// A running guest in a network namespace of its own. Dropping it ends both.
pub(super) struct Guest {
    name: String,
}

impl Guest {
    /// Builds the guest if it is not up to date, removes the guests of killed runs, and boots.
    pub(super) fn start() -> Result<Self> {
        let guest = Self::of_run(std::process::id());
        shell::run(&mut guest.script(&["build"]))?;
        shell::run(&mut guest.script(&["clean"]))?;
        shell::run(&mut guest.script(&["run"]))?;
        Ok(guest)
    }

    /// The guest of the run with this process number. Runs at the same time have different guests.
    fn of_run(process: u32) -> Self {
        Self {
            name: format!("usrdccp-{process}-guest"),
        }
    }

    /// The network namespace at the host's end of the tap device.
    pub(super) fn namespace(&self) -> &str {
        &self.name
    }

    /// Runs a shell command in the guest and returns its output.
    pub(super) fn shell(&self, line: &str) -> Result<String> {
        shell::output(&mut self.script(&["sh", "--timeout", "20", line]))
    }

    /// The command that runs `dccp-peer` in the guest. The peer gets SIGTERM when the command ends.
    pub(super) fn peer(&self, args: &[String]) -> Command {
        let mut peer = self.script(&["exec", "--", "dccp-peer"]);
        peer.args(args);
        peer
    }

    fn script(&self, words: &[&str]) -> Command {
        let mut script = command(&[SCRIPT]);
        script.args(words).env("DCCP_GUEST_NAME", &self.name);
        script
    }
}

impl Drop for Guest {
    fn drop(&mut self) {
        let stopped = self.script(&["stop"]).stdin(Stdio::null()).status();
        if !stopped.is_ok_and(|status| status.success()) {
            eprintln!("{SCRIPT} stop failed: the guest may still run");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn root() -> &'static Path {
        Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
    }

    /// A run must not stop the guest of another run (audit C13: both had the same name).
    #[test]
    fn guests_of_two_runs_have_different_names_and_namespaces() {
        let name = |process| {
            let guest = std::mem::ManuallyDrop::new(Guest::of_run(process));
            let mut script = guest.script(&["env"]);
            let output = shell::output(script.current_dir(root())).unwrap();
            assert!(output.contains(&format!("NETNS={}\n", guest.namespace())));
            output
        };
        assert_ne!(name(1), name(2));
    }

    #[test]
    fn clean_removes_the_guests_of_killed_runs_only() {
        if shell::find_program("ip").is_none() {
            println!("SKIP clean_removes_the_guests_of_killed_runs_only: needs ip");
            return;
        }
        let build = std::env::temp_dir().join(format!("usrdccp-guest-{}", std::process::id()));
        // No process has the number 4,194,304: it is the kernel's limit.
        let [running, killed] = [std::process::id(), 4_194_304]
            .map(|process| build.join(format!("run-usrdccp-{process}-guest")));
        for folder in [&running, &killed] {
            std::fs::create_dir_all(folder).unwrap();
        }
        let guest = std::mem::ManuallyDrop::new(Guest::of_run(std::process::id()));
        let mut clean = guest.script(&["clean"]);
        clean.env("DCCP_GUEST_BUILD", &build).current_dir(root());
        shell::output(&mut clean).unwrap();
        let left = [running.exists(), killed.exists()];
        std::fs::remove_dir_all(&build).unwrap();
        assert_eq!(left, [true, false]);
    }
}

//! Network namespaces: hosts of our own on this machine.

use std::ffi::OsStr;
use std::path::Path;
use std::process::Command;

use anyhow::Result;

use crate::shell::{self, command};

/// Names begin so, with our process's number after it: what a killed run has left can be told.
const PREFIX: &str = "usrdccp-";

/// A host: a namespace with its loopback up. It goes when this is dropped, with all its links.
pub(crate) struct Namespace {
    name: String,
}

impl Namespace {
    /// Makes the host `role` of this run, and clears away those of runs that were killed.
    pub(crate) fn new(role: &str) -> Result<Self> {
        remove_leftovers()?;
        let name = format!("{PREFIX}{}-{role}", std::process::id());
        ip(&["netns", "add", &name])?;
        let namespace = Self { name };
        namespace.ip(&["link", "set", "lo", "up"])?;
        Ok(namespace)
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Configures the network in it: the words of an `ip` command.
    pub(crate) fn ip(&self, words: &[&str]) -> Result<()> {
        ip(&[&["-n", &self.name], words].concat())
    }

    /// Gives a device its address (with its prefix length) and starts it.
    pub(crate) fn address(&self, device: &str, address: &str) -> Result<()> {
        if address.contains(':') {
            // No duplicate address detection: the address is usable at once.
            self.ip(&["addr", "add", address, "dev", device, "nodad"])?;
        } else {
            self.ip(&["addr", "add", address, "dev", device])?;
        }
        self.ip(&["link", "set", device, "up"])
    }

    /// A command that runs in it.
    pub(crate) fn command<S: AsRef<OsStr>>(&self, words: &[S]) -> Command {
        in_namespace(&self.name, words)
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        if let Err(error) = ip(&["netns", "del", &self.name]) {
            eprintln!("{error:#}");
        }
    }
}

/// Joins two hosts by a cable; both ends have the same device name.
pub(crate) fn veth(a: &Namespace, b: &Namespace, device: &str) -> Result<()> {
    let words = [
        "link", "add", device, "netns", &a.name, "type", "veth", "peer", "name", device, "netns",
        &b.name,
    ];
    ip(&words)
}

/// A command that runs in the namespace of that name.
pub(crate) fn in_namespace<S: AsRef<OsStr>>(name: &str, words: &[S]) -> Command {
    let mut inside = command(&["ip", "netns", "exec", name]);
    inside.args(words);
    inside
}

/// Runs `ip` with these words.
fn ip(words: &[&str]) -> Result<()> {
    shell::output(&mut command(&[&["ip"], words].concat()))?;
    Ok(())
}

/// Removes the namespaces of runs whose process is gone.
fn remove_leftovers() -> Result<()> {
    let list = shell::output(&mut command(&["ip", "netns", "list"]))?;
    for name in list.lines().filter_map(|line| line.split(' ').next()) {
        if owner(name).is_some_and(|pid| !Path::new(&format!("/proc/{pid}")).exists()) {
            ip(&["netns", "del", name])?;
        }
    }
    Ok(())
}

/// The process that made the namespace, if it is one of ours.
fn owner(name: &str) -> Option<u32> {
    let (pid, _role) = name.strip_prefix(PREFIX)?.split_once('-')?;
    pid.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_our_namespaces_have_an_owner() {
        assert_eq!(owner("usrdccp-123-a"), Some(123));
        assert_eq!(owner("usrdccp"), None);
        assert_eq!(owner("other-123-a"), None);
    }
}

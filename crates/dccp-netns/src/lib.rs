//! Network namespaces for tests and measurements: hosts on this machine (Linux, root).
//!
//! ```no_run
//! # fn main() -> std::io::Result<()> {
//! use dccp_netns::{Namespace, veth};
//!
//! let (client, server) = (Namespace::new("client")?, Namespace::new("server")?);
//! veth(&client, &server, "eth0")?;
//! client.add_address("eth0", "10.0.0.1/24")?;
//! server.add_address("eth0", "10.0.0.2/24")?;
//! let socket = dccp_netns::inside(client.name(), || std::net::UdpSocket::bind("10.0.0.1:0"))??;
//! # Ok(())
//! # }
//! ```

#![cfg(target_os = "linux")]

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;

use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

/// First part of every name. The number of the creating process follows, so that the namespaces of a
/// killed process can be recognised and removed.
const PREFIX: &str = "usrdccp-";
/// The folder of the names of namespaces.
pub const NAMES: &str = "/run/netns";

/// A network namespace with its loopback device up. Dropping it removes it with all its devices.
#[derive(Debug)]
pub struct Namespace {
    name: String,
}

impl Namespace {
    /// Creates a namespace whose name ends in `role`, and removes those of killed processes.
    ///
    /// # Errors
    /// `ip` is missing, or the caller may not create namespaces.
    pub fn new(role: &str) -> io::Result<Self> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        // Those that this user may not remove do not prevent a new one.
        let _ = remove_leftovers();
        let (process, number) = (std::process::id(), NUMBER.fetch_add(1, Ordering::Relaxed));
        let name = format!("{PREFIX}{process}-{number}-{role}");
        ip(&["netns", "add", &name])?;
        let namespace = Self { name };
        namespace.ip(&["link", "set", "lo", "up"])?;
        Ok(namespace)
    }

    /// The name, as `ip netns` lists it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Runs `ip WORDS` in the namespace.
    ///
    /// # Errors
    /// `ip` fails; the error contains what it printed.
    pub fn ip(&self, words: &[&str]) -> io::Result<()> {
        self.run("ip", words).map(drop)
    }

    /// Runs `program WORDS` in the namespace, and returns what it prints. `ip netns exec` would also mount `/sys`, which
    /// a user namespace may forbid.
    ///
    /// # Errors
    /// The program is missing or fails; the error contains what it printed.
    pub fn run(&self, program: &str, words: &[&str]) -> io::Result<String> {
        let program = program.to_owned();
        let words: Vec<String> = words.iter().map(|&word| word.to_owned()).collect();
        inside(&self.name, move || {
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            output_of(&program, &words)
        })?
    }

    /// Gives `device` an address with its prefix length, such as `10.0.0.1/24`, and starts the device.
    ///
    /// # Errors
    /// As [`ip`](Self::ip).
    pub fn add_address(&self, device: &str, address: &str) -> io::Result<()> {
        let mut words = vec!["addr", "add", address, "dev", device];
        if address.contains(':') {
            // Without duplicate address detection the address is usable at once.
            words.push("nodad");
        }
        self.ip(&words)?;
        self.ip(&["link", "set", device, "up"])
    }

    /// A command that runs in the namespace. `words` are the program and its arguments.
    pub fn command<S: AsRef<OsStr>>(&self, words: &[S]) -> Command {
        command(&self.name, words)
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        if let Err(error) = ip(&["netns", "del", &self.name]) {
            eprintln!("{error}");
        }
    }
}

/// Connects two namespaces by a pair of virtual Ethernet devices, both named `device`.
///
/// # Errors
/// As [`Namespace::ip`].
pub fn veth(a: &Namespace, b: &Namespace, device: &str) -> io::Result<()> {
    let words = [
        "link", "add", device, "netns", &a.name, "type", "veth", "peer", "name", device, "netns",
        &b.name,
    ];
    ip(&words)
}

/// A command that runs in the namespace `name`. `words` are the program and its arguments.
pub fn command<S: AsRef<OsStr>>(name: &str, words: &[S]) -> Command {
    let mut command = Command::new("ip");
    command.args(["netns", "exec", name]).args(words);
    command
}

/// Runs `work` in the namespace `name`, on a thread of its own. Sockets and devices that `work` opens
/// stay in the namespace.
///
/// # Errors
/// The namespace does not exist, the caller may not enter it, or `work` panics.
pub fn inside<T: Send + 'static>(
    name: &str,
    work: impl FnOnce() -> T + Send + 'static,
) -> io::Result<T> {
    let path: PathBuf = [NAMES, name].iter().collect();
    let context = |error: io::Error| {
        io::Error::new(error.kind(), format!("network namespace {name}: {error}"))
    };
    let file = File::open(path).map_err(context)?;
    let thread = thread::Builder::new().name("netns".into()).spawn(move || {
        move_into_link_name_space(file.as_fd(), Some(LinkNameSpaceType::Network))?;
        Ok(work())
    })?;
    let ended = thread.join();
    ended.unwrap_or_else(|_| Err(context(io::Error::other("a thread panicked"))))
}

/// Runs `ip WORDS`.
fn ip(words: &[&str]) -> io::Result<()> {
    output_of("ip", words).map(drop)
}

/// Runs `program WORDS` here, and returns what it prints.
fn output_of(program: &str, words: &[&str]) -> io::Result<String> {
    let started = Command::new(program).args(words).output();
    let output = started.map_err(|e| io::Error::new(e.kind(), format!("{program}: {e}")))?;
    if !output.status.success() {
        let error = String::from_utf8_lossy(&output.stderr);
        let error = format!("{program} {}: {}", words.join(" "), error.trim());
        return Err(io::Error::other(error));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Removes the namespaces of processes that have ended, and returns their names. Namespaces of other programs stay.
///
/// # Errors
/// `ip` is missing, or the caller may not remove one of them.
pub fn remove_leftovers() -> io::Result<Vec<String>> {
    let mut removed = Vec::new();
    for name in leftovers()? {
        match ip(&["netns", "del", &name]) {
            Ok(()) => removed.push(name),
            // Another process may have removed it at the same time.
            Err(_) if !Path::new(NAMES).join(&name).exists() => {}
            Err(error) => return Err(error),
        }
    }
    Ok(removed)
}

/// The namespaces of processes that have ended.
fn leftovers() -> io::Result<Vec<String>> {
    let list = output_of("ip", &["netns", "list"])?;
    let names = list.lines().filter_map(|line| line.split(' ').next());
    let is_left = |name: &&str| creator(name).is_some_and(|pid| !is_running(pid));
    Ok(names.filter(is_left).map(str::to_owned).collect())
}

/// Whether a process runs. One that has ended may still be in the table of processes, until its parent asks for it.
fn is_running(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    // The state stands behind the name, which may contain parentheses.
    let state = stat
        .rsplit_once(") ")
        .and_then(|(_, rest)| rest.chars().next());
    state.is_some_and(|state| !matches!(state, 'Z' | 'X'))
}

/// The process that created a namespace of this name; `None` if another program did.
fn creator(name: &str) -> Option<u32> {
    let (pid, _role) = name.strip_prefix(PREFIX)?.split_once('-')?;
    pid.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_our_namespaces_have_a_creator() {
        assert_eq!(creator("usrdccp-123-0-a"), Some(123));
        assert_eq!(creator("usrdccp"), None);
        assert_eq!(creator("other-123-a"), None);
    }

    #[test]
    fn ended_process_does_not_run() {
        assert!(is_running(std::process::id()));
        let mut child = Command::new("true").spawn().unwrap();
        // It stays in the table until `wait`.
        while is_running(child.id()) {
            thread::yield_now();
        }
        assert!(child.wait().unwrap().success());
        assert!(!is_running(child.id()));
    }

    #[test]
    fn missing_namespace_is_named_in_the_error() {
        let error = inside("usrdccp-no-such", || ()).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
        assert!(error.to_string().contains("usrdccp-no-such"), "{error}");
    }
}

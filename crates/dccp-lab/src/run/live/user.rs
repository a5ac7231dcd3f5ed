//! Network namespaces without root: the program starts itself again in a user namespace, where it is root.

use super::LiveError;
use core::sync::atomic::{AtomicBool, Ordering};
use std::env;
use std::ffi::OsStr;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::Command;

/// Set in the environment of a program that started itself again.
const INSIDE: &str = "DCCPLAB_USER_NAMESPACE";
/// The words of `unshare`: own users, own network, own mounts. The caller is root inside.
const UNSHARE: [&str; 4] = ["--user", "--map-root-user", "--net", "--mount"];

/// Prepares this process for namespaces. Root needs nothing. Others get a user namespace: then this function does not
/// return, because the program starts again, with the same arguments.
///
/// # Errors
/// The kernel forbids user namespaces, or a program is missing.
pub fn prepare() -> Result<(), LiveError> {
    for program in ["ip", "tc"] {
        let started = Command::new(program).arg("-V").output();
        started.map_err(|error| {
            LiveError::failed(format!("{program}: {error}"), "install iproute2")
        })?;
    }
    if env::var_os(INSIDE).is_some() {
        return mount_names();
    }
    if rustix::process::geteuid().is_root() {
        return Ok(());
    }
    let test = Command::new("unshare").args(UNSHARE).arg("true").output();
    let test = test.map_err(|error| {
        LiveError::failed(
            format!("unshare: {error}"),
            "install util-linux, or run as root",
        )
    })?;
    if !test.status.success() {
        let said = String::from_utf8_lossy(&test.stderr);
        return Err(not_allowed(said.trim()));
    }
    let program = env::current_exe()?;
    let error = Command::new("unshare")
        .args(UNSHARE)
        .arg(program)
        .args(env::args_os().skip(1))
        .env(INSIDE, "1")
        .exec();
    Err(error.into())
}

/// The kernel forbids user namespaces.
fn not_allowed(said: &str) -> LiveError {
    let settings = [
        ("kernel.unprivileged_userns_clone", "0", "1"),
        ("kernel.apparmor_restrict_unprivileged_userns", "1", "0"),
        ("user.max_user_namespaces", "0", "10000"),
    ];
    let is_set = |&&(name, bad, _): &&(&str, &str, &str)| {
        let path = Path::new("/proc/sys").join(name.replace('.', "/"));
        std::fs::read_to_string(path).is_ok_and(|value| value.trim() == bad)
    };
    let next = match settings.iter().find(is_set) {
        Some((name, _, good)) => format!("allow them by `sysctl {name}={good}`, or run as root"),
        None => "run as root, or outside of a container that forbids user namespaces".into(),
    };
    LiveError::failed(
        format!("live runs without root need user namespaces: {said}"),
        &next,
    )
}

/// Gives this mount namespace a folder of its own for the names of network namespaces, once.
fn mount_names() -> Result<(), LiveError> {
    static IS_DONE: AtomicBool = AtomicBool::new(false);
    if IS_DONE.swap(true, Ordering::Relaxed) {
        return Ok(());
    }
    let names = Path::new(dccp_netns::NAMES);
    // Without the folder, the one above it is replaced, because only root could create it.
    let place = if names.is_dir() {
        names
    } else {
        Path::new("/run")
    };
    let words = ["-t", "tmpfs", "tmpfs"].map(OsStr::new);
    let mount = Command::new("mount").args(words).arg(place).output();
    let mount =
        mount.map_err(|error| LiveError::failed(format!("mount: {error}"), "install it"))?;
    if mount.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&mount.stderr);
    Err(not_allowed(said.trim()))
}

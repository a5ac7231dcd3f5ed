//! Runs other programs, and says what is run.

use std::ffi::OsStr;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

/// A command of `words`: the program and its arguments.
pub(crate) fn command<S: AsRef<OsStr>>(words: &[S]) -> Command {
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]);
    command
}

/// Prints the command, runs it with our standard streams, and fails if it does.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    eprintln!("$ {}", line(command));
    let status = command.status().with_context(|| line(command))?;
    if !status.success() {
        bail!("{} ended with {status}", line(command));
    }
    Ok(())
}

/// Runs the command unseen; whether it started and succeeded.
pub(crate) fn succeeds(command: &mut Command) -> bool {
    let quiet = command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    quiet.status().is_ok_and(|status| status.success())
}

/// Runs the command unseen and returns its standard output; fails if it does.
pub(crate) fn output(command: &mut Command) -> Result<String> {
    let output = command
        .stdin(Stdio::null())
        .output()
        .with_context(|| line(command))?;
    if !output.status.success() {
        let error = String::from_utf8_lossy(&output.stderr);
        bail!(
            "{} ended with {}: {}",
            line(command),
            output.status,
            error.trim()
        );
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Where a program is, also where only the administrator's path looks.
pub(crate) fn find_program(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .chain(["/usr/sbin", "/sbin"].map(PathBuf::from))
        .map(|folder| folder.join(name))
        .find(|file| file.is_file())
}

/// Whether we may make network namespaces and raw sockets.
pub(crate) fn is_root() -> bool {
    output(&mut command(&["id", "-u"])).is_ok_and(|id| id.trim() == "0")
}

fn line(command: &Command) -> String {
    let words = [command.get_program()].into_iter();
    let words: Vec<_> = words
        .chain(command.get_args())
        .map(OsStr::to_string_lossy)
        .collect();
    words.join(" ")
}

//! Runs other programs, and says what is run.

use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Read};
use std::path::PathBuf;
use std::process::{Child, ChildStdout, Command, Stdio};

use anyhow::{Context, Result, bail};

/// A command of `words`: the program and its arguments.
pub(crate) fn command<S: AsRef<OsStr>>(words: &[S]) -> Command {
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]);
    command
}

/// A command of the words of a line, none of which has a blank in it.
pub(crate) fn command_line(line: &str) -> Command {
    command(&line.split_whitespace().collect::<Vec<_>>())
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

/// A program that runs beside us; it is killed when this is dropped.
pub(crate) struct Background {
    child: Child,
    stdout: BufReader<ChildStdout>,
}

impl Background {
    /// Starts it and waits for the line that says that it is ready, which contains `ready`.
    pub(crate) fn start(mut command: Command, ready: &str) -> Result<Self> {
        let name = line(&command);
        let command = command.stdin(Stdio::null()).stdout(Stdio::piped());
        let mut child = command.spawn().with_context(|| name.clone())?;
        let stdout = child.stdout.take().context("a pipe was asked for")?;
        let stdout = BufReader::new(stdout);
        let mut background = Self { child, stdout };
        let mut said = String::new();
        while !said.contains(ready) {
            said.clear();
            if background.stdout.read_line(&mut said)? == 0 {
                bail!("{name} ended before it was ready");
            }
        }
        Ok(background)
    }

    /// The most memory that it has had, in MiB.
    pub(crate) fn peak_mib(&self) -> Result<f64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id()))?;
        let line = status.lines().find(|line| line.starts_with("VmHWM:"));
        let kib = line.and_then(|line| line.split_whitespace().nth(1));
        let kib: f64 = kib.context("a line VmHWM")?.parse()?;
        Ok(kib / 1024.0)
    }

    /// Ends it as Ctrl-C does; what it had yet to say.
    pub(crate) fn interrupt(mut self) -> Result<String> {
        output(&mut command(&[
            "kill",
            "-INT",
            &self.child.id().to_string(),
        ]))?;
        self.rest()
    }

    /// What it has yet to say until it ends by itself.
    pub(crate) fn rest(&mut self) -> Result<String> {
        let mut rest = String::new();
        self.stdout.read_to_string(&mut rest)?;
        Ok(rest)
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        // Both fail only where it has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Reads how often something is to be done, for a command line.
pub(crate) fn at_least_one(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(n) if n > 0 => Ok(n),
        _ => Err("write a whole number from 1 on".into()),
    }
}

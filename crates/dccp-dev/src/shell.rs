//! Runs other programs.

use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Read};
use std::path::PathBuf;
use std::process::{Child, ChildStdout, Command, Stdio};

use anyhow::{Context, Result, bail};

/// A command. `words` are the program and its arguments.
///
/// # Panics
/// Without words.
pub fn command<S: AsRef<OsStr>>(words: &[S]) -> Command {
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]);
    command
}

/// A command from a line. Its words are separated by blanks and contain none.
pub fn command_line(line: &str) -> Command {
    command(&line.split_whitespace().collect::<Vec<_>>())
}

/// A command that runs only while a processor has nothing else to do. `words` are the program and its arguments.
pub fn idle_command<S: AsRef<OsStr>>(words: &[S]) -> Command {
    // The policy yields at once. The niceness shows in the counts of processor time that others read.
    let mut idle = command_line("nice -n 19 chrt --idle 0");
    idle.args(words);
    idle
}

/// Prints the command and runs it with our standard streams.
///
/// # Errors
/// It cannot be started or fails.
pub fn run(command: &mut Command) -> Result<()> {
    eprintln!("$ {}", line(command));
    let status = command.status().with_context(|| line(command))?;
    if !status.success() {
        bail!("{} ended with {status}", line(command));
    }
    Ok(())
}

/// Runs the command silently. Returns whether it started and succeeded.
pub fn succeeds(command: &mut Command) -> bool {
    let quiet = command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    quiet.status().is_ok_and(|status| status.success())
}

/// Runs the command silently and returns its standard output.
///
/// # Errors
/// It cannot be started or fails; the error contains its standard error.
pub fn output(command: &mut Command) -> Result<String> {
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

/// Finds a program in `PATH` and in the administrator's folders.
pub fn find_program(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .chain(["/usr/sbin", "/sbin"].map(PathBuf::from))
        .map(|folder| folder.join(name))
        .find(|file| file.is_file())
}

/// Whether we run as root, which network namespaces and raw sockets need.
pub fn is_root() -> bool {
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

/// A program in the background. Dropping it kills the program.
pub struct Background {
    child: Child,
    stdout: BufReader<ChildStdout>,
}

impl Background {
    /// Starts a program and waits for a line of its output that contains `ready`.
    ///
    /// # Errors
    /// It cannot be started, or ends before that line.
    pub fn start(command: Command, ready: &str) -> Result<Self> {
        Self::start_with_line(command, ready).map(|(background, _)| background)
    }

    /// As [`start`](Self::start), and returns the rest of the line after `ready`.
    ///
    /// # Errors
    /// As [`start`](Self::start).
    pub fn start_with_line(mut command: Command, ready: &str) -> Result<(Self, String)> {
        let name = line(&command);
        let command = command.stdin(Stdio::null()).stdout(Stdio::piped());
        let mut child = command.spawn().with_context(|| name.clone())?;
        let stdout = child.stdout.take().context("no pipe")?;
        let stdout = BufReader::new(stdout);
        let mut background = Self { child, stdout };
        let mut line = String::new();
        while !line.contains(ready) {
            line.clear();
            if background.stdout.read_line(&mut line)? == 0 {
                bail!("{name} ended before it was ready");
            }
        }
        let rest = line.split_once(ready).map_or("", |(_, rest)| rest);
        Ok((background, rest.trim().into()))
    }

    /// Its process.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Its peak memory in MiB.
    ///
    /// # Errors
    /// It has ended.
    pub fn peak_mib(&self) -> Result<f64> {
        memory_mib(self.child.id(), "VmHWM:")
    }

    /// Ends it as Ctrl-C does. Returns the rest of its output.
    ///
    /// # Errors
    /// It has ended already, or its output cannot be read.
    pub fn interrupt(mut self) -> Result<String> {
        output(&mut command(&[
            "kill",
            "-INT",
            &self.child.id().to_string(),
        ]))?;
        self.rest()
    }

    /// Waits until it ends by itself. Returns the rest of its output.
    ///
    /// # Errors
    /// Its output cannot be read.
    pub fn rest(&mut self) -> Result<String> {
        let mut rest = String::new();
        self.stdout.read_to_string(&mut rest)?;
        Ok(rest)
    }
}

impl Background {
    /// Waits until it ends by itself. Returns the rest of its output.
    ///
    /// # Errors
    /// It fails, or its output cannot be read.
    pub fn finish(mut self) -> Result<String> {
        let rest = self.rest()?;
        let status = self.child.wait()?;
        if !status.success() {
            bail!("the program ended with {status}: {rest}");
        }
        Ok(rest)
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        // Both fail only if it has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The memory of a process in MiB: `VmRSS:` is the present one, `VmHWM:` the peak.
///
/// # Errors
/// The process has ended.
pub fn memory_mib(process: u32, row: &str) -> Result<f64> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status"))?;
    let line = status.lines().find(|line| line.starts_with(row));
    let kib = line.and_then(|line| line.split_whitespace().nth(1));
    let kib: f64 = kib.with_context(|| format!("a line {row}"))?.parse()?;
    Ok(kib / 1024.0)
}

/// Parses a number of repetitions, for clap.
///
/// # Errors
/// `text` is no whole number, or 0.
pub fn at_least_one(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(n) if n > 0 => Ok(n),
        _ => Err("must be a whole number greater than 0".into()),
    }
}

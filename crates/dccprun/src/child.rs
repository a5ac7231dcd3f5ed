//! The program as a child of this process: its environment, its signals, its end.

use crate::cli::Plan;
use crate::descent::descends;
use crate::host::Running;
use crate::{failure, program};
use core::time::Duration;
use dccp::{Instant, clock};
use dccp_cli::Failure;
use dccprun_message::VARIABLE;
use nix::sys::signal::{SigSet, Signal, kill, raise};
use nix::sys::signalfd::{SfdFlags, SignalFd, siginfo};
use nix::unistd::{Pid, getpgid, getpgrp, tcgetpgrp};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{
    Resource, WaitOptions, WaitStatus, getrlimit, setrlimit, wait as wait_for_any,
};
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The first word of a child that becomes the program.
pub(crate) const START: &str = "--start-program";
const LIBRARY: &str = "libdccp_preload.so";
/// The dynamic loader's variable.
const PRELOAD: &str = "LD_PRELOAD";
/// Signals that go on to the program.
const FORWARDED: [Signal; 7] = [
    Signal::SIGINT,
    Signal::SIGTERM,
    Signal::SIGHUP,
    Signal::SIGQUIT,
    Signal::SIGUSR1,
    Signal::SIGUSR2,
    Signal::SIGCONT,
];
/// Signals that end this process once the program has ended.
const ENDS: [Signal; 4] = [
    Signal::SIGINT,
    Signal::SIGTERM,
    Signal::SIGHUP,
    Signal::SIGQUIT,
];
/// A signal of a terminal has this code: the kernel sends most of them to the whole group, the program included.
const SI_KERNEL: i32 = 0x80;
/// Between two looks whether sockets are left, once the program has ended.
const LOOK: Duration = Duration::from_millis(20);
/// The same while descendants have sockets without a connection, which takes longer to find.
const LOOK_AT_NAMES: Duration = Duration::from_millis(200);
/// Looks without any socket, after which descendants are no longer waited for: they may be servers that go to the background.
const QUIET_LOOKS: u32 = 50;

/// Runs the program. Returns its exit code.
///
/// # Errors
/// When it cannot be run.
pub(crate) fn run(plan: &Plan) -> Result<u8, Failure> {
    let path = program::check(&plan.program)?;
    let library = library(plan.library.as_deref())?;
    let signals = Signals::block()?;
    // Orphans become children of this process, which waits for their sockets and trusts them.
    let adopted = rustix::process::set_child_subreaper(Some(rustix::process::getpid()));
    adopted.map_err(|e| {
        failure(
            format!("orphans cannot be adopted: {e}"),
            "use Linux 3.4 or later",
        )
    })?;
    let host = Running::start(plan.defaults.clone())?;
    // The child begins as this program, which unblocks the signals: the standard library keeps them blocked.
    let mut command = Command::new("/proc/self/exe");
    command
        .args([OsStr::new(START), path.as_os_str(), &plan.program])
        .args(&plan.args)
        .env(VARIABLE, host.variable())
        .env(PRELOAD, preload(&library));
    let child = command.spawn().map_err(|e| Failure {
        code: 126,
        ..failure(
            format!("the program's process cannot be created: {e}"),
            "raise this system's limits of processes (ulimit -u)",
        )
    })?;
    let pid = i32::try_from(child.id()).map(Pid::from_raw);
    let pid = pid.map_err(|_| failure("the program has no number", "try again"))?;
    permit_descriptors();
    let code = wait(&signals, &host, pid);
    host.finish();
    Ok(code)
}

/// Raises this process's limit of open files: a connection takes up to eight. The program has begun with the old one.
fn permit_descriptors() {
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    // With the old limit there are fewer connections.
    let _ = setrlimit(Resource::Nofile, limit);
}

/// Becomes the program: the second step of the child. `words` are its path, its name and its arguments.
///
/// # Errors
/// When the program cannot be executed.
pub(crate) fn start(words: &[OsString]) -> Result<u8, Failure> {
    let [path, name, args @ ..] = words else {
        return Err(Failure::usage(
            format!("{START} is for dccprun itself"),
            "leave it out",
        ));
    };
    let unblocked = Signals::set().thread_unblock();
    let error = match unblocked {
        Ok(()) => Command::new(path).arg0(name).args(args).exec(),
        Err(error) => error.into(),
    };
    Err(Failure {
        code: 126,
        ..failure(
            format!("{}: it does not start: {error}", path.display()),
            "check the file, and its interpreter if it is a script",
        )
    })
}

/// The value for the dynamic loader: the library, and those that were asked for before.
fn preload(library: &Path) -> OsString {
    let mut value = library.as_os_str().as_bytes().to_vec();
    if let Some(others) = std::env::var_os(PRELOAD).filter(|others| !others.is_empty()) {
        value.push(b':');
        value.extend_from_slice(others.as_bytes());
    }
    OsString::from_vec(value)
}

/// Finds the library: the given one, or that beside this program or in the folders of packages.
fn library(given: Option<&Path>) -> Result<PathBuf, Failure> {
    let own = std::env::current_exe().unwrap_or_default();
    let folder = own.parent().unwrap_or(Path::new("/"));
    let places = match given {
        Some(path) => vec![path.to_owned()],
        None => vec![
            folder.join(LIBRARY),
            folder.join("../lib").join(LIBRARY),
            folder.join("../lib/dccprun").join(LIBRARY),
        ],
    };
    let found = places.iter().find_map(|place| place.canonicalize().ok());
    let Some(found) = found else {
        let shown = places.first().map(|place| place.display().to_string());
        return Err(failure(
            format!("{}: there is no such library", shown.unwrap_or_default()),
            "build it (cargo build -p dccp-preload), or name it with --library",
        ));
    };
    let is_separator = |byte: &u8| matches!(byte, b' ' | b':');
    if found.as_os_str().as_bytes().iter().any(is_separator) {
        return Err(failure(
            format!(
                "{}: the dynamic loader cannot take a path with spaces or colons",
                found.display()
            ),
            "copy the library elsewhere, and name it with --library",
        ));
    }
    Ok(found)
}

/// The signals of this process, which arrive at a descriptor.
struct Signals(SignalFd);

impl Signals {
    /// Blocks them in this thread, and in those and the processes that it starts.
    fn block() -> Result<Self, Failure> {
        let set = Self::set();
        let flags = SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK;
        let opened = set
            .thread_block()
            .and_then(|()| SignalFd::with_flags(&set, flags));
        opened.map(Self).map_err(|e| {
            failure(
                format!("signals cannot be received: {e}"),
                "raise this system's limits of open files",
            )
        })
    }

    fn set() -> SigSet {
        let others = [Signal::SIGTSTP, Signal::SIGCHLD];
        FORWARDED.into_iter().chain(others).collect()
    }

    /// Waits for signals, at most for `at_most`.
    fn wait(&self, at_most: Option<Duration>) {
        let timeout = at_most.and_then(|time| Timespec::try_from(time).ok());
        // A failure is an empty turn.
        let _ = poll(&mut [PollFd::new(&self.0, PollFlags::IN)], timeout.as_ref());
    }

    /// The next signal that has arrived.
    fn take(&self) -> Option<(Signal, siginfo)> {
        let info = self.0.read_signal().ok().flatten()?;
        let number = i32::try_from(info.ssi_signo).ok()?;
        Some((Signal::try_from(number).ok()?, info))
    }
}

/// How long descendants with sockets are waited for once a signal has ended the program: its user wanted an end.
const KILLED_LINGER: Duration = Duration::from_secs(10);

/// The children of this process.
struct Children {
    program: Pid,
    /// The exit code, once the program has ended.
    code: Option<u8>,
    /// The end of waiting for descendants, if a signal has ended the program.
    until: Option<Instant>,
    /// No child is left.
    is_none: bool,
    /// This process was to stop, and has not been continued since.
    is_to_stop: bool,
}

impl Children {
    /// Takes note of those that have ended, and stops with the program.
    fn reap(&mut self) {
        loop {
            match wait_for_any(WaitOptions::NOHANG | WaitOptions::UNTRACED) {
                Ok(Some((pid, status))) if pid.as_raw_pid() == self.program.as_raw() => {
                    self.note(status);
                }
                Ok(Some(_)) => {}
                Ok(None) | Err(rustix::io::Errno::INTR) => return,
                Err(_) => {
                    self.is_none = true;
                    return;
                }
            }
        }
    }

    /// Takes note of what has happened to the program.
    fn note(&mut self, status: WaitStatus) {
        if let Some(code) = status.exit_status() {
            self.code = Some(u8::try_from(code & 0xff).unwrap_or(u8::MAX));
        } else if let Some(signal) = status.terminating_signal() {
            self.code = Some(u8::try_from(128 + signal).unwrap_or(u8::MAX));
            self.until = Some(clock::now() + KILLED_LINGER);
        } else if status.stopped() && (self.is_to_stop || self.is_in_foreground()) {
            self.stop();
        }
    }

    /// Stops with the program, so that the shell sees its job stop. Connections rest until it continues.
    fn stop(&mut self) {
        let _ = raise(Signal::SIGSTOP);
        // A later stop may have discarded the signal that has continued this process.
        self.is_to_stop = false;
        let _ = kill(self.program, Signal::SIGCONT);
    }

    /// Handles a signal while the program runs.
    fn pass_on(&mut self, signal: Signal, info: &siginfo) {
        match signal {
            Signal::SIGCHLD => return,
            Signal::SIGTSTP => self.is_to_stop = true,
            Signal::SIGCONT => self.is_to_stop = false,
            _ => {}
        }
        if !is_for_both(signal, info, self.program) {
            // It may have ended just now.
            let _ = kill(self.program, signal);
        }
    }

    /// Whether this process or the program has the terminal.
    fn is_in_foreground(&self) -> bool {
        let Ok(terminal) = File::open("/dev/tty") else {
            return false;
        };
        let foreground = tcgetpgrp(terminal);
        foreground == Ok(getpgrp()) || foreground == getpgid(Some(self.program))
    }
}

/// Passes signals on until the program has ended, and its sockets too. Returns the exit code.
fn wait(signals: &Signals, host: &Running, program: Pid) -> u8 {
    let mut children = Children {
        program,
        code: None,
        until: None,
        is_none: false,
        is_to_stop: false,
    };
    let mut quiet = 0;
    loop {
        children.reap();
        let mut look = LOOK;
        if let Some(code) = children.code {
            if !host.is_idle() {
                quiet = 0;
            } else if !children.is_none && host.has_sockets() {
                quiet = 0;
                look = LOOK_AT_NAMES;
            } else {
                quiet += 1;
            }
            let is_late = children.until.is_some_and(|until| clock::now() >= until);
            if is_late || quiet > 0 && (children.is_none || quiet > QUIET_LOOKS) {
                return code;
            }
        }
        let patience = children.code.map(|_| look);
        signals.wait(patience);
        // All of them: one that continues may stand behind the one that tells of a stop.
        while let Some((signal, info)) = signals.take() {
            match children.code {
                // Its descendants still have sockets.
                Some(code) if ENDS.contains(&signal) => return code,
                Some(_) => {}
                None => children.pass_on(signal, &info),
            }
        }
    }
}

/// Whether a signal has reached the program too: it was for the group of processes, and the program is in it.
fn is_for_both(signal: Signal, info: &siginfo, program: Pid) -> bool {
    if getpgid(Some(program)) != Ok(getpgrp()) {
        return false;
    }
    if info.ssi_code == SI_KERNEL {
        // A terminal that hangs up tells the leader of its session only.
        return signal != Signal::SIGHUP;
    }
    // A program signals its group, not its parent.
    u32::try_from(program.as_raw()).is_ok_and(|program| descends(info.ssi_pid, program))
}

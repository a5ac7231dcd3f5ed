//! Programs that the tests compile, and `dccprun` around them.

use core::time::Duration;
use dccp_dev::shell::{self, command};
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::net::UdpSocket;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Output, Stdio};
use std::sync::OnceLock;
use std::sync::mpsc::{Receiver, channel};
use std::thread;

/// A wait that only a broken program needs.
const PATIENCE: Duration = Duration::from_mins(1);

/// The preloaded library, built once.
pub(crate) fn library() -> &'static Path {
    static LIBRARY: OnceLock<PathBuf> = OnceLock::new();
    LIBRARY.get_or_init(|| {
        let target = Path::new(env!("CARGO_TARGET_TMPDIR"));
        dccp_dev::preload::build(target, false).unwrap()
    })
}

fn folder() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Compiles C sources, which are named from this crate's folder.
fn compile(name: &str, sources: &[&str], more: &[&str]) -> PathBuf {
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    // A test that runs itself in a network of its own compiles again, while others run the program.
    let new = program.with_extension(std::process::id().to_string());
    let mut cc = command(&["gcc", "-Wall", "-Wextra", "-Werror", "-g", "-O1"]);
    cc.args(more)
        .args(sources.iter().map(|source| folder().join(source)));
    shell::output(cc.arg("-o").arg(&new)).unwrap();
    fs::rename(new, &program).unwrap();
    program
}

/// Compiles a test program once.
macro_rules! program {
    ($function:ident, $name:literal, $sources:expr, $more:expr) => {
        pub(crate) fn $function() -> &'static Path {
            static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
            PROGRAM.get_or_init(|| compile($name, &$sources, &$more))
        }
    };
}

program!(client, "client", ["tests/programs/client.c"], []);
program!(listening, "listening", ["tests/programs/listening.c"], []);
program!(over_daemon, "over-daemon", ["tests/programs/daemon.c"], []);
program!(queues, "queues", ["tests/programs/queues.c"], ["-pthread"]);
program!(
    plugin,
    "libplugin.so",
    ["tests/programs/plugin.c"],
    ["-shared", "-fPIC", "-pthread", "-D_GNU_SOURCE"]
);
program!(signals, "signals", ["tests/programs/signals.c"], []);
program!(server, "server", ["tests/programs/server.c"], []);
program!(
    static_client,
    "static-client",
    ["tests/programs/client.c"],
    ["-static"]
);
program!(
    counter,
    "libcounter.so",
    ["tests/programs/counter.c"],
    ["-shared", "-fPIC"]
);
program!(
    slow,
    "libslow.so",
    ["tests/programs/slow.c"],
    ["-shared", "-fPIC"]
);
// The test program that runs in the guest with the kernel's DCCP, unchanged.
program!(
    dccp_peer,
    "dccp-peer",
    [
        "../../interop/linux/guest/dccp-peer.c",
        "../../interop/linux/guest/messages.c",
        "../../interop/linux/guest/options.c",
        "../../interop/linux/guest/output.c",
        "../../interop/linux/guest/session.c",
    ],
    []
);

/// A command that runs `dccprun` with these words.
pub(crate) fn dccprun(words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_dccprun"));
    command.arg("--library").arg(library()).args(words);
    command
}

/// A UDP port that is free now.
pub(crate) fn free_port() -> String {
    let socket = UdpSocket::bind("[::]:0").unwrap();
    socket.local_addr().unwrap().port().to_string()
}

/// A path as a word of a command line.
pub(crate) fn word(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// A running `dccprun` whose output is read; ended with its program when dropped.
pub(crate) struct Running {
    child: Child,
    input: Option<ChildStdin>,
    lines: Receiver<String>,
}

impl Running {
    pub(crate) fn start(command: Command) -> Self {
        Self::start_with(command, Stdio::null())
    }

    pub(crate) fn start_with(mut command: Command, input: Stdio) -> Self {
        let mut child = command.stdin(input).stdout(Stdio::piped()).spawn().unwrap();
        let input = child.stdin.take();
        let output = BufReader::new(child.stdout.take().unwrap());
        let (sender, lines) = channel();
        thread::spawn(move || {
            for line in output.lines().map_while(Result::ok) {
                println!("  {line}");
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        Self {
            child,
            input,
            lines,
        }
    }

    /// Waits for a line that contains `part`, and returns it.
    pub(crate) fn wait_for(&self, part: &str) -> String {
        loop {
            match self.lines.recv_timeout(PATIENCE) {
                Ok(line) if line.contains(part) => return line,
                Ok(_) => {}
                Err(e) => panic!("no line with {part:?}: {e}"),
            }
        }
    }

    /// Standard input, if it is a pipe.
    pub(crate) fn input(&self) -> &ChildStdin {
        self.input.as_ref().unwrap()
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Waits for the end. Returns the exit code.
    pub(crate) fn end(mut self) -> Option<i32> {
        self.child.wait().unwrap().code()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // The signal goes on to the program. Both may have ended.
        for _ in 0..100 {
            if !matches!(self.child.try_wait(), Ok(None)) {
                return;
            }
            let id = self.child.id().to_string();
            let _ = Command::new("kill").args(["-s", "TERM", &id]).status();
            thread::sleep(Duration::from_millis(50));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Repeats `attempt` until it holds.
pub(crate) fn eventually(what: &str, mut attempt: impl FnMut() -> bool) {
    let pause = Duration::from_millis(50);
    let tries = PATIENCE.as_millis() / pause.as_millis();
    for _ in 0..tries {
        if attempt() {
            return;
        }
        thread::sleep(pause);
    }
    panic!("{what}");
}

/// The echo server, which accepts a number of connections, and the UDP port where it listens.
pub(crate) struct Server {
    pub(crate) running: Running,
    pub(crate) udp_port: String,
}

impl Server {
    pub(crate) fn start(address: &str, connections: u32) -> Self {
        Self::start_in_mode("-", address, connections)
    }

    pub(crate) fn start_in_mode(mode: &str, address: &str, connections: u32) -> Self {
        let udp_port = free_port();
        let connections = connections.to_string();
        let words = [
            "--udp-port",
            &udp_port,
            word(server()),
            address,
            "5001",
            &connections,
            mode,
        ];
        let running = Running::start(dccprun(&words));
        running.wait_for("ready");
        Self { running, udp_port }
    }
}

/// Runs a program as a client. Returns its exit code and output.
pub(crate) fn run_client(udp_port: &str, words: &[&str]) -> Output {
    let all = [&["--remote-udp-port", udp_port][..], words].concat();
    let output = dccprun(&all).output().unwrap();
    println!("{}", String::from_utf8_lossy(&output.stdout));
    println!("{}", String::from_utf8_lossy(&output.stderr));
    output
}

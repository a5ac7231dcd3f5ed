//! Victims under `strace`, which makes their calls fail.

use super::calls::{Call, ENDING, Target};
use super::ledger::Report;
use super::victim::Part;
use crate::random::Random;
use anyhow::{Context as _, Result, bail};
use core::time::Duration;
use dccp::clock;
use dccp_netns::Namespace;
use std::env;
use std::ffi::OsString;
use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;

/// How often the call fails, in each thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Mode {
    /// The first time.
    Once,
    /// At the first time drawn, and each time after a number of calls drawn.
    AtRandom,
    /// Every time, until the fault ends.
    Always,
}

impl Mode {
    pub(crate) const ALL: [Self; 3] = [Self::Once, Self::AtRandom, Self::Always];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Once => "once",
            Self::AtRandom => "at random",
            Self::Always => "always",
        }
    }

    /// The calls that fail, as `strace` counts them in each thread.
    fn when(self, random: &mut Random) -> String {
        let mut draw = |most: u16| 1 + random.next_u16() % most;
        match self {
            Self::Once => "1".into(),
            Self::AtRandom => format!("{}+{}", draw(4), draw(7)),
            Self::Always => "1+".into(),
        }
    }
}

/// One fault.
#[derive(Clone, Debug)]
pub(crate) struct Fault {
    pub(crate) call: Call,
    pub(crate) error: &'static str,
    pub(crate) mode: Mode,
    pub(crate) lasts: Duration,
    /// Draws which calls fail at random.
    pub(crate) seed: u64,
}

/// The result of a fault.
#[derive(Debug)]
pub(crate) struct Outcome {
    /// Calls that failed.
    pub(crate) injected: u64,
    pub(crate) report: Report,
    /// Broken promises.
    pub(crate) wrong: Vec<String>,
}

/// The longest time from the start of a victim until it works.
const START: Duration = Duration::from_secs(30);
/// The longest time from the end of a fault to the end of the victim.
const END: Duration = Duration::from_mins(1);
/// The longest attempt to open a connection: four calls that wait, and closing.
const OPENING_MAX_MS: u64 = 30_000;

/// Runs a victim, makes its calls fail for a time, and judges what it reports.
pub(crate) fn run(fault: &Fault) -> Result<Outcome> {
    let victims = Victims::start(fault.call.target)?;
    let injected = trace(victims.pid(fault.call.target), fault)?;
    let mut wrong = Vec::new();
    let report = match victims.finish() {
        Ok(report) => {
            wrong.extend(judge(&report, fault));
            report
        }
        Err(error) => {
            wrong.push(format!("{error:#}"));
            Report::default()
        }
    };
    if injected == 0 {
        wrong.push("the victim does not make this call".into());
    }
    Ok(Outcome {
        injected,
        report,
        wrong,
    })
}

/// Lists the broken promises that a report shows.
fn judge(report: &Report, fault: &Fault) -> Vec<String> {
    let mut wrong = report.gaps();
    let Call { target, name, .. } = fault.call;
    if (target, name, fault.error) == ENDING && fault.mode == Mode::Always {
        if report.ended.is_none() {
            wrong.push("the connection goes on".into());
        }
        return wrong;
    }
    wrong.extend(
        report
            .ended
            .iter()
            .map(|why| format!("the connection ended: {why}")),
    );
    // The loopback interface loses nothing.
    let is_send = matches!(target, Target::Udp | Target::Ip) && name.starts_with("send");
    let missing = report.offered.saturating_sub(report.received.len() as u64);
    if is_send && missing > report.host_dropped {
        let dropped = report.host_dropped;
        wrong.push(format!(
            "{missing} missing, but {dropped} dropped by the host"
        ));
    }
    if report.resumed_ms.is_none() {
        wrong.push("no datagram arrives after the fault".into());
    }
    if report.opened_ms.is_none() {
        wrong.push("nothing can be opened after the fault".into());
    }
    if report.openings.longest_ms > OPENING_MAX_MS {
        wrong.push(format!("an opening took {} ms", report.openings.longest_ms));
    }
    wrong
}

/// The names of the calls that a target makes while it works.
pub(crate) fn calls_of(target: Target) -> Result<Vec<String>> {
    let victims = Victims::start(target)?;
    let log = temporary("calls");
    let mut tracer = attach(victims.pid(target), &log, &["-c"])?;
    thread::sleep(Duration::from_secs(1));
    detach(&mut tracer)?;
    victims.finish()?;
    let text = fs::read_to_string(&log)?;
    fs::remove_file(&log)?;
    let rows = text
        .lines()
        .skip(2)
        .take_while(|line| !line.starts_with('-'));
    Ok(rows
        .filter_map(|row| row.split_whitespace().last().map(str::to_owned))
        .collect())
}

/// Makes the calls of a process fail for a time. Returns the number of failures.
fn trace(pid: u32, fault: &Fault) -> Result<u64> {
    let Call { name, path, .. } = fault.call;
    let when = fault.mode.when(&mut Random::new(fault.seed));
    let log = temporary("faults");
    let inject = format!("inject={name}:error={}:when={when}", fault.error);
    let trace = format!("trace={name}");
    let mut options = vec!["-e", &trace, "-e", &inject];
    options.extend(path.iter().flat_map(|path| ["-P", path]));
    let mut tracer = attach(pid, &log, &options)?;
    thread::sleep(fault.lasts);
    detach(&mut tracer)?;
    let text = fs::read_to_string(&log)?;
    fs::remove_file(&log)?;
    Ok(text.matches("(INJECTED)").count() as u64)
}

fn temporary(what: &str) -> PathBuf {
    static NUMBER: core::sync::atomic::AtomicU32 = core::sync::atomic::AtomicU32::new(0);
    let number = NUMBER.fetch_add(1, core::sync::atomic::Ordering::Relaxed);
    env::temp_dir().join(format!("{what}-{}-{number}", std::process::id()))
}

/// Starts a tracer of all threads of a process, and waits until it has them.
fn attach(pid: u32, log: &PathBuf, options: &[&str]) -> Result<Child> {
    let mut command = Command::new("strace");
    command
        .args(["-f", "-qq", "-e", "signal=none", "-o"])
        .arg(log)
        .args(options);
    command
        .args(["-p", &pid.to_string()])
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    let mut tracer = command.spawn().context("strace")?;
    let until = clock::now() + START;
    while !is_traced(pid) {
        if tracer.try_wait()?.is_some() || clock::now() > until {
            let _ = tracer.kill();
            let mut said = String::new();
            if let Some(mut stderr) = tracer.stderr.take() {
                stderr.read_to_string(&mut said)?;
            }
            bail!(
                "strace cannot trace process {pid}, for which it needs root: {}",
                said.trim()
            );
        }
        thread::sleep(Duration::from_millis(2));
    }
    Ok(tracer)
}

/// Whether all threads of a process are traced.
fn is_traced(pid: u32) -> bool {
    let Ok(threads) = fs::read_dir(format!("/proc/{pid}/task")) else {
        return false;
    };
    threads.flatten().all(|thread| {
        let status = fs::read_to_string(thread.path().join("status")).unwrap_or_default();
        let tracer = status
            .lines()
            .find_map(|line| line.strip_prefix("TracerPid:"));
        tracer.is_none_or(|pid| pid.trim() != "0")
    })
}

/// Ends the tracer. The traced process goes on.
fn detach(tracer: &mut Child) -> Result<()> {
    let interrupt = Command::new("kill")
        .args(["-INT", &tracer.id().to_string()])
        .status();
    interrupt.context("kill")?;
    let until = clock::now() + START;
    while tracer.try_wait()?.is_none() {
        if clock::now() > until {
            tracer.kill()?;
        }
        thread::sleep(Duration::from_millis(2));
    }
    Ok(())
}

/// The processes of one transfer.
struct Victims {
    /// The client first, because it closes.
    processes: Vec<Victim>,
    _namespace: Option<Namespace>,
}

impl Victims {
    fn start(target: Target) -> Result<Self> {
        if let Some(part) = target.part() {
            let namespace = match part {
                // Raw sockets see the packets of all programs in their namespace.
                Part::Ip => {
                    Some(Namespace::new("faults").context("a namespace, which needs root")?)
                }
                _ => None,
            };
            let mut victim = Victim::start(&words(&part), namespace.as_ref())?;
            victim.line("ready", START)?;
            return Ok(Self {
                processes: vec![victim],
                _namespace: namespace,
            });
        }
        let mut server = Victim::start(&["ring-server".into()], None)?;
        let places = server.line("serves", START)?;
        let places: Vec<&str> = places.split(' ').collect();
        let [path, peer, probed] = places[..] else {
            bail!("the server says: {places:?}");
        };
        let mut client = Victim::start(
            &[
                "ring-client".into(),
                path.into(),
                format!("{peer},{probed}").into(),
            ],
            None,
        )?;
        client.line("ready", START)?;
        server.line("ready", START)?;
        Ok(Self {
            processes: vec![client, server],
            _namespace: None,
        })
    }

    /// The process that the faults hit.
    fn pid(&self, target: Target) -> u32 {
        let at = usize::from(target == Target::RingServer);
        self.processes[at].child.id()
    }

    /// Says that the fault is over, and takes the reports.
    fn finish(mut self) -> Result<Report> {
        for victim in &mut self.processes {
            // One that has ended says why on its standard error.
            let _ = victim
                .child
                .stdin
                .take()
                .map(|mut stdin| stdin.write_all(b"\n"));
        }
        let mut report = Report::default();
        for victim in &mut self.processes {
            report = report.join(victim.finish()?);
        }
        Ok(report)
    }
}

fn words(part: &Part) -> [OsString; 1] {
    [match part {
        Part::Udp => "udp",
        Part::Ip => "ip",
        Part::RingServer => "ring-server",
        Part::RingClient { .. } => "ring-client",
    }
    .into()]
}

/// A process.
struct Victim {
    child: Child,
    lines: Receiver<String>,
}

impl Victim {
    fn start(part: &[OsString], namespace: Option<&Namespace>) -> Result<Self> {
        let program = env::current_exe()?.into_os_string();
        let mut words = vec![program, "fault-victim".into()];
        words.extend_from_slice(part);
        let mut command = if let Some(namespace) = namespace {
            namespace.command(&words)
        } else {
            let mut command = Command::new(&words[0]);
            command.args(&words[1..]);
            command
        };
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = command.spawn()?;
        let (line, lines) = channel();
        let stdout = child.stdout.take().context("standard output")?;
        thread::spawn(move || {
            for read in BufReader::new(stdout).lines().map_while(Result::ok) {
                if line.send(read).is_err() {
                    break;
                }
            }
        });
        Ok(Self { child, lines })
    }

    /// The words of the next line, which begins with `word`.
    fn line(&mut self, word: &str, at_most: Duration) -> Result<String> {
        match self.lines.recv_timeout(at_most) {
            Ok(line) => {
                let rest = line.strip_prefix(word);
                Ok(rest
                    .with_context(|| format!("the victim says: {line}"))?
                    .trim()
                    .into())
            }
            Err(RecvTimeoutError::Timeout) => bail!("the victim hangs"),
            Err(RecvTimeoutError::Disconnected) => {
                bail!("the victim ended: {}", self.last_words()?)
            }
        }
    }

    fn finish(&mut self) -> Result<Report> {
        let line = self.line("", END)?;
        let words = self.last_words()?;
        if !words.is_empty() {
            bail!("{words}");
        }
        Ok(serde_json::from_str(&line)?)
    }

    /// Its exit status, if that is not 0, and its standard error.
    fn last_words(&mut self) -> Result<String> {
        let mut words = String::new();
        if let Some(mut stderr) = self.child.stderr.take() {
            stderr.read_to_string(&mut words)?;
        }
        let status = self.child.wait()?;
        if !status.success() {
            words = format!("{status}: {words}");
        }
        Ok(words.replace('\n', " ").trim().into())
    }
}

impl Drop for Victim {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

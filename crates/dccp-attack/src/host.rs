//! Hosts on this machine: network namespaces, processor cores, and a program that is attacked.

use crate::pair::SERVER_PORT;
use anyhow::{Context as _, Result, bail, ensure};
use core::time::Duration;
use dccp::{Instant, clock};
use dccp_netns::{Namespace, veth};
use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::unistd::Pid;
use serde_json::Value;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::Ipv4Addr;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// The victim's address on its link to the friend.
pub(crate) const VICTIM: Ipv4Addr = Ipv4Addr::new(10, 81, 0, 1);
/// The host whose transfer must go on.
pub(crate) const FRIEND: Ipv4Addr = Ipv4Addr::new(10, 81, 0, 2);
/// The victim's address on its link to the attacker.
pub(crate) const VICTIM_AT_ATTACKER: Ipv4Addr = Ipv4Addr::new(10, 82, 0, 1);
/// The attacker on a link of its own, to which the victim's default route leads.
pub(crate) const ATTACKER: Ipv4Addr = Ipv4Addr::new(10, 82, 0, 2);
/// The victim's UDP port and DCCP port.
pub(crate) const PORTS: (u16, u16) = (14_233, SERVER_PORT);

/// Three hosts: the victim has a link of 100 Mbit/s to the friend, and a fast one to the attacker.
pub(crate) struct Network {
    pub(crate) victim: Namespace,
    pub(crate) friend: Namespace,
    pub(crate) attacker: Namespace,
}

impl Network {
    pub(crate) fn new() -> Result<Self> {
        ensure!(
            nix::unistd::geteuid().is_root(),
            "needs root, for namespaces and raw sockets"
        );
        let host = |role| Namespace::new(role).context("needs the program ip");
        let (victim, friend, attacker) = (host("victim")?, host("friend")?, host("attacker")?);
        veth(&victim, &friend, "e0")?;
        veth(&victim, &attacker, "e1")?;
        let with_prefix = |address: Ipv4Addr| format!("{address}/24");
        victim.add_address("e0", &with_prefix(VICTIM))?;
        friend.add_address("e0", &with_prefix(FRIEND))?;
        victim.add_address("e1", &with_prefix(VICTIM_AT_ATTACKER))?;
        attacker.add_address("e1", &with_prefix(ATTACKER))?;
        victim.ip(&["route", "add", "default", "via", &ATTACKER.to_string()])?;
        let (victims, via) = (with_prefix(VICTIM), VICTIM_AT_ATTACKER.to_string());
        let subnet = victims.replace(".1/", ".0/");
        attacker.ip(&["route", "add", &subnet, "via", &via])?;
        for host in [&victim, &friend] {
            limit_rate(host)?;
        }
        Ok(Self {
            victim,
            friend,
            attacker,
        })
    }
}

/// Limits what a host sends on its link between victim and friend.
fn limit_rate(host: &Namespace) -> Result<()> {
    let words = "qdisc replace dev e0 root tbf rate 100mbit burst 32k limit 150k";
    let mut tc = Command::new("tc");
    tc.args(["-n", host.name()]).args(words.split(' '));
    let status = tc.status().context("needs the program tc")?;
    ensure!(status.success(), "{tc:?} failed");
    Ok(())
}

/// The processor cores of an attack: one for the attacker, another for its victim where there are two.
#[derive(Clone, Copy)]
pub(crate) struct Cores {
    pub(crate) victim: usize,
    pub(crate) attacker: usize,
}

impl Cores {
    pub(crate) fn new() -> Result<Self> {
        let permitted = sched_getaffinity(Pid::from_raw(0))?;
        let is_permitted = |core: &usize| permitted.is_set(*core).unwrap_or(false);
        let mut cores = (0..CpuSet::count()).filter(is_permitted);
        let victim = cores.next().context("no core is permitted")?;
        let attacker = cores.next_back().unwrap_or(victim);
        Ok(Self { victim, attacker })
    }
}

/// Keeps this thread, and those that it starts, on one core.
pub(crate) fn pin(core: usize) -> Result<()> {
    let mut set = CpuSet::new();
    set.set(core)?;
    sched_setaffinity(Pid::from_raw(0), &set).context("pinning a thread")
}

/// A program that answers questions with a line of JSON, and ends with its standard input.
pub(crate) struct Program {
    child: Child,
    stdin: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Program {
    /// Starts a part of this program in a network namespace.
    pub(crate) fn start(host: &Namespace, words: &[&str]) -> Result<Self> {
        let own = std::env::current_exe()?;
        let own = own.to_str().context("the program's path is not text")?;
        let words = [&[own, "part"], words].concat();
        let mut program = Self::spawn(&mut host.command(&words))?;
        program
            .ask()
            .context("a part of the attack did not start")?;
        Ok(program)
    }

    /// Starts any program.
    pub(crate) fn spawn(command: &mut Command) -> Result<Self> {
        let command = command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().with_context(|| format!("{command:?}"))?;
        let stdin = child.stdin.take();
        let output = child.stdout.take().context("no output")?;
        Ok(Self {
            child,
            stdin,
            output: BufReader::new(output),
        })
    }

    /// Returns the answer to a question.
    pub(crate) fn ask(&mut self) -> Result<Value> {
        let stdin = self.stdin.as_mut().context("no input")?;
        stdin.write_all(b"?\n").context("the program has ended")?;
        let line = self.line()?;
        Ok(serde_json::from_str(&line)?)
    }

    /// Returns the next line of its output.
    pub(crate) fn line(&mut self) -> Result<String> {
        let mut line = String::new();
        self.output.read_line(&mut line)?;
        ensure!(!line.is_empty(), "the program has ended");
        Ok(line)
    }

    /// Bytes of memory in use now.
    pub(crate) fn resident(&self) -> Result<u64> {
        Ok(self.status("VmRSS:")? << 10)
    }

    pub(crate) fn threads(&self) -> Result<u64> {
        self.status("Threads:")
    }

    /// Open descriptors.
    pub(crate) fn descriptors(&self) -> Result<u64> {
        let folder = format!("/proc/{}/fd", self.child.id());
        Ok(std::fs::read_dir(folder)?.count() as u64)
    }

    /// The number of a line of `/proc/PID/status`.
    fn status(&self, name: &str) -> Result<u64> {
        let path = format!("/proc/{}/status", self.child.id());
        let text = std::fs::read_to_string(path)?;
        let Some(rest) = text.lines().find_map(|line| line.strip_prefix(name)) else {
            bail!("the program has ended");
        };
        let number = rest.split_whitespace().next().unwrap_or_default();
        Ok(number.parse()?)
    }

    /// Ends its input and waits until it ends.
    pub(crate) fn finish(mut self) -> Result<()> {
        self.stdin = None;
        let status = self.child.wait()?;
        ensure!(status.success(), "the program ended with {status}");
        Ok(())
    }

    /// Kills it.
    pub(crate) fn kill(mut self) -> Result<()> {
        self.child.kill()?;
        self.child.wait()?;
        Ok(())
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A number of an answer.
pub(crate) fn number(answer: &Value, name: &str) -> Result<u64> {
    let number = answer[name].as_u64();
    number.with_context(|| format!("no {name} in {answer}"))
}

/// Milliseconds since `begin`.
pub(crate) fn millis_since(begin: Instant) -> u64 {
    let time = (clock::now() - begin).as_millis();
    u64::try_from(time).unwrap_or(u64::MAX)
}

pub(crate) fn sleep(time: Duration) {
    std::thread::sleep(time);
}

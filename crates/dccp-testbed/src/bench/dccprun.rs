//! Programs for the kernel's DCCP under `dccprun` beside programs of the C library: CPU time of a datagram.

use anyhow::{Result, ensure};
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::row::{Goal, Row};
use crate::programs;
use dccp_dev::shell::{self, Background, command};
use dccp_dev::{libdccp, median, preload};

const SOURCE: &str = "crates/dccp-testbed/programs/flood.c";
const DCCPRUN: &str = "target/release/dccprun";
const UDP_PORT: &str = "7031";
const DCCP_PORT: &str = "5001";
const COUNT: u32 = 300_000;
const LENGTH: &str = "1200";
/// How many times the CPU time of the C library a datagram may take.
const TIMES: f64 = 1.5;

/// The two programs, and what runs the one for the kernel.
struct Programs {
    kernel: PathBuf,
    library: PathBuf,
    preload: PathBuf,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Interface {
    Kernel,
    Library,
}

pub(super) fn rows(repetitions: usize) -> Result<Vec<Row>> {
    let programs = Programs::build()?;
    let (mut sent, mut received) = ([vec![], vec![]], [vec![], vec![]]);
    for _ in 0..repetitions {
        for (index, interface) in [Interface::Kernel, Interface::Library]
            .into_iter()
            .enumerate()
        {
            sent[index].push(programs.run(interface, Interface::Library)?[0]);
            received[index].push(programs.run(Interface::Library, interface)?[1]);
        }
    }
    let row = |what: &str, [kernel, library]: [Vec<f64>; 2]| {
        Row::new(
            format!("dccprun: µs of CPU for a datagram that is {what}, beside libdccp"),
            median(kernel),
            Some(median(library)),
            Goal::AtMost(TIMES),
        )
    };
    Ok(vec![row("sent", sent), row("received", received)])
}

impl Programs {
    fn build() -> Result<Self> {
        programs::build(programs::DCCPRUN)?;
        let target = Path::new("target/bench-dccprun");
        let folder = libdccp::build(target, true)?;
        let compile = |name: &str, more: &[&str]| {
            let program = target.join(name);
            let mut cc = command(&["gcc", "-O2", "-Wall", "-Wextra", "-Werror", SOURCE]);
            shell::output(cc.arg("-o").arg(&program).args(more))?;
            anyhow::Ok(program)
        };
        let place = folder.to_string_lossy();
        let link = [
            "-DLIBRARY",
            "-Icrates/dccp-capi/include",
            &format!("-L{place}"),
            &format!("-Wl,-rpath,{place}"),
            "-ldccp",
        ];
        Ok(Self {
            kernel: compile("flood-kernel", &[])?,
            library: compile("flood-library", &link)?,
            preload: preload::build(target, true)?,
        })
    }

    /// Transfers datagrams. Returns the microseconds of CPU that sender and receiver took for each.
    fn run(&self, sender: Interface, receiver: Interface) -> Result<[f64; 2]> {
        let receive = self.command(receiver, "--udp-port", &["receive", DCCP_PORT]);
        let sink = Background::start(receive, "ready")?;
        let at_start = cpu_us()?;
        let count = COUNT.to_string();
        let words = ["send", DCCP_PORT, &count, LENGTH];
        shell::run(&mut self.command(sender, "--remote-udp-port", &words))?;
        let at_close = cpu_us()?;
        let arrived: f64 = sink.finish()?.trim().parse()?;
        let at_end = cpu_us()?;
        ensure!(arrived > 0.9 * f64::from(COUNT), "{arrived} have arrived");
        Ok([
            (at_close - at_start) / f64::from(COUNT),
            (at_end - at_close) / arrived,
        ])
    }

    fn command(&self, interface: Interface, port: &str, words: &[&str]) -> std::process::Command {
        match interface {
            Interface::Library => {
                let mut command = std::process::Command::new(&self.library);
                command.args(words);
                command
            }
            Interface::Kernel => {
                let mut command = command(&[DCCPRUN, port, UDP_PORT, "--library"]);
                command.arg(&self.preload).arg(&self.kernel).args(words);
                command
            }
        }
    }
}

/// Microseconds of CPU time of the processes that have ended and were waited for, their children's included.
fn cpu_us() -> Result<f64> {
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN)?;
    let time = usage.user_time() + usage.system_time();
    let time = Duration::from_micros(time.num_microseconds().try_into()?);
    Ok(time.as_secs_f64() * 1e6)
}

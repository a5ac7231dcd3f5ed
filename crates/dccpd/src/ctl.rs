//! `dccpctl`: shows and controls a running daemon.

mod selftest;
mod show;

use crate::admin::client::ask;
use crate::admin::{Reloaded, Report, Request, TraceRequest};
use crate::cli::{ControlCommand, CountersForm, TraceWords, control};
use dccp_cli::{Failure, exit, package, print};
use std::fs::File;
use std::io::{self, Write as _};
use std::path::Path;

/// Does what a command line requests. Returns the exit code.
pub(crate) fn perform(admin: &Path, command: &ControlCommand) -> Result<u8, Failure> {
    match command {
        ControlCommand::Connections(form) => {
            let report = report(admin)?;
            if form.json {
                print(&json(&report.snapshot.connections)?)?;
            } else {
                print(&show::connections(&report))?;
            }
        }
        ControlCommand::Listeners(form) => {
            let report = report(admin)?;
            if form.json {
                print(&json(&report.snapshot.listeners)?)?;
            } else {
                print(&show::listeners(&report))?;
            }
        }
        ControlCommand::Counters(form) => counters(admin, form)?,
        ControlCommand::Trace(words) => trace(admin, words)?,
        ControlCommand::Abort { id } => {
            let ((), _) = ask(admin, &Request::Abort { id: *id })?;
            print(&format!("connection {id} ends\n"))?;
        }
        ControlCommand::Reload => {
            let (done, _): (Reloaded, _) = ask(admin, &Request::Reload)?;
            print("the policy is in force\n")?;
            if done.needs_restart {
                print("some settings count after a restart of dccpd\n")?;
            }
        }
        ControlCommand::Selftest(words) => print(&selftest::run(words)?)?,
        ControlCommand::Snmp => snmp(admin)?,
        ControlCommand::Man { folder } => return package::man(control(), folder),
        ControlCommand::Completions { shell } => {
            return package::completions(control(), *shell);
        }
    }
    Ok(exit::DONE)
}

fn report(admin: &Path) -> Result<Report, Failure> {
    ask(admin, &Request::Report).map(|(report, _)| report)
}

fn json<T: serde::Serialize>(value: &T) -> Result<String, Failure> {
    let text = serde_json::to_string_pretty(value);
    let text = text.map_err(|e| Failure::run(e.to_string(), "report this as a fault"))?;
    Ok(text + "\n")
}

fn counters(admin: &Path, form: &CountersForm) -> Result<(), Failure> {
    let snapshot = report(admin)?.snapshot;
    if form.prometheus {
        let text = dccp_counters::prometheus::text(&snapshot, usize::MAX);
        return print(&text.map_err(|e| Failure::run(e.to_string(), "report this as a fault"))?);
    }
    let Some(id) = form.id else {
        return if form.json {
            print(&json(&snapshot)?)
        } else {
            print(&show::counters(&snapshot.totals, form.zeros))
        };
    };
    let found = snapshot.connections.iter().find(|c| c.id == id);
    let connection = found.ok_or_else(|| {
        let what = format!("there is no connection {id}");
        Failure::refused(what, "`dccpctl connections` lists them")
    })?;
    if form.json {
        print(&json(connection)?)
    } else {
        print(&show::counters(&connection.counters, form.zeros))
    }
}

/// Writes the packets of a connection until the daemon ends the trace, or Ctrl-C.
fn trace(admin: &Path, words: &TraceWords) -> Result<(), Failure> {
    let request = Request::Trace(TraceRequest {
        id: words.id,
        snap: words.snap,
        packets: words.packets,
        seconds: words.time.map(|time| time.as_secs_f64()),
    });
    let ((), mut packets) = ask(admin, &request)?;
    // The connection may be silent for long.
    let unbounded = packets.get_ref().set_read_timeout(None);
    unbounded.map_err(|e| Failure::run(e.to_string(), "try again"))?;
    let copied = match &words.write {
        Some(path) => {
            let file = File::create(path).map_err(|e| Failure::write(path, &e))?;
            copy(&mut packets, file)
        }
        None => copy(&mut packets, io::stdout().lock()),
    };
    copied.map_err(|e| {
        let path = words
            .write
            .as_deref()
            .unwrap_or(Path::new("standard output"));
        Failure::write(path, &e)
    })
}

/// Copies what arrives at once, so that a reader sees each packet soon.
fn copy(from: &mut impl io::Read, mut to: impl io::Write) -> io::Result<()> {
    io::copy(from, &mut to)?;
    to.flush()
}

/// Answers snmpd on standard input and output until it ends.
fn snmp(admin: &Path) -> Result<(), Failure> {
    let mut read = || {
        let report = report(admin).map_err(|failure| io::Error::other(failure.what))?;
        Ok::<_, io::Error>(report.snapshot)
    };
    let input = io::stdin().lock();
    let mut output = io::stdout().lock();
    let served = dccp_counters::snmp::pass_persist(input, &mut output, &mut read);
    served.and_then(|()| output.flush()).map_err(|e| {
        Failure::run(
            format!("snmpd is gone: {e}"),
            "let snmpd start this program",
        )
    })
}

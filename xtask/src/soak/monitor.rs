//! `cargo xtask soak bulk` and `soak crowd`: dccpmon for a long time, and with many clients.

use std::io::{self, Read as _};
use std::process::{Child, Command, Stdio};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use dccp_dev::shell::{self, Background, command_line, memory_mib};
use serde_json::Value;

const DCCPMON: &str = "target/release/dccpmon";
const EMULATOR: &str = "target/release/dccp-emu";
/// The port of the server, and of the emulator in front of it.
const PORT: u16 = 14_310;
const RELAY: u16 = 14_320;
/// The time between two looks at the memory.
const LOOK: Duration = Duration::from_secs(10);
/// Memory may grow in this time after the start.
const WARM_UP: Duration = Duration::from_mins(5);
/// The most growth of a program after that, in MiB per hour.
const SLOPE_MAX: f64 = 1.0;
/// The clients of a crowd, and those of them that are killed.
const CLIENTS: usize = 20;
const KILLED: usize = 3;
/// The longest wait until the server has ended the tests of killed clients.
const VANISHED: Duration = Duration::from_secs(30);
/// The most that the server's memory may grow from the first crowd to the last.
const GROWTH_MAX: f64 = 1.1;

/// Sends 500 Mbit/s through the emulator. Memory must stay flat and each packet must have one place in the ledger.
pub(super) fn bulk(duration: Duration) -> Result<bool> {
    build()?;
    let seconds = duration.as_secs();
    let server = serve(&format!("--time-limit {}s", seconds + 60))?;
    let link = "--rate 600M --delay 5ms";
    let relay = format!("{EMULATOR} relay --listen 127.0.0.1:{RELAY} --to 127.0.0.1:{PORT} {link}");
    let relay = Background::start(command_line(&relay), "ready")?;
    let mut client = client(RELAY, &format!("-t {seconds} -b 500M -i 10"))?;
    let programs = [("client", client.process.id()), ("server", server.id())];
    let mut memory = [Vec::new(), Vec::new()];
    let mut at = Duration::ZERO;
    while client.process.try_wait()?.is_none() {
        for ((_, id), rows) in programs.iter().zip(&mut memory) {
            // A program that has just ended has no memory.
            if let Ok(mib) = memory_mib(*id, "VmRSS:") {
                rows.push((at, mib));
            }
        }
        thread::sleep(LOOK);
        at += LOOK;
    }
    let document = document(client)?;
    let mut is_good = is_complete(&document);
    println!("goodput {} bit/s", document["summary"]["goodput_bps"]);
    println!("ledger {}", document["summary"]["flows"][0]["ledger"]);
    println!("link {}", relay.interrupt()?.trim());
    let lines = tests(&server.interrupt()?);
    println!("the server's output has {lines} line(s)");
    is_good &= lines == 1;
    for ((name, _), rows) in programs.iter().zip(&memory) {
        let late: Vec<_> = rows.iter().filter(|(at, _)| *at >= WARM_UP).collect();
        let slope = slope_per_hour(&late);
        let [first, last] = [rows.first(), rows.last()].map(|row| row.map_or(0.0, |row| row.1));
        println!("{name}: {first:.1} to {last:.1} MiB, {slope:+.2} MiB per hour after 5 min");
        is_good &= slope < SLOPE_MAX;
    }
    Ok(is_good)
}

/// Runs crowds of clients and kills some of them. The others' ledgers must close, and the memory of the server must
/// return to its value after the first crowd.
pub(super) fn crowd(duration: Duration, crowds: usize) -> Result<bool> {
    build()?;
    // One address leaves the last place to others.
    let server = serve(&format!("--tests {}", CLIENTS + 1))?;
    let mut memory = Vec::new();
    let mut is_good = true;
    for number in 0..=crowds {
        let ledgers = one_crowd(duration)?;
        thread::sleep(VANISHED);
        let mib = memory_mib(server.id(), "VmRSS:")?;
        println!("crowd {number}: {ledgers} ledgers closed, server {mib:.1} MiB");
        is_good &= ledgers == CLIENTS - KILLED;
        memory.push(mib);
    }
    let (first, last) = (memory[0], memory[crowds]);
    println!(
        "the memory after the last crowd is {:.2} of that after the first",
        last / first
    );
    Ok(is_good && last <= GROWTH_MAX * first)
}

/// Runs one crowd. Returns how many of the clients that were not killed have complete results.
fn one_crowd(duration: Duration) -> Result<usize> {
    let options = format!("-t {} -b 2M", duration.as_secs());
    let clients: Result<Vec<Client>> = (0..CLIENTS).map(|_| client(PORT, &options)).collect();
    let mut clients = clients?;
    thread::sleep(duration / 2);
    for mut killed in clients.drain(..KILLED) {
        killed.process.kill()?;
        killed.process.wait()?;
    }
    let mut complete = 0;
    for client in clients {
        complete += usize::from(is_complete(&document(client)?));
    }
    Ok(complete)
}

fn build() -> Result<()> {
    shell::run(&mut command_line(
        "cargo build --quiet --release -p dccpmon -p dccp-emu",
    ))
}

fn serve(options: &str) -> Result<Background> {
    let line = format!("{DCCPMON} serve -4 --over udp -p {PORT} {options}");
    Background::start(command_line(&line), "serving")
}

/// A client that prints its document at the end, and the thread that reads it. A document can be larger than a pipe.
struct Client {
    process: Child,
    output: JoinHandle<io::Result<Vec<u8>>>,
}

fn client(port: u16, options: &str) -> Result<Client> {
    let mut command: Command =
        command_line(&format!("{DCCPMON} 127.0.0.1 -p {port} --json {options}"));
    let command = command.stdin(Stdio::null()).stdout(Stdio::piped());
    let mut process = command.spawn().context("dccpmon cannot start")?;
    let mut stdout = process.stdout.take().context("no pipe")?;
    let output = thread::spawn(move || {
        let mut bytes = Vec::new();
        stdout.read_to_end(&mut bytes).map(|_| bytes)
    });
    Ok(Client { process, output })
}

fn document(mut client: Client) -> Result<Value> {
    client.process.wait()?;
    let Ok(output) = client.output.join() else {
        bail!("the reader of a client's output failed");
    };
    let output = output?;
    ensure!(!output.is_empty(), "a client printed no document");
    Ok(serde_json::from_slice(&output)?)
}

/// Whether the test ran to its end, and each packet of each flow has one place.
fn is_complete(document: &Value) -> bool {
    let flows = document["summary"]["flows"].as_array();
    let is_closed = |flow: &Value| is_closed(&flow["ledger"]);
    document["exit_code"] == 0 && flows.is_some_and(|flows| flows.iter().all(is_closed))
}

/// Whether all places of a ledger add up to what was offered and sent.
fn is_closed(ledger: &Value) -> bool {
    let Some(rows) = ledger.as_object() else {
        return false;
    };
    let sum = |is_part: &dyn Fn(&str) -> bool| -> u64 {
        let parts = rows.iter().filter(|(name, _)| is_part(name));
        parts.filter_map(|(_, packets)| packets.as_u64()).sum()
    };
    let row = |name: &str| sum(&|other| other == name);
    let dropped = sum(&|name| name.starts_with("dropped_"));
    let places = sum(&|name| {
        name.starts_with("lost_") || ["delivered", "in_flight", "unknown"].contains(&name)
    });
    row("offered") > 0 && row("offered") == dropped + row("sent") && row("sent") == places
}

/// The lines of a server after its start, which are one for each test.
fn tests(output: &str) -> usize {
    let is_line = |line: &&str| !line.trim().is_empty() && !line.starts_with("  ");
    output.lines().filter(is_line).count()
}

/// The slope of the straight line through the values with the least squares, per hour. 0 with fewer than two values.
fn slope_per_hour(rows: &[&(Duration, f64)]) -> f64 {
    let hours = |at: &Duration| at.as_secs_f64() / 3600.0;
    let count = rows.iter().map(|_| 1.0).sum::<f64>().max(1.0);
    let mean_at = rows.iter().map(|(at, _)| hours(at)).sum::<f64>() / count;
    let mean = rows.iter().map(|(_, mib)| mib).sum::<f64>() / count;
    let (mut up, mut over) = (0.0, 0.0);
    for (at, mib) in rows {
        let distance = hours(at) - mean_at;
        up += distance * (mib - mean);
        over += distance * distance;
    }
    if over > 0.0 { up / over } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn slope_is_that_of_the_line() {
        let rows: Vec<_> = (0..10_u32)
            .map(|n| {
                (
                    Duration::from_mins(6 * u64::from(n)),
                    5.0 + 0.3 * f64::from(n),
                )
            })
            .collect();
        let rows: Vec<_> = rows.iter().collect();
        assert!((slope_per_hour(&rows) - 3.0).abs() < 1e-9);
        assert!(slope_per_hour(&rows[..1]).abs() < 1e-9);
        assert!(slope_per_hour(&[]).abs() < 1e-9);
    }

    #[test]
    fn ledger_closes_only_if_each_packet_has_a_place() {
        let ledger = |delivered: u64| json!({"offered": 10, "dropped_app": 1, "sent": 9, "delivered": delivered, "lost_network": 2, "unknown": 0});
        assert!(is_closed(&ledger(7)));
        assert!(!is_closed(&ledger(6)));
        assert!(!is_closed(&Value::Null));
        assert!(!is_closed(&json!({})));
    }

    #[test]
    fn rows_about_the_start_are_no_tests() {
        assert_eq!(
            tests("  tests at once: 16\n  metrics: x\ntest from a: b\n\n"),
            1
        );
    }
}

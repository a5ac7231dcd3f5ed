//! `dccpmon ping HOST`: whether a DCCP port is open, closed or filtered, without a connection.

mod outcome;
mod probe;

use crate::cli::ping::{Ping, Ways};
use crate::plan::look_up;
use crate::session::failure::open_failure;
use core::net::SocketAddr;
use core::time::Duration;
use dccp::{Encapsulation, clock};
use dccp_cli::{Failure, exit, interrupt, print};
use outcome::{Outcome, Probes, difference};
use probe::{Prober, Sign, is_alive};

/// The longest sleep between two looks whether the user has interrupted.
const LOOK: Duration = Duration::from_millis(50);

/// Probes the host and prints what it found; gives the exit code.
pub(crate) fn run(asked: &Ping) -> Result<u8, Failure> {
    interrupt::listen()?;
    let found = look_up(&asked.host, asked.port, asked.family())?;
    let Some(&remote) = found.first() else {
        return Err(Failure::run(
            format!("{} has no address", asked.host),
            "check the spelling",
        ));
    };
    print(&format!(
        "ping  {} ({}), DCCP port {}, service {}\n",
        asked.host,
        remote.ip(),
        asked.dccp_port,
        asked.service
    ))?;
    let ways: &[Encapsulation] = match asked.over {
        Ways::Udp => &[Encapsulation::Udp],
        Ways::Ip => &[Encapsulation::Ip],
        Ways::Both => &[Encapsulation::Udp, Encapsulation::Ip],
    };
    let mut outcomes = Vec::new();
    for &over in ways {
        let place = match over {
            Encapsulation::Udp => format!("UDP port {}", asked.port),
            Encapsulation::Ip => "protocol 33".into(),
        };
        match Prober::open(over, remote, asked.dccp_port, asked.service) {
            Ok(way) => {
                let (probes, is_alive) = ask(way, asked, remote)?;
                let outcome = Outcome::of(&probes, over, is_alive);
                let answered = probes.answered();
                print(&format!("  {place:<14} {outcome} {answered}\n"))?;
                outcomes.push((over, outcome));
            }
            Err(e) if asked.over == Ways::Both && over == Encapsulation::Ip => {
                print(&format!(
                    "  {place:<14} not tried: {}\n",
                    open_failure(&e).what
                ))?;
            }
            Err(e) => return Err(open_failure(&e)),
        }
    }
    if let Some(sentence) = difference(&outcomes) {
        print(&format!("{sentence}\n"))?;
    }
    Ok(if interrupt::is_pressed() {
        exit::INTERRUPTED
    } else if outcomes.iter().all(|(_, o)| o.is_open()) {
        exit::DONE
    } else {
        exit::FAILED
    })
}

/// Sends the probes of one way. If nothing comes back, also asks whether the host is alive.
fn ask(mut way: Prober, asked: &Ping, remote: SocketAddr) -> Result<(Probes, bool), Failure> {
    let mut probes = Probes::default();
    for number in 0..asked.count {
        let begin = clock::now();
        probes.add(way.probe(asked.timeout)?);
        while number + 1 < asked.count
            && clock::now() < begin + asked.interval
            && !interrupt::is_pressed()
        {
            std::thread::sleep(LOOK.min((begin + asked.interval) - clock::now()));
        }
        if interrupt::is_pressed() {
            break;
        }
    }
    let is_silent = probes.best() == Sign::Silence;
    let is_alive = is_silent && !interrupt::is_pressed() && is_alive(remote, asked.timeout);
    Ok((probes, is_alive))
}

//! Listeners. Threads open them, because the port or the daemon may let them wait.

use super::requests::with_port;
use crate::host::connection::reply;
use crate::host::link::Accept;
use crate::host::settings::Settings;
use crate::host::table::{Claim, Phase, unspecified};
use crate::host::{Carrier, Host, errors, listening};
use core::net::{IpAddr, Ipv4Addr, SocketAddr};
use core::time::Duration;
use dccp::unstable::io::local;
use dccp::{BindError, DccpAddr, Encapsulation, Listener, OpenError, Options, unstable};
use dccprun_message::{Answer, SocketKey};
use std::io::Write as _;
use std::os::fd::{AsFd as _, OwnedFd};
use std::sync::Arc;

/// How long a closed listener may take to give its port up.
const PORT_WAIT: Duration = Duration::from_millis(300);

/// A listener that is being opened.
struct Opening {
    key: SocketKey,
    settings: Settings,
    /// The address that the program has chosen.
    bound: Option<SocketAddr>,
    local: SocketAddr,
}

impl Host {
    /// Begins to open a listener on a thread, which answers. Returns the channel with the answer, if there is one now.
    pub(super) fn listen(
        self: &Arc<Self>,
        key: SocketKey,
        backlog: i32,
        channel: OwnedFd,
    ) -> Option<(OwnedFd, Result<Answer, i32>)> {
        if let Ok(record) = self.table().entry(key) {
            record.listener = local::peer(channel.as_fd()).ok();
        }
        match self.table().get(key).map(|record| &mut record.phase) {
            Some(Phase::Opening(callers)) => {
                callers.push(channel);
                return None;
            }
            // The Unix socket's backlog changes.
            Some(Phase::Listening) => return Some((channel, Ok(Answer::DONE))),
            _ => {}
        }
        let opening = match self.begin_listening(key) {
            Ok(opening) => opening,
            Err(error) => return Some((channel, Err(error))),
        };
        if let Some(record) = self.table().get(key) {
            record.phase = Phase::Opening(vec![channel]);
        }
        let bound = opening.bound;
        let open = move |host: &Arc<Self>| host.open(&opening, backlog);
        if self.spawn("dccprun-listen", open).is_err() {
            self.end_opening(key, bound, Err(libc::ENOBUFS));
        }
        None
    }

    /// Gives a socket the address of its listener, which a thread is to open.
    fn begin_listening(&self, key: SocketKey) -> Result<Opening, i32> {
        let (settings, bound) = {
            let mut table = self.table();
            let record = table.entry(key)?;
            if !matches!(record.phase, Phase::Idle) {
                return Err(libc::EINVAL);
            }
            (record.settings.clone(), record.local)
        };
        let local = match bound {
            Some(local) => local,
            None => self.free_address(Claim {
                address: unspecified(key.family),
                is_v6_only: settings.is_v6_only,
            })?,
        };
        self.table().entry(key)?.local = Some(local);
        Ok(Opening {
            key,
            settings,
            bound,
            local,
        })
    }

    /// Opens a listener, answers, and accepts.
    fn open(self: &Arc<Self>, opening: &Opening, backlog: i32) {
        let key = opening.key;
        let opened = self.open_listeners(opening, backlog);
        let opened = opened.and_then(|mut listeners| {
            let own = listeners.pop();
            for listener in listeners {
                let serve = move |host: &Arc<Self>| listening::serve(host, key, listener);
                let spawned = self.spawn("dccprun-listen", serve);
                spawned.map_err(|_| libc::ENOBUFS)?;
            }
            Ok(own)
        });
        let outcome = opened.as_ref().map(drop).map_err(|error| *error);
        self.end_opening(key, opening.bound, outcome);
        if let Ok(Some(own)) = opened {
            listening::serve(self, key, own);
        }
    }

    /// Answers those who wait for a listener. If it was not opened, the socket has the address that it had before.
    fn end_opening(&self, key: SocketKey, bound: Option<SocketAddr>, outcome: Result<(), i32>) {
        let mut table = self.table();
        let Some(record) = table.get(key) else {
            // The program has closed it.
            return;
        };
        let (phase, answer) = match outcome {
            Ok(()) => (Phase::Listening, Answer::DONE),
            Err(error) => {
                record.local = bound;
                (Phase::Idle, Answer::error(error))
            }
        };
        let before = core::mem::replace(&mut record.phase, phase);
        drop(table);
        if let Phase::Opening(callers) = before {
            for caller in callers {
                // The program may have gone.
                let _ = reply(&caller, &answer);
            }
        }
    }

    /// Opens the listeners of a socket. An engine has one for all addresses, the daemon one for each.
    fn open_listeners(&self, opening: &Opening, backlog: i32) -> Result<Vec<Box<dyn Accept>>, i32> {
        let Opening {
            key,
            settings,
            local,
            ..
        } = opening;
        let udp_port = match (&self.carrier, self.defaults.encapsulation) {
            (Carrier::Engine(_), Encapsulation::Udp) => self.defaults.udp_port,
            // That of the daemon.
            (Carrier::Daemon(_), Encapsulation::Udp) | (_, Encapsulation::Ip) => 0,
        };
        let mut ips = vec![local.ip()];
        if local.ip().is_unspecified() && local.is_ipv6() && !settings.is_v6_only {
            ips.push(IpAddr::V4(Ipv4Addr::UNSPECIFIED));
        }
        let at = |ip: &IpAddr| {
            let mut place = *local;
            place.set_ip(ip.to_canonical());
            DccpAddr::from((with_port(place, udp_port), local.port()))
        };
        let places: Vec<DccpAddr> = ips.iter().map(at).collect();
        match &self.carrier {
            Carrier::Engine(engine) => {
                let services: Vec<_> = settings.services(&self.defaults).into_iter().collect();
                let options = settings
                    .options(&self.defaults, engine)
                    .service_codes(&services)
                    .backlog(usize::try_from(backlog).unwrap_or(1).clamp(1, 4096));
                let options = unstable::permit_system_port(options);
                let listener = open_listener(&places, udp_port, &options)?;
                Ok(vec![Box::new(listener)])
            }
            Carrier::Daemon(daemon) => {
                self.wait_for_port(
                    *key,
                    Claim {
                        address: *local,
                        is_v6_only: settings.is_v6_only,
                    },
                );
                let listen = |place: &DccpAddr| daemon.listen(*place, settings, &self.defaults);
                places.iter().map(listen).collect()
            }
        }
    }

    /// Waits until an earlier listener of the program has given a port up.
    fn wait_for_port(&self, key: SocketKey, claim: Claim) {
        let until = dccp::clock::now() + PORT_WAIT;
        let is_taken = || {
            let mut table = self.table();
            let holders = table.holders(claim);
            let mut others = holders.into_iter().filter(|holder| *holder != key);
            others.any(|holder| {
                let phase = table.get(holder).map(|record| &record.phase);
                matches!(phase, Some(Phase::Opening(_) | Phase::Listening))
            })
        };
        while is_taken() && dccp::clock::now() < until {
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

/// Opens a listener of an engine. A port that an earlier listener gives up just now is waited for.
fn open_listener(places: &[DccpAddr], udp_port: u16, options: &Options) -> Result<Listener, i32> {
    let until = dccp::clock::now() + PORT_WAIT;
    loop {
        match Listener::bind(places, options) {
            Ok(listener) => return Ok(listener),
            Err(BindError::InUse { .. }) if dccp::clock::now() < until => {
                std::thread::sleep(Duration::from_millis(10));
            }
            Err(error) => {
                explain(&error, udp_port);
                return Err(errors::of_bind(&error));
            }
        }
    }
}

/// Says why a listener could not begin, because the program sees an error number only.
fn explain(error: &BindError, udp_port: u16) {
    let next = match error {
        BindError::Open(OpenError::InUse(_)) => {
            "end the program that has it, or choose another one with --udp-port (peers then need --remote-udp-port)"
        }
        other => other.next_step(),
    };
    let what = match error {
        BindError::Open(OpenError::InUse(_)) => format!("UDP port {udp_port} is taken"),
        other => other.to_string(),
    };
    // A closed standard error does not end the service of the program.
    let _ = writeln!(std::io::stderr(), "dccprun: {what}\n   next: {next}");
}

//! The policy file: who may connect and listen where, with which congestion control, how fast.

mod file;
mod target;

use crate::users::UserSet;
use core::net::SocketAddr;
use core::time::Duration;
use dccp::safeudp::{self, Profile, SafeUdpConfig};
use dccp::unstable::io::limit_next_step;
use dccp::{Encapsulation, Options};
use dccp_cli::Failure;
use dccp_cli::law::NamedLaw;
use serde::Deserialize;
use std::io;
use std::path::{Path, PathBuf};
pub(crate) use target::Target;

/// The file that is read if the command line names none.
pub(crate) const PATH: &str = "/etc/dccpd.toml";

/// A policy file, checked.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Policy {
    pub(crate) start: StartSettings,
    /// Bits of data per second that all connections send together; `None`: no cap.
    pub(crate) max_rate: Option<u64>,
    pub(crate) log: Logged,
    /// Connections to listeners that one address of a peer may have; an IPv6 /64 counts as one.
    pub(crate) max_connections_per_address: usize,
    /// Users who may use `dccpctl` beside root and the daemon's own user.
    pub(crate) administrators: UserSet,
    pub(crate) rules: Vec<Rule>,
}

/// Settings that take effect when the daemon starts.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct StartSettings {
    pub(crate) socket: PathBuf,
    pub(crate) admin_socket: PathBuf,
    pub(crate) udp_port: u16,
    /// The carriers of DCCP. IP (protocol 33) needs `CAP_NET_RAW`.
    pub(crate) over: Vec<Encapsulation>,
    pub(crate) threads: usize,
    pub(crate) busy_wait: Duration,
    /// Connections and listeners of all users together.
    pub(crate) max_connections: usize,
    /// Bytes of all rings together.
    pub(crate) max_memory: u64,
    /// The address for Prometheus.
    pub(crate) metrics: Option<SocketAddr>,
    /// Series for each connection, too.
    pub(crate) connection_metrics: bool,
}

/// The requests that the daemon writes to its log.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Logged {
    Nothing,
    #[default]
    Refusals,
    All,
}

/// The rights of some users. The first rule that names a user counts.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Rule {
    pub(crate) users: UserSet,
    pub(crate) connect: Vec<Target>,
    pub(crate) listen: Vec<Target>,
    /// CCIDs that connections may have, preferred first.
    pub(crate) ccids: Vec<u8>,
    /// Laws that requests may choose, with their options; `None`: all without options.
    pub(crate) allowed_laws: Option<Vec<String>>,
    /// The law of connections whose request chooses none.
    pub(crate) default_law: Option<NamedLaw>,
    /// The network that CCID 248 may assume.
    pub(crate) safeudp_profile: Profile,
    pub(crate) over: Vec<Encapsulation>,
    /// Bits of data per second that the connections of one user send together; `None`: no cap.
    pub(crate) max_rate: Option<u64>,
    /// Connections of one user. A listener counts for as many as its request asks for, and one more.
    pub(crate) max_connections: u32,
    /// Bytes of one ring.
    pub(crate) max_ring_memory: u64,
}

impl Policy {
    /// Reads a policy file.
    ///
    /// # Errors
    /// The file cannot be read, or something in it is wrong.
    pub(crate) fn read(path: &Path) -> Result<Self, Failure> {
        file::read(path)
    }

    /// The rule of a user: the first that names the user.
    pub(crate) fn rule(&self, uid: u32, gid: u32) -> Option<&Rule> {
        self.rules.iter().find(|rule| rule.users.has(uid, gid))
    }

    /// Checks that this process has the rights that the rules need.
    ///
    /// # Errors
    /// A rule lets CCID 248 assume a provisioned network, and the process may not.
    pub(crate) fn check_rights(&self) -> Result<(), Failure> {
        if !self.needs_provisioned() {
            return Ok(());
        }
        let provisioned = SafeUdpConfig {
            profile: Profile::Provisioned,
            ..SafeUdpConfig::default()
        };
        let checked = Options::new().safe_udp(provisioned).check();
        checked.map_err(|e| {
            let next = "give dccpd CAP_NET_ADMIN, or leave safeudp-profile out of the policy";
            // Not a failure of the run, after which systemd would start the daemon again.
            Failure::usage(e.to_string(), next)
        })
    }

    /// Whether a rule lets CCID 248 assume a network whose operator has reserved the rate.
    fn needs_provisioned(&self) -> bool {
        let is_used = |rule: &Rule| rule.profile() == Profile::Provisioned;
        self.rules.iter().any(is_used)
    }
}

impl Rule {
    /// Whether a request may choose a law by this text. Options can make a law as aggressive as many flows, so they must be
    /// listed as a whole.
    pub(crate) fn permits_law(&self, text: &str) -> bool {
        match &self.allowed_laws {
            Some(laws) => laws.iter().any(|law| law == text),
            None => !text.contains(':'),
        }
    }

    /// The profile of CCID 248. Without that CCID none needs a privilege.
    pub(crate) fn profile(&self) -> Profile {
        if self.ccids.contains(&safeudp::NUMBER) {
            self.safeudp_profile
        } else {
            Profile::Shared
        }
    }
}

/// The next step if an address and port of the key `key` cannot be opened.
pub(crate) fn next_of_port(e: &io::Error, key: &str) -> String {
    if let Some(next) = limit_next_step(e) {
        return next.to_owned();
    }
    match e.kind() {
        io::ErrorKind::AddrInUse => {
            format!("stop the program that has it, or change {key} in the policy")
        }
        io::ErrorKind::PermissionDenied => {
            format!(
                "write a port from 1024 on as {key} in the policy, or let dccpd use this one (CAP_NET_BIND_SERVICE)"
            )
        }
        io::ErrorKind::AddrNotAvailable => {
            format!("write an address of this host as {key} in the policy")
        }
        _ => format!("change {key} in the policy"),
    }
}

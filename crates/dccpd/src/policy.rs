//! The policy file: who may connect and listen where, with which congestion control, how fast.

mod file;
mod target;

use crate::users::UserSet;
use core::net::SocketAddr;
use core::time::Duration;
use dccp::Encapsulation;
use dccp::safeudp::Profile;
use dccp_cli::Failure;
use dccp_cli::law::NamedLaw;
use std::path::{Path, PathBuf};
pub(crate) use target::Target;

/// The file that is read if the command line names none.
pub(crate) const PATH: &str = "/etc/dccpd.toml";

/// A policy file, checked.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Policy {
    pub(crate) service: Service,
    /// Bits of data per second that all connections send together; `None`: no cap.
    pub(crate) rate: Option<u64>,
    pub(crate) log: Logged,
    /// Users who may use `dccpctl` beside root and the daemon's own user.
    pub(crate) administrators: UserSet,
    pub(crate) rules: Vec<Rule>,
}

/// What counts from the start of the daemon to its end.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Service {
    pub(crate) socket: PathBuf,
    pub(crate) admin_socket: PathBuf,
    pub(crate) udp_port: u16,
    /// Protocol 33 may be used. It needs `CAP_NET_RAW`.
    pub(crate) protocol_33: bool,
    pub(crate) threads: usize,
    pub(crate) busy_wait: Duration,
    /// Connections and listeners of all users together.
    pub(crate) connections: usize,
    /// Bytes of all rings together.
    pub(crate) memory: u64,
    /// The address for Prometheus.
    pub(crate) metrics: Option<SocketAddr>,
    /// Series for each connection, too.
    pub(crate) connection_metrics: bool,
}

/// The requests that the daemon writes to its log.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum Logged {
    Nothing,
    #[default]
    Refusals,
    All,
}

/// What some users may do. The first rule that names a user counts.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Rule {
    pub(crate) users: UserSet,
    pub(crate) connect: Vec<Target>,
    pub(crate) listen: Vec<Target>,
    /// CCIDs that connections may have, preferred first.
    pub(crate) ccids: Vec<u8>,
    /// Names of laws that requests may choose; `None`: all.
    pub(crate) laws: Option<Vec<String>>,
    /// The law of connections whose request chooses none.
    pub(crate) law: Option<NamedLaw>,
    /// The network that CCID 248 may assume.
    pub(crate) safeudp: Profile,
    pub(crate) over: Vec<Encapsulation>,
    /// Bits of data per second that the connections of one user send together; `None`: no cap.
    pub(crate) rate: Option<u64>,
    /// Connections of one user. A listener counts for as many as its request asks for, and one more.
    pub(crate) connections: u32,
    /// Bytes of one ring.
    pub(crate) ring_memory: u64,
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
}

impl Rule {
    /// Whether a request may choose a law by this text.
    pub(crate) fn permits_law(&self, text: &str) -> bool {
        let name = text.split_once(':').map_or(text, |(name, _)| name);
        let laws = self.laws.as_ref();
        laws.is_none_or(|laws| laws.iter().any(|law| law == name))
    }
}

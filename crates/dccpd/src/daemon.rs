//! The parts of the running daemon, for administrators, Prometheus and the main thread.

use crate::admin::{Program, Report};
use crate::admission::{Admission, counters_of, counters_of_listener, number_of};
use crate::policy::Policy;
use crate::trace::Traces;
use dccp::{Engine, EngineGone, Instant, clock};
use dccp_cli::Failure;
use dccp_counters::Snapshot;
use dccp_ring_ipc::{LentConnection, RingServer};
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

/// The running daemon.
pub(crate) struct Daemon {
    pub(crate) policy: PathBuf,
    pub(crate) admission: Admission,
    pub(crate) engine: Engine,
    pub(crate) rings: RingServer,
    pub(crate) traces: Arc<Traces>,
    pub(crate) since: Instant,
}

impl Daemon {
    /// Reads the policy file again. On a mistake, the old policy stays in force. Returns whether settings count only after a
    /// restart.
    ///
    /// # Errors
    /// The file cannot be read, something in it is wrong, or this process lacks a right that it needs.
    pub(crate) fn reload(&self) -> Result<bool, Failure> {
        let policy = Policy::read(&self.policy);
        let policy = policy.and_then(|policy| policy.check_rights().map(|()| policy));
        let outcome = policy.map(|policy| self.admission.replace(policy));
        let line = match &outcome {
            Ok(false) => "the policy was read again".to_owned(),
            Ok(true) => "the policy was read again; some settings count after a restart".into(),
            Err(failure) => format!("the policy in force stays: {}", failure.what),
        };
        self.admission.log(&line);
        outcome
    }

    /// Whether a user may administer the daemon: root, the daemon's own user, and the administrators of the policy.
    pub(crate) fn is_administrator(&self, uid: u32, gid: u32) -> bool {
        let own = rustix::process::geteuid().as_raw();
        uid == 0 || uid == own || self.admission.is_administrator(uid, gid)
    }

    /// A connection by its number.
    pub(crate) fn connection(&self, id: u32) -> Option<LentConnection> {
        let mut connections = self.rings.connections().into_iter();
        connections.find(|connection| number_of(connection) == id)
    }

    /// The counters of the host now.
    ///
    /// # Errors
    /// The engine is gone.
    pub(crate) fn snapshot(&self) -> Result<Snapshot, EngineGone> {
        let connections = self.rings.connections();
        let connections: Vec<_> = connections
            .iter()
            .filter_map(|lent| Some((lent.id, counters_of(lent)?)))
            .collect();
        let listeners = self.rings.listeners();
        let listeners: Vec<_> = listeners
            .iter()
            .map(|lent| (lent.id, counters_of_listener(lent)))
            .collect();
        let engine = self.engine.stats()?;
        let uptime = clock::now() - self.since;
        // Those that have ended since the lists were made.
        let (ended, counted) = self.admission.ended();
        Ok(Snapshot::new(
            uptime,
            &ended,
            &[engine],
            without(connections, &counted),
            without(listeners, &counted),
        ))
    }

    /// The counters, and the program of each connection.
    ///
    /// # Errors
    /// The engine is gone.
    pub(crate) fn report(&self) -> Result<Report, EngineGone> {
        let lent = self.rings.connections();
        let program = |lent: &LentConnection| Program {
            connection: number_of(lent),
            pid: lent.caller.pid,
        };
        Ok(Report {
            programs: lent.iter().map(program).collect(),
            snapshot: self.snapshot()?,
        })
    }

    /// Whether the thread of rings and the engine work.
    pub(crate) fn works(&self) -> bool {
        self.rings.is_running() && self.engine.stats().is_ok()
    }
}

/// Those whose number is not in a set.
fn without<T>(numbered: Vec<(u64, T)>, numbers: &BTreeSet<u64>) -> Vec<T> {
    let is_other = |(number, _): &(u64, T)| !numbers.contains(number);
    let others = numbered.into_iter().filter(is_other);
    others.map(|(_, item)| item).collect()
}

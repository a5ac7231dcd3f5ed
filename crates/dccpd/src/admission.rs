//! Decides on the requests of programs, by the policy.

use crate::policy::{Logged, Policy, Rule, StartSettings, Target};
use crate::users::Owners;
use core::any::Any;
use dccp::unstable::{permit_system_port, permit_unused_law};
use dccp::{DccpAddr, Encapsulation, Engine, LawConfig, Options, RateCap, clock};
use dccp_cli::law;
use dccp_cli::log::Log;
use dccp_counters::{ConnectionCounters, ListenerCounters, Totals};
use dccp_ring_ipc::{
    LentConnection, LentListener, RingCaller, RingListenRequest, RingPolicy, RingRequest,
};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

/// Stands for no cap.
const NO_CAP: u64 = u64::MAX;

/// The policy in force, and what the users hold. Clones are the same.
#[derive(Clone, Debug)]
pub(crate) struct Admission {
    engine: Engine,
    /// The settings that the daemon started with.
    start: StartSettings,
    owners: Owners,
    total: RateCap,
    state: Arc<Mutex<State>>,
    log: Arc<Mutex<Log>>,
}

#[derive(Debug)]
struct State {
    policy: Policy,
    users: BTreeMap<u32, Account>,
    ended: Totals,
    /// Connections and listeners in `ended` that the lists of the server may still have, by their number.
    counted: BTreeMap<u64, Weak<dyn Any + Send + Sync>>,
}

/// The connections and the cap of one user.
#[derive(Debug)]
struct Account {
    gid: u32,
    connections: u32,
    cap: RateCap,
}

impl Admission {
    pub(crate) fn new(policy: Policy, owners: Owners, engine: Engine) -> Self {
        Self {
            engine,
            start: policy.start.clone(),
            owners,
            total: RateCap::new(policy.max_rate.unwrap_or(NO_CAP)),
            state: Arc::new(Mutex::new(State {
                policy,
                users: BTreeMap::new(),
                ended: Totals::default(),
                counted: BTreeMap::new(),
            })),
            log: Arc::default(),
        }
    }

    /// Puts another policy into force. Caps count at once, everything else for new requests. Returns whether there are
    /// settings that count only after a restart.
    pub(crate) fn replace(&self, policy: Policy) -> bool {
        self.total.set_bits_per_s(policy.max_rate.unwrap_or(NO_CAP));
        let mut state = self.lock();
        let needs_restart = policy.start != self.start;
        for (uid, account) in &state.users {
            // A user without a rule keeps the cap of open connections.
            if let Some(rule) = policy.rule(*uid, account.gid) {
                account.cap.set_bits_per_s(rule.max_rate.unwrap_or(NO_CAP));
            }
        }
        state.policy = policy;
        needs_restart
    }

    /// Whether a user may administer the daemon.
    pub(crate) fn is_administrator(&self, uid: u32, gid: u32) -> bool {
        self.lock().policy.administrators.has(uid, gid)
    }

    /// The counters of connections and listeners that have ended, and the numbers of the last ones.
    pub(crate) fn ended(&self) -> (Totals, BTreeSet<u64>) {
        let state = self.lock();
        (state.ended.clone(), state.counted.keys().copied().collect())
    }

    /// Writes a line to the log. Its reader may be slow, so decisions do not wait for it, except those that are logged.
    pub(crate) fn log(&self, line: &str) {
        let mut log = self.log.lock().unwrap_or_else(PoisonError::into_inner);
        log.line(clock::now(), line);
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // A thread that panicked has left a whole state.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Decides on a request, and writes the decision to the log.
    fn decide(&self, caller: &RingCaller, wanted: &Wanted<'_>) -> Result<Options, String> {
        let (decided, logged) = {
            let user = self.owners.of(caller.uid);
            let mut state = self.lock();
            // A rule may have been read since the start that permits a carrier which the daemon does not have.
            let decided = check_carrier(&self.start.over, wanted.encapsulation)
                .and_then(|()| state.decide(caller, user, wanted));
            (decided, state.policy.log)
        };
        let is_logged = match (logged, &decided) {
            (Logged::Nothing, _) | (Logged::Refusals, Ok(_)) => false,
            (Logged::Refusals, Err(_)) | (Logged::All, _) => true,
        };
        if is_logged {
            let RingCaller { pid, uid, .. } = caller;
            let (verb, address) = (wanted.action.verb(), wanted.address);
            let outcome = match &decided {
                Ok(_) => "permitted".to_owned(),
                Err(why) => format!("refused: {why}"),
            };
            self.log(&format!(
                "user {uid}, process {pid}: {verb} {address}: {outcome}"
            ));
        }
        Ok(decided?.engine(&self.engine).rate_cap(&self.total))
    }
}

/// The contents of a request.
struct Wanted<'a> {
    action: Action,
    address: DccpAddr,
    encapsulation: Encapsulation,
    ccid: Option<u8>,
    law: Option<&'a str>,
    ring_bytes: u64,
    /// Connections that it counts for.
    connections: u32,
}

#[derive(Clone, Copy)]
enum Action {
    Connect,
    Listen,
}

impl Action {
    const fn verb(self) -> &'static str {
        match self {
            Self::Connect => "connect to",
            Self::Listen => "listen at",
        }
    }

    fn targets(self, rule: &Rule) -> &[Target] {
        match self {
            Self::Connect => &rule.connect,
            Self::Listen => &rule.listen,
        }
    }
}

impl State {
    /// The rule for a caller.
    fn rule(&self, caller: &RingCaller) -> Result<&Rule, String> {
        let RingCaller { uid, gid, .. } = caller;
        let rule = self.policy.rule(*uid, *gid);
        rule.ok_or_else(|| format!("no rule of the host's policy names the user {uid}"))
    }

    /// Checks a request, and charges `user` for it. The cap of a user is that of this user's rule, by the group of the first
    /// program.
    fn decide(
        &mut self,
        caller: &RingCaller,
        user: u32,
        wanted: &Wanted<'_>,
    ) -> Result<Options, String> {
        let rule = self.rule(caller)?;
        let options = check(rule, wanted)?;
        let most = rule.max_connections;
        let max_rate = self.policy.rule(user, caller.gid).unwrap_or(rule).max_rate;
        let account = self.users.entry(user).or_insert_with(|| Account {
            gid: caller.gid,
            connections: 0,
            cap: RateCap::new(max_rate.unwrap_or(NO_CAP)),
        });
        let sum = account.connections.saturating_add(wanted.connections);
        if sum > most {
            let (held, more) = (account.connections, wanted.connections);
            return Err(format!(
                "this user has {held} connections and asks for {more} more, and the host's policy allows {most}"
            ));
        }
        account.connections = sum;
        let per_address = self.policy.max_connections_per_address;
        Ok(options
            .connections_per_source(per_address)
            .rate_cap(&account.cap))
    }

    /// Notes that `ended` has a connection or listener, for as long as others hold it.
    fn note<T: Any + Send + Sync>(&mut self, number: u64, item: &Arc<T>) {
        self.counted.retain(|_, held| held.strong_count() > 0);
        let item: Weak<T> = Arc::downgrade(item);
        self.counted.insert(number, item);
    }

    /// Takes back what an ended request counted for.
    fn release(&mut self, user: u32, connections: u32) {
        if let Some(account) = self.users.get_mut(&user) {
            // The account stays: a new one would have a cap that is not used up.
            account.connections = account.connections.saturating_sub(connections);
        }
    }
}

/// Checks whether a rule permits an address.
fn check_target(rule: &Rule, action: Action, address: &DccpAddr) -> Result<(), String> {
    let mut targets = action.targets(rule).iter();
    if targets.any(|target| target.has(address)) {
        return Ok(());
    }
    let verb = action.verb();
    Err(format!(
        "the host's policy does not let this user {verb} {address}"
    ))
}

/// Checks whether `carrier` is one of `over`.
fn check_carrier(over: &[Encapsulation], carrier: Encapsulation) -> Result<(), String> {
    if over.contains(&carrier) {
        return Ok(());
    }
    Err(format!(
        "the host's policy does not allow DCCP over {carrier}"
    ))
}

/// Checks what a rule says about a request, the number of connections apart. Returns the options of the connection.
fn check(rule: &Rule, wanted: &Wanted<'_>) -> Result<Options, String> {
    check_target(rule, wanted.action, &wanted.address)?;
    check_carrier(&rule.over, wanted.encapsulation)?;
    if let Some(ccid) = wanted.ccid.filter(|ccid| !rule.ccids.contains(ccid)) {
        return Err(format!("the host's policy does not allow CCID {ccid}"));
    }
    if let Some(law) = wanted.law.filter(|law| !rule.permits_law(law)) {
        return Err(format!("the host's policy does not allow the law {law}"));
    }
    if wanted.ring_bytes > rule.max_ring_memory {
        let (bytes, most) = (wanted.ring_bytes, rule.max_ring_memory);
        return Err(format!(
            "a ring of {bytes} bytes: the host's policy allows {most}"
        ));
    }
    let options = permit_system_port(Options::new())
        .send_ccids(&rule.ccids)
        .recv_ccids(&rule.ccids)
        .safe_udp(dccp::safeudp::SafeUdpConfig {
            profile: rule.profile(),
            ..Default::default()
        });
    Ok(match &rule.default_law {
        Some(law) => permit_unused_law(options.law(law.config.clone())),
        None => options,
    })
}

impl RingPolicy for Admission {
    fn allow(&mut self, caller: &RingCaller, request: &RingRequest) -> Result<Options, String> {
        let wanted = Wanted {
            action: Action::Connect,
            address: request.remote,
            encapsulation: request.encapsulation,
            ccid: request.ccid,
            law: request.law.as_deref(),
            ring_bytes: request.shape.bytes().map_err(|error| error.to_string())?,
            connections: 1,
        };
        self.decide(caller, &wanted)
    }

    fn allow_listening(
        &mut self,
        caller: &RingCaller,
        request: &RingListenRequest,
    ) -> Result<Options, String> {
        let asked_port = request.local.udp_port;
        if request.encapsulation == Encapsulation::Udp
            && ![0, self.start.udp_port].contains(&asked_port)
        {
            let port = self.start.udp_port;
            return Err(format!(
                "this host listens at UDP port {port}, not {asked_port}"
            ));
        }
        let wanted = Wanted {
            action: Action::Listen,
            address: request.local,
            encapsulation: request.encapsulation,
            ccid: request.ccid,
            law: request.law.as_deref(),
            ring_bytes: request.shape.bytes().map_err(|error| error.to_string())?,
            // As in `released`: the listener itself counts for one.
            connections: request.connections.saturating_add(1),
        };
        self.decide(caller, &wanted)
    }

    fn allow_accepting(&mut self, caller: &RingCaller, local: &DccpAddr) -> Result<(), String> {
        check_target(self.lock().rule(caller)?, Action::Listen, local)
    }

    fn charged_user(&self, uid: u32) -> u32 {
        self.owners.of(uid)
    }

    fn local_addr(&self, request: &RingListenRequest) -> DccpAddr {
        let mut local = request.local;
        local.udp_port = self.start.udp_port;
        local
    }

    fn law(&mut self, text: &str) -> Result<LawConfig, String> {
        let law = law::parse(text);
        law.map(|law| law.config).map_err(|error| error.problem)
    }

    fn connection_ended(&mut self, connection: &LentConnection) {
        if let Some(last) = counters_of(connection) {
            let mut state = self.lock();
            state.ended.ended(&last);
            state.note(connection.id, &connection.socket);
        }
    }

    fn listener_ended(&mut self, listener: &LentListener) {
        let last = counters_of_listener(listener);
        let mut state = self.lock();
        state.ended.listener_ended(&last);
        state.note(listener.id, &listener.listener);
    }

    fn released(&mut self, caller: &RingCaller, connections: u32) {
        let user = self.owners.of(caller.uid);
        self.lock().release(user, connections);
    }
}

/// The counters of a connection; `None` if the engine is gone.
pub(crate) fn counters_of(connection: &LentConnection) -> Option<ConnectionCounters> {
    let LentConnection {
        caller,
        socket,
        since,
        ..
    } = connection;
    let id = number_of(connection);
    let (stats, snapshot) = (socket.stats().ok()?, socket.snapshot().ok()?);
    let age = clock::now() - *since;
    Some(ConnectionCounters::new(
        id, caller.uid, age, &stats, &snapshot,
    ))
}

/// The number of a connection for administrators: the MIB has 31 bits.
pub(crate) fn number_of(connection: &LentConnection) -> u32 {
    u32::try_from(connection.id % (1 << 31)).unwrap_or_default()
}

/// The counters of a listener.
pub(crate) fn counters_of_listener(lent: &LentListener) -> ListenerCounters {
    ListenerCounters::new(lent.caller.uid, &lent.services, &lent.listener)
}

#[cfg(test)]
mod tests {
    use super::*;
    use dccp::packet_ring::Shape;

    #[test]
    fn owner_of_subordinate_ids_is_charged_for_them() {
        let policy = std::env::temp_dir().join(format!("dccpd-owner-{}", std::process::id()));
        let rule = "[[rule]]\nusers = [\"*\"]\nconnect = [\"*\"]\nmax-connections = 2";
        std::fs::write(&policy, rule).unwrap();
        let owners = Owners::parse("4242:100000:10");
        let mut admission = Admission::new(
            Policy::read(&policy).unwrap(),
            owners,
            Engine::shared().unwrap(),
        );
        std::fs::remove_file(policy).unwrap();
        let to = "127.0.0.1:6511/5001".parse().unwrap();
        let request = RingRequest::new(to, Shape::new(8, 100));
        let caller = |uid| RingCaller {
            pid: 1,
            uid,
            gid: uid,
        };
        for uid in [4242, 100_001] {
            let _ = admission.allow(&caller(uid), &request).unwrap();
        }
        let why = admission.allow(&caller(100_009), &request).unwrap_err();
        assert!(why.starts_with("this user has 2 connections"), "{why}");
        let _ = admission.allow(&caller(100_010), &request).unwrap();
        admission.released(&caller(100_001), 1);
        let _ = admission.allow(&caller(100_009), &request).unwrap();
    }
}

//! Decides on the requests of programs, by the policy.

use crate::policy::{Logged, Policy, Rule, Target};
use crate::users::name_of;
use dccp::unstable::{permit_system_port, permit_unused_law};
use dccp::{DccpAddr, Encapsulation, Engine, LawConfig, Options, RateCap, clock};
use dccp_cli::law;
use dccp_cli::log::Log;
use dccp_counters::{ConnectionCounters, ListenerCounters, Totals};
use dccp_ring_ipc::{
    LentConnection, LentListener, RingCaller, RingListenRequest, RingPolicy, RingRequest,
};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Stands for no cap.
const NO_CAP: u64 = u64::MAX;

/// The policy in force, and what the users hold. Clones are the same.
#[derive(Clone, Debug)]
pub(crate) struct Gatekeeper {
    engine: Engine,
    /// The UDP port of the host's listeners.
    udp_port: u16,
    total: RateCap,
    book: Arc<Mutex<Book>>,
}

#[derive(Debug)]
struct Book {
    policy: Policy,
    users: BTreeMap<u32, Account>,
    ended: Totals,
    log: Log,
}

/// The connections and the cap of one user.
#[derive(Debug)]
struct Account {
    gid: u32,
    connections: u32,
    cap: RateCap,
}

impl Gatekeeper {
    pub(crate) fn new(policy: Policy, engine: Engine) -> Self {
        Self {
            engine,
            udp_port: policy.service.udp_port,
            total: RateCap::new(policy.rate.unwrap_or(NO_CAP)),
            book: Arc::new(Mutex::new(Book {
                policy,
                users: BTreeMap::new(),
                ended: Totals::default(),
                log: Log::default(),
            })),
        }
    }

    /// Puts another policy into force. Caps count at once, everything else for new requests. Returns whether there are
    /// settings that count only after a restart.
    pub(crate) fn replace(&self, policy: Policy) -> bool {
        self.total.set_bits_per_s(policy.rate.unwrap_or(NO_CAP));
        let mut book = self.lock();
        let needs_restart = policy.service != book.policy.service;
        for (uid, account) in &book.users {
            let rate = policy.rule(*uid, account.gid).and_then(|rule| rule.rate);
            account.cap.set_bits_per_s(rate.unwrap_or(NO_CAP));
        }
        book.policy = policy;
        needs_restart
    }

    /// Whether a user may administer the daemon.
    pub(crate) fn is_administrator(&self, uid: u32, gid: u32) -> bool {
        self.lock().policy.administrators.has(uid, gid)
    }

    /// The counters of connections and listeners that have ended.
    pub(crate) fn ended(&self) -> Totals {
        self.lock().ended.clone()
    }

    /// Writes a line to the log.
    pub(crate) fn log(&self, line: &str) {
        self.lock().log.line(clock::now(), line);
    }

    fn lock(&self) -> MutexGuard<'_, Book> {
        // A thread that panicked has left a whole book.
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Decides on a request, and writes the decision to the log.
    fn decide(&self, caller: &RingCaller, wish: &Wish<'_>) -> Result<Options, String> {
        let mut book = self.lock();
        let decided = book.decide(caller, wish);
        let is_logged = match (book.policy.log, &decided) {
            (Logged::Nothing, _) | (Logged::Refusals, Ok(_)) => false,
            (Logged::Refusals, Err(_)) | (Logged::All, _) => true,
        };
        if is_logged {
            let (pid, verb) = (caller.pid, wish.deed.verb());
            let user = name_of(caller.uid);
            let outcome = match &decided {
                Ok(_) => "permitted".to_owned(),
                Err(why) => format!("refused: {why}"),
            };
            let line = format!(
                "user {user}, process {pid}: {verb} {}: {outcome}",
                wish.address
            );
            book.log.line(clock::now(), &line);
        }
        let options = decided?.engine(&self.engine).rate_cap(&book.cap(caller));
        Ok(options.rate_cap(&self.total))
    }
}

/// The contents of a request.
struct Wish<'a> {
    deed: Deed,
    address: DccpAddr,
    encapsulation: Encapsulation,
    ccid: Option<u8>,
    law: Option<&'a str>,
    ring_bytes: u64,
    /// Connections that it counts for.
    connections: u32,
}

#[derive(Clone, Copy)]
enum Deed {
    Connect,
    Listen,
}

impl Deed {
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

impl Book {
    /// The cap of a user who has an account.
    fn cap(&self, caller: &RingCaller) -> RateCap {
        match self.users.get(&caller.uid) {
            Some(account) => account.cap.clone(),
            None => RateCap::new(NO_CAP),
        }
    }

    /// Checks a request, and counts what it asks for.
    fn decide(&mut self, caller: &RingCaller, wish: &Wish<'_>) -> Result<Options, String> {
        let Some(rule) = self.policy.rule(caller.uid, caller.gid) else {
            return Err("no rule of the host's policy names this user".into());
        };
        let options = check(rule, wish)?;
        let account = self.users.entry(caller.uid).or_insert_with(|| Account {
            gid: caller.gid,
            connections: 0,
            cap: RateCap::new(rule.rate.unwrap_or(NO_CAP)),
        });
        let sum = account.connections.saturating_add(wish.connections);
        if sum > rule.connections {
            let (held, most) = (account.connections, rule.connections);
            return Err(format!(
                "this user has {held} connections, and the host's policy allows {most}"
            ));
        }
        account.connections = sum;
        Ok(options)
    }

    /// Takes back what an ended request counted for.
    fn give_back(&mut self, caller: &RingCaller, connections: u32) {
        if let Some(account) = self.users.get_mut(&caller.uid) {
            account.connections = account.connections.saturating_sub(connections);
            if account.connections == 0 {
                self.users.remove(&caller.uid);
            }
        }
    }
}

/// Checks what a rule says about a request, the number of connections apart. Returns the options of the connection.
fn check(rule: &Rule, wish: &Wish<'_>) -> Result<Options, String> {
    if !wish
        .deed
        .targets(rule)
        .iter()
        .any(|target| target.has(&wish.address))
    {
        let (verb, address) = (wish.deed.verb(), wish.address);
        return Err(format!(
            "the host's policy does not let this user {verb} {address}"
        ));
    }
    if !rule.over.contains(&wish.encapsulation) {
        return Err(format!(
            "the host's policy does not allow DCCP over {}",
            wish.encapsulation
        ));
    }
    if let Some(ccid) = wish.ccid.filter(|ccid| !rule.ccids.contains(ccid)) {
        return Err(format!("the host's policy does not allow CCID {ccid}"));
    }
    if let Some(law) = wish.law.filter(|law| !rule.permits_law(law)) {
        return Err(format!("the host's policy does not allow the law {law}"));
    }
    if wish.ring_bytes > rule.ring_memory {
        let (bytes, most) = (wish.ring_bytes, rule.ring_memory);
        return Err(format!(
            "a ring of {bytes} bytes: the host's policy allows {most}"
        ));
    }
    let options = permit_system_port(Options::new())
        .send_ccids(&rule.ccids)
        .recv_ccids(&rule.ccids)
        .safe_udp(dccp::safeudp::SafeUdpConfig {
            profile: rule.safeudp,
            ..Default::default()
        });
    Ok(match &rule.law {
        Some(law) => permit_unused_law(options.law(law.config.clone())),
        None => options,
    })
}

impl RingPolicy for Gatekeeper {
    fn allow(&mut self, caller: &RingCaller, request: &RingRequest) -> Result<Options, String> {
        let wish = Wish {
            deed: Deed::Connect,
            address: request.remote,
            encapsulation: request.encapsulation,
            ccid: request.ccid,
            law: request.law.as_deref(),
            ring_bytes: request.shape.bytes().map_err(|error| error.to_string())?,
            connections: 1,
        };
        self.decide(caller, &wish)
    }

    fn allow_listening(
        &mut self,
        caller: &RingCaller,
        request: &RingListenRequest,
    ) -> Result<Options, String> {
        let asked_port = request.local.udp_port;
        if request.encapsulation == Encapsulation::Udp && ![0, self.udp_port].contains(&asked_port)
        {
            let port = self.udp_port;
            return Err(format!(
                "this host listens at UDP port {port}, not {asked_port}"
            ));
        }
        let wish = Wish {
            deed: Deed::Listen,
            address: request.local,
            encapsulation: request.encapsulation,
            ccid: request.ccid,
            law: request.law.as_deref(),
            ring_bytes: request.shape.bytes().map_err(|error| error.to_string())?,
            connections: request.connections.saturating_add(1),
        };
        self.decide(caller, &wish)
    }

    fn local_addr(&self, request: &RingListenRequest) -> DccpAddr {
        let mut local = request.local;
        local.udp_port = self.udp_port;
        local
    }

    fn law(&mut self, text: &str) -> Result<LawConfig, String> {
        let law = law::parse(text);
        law.map(|law| law.config).map_err(|error| error.problem)
    }

    fn closed(&mut self, connection: &LentConnection) {
        if let Some(last) = counters_of(connection) {
            self.lock().ended.ended(&last);
        }
    }

    fn listener_closed(&mut self, listener: &LentListener) {
        let last = counters_of_listener(listener);
        self.lock().ended.listener_ended(&last);
    }

    fn ended(&mut self, caller: &RingCaller, connections: u32) {
        self.lock().give_back(caller, connections);
    }
}

/// The counters of a connection; `None` if the engine is gone.
pub(crate) fn counters_of(connection: &LentConnection) -> Option<ConnectionCounters> {
    let LentConnection {
        id,
        caller,
        socket,
        since,
        ..
    } = connection;
    // The MIB has 31 bits.
    let id = u32::try_from(id % (1 << 31)).unwrap_or_default();
    let (stats, snapshot) = (socket.stats().ok()?, socket.snapshot().ok()?);
    let age = clock::now() - *since;
    Some(ConnectionCounters::new(
        id, caller.uid, age, &stats, &snapshot,
    ))
}

/// The counters of a listener.
pub(crate) fn counters_of_listener(lent: &LentListener) -> ListenerCounters {
    ListenerCounters::new(lent.caller.uid, &lent.services, &lent.listener)
}

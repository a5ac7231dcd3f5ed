//! Requests of applications in other processes, and the policy that decides on them.

use crate::caller::RingCaller;
use crate::inventory::{LentConnection, LentListener};
use dccp::{DccpAddr, Encapsulation, LawConfig, Options};
use dccp_proto::wire::ServiceCode;
use dccp_ring::Shape;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// A request of an application for a connection with a ring before it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RingRequest {
    /// The peer's address.
    pub remote: DccpAddr,
    /// Service Code (RFC 5595).
    pub service: ServiceCode,
    /// The CCID of both directions; `None` stands for those of the server's options.
    pub ccid: Option<u8>,
    /// The congestion law of CCID 2 as text, 64 bytes at most, in words of the server; `None` stands for that of the server's
    /// options.
    pub law: Option<String>,
    /// The protocol that carries DCCP. UDP by default.
    pub encapsulation: Encapsulation,
    /// The ring's shape.
    pub shape: Shape,
}

impl RingRequest {
    /// A connection to `remote` without Service Code, behind a ring of this shape.
    pub const fn new(remote: DccpAddr, shape: Shape) -> Self {
        Self {
            remote,
            service: ServiceCode::NONE,
            ccid: None,
            law: None,
            encapsulation: Encapsulation::Udp,
            shape,
        }
    }

    /// Sets the Service Code.
    #[must_use]
    pub const fn service_code(mut self, code: [u8; 4]) -> Self {
        self.service = ServiceCode(u32::from_be_bytes(code));
        self
    }

    /// Sets the CCID of both directions. Without this call it is that of the server's options.
    #[must_use]
    pub const fn ccid(mut self, ccid: u8) -> Self {
        self.ccid = Some(ccid);
        self
    }

    /// Chooses the congestion law of CCID 2, such as `cubic`. The server decides which words it knows.
    #[must_use]
    pub fn law(mut self, law: &str) -> Self {
        self.law = Some(law.into());
        self
    }

    /// Sets the protocol that carries DCCP.
    #[must_use]
    pub const fn encapsulation(mut self, encapsulation: Encapsulation) -> Self {
        self.encapsulation = encapsulation;
        self
    }
}

/// A request of an application for a listener, whose connections get rings.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RingListenRequest {
    /// The address to listen at. The unspecified IP address stands for all of its family, port 0 for any that is free.
    pub local: DccpAddr,
    /// The Service Codes to serve (RFC 5595), at most 32; repeated ones count once. Without any, only connections without a
    /// Service Code are served.
    pub services: Vec<ServiceCode>,
    /// The CCID of both directions; `None` stands for those of the server's options.
    pub ccid: Option<u8>,
    /// As [`RingRequest::law`].
    pub law: Option<String>,
    /// The protocol that carries DCCP. UDP by default.
    pub encapsulation: Encapsulation,
    /// The shape of each ring.
    pub shape: Shape,
    /// The greatest number of accepted connections at a time.
    pub connections: u32,
}

impl RingListenRequest {
    /// Up to 16 connections at a time to `local` without Service Code, each behind a ring of this shape.
    pub const fn new(local: DccpAddr, shape: Shape) -> Self {
        Self {
            local,
            services: Vec::new(),
            ccid: None,
            law: None,
            encapsulation: Encapsulation::Udp,
            shape,
            connections: 16,
        }
    }

    /// Adds a Service Code to serve.
    #[must_use]
    pub fn service_code(mut self, code: [u8; 4]) -> Self {
        self.services.push(ServiceCode(u32::from_be_bytes(code)));
        self
    }

    /// Sets the CCID of both directions. Without this call it is that of the server's options.
    #[must_use]
    pub fn ccid(mut self, ccid: u8) -> Self {
        self.ccid = Some(ccid);
        self
    }

    /// The Service Codes that the listener serves: the unspecific one if none was given.
    pub(crate) fn served(&self) -> &[ServiceCode] {
        match self.services.as_slice() {
            [] => &[ServiceCode::NONE],
            services => services,
        }
    }

    /// Limits the number of accepted connections at a time.
    #[must_use]
    pub fn connections(mut self, at_most: u32) -> Self {
        self.connections = at_most;
        self
    }

    /// Chooses the congestion law of CCID 2, such as `cubic`. The server decides which words it knows.
    #[must_use]
    pub fn law(mut self, law: &str) -> Self {
        self.law = Some(law.into());
        self
    }

    /// Sets the protocol that carries DCCP.
    #[must_use]
    pub const fn encapsulation(mut self, encapsulation: Encapsulation) -> Self {
        self.encapsulation = encapsulation;
        self
    }
}

/// Decides what a server allows. A closure with the arguments and the result of [`allow`](Self::allow) is a policy too; it
/// refuses listeners. The server's thread calls it and serves all applications, so it should not block. When it panics,
/// the application is refused.
pub trait RingPolicy: Send {
    /// The options of the connection, or the reason of a refusal for the application's user. The request determines Service
    /// Code and CCID.
    ///
    /// # Errors
    /// When the policy refuses the request.
    fn allow(&mut self, caller: &RingCaller, request: &RingRequest) -> Result<Options, String>;

    /// The options of the listener and of its connections, or the reason of a refusal for the application's user. The
    /// request determines Service Codes and CCID; these options determine the backlog ([`Options::backlog`]). Refuses by
    /// default.
    ///
    /// # Errors
    /// When the policy refuses the request.
    fn allow_listening(
        &mut self,
        _caller: &RingCaller,
        _request: &RingListenRequest,
    ) -> Result<Options, String> {
        Err("this server allows no listeners".into())
    }

    /// Whether a listener may go on, because the policy may have changed since its request, which had the address `local`.
    /// Asked before each connection that the application accepts; on an error the listener ends. Agrees by default.
    ///
    /// # Errors
    /// When the policy does not let the application listen any more.
    fn allow_accepting(&mut self, _caller: &RingCaller, _local: &DccpAddr) -> Result<(), String> {
        Ok(())
    }

    /// The user who is charged for the requests of user `uid`: the same by default.
    fn charged_user(&self, uid: u32) -> u32 {
        uid
    }

    /// The address where an allowed listener is bound: the requested one by default. A server of a whole host has a UDP port of
    /// its own.
    fn local_addr(&self, request: &RingListenRequest) -> DccpAddr {
        request.local
    }

    /// The congestion law that a request chooses by this text, or the reason of a refusal. Refuses by default.
    ///
    /// # Errors
    /// When the policy does not know the law.
    fn law(&mut self, _text: &str) -> Result<LawConfig, String> {
        Err("this server offers no choice of law".into())
    }

    /// Called when a connection has ended, or is about to because the server ends: its counters are final then. Does nothing
    /// by default.
    fn connection_ended(&mut self, _connection: &LentConnection) {}

    /// Called when a listener ends. Its accepted connections live on. Does nothing by default.
    fn listener_ended(&mut self, _listener: &LentListener) {}

    /// Called once for each allowed request, so that a policy can count what its users hold: when the connection or listener
    /// has ended, or could not be opened. `connections` is 1, or that of the listener's request and 1 more. A listener has ended
    /// once its last accepted connection has. Does nothing by default.
    fn released(&mut self, _caller: &RingCaller, _connections: u32) {}
}

impl<F> RingPolicy for F
where
    F: FnMut(&RingCaller, &RingRequest) -> Result<Options, String> + Send,
{
    fn allow(&mut self, caller: &RingCaller, request: &RingRequest) -> Result<Options, String> {
        self(caller, request)
    }
}

/// A server's policy. When it panics, the server refuses that application and serves the others.
pub(crate) struct Policy(pub(crate) Box<dyn RingPolicy>);

impl Policy {
    pub(crate) fn allow(
        &mut self,
        caller: &RingCaller,
        request: &RingRequest,
    ) -> Result<Options, String> {
        let asked = catch_unwind(AssertUnwindSafe(|| self.0.allow(caller, request)));
        asked.unwrap_or_else(|_| Err(FAILED.into()))
    }

    pub(crate) fn allow_listening(
        &mut self,
        caller: &RingCaller,
        request: &RingListenRequest,
    ) -> Result<Options, String> {
        let asked = catch_unwind(AssertUnwindSafe(|| self.0.allow_listening(caller, request)));
        asked.unwrap_or_else(|_| Err(FAILED.into()))
    }

    pub(crate) fn allow_accepting(
        &mut self,
        caller: &RingCaller,
        local: &DccpAddr,
    ) -> Result<(), String> {
        let asked = catch_unwind(AssertUnwindSafe(|| self.0.allow_accepting(caller, local)));
        asked.unwrap_or_else(|_| Err(FAILED.into()))
    }

    pub(crate) fn charged_user(&self, uid: u32) -> u32 {
        catch_unwind(AssertUnwindSafe(|| self.0.charged_user(uid))).unwrap_or(uid)
    }

    /// Adds the law that a request chooses to the options.
    pub(crate) fn with_law(
        &mut self,
        options: Options,
        text: Option<&str>,
    ) -> Result<Options, String> {
        let Some(text) = text else {
            return Ok(options);
        };
        let asked = catch_unwind(AssertUnwindSafe(|| self.0.law(text)));
        let law = asked.unwrap_or_else(|_| Err(FAILED.into()))?;
        Ok(options.law(law))
    }

    pub(crate) fn local_addr(&self, request: &RingListenRequest) -> DccpAddr {
        let asked = catch_unwind(AssertUnwindSafe(|| self.0.local_addr(request)));
        asked.unwrap_or(request.local)
    }

    pub(crate) fn connection_ended(&mut self, connection: &LentConnection) {
        // A panic here changes nothing for the server.
        let _ = catch_unwind(AssertUnwindSafe(|| self.0.connection_ended(connection)));
    }

    pub(crate) fn listener_ended(&mut self, listener: &LentListener) {
        // A panic here changes nothing for the server.
        let _ = catch_unwind(AssertUnwindSafe(|| self.0.listener_ended(listener)));
    }

    pub(crate) fn released(&mut self, caller: &RingCaller, connections: u32) {
        // A panic here changes nothing for the server.
        let _ = catch_unwind(AssertUnwindSafe(|| self.0.released(caller, connections)));
    }
}

const FAILED: &str = "the server's policy has failed";

/// The limits of a server.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RingLimits {
    /// Applications at a time: each connection counts as one, and each listener.
    pub clients: usize,
    /// Bytes of all their rings together.
    pub memory: u64,
}

impl Default for RingLimits {
    /// 64 applications, 64 MiB.
    fn default() -> Self {
        Self {
            clients: 64,
            memory: 64 << 20,
        }
    }
}

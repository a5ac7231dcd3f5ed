//! Requests of applications in other processes, and the policy that decides on them.

use dccp::{DccpAddr, Options};
use dccp_proto::wire::ServiceCode;
use dccp_ring::Shape;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// A request of an application for a connection with a ring before it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RingRequest {
    /// The peer's address.
    pub remote: DccpAddr,
    /// Service Code (RFC 5595).
    pub service: ServiceCode,
    /// The CCID of both directions; `None` stands for those of the server's options.
    pub ccid: Option<u8>,
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
            shape,
        }
    }

    /// Sets the Service Code.
    #[must_use]
    pub const fn service_code(mut self, code: [u8; 4]) -> Self {
        self.service = ServiceCode(u32::from_be_bytes(code));
        self
    }

    /// Sets the CCID of both directions; 255 stands for those of the server's options.
    #[must_use]
    pub const fn ccid(mut self, ccid: u8) -> Self {
        self.ccid = Some(ccid);
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

    /// Sets the CCID of both directions; 255 stands for those of the server's options.
    #[must_use]
    pub fn ccid(mut self, ccid: u8) -> Self {
        self.ccid = Some(ccid);
        self
    }

    /// Limits the number of accepted connections at a time.
    #[must_use]
    pub fn connections(mut self, at_most: u32) -> Self {
        self.connections = at_most;
        self
    }
}

/// The requesting process, as the system reported it when it connected to the server.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RingCaller {
    /// Its process; 0: it is of another PID namespace and has no number here.
    pub pid: u32,
    /// Its user.
    pub uid: u32,
    /// Its group.
    pub gid: u32,
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

    /// Called once for each allowed request when its connection or listener has ended or could not be opened, so that a
    /// policy can count a user's connections. A listener has ended once its last accepted connection has. Does nothing by
    /// default.
    fn ended(&mut self, _caller: &RingCaller) {}
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

    pub(crate) fn ended(&mut self, caller: &RingCaller) {
        // A panic here changes nothing for the server.
        let _ = catch_unwind(AssertUnwindSafe(|| self.0.ended(caller)));
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

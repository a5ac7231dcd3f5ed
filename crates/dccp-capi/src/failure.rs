//! Errors of Rust as numbers of the header.

use crate::errors::{
    DCCP_ERR_ADDRESS, DCCP_ERR_AGAIN, DCCP_ERR_BAD_SERVICE_CODE, DCCP_ERR_CLOSED,
    DCCP_ERR_ENGINE_GONE, DCCP_ERR_HELD_OFF, DCCP_ERR_IN_USE, DCCP_ERR_INTERNAL, DCCP_ERR_INVALID,
    DCCP_ERR_NO_ANSWER, DCCP_ERR_NO_ROOM, DCCP_ERR_OPTION, DCCP_ERR_PEER_NOT_LISTENING,
    DCCP_ERR_REFUSED, DCCP_ERR_SHUT_DOWN, DCCP_ERR_SYSTEM, DCCP_ERR_TIMED_OUT, DCCP_ERR_TOO_BIG,
    DCCP_ERR_TOO_BUSY, DCCP_ERR_UNREACHABLE,
};
use crate::last;
use core::ffi::c_int;
use dccp::{
    AcceptError, AddrError, BindError, CloseError, ConnectError, EngineGone, Fault, OptionError,
    RecvError, SendError,
};
use std::borrow::Cow;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// A failed call.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) code: c_int,
    fault: Option<Fault>,
    /// Not formatted for errors of the fast path.
    detail: Cow<'static, str>,
    next_step: &'static str,
}

impl Failure {
    /// The call cannot work as it was made.
    pub(crate) fn invalid(detail: impl Into<Cow<'static, str>>) -> Self {
        Self {
            code: DCCP_ERR_INVALID,
            fault: Some(Fault::Caller),
            detail: detail.into(),
            next_step: "correct the argument",
        }
    }

    /// An option has a value that the header does not have.
    pub(crate) fn option(detail: String) -> Self {
        Self::new(
            DCCP_ERR_OPTION,
            Some(Fault::Caller),
            detail,
            "correct the option",
        )
    }

    /// No service has this name.
    pub(crate) fn service(name: &str, protocol: &str) -> Self {
        Self::new(
            DCCP_ERR_ADDRESS,
            Some(Fault::Caller),
            format!("service {name}: must be in /etc/services with the protocol {protocol}"),
            "use the port's number, or add the service to /etc/services",
        )
    }

    pub(crate) fn new(
        code: c_int,
        fault: Option<Fault>,
        detail: impl Into<Cow<'static, str>>,
        next_step: &'static str,
    ) -> Self {
        Self {
            code,
            fault,
            detail: detail.into(),
            next_step,
        }
    }

    fn internal() -> Self {
        Self::new(
            DCCP_ERR_INTERNAL,
            Some(Fault::System),
            "a defect of the library ended the call",
            "report the text on standard error to the project",
        )
    }

    /// Stores the failure as the thread's last one and returns its number.
    pub(crate) fn record(self) -> c_int {
        let code = self.code;
        last::store(self.fault, self.detail, self.next_step);
        code
    }
}

/// Runs the body of a function of the header. A failure becomes the thread's last one, and its number the result.
pub(crate) fn value<N: From<c_int>>(run: impl FnOnce() -> Result<N, Failure>) -> N {
    let result = catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|_| Err(Failure::internal()));
    result.unwrap_or_else(|failure| N::from(failure.record()))
}

/// As [`value`], for functions that return 0 on success.
pub(crate) fn status(run: impl FnOnce() -> Result<(), Failure>) -> c_int {
    value(|| run().map(|()| 0))
}

impl From<OptionError> for Failure {
    fn from(e: OptionError) -> Self {
        Self::new(
            DCCP_ERR_OPTION,
            Some(e.fault()),
            e.to_string(),
            e.next_step(),
        )
    }
}

impl From<AddrError> for Failure {
    fn from(e: AddrError) -> Self {
        Self::new(
            DCCP_ERR_ADDRESS,
            Some(e.fault()),
            e.to_string(),
            e.next_step(),
        )
    }
}

impl From<EngineGone> for Failure {
    fn from(e: EngineGone) -> Self {
        Self::new(
            DCCP_ERR_ENGINE_GONE,
            Some(e.fault()),
            e.to_string(),
            e.next_step(),
        )
    }
}

impl From<std::io::Error> for Failure {
    fn from(e: std::io::Error) -> Self {
        let next_step = "check the limits of this process and of the system";
        Self::new(
            DCCP_ERR_SYSTEM,
            Some(Fault::System),
            e.to_string(),
            next_step,
        )
    }
}

impl From<ConnectError> for Failure {
    fn from(e: ConnectError) -> Self {
        let code = match &e {
            ConnectError::Option(_) => DCCP_ERR_OPTION,
            ConnectError::Address(_) | ConnectError::NoAddress | ConnectError::LinkLocal { .. } => {
                DCCP_ERR_ADDRESS
            }
            ConnectError::Refused { .. } => DCCP_ERR_REFUSED,
            ConnectError::BadServiceCode { .. } => DCCP_ERR_BAD_SERVICE_CODE,
            ConnectError::TooBusy { .. } => DCCP_ERR_TOO_BUSY,
            ConnectError::Ended { .. } => DCCP_ERR_CLOSED,
            ConnectError::NoAnswer { .. } => DCCP_ERR_NO_ANSWER,
            ConnectError::Unreachable { .. } | ConnectError::PathTooNarrow { .. } => {
                DCCP_ERR_UNREACHABLE
            }
            ConnectError::HeldOff { .. } => DCCP_ERR_HELD_OFF,
            ConnectError::Open(dccp::OpenError::InUse(_)) => DCCP_ERR_IN_USE,
            ConnectError::NoRoom => DCCP_ERR_NO_ROOM,
            ConnectError::EngineGone(_) => DCCP_ERR_ENGINE_GONE,
            _ => DCCP_ERR_SYSTEM,
        };
        Self::new(code, Some(e.fault()), e.to_string(), e.next_step())
    }
}

impl From<BindError> for Failure {
    fn from(e: BindError) -> Self {
        let code = match &e {
            BindError::Option(_) => DCCP_ERR_OPTION,
            BindError::Address(_) | BindError::NoAddress => DCCP_ERR_ADDRESS,
            BindError::ReservedUdpPort
            | BindError::InUse { .. }
            | BindError::Open(dccp::OpenError::InUse(_)) => DCCP_ERR_IN_USE,
            BindError::EngineGone(_) => DCCP_ERR_ENGINE_GONE,
            _ => DCCP_ERR_SYSTEM,
        };
        Self::new(code, Some(e.fault()), e.to_string(), e.next_step())
    }
}

impl From<AcceptError> for Failure {
    fn from(e: AcceptError) -> Self {
        let code = match e {
            AcceptError::WouldBlock => {
                return Self::new(DCCP_ERR_AGAIN, None, "no connection waits", e.next_step());
            }
            AcceptError::TimedOut => DCCP_ERR_TIMED_OUT,
            AcceptError::EngineGone(_) => DCCP_ERR_ENGINE_GONE,
            _ => DCCP_ERR_CLOSED,
        };
        Self::new(code, e.fault(), e.to_string(), e.next_step())
    }
}

impl From<SendError> for Failure {
    fn from(e: SendError) -> Self {
        if e == SendError::WouldBlock {
            let detail = "the send buffer is full";
            return Self::new(DCCP_ERR_AGAIN, None, detail, e.next_step());
        }
        Self::new(send_code(&e), e.fault(), e.to_string(), e.next_step())
    }
}

/// The number of an error of sending.
pub(crate) fn send_code(e: &SendError) -> c_int {
    match e {
        SendError::TooBig { .. } => DCCP_ERR_TOO_BIG,
        SendError::ShutDown => DCCP_ERR_SHUT_DOWN,
        SendError::WouldBlock => DCCP_ERR_AGAIN,
        SendError::TimedOut => DCCP_ERR_TIMED_OUT,
        SendError::PeerNotListening => DCCP_ERR_PEER_NOT_LISTENING,
        SendError::Closed(_) => DCCP_ERR_CLOSED,
        SendError::EngineGone(_) => DCCP_ERR_ENGINE_GONE,
        _ => DCCP_ERR_SYSTEM,
    }
}

impl From<RecvError> for Failure {
    fn from(e: RecvError) -> Self {
        let code = match e {
            RecvError::WouldBlock => {
                let detail = "no datagram waits";
                return Self::new(DCCP_ERR_AGAIN, None, detail, e.next_step());
            }
            RecvError::ShutDown => DCCP_ERR_SHUT_DOWN,
            RecvError::TimedOut => DCCP_ERR_TIMED_OUT,
            RecvError::Closed(_) => DCCP_ERR_CLOSED,
            RecvError::EngineGone(_) => DCCP_ERR_ENGINE_GONE,
            _ => DCCP_ERR_SYSTEM,
        };
        Self::new(code, e.fault(), e.to_string(), e.next_step())
    }
}

impl From<CloseError> for Failure {
    fn from(e: CloseError) -> Self {
        let code = match e {
            CloseError::TimedOut => DCCP_ERR_TIMED_OUT,
            _ => DCCP_ERR_ENGINE_GONE,
        };
        Self::new(code, e.fault(), e.to_string(), e.next_step())
    }
}

//! A listener of the daemon. It lives on when the daemon is started again.

use super::{DaemonLink, explain};
use crate::host::errors;
use crate::host::link::{Accept, Ended, Link};
use core::time::Duration;
use dccp::{Instant, clock};
use dccp_ring_ipc::{RingAcceptError, RingConnectError, RingListenRequest, RingListener};
use std::path::PathBuf;
use std::sync::Arc;

/// The pause after a refusal.
const PAUSE: Duration = Duration::from_secs(1);

/// A listener, and how to open it again.
pub(super) struct Listening {
    path: PathBuf,
    request: RingListenRequest,
    /// `None`: the daemon has ended, and does not run again yet, or its policy has ended the listener.
    listener: Option<RingListener>,
    /// The user knows that connections wait.
    has_explained: bool,
    /// The user knows why there is no listener.
    has_explained_refusal: bool,
    /// The time before which the daemon is not asked again.
    pause_until: Option<Instant>,
}

impl Listening {
    /// Asks for a listener.
    ///
    /// # Errors
    /// The error number of a refusal.
    pub(super) fn open(path: PathBuf, request: RingListenRequest) -> Result<Self, i32> {
        let listener = RingListener::bind(&path, &request).map_err(|error| {
            explain(&error, error.next_step());
            errors::of_ring_connect(&error)
        })?;
        Ok(Self {
            path,
            request,
            listener: Some(listener),
            has_explained: false,
            has_explained_refusal: false,
            pause_until: None,
        })
    }
}

impl Listening {
    /// Opens the listener again, if the daemon runs and permits it.
    fn reopen(&mut self) -> bool {
        if self.pause_until.is_some_and(|until| clock::now() < until) {
            return false;
        }
        match RingListener::bind(&self.path, &self.request) {
            Ok(listener) => {
                self.listener = Some(listener);
                self.has_explained_refusal = false;
            }
            Err(error @ RingConnectError::Refused(_)) => self.pause(&error),
            Err(_) => {}
        }
        self.listener.is_some()
    }

    /// The daemon permits no listener now. It may be busy, or its policy may change again.
    fn pause(&mut self, why: &dyn core::error::Error) {
        self.listener = None;
        self.pause_until = Some(clock::now() + PAUSE);
        if !core::mem::replace(&mut self.has_explained_refusal, true) {
            explain(
                why,
                "change the daemon's policy; the program's listener then goes on",
            );
        }
    }
}

impl Accept for Listening {
    fn accept(&mut self, at_most: Duration) -> Result<Option<Arc<dyn Link>>, Ended> {
        let Some(listener) = &mut self.listener else {
            if !self.reopen() {
                std::thread::sleep(at_most);
            }
            return Ok(None);
        };
        let why = match listener.accept_timeout(at_most) {
            // Without descriptors left in this process, the connection is closed.
            Ok(client) => match DaemonLink::accepted(client) {
                Ok(link) => return Ok(Some(Arc::new(link))),
                Err(_) => None,
            },
            Err(RingAcceptError::TimedOut) => return Ok(None),
            Err(error @ RingAcceptError::ServerGone) => {
                explain(
                    &error,
                    "start it again; the program's listener then goes on",
                );
                self.listener = None;
                return Ok(None);
            }
            Err(error @ RingAcceptError::Revoked(_)) => {
                self.pause(&error);
                return Ok(None);
            }
            Err(RingAcceptError::Foreign) => return Err(Ended),
            Err(error) => Some(error),
        };
        // The connection waits until another one has ended.
        if let Some(error @ RingAcceptError::Refused(_)) = why
            && !core::mem::replace(&mut self.has_explained, true)
        {
            explain(&error, "end connections, or allow more with --connections");
        }
        std::thread::sleep(at_most);
        Ok(None)
    }
}

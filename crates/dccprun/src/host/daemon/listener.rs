//! A listener of the daemon. It lives on when the daemon is started again.

use super::{DaemonLink, explain};
use crate::host::errors;
use crate::host::link::{Accept, Ended, Link};
use core::time::Duration;
use dccp_ring_ipc::{RingAcceptError, RingConnectError, RingListenRequest, RingListener};
use std::path::PathBuf;
use std::sync::Arc;

/// A listener, and how to open it again.
pub(super) struct Listening {
    path: PathBuf,
    request: RingListenRequest,
    /// `None`: the daemon has ended, and does not run again yet.
    listener: Option<RingListener>,
    /// The user knows that connections wait.
    has_explained: bool,
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
        })
    }
}

impl Listening {
    /// Opens the listener again, if the daemon runs again. `false`: it does not.
    ///
    /// # Errors
    /// When the new daemon refuses.
    fn reopen(&mut self) -> Result<bool, Ended> {
        self.listener = match RingListener::bind(&self.path, &self.request) {
            Ok(listener) => Some(listener),
            Err(error @ RingConnectError::Refused(_)) => {
                explain(&error, error.next_step());
                return Err(Ended);
            }
            Err(_) => None,
        };
        Ok(self.listener.is_some())
    }
}

impl Accept for Listening {
    fn accept(&mut self, at_most: Duration) -> Result<Option<Arc<dyn Link>>, Ended> {
        let Some(listener) = &mut self.listener else {
            if !self.reopen()? {
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
                explain(&error, error.next_step());
                return Err(Ended);
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

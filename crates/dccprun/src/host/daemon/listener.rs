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
            explain(&error);
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

impl Accept for Listening {
    fn accept(&mut self, at_most: Duration) -> Result<Option<Arc<dyn Link>>, Ended> {
        let Some(listener) = &mut self.listener else {
            self.listener = match RingListener::bind(&self.path, &self.request) {
                Ok(listener) => Some(listener),
                // The new daemon has another policy.
                Err(error @ RingConnectError::Refused(_)) => {
                    explain(&error);
                    return Err(Ended);
                }
                Err(_) => return Ok(rest(at_most)),
            };
            return Ok(None);
        };
        match listener.accept_timeout(at_most) {
            Ok(client) => match DaemonLink::accepted(client) {
                Ok(link) => Ok(Some(Arc::new(link))),
                // The connection is closed: this process has no descriptors left.
                Err(_) => Ok(rest(at_most)),
            },
            Err(RingAcceptError::TimedOut) => Ok(None),
            Err(error @ RingAcceptError::ServerGone) => {
                eprintln!(
                    "dccprun: dccpd: {error}\n   next: start it again; the program's listener then goes on"
                );
                self.listener = None;
                Ok(None)
            }
            // The connection waits until another one has ended.
            Err(error @ RingAcceptError::Refused(_)) => {
                if !self.has_explained {
                    self.has_explained = true;
                    eprintln!(
                        "dccprun: dccpd: {error}\n   next: end connections, or allow more with --connections"
                    );
                }
                Ok(rest(at_most))
            }
            Err(RingAcceptError::Ring(_)) => Ok(rest(at_most)),
            Err(_) => Err(Ended),
        }
    }
}

/// Tries again later: there is no descriptor that would tell when.
fn rest(time: Duration) -> Option<Arc<dyn Link>> {
    std::thread::sleep(time);
    None
}

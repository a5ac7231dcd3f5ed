//! The Unix socket with the allowed rates: a client gets the current document, then each new one, as lines.

use crate::limits::RATE_CLIENTS;
use dccp_cli::Failure;
use std::io::{ErrorKind, Write as _};
use std::os::unix::fs::{FileTypeExt as _, PermissionsExt as _};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

/// A listener with its clients.
#[derive(Debug)]
pub(super) struct RateSocket {
    path: PathBuf,
    listener: UnixListener,
    clients: Vec<UnixStream>,
}

impl RateSocket {
    /// Listens at `path`. Replaces the socket of a program that was killed.
    ///
    /// # Errors
    /// Something else is there, a program listens there, or the folder is missing.
    pub(super) fn bind(path: &Path) -> Result<Self, Failure> {
        let shown = path.display();
        let fails =
            |what: String, next: &str| Failure::run(format!("--rate-socket {shown}: {what}"), next);
        if let Ok(found) = std::fs::symlink_metadata(path) {
            if !found.file_type().is_socket() {
                return Err(fails(
                    "is there and is no socket".into(),
                    "remove it, or choose another path",
                ));
            }
            if UnixStream::connect(path).is_ok() {
                return Err(fails(
                    "another program listens there".into(),
                    "end it, or choose another path",
                ));
            }
            let _ = std::fs::remove_file(path);
        }
        let opened = UnixListener::bind(path)
            .and_then(|listener| listener.set_nonblocking(true).map(|()| listener));
        let listener = opened.map_err(|e| {
            fails(
                format!("cannot be opened: {e}"),
                "check the folder and its permissions",
            )
        })?;
        // Encoders run as other users, and get nothing but rates. The folder's permissions can exclude users.
        let _ = std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o666));
        Ok(Self {
            path: path.to_owned(),
            listener,
            clients: Vec::new(),
        })
    }

    /// Accepts clients that wait, and sends them the current document.
    pub(super) fn accept(&mut self, text: &str) {
        for _ in 0..RATE_CLIENTS {
            let mut client = match self.listener.accept() {
                Ok((client, _)) => client,
                Err(e) if e.kind() == ErrorKind::Interrupted => continue,
                Err(_) => return,
            };
            // One that is dropped here is closed.
            if self.clients.len() < RATE_CLIENTS
                && client.set_nonblocking(true).is_ok()
                && client.write_all(text.as_bytes()).is_ok()
            {
                self.clients.push(client);
            }
        }
    }

    /// Sends each client a document. One that does not read is closed.
    pub(super) fn send(&mut self, text: &str) {
        self.clients
            .retain_mut(|client| client.write_all(text.as_bytes()).is_ok());
    }
}

impl Drop for RateSocket {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

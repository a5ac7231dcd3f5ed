//! `dccpctl`'s side of the administrator's socket.

use super::{Answer, Request};
use core::time::Duration;
use dccp_cli::Failure;
use serde::de::DeserializeOwned;
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::os::unix::net::UnixStream;
use std::path::Path;

/// The longest wait for an answer.
const ANSWER: Duration = Duration::from_secs(30);

/// Sends a request. Returns the value of the answer, and the connection with what follows.
///
/// # Errors
/// When no daemon answers, or it refuses.
pub(crate) fn ask<T: DeserializeOwned>(
    path: &Path,
    request: &Request,
) -> Result<(T, BufReader<UnixStream>), Failure> {
    let failed = |e: io::Error| no_daemon(path, &e);
    let mut stream = UnixStream::connect(path).map_err(failed)?;
    stream.set_read_timeout(Some(ANSWER)).map_err(failed)?;
    let mut line = serde_json::to_vec(request).map_err(|e| failed(e.into()))?;
    line.push(b'\n');
    // A daemon that refuses this user answers before it reads.
    let written = stream.write_all(&line);
    let mut reader = BufReader::new(stream);
    let mut answer = String::new();
    reader.read_line(&mut answer).map_err(failed)?;
    if answer.is_empty() {
        let gone = || io::Error::from(io::ErrorKind::UnexpectedEof);
        return Err(failed(written.err().unwrap_or_else(gone)));
    }
    match serde_json::from_str(&answer) {
        Ok(Answer::Ok { ok }) => Ok((ok, reader)),
        Ok(Answer::Error { error, next }) => Err(Failure::refused(error, next)),
        Err(_) => Err(Failure::run(
            format!("{}: the answer has another form", path.display()),
            "use dccpctl and dccpd of the same version",
        )),
    }
}

fn no_daemon(path: &Path, error: &io::Error) -> Failure {
    let what = format!("{}: no daemon answers: {error}", path.display());
    let next = if error.kind() == io::ErrorKind::PermissionDenied {
        "become root, or name its path with --admin-socket"
    } else {
        "start dccpd (`systemctl start dccpd`), or name its path with --admin-socket"
    };
    Failure::run(what, next)
}

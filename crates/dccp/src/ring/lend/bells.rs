//! The bells of applications in other processes, which the engine watches beside its transports.

use super::channel::Doorbell;
use crate::engine::ConnRef;
use dccp_io::{Poller, Ready, Token};
use std::collections::BTreeMap;
use std::io;
use std::os::fd::AsFd;
use std::sync::Arc;

/// Tokens of bells have this bit; those of ports are numbers from 0 on.
const BELL: usize = 1 << (usize::BITS - 2);

/// Who may ring, and for which connection.
#[derive(Debug, Default)]
pub(crate) struct Bells {
    watched: BTreeMap<usize, (ConnRef, Arc<Doorbell>)>,
    next: usize,
}

impl Bells {
    /// Starts to watch a connection's bell.
    pub(crate) fn watch(
        &mut self,
        poller: &mut Poller,
        conn: ConnRef,
        bell: Arc<Doorbell>,
    ) -> io::Result<()> {
        let token = BELL | self.next;
        poller.add(bell.as_fd(), Token(token))?;
        self.next = (self.next + 1) % BELL;
        self.watched.insert(token, (conn, bell));
        Ok(())
    }

    /// Stops to watch it.
    pub(crate) fn unwatch(&mut self, poller: &mut Poller, conn: ConnRef) {
        let is_its = |(_, (watched, _)): &(&usize, &(ConnRef, _))| *watched == conn;
        let found = self.watched.iter().find(is_its).map(|(token, _)| *token);
        if let Some(token) = found {
            self.remove(poller, token);
        }
    }

    /// Whose bell has rung, if the poller's news are of a bell. One call empties it: however often it is
    /// rung, it costs one turn.
    pub(crate) fn hear(&mut self, poller: &mut Poller, news: &Ready) -> Option<ConnRef> {
        let (conn, bell) = self.watched.get(&news.token.0)?;
        let conn = *conn;
        if !bell.hear() {
            // Its process has gone; the server hears of that on its own line.
            self.remove(poller, news.token.0);
        }
        Some(conn)
    }

    fn remove(&mut self, poller: &mut Poller, token: usize) {
        if let Some((_, bell)) = self.watched.remove(&token) {
            // What the poller does not know is what we want.
            let _ = poller.remove(bell.as_fd());
        }
    }
}

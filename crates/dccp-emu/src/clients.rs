//! The clients of a relay, and which one makes room for another.
//!
//! Each client holds a socket. One source address (IPv6: one /64) holds at most a quarter of them; a further client of it
//! displaces another one of it. When all sockets are taken, a new client displaces the one that has been silent for longest
//! of those that never replied to the server, because such a source address may be forged.

use core::net::IpAddr;
use core::time::Duration;
use dccp_io::Transport;
use dccp_proto::Instant;
use dccp_proto::path::{Path, source_of};
use std::collections::BTreeMap;

/// Clients at the same time.
const CLIENTS_MAX: usize = 1024;
/// Clients of one source address (IPv6: of one /64).
const SOURCE_MAX: usize = CLIENTS_MAX / 4;
/// A client is forgotten after this time without a packet.
const IDLE: Duration = Duration::from_mins(2);

/// How far a client has come with the server.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Standing {
    /// The server has not answered.
    New,
    /// The server has answered.
    Answered,
    /// The client has sent more after the answer.
    Established,
}

/// The standing of a client, and the time of its last packet.
#[derive(Debug)]
struct Record {
    standing: Standing,
    last_heard: Instant,
}

/// A client with its socket towards the server.
pub(crate) struct Client {
    /// The path at the listening socket.
    pub(crate) path: Path,
    pub(crate) socket: Box<dyn Transport>,
    record: Record,
}

impl Client {
    /// Notes that the server has sent something.
    pub(crate) fn note_answer(&mut self) {
        self.record.standing = self.record.standing.max(Standing::Answered);
    }
}

/// All clients, by number.
pub(crate) struct Clients {
    all: BTreeMap<usize, Client>,
    by_path: BTreeMap<Path, usize>,
    next: usize,
}

impl Clients {
    /// No clients yet; the first one gets the number `first`.
    pub(crate) fn numbered_from(first: usize) -> Self {
        Self {
            all: BTreeMap::new(),
            by_path: BTreeMap::new(),
            next: first,
        }
    }

    pub(crate) fn get_mut(&mut self, number: usize) -> Option<&mut Client> {
        self.all.get_mut(&number)
    }

    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Client> {
        self.all.values_mut()
    }

    /// Notes a packet of the client at `path`, and returns its number; `None` if it is not known.
    pub(crate) fn hear(&mut self, path: &Path, now: Instant) -> Option<usize> {
        let number = *self.by_path.get(path)?;
        let record = &mut self.all.get_mut(&number)?.record;
        record.last_heard = now;
        if record.standing == Standing::Answered {
            record.standing = Standing::Established;
        }
        Some(number)
    }

    /// The number that the next client gets.
    pub(crate) fn next_number(&self) -> usize {
        self.next
    }

    /// Adds a client that was just heard.
    pub(crate) fn add(&mut self, path: Path, socket: Box<dyn Transport>, now: Instant) -> usize {
        let number = self.next;
        self.next += 1;
        self.by_path.insert(path, number);
        let record = Record {
            standing: Standing::New,
            last_heard: now,
        };
        self.all.insert(
            number,
            Client {
                path,
                socket,
                record,
            },
        );
        number
    }

    /// Removes the clients that have been silent for too long.
    pub(crate) fn take_idle(&mut self, now: Instant) -> Vec<Client> {
        let idle = |client: &Client| now - client.record.last_heard > IDLE;
        let numbers = self.all.iter().filter(|(_, client)| idle(client));
        let numbers: Vec<usize> = numbers.map(|(number, _)| *number).collect();
        let taken = numbers.into_iter().filter_map(|number| self.remove(number));
        taken.collect()
    }

    /// Removes the client that makes room for one of `source`; `None` if there is room.
    ///
    /// # Errors
    /// When no client may be displaced.
    pub(crate) fn make_room(&mut self, source: IpAddr) -> Result<Option<Client>, NoRoom> {
        let source = source_of(source);
        let is_own = |client: &Client| source_of(client.path.remote) == source;
        let own = self.all.iter().filter(|(_, client)| is_own(client));
        if own.clone().count() >= SOURCE_MAX {
            let displaced = displaced(own.map(|(number, client)| (*number, &client.record)));
            return Ok(displaced.and_then(|number| self.remove(number)));
        }
        if self.all.len() >= CLIENTS_MAX {
            return self.displace_unproven().map(Some);
        }
        Ok(None)
    }

    /// Removes the longest silent one of those that have not proved their address.
    ///
    /// # Errors
    /// When all have.
    pub(crate) fn displace_unproven(&mut self) -> Result<Client, NoRoom> {
        let all = self.all.iter();
        let unproven = all.filter(|(_, client)| client.record.standing < Standing::Established);
        let displaced = displaced(unproven.map(|(number, client)| (*number, &client.record)));
        let removed = displaced.and_then(|number| self.remove(number));
        removed.ok_or(NoRoom)
    }

    fn remove(&mut self, number: usize) -> Option<Client> {
        let client = self.all.remove(&number)?;
        self.by_path.remove(&client.path);
        Some(client)
    }
}

/// All clients hold their place by right.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct NoRoom;

/// Chooses the client that has come least far, and of those the longest silent one.
fn displaced<'a>(records: impl Iterator<Item = (usize, &'a Record)>) -> Option<usize> {
    let least = records.min_by_key(|(_, record)| (record.standing, record.last_heard));
    least.map(|(number, _)| number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn client_without_an_answer_is_displaced_before_longer_silent_ones() {
        let record = |standing, s| Record {
            standing,
            last_heard: Instant::ZERO + Duration::from_secs(s),
        };
        let records = [
            record(Standing::Established, 1),
            record(Standing::Answered, 2),
            record(Standing::New, 4),
            record(Standing::New, 3),
        ];
        let choose = |n: usize| displaced(records.iter().take(n).enumerate());
        assert_eq!(
            [0, 1, 2, 3, 4].map(choose),
            [None, Some(0), Some(1), Some(2), Some(3)]
        );
    }
}

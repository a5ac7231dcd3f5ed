//! The connections and listeners that a server lends now.

use crate::request::RingCaller;
use dccp::{DccpAddr, Instant, Listener, ServiceCode, Socket, clock};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A connection that a server lends: for lists, counters and administrators.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct LentConnection {
    /// Its number, never used twice by one server.
    pub id: u64,
    /// The application that has it.
    pub caller: RingCaller,
    /// The server's side. Aborting it ends the application's connection.
    pub socket: Arc<Socket>,
    /// When it was opened or accepted.
    pub since: Instant,
}

/// A listener that a server lends.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct LentListener {
    /// Its number, never used twice by one server.
    pub id: u64,
    /// The application that has it.
    pub caller: RingCaller,
    /// Where it listens.
    pub local: DccpAddr,
    /// The Service Codes that it serves.
    pub services: Vec<ServiceCode>,
    /// The server's side.
    pub listener: Arc<Listener>,
}

/// What a server lends. Clones are the same list.
#[derive(Clone, Debug, Default)]
pub(crate) struct Inventory(Arc<Mutex<Lists>>);

#[derive(Debug, Default)]
struct Lists {
    last: u64,
    connections: BTreeMap<u64, LentConnection>,
    listeners: BTreeMap<u64, LentListener>,
}

impl Lists {
    fn next(&mut self) -> u64 {
        self.last += 1;
        self.last
    }
}

impl Inventory {
    pub(crate) fn connections(&self) -> Vec<LentConnection> {
        self.lock().connections.values().cloned().collect()
    }

    pub(crate) fn listeners(&self) -> Vec<LentListener> {
        self.lock().listeners.values().cloned().collect()
    }

    /// Lists a connection as long as the entry lives.
    pub(crate) fn add(&self, caller: RingCaller, socket: &Arc<Socket>) -> Entry {
        let mut lists = self.lock();
        let id = lists.next();
        let connection = LentConnection {
            id,
            caller,
            socket: socket.clone(),
            since: clock::now(),
        };
        lists.connections.insert(id, connection);
        self.entry(id)
    }

    /// Lists a listener as long as the entry lives.
    pub(crate) fn add_listener(
        &self,
        caller: RingCaller,
        local: DccpAddr,
        services: &[ServiceCode],
        listener: &Arc<Listener>,
    ) -> Entry {
        let mut lists = self.lock();
        let id = lists.next();
        let listener = LentListener {
            id,
            caller,
            local,
            services: services.to_vec(),
            listener: listener.clone(),
        };
        lists.listeners.insert(id, listener);
        self.entry(id)
    }

    fn entry(&self, id: u64) -> Entry {
        Entry {
            inventory: self.clone(),
            id,
        }
    }

    fn lock(&self) -> MutexGuard<'_, Lists> {
        // A thread that panicked has left whole entries.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A place in the list. Dropping it removes the connection or listener from the list.
#[derive(Debug)]
pub(crate) struct Entry {
    inventory: Inventory,
    id: u64,
}

impl Entry {
    /// The connection, unless it is a listener's entry.
    pub(crate) fn connection(&self) -> Option<LentConnection> {
        self.inventory.lock().connections.get(&self.id).cloned()
    }

    /// The listener, unless it is a connection's entry.
    pub(crate) fn listener(&self) -> Option<LentListener> {
        self.inventory.lock().listeners.get(&self.id).cloned()
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        let mut lists = self.inventory.lock();
        let connection = lists.connections.remove(&self.id);
        let listener = lists.listeners.remove(&self.id);
        drop(lists);
        // The last handle of a socket ends its connection, which must not happen under the lock.
        drop((connection, listener));
    }
}

//! The queues that this process has mapped, by their descriptors.

use core::ffi::c_int;
use dccprun_queue::table::Table;
use dccprun_queue::{inward, outward};

/// Descriptors that can have queues and hints. Others use their sockets, and are looked up at each call.
pub(crate) const DESCRIPTORS: usize = 1 << 16;
/// Queues of a process in each direction.
const QUEUES: usize = 512;

/// Queues of one kind.
pub(crate) type Queues<Q> = Table<Q, DESCRIPTORS, QUEUES>;

pub(crate) static SENDERS: Queues<outward::Producer> = Table::new();
pub(crate) static RECEIVERS: Queues<inward::Consumer> = Table::new();

/// Forgets the queues of a descriptor that is closed or replaced.
pub(crate) fn forget(fd: c_int) {
    SENDERS.forget(fd);
    RECEIVERS.forget(fd);
}

/// Whether a queue has the datagrams that the program sends on a socket.
pub(crate) fn sends(fd: c_int) -> bool {
    SENDERS.known(fd).is_some()
}

/// The program sends no more on a socket.
pub(crate) fn shut_sending(fd: c_int) {
    if let Some(queue) = SENDERS.known(fd) {
        queue.close();
    }
}

/// The program receives no more on a socket.
pub(crate) fn shut_receiving(fd: c_int) {
    if let Some(queue) = RECEIVERS.known(fd) {
        queue.close();
    }
}

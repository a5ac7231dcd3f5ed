//! A listener: a thread hands each accepted connection to the program's Unix listener.

use super::Host;
use super::connection::{Carried, local};
use super::link::{Accept, Link, in_family};
use super::queue::Queues;
use super::table::{Connection, Phase};
use crate::unix;
use core::time::Duration;
use dccp::unstable::io::local;
use dccprun_message::{Role, SocketKey};
use rustix::io::Errno;
use std::os::fd::{AsFd as _, OwnedFd};
use std::sync::Arc;

/// Between two looks whether the program has closed its listener.
const LOOK: Duration = Duration::from_millis(100);

/// Hands connections over until the program has closed the listener.
pub(super) fn serve(host: &Arc<Host>, key: SocketKey, mut listener: Box<dyn Accept>) {
    while host.is_alive(key) {
        match listener.accept(LOOK) {
            Ok(Some(link)) => hand_over(host, key, &link),
            Ok(None) => {}
            Err(_) => break,
        }
    }
    // Another listener takes the address once the table has it no more.
    drop(listener);
    host.table().remove(key);
}

/// Hands a connection to the program, as soon as its backlog has room.
fn hand_over(host: &Arc<Host>, listener: SocketKey, link: &Arc<dyn Link>) {
    if let Err(error) = connect(host, listener, link) {
        // The program has closed its listener, or this host has no descriptors left.
        link.abort();
        if error != Errno::CONNREFUSED {
            // Rarely, because the shortage lasts.
            std::thread::sleep(LOOK);
        }
    }
}

fn connect(host: &Arc<Host>, listener: SocketKey, link: &Arc<dyn Link>) -> rustix::io::Result<()> {
    let mut number = [0; 8];
    getrandom::fill(&mut number).map_err(|_| Errno::AGAIN)?;
    let key = SocketKey {
        family: listener.family,
        number: u64::from_ne_bytes(number),
    };
    let data = unix::named(host.key, Role::Socket(key))?;
    let queues = Arc::default();
    register(host, listener, key, link, &queues)?;
    loop {
        match unix::dial(&data, host.key, Role::Socket(listener), LOOK) {
            Ok(()) if host.trusts(&data) || is_listeners(host, listener, &data) => break,
            // Another user has taken the name of a listener that was closed.
            Ok(()) => {
                host.table().remove(key);
                return Err(Errno::CONNREFUSED);
            }
            // The backlog is full. The peer's datagrams wait.
            Err(Errno::AGAIN | Errno::INTR) if host.is_alive(listener) => {}
            Err(error) => {
                host.table().remove(key);
                return Err(error);
            }
        }
    }
    let carried = Carried {
        key,
        link: link.clone(),
        data: Arc::new(data),
        queues,
    };
    let carry = move |host: &Arc<Host>| carried.carry(host);
    host.spawn("dccprun-out", carry).map_err(|_| {
        host.table().remove(key);
        Errno::NOBUFS
    })
}

/// Whether the other end is the process that made the socket a listener. The kernel names it even after its end, when
/// nothing tells its descent any more.
fn is_listeners(host: &Host, listener: SocketKey, data: &OwnedFd) -> bool {
    let known = host
        .table()
        .get(listener)
        .and_then(|record| record.listener);
    let peer = local::peer(data.as_fd()).ok();
    known.is_some_and(|known| known.pid != 0 && peer == Some(known))
}

/// Makes the connection known before the program can ask about it.
fn register(
    host: &Host,
    listener: SocketKey,
    key: SocketKey,
    link: &Arc<dyn Link>,
    queues: &Arc<Queues>,
) -> rustix::io::Result<()> {
    let mut table = host.table();
    let settings = table.get(listener).map(|record| record.settings.clone());
    let record = table.entry(key).map_err(Errno::from_raw_os_error)?;
    record.settings = settings.unwrap_or_default();
    if let Some(code) = link.service_code() {
        record.settings.set_service(code);
    }
    record.local = local(&**link, key.family);
    record.phase = Phase::Open {
        connection: Connection {
            link: link.clone(),
            peer: in_family(key.family, link.peer_addr()),
            is_accepted: true,
            queues: queues.clone(),
        },
        is_told: true,
    };
    Ok(())
}

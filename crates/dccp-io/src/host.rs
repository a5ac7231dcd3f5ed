//! Shares protocol 33 between the programs of this host that have DCCP inside (docs/design.md, decision 11b).
//!
//! Every raw socket sees every packet of protocol 33. If each program answered what it does not
//! know with a Reset, they would reset each other's connections. So a program claims the DCCP ports
//! that it uses, and takes packets for its own ports only. The program
//! that holds the host's lock answers for ports that no program claims.
//!
//! Lock and claims are names of abstract Unix sockets: they belong to a network namespace as the
//! addresses do, and they vanish with their program, however it ends. Any program on the host can
//! take such a name, and so keep others from a port, as with the ports of UDP and TCP.

use core::sync::atomic::{AtomicU64, Ordering};
use std::collections::BTreeMap;
use std::io;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::error::OpenError;

const LOCK: &str = "usrdccp/33";
const WORDS: usize = 1 << 10;

/// This program's share of the host's protocol 33: the ports it claims, and the lock if it has it.
#[derive(Debug)]
pub struct Host {
    /// One bit for each port that is ours: read for every packet.
    ours: [AtomicU64; WORDS],
    held: Mutex<Held>,
}

#[derive(Debug)]
struct Held {
    lock: Option<UnixDatagram>,
    ports: BTreeMap<u16, (UnixDatagram, usize)>,
    /// Asks whether a name is taken.
    prober: UnixDatagram,
}

/// A port that this program has claimed, until this is dropped.
#[derive(Debug)]
pub struct HostPort {
    host: Arc<Host>,
    port: u16,
}

impl Host {
    /// Joins the programs that share protocol 33, and takes the lock if it is free.
    ///
    /// # Errors
    /// [`OpenError::KernelDccp`] when the kernel's own DCCP is loaded.
    pub fn join() -> Result<Arc<Self>, OpenError> {
        // Opening a socket of that type would ask better, but make the kernel load its module.
        let protocols = std::fs::read_to_string("/proc/net/protocols").unwrap_or_default();
        if lists_dccp(&protocols) {
            return Err(OpenError::KernelDccp);
        }
        let host = Arc::new(Self {
            ours: [const { AtomicU64::new(0) }; WORDS],
            held: Mutex::new(Held {
                lock: None,
                ports: BTreeMap::new(),
                prober: UnixDatagram::unbound()?,
            }),
        });
        host.try_own()?;
        Ok(host)
    }

    /// Whether this program holds the lock, and so answers for ports that no program has claimed.
    pub fn is_owner(&self) -> bool {
        self.held().lock.is_some()
    }

    /// Takes the lock if its holder has gone; whether this program holds it now.
    ///
    /// # Errors
    /// When the system has no more sockets.
    pub fn try_own(&self) -> io::Result<bool> {
        let mut held = self.held();
        if held.lock.is_none() {
            held.lock = bind(LOCK)?;
        }
        Ok(held.lock.is_some())
    }

    /// Claims a DCCP port. The same program can claim it more than once.
    ///
    /// # Errors
    /// [`io::ErrorKind::AddrInUse`] when another program has it.
    pub fn claim(self: &Arc<Self>, port: u16) -> io::Result<HostPort> {
        let mut held = self.held();
        if let Some((_, claims)) = held.ports.get_mut(&port) {
            *claims += 1;
        } else {
            let socket = bind(&port_name(port))?.ok_or(io::ErrorKind::AddrInUse)?;
            held.ports.insert(port, (socket, 1));
            let (word, bit) = place(port);
            self.ours[word].fetch_or(bit, Ordering::Relaxed);
        }
        Ok(HostPort {
            host: Arc::clone(self),
            port,
        })
    }

    /// Whether packets for this port are this program's business.
    pub(crate) fn takes(&self, port: u16) -> bool {
        let (word, bit) = place(port);
        self.ours[word].load(Ordering::Relaxed) & bit != 0 || self.answers_for(port)
    }

    fn answers_for(&self, port: u16) -> bool {
        let held = self.held();
        held.lock.is_some()
            && address(&port_name(port)).is_ok_and(|a| held.prober.connect_addr(&a).is_err())
    }

    fn release(&self, port: u16) {
        let mut held = self.held();
        let Some((_, claims)) = held.ports.get_mut(&port) else {
            return;
        };
        *claims -= 1;
        if *claims == 0 {
            let (word, bit) = place(port);
            self.ours[word].fetch_and(!bit, Ordering::Relaxed);
            held.ports.remove(&port);
        }
    }

    fn held(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl HostPort {
    /// The port.
    pub fn port(&self) -> u16 {
        self.port
    }
}

impl Drop for HostPort {
    fn drop(&mut self) {
        self.host.release(self.port);
    }
}

fn place(port: u16) -> (usize, u64) {
    (usize::from(port >> 6), 1 << (port & 63))
}

fn port_name(port: u16) -> String {
    format!("{LOCK}/{port}")
}

fn address(name: &str) -> io::Result<SocketAddr> {
    SocketAddr::from_abstract_name(name)
}

/// Takes a name; `None` when another has it.
fn bind(name: &str) -> io::Result<Option<UnixDatagram>> {
    match UnixDatagram::bind_addr(&address(name)?) {
        Ok(socket) => Ok(Some(socket)),
        Err(e) if e.kind() == io::ErrorKind::AddrInUse => Ok(None),
        Err(e) => Err(e),
    }
}

/// Whether the kernel's list of protocols has its own DCCP.
fn lists_dccp(protocols: &str) -> bool {
    let mut names = protocols.lines().filter_map(|l| l.split(' ').next());
    names.any(|name| matches!(name, "DCCP" | "DCCPv6"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dccp_of_the_kernel_is_found_in_its_list() {
        let list = "protocol  size sockets\nUDP       1344      0\nDCCP 1500 0\n";
        assert!(lists_dccp(list));
        assert!(lists_dccp("DCCPv6 1600 0\n"));
        assert!(!lists_dccp("protocol size\nUDP 1344 0 DCCP\nMPTCP 9 9\n"));
        assert!(!lists_dccp(""));
    }

    // Two hosts in one program stand for two programs. The names are those of the machine, so the
    // ports are such that no other test uses them.
    #[test]
    fn port_belongs_to_the_program_that_claimed_it_until_its_last_claim_ends() {
        let (a, b) = (Host::join().unwrap(), Host::join().unwrap());
        let first = a.claim(64_999).unwrap();
        let again = a.claim(64_999).unwrap();
        let taken = b.claim(64_999).unwrap_err();
        assert_eq!(taken.kind(), io::ErrorKind::AddrInUse);
        assert!(a.takes(64_999));
        assert!(!b.takes(64_999));
        drop(first);
        assert!(b.claim(64_999).is_err());
        assert_eq!(again.port(), 64_999);
        drop(again);
        assert!(b.claim(64_999).is_ok());
        assert!(!(a.is_owner() && b.is_owner()));
    }
}

//! Connections and listeners of the host's daemon, `dccpd`, each connection behind a packet ring.

mod listener;
mod ring;

use super::copies::SLOT_BYTES;
use super::errors;
use super::link::{Accept, Ended, LINGER, Link, Received};
use super::settings::Settings;
use crate::cli::Defaults;
use core::time::Duration;
use dccp::packet_ring::Shape;
use dccp::{ConnSnapshot, DccpAddr, Fault, ServiceCode};
use dccp_ring_ipc::{RingClient, RingConnectError, RingListenRequest, RingRequest};
use listener::Listening;
use ring::{Ring, Side};
use std::io::Write as _;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, OnceLock, PoisonError};
use std::thread::Builder;

/// Datagrams that wait in each direction of a ring, unless the program sets the length of its send queue.
const SLOTS: u32 = 256;
/// The longest queue that a program gets.
const SLOTS_MAX: u32 = 1024;
/// Bytes of the stack of the thread that waits for a handshake.
const STACK: usize = 128 << 10;

/// The daemon, and how to ask it.
pub(super) struct Daemon {
    pub(super) path: PathBuf,
}

impl Daemon {
    /// Asks for a connection.
    ///
    /// # Errors
    /// The error number of settings that a ring does not have, or of a thread that cannot begin.
    pub(super) fn connect(
        &self,
        remote: DccpAddr,
        settings: &Settings,
        defaults: &Defaults,
    ) -> Result<Arc<dyn Link>, i32> {
        let ccid = settings.single_ccid(defaults)?;
        let request = RingRequest {
            service: settings.service(defaults).unwrap_or_default(),
            ccid,
            law: law(ccid, defaults),
            encapsulation: defaults.encapsulation,
            ..RingRequest::new(remote, shape(settings))
        };
        let link = Arc::new(DaemonLink::new(remote));
        let opening = link.clone();
        let (path, patience) = (self.path.clone(), defaults.connect_timeout);
        let thread = Builder::new().name("dccprun-open".into()).stack_size(STACK);
        let open = move || {
            let asked = RingClient::connect_timeout(path, &request, patience);
            opening.handshake_ended(asked);
        };
        thread.spawn(open).map_err(|_| libc::ENOBUFS)?;
        Ok(link)
    }

    /// Asks for a listener.
    ///
    /// # Errors
    /// The error number of settings that a ring does not have, or of a refusal.
    pub(super) fn listen(
        &self,
        local: DccpAddr,
        settings: &Settings,
        defaults: &Defaults,
    ) -> Result<Box<dyn Accept>, i32> {
        let ccid = settings.single_ccid(defaults)?;
        let request = RingListenRequest {
            services: settings.services(defaults).into_iter().collect(),
            ccid,
            law: law(ccid, defaults),
            encapsulation: defaults.encapsulation,
            connections: defaults.connections,
            ..RingListenRequest::new(local, shape(settings))
        };
        let listening = Listening::open(self.path.clone(), request)?;
        Ok(Box::new(listening))
    }
}

/// The law of a request: only CCID 2 has laws, and the program may have chosen another one.
fn law(ccid: Option<u8>, defaults: &Defaults) -> Option<String> {
    let law = defaults.law.as_ref().filter(|_| ccid.unwrap_or(2) == 2);
    law.map(ToString::to_string)
}

/// The shape of a socket's ring.
fn shape(settings: &Settings) -> Shape {
    let mut shape = Shape::new(SLOTS, SLOT_BYTES);
    match settings.queue_len() {
        None => {}
        // A queue without a bound in the kernel.
        Some(0) => shape.slots = SLOTS_MAX,
        Some(packets) => shape.slots = packets.min(SLOTS_MAX).next_power_of_two(),
    }
    shape
}

/// A greatest length that fits a slot.
fn capped(mps: usize) -> usize {
    mps.min(SLOT_BYTES as usize)
}

/// Says what the daemon has answered, because the program sees an error number only.
fn explain(error: &dyn core::error::Error, next: &str) {
    // A closed standard error does not end the service of the program.
    let _ = writeln!(
        std::io::stderr(),
        "dccprun: dccpd: {error}\n   next: {next}"
    );
}

/// A connection of the daemon, or the request for one.
struct DaemonLink {
    remote: DccpAddr,
    /// The program has given up waiting for the handshake.
    is_abandoned: AtomicBool,
    ring: OnceLock<Ring>,
    opened: Mutex<Option<Result<(), i32>>>,
    changed: Condvar,
}

impl DaemonLink {
    fn new(remote: DccpAddr) -> Self {
        Self {
            remote,
            is_abandoned: AtomicBool::new(false),
            ring: OnceLock::new(),
            opened: Mutex::new(None),
            changed: Condvar::new(),
        }
    }

    /// A connection that a listener has accepted.
    ///
    /// # Errors
    /// When the system has no descriptors left.
    fn accepted(client: RingClient) -> std::io::Result<Self> {
        let link = Self::new(client.peer_addr());
        let _ = link.ring.set(Ring::new(client)?);
        link.end_opening(Ok(()));
        Ok(link)
    }

    /// Takes the daemon's answer.
    fn handshake_ended(&self, asked: Result<RingClient, RingConnectError>) {
        let opened = asked
            .map_err(|error| {
                let is_peers = error.fault() == Fault::Peer;
                if !is_peers && !self.is_abandoned.load(Ordering::SeqCst) {
                    explain(&error, error.next_step());
                }
                errors::of_ring_connect(&error)
            })
            .and_then(|client| Ring::new(client).map_err(|e| errors::of_io(&e)));
        let opened = opened.map(|ring| {
            let ring = self.ring.get_or_init(|| ring);
            if self.is_abandoned.load(Ordering::SeqCst) {
                ring.abort();
            }
        });
        self.end_opening(opened);
    }

    fn end_opening(&self, opened: Result<(), i32>) {
        *self.opened.lock().unwrap_or_else(PoisonError::into_inner) = Some(opened);
        self.changed.notify_all();
    }
}

impl Link for DaemonLink {
    fn wait_opened(&self, at_most: Duration) -> Option<Result<(), i32>> {
        let opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self
            .changed
            .wait_timeout_while(opened, at_most, |opened| opened.is_none());
        *waited.unwrap_or_else(PoisonError::into_inner).0
    }

    fn local_addr(&self) -> Option<DccpAddr> {
        let ring = self.ring.get()?;
        Some(ring.with(|client| client.local_addr()))
    }

    fn peer_addr(&self) -> DccpAddr {
        self.remote
    }

    fn service_code(&self) -> Option<ServiceCode> {
        Some(self.ring.get()?.with(|client| client.service_code()))
    }

    fn mps(&self) -> Option<usize> {
        let mps = self.ring.get()?.with(RingClient::max_packet_size)?;
        Some(capped(mps))
    }

    fn snapshot(&self) -> Option<ConnSnapshot> {
        // The daemon does not report it to programs.
        None
    }

    fn send(&self, datagrams: &mut dyn Iterator<Item = &[u8]>) -> Result<Option<usize>, Ended> {
        // Threads send to open connections only.
        let mps = self.ring.get().ok_or(Ended)?.send(datagrams)?;
        Ok(mps.map(capped))
    }

    fn recv(&self, received: &mut Received) -> Result<(), i32> {
        // Threads receive from open connections only.
        let ring = self.ring.get().ok_or(0)?;
        received.copies.fill(&mut ring.wait(Side::Receive).client)
    }

    fn close(&self) {
        if let Some(ring) = self.ring.get() {
            ring.close(LINGER);
        }
    }

    fn abort(&self) {
        self.is_abandoned.store(true, Ordering::SeqCst);
        if let Some(ring) = self.ring.get() {
            ring.abort();
        }
    }
}

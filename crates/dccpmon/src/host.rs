//! This end's host during a test.

use crate::wire::figures::Host;
use core::net::IpAddr;
use dccp::{Socket, clock};
use dccp_host::{Identity, Snapshot};
use getifaddrs::getifaddrs;
use std::collections::BTreeMap;

/// The counters of this host from the begin of a test on.
#[derive(Clone, Debug)]
pub(crate) struct Usage {
    /// The interface of the test's packets.
    interface: Option<String>,
    /// Before the first packet of the test can arrive.
    ready: Snapshot,
    begin: Snapshot,
    end: Option<Snapshot>,
}

impl Usage {
    /// Begins to count. The interface is that of the connection.
    pub(crate) fn begin(socket: &Socket) -> Self {
        let interface = interface_of(socket.flow().path.local);
        let ready = snapshot(interface.as_deref());
        Self {
            begin: ready.clone(),
            ready,
            end: None,
            interface,
        }
    }

    /// Begins again to count all but packets: what a host does before a test is not part of it.
    pub(crate) fn restarted(&self) -> Self {
        Self {
            begin: snapshot(self.interface.as_deref()),
            ..self.clone()
        }
    }

    /// Ends to count. Threads that ended before are not seen.
    pub(crate) fn end(&mut self) {
        self.end = Some(snapshot(self.interface.as_deref()));
    }

    /// The counters, with those of DCCP.
    pub(crate) fn host(&self, dccp: BTreeMap<String, u64>) -> Host {
        let now = snapshot(self.interface.as_deref());
        let mut delta = self.end.as_ref().unwrap_or(&now).since(&self.begin);
        // Packets that were on their way at the end arrive later, and are dropped later.
        // And the sender's first packets may arrive before its message that the test begins.
        let whole = now.since(&self.ready);
        delta.interface = whole.interface;
        delta.softnet = whole.softnet;
        delta.udp = whole.udp;
        delta.ip = whole.ip;
        delta.dccp = dccp;
        Host {
            version: env!("CARGO_PKG_VERSION").into(),
            identity: Identity::read(),
            delta,
        }
    }
}

fn snapshot(interface: Option<&str>) -> Snapshot {
    Snapshot::take(clock::now().as_nanos(), interface)
}

/// The name of the interface with an address of this host.
fn interface_of(address: IpAddr) -> Option<String> {
    let address = address.to_canonical();
    let mut interfaces = getifaddrs().into_iter().flatten();
    let found = interfaces.find(|i| i.address.ip_addr() == Some(address));
    // Each address 127.x.y.z is that of the loopback interface.
    found
        .map(|i| i.name)
        .or_else(|| address.is_loopback().then(|| "lo".into()))
}

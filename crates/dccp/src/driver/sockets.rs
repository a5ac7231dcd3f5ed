//! The sockets of ports: opened, taken over from the application, and mended.

use super::{Driver, is_limited};
use crate::group::Seat;
use crate::names::PortKey;
use crate::port::{Occupation, Port};
#[cfg(feature = "unstable")]
use crate::tap::tapped;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use dccp_io::{Carrier, Encapsulation, OpenError, Transport};
use dccp_proto::{Endpoint, Instant};
use std::io;
use std::net::UdpSocket;

impl Driver {
    /// Mends the socket of a port that failed.
    pub(super) fn mend(&mut self, now: Instant, key: PortKey) {
        let Some(port) = self.ports.get(&key) else {
            return;
        };
        let (local, is_shared) = (port.local_addr(), port.seat.is_some());
        let encapsulation = port.encapsulation;
        let socket = port.lacks_socket().then(|| {
            // No new socket could have the address as long as others hold this one.
            if let Some(given) = self.given.get(&key) {
                return self.udp.adopt(given.try_clone()?);
            }
            let carrier = self.carrier(encapsulation)?;
            self.with_descriptor(is_open_limited, || carrier.reopen(local, is_shared))
        });
        #[cfg(feature = "unstable")]
        let socket = socket.map(|opened| opened.map(|new| tapped(new, self.tap.as_ref())));
        if let Some(port) = self.ports.get_mut(&key) {
            port.mend(now, &mut self.poller, socket);
        }
    }

    /// The port at this address, or the one that has its UDP port at all addresses; otherwise a new one. Over IP there is one
    /// for each family: two raw sockets would both get every packet, and one endpoint would reset the other's connections.
    pub(super) fn find_or_open(
        &mut self,
        encapsulation: Encapsulation,
        gso: bool,
        local: SocketAddr,
    ) -> Result<PortKey, OpenError> {
        let local = match encapsulation {
            Encapsulation::Udp => local,
            Encapsulation::Ip => any_of(local.ip()),
        };
        let is_shared = encapsulation == Encapsulation::Ip || local.port() != 0;
        let mut any = any_of(local.ip());
        any.set_port(local.port());
        let found = self.ports.values().find(|p| {
            let at = p.local_addr();
            is_shared && p.encapsulation == encapsulation && (at == local || at == any)
        });
        match found {
            Some(port) => Ok(port.key),
            None => self.open(encapsulation, gso, local),
        }
    }

    /// A new port over a socket of the application. A duplicate stays here, in case that one breaks.
    pub(super) fn adopt(&mut self, gso: bool, socket: UdpSocket) -> Result<PortKey, OpenError> {
        let spare = self.with_descriptor(is_limited, || socket.try_clone())?;
        let transport = self.udp.adopt(socket)?;
        let is_there = |(_, port): &(&PortKey, &Port)| {
            port.encapsulation == Encapsulation::Udp && port.local_addr() == transport.local_addr()
        };
        if let Some((&key, port)) = self.ports.iter().find(is_there) {
            if port.occupation() == Occupation::Busy {
                return Err(io::Error::from(io::ErrorKind::AddrInUse).into());
            }
            // That of an earlier listener.
            self.close(key);
        }
        let key = self.add(Encapsulation::Udp, gso, transport, None)?;
        self.given.insert(key, spare);
        Ok(key)
    }

    pub(super) fn carrier(&mut self, encapsulation: Encapsulation) -> Result<Carrier, OpenError> {
        if encapsulation == Encapsulation::Udp {
            return Ok(self.udp.clone());
        }
        let ip = match self.ip.take() {
            Some(ip) => ip,
            None => Carrier::new(encapsulation, dccp_io::Options::default())?,
        };
        Ok(self.ip.insert(ip).clone())
    }

    pub(super) fn open(
        &mut self,
        encapsulation: Encapsulation,
        gso: bool,
        local: SocketAddr,
    ) -> Result<PortKey, OpenError> {
        let carrier = self.carrier(encapsulation)?;
        let transport = self.with_descriptor(is_open_limited, || carrier.open(local))?;
        Ok(self.add(encapsulation, gso, transport, None)?)
    }

    pub(super) fn add(
        &mut self,
        encapsulation: Encapsulation,
        gso: bool,
        transport: Box<dyn Transport>,
        seat: Option<Seat>,
    ) -> io::Result<PortKey> {
        #[cfg(feature = "unstable")]
        let transport = tapped(transport, self.tap.as_ref());
        let key = PortKey(self.next_key);
        self.next_key += 1;
        let mut endpoint = Endpoint::new(Box::new(self.hash.clone()));
        endpoint.share_hold_off(&self.budget.hold_off);
        let budget = self.budget.clone();
        let mut port = Port::new(key, encapsulation, gso, transport, endpoint, budget);
        port.seat = seat;
        port.watch(&mut self.poller)?;
        self.ports.insert(key, port);
        Ok(key)
    }
}

fn is_open_limited(error: &OpenError) -> bool {
    error.io().is_some_and(is_limited)
}

fn any_of(ip: IpAddr) -> SocketAddr {
    let any: IpAddr = match ip {
        IpAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        IpAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    };
    SocketAddr::new(any, 0)
}

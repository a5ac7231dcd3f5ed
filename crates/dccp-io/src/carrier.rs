//! Opens the transports of one engine, over UDP or over IP.

use std::io;
use std::net::SocketAddr;
#[cfg(target_os = "linux")]
use std::sync::Arc;

use crate::error::OpenError;
#[cfg(target_os = "linux")]
use crate::host::{Host, HostPort};
use crate::transport::{Encapsulation, Options, Transport};
use crate::udp::Udp;

/// Opens the transports of an engine.
#[derive(Clone, Debug)]
pub struct Carrier {
    encapsulation: Encapsulation,
    options: Options,
    #[cfg(target_os = "linux")]
    host: Option<Arc<Host>>,
}

/// A DCCP port that is this program's until this is dropped.
#[derive(Debug)]
pub struct PortClaim {
    #[cfg(target_os = "linux")]
    _host: Option<HostPort>,
}

impl Carrier {
    /// A carrier of one kind.
    ///
    /// # Errors
    /// When DCCP over IP is asked for and this system has none, or has its own in the kernel.
    #[cfg(target_os = "linux")]
    pub fn new(encapsulation: Encapsulation, options: Options) -> Result<Self, OpenError> {
        let host = match encapsulation {
            Encapsulation::Udp => None,
            Encapsulation::Ip => Some(Host::join()?),
        };
        Ok(Self {
            encapsulation,
            options,
            host,
        })
    }

    /// A carrier of one kind.
    ///
    /// # Errors
    /// When DCCP over IP is asked for: this system has none.
    #[cfg(not(target_os = "linux"))]
    pub fn new(encapsulation: Encapsulation, options: Options) -> Result<Self, OpenError> {
        match encapsulation {
            Encapsulation::Udp => Ok(Self {
                encapsulation,
                options,
            }),
            Encapsulation::Ip => Err(OpenError::IpUnsupported),
        }
    }

    /// The encapsulation of its transports.
    pub fn encapsulation(&self) -> Encapsulation {
        self.encapsulation
    }

    /// Opens a transport on an address of this host, or on all of one family. Over UDP the port is
    /// that of UDP, 0 for any; over IP there is none and it is not looked at.
    ///
    /// # Errors
    /// When the system refuses; over IP, when the program lacks the capability.
    pub fn open(&self, local: SocketAddr) -> Result<Box<dyn Transport>, OpenError> {
        #[cfg(target_os = "linux")]
        if let Some(host) = &self.host {
            let raw = crate::raw::Raw::open(local.ip(), Arc::clone(host), &self.options)?;
            return Ok(Box::new(raw));
        }
        Ok(Box::new(Udp::bind(local, &self.options)?))
    }

    /// Opens `count` transports on one address and UDP port. The kernel divides the arriving flows between them, and each
    /// flow stays with one of them as long as none is closed. No other socket may have the port. (Linux, over UDP)
    ///
    /// # Errors
    /// When the system refuses, or cannot do that.
    pub fn open_shared(
        &self,
        local: SocketAddr,
        count: usize,
    ) -> Result<Vec<Box<dyn Transport>>, OpenError> {
        if !cfg!(target_os = "linux") || self.encapsulation != Encapsulation::Udp {
            return Err(io::Error::from(io::ErrorKind::Unsupported).into());
        }
        // A program of the same user that shares its ports, too, would get a part of the flows: looked at first.
        let mut place = self.open(local)?.local_addr();
        let mut transports: Vec<Box<dyn Transport>> = Vec::new();
        for _ in 0..count {
            let transport = Udp::bind_shared(place, &self.options)?;
            place = transport.local_addr();
            transports.push(Box::new(transport));
        }
        Ok(transports)
    }

    /// Takes over a socket of the application, as [`Udp::adopt`] does. (Over UDP)
    ///
    /// # Errors
    /// As [`Udp::adopt`]; [`OpenError::Unfit`] over IP.
    pub fn adopt(&self, socket: std::net::UdpSocket) -> Result<Box<dyn Transport>, OpenError> {
        if self.encapsulation != Encapsulation::Udp {
            return Err(OpenError::Unfit("must be for DCCP over UDP"));
        }
        Ok(Box::new(Udp::adopt(socket, &self.options)?))
    }

    /// Opens a transport again at the address of one that broke; `is_shared`: one of those of
    /// [`open_shared`](Self::open_shared). The kernel may then give flows of one of the others to this one.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn reopen(
        &self,
        local: SocketAddr,
        is_shared: bool,
    ) -> Result<Box<dyn Transport>, OpenError> {
        if is_shared {
            return Ok(Box::new(Udp::bind_shared(local, &self.options)?));
        }
        self.open(local)
    }

    /// Claims a DCCP port for this program. Over IP every port must be claimed while it is used, because packets for other
    /// ports belong to the programs that claimed those. Over UDP the UDP port already belongs to one program.
    ///
    /// # Errors
    /// [`io::ErrorKind::AddrInUse`] when another program on this host has the port.
    #[cfg(target_os = "linux")]
    pub fn claim(&self, port: u16) -> io::Result<PortClaim> {
        let host = self.host.as_ref().map(|host| host.claim(port));
        Ok(PortClaim {
            _host: host.transpose()?,
        })
    }

    /// Claims a DCCP port for this program, which matters over IP only.
    ///
    /// # Errors
    /// None on this system.
    #[cfg(not(target_os = "linux"))]
    pub fn claim(&self, _: u16) -> io::Result<PortClaim> {
        Ok(PortClaim {})
    }

    /// Whether this program answers for ports that no program has claimed (docs/design.md, decision 11b). The transport
    /// drops packets for other programs' ports, so this is for information only.
    pub fn owns_host(&self) -> bool {
        #[cfg(target_os = "linux")]
        if let Some(host) = &self.host {
            return host.is_owner();
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn over_udp_ports_need_no_claim() {
        let carrier = Carrier::new(Encapsulation::Udp, Options::default()).unwrap();
        let other = Carrier::new(Encapsulation::Udp, Options::default()).unwrap();
        assert!(carrier.owns_host() && other.owns_host());
        let _first = carrier.claim(5001).unwrap();
        let _second = other.claim(5001).unwrap();
        let local = SocketAddr::from(([127, 0, 0, 1], 0));
        let transport = carrier.open(local).unwrap();
        assert_ne!(transport.local_addr().port(), 0);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn shared_ports_are_nobody_elses() {
        let carrier = Carrier::new(Encapsulation::Udp, Options::default()).unwrap();
        let local = SocketAddr::from(([127, 0, 0, 1], 0));
        let three = carrier.open_shared(local, 3).unwrap();
        assert_eq!(three.len(), 3);
        let place = three[0].local_addr();
        assert_ne!(place.port(), 0);
        assert!(three.iter().all(|t| t.local_addr() == place));
        for again in [
            carrier.open_shared(place, 2).map(drop),
            carrier.open(place).map(drop),
        ] {
            assert!(matches!(again, Err(OpenError::InUse(_))), "{again:?}");
        }
        drop(three);
        carrier.open(place).unwrap();
    }
}

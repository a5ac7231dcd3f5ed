//! Opens the transports of one engine, over UDP or over IP.

use std::io;
use std::net::SocketAddr;
#[cfg(target_os = "linux")]
use std::sync::Arc;

use crate::error::OpenError;
#[cfg(target_os = "linux")]
use crate::host::{Host, HostPort};
use crate::transport::{Options, Over, Transport};
use crate::udp::Udp;

/// What an engine opens its transports with.
#[derive(Clone, Debug)]
pub struct Carrier {
    over: Over,
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
    pub fn new(over: Over, options: Options) -> Result<Self, OpenError> {
        let host = match over {
            Over::Udp => None,
            Over::Ip => Some(Host::join()?),
        };
        Ok(Self {
            over,
            options,
            host,
        })
    }

    /// A carrier of one kind.
    ///
    /// # Errors
    /// When DCCP over IP is asked for: this system has none.
    #[cfg(not(target_os = "linux"))]
    pub fn new(over: Over, options: Options) -> Result<Self, OpenError> {
        match over {
            Over::Udp => Ok(Self { over, options }),
            Over::Ip => Err(OpenError::IpUnsupported),
        }
    }

    /// What carries DCCP.
    pub fn over(&self) -> Over {
        self.over
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

    /// Makes a DCCP port this program's. Over IP every listening and connecting port must be
    /// claimed before its first packet and as long as it is used: packets for other ports are given
    /// to the programs that claimed those. Over UDP the UDP port says whose the packets are.
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

    /// Makes a DCCP port this program's: a matter of DCCP over IP only.
    ///
    /// # Errors
    /// None on this system.
    #[cfg(not(target_os = "linux"))]
    pub fn claim(&self, _: u16) -> io::Result<PortClaim> {
        Ok(PortClaim {})
    }

    /// Whether this program answers for ports that nobody has claimed (design 11b). The transport
    /// keeps what others answer for to itself, so this is for information.
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
        let carrier = Carrier::new(Over::Udp, Options::default()).unwrap();
        let other = Carrier::new(Over::Udp, Options::default()).unwrap();
        assert!(carrier.owns_host() && other.owns_host());
        let _first = carrier.claim(5001).unwrap();
        let _second = other.claim(5001).unwrap();
        let local = SocketAddr::from(([127, 0, 0, 1], 0));
        let transport = carrier.open(local).unwrap();
        assert_ne!(transport.local_addr().port(), 0);
    }
}

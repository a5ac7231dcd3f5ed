//! Why a transport could not be opened.

use core::fmt;
use std::io;

/// Why a transport could not be opened. `Display` gives two lines: what, and what to do next.
#[derive(Debug)]
pub enum OpenError {
    /// Raw sockets need a capability that this program lacks.
    NeedsCapability,
    /// The kernel's own DCCP is loaded: it would answer our packets (design 11b).
    KernelDccp,
    /// This system has no DCCP over IP.
    IpUnsupported,
    /// Another program has the address and port.
    InUse(io::Error),
    /// Any other error of the system.
    Io(io::Error),
}

impl fmt::Display for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NeedsCapability => f.write_str(
                "DCCP over IP needs raw sockets, and this program may not open them\n\
                 run it as root or with the capability CAP_NET_RAW, or use DCCP over UDP",
            ),
            Self::KernelDccp => f.write_str(
                "the kernel's own DCCP is loaded and would answer the packets of this program\n\
                 unload it (rmmod dccp_ipv6 dccp_ipv4 dccp), or use DCCP over UDP",
            ),
            Self::IpUnsupported => f.write_str(
                "DCCP over IP is available on Linux only\n\
                 use DCCP over UDP",
            ),
            Self::InUse(e) => write!(
                f,
                "the UDP port is taken: {e}\nchoose another one, or stop the program that has it"
            ),
            Self::Io(e) => write!(
                f,
                "the socket could not be opened: {e}\ncheck that the address is one of this host"
            ),
        }
    }
}

impl std::error::Error for OpenError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::InUse(e) | Self::Io(e) => Some(e),
            Self::NeedsCapability | Self::KernelDccp | Self::IpUnsupported => None,
        }
    }
}

impl From<io::Error> for OpenError {
    fn from(e: io::Error) -> Self {
        match e.kind() {
            io::ErrorKind::AddrInUse => Self::InUse(e),
            _ => Self::Io(e),
        }
    }
}

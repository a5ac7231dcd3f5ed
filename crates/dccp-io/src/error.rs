//! Why a transport could not be opened.

use core::fmt;
use std::io;

/// Why a transport could not be opened.
#[derive(Debug)]
#[non_exhaustive]
pub enum OpenError {
    /// Raw sockets need a capability that this program lacks.
    NeedsCapability,
    /// The kernel's own DCCP is loaded: it would answer the packets of this program.
    KernelDccp,
    /// This system has no DCCP over IP.
    IpUnsupported,
    /// The socket that the application gave cannot carry DCCP: a sentence of what it must be.
    Unfit(&'static str),
    /// Another program has the address and port.
    InUse(io::Error),
    /// Any other error of the system.
    Io(io::Error),
}

impl OpenError {
    /// The next step for the user, in one line.
    pub fn next_step(&self) -> &'static str {
        match self {
            Self::NeedsCapability => {
                "run as root or with the capability CAP_NET_RAW, or use DCCP over UDP"
            }
            Self::KernelDccp => "unload it (rmmod dccp_ipv6 dccp_ipv4 dccp), or use DCCP over UDP",
            Self::IpUnsupported => "use DCCP over UDP",
            Self::Unfit(_) => "give a UDP socket that is bound to a port and not connected",
            Self::InUse(_) => "choose another UDP port, or stop the program that has it",
            Self::Io(e) if e.kind() == io::ErrorKind::PermissionDenied => {
                "take a UDP port from 1024 on, or check what the system lets this program open"
            }
            Self::Io(e) => {
                limit_next_step(e).unwrap_or("check that the address is one of this host")
            }
        }
    }
}

/// The next step if the system has no more descriptors for this program; `None` for other errors.
pub fn limit_next_step(e: &io::Error) -> Option<&'static str> {
    is_out_of_descriptors(e)
        .then_some("close sockets, or raise the limit of open files (ulimit -n)")
}

/// Whether the process or the system has no descriptor left.
pub fn is_out_of_descriptors(e: &io::Error) -> bool {
    // ENFILE and EMFILE of all Unixes.
    cfg!(unix) && matches!(e.raw_os_error(), Some(23 | 24))
}

impl OpenError {
    /// The system's error, if it has one.
    pub fn io(&self) -> Option<&io::Error> {
        match self {
            Self::InUse(e) | Self::Io(e) => Some(e),
            Self::NeedsCapability | Self::KernelDccp | Self::IpUnsupported | Self::Unfit(_) => None,
        }
    }

    /// The kind of the same error as [`io::Error`].
    pub fn io_kind(&self) -> io::ErrorKind {
        match self {
            Self::NeedsCapability => io::ErrorKind::PermissionDenied,
            Self::KernelDccp => io::ErrorKind::ResourceBusy,
            Self::IpUnsupported => io::ErrorKind::Unsupported,
            Self::Unfit(_) => io::ErrorKind::InvalidInput,
            Self::InUse(e) | Self::Io(e) => e.kind(),
        }
    }
}

impl fmt::Display for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NeedsCapability => {
                f.write_str("DCCP over IP needs raw sockets, which this program may not open")
            }
            Self::KernelDccp => f.write_str(
                "the kernel's own DCCP is loaded and would answer the packets of this program",
            ),
            Self::IpUnsupported => f.write_str("DCCP over IP is available on Linux only"),
            Self::Unfit(constraint) => write!(f, "the given socket: {constraint}"),
            Self::InUse(e) => write!(f, "the UDP port is taken: {e}"),
            Self::Io(e) => write!(f, "the socket could not be opened: {e}"),
        }
    }
}

impl std::error::Error for OpenError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.io().map(|e| e as _)
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

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn lack_of_descriptors_is_named() {
        let error = OpenError::from(io::Error::from_raw_os_error(libc::EMFILE));
        let text = error.to_string();
        assert!(
            text.starts_with("the socket could not be opened: "),
            "{text}"
        );
        assert_eq!(
            error.next_step(),
            "close sockets, or raise the limit of open files (ulimit -n)"
        );
    }
}

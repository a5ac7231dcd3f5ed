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

impl OpenError {
    /// What happened, in one line.
    pub fn what(&self) -> String {
        match self {
            Self::NeedsCapability => {
                "DCCP over IP needs raw sockets, and this program may not open them".into()
            }
            Self::KernelDccp => {
                "the kernel's own DCCP is loaded and would answer the packets of this program"
                    .into()
            }
            Self::IpUnsupported => "DCCP over IP is available on Linux only".into(),
            Self::InUse(e) => format!("the UDP port is taken: {e}"),
            Self::Io(e) => format!("the socket could not be opened: {e}"),
        }
    }

    /// What to do about it, in one line.
    pub fn next_step(&self) -> &'static str {
        match self {
            Self::NeedsCapability => {
                "run as root or with the capability CAP_NET_RAW, or use DCCP over UDP"
            }
            Self::KernelDccp => "unload it (rmmod dccp_ipv6 dccp_ipv4 dccp), or use DCCP over UDP",
            Self::IpUnsupported => "use DCCP over UDP",
            Self::InUse(_) => "choose another UDP port, or stop the program that has it",
            Self::Io(e) => {
                limit_next_step(e).unwrap_or("check that the address is one of this host")
            }
        }
    }
}

/// What to do if the system has no more descriptors for this program; nothing for other errors.
pub fn limit_next_step(e: &io::Error) -> Option<&'static str> {
    // ENFILE and EMFILE of all Unixes.
    let is_limit = cfg!(unix) && matches!(e.raw_os_error(), Some(23 | 24));
    is_limit.then_some("close sockets, or raise the limit of open files (ulimit -n)")
}

impl fmt::Display for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}\n{}", self.what(), self.next_step())
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

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn who_runs_out_of_descriptors_is_told_so() {
        let error = OpenError::from(io::Error::from_raw_os_error(libc::EMFILE));
        let text = error.to_string();
        let (what, next) = text.split_once('\n').unwrap();
        assert!(
            what.starts_with("the socket could not be opened: "),
            "{what}"
        );
        assert_eq!(
            next,
            "close sockets, or raise the limit of open files (ulimit -n)"
        );
    }
}

//! The process that requests something of a server.

/// The requesting process, as the system reported it when it connected to the server.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RingCaller {
    /// Its process; 0: it is of another PID namespace and has no number here.
    pub pid: u32,
    /// Its user.
    pub uid: u32,
    /// Its group.
    pub gid: u32,
}
